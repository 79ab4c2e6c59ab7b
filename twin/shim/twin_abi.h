/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one boundary between the QEMU shim (C) and the model (Rust).
 *
 * The shim knows QEMU and nothing of Renesas; the model knows Renesas and
 * nothing of QEMU. Only plain C types cross. All calls in both directions are
 * made on one thread at a time (QEMU's big lock), never from a thread of the
 * library's own. The shim never calls into the model while a call of the model
 * is on the stack: frames that arrive meanwhile are held back.
 *
 * Times are nanoseconds of QEMU_CLOCK_VIRTUAL.
 */
#ifndef TWIN_ABI_H
#define TWIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#define TWIN_ABI_VERSION 1

/* What the shim offers to the model. Valid from create() to destroy(). */
struct twin_host {
	uint32_t version;	/* TWIN_ABI_VERSION */
	uint32_t size;		/* sizeof(struct twin_host) */
	void *opaque;		/* first argument of every callback */

	/* Guest physical memory. 0, or -1 when the range is not memory. */
	int (*dma_read)(void *opaque, uint64_t addr, void *buf, size_t len);
	int (*dma_write)(void *opaque, uint64_t addr, const void *buf, size_t len);

	/* Level of interrupt line @line (0 .. irq_count-1), active high. */
	void (*set_irq)(void *opaque, uint32_t line, int level);

	int64_t (*now)(void *opaque);

	/* One timer a device: calls timer() at @deadline; negative: none. */
	void (*set_timer)(void *opaque, int64_t deadline);

	/* A frame without FCS to the emulator's network back end, if any. */
	void (*send)(void *opaque, const uint8_t *frame, size_t len);

	/*
	 * Charges @ns of virtual time to the vCPU that makes the present MMIO
	 * access. No effect without -icount.
	 */
	void (*stall)(void *opaque, uint64_t ns);

	/* One line for the person at the terminal (stderr), without newline. */
	void (*log)(void *opaque, const char *line);

	/*
	 * Flattened device tree of the machine; only inside describe().
	 * fdt_phandle() makes the node's phandle when it has none; 0: no such
	 * node.
	 */
	void (*fdt_node)(void *opaque, const char *path);
	void (*fdt_prop)(void *opaque, const char *path, const char *name,
			 const void *data, size_t len);
	uint32_t (*fdt_phandle)(void *opaque, const char *path);
};

#define TWIN_MAX_REGIONS 4
#define TWIN_MAX_IRQS 32

/* What a created device needs from the machine. */
struct twin_needs {
	uint32_t regions;			/* MMIO regions, at most TWIN_MAX_REGIONS */
	uint32_t irqs;				/* interrupt lines, at most TWIN_MAX_IRQS */
	uint64_t region_size[TWIN_MAX_REGIONS];	/* bytes, multiples of 4 KiB */
};

/* Where the shim has put it. */
struct twin_place {
	uint64_t region_addr[TWIN_MAX_REGIONS];	/* guest physical */
	uint32_t irq_spi[TWIN_MAX_IRQS];	/* GIC SPI number (DT cell 1) */
	uint8_t mac[6];				/* station address of this port */
	uint32_t instance;			/* 0 for the first device, 1, ... */
};

/* What the model offers to the shim. */
struct twin_model {
	uint32_t version;	/* TWIN_ABI_VERSION */
	uint32_t size;		/* sizeof(struct twin_model) */

	/*
	 * @args: "key=value:key=value". NULL on failure, after a log() line
	 * that names the argument at fault.
	 */
	void *(*create)(const struct twin_host *host, const char *args);
	void (*needs)(void *dev, struct twin_needs *needs);
	/* Called once, before the guest runs: adds the device tree nodes. */
	void (*describe)(void *dev, const struct twin_place *place);

	/* @size is 1, 2, 4 or 8; @off is aligned to it. */
	uint64_t (*mmio_read)(void *dev, uint32_t region, uint64_t off, uint32_t size);
	void (*mmio_write)(void *dev, uint32_t region, uint64_t off, uint64_t value,
			   uint32_t size);
	void (*timer)(void *dev);
	/* A frame without FCS from the network back end. */
	void (*receive)(void *dev, const uint8_t *frame, size_t len);
	/* Machine reset: as after power on. */
	void (*reset)(void *dev);
	/* Before the emulator exits: flush files. */
	void (*destroy)(void *dev);
};

/* The only symbol that the library exports. */
#define TWIN_ENTRY "twin_entry"
typedef const struct twin_model *twin_entry_fn(void);

#endif /* TWIN_ABI_H */
