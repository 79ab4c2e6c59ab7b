// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * udpblast - sends datagrams to a UDP sink as fast as it goes, one a call
 *
 * What was accepted may still be queued when the time is over: the socket's buffer limits that.
 * Prints one line:
 *
 *   datagrams=N bytes=N ns=N mbit=N
 */
#include <inttypes.h>

#include "tool.h"

static void usage(void)
{
	fputs("usage: udpblast HOST PORT PAYLOAD MILLISECONDS\n"
	      "e.g.   udpblast 10.77.0.2 9 1472 1000\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	static uint8_t data[CALL];
	uint64_t start, end, ns, datagrams = 0;
	unsigned int port;
	size_t payload;
	int fd;

	if (argc != 5)
		usage();
	port = number("PORT", argv[2], 1, 65535);
	payload = number("PAYLOAD", argv[3], 1, 65507);
	end = number("MILLISECONDS", argv[4], 1, 3600000) * 1000000;
	fd = open_socket(argv[1], port, SOCK_DGRAM, 0, 0);
	start = now_ns();
	end += start;
	do {
		if (send(fd, data, payload, 0) < 0)
			err(1, "send");
		datagrams++;
	} while (now_ns() < end);
	ns = now_ns() - start;
	printf("datagrams=%" PRIu64 " bytes=%" PRIu64 " ns=%" PRIu64 " mbit=%.1f\n", datagrams,
	       datagrams * payload, ns, mbit(datagrams * payload, ns));
	return 0;
}
