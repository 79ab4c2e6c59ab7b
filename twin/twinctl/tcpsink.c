// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tcpsink - receives from a TCP source, in calls of 64 KiB
 *
 * It connects, or with -l waits for one connection at PORT of HOST, and receives until the time is
 * over or the other side has ended. With -o it gives the model peer's ordered source (port 18) its
 * order. With -c it compares what comes with the model's pattern. Prints one line:
 *
 *   bytes=N ns=N mbit=N
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>

#include "tool.h"

static void usage(void)
{
	fputs("usage: tcpsink [-c] [-l] [-o ORDER] HOST PORT MILLISECONDS\n"
	      "e.g.   tcpsink -c 10.77.0.2 19 1000\n"
	      "       tcpsink -o \"10M 100M\" 10.77.0.2 18 5000\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static uint8_t data[CALL], pattern[CALL + PATTERN];
	int fd, opt, check = 0, listening = 0;
	uint64_t start, now, end, bytes = 0;
	const char *order = NULL;
	unsigned int port;

	while ((opt = getopt(argc, argv, "+clo:")) != -1) {
		switch (opt) {
		case 'c':
			check = 1;
			break;
		case 'l':
			listening = 1;
			break;
		case 'o':
			order = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind + 3 != argc)
		usage();
	port = number("PORT", argv[optind + 1], 1, 65535);
	end = number("MILLISECONDS", argv[optind + 2], 1, 3600000) * 1000000;
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % PATTERN;

	fd = open_socket(argv[optind], port, SOCK_STREAM, listening, 0);
	if (listening) {
		int door = fd;

		if (listen(door, 1))
			err(1, "listen");
		fd = accept(door, NULL, NULL);
		if (fd < 0)
			err(1, "accept");
		close(door);
	}
	start = now_ns();
	now = start;
	end += start;
	if (order && dprintf(fd, "%s\n", order) < 0)
		err(1, "send");
	while (now < end) {
		struct timespec span = { (end - now) / 1000000000, (end - now) % 1000000000 };
		struct pollfd poller = { .fd = fd, .events = POLLIN };
		ssize_t len = recv(fd, data, sizeof(data), MSG_DONTWAIT);

		if (len < 0 && errno != EAGAIN)
			err(1, "recv");
		if (!len)
			break;
		if (len < 0 && ppoll(&poller, 1, &span, NULL) < 0)
			err(1, "poll");
		if (len > 0) {
			if (check && memcmp(data, pattern + bytes % PATTERN, (size_t)len))
				errx(1, "the data is wrong after byte %" PRIu64, bytes);
			bytes += (uint64_t)len;
		}
		now = now_ns();
	}
	now = now_ns();
	printf("bytes=%" PRIu64 " ns=%" PRIu64 " mbit=%.1f\n", bytes, now - start,
	       mbit(bytes, now - start));
	return 0;
}
