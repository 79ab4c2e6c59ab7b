// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mmiotime - times reads of one 32-bit device register by a CPU
 *
 * The address must belong to no driver, or the kernel must have been started with iomem=relaxed.
 * MMIOTIME_MEM names another file than /dev/mem, for tests. Prints one line:
 *
 *   reads=N ns=N ns_each=N
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "tool.h"

static void usage(void)
{
	fputs("usage: mmiotime ADDRESS READS\n"
	      "e.g.   mmiotime 0xb000000 100000\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	const char *path = getenv("MMIOTIME_MEM") ?: "/dev/mem";
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const volatile uint32_t *reg;
	uint64_t at, reads, start, ns;
	uint8_t *base;
	char *end;
	int fd;

	if (argc != 3)
		usage();
	errno = 0;
	at = strtoull(argv[1], &end, 0);
	if (errno || end == argv[1] || *end || at % 4)
		errx(2, "ADDRESS: \"%s\" is not a multiple of 4", argv[1]);
	reads = number("READS", argv[2], 1, 1000000000);
	fd = open(path, O_RDONLY | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	base = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)(at & ~(page - 1)));
	if (base == MAP_FAILED)
		err(1, "%s at 0x%" PRIx64, path, at);
	reg = (const volatile uint32_t *)(base + at % page);
	start = now_ns();
	for (uint64_t n = 0; n < reads; n++)
		(void)*reg;
	ns = now_ns() - start;
	printf("reads=%" PRIu64 " ns=%" PRIu64 " ns_each=%" PRIu64 "\n", reads, ns, ns / reads);
	return 0;
}
