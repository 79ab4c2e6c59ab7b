/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest's commands have in common. */
#ifndef TOOL_H
#define TOOL_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Size of one call, as iperf3 does it for TCP by default twice over. */
#define CALL (64 * 1024)

/* Every byte stream of the model repeats 0, 1, ... 250. */
#define PATTERN 251

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A decimal number from @low to @high, or the end of the program. */
static inline uint64_t number(const char *what, const char *text, uint64_t low, uint64_t high)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < low || value > high)
		errx(2, "%s: \"%s\" is not a number from %llu to %llu", what, text,
		     (unsigned long long)low, (unsigned long long)high);
	return value;
}

/* The socket address of numeric @host and @port. getaddrinfo() is not for static programs. */
static inline socklen_t address(const char *host, unsigned int port, struct sockaddr_storage *to)
{
	struct sockaddr_in *in = (struct sockaddr_in *)to;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		return sizeof(*in6);
	}
	errx(2, "\"%s\" is not an IP address", host);
}

/* A socket of @type for @host and @port; @listening: bound there, otherwise connected. */
static inline int open_socket(const char *host, unsigned int port, int type, int listening,
			      int rcvbuf)
{
	struct sockaddr_storage to;
	socklen_t len = address(host, port, &to);
	int fd = socket(to.ss_family, type | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0)
		err(1, "socket");
	/* Before connect() and listen(), since the window scale is settled by the handshake. */
	if (rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf)))
		err(1, "SO_RCVBUF");
	if (listening) {
		if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
			err(1, "SO_REUSEADDR");
		if (bind(fd, (struct sockaddr *)&to, len))
			err(1, "bind: %s port %u", host, port);
	} else if (connect(fd, (struct sockaddr *)&to, len)) {
		err(1, "connect: %s port %u", host, port);
	}
	return fd;
}

static inline double mbit(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 8000 / (double)ns : 0;
}

#endif /* TOOL_H */
