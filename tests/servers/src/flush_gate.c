/*
 * Preloaded into a server: every flush of the WAL (fdatasync) waits while the file exists that the variable names.
 * A signal does not end the wait, as it would not end one for a slow disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int
fdatasync(int fd)
{
	const struct timespec pause = {0, 1000000};
	const char *closed = getenv("SNOWFLAKE_FLUSH_GATE");
	int			(*flush) (int) = (int (*) (int)) dlsym(RTLD_NEXT, "fdatasync");

	while (closed != NULL && access(closed, F_OK) == 0)
		nanosleep(&pause, NULL);
	return flush(fd);
}
