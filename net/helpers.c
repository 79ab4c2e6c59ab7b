// SPDX-License-Identifier: GPL-2.0
/*
 * C inline functions, macros and bitfields for net/, see helpers.h.
 *
 * In tree these would be files of rust/helpers/.
 */

#include <linux/bpf_trace.h>
#include <linux/dma-mapping.h>
#include <linux/error-injection.h>
#include <linux/etherdevice.h>
#include <linux/filter.h>
#include <linux/if_vlan.h>
#include <linux/mdio.h>
#include <linux/net_tstamp.h>
#include <linux/netdevice.h>
#include <linux/of.h>
#include <linux/phy.h>
#include <linux/pm_runtime.h>
#include <linux/pm_wakeup.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/netdev_queues.h>
#include <net/page_pool/helpers.h>
#include <net/xdp.h>

#include "helpers.h"

/* net_device */

void rnet_set_netdev_dev(struct net_device *ndev, struct device *parent)
{
	SET_NETDEV_DEV(ndev, parent);
	/* An Skb is its driver's alone: no pktgen with clone_skb. */
	ndev->priv_flags &= ~IFF_TX_SKB_SHARING;
}

int rnet_alloc_name(struct net_device *ndev)
{
	return dev_alloc_name(ndev, ndev->name);
}

void rnet_set_netdev_ops(struct net_device *ndev,
			 const struct net_device_ops *ops)
{
	ndev->netdev_ops = ops;
}

void rnet_set_ethtool_ops(struct net_device *ndev,
			  const struct ethtool_ops *ops)
{
	ndev->ethtool_ops = ops;
}

void rnet_set_stat_ops(struct net_device *ndev,
		       const struct netdev_stat_ops *ops)
{
	ndev->stat_ops = ops;
}

void rnet_set_watchdog(struct net_device *ndev, unsigned int msecs)
{
	ndev->watchdog_timeo = msecs_to_jiffies(msecs);
}

void rnet_set_irq(struct net_device *ndev, int irq)
{
	ndev->irq = irq;
}

void rnet_name(const struct net_device *ndev, char *name, size_t size)
{
	strscpy(name, netdev_name(ndev), size);
}

u64 rnet_features(const struct net_device *ndev)
{
	return ndev->features;
}

void rnet_set_features(struct net_device *ndev, u64 features, u64 hw_features,
		       u64 vlan_features)
{
	ndev->features = features;
	ndev->hw_features = hw_features;
	ndev->vlan_features = vlan_features;
}

void rnet_set_active_features(struct net_device *ndev, u64 features)
{
	ndev->features = features;
}

void rnet_set_mtu_range(struct net_device *ndev, unsigned int min,
			unsigned int max)
{
	ndev->min_mtu = min;
	ndev->max_mtu = max;
}

unsigned int rnet_mtu(const struct net_device *ndev)
{
	return READ_ONCE(ndev->mtu);
}

void rnet_set_mtu(struct net_device *ndev, unsigned int mtu)
{
	WRITE_ONCE(ndev->mtu, mtu);
}

unsigned int rnet_flags(const struct net_device *ndev)
{
	return READ_ONCE(ndev->flags);
}

void rnet_sockaddr_mac(const void *addr, u8 *mac)
{
	memcpy(mac, ((const struct sockaddr_storage *)addr)->__data, ETH_ALEN);
}

void rnet_dev_addr(const struct net_device *ndev, u8 *addr)
{
	memcpy(addr, ndev->dev_addr, ETH_ALEN);
}

struct phy_device *rnet_phydev(const struct net_device *ndev)
{
	return ndev->phydev;
}

bool rnet_running(const struct net_device *ndev)
{
	return netif_running(ndev);
}

bool rnet_device_present(const struct net_device *ndev)
{
	return netif_device_present(ndev);
}

bool rnet_carrier_ok(const struct net_device *ndev)
{
	return netif_carrier_ok(ndev);
}

void rnet_eth_hw_addr_set(struct net_device *ndev, const u8 *addr)
{
	eth_hw_addr_set(ndev, addr);
}

void rnet_eth_hw_addr_random(struct net_device *ndev)
{
	eth_hw_addr_random(ndev);
}

bool rnet_ratelimit(void)
{
	return net_ratelimit();
}

unsigned int rnet_num_present_cpus(void)
{
	return num_present_cpus();
}

void rnet_netif_tx_disable(struct net_device *ndev)
{
	netif_tx_disable(ndev);
}

/* TX queues */

struct netdev_queue *rnet_txq(struct net_device *ndev, unsigned int index)
{
	return netdev_get_tx_queue(ndev, index);
}

void rnet_txq_lock_bh(struct netdev_queue *txq)
{
	__netif_tx_lock_bh(txq);
}

void rnet_txq_unlock_bh(struct netdev_queue *txq)
{
	__netif_tx_unlock_bh(txq);
}

void rnet_txq_start(struct netdev_queue *txq)
{
	netif_tx_start_queue(txq);
}

void rnet_txq_stop(struct netdev_queue *txq)
{
	netif_tx_stop_queue(txq);
}

/* First half of netif_txq_try_stop(): the caller looks at the ring again. */
void rnet_txq_stop_mb(struct netdev_queue *txq)
{
	netif_tx_stop_queue(txq);
	/* Pairs with the barrier in rnet_txq_completed(). */
	smp_mb__after_atomic();
}

bool rnet_txq_stopped(const struct netdev_queue *txq)
{
	return netif_tx_queue_stopped(txq);
}

void rnet_txq_trans_update(struct netdev_queue *txq)
{
	txq_trans_cond_update(txq);
}

/* BQL and xmit_more: true if the doorbell must be rung now. */
bool rnet_txq_sent(struct netdev_queue *txq, unsigned int bytes)
{
	return __netdev_tx_sent_queue(txq, bytes, netdev_xmit_more());
}

/*
 * First half of __netif_txq_completed_wake(): report to BQL, full barrier, then
 * true if the queue is stopped, in which case the caller looks at the ring and
 * wakes the queue.
 */
bool rnet_txq_completed(struct netdev_queue *txq, unsigned int packets,
			unsigned int bytes)
{
	/* Pairs with the barrier in rnet_txq_stop_mb(). */
	netdev_txq_completed_mb(txq, packets, bytes);
	if (unlikely(!bytes)) {
		/* The same one: BQL that has nothing to count has none. */
		smp_mb();
	}
	return netif_tx_queue_stopped(txq);
}

void rnet_txq_reset(struct netdev_queue *txq)
{
	netdev_tx_reset_queue(txq);
}

/* NAPI */

void rnet_napi_add(struct net_device *ndev, struct napi_struct *napi,
		   int (*poll)(struct napi_struct *, int), int index)
{
	netif_napi_add_config(ndev, napi, poll, index);
}

void rnet_napi_timer_init(struct hrtimer *timer,
			  enum hrtimer_restart (*func)(struct hrtimer *))
{
	hrtimer_setup(timer, func, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
}

void rnet_napi_timer_start(struct hrtimer *timer, u64 nsecs)
{
	hrtimer_start(timer, ns_to_ktime(nsecs), HRTIMER_MODE_REL_PINNED);
}

void rnet_dev_lock(struct net_device *ndev)
{
	netdev_lock(ndev);
}

void rnet_dev_unlock(struct net_device *ndev)
{
	netdev_unlock(ndev);
}

void rnet_napi_del_locked(struct napi_struct *napi)
{
	netif_napi_del_locked(napi);
}

void rnet_napi_set_irq_locked(struct napi_struct *napi, int irq)
{
	netif_napi_set_irq_locked(napi, irq);
}

void rnet_queue_set_napi(struct net_device *ndev, unsigned int queue, bool tx,
			 struct napi_struct *napi)
{
	netif_queue_set_napi(ndev, queue,
			     tx ? NETDEV_QUEUE_TYPE_TX : NETDEV_QUEUE_TYPE_RX,
			     napi);
}

/* What napi_complete_done() will do after a poll that has received something. */
bool rnet_napi_defers(const struct napi_struct *napi)
{
	return READ_ONCE(napi->defer_hard_irqs) &&
	       READ_ONCE(napi->gro_flush_timeout);
}

bool rnet_napi_schedule_irqoff(struct napi_struct *napi)
{
	if (!napi_schedule_prep(napi))
		return false;

	/* Callers promise hardirq context; a broken promise must do no harm. */
	if (likely(irqs_disabled()))
		__napi_schedule_irqoff(napi);
	else
		__napi_schedule(napi);
	return true;
}

struct sk_buff *rnet_napi_alloc_skb(struct napi_struct *napi, unsigned int len)
{
	return napi_alloc_skb(napi, len);
}

void rnet_napi_gro_receive(struct napi_struct *napi, struct sk_buff *skb)
{
	napi_gro_receive(napi, skb);
}

/*
 * A received frame, whose checksum the hardware has verified or not.
 *
 * eth_type_trans() dies of a header that is not in the linear part, so one that is not is moved
 * there.
 */
void rnet_napi_receive(struct napi_struct *napi, struct sk_buff *skb,
		       bool verified)
{
	if (unlikely(!pskb_may_pull(skb, ETH_HLEN))) {
		dev_kfree_skb_any_reason(skb, SKB_DROP_REASON_PKT_TOO_SMALL);
		return;
	}
	if (verified)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->protocol = eth_type_trans(skb, napi->dev);
	napi_gro_receive(napi, skb);
}

/* sk_buff */

/* An skb around a page_pool buffer that will go back to its pool. */
struct sk_buff *rnet_napi_build_skb(void *data, unsigned int size,
				    unsigned int headroom, unsigned int len)
{
	struct sk_buff *skb = napi_build_skb(data, size);

	if (unlikely(!skb))
		return NULL;

	skb_mark_for_recycle(skb);
	skb_reserve(skb, headroom);
	__skb_put(skb, len);
	return skb;
}

/* The same around a page fragment, which will be freed. */
struct sk_buff *rnet_napi_build_frag_skb(void *data, unsigned int size,
					 unsigned int headroom,
					 unsigned int len)
{
	struct sk_buff *skb = napi_build_skb(data, size);

	if (unlikely(!skb))
		return NULL;

	skb_reserve(skb, headroom);
	__skb_put(skb, len);
	return skb;
}

/* Room that is ours to write to. */
unsigned int rnet_skb_tailroom(const struct sk_buff *skb)
{
	return skb_cloned(skb) ? 0 : skb_tailroom(skb);
}

unsigned int rnet_skb_nr_frags(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->nr_frags;
}

bool rnet_skb_frag_fits(const struct sk_buff *skb, bool pooled)
{
	return !skb_cloned(skb) && skb->pp_recycle == pooled &&
	       skb_shinfo(skb)->nr_frags < MAX_SKB_FRAGS;
}

void rnet_skb_add_rx_frag(struct sk_buff *skb, void *data, unsigned int len,
			  unsigned int truesize)
{
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, virt_to_page(data),
			offset_in_page(data), len, truesize);
}

void rnet_skb_csum_unnecessary(struct sk_buff *skb)
{
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

void rnet_skb_csum_complete(struct sk_buff *skb, __wsum csum)
{
	skb->csum = csum;
	skb->ip_summed = CHECKSUM_COMPLETE;
}

bool rnet_eth_type_trans(struct sk_buff *skb, struct net_device *ndev)
{
	if (unlikely(!pskb_may_pull(skb, ETH_HLEN)))
		return false;

	skb->protocol = eth_type_trans(skb, ndev);
	return true;
}

u16 rnet_skb_protocol(const struct sk_buff *skb)
{
	return ntohs(skb->protocol);
}

int rnet_skb_network_offset(const struct sk_buff *skb)
{
	return skb_network_offset(skb);
}

/* Where the sum begins that is to be filled in, or -1 if none is. */
int rnet_skb_csum_start(const struct sk_buff *skb)
{
	return skb->ip_summed == CHECKSUM_PARTIAL ?
		       skb_checksum_start_offset(skb) : -1;
}

/* Where the sum goes, from where it begins. */
u16 rnet_skb_csum_offset(const struct sk_buff *skb)
{
	return skb->csum_offset;
}

int rnet_skb_put_padto(struct sk_buff *skb, unsigned int len)
{
	return __skb_put_padto(skb, len, false);
}

int rnet_skb_linearize(struct sk_buff *skb)
{
	return skb_linearize(skb);
}

bool rnet_skb_hw_tstamp_wanted(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP;
}

void rnet_skb_hw_tstamp_begin(struct sk_buff *skb)
{
	skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
}

/*
 * Most packets want no stamp. skb_tx_timestamp() looks for a PHY that could take
 * one before it looks at that.
 */
void rnet_skb_tx_timestamp(struct sk_buff *skb)
{
	if (unlikely(skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP))
		skb_tx_timestamp(skb);
}

void rnet_skb_set_hwtstamp(struct sk_buff *skb, s64 ns)
{
	skb_hwtstamps(skb)->hwtstamp = ns_to_ktime(ns);
}

void rnet_skb_tstamp_tx(struct sk_buff *skb, s64 ns)
{
	struct skb_shared_hwtstamps stamps = { .hwtstamp = ns_to_ktime(ns) };

	skb_tstamp_tx(skb, &stamps);
}

/*
 * Free a packet that was sent, in any context. With bottom halves off it goes to
 * the CPU's cache, from which the next one is allocated.
 */
void rnet_skb_consume(struct sk_buff *skb)
{
	napi_consume_skb(skb,
			 in_softirq() && !in_hardirq() && !irqs_disabled());
}

struct sk_buff *rnet_skb_get(struct sk_buff *skb)
{
	return skb_get(skb);
}

/* PTP clocks */

int rnet_timespec64_to_ns(const struct timespec64 *ts, s64 *ns)
{
	if (ts->tv_sec < 0 || ts->tv_sec >= KTIME_SEC_MAX)
		return -ERANGE;
	*ns = timespec64_to_ns(ts);
	return 0;
}

void rnet_ns_to_timespec64(s64 ns, struct timespec64 *ts)
{
	*ts = ns_to_timespec64(ns);
}

static int ptp_time_to_ns(const struct ptp_clock_time *time, s64 *ns)
{
	const struct timespec64 ts = {
		.tv_sec = time->sec,
		.tv_nsec = time->nsec,
	};

	return rnet_timespec64_to_ns(&ts, ns);
}

int rnet_ptp_decode(const struct ptp_clock_request *from,
		    struct rnet_ptp_request *to)
{
	int ret;

	switch (from->type) {
	case PTP_CLK_REQ_EXTTS:
		to->periodic = false;
		to->index = from->extts.index;
		return 0;
	case PTP_CLK_REQ_PEROUT:
		to->periodic = true;
		to->index = from->perout.index;
		ret = ptp_time_to_ns(&from->perout.start, &to->start);
		return ret ?: ptp_time_to_ns(&from->perout.period, &to->period);
	default:
		return -EOPNOTSUPP;
	}
}

struct ptp_clock *rnet_ptp_clock_register(struct ptp_clock_info *info,
					  struct device *parent)
{
	return ptp_clock_register(info, parent);
}

void rnet_ptp_clock_unregister(struct ptp_clock *clock)
{
	ptp_clock_unregister(clock);
}

int rnet_ptp_clock_index(struct ptp_clock *clock)
{
	return ptp_clock_index(clock);
}

void rnet_ptp_extts_event(struct ptp_clock *clock, int index, s64 ns)
{
	struct ptp_clock_event event = {
		.type = PTP_CLOCK_EXTTS,
		.index = index,
		.timestamp = ns,
	};

	ptp_clock_event(clock, &event);
}

void rnet_ptp_read_prets(struct ptp_system_timestamp *sts)
{
	ptp_read_system_prets(sts);
}

void rnet_ptp_read_postts(struct ptp_system_timestamp *sts)
{
	ptp_read_system_postts(sts);
}

u64 rnet_ptp_adjust(u64 base, long scaled_ppm)
{
	return adjust_by_scaled_ppm(base, scaled_ppm);
}

u64 rnet_div64_u64(u64 a, u64 b)
{
	return div64_u64(a, b);
}

/* DMA */

/*
 * DMA_MAPPING_ERROR on failure, whatever the implementation says. Tests have it
 * fail on order (fail_function), with -1, which is the same.
 */
dma_addr_t rnet_dma_map_single(struct device *dev, void *va, size_t len,
			       enum dma_data_direction dir)
{
	dma_addr_t addr = dma_map_single(dev, va, len, dir);

	return likely(!dma_mapping_error(dev, addr)) ? addr : DMA_MAPPING_ERROR;
}
ALLOW_ERROR_INJECTION(rnet_dma_map_single, ERRNO);

void rnet_dma_unmap_single(struct device *dev, dma_addr_t addr, size_t len,
			   enum dma_data_direction dir)
{
	dma_unmap_single(dev, addr, len, dir);
}

/*
 * End what was mapped for @mapped bytes from the device, of which the CPU wants
 * to see @len: the caches have nothing of the others that matters.
 */
void rnet_dma_unmap_received(struct device *dev, dma_addr_t addr, size_t mapped,
			     size_t len)
{
	dma_sync_single_for_cpu(dev, addr, len, DMA_FROM_DEVICE);
	dma_unmap_single_attrs(dev, addr, mapped, DMA_FROM_DEVICE,
			       DMA_ATTR_SKIP_CPU_SYNC);
}

/* page fragments */

void *rnet_page_frag_alloc(struct page_frag_cache *cache, unsigned int size,
			   gfp_t gfp)
{
	return page_frag_alloc(cache, size, gfp & ~__GFP_HIGHMEM);
}

/* page_pool */

/*
 * Single pages that the device writes to; the caller does the syncing. A buffer
 * is known by its address, which leads to the page and the pool.
 */
struct page_pool *rnet_page_pool_create(struct device *dev,
					struct net_device *ndev,
					unsigned int queue, unsigned int size,
					enum dma_data_direction dir)
{
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP,
		.pool_size = size,
		.nid = NUMA_NO_NODE,
		.dev = dev,
		.dma_dir = dir,
		.netdev = ndev,
		.queue_idx = queue,
	};

	return page_pool_create(&params);
}

/*
 * A buffer, its real size and the bus address of @start, where the device will
 * write no more than @len bytes. @offset is the caller's because the address of a
 * variable here would be worth a stack canary. NULL if there is no page, or it
 * cannot be mapped: tests have this fail on order.
 */
void *rnet_page_pool_alloc(struct page_pool *pool, unsigned int *offset,
			   unsigned int *size, dma_addr_t *addr,
			   unsigned int start, unsigned int len, gfp_t gfp)
{
	struct page *page;

	page = page_pool_alloc(pool, offset, size, gfp & ~__GFP_HIGHMEM);
	if (unlikely(!page))
		return NULL;

	*addr = page_pool_get_dma_addr(page) + *offset + start;
	dma_sync_single_for_device(pool->p.dev, *addr, len, pool->p.dma_dir);
	return page_address(page) + *offset;
}
ALLOW_ERROR_INJECTION(rnet_page_pool_alloc, NULL);

void rnet_page_pool_put(const void *data)
{
	struct page *page = virt_to_page(data);

	page_pool_put_full_page(page->pp, page, false);
}

/* In the poll of the NAPI instance that @pool belongs to. */
void rnet_page_pool_recycle(struct page_pool *pool, const void *data)
{
	struct page *page = virt_to_page(data);

	page_pool_put_full_page(page->pp, page, page->pp == pool);
}

/* @data is any address in the buffer, @addr any bus address. */
void rnet_page_pool_sync_for_cpu(const void *data, dma_addr_t addr,
				 unsigned int len)
{
	const struct page_pool *pool = virt_to_page(data)->pp;

	dma_sync_single_for_cpu(pool->p.dev, addr, len, pool->p.dma_dir);
}

/* The CPU may have written @len bytes at the bus address @addr. */
void rnet_page_pool_sync_for_device(const void *data, dma_addr_t addr,
				    unsigned int len)
{
	const struct page_pool *pool = virt_to_page(data)->pp;

	dma_sync_single_for_device(pool->p.dev, addr, len, pool->p.dma_dir);
}

/* XDP */

void rnet_set_xdp_features(struct net_device *ndev, u32 features)
{
	ndev->xdp_features = features;
}

void rnet_bpf_prog_get(struct bpf_prog *prog)
{
	bpf_prog_inc(prog);
}

void rnet_bpf_prog_put(struct bpf_prog *prog)
{
	bpf_prog_put(prog);
}

bool rnet_bpf_prog_has_frags(const struct bpf_prog *prog)
{
	return prog->aux->xdp_has_frags;
}

/* Whether it may move the beginning or the end of a frame. */
bool rnet_bpf_prog_changes_frames(const struct bpf_prog *prog)
{
	return prog->aux->changes_pkt_data;
}

/* On failure nothing is registered. */
int rnet_xdp_rxq_register(struct xdp_rxq_info *rxq, struct net_device *ndev,
			  unsigned int queue, unsigned int frag_size,
			  struct page_pool *pool)
{
	int ret = __xdp_rxq_info_reg(rxq, ndev, queue, 0, frag_size);

	if (ret)
		return ret;

	ret = xdp_rxq_info_reg_mem_model(rxq, MEM_TYPE_PAGE_POOL, pool);
	if (ret)
		xdp_rxq_info_unreg(rxq);
	return ret;
}

/* False if the buffer at @hard_start is not of @pool. */
bool rnet_xdp_init(struct xdp_buff *xdp, struct xdp_rxq_info *rxq,
		   const struct page_pool *pool, void *hard_start,
		   unsigned int size, unsigned int headroom, unsigned int len)
{
	if (unlikely(virt_to_page(hard_start)->pp != pool))
		return false;

	xdp_init_buff(xdp, size, rxq);
	xdp_prepare_buff(xdp, hard_start, headroom, len, true);
	return true;
}

/* False if the buffer is not of @pool, or there is no room. */
bool rnet_xdp_add_frag(struct xdp_buff *xdp, const struct page_pool *pool,
		       void *data, unsigned int len, unsigned int truesize)
{
	struct page *page = virt_to_page(data);

	return page->pp == pool &&
	       xdp_buff_add_frag(xdp, page_to_netmem(page),
				 offset_in_page(data), len, truesize);
}

bool rnet_xdp_has_frags(const struct xdp_buff *xdp)
{
	return xdp_buff_has_frags(xdp);
}

/* Of all parts. */
unsigned int rnet_xdp_len(const struct xdp_buff *xdp)
{
	return xdp_get_buff_len(xdp);
}

/* Tell who wants to know that a program's verdict was not carried out. */
void rnet_xdp_exception(const struct bpf_prog *prog, const struct net_device *ndev,
			u32 act)
{
	trace_xdp_exception(ndev, prog, act);
}

/* One of the five verdicts, whatever the program says. */
u32 rnet_xdp_run(const struct bpf_prog *prog, struct xdp_buff *xdp)
{
	u32 act = bpf_prog_run_xdp(prog, xdp);

	switch (act) {
	case XDP_DROP:
	case XDP_PASS:
	case XDP_TX:
	case XDP_REDIRECT:
		return act;
	default:
		bpf_warn_invalid_xdp_action(xdp->rxq->dev, prog, act);
		fallthrough;
	case XDP_ABORTED:
		rnet_xdp_exception(prog, xdp->rxq->dev, act);
		return XDP_ABORTED;
	}
}

int rnet_xdp_redirect(const struct bpf_prog *prog, struct xdp_buff *xdp)
{
	return xdp_do_redirect(xdp->rxq->dev, xdp, prog);
}

/* An skb that begins with its Ethernet header, as all others do here. */
struct sk_buff *rnet_xdp_build_skb(const struct xdp_buff *xdp)
{
	struct sk_buff *skb = xdp_build_skb_from_buff(xdp);

	if (likely(skb))
		__skb_push(skb, ETH_HLEN);
	return skb;
}

struct xdp_frame *rnet_xdp_to_frame(struct xdp_buff *xdp)
{
	return xdp_convert_buff_to_frame(xdp);
}

bool rnet_xdp_frame_has_frags(const struct xdp_frame *frame)
{
	return xdp_frame_has_frags(frame);
}

/* Zeroes at the end, up to @len bytes. False if there is no room. */
bool rnet_xdp_frame_pad(struct xdp_frame *frame, unsigned int len)
{
	void *end = xdp_get_shared_info_from_frame(frame);
	void *tail = frame->data + frame->len;

	if (frame->len >= len)
		return true;
	if (len - frame->len > end - tail)
		return false;

	memset(tail, 0, len - frame->len);
	frame->len = len;
	return true;
}

/*
 * The bus address of @skip bytes behind the beginning of a frame in a page pool's
 * buffer, from where on the device may read it.
 */
dma_addr_t rnet_xdp_frame_sync(const struct xdp_frame *frame, unsigned int skip)
{
	const void *data = frame->data + skip;
	const struct page *page = virt_to_page(data);
	dma_addr_t addr = page_pool_get_dma_addr(page) + offset_in_page(data);

	dma_sync_single_for_device(page->pp->p.dev, addr, frame->len - skip,
				   page->pp->p.dma_dir);
	return addr;
}

/* interrupts, work, timers */

bool rnet_queue_delayed_work(struct delayed_work *work, unsigned int msecs)
{
	return schedule_delayed_work(work, msecs_to_jiffies(msecs));
}

void rnet_init_delayed_work(struct delayed_work *work, work_func_t func)
{
	INIT_DELAYED_WORK(work, func);
}

/* PHY and MDIO */

struct device_node *rnet_of_node(struct device *dev)
{
	return dev->of_node;
}

struct device_node *rnet_of_get_child(struct device_node *np, const char *name)
{
	return of_get_child_by_name(np, name);
}

struct device_node *rnet_of_parse_phandle(struct device_node *np,
					  const char *name)
{
	return of_parse_phandle(np, name, 0);
}

struct device_node *rnet_of_node_get(struct device_node *np)
{
	return of_node_get(np);
}

void rnet_of_node_put(struct device_node *np)
{
	of_node_put(np);
}

void rnet_phy_set_mac_managed_pm(struct phy_device *phydev)
{
	phydev->mac_managed_pm = true;
}

void rnet_phy_put(struct phy_device *phydev)
{
	put_device(&phydev->mdio.dev);
}

bool rnet_phy_link(const struct phy_device *phydev)
{
	return phydev->link;
}

void rnet_phy_get_pause(struct phy_device *phydev, bool *tx, bool *rx)
{
	phy_get_pause(phydev, tx, rx);
}

void rnet_mii_bus_setup(struct mii_bus *bus, struct device *parent,
			const char *name)
{
	bus->name = name;
	bus->parent = parent;
	snprintf(bus->id, MII_BUS_ID_SIZE, "%s", dev_name(parent));
}

/* runtime PM */

int rnet_pm_resume_and_get(struct device *dev)
{
	return pm_runtime_resume_and_get(dev);
}

void rnet_pm_get_noresume(struct device *dev)
{
	pm_runtime_get_noresume(dev);
}

int rnet_pm_get_if_active(struct device *dev)
{
	return pm_runtime_get_if_active(dev);
}

void rnet_pm_put_autosuspend(struct device *dev)
{
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
}

void rnet_pm_put_sync_suspend(struct device *dev)
{
	pm_runtime_put_sync_suspend(dev);
}

void rnet_pm_enable(struct device *dev, int autosuspend_ms)
{
	pm_runtime_set_autosuspend_delay(dev, autosuspend_ms);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_enable(dev);
}

void rnet_pm_disable(struct device *dev)
{
	pm_runtime_dont_use_autosuspend(dev);
	pm_runtime_disable(dev);
}

bool rnet_pm_enabled(struct device *dev)
{
	return pm_runtime_enabled(dev);
}

bool rnet_pm_active(struct device *dev)
{
	return pm_runtime_active(dev);
}

bool rnet_device_may_wakeup(struct device *dev)
{
	return device_may_wakeup(dev);
}

void rnet_pm_wakeup_event(struct device *dev)
{
	pm_wakeup_event(dev, 0);
}

/* netlink */

void rnet_extack_set(struct netlink_ext_ack *extack, const char *msg)
{
	if (extack)
		extack->_msg = msg;
}
