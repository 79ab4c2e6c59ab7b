/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library that does nothing but try every call of twin_abi.h: the shim is
 * tested with it (selftest.py), without a guest and without the real model.
 *
 * Region 0, 32-bit registers:
 *   0x00 r   0x7477696e
 *   0x04 rw  scratch; also in 1, 2 and 8 byte accesses at 0x04..0x0b
 *   0x08 rw  the other half of it
 *   0x10 rw  levels of the interrupt lines, a bit each
 *   0x18 rw  timer: fires so many ns after the write; reads how often it fired
 *   0x20 rw  DMA address
 *   0x24 w   reads 8 bytes from there; r: status (0 or 0xffffffff)
 *   0x28 w   writes the value there, 4 bytes; status as above
 *   0x2c r   the first four bytes read
 *   0x30 rw  sends a frame with this number; reads the number of the last frame received
 *   0x34 r   frames received
 *   0x38 rw  answer: so many more frames received are answered with number + 1 at once
 *   0x3c r   resets
 *   0x40 rw  charge of each read of 0x44 in ns
 *   0x44 r   now, low half; costs the charge
 *   0x48 r   now, high half
 *   0x4c r   1 when a callback came while another one was running
 *   0x50 r   how late the timer fired the last time, in ns (as a signed number)
 * Region 1: reads as its own offset.
 *
 * args: "fail" makes create() fail, "irqs=N" asks for N lines, "size=N" for a first
 * region of N bytes, "regions=N" for N regions.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "twin_abi.h"

struct selftest {
	const struct twin_host *h;
	struct twin_needs needs;
	struct twin_place place;
	union {
		uint8_t b[8];
		uint32_t w[2];
		uint64_t d;
	} scratch;
	uint32_t irqs, fired, dma_addr, dma_status, dma_data;
	int64_t deadline, late;
	uint32_t received, last, answer, resets, charge;
	bool inside, nested;
};

static void enter(struct selftest *t)
{
	t->nested |= t->inside;
	t->inside = true;
}

static void leave(struct selftest *t)
{
	t->inside = false;
}

static void send_number(struct selftest *t, uint32_t number)
{
	uint8_t frame[60];

	memset(frame, 0xff, 6);
	memcpy(frame + 6, t->place.mac, 6);
	memset(frame + 12, 0, sizeof(frame) - 12);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	memcpy(frame + 14, &number, sizeof(number));
	t->h->send(t->h->opaque, frame, sizeof(frame));
}

static void *create(const struct twin_host *host, const char *args)
{
	struct selftest *t;
	const char *v;

	if (host->version != TWIN_ABI_VERSION || host->size != sizeof(*host)) {
		return NULL;
	}
	if (!strcmp(args, "fail")) {
		host->log(host->opaque, "told to fail");
		return NULL;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		return NULL;
	}
	t->h = host;
	t->needs.regions = 2;
	t->needs.irqs = 3;
	for (int i = 0; i < TWIN_MAX_REGIONS; i++) {
		t->needs.region_size[i] = 0x1000;
	}
	v = strstr(args, "irqs=");
	if (v) {
		t->needs.irqs = strtoul(v + 5, NULL, 0);
	}
	v = strstr(args, "regions=");
	if (v) {
		t->needs.regions = strtoul(v + 8, NULL, 0);
	}
	v = strstr(args, "size=");
	if (v) {
		t->needs.region_size[0] = strtoull(v + 5, NULL, 0);
	}
	return t;
}

static void needs(void *dev, struct twin_needs *n)
{
	struct selftest *t = dev;

	*n = t->needs;
}

static void describe(void *dev, const struct twin_place *place)
{
	struct selftest *t = dev;
	void *o = t->h->opaque;
	char path[64], line[160];
	uint32_t phandle, again;
	uint8_t cell[4];

	enter(t);
	t->place = *place;
	snprintf(path, sizeof(path), "/selftest@%llx", (unsigned long long)place->region_addr[0]);
	t->h->fdt_node(o, path);
	t->h->fdt_prop(o, path, "compatible", "twin,selftest", sizeof("twin,selftest"));
	t->h->fdt_prop(o, path, "local-mac-address", place->mac, sizeof(place->mac));
	phandle = t->h->fdt_phandle(o, path);
	again = t->h->fdt_phandle(o, path);
	for (int i = 0; i < 4; i++) {
		cell[i] = phandle >> (24 - 8 * i);
	}
	t->h->fdt_prop(o, path, "itself", cell, sizeof(cell));
	snprintf(line, sizeof(line),
		 "region %llx %llx spi %u phandle %s, of nothing %u",
		 (unsigned long long)place->region_addr[0],
		 (unsigned long long)place->region_addr[1], place->irq_spi[0],
		 phandle && phandle == again ? "same" : "differs",
		 t->h->fdt_phandle(o, "/nothing"));
	t->h->log(o, line);
	leave(t);
}

static uint64_t do_read(struct selftest *t, uint64_t off, uint32_t size)
{
	void *o = t->h->opaque;

	if (off >= 4 && off + size <= 12) {
		uint64_t v = 0;

		memcpy(&v, t->scratch.b + off - 4, size);
		return v;
	}
	switch (off) {
	case 0x00:
		return 0x7477696e;
	case 0x10:
		return t->irqs;
	case 0x18:
		return t->fired;
	case 0x20:
		return t->dma_addr;
	case 0x24:
	case 0x28:
		return t->dma_status;
	case 0x2c:
		return t->dma_data;
	case 0x30:
		return t->last;
	case 0x34:
		return t->received;
	case 0x38:
		return t->answer;
	case 0x3c:
		return t->resets;
	case 0x40:
		return t->charge;
	case 0x44:
		t->h->stall(o, t->charge);
		return (uint32_t)t->h->now(o);
	case 0x48:
		return (uint64_t)t->h->now(o) >> 32;
	case 0x4c:
		return t->nested;
	case 0x50:
		return t->late;
	}
	return 0;
}

static uint64_t mmio_read(void *dev, uint32_t region, uint64_t off, uint32_t size)
{
	struct selftest *t = dev;
	uint64_t v;

	enter(t);
	v = region ? off : do_read(t, off, size);
	leave(t);
	return v;
}

static void mmio_write(void *dev, uint32_t region, uint64_t off, uint64_t value,
		       uint32_t size)
{
	struct selftest *t = dev;
	void *o = t->h->opaque;
	uint32_t word = value;
	uint8_t buf[8];

	enter(t);
	if (region) {
		leave(t);
		return;
	}
	if (off >= 4 && off + size <= 12) {
		memcpy(t->scratch.b + off - 4, &value, size);
		leave(t);
		return;
	}
	switch (off) {
	case 0x10:
		t->irqs = word;
		for (uint32_t i = 0; i < t->needs.irqs; i++) {
			t->h->set_irq(o, i, word >> i & 1);
		}
		break;
	case 0x18:
		t->deadline = word ? t->h->now(o) + word : -1;
		t->h->set_timer(o, t->deadline);
		break;
	case 0x20:
		t->dma_addr = word;
		break;
	case 0x24:
		t->dma_status = t->h->dma_read(o, t->dma_addr, buf, sizeof(buf));
		memcpy(&t->dma_data, buf, sizeof(t->dma_data));
		break;
	case 0x28:
		t->dma_status = t->h->dma_write(o, t->dma_addr, &word, sizeof(word));
		break;
	case 0x30:
		send_number(t, word);
		break;
	case 0x38:
		t->answer = word;
		break;
	case 0x40:
		t->charge = word;
		break;
	}
	leave(t);
}

static void timer(void *dev)
{
	struct selftest *t = dev;

	enter(t);
	t->fired++;
	t->late = t->h->now(t->h->opaque) - t->deadline;
	leave(t);
}

static void receive(void *dev, const uint8_t *frame, size_t len)
{
	struct selftest *t = dev;

	enter(t);
	t->received++;
	if (len >= 18) {
		memcpy(&t->last, frame + 14, sizeof(t->last));
	}
	if (t->answer) {
		t->answer--;
		send_number(t, t->last + 1);
	}
	leave(t);
}

static void reset(void *dev)
{
	struct selftest *t = dev;

	enter(t);
	t->resets++;
	t->irqs = 0;
	leave(t);
}

static void destroy(void *dev)
{
	struct selftest *t = dev;

	t->h->log(t->h->opaque, "destroyed");
	free(t);
}

static const struct twin_model model = {
	.version = TWIN_ABI_VERSION,
#ifdef SELFTEST_WRONG_SIZE
	.size = sizeof(struct twin_model) - 8,
#else
	.size = sizeof(struct twin_model),
#endif
	.create = create,
	.needs = needs,
	.describe = describe,
	.mmio_read = mmio_read,
	.mmio_write = mmio_write,
	.timer = timer,
	.receive = receive,
	.reset = reset,
	.destroy = destroy,
};

#ifndef SELFTEST_NO_ENTRY
const struct twin_model *twin_entry(void);

const struct twin_model *twin_entry(void)
{
	return &model;
}
#else
const void *const selftest_keep = &model;
#endif
