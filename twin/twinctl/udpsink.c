// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * udpsink - counts the datagrams that come to a port
 *
 * With -r it sends the request first, from the same port, to the model peer's flood service. Then
 * it receives for the given time, one datagram a call, and takes at last what has come but was not
 * fetched yet. It prints one line:
 *
 *   datagrams=N bytes=N window_ns=N mbit=N lost=N late=N first_ns=N last_ns=N
 *
 * mbit is payload per window. The floods of the model number their datagrams: lost says how many
 * are missing below the highest number seen, late how many came out of order or twice. first_ns and
 * last_ns are counted from the start of the window.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <linux/filter.h>
#include <poll.h>
#include <stdbool.h>

#include "tool.h"

static void usage(void)
{
	fputs("usage: udpsink [-b RCVBUF] [-a ADDRESS] [-r HOST REQUEST] PORT MILLISECONDS\n"
	      "e.g.   udpsink -r 10.77.0.2 \"flood line 1472 200ms\" 5001 200\n",
	      stderr);
	exit(2);
}

struct count {
	uint64_t datagrams, bytes, late, highest, first, last;
};

static void take(struct count *count, const uint8_t *data, size_t len, uint64_t at)
{
	uint64_t seq = 0;

	if (!count->datagrams++)
		count->first = at;
	count->last = at;
	count->bytes += len;
	if (len < 8)
		return;
	for (int i = 0; i < 8; i++)
		seq = seq << 8 | data[i];
	/* The highest plus one, so that zero says "none". */
	if (seq < count->highest)
		count->late++;
	else
		count->highest = seq + 1;
}

/* How many numbers below the highest were not seen. */
static uint64_t lost(const struct count *count)
{
	uint64_t seen = count->datagrams - count->late;

	return count->highest > seen ? count->highest - seen : 0;
}

/* Nothing more gets into the socket. */
static void close_door(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		err(1, "SO_ATTACH_FILTER");
}

static void wait_for(int fd, uint64_t ns)
{
	struct timespec span = { ns / 1000000000, ns % 1000000000 };
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	if (ppoll(&poller, 1, &span, NULL) < 0)
		err(1, "poll");
}

int main(int argc, char **argv)
{
	static uint8_t data[CALL];
	const char *host = NULL, *request = NULL, *own = NULL;
	struct count count = { 0 };
	uint64_t window, start, end;
	int rcvbuf = 0, fd, opt;
	unsigned int port;
	bool closed = false;

	while ((opt = getopt(argc, argv, "+a:b:r:")) != -1) {
		switch (opt) {
		case 'a':
			own = optarg;
			break;
		case 'b':
			rcvbuf = number("-b", optarg, 1, 1 << 30);
			break;
		case 'r':
			host = optarg;
			if (optind >= argc)
				usage();
			request = argv[optind++];
			break;
		default:
			usage();
		}
	}
	if (optind + 2 != argc)
		usage();
	port = number("PORT", argv[optind], 1, 65535);
	window = number("MILLISECONDS", argv[optind + 1], 1, 3600000) * 1000000;

	/* "::" takes IPv4 as well; the wildcard of the request's family takes just that. */
	if (!own)
		own = host && !strchr(host, ':') ? "0.0.0.0" : "::";
	fd = open_socket(own, port, SOCK_DGRAM, 1, rcvbuf);
	start = now_ns();
	if (request) {
		struct sockaddr_storage to;
		socklen_t len = address(host, 19, &to);

		if (sendto(fd, request, strlen(request), 0, (struct sockaddr *)&to, len) < 0)
			err(1, "%s port 19", host);
	}
	end = start + window;
	for (;;) {
		ssize_t len = recv(fd, data, sizeof(data), MSG_DONTWAIT);
		uint64_t now = now_ns();

		if (len >= 0)
			take(&count, data, (size_t)len, now - start);
		else if (errno != EAGAIN)
			err(1, "recv");
		if (now >= end && !closed) {
			/* What lies in the buffer still counts, what comes from now on does not. */
			close_door(fd);
			closed = true;
		} else if (len < 0) {
			if (closed)
				break;
			wait_for(fd, end - now);
		}
	}
	printf("datagrams=%" PRIu64 " bytes=%" PRIu64 " window_ns=%" PRIu64 " mbit=%.1f ",
	       count.datagrams, count.bytes, window, mbit(count.bytes, window));
	printf("lost=%" PRIu64 " late=%" PRIu64 " first_ns=%" PRIu64 " last_ns=%" PRIu64 "\n",
	       lost(&count), count.late, count.first, count.last);
	return 0;
}
