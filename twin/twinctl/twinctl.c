// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * twinctl - gives orders to the twin's control page
 *
 * The page's registers are described in twin/src/control.rs. It is found through the device tree,
 * and mapped by /dev/mem: no driver claims it.
 *
 * For tests, TWINCTL_DT and TWINCTL_MEM name another device tree and another file than /dev/mem.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tool.h"

#define COMPATIBLE "ravb-twin,control"

#define PAGE 0x1000
#define REG_ID 0x000
#define REG_VERSION 0x004
#define REG_NOW_LO 0x008
#define REG_NOW_HI 0x00c
#define REG_STATUS 0x010
#define REG_DOORBELL 0x014
#define REG_RESULT_LEN 0x018
#define REG_RESULT_PAGE 0x01c
#define REG_COMMAND 0x400
#define REG_RESULT 0x800
#define COMMAND_SIZE 0x400
#define RESULT_SIZE 0x800

#define ID 0x4e575452 /* "RTWN" */
#define VERSION 1
#define STATUS_OK 1
#define STATUS_REFUSED 2

struct page {
	uint64_t addr;
	uint32_t instance;
	uint32_t port; /* phandle of the MAC's node, 0: not said */
};

static volatile uint32_t *regs;

static uint32_t get(unsigned int off)
{
	return regs[off / 4];
}

static void put(unsigned int off, uint32_t value)
{
	regs[off / 4] = value;
}

static void usage(void)
{
	fputs("usage: twinctl [-d NETDEV|DEVICE | -n INSTANCE] ORDER...\n"
	      "       twinctl [...] script FILE\n"
	      "       twinctl list\n"
	      "ORDER is passed on to the model as one line; \"help\" prints the model's list of them, \"now\" the\n"
	      "virtual time in nanoseconds. A script has a line \"TIME HEX [size=N] [defect=KIND,...]\" for each\n"
	      "frame towards the port, TIME (a number and ns, us, ms or s) counted from 1 ms after its start.\n"
	      "Without -d and -n it is the device of $NETIF, or else the first one.\n"
	      "Exit status: 0 carried out, 1 refused by the model, 2 not even asked.\n",
	      stderr);
	exit(2);
}

/* Reads @len bytes of property @name of node @dir; false if there are fewer. */
static bool property(const char *dir, const char *name, void *data, size_t len)
{
	char path[PATH_MAX];
	ssize_t got = -1;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, data, len);
		close(fd);
	}
	return got == (ssize_t)len;
}

static uint32_t cell(const uint8_t *be)
{
	return (uint32_t)be[0] << 24 | be[1] << 16 | be[2] << 8 | be[3];
}

static bool cell_property(const char *dir, const char *name, uint32_t *value)
{
	uint8_t be[4];

	if (!property(dir, name, be, sizeof(be)))
		return false;
	*value = cell(be);
	return true;
}

/* Takes @dir into @pages if it is a control page. */
static size_t take(const char *dir, struct page *pages, size_t count, size_t most)
{
	struct page page = { 0 };
	uint8_t reg[8];

	if (count == most || !property(dir, "reg", reg, sizeof(reg)))
		return count;
	/* The machine's root has two address cells. */
	page.addr = (uint64_t)cell(reg) << 32 | cell(reg + 4);
	page.instance = count;
	cell_property(dir, "ravb-twin,instance", &page.instance);
	cell_property(dir, "ravb-twin,port", &page.port);
	pages[count] = page;
	return count + 1;
}

static int by_instance(const void *a, const void *b)
{
	uint32_t x = ((const struct page *)a)->instance, y = ((const struct page *)b)->instance;

	return (x > y) - (x < y);
}

/* Finds all control pages, which are children of the root. */
static size_t find(struct page *pages, size_t most)
{
	const char *root = getenv("TWINCTL_DT") ?: "/proc/device-tree";
	size_t count = 0;
	struct dirent *entry;
	DIR *dir;

	dir = opendir(root);
	if (!dir)
		err(2, "%s", root);
	while ((entry = readdir(dir))) {
		char path[PATH_MAX], compatible[sizeof(COMPATIBLE)];

		if (snprintf(path, sizeof(path), "%s/%s", root, entry->d_name) >= (int)sizeof(path))
			continue;
		if (property(path, "compatible", compatible, sizeof(compatible)) &&
		    !memcmp(compatible, COMPATIBLE, sizeof(compatible)))
			count = take(path, pages, count, most);
	}
	closedir(dir);
	qsort(pages, count, sizeof(*pages), by_instance);
	return count;
}

/* The phandle of the device tree node of a network interface or of a platform device. */
static bool port_of(const char *name, uint32_t *phandle)
{
	const char *const places[] = {
		"/sys/class/net/%s/device/of_node",
		"/sys/bus/platform/devices/%s/of_node",
	};
	char dir[PATH_MAX];

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (strchr(name, '/') ||
		    snprintf(dir, sizeof(dir), places[i], name) >= (int)sizeof(dir))
			return false;
		if (cell_property(dir, "phandle", phandle))
			return true;
	}
	return false;
}

static const struct page *by_name(const struct page *pages, size_t count, const char *name)
{
	uint32_t port;

	if (!port_of(name, &port))
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (pages[i].port == port)
			return &pages[i];
	return NULL;
}

static void map(const struct page *page)
{
	const char *path = getenv("TWINCTL_MEM") ?: "/dev/mem";
	int fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	void *at;

	if (fd < 0)
		err(2, "%s", path);
	/* One order at a time, whoever gives it; the lock ends with the process. */
	if (flock(fd, LOCK_EX))
		err(2, "%s: lock", path);
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page->addr);
	if (at == MAP_FAILED)
		err(2, "%s at 0x%" PRIx64, path, page->addr);
	regs = at;
	if (get(REG_ID) != ID)
		errx(2, "no control page at 0x%" PRIx64, page->addr);
	if (get(REG_VERSION) != VERSION)
		errx(2, "the control page has version %u, this command knows %u",
		     get(REG_VERSION), VERSION);
}

/* Prints the answer to the last order. */
static void answer(FILE *to)
{
	uint32_t len = get(REG_RESULT_LEN);
	uint32_t word = 0;
	char last = '\n';

	for (uint32_t i = 0; i < len; i++) {
		if (i % RESULT_SIZE == 0)
			put(REG_RESULT_PAGE, i / RESULT_SIZE);
		if (i % 4 == 0)
			word = get(REG_RESULT + i % RESULT_SIZE);
		last = (char)(word >> i % 4 * 8);
		putc(last, to);
	}
	if (last != '\n')
		putc('\n', to);
}

static int give(const char *order)
{
	size_t len = strlen(order);

	if (len > COMMAND_SIZE)
		errx(2, "the order has %zu characters, %d is the most", len, COMMAND_SIZE);
	for (size_t i = 0; i < len; i += 4) {
		uint32_t word = 0;

		for (size_t j = i; j < len && j < i + 4; j++)
			word |= (uint32_t)(unsigned char)order[j] << (j - i) * 8;
		put(REG_COMMAND + i, word);
	}
	put(REG_DOORBELL, len);
	/* The model works while the write is made: the answer is there. */
	switch (get(REG_STATUS)) {
	case STATUS_OK:
		answer(stdout);
		return 0;
	case STATUS_REFUSED:
		fputs("twinctl: ", stderr);
		answer(stderr);
		return 1;
	default:
		errx(2, "the model does not answer");
	}
}

static uint64_t now(void)
{
	uint64_t low = get(REG_NOW_LO);

	return (uint64_t)get(REG_NOW_HI) << 32 | low;
}

/* Nanoseconds of a time such as "15us"; false if it is none. */
static bool span(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	for (size_t i = 0; !errno && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name))
			return !__builtin_mul_overflow(value, units[i].ns, ns);
	return false;
}

/* Orders the frames of a file. All times count from one instant, a little ahead. */
static int script(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	uint64_t start = now() + 1000000;
	char *line = NULL;
	size_t size = 0;
	unsigned int number = 0;
	int status = 0;

	if (!file)
		err(2, "%s", path);
	while (!status && getline(&line, &size, file) >= 0) {
		char order[COMMAND_SIZE + 1], *rest = line, *time;
		uint64_t ns;

		number++;
		line[strcspn(line, "#\n")] = '\0';
		time = strsep(&rest, " \t");
		if (!*time && (!rest || !rest[strspn(rest, " \t")]))
			continue;
		if (!rest || !span(time, &ns))
			errx(2, "%s line %u: not \"TIME HEX ...\"", path, number);
		if (snprintf(order, sizeof(order), "frame %s at=%" PRIu64, rest, start + ns) >=
		    (int)sizeof(order))
			errx(2, "%s line %u: too long", path, number);
		status = give(order);
		if (status)
			warnx("%s line %u was refused", path, number);
	}
	free(line);
	if (file != stdin)
		fclose(file);
	return status;
}

int main(int argc, char **argv)
{
	const char *device = NULL, *instance = NULL;
	const struct page *page = NULL;
	struct page pages[16];
	char order[COMMAND_SIZE + 2] = "";
	size_t count, len = 0;
	int opt;

	/* "+": options end at the first word of the order. */
	while ((opt = getopt(argc, argv, "+d:n:")) != -1) {
		switch (opt) {
		case 'd':
			device = optarg;
			break;
		case 'n':
			instance = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind == argc || (device && instance))
		usage();

	count = find(pages, sizeof(pages) / sizeof(*pages));
	if (!count)
		errx(2, "this machine has no twin (no node \"%s\")", COMPATIBLE);
	if (!strcmp(argv[optind], "list") && optind + 1 == argc) {
		for (size_t i = 0; i < count; i++)
			printf("%u 0x%" PRIx64 "\n", pages[i].instance, pages[i].addr);
		return 0;
	}
	if (device) {
		page = by_name(pages, count, device);
		if (!page)
			errx(2, "%s is not a port of a twin", device);
	} else if (instance) {
		uint32_t wanted = number("-n", instance, 0, UINT32_MAX);

		for (size_t i = 0; i < count; i++)
			if (pages[i].instance == wanted)
				page = &pages[i];
		if (!page)
			errx(2, "there is no instance %s", instance);
	} else {
		const char *netif = getenv("NETIF");

		if (netif)
			page = by_name(pages, count, netif);
		if (!page)
			page = &pages[0];
	}
	map(page);

	if (!strcmp(argv[optind], "now") && optind + 1 == argc) {
		printf("%" PRIu64 "\n", now());
		return 0;
	}
	if (!strcmp(argv[optind], "script")) {
		if (optind + 2 != argc)
			usage();
		return script(argv[optind + 1]);
	}
	for (int i = optind; i < argc; i++) {
		size_t word = strlen(argv[i]);

		if (len + word + 1 > COMMAND_SIZE + 1)
			errx(2, "the order is longer than %d characters", COMMAND_SIZE);
		if (len)
			order[len++] = ' ';
		memcpy(order + len, argv[i], word + 1);
		len += word;
	}
	return give(order);
}
