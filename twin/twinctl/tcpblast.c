// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tcpblast - sends to a TCP sink as fast as it goes, in calls of 64 KiB
 *
 * With -r it sends no more than so many bits a second, by sleeping between calls. After the given
 * time it ends its side and waits for the other side to do so too, by which it has taken
 * everything. Prints one line:
 *
 *   bytes=N ns=N mbit=N
 */
#include <inttypes.h>

#include "tool.h"

static void usage(void)
{
	fputs("usage: tcpblast [-r BITS] HOST PORT MILLISECONDS\n"
	      "e.g.   tcpblast 10.77.0.2 9 1000\n"
	      "       tcpblast -r 500000000 10.77.0.2 9 1000\n", stderr);
	exit(2);
}

/* Sleeps until @bytes sent since @start are @rate bits a second. */
static void pace(uint64_t start, uint64_t bytes, uint64_t rate)
{
	uint64_t when = start + (uint64_t)((double)bytes * 8e9 / (double)rate);
	struct timespec ts = { (time_t)(when / 1000000000), (long)(when % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	static uint8_t data[CALL + PATTERN];
	uint64_t start, end, ns, bytes = 0, rate = 0;
	unsigned int port;
	ssize_t len;
	int fd, opt;

	while ((opt = getopt(argc, argv, "+r:")) != -1) {
		if (opt != 'r')
			usage();
		rate = number("BITS", optarg, 1000, 100000000000);
	}
	if (optind + 3 != argc)
		usage();
	port = number("PORT", argv[optind + 1], 1, 65535);
	end = number("MILLISECONDS", argv[optind + 2], 1, 3600000) * 1000000;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i % PATTERN;
	fd = open_socket(argv[optind], port, SOCK_STREAM, 0, 0);
	start = now_ns();
	end += start;
	do {
		len = send(fd, data + bytes % PATTERN, CALL, MSG_NOSIGNAL);
		if (len < 0)
			err(1, "send");
		bytes += (uint64_t)len;
		if (rate)
			pace(start, bytes, rate);
	} while (now_ns() < end);
	if (shutdown(fd, SHUT_WR))
		err(1, "shutdown");
	do {
		len = recv(fd, data, sizeof(data), 0);
		if (len < 0)
			err(1, "waiting for the other side to end");
	} while (len);
	ns = now_ns() - start;
	printf("bytes=%" PRIu64 " ns=%" PRIu64 " mbit=%.1f\n", bytes, ns, mbit(bytes, ns));
	return 0;
}
