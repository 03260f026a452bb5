/*
 * Preloaded into a server: every flush of the WAL (fdatasync) waits while the file exists that SNOWFLAKE_FLUSH_GATE
 * names, and every write of whole pages (pwrite) while the one exists that SNOWFLAKE_WRITE_GATE names. A signal does
 * not end the wait, as it would not end one for a slow disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAGE 8192

static void
wait_while_closed(const char *variable)
{
	const struct timespec pause = {0, 1000000};
	const char *closed = getenv(variable);

	while (closed != NULL && access(closed, F_OK) == 0)
		nanosleep(&pause, NULL);
}

int
fdatasync(int fd)
{
	int			(*flush) (int) = (int (*) (int)) dlsym(RTLD_NEXT, "fdatasync");

	wait_while_closed("SNOWFLAKE_FLUSH_GATE");
	return flush(fd);
}

/* The postmaster writes less than a page into its pid file, and is not to wait. */
ssize_t
pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
	ssize_t		(*write_at) (int, const void *, size_t, off_t) =
		(ssize_t (*) (int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite");

	if (count % PAGE == 0)
		wait_while_closed("SNOWFLAKE_WRITE_GATE");
	return write_at(fd, bytes, count, offset);
}
