/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A QEMU device whose behaviour is in a shared library: the boundary is
 * twin_abi.h, the library says what it needs and builds its own device tree
 * nodes, and nothing in this file knows what is being modelled.
 *
 *   -device twin,lib=FILE[,args=k=v:k=v][,addr=A][,spi=N][,mac=M][,netdev=ID]
 *
 * It is meant to be preloaded into a distribution's qemu-system-aarch64 that is
 * linked with its symbols exported (scripts/qemu.sh), and can be compiled into
 * QEMU unchanged. Made for the "virt" machine of the Arm targets: it looks for a
 * GIC and for a device tree that is still being built.
 *
 * Everything here runs with the big QEMU lock held, in whichever thread has it:
 * a vCPU for MMIO, the main loop for the rest.
 */
#include "qemu/osdep.h"
#include <dlfcn.h>
#include <libfdt.h>
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "hw/boards.h"
#include "hw/core/cpu.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "net/net.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-control.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/cpu-timers.h"
#include "system/device_tree.h"
#include "system/dma.h"
#include "system/reset.h"
#include "system/system.h"
#include "twin_abi.h"

#define TYPE_TWIN "twin"
OBJECT_DECLARE_SIMPLE_TYPE(TwinState, TWIN)

/*
 * What the virt machine leaves free: the hole between the virtio-mmio
 * transports and the platform bus, and the SPIs above the platform bus.
 */
#define FREE_ADDR	0x0b000000ULL
#define FREE_ADDR_END	0x0c000000ULL
#define FREE_SPI	176

/*
 * Regions start at multiples of this, so that a guest with pages of any size
 * maps one without its neighbour.
 */
#define REGION_ALIGN	(64 * KiB)

#define GIC_PRIVATE	32	/* SGIs and PPIs: interrupts below the first SPI */
#define SPI_AUTO	UINT32_MAX

/* A frame that arrived while the model could not be entered. */
typedef struct HeldFrame {
	QSIMPLEQ_ENTRY(HeldFrame) next;
	size_t len;
	uint8_t data[];
} HeldFrame;

/*
 * Only answers to what the model itself sends can be held, so that a short
 * queue is enough; more than this is a storm, and is dropped as a wire would.
 */
#define HELD_MAX 1024

typedef struct TwinRegion {
	MemoryRegion mr;
	TwinState *twin;
	uint32_t index;
} TwinRegion;

struct TwinState {
	DeviceState parent;

	/* Properties. */
	char *lib;
	char *args;
	uint64_t addr;
	uint32_t spi;
	NICConf nic_conf;

	void *handle;			/* of dlopen() */
	const struct twin_model *ops;
	void *model;			/* NULL before create and after destroy */
	struct twin_host host;
	struct twin_needs needs;
	struct twin_place place;

	TwinRegion region[TWIN_MAX_REGIONS];
	qemu_irq irq[TWIN_MAX_IRQS];
	int8_t level[TWIN_MAX_IRQS];	/* last passed on; -1: none since reset */
	QEMUTimer *timer;
	int64_t deadline;		/* of the timer; -1: not pending */
	NICState *nic;
	QSIMPLEQ_HEAD(, HeldFrame) held;
	unsigned int held_count;
	void *fdt;			/* inside describe() only */
	Notifier exit;

	uint32_t depth;			/* calls of the model on the stack */
	bool in_mmio;
	bool stall_checked;
	int64_t stall_debt;		/* instructions still to be charged */
};

/* Next free place for devices that are not told where to go. */
static uint64_t next_addr = FREE_ADDR;
static uint32_t next_spi = FREE_SPI;
static uint32_t instances;

static void twin_log(void *opaque, const char *line)
{
	TwinState *s = opaque;

	fprintf(stderr, "twin%u: %s\n", s->place.instance, line);
}

/* {{{ Entering and leaving the model */

static bool twin_enter(TwinState *s)
{
	g_assert(bql_locked());
	if (!s->model) {
		return false;
	}
	g_assert(s->depth == 0);
	s->depth++;
	return true;
}

static void twin_leave(TwinState *s)
{
	HeldFrame *f;

	s->depth--;

	/*
	 * A back end may answer from inside send(). Its frames are delivered
	 * here, one after the other: the answer to a held frame is held again.
	 */
	while (s->model && (f = QSIMPLEQ_FIRST(&s->held))) {
		QSIMPLEQ_REMOVE_HEAD(&s->held, next);
		s->held_count--;
		s->depth++;
		s->ops->receive(s->model, f->data, f->len);
		s->depth--;
		g_free(f);
	}
}

static uint64_t twin_mmio_read(void *opaque, hwaddr off, unsigned int size)
{
	TwinRegion *r = opaque;
	TwinState *s = r->twin;
	uint64_t value;

	if (!twin_enter(s)) {
		return 0;
	}
	s->in_mmio = true;
	value = s->ops->mmio_read(s->model, r->index, off, size);
	s->in_mmio = false;
	twin_leave(s);
	return value;
}

static void twin_mmio_write(void *opaque, hwaddr off, uint64_t value,
			    unsigned int size)
{
	TwinRegion *r = opaque;
	TwinState *s = r->twin;

	if (!twin_enter(s)) {
		return;
	}
	s->in_mmio = true;
	s->ops->mmio_write(s->model, r->index, off, value, size);
	s->in_mmio = false;
	twin_leave(s);
}

static const MemoryRegionOps twin_mmio_ops = {
	.read = twin_mmio_read,
	.write = twin_mmio_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 1, .max_access_size = 8 },
	.impl = { .min_access_size = 1, .max_access_size = 8 },
};

static void twin_timer(void *opaque)
{
	TwinState *s = opaque;

	s->deadline = -1;
	if (twin_enter(s)) {
		s->ops->timer(s->model);
		twin_leave(s);
	}
}

static ssize_t twin_receive(NetClientState *nc, const uint8_t *buf, size_t len)
{
	TwinState *s = qemu_get_nic_opaque(nc);

	if (s->model && s->depth > 0) {
		HeldFrame *f;

		if (s->held_count < HELD_MAX) {
			f = g_malloc(sizeof(*f) + len);
			f->len = len;
			memcpy(f->data, buf, len);
			QSIMPLEQ_INSERT_TAIL(&s->held, f, next);
			s->held_count++;
		}
	} else if (twin_enter(s)) {
		s->ops->receive(s->model, buf, len);
		twin_leave(s);
	}
	/* Never back-pressure: what a MAC has no room for is lost. */
	return len;
}

static NetClientInfo twin_net_info = {
	.type = NET_CLIENT_DRIVER_NIC,
	.size = sizeof(NICState),
	.receive = twin_receive,
};

static void twin_reset(void *opaque)
{
	TwinState *s = opaque;

	/* The GIC is reset as well, in an order that nobody promises. */
	memset(s->level, -1, sizeof(s->level));
	s->stall_debt = 0;
	if (twin_enter(s)) {
		s->ops->reset(s->model);
		twin_leave(s);
	}
}

static void twin_destroy(TwinState *s)
{
	void *model = s->model;

	s->model = NULL;
	if (model) {
		s->ops->destroy(model);
	}
}

static void twin_exit(Notifier *n, void *data G_GNUC_UNUSED)
{
	TwinState *s = container_of(n, TwinState, exit);

	/*
	 * exit() called below one of the model's own calls comes here too. The
	 * model cannot be entered then, and its files stay as they are.
	 */
	if (s->depth == 0) {
		twin_destroy(s);
	}
}

/* }}} */
/* {{{ What the model may call */

/*
 * With the "memory" attribute QEMU refuses everything but RAM and ROM, so that
 * no descriptor makes the device write to a device, itself included.
 * dma_memory_*() order the access against vCPUs of other threads.
 */
static const MemTxAttrs dma_attrs = { .memory = 1 };

static int twin_dma_read(void *opaque G_GNUC_UNUSED, uint64_t addr, void *buf,
			 size_t len)
{
	return dma_memory_read(&address_space_memory, addr, buf, len,
			       dma_attrs) == MEMTX_OK ? 0 : -1;
}

static int twin_dma_write(void *opaque G_GNUC_UNUSED, uint64_t addr,
			  const void *buf, size_t len)
{
	return dma_memory_write(&address_space_memory, addr, buf, len,
				dma_attrs) == MEMTX_OK ? 0 : -1;
}

static void twin_set_irq(void *opaque, uint32_t line, int level)
{
	TwinState *s = opaque;

	level = !!level;
	/* Without irq[]: a call from create(), before there are lines. */
	if (line >= s->needs.irqs || !s->irq[line] || s->level[line] == level) {
		return;
	}
	s->level[line] = level;
	qemu_set_irq(s->irq[line], level);
}

static int64_t twin_now(void *opaque G_GNUC_UNUSED)
{
	return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void twin_set_timer(void *opaque, int64_t deadline)
{
	TwinState *s = opaque;

	if (deadline < 0) {
		deadline = -1;
	}
	if (deadline == s->deadline || !s->timer) {
		return;
	}
	s->deadline = deadline;
	if (deadline < 0) {
		timer_del(s->timer);
	} else {
		timer_mod_ns(s->timer, deadline);
	}
}

static void twin_send(void *opaque, const uint8_t *frame, size_t len)
{
	TwinState *s = opaque;

	if (s->nic) {
		qemu_send_packet(qemu_get_queue(s->nic), frame, len);
	}
}

/*
 * Under -icount a vCPU runs on a budget of instructions up to the next timer
 * and virtual time is what it has used of it. Taking instructions off the budget
 * from inside an access makes the access that long. What the budget cannot bear
 * is kept for the next access, since the timer has to run first.
 */
static void twin_stall(void *opaque, uint64_t ns)
{
	TwinState *s = opaque;
	CPUState *cpu = current_cpu;
	int64_t before, left, charge;

	if (!s->in_mmio || !cpu || icount_enabled() != ICOUNT_PRECISE) {
		return;
	}

	/* The clock's view first: it moves what has been used off the budget. */
	before = icount_get_raw();
	left = cpu->neg.icount_decr.u16.low + cpu->icount_extra;
	s->stall_debt += icount_round(ns);
	charge = MIN(s->stall_debt, left);
	s->stall_debt -= charge;

	left -= charge;
	cpu->neg.icount_decr.u16.low = MIN(left, 0xffff);
	cpu->icount_extra = left - cpu->neg.icount_decr.u16.low;

	/* These are QEMU's innermost fields: see once that they are where we think. */
	if (!s->stall_checked && charge) {
		if (icount_get_raw() != before + charge) {
			error_report("twin: this QEMU keeps its instruction count elsewhere; "
				     "MMIO cannot be charged");
			_exit(1);
		}
		s->stall_checked = true;
	}
}

static bool twin_fdt_allowed(TwinState *s, const char *what, const char *path)
{
	if (s->fdt) {
		return true;
	}
	error_report("twin: %s of %s outside describe()", what, path);
	return false;
}

static void twin_fdt_node(void *opaque, const char *path)
{
	TwinState *s = opaque;

	if (twin_fdt_allowed(s, "fdt_node", path)) {
		qemu_fdt_add_subnode(s->fdt, path);
	}
}

static void twin_fdt_prop(void *opaque, const char *path, const char *name,
			  const void *data, size_t len)
{
	TwinState *s = opaque;

	if (twin_fdt_allowed(s, "fdt_prop", path)) {
		qemu_fdt_setprop(s->fdt, path, name, data, len);
	}
}

static uint32_t twin_fdt_phandle(void *opaque, const char *path)
{
	TwinState *s = opaque;
	uint32_t phandle;
	int node;

	if (!twin_fdt_allowed(s, "fdt_phandle", path)) {
		return 0;
	}
	node = fdt_path_offset(s->fdt, path);
	if (node < 0) {
		return 0;
	}
	phandle = fdt_get_phandle(s->fdt, node);
	if (!phandle) {
		phandle = qemu_fdt_alloc_phandle(s->fdt);
		qemu_fdt_setprop_cell(s->fdt, path, "phandle", phandle);
	}
	return phandle;
}

static const struct twin_host twin_host = {
	.version = TWIN_ABI_VERSION,
	.size = sizeof(struct twin_host),
	.dma_read = twin_dma_read,
	.dma_write = twin_dma_write,
	.set_irq = twin_set_irq,
	.now = twin_now,
	.set_timer = twin_set_timer,
	.send = twin_send,
	.stall = twin_stall,
	.log = twin_log,
	.fdt_node = twin_fdt_node,
	.fdt_prop = twin_fdt_prop,
	.fdt_phandle = twin_fdt_phandle,
};

/* }}} */
/* {{{ Coming into being */

/* Structures are shared with QEMU: only the very version of our headers will do. */
static bool twin_check_qemu(Error **errp)
{
	g_autoptr(VersionInfo) v = qmp_query_version(NULL);

	if (v->qemu->major == QEMU_VERSION_MAJOR &&
	    v->qemu->minor == QEMU_VERSION_MINOR &&
	    v->qemu->micro == QEMU_VERSION_MICRO) {
		return true;
	}
	error_setg(errp, "the shim was compiled for QEMU %d.%d.%d and this is %" PRId64
		   ".%" PRId64 ".%" PRId64 "%s", QEMU_VERSION_MAJOR, QEMU_VERSION_MINOR,
		   QEMU_VERSION_MICRO, v->qemu->major, v->qemu->minor, v->qemu->micro,
		   v->package);
	error_append_hint(errp, "Run scripts/qemu.sh.\n");
	return false;
}

static bool twin_load(TwinState *s, Error **errp)
{
	twin_entry_fn *entry;

	s->handle = dlopen(s->lib, RTLD_NOW | RTLD_LOCAL);
	if (!s->handle) {
		error_setg(errp, "cannot load lib=%s: %s", s->lib, dlerror());
		return false;
	}
	entry = (twin_entry_fn *)dlsym(s->handle, TWIN_ENTRY);
	if (!entry) {
		error_setg(errp, "lib=%s is no model: it lacks " TWIN_ENTRY "()", s->lib);
		return false;
	}
	s->ops = entry();
	if (s->ops->version != TWIN_ABI_VERSION ||
	    s->ops->size != sizeof(struct twin_model)) {
		error_setg(errp, "lib=%s speaks version %u of the interface (%u bytes), "
			   "the shim version %u (%zu bytes)", s->lib, s->ops->version,
			   s->ops->size, TWIN_ABI_VERSION, sizeof(struct twin_model));
		return false;
	}
	return true;
}

static bool twin_check_needs(TwinState *s, Error **errp)
{
	if (s->needs.regions > TWIN_MAX_REGIONS || s->needs.irqs > TWIN_MAX_IRQS) {
		error_setg(errp, "lib=%s wants %u regions and %u interrupts", s->lib,
			   s->needs.regions, s->needs.irqs);
		return false;
	}
	for (uint32_t i = 0; i < s->needs.regions; i++) {
		if (!s->needs.region_size[i] ||
		    !QEMU_IS_ALIGNED(s->needs.region_size[i], 4 * KiB)) {
			error_setg(errp, "lib=%s wants a region of 0x%" PRIx64 " bytes",
				   s->lib, s->needs.region_size[i]);
			return false;
		}
	}
	return true;
}

static bool twin_map(TwinState *s, Error **errp)
{
	MemoryRegion *system = get_system_memory();
	bool chosen = s->addr != 0;
	uint64_t addr = chosen ? s->addr : next_addr;

	if (!QEMU_IS_ALIGNED(addr, REGION_ALIGN)) {
		error_setg(errp, "addr=0x%" PRIx64 " is no multiple of 0x%x", addr,
			   (unsigned int)REGION_ALIGN);
		return false;
	}
	for (uint32_t i = 0; i < s->needs.regions; i++) {
		uint64_t size = s->needs.region_size[i];
		MemoryRegionSection hit = memory_region_find(system, addr, size);

		if (hit.mr) {
			error_setg(errp, "0x%" PRIx64 "-0x%" PRIx64 " overlaps %s", addr,
				   addr + size - 1, memory_region_name(hit.mr));
			memory_region_unref(hit.mr);
			return false;
		}
		if (!chosen && addr + size > FREE_ADDR_END) {
			error_setg(errp, "no room left for another device below 0x%llx",
				   FREE_ADDR_END);
			return false;
		}
		s->place.region_addr[i] = addr;
		addr = ROUND_UP(addr + size, REGION_ALIGN);
	}
	for (uint32_t i = 0; i < s->needs.regions; i++) {
		TwinRegion *r = &s->region[i];
		g_autofree char *name = g_strdup_printf("twin%u.%u", s->place.instance, i);

		r->twin = s;
		r->index = i;
		memory_region_init_io(&r->mr, OBJECT(s), &twin_mmio_ops, r, name,
				      s->needs.region_size[i]);
		memory_region_add_subregion(system, s->place.region_addr[i], &r->mr);
	}
	if (!chosen) {
		next_addr = addr;
	}
	return true;
}

static bool twin_wire_irqs(TwinState *s, Error **errp)
{
	bool chosen = s->spi != SPI_AUTO;
	uint32_t spi = chosen ? s->spi : next_spi;
	uint64_t spis;
	Object *gic;

	gic = object_resolve_path_type("", "arm-gicv3-common", NULL);
	if (!gic) {
		gic = object_resolve_path_type("", "arm_gic_common", NULL);
	}
	if (!gic) {
		error_setg(errp, "this machine has no GIC; use -M virt");
		return false;
	}
	spis = object_property_get_uint(gic, "num-irq", &error_abort) - GIC_PRIVATE;
	if ((uint64_t)spi + s->needs.irqs > spis) {
		error_setg(errp, "spi=%u with %u interrupts does not fit: the GIC has SPI 0 to %"
			   PRIu64, spi, s->needs.irqs, spis - 1);
		return false;
	}
	for (uint32_t i = 0; i < s->needs.irqs; i++) {
		s->place.irq_spi[i] = spi + i;
		s->irq[i] = qdev_get_gpio_in(DEVICE(gic), spi + i);
	}
	if (!chosen) {
		next_spi = spi + s->needs.irqs;
	}
	return true;
}

static void twin_realize(DeviceState *dev, Error **errp)
{
	TwinState *s = TWIN(dev);
	void *fdt;

	if (!twin_check_qemu(errp)) {
		return;
	}
	/* The tree goes to the guest when the machine is complete, which is later. */
	fdt = MACHINE(qdev_get_machine())->fdt;
	if (!fdt || fdt_check_header(fdt)) {
		error_setg(errp, "this machine builds no device tree; use -M virt");
		return;
	}
	if (!s->lib) {
		error_setg(errp, "lib= is missing: the model's shared library");
		return;
	}
	if (!twin_load(s, errp)) {
		return;
	}

	s->place.instance = instances++;
	s->deadline = -1;
	QSIMPLEQ_INIT(&s->held);
	memset(s->level, -1, sizeof(s->level));
	s->host = twin_host;
	s->host.opaque = s;

	s->model = s->ops->create(&s->host, s->args ? s->args : "");
	if (!s->model) {
		error_setg(errp, "the model refused args=%s", s->args ? s->args : "");
		return;
	}
	s->ops->needs(s->model, &s->needs);

	qemu_macaddr_default_if_unset(&s->nic_conf.macaddr);
	memcpy(s->place.mac, s->nic_conf.macaddr.a, sizeof(s->place.mac));

	if (!twin_check_needs(s, errp) || !twin_wire_irqs(s, errp) || !twin_map(s, errp)) {
		twin_destroy(s);
		return;
	}

	s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, twin_timer, s);
	/* A device with the peer inside its model has no network back end. */
	if (s->nic_conf.peers.ncs[0]) {
		s->nic = qemu_new_nic(&twin_net_info, &s->nic_conf, TYPE_TWIN, dev->id,
				      &dev->mem_reentrancy_guard, s);
	}

	s->fdt = fdt;
	s->depth++;
	s->ops->describe(s->model, &s->place);
	s->depth--;
	s->fdt = NULL;

	qemu_register_reset(twin_reset, s);
	s->exit.notify = twin_exit;
	qemu_add_exit_notifier(&s->exit);
}

static const Property twin_properties[] = {
	DEFINE_PROP_STRING("lib", TwinState, lib),
	DEFINE_PROP_STRING("args", TwinState, args),
	DEFINE_PROP_UINT64("addr", TwinState, addr, 0),
	DEFINE_PROP_UINT32("spi", TwinState, spi, SPI_AUTO),
	DEFINE_NIC_PROPERTIES(TwinState, nic_conf),
};

static void twin_class_init(ObjectClass *klass, void *data G_GNUC_UNUSED)
{
	DeviceClass *dc = DEVICE_CLASS(klass);

	dc->desc = "network device modelled by a shared library";
	dc->realize = twin_realize;
	dc->user_creatable = true;
	dc->hotpluggable = false;
	device_class_set_props(dc, twin_properties);
	set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
}

static const TypeInfo twin_info = {
	.name = TYPE_TWIN,
	.parent = TYPE_DEVICE,
	.instance_size = sizeof(TwinState),
	.class_init = twin_class_init,
};

/*
 * What QEMU starts (a program behind guestfwd=, a bridge helper) lacks its
 * symbols, and would not run with this object in it.
 */
static void __attribute__((constructor)) twin_not_for_children(void)
{
	unsetenv("LD_PRELOAD");
}

static void twin_register(void)
{
	type_register_static(&twin_info);
}

/*
 * Not type_init(): the constructors of a preloaded object run before QEMU's own,
 * and would register this type before its parent. The next round of
 * initialisation comes after all types and before -device.
 */
module_init(twin_register, MODULE_INIT_MIGRATION)

/* }}} */
