/*
 * Preloaded into a server: adjtimex() answers what the file says that SNOWFLAKE_KERNEL_CLOCK names: the state, the
 * status and the greatest error in microseconds, as decimal numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

int
adjtimex(struct timex *timex)
{
	const char *path = getenv("SNOWFLAKE_KERNEL_CLOCK");
	FILE	   *file = path != NULL ? fopen(path, "r") : NULL;
	int			state;
	int			read;

	if (file == NULL || timex->modes != 0)
	{
		errno = EPERM;
		return -1;
	}
	memset(timex, 0, sizeof(*timex));
	read = fscanf(file, "%d %d %ld", &state, &timex->status, &timex->maxerror);
	fclose(file);
	return read == 3 ? state : -1;
}
