/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C inline functions, macros and bitfields for net/: one function for each, so
 * that Rust never counts bits or copies the body of an inline function. Where
 * the data path needs several of them in a row they are joined into one call,
 * because in a kernel built with gcc each helper is a real call.
 */
#ifndef _RUST_NET_HELPERS_H
#define _RUST_NET_HELPERS_H

#include <linux/netdevice.h>
#include <linux/phy.h>
#include <linux/ptp_clock_kernel.h>
#include <net/page_pool/types.h>
#include <net/xdp.h>

/* net_device: Rust sees it as an opaque type */
void rnet_set_netdev_dev(struct net_device *ndev, struct device *parent);
int rnet_alloc_name(struct net_device *ndev);
void rnet_set_netdev_ops(struct net_device *ndev,
			 const struct net_device_ops *ops);
void rnet_set_ethtool_ops(struct net_device *ndev,
			  const struct ethtool_ops *ops);
void rnet_set_stat_ops(struct net_device *ndev,
		       const struct netdev_stat_ops *ops);
void rnet_set_watchdog(struct net_device *ndev, unsigned int msecs);
void rnet_set_irq(struct net_device *ndev, int irq);
void rnet_name(const struct net_device *ndev, char *name, size_t size);
u64 rnet_features(const struct net_device *ndev);
void rnet_set_features(struct net_device *ndev, u64 features, u64 hw_features,
		       u64 vlan_features);
void rnet_set_active_features(struct net_device *ndev, u64 features);
void rnet_set_mtu_range(struct net_device *ndev, unsigned int min,
			unsigned int max);
unsigned int rnet_mtu(const struct net_device *ndev);
void rnet_set_mtu(struct net_device *ndev, unsigned int mtu);
unsigned int rnet_flags(const struct net_device *ndev);
void rnet_sockaddr_mac(const void *addr, u8 *mac);
void rnet_dev_addr(const struct net_device *ndev, u8 *addr);
struct phy_device *rnet_phydev(const struct net_device *ndev);
bool rnet_running(const struct net_device *ndev);
bool rnet_device_present(const struct net_device *ndev);
bool rnet_carrier_ok(const struct net_device *ndev);
void rnet_eth_hw_addr_set(struct net_device *ndev, const u8 *addr);
void rnet_eth_hw_addr_random(struct net_device *ndev);
bool rnet_ratelimit(void);
unsigned int rnet_num_present_cpus(void);
void rnet_netif_tx_disable(struct net_device *ndev);

/* TX queues */
struct netdev_queue *rnet_txq(struct net_device *ndev, unsigned int index);
void rnet_txq_lock_bh(struct netdev_queue *txq);
void rnet_txq_unlock_bh(struct netdev_queue *txq);
void rnet_txq_start(struct netdev_queue *txq);
void rnet_txq_stop(struct netdev_queue *txq);
void rnet_txq_stop_mb(struct netdev_queue *txq);
bool rnet_txq_stopped(const struct netdev_queue *txq);
void rnet_txq_trans_update(struct netdev_queue *txq);
bool rnet_txq_sent(struct netdev_queue *txq, unsigned int bytes);
bool rnet_txq_completed(struct netdev_queue *txq, unsigned int packets,
			unsigned int bytes);
void rnet_txq_reset(struct netdev_queue *txq);

/* NAPI */
void rnet_napi_add(struct net_device *ndev, struct napi_struct *napi,
		   int (*poll)(struct napi_struct *, int), int index);
void rnet_napi_timer_init(struct hrtimer *timer,
			  enum hrtimer_restart (*func)(struct hrtimer *));
void rnet_napi_timer_start(struct hrtimer *timer, u64 nsecs);
void rnet_dev_lock(struct net_device *ndev);
void rnet_dev_unlock(struct net_device *ndev);
void rnet_napi_del_locked(struct napi_struct *napi);
void rnet_napi_set_irq_locked(struct napi_struct *napi, int irq);
void rnet_queue_set_napi(struct net_device *ndev, unsigned int queue, bool tx,
			 struct napi_struct *napi);
bool rnet_napi_defers(const struct napi_struct *napi);
bool rnet_napi_schedule_irqoff(struct napi_struct *napi);
struct sk_buff *rnet_napi_alloc_skb(struct napi_struct *napi, unsigned int len);
void rnet_napi_gro_receive(struct napi_struct *napi, struct sk_buff *skb);
void rnet_napi_receive(struct napi_struct *napi, struct sk_buff *skb,
		       bool verified);

/* sk_buff */
struct sk_buff *rnet_napi_build_skb(void *data, unsigned int size,
				    unsigned int headroom, unsigned int len);
struct sk_buff *rnet_napi_build_frag_skb(void *data, unsigned int size,
					 unsigned int headroom,
					 unsigned int len);
unsigned int rnet_skb_tailroom(const struct sk_buff *skb);
unsigned int rnet_skb_nr_frags(const struct sk_buff *skb);
bool rnet_skb_frag_fits(const struct sk_buff *skb, bool pooled);
void rnet_skb_add_rx_frag(struct sk_buff *skb, void *data, unsigned int len,
			  unsigned int truesize);
void rnet_skb_csum_unnecessary(struct sk_buff *skb);
void rnet_skb_csum_complete(struct sk_buff *skb, __wsum csum);
bool rnet_eth_type_trans(struct sk_buff *skb, struct net_device *ndev);
u16 rnet_skb_protocol(const struct sk_buff *skb);
int rnet_skb_network_offset(const struct sk_buff *skb);
int rnet_skb_csum_start(const struct sk_buff *skb);
u16 rnet_skb_csum_offset(const struct sk_buff *skb);
int rnet_skb_put_padto(struct sk_buff *skb, unsigned int len);
int rnet_skb_linearize(struct sk_buff *skb);
bool rnet_skb_hw_tstamp_wanted(const struct sk_buff *skb);
void rnet_skb_hw_tstamp_begin(struct sk_buff *skb);
void rnet_skb_tx_timestamp(struct sk_buff *skb);
void rnet_skb_set_hwtstamp(struct sk_buff *skb, s64 ns);
void rnet_skb_tstamp_tx(struct sk_buff *skb, s64 ns);
void rnet_skb_consume(struct sk_buff *skb);

struct sk_buff *rnet_skb_get(struct sk_buff *skb);

/* PTP clocks: requests without their unions */
struct rnet_ptp_request {
	s64 start;
	s64 period;
	u32 index;
	bool periodic;
};

int rnet_ptp_decode(const struct ptp_clock_request *from,
		    struct rnet_ptp_request *to);
struct ptp_clock *rnet_ptp_clock_register(struct ptp_clock_info *info,
					  struct device *parent);
void rnet_ptp_clock_unregister(struct ptp_clock *clock);
int rnet_ptp_clock_index(struct ptp_clock *clock);
void rnet_ptp_extts_event(struct ptp_clock *clock, int index, s64 ns);
void rnet_ptp_read_prets(struct ptp_system_timestamp *sts);
void rnet_ptp_read_postts(struct ptp_system_timestamp *sts);
u64 rnet_ptp_adjust(u64 base, long scaled_ppm);
u64 rnet_div64_u64(u64 a, u64 b);
void rnet_ns_to_timespec64(s64 ns, struct timespec64 *ts);
int rnet_timespec64_to_ns(const struct timespec64 *ts, s64 *ns);

/* DMA */
dma_addr_t rnet_dma_map_single(struct device *dev, void *va, size_t len,
			       enum dma_data_direction dir);
void rnet_dma_unmap_single(struct device *dev, dma_addr_t addr, size_t len,
			   enum dma_data_direction dir);
void rnet_dma_unmap_received(struct device *dev, dma_addr_t addr, size_t mapped,
			     size_t len);

/* page fragments */
void *rnet_page_frag_alloc(struct page_frag_cache *cache, unsigned int size,
			   gfp_t gfp);

/* page_pool */
struct page_pool *rnet_page_pool_create(struct device *dev,
					struct net_device *ndev,
					unsigned int queue, unsigned int size,
					enum dma_data_direction dir);
void *rnet_page_pool_alloc(struct page_pool *pool, unsigned int *offset,
			   unsigned int *size, dma_addr_t *addr,
			   unsigned int start, unsigned int len, gfp_t gfp);
void rnet_page_pool_put(const void *data);
void rnet_page_pool_recycle(struct page_pool *pool, const void *data);
void rnet_page_pool_sync_for_cpu(const void *data, dma_addr_t addr,
				 unsigned int len);

void rnet_page_pool_sync_for_device(const void *data, dma_addr_t addr,
				    unsigned int len);

/* XDP */
void rnet_set_xdp_features(struct net_device *ndev, u32 features);
void rnet_bpf_prog_get(struct bpf_prog *prog);
void rnet_bpf_prog_put(struct bpf_prog *prog);
bool rnet_bpf_prog_has_frags(const struct bpf_prog *prog);
bool rnet_bpf_prog_changes_frames(const struct bpf_prog *prog);
int rnet_xdp_rxq_register(struct xdp_rxq_info *rxq, struct net_device *ndev,
			  unsigned int queue, unsigned int frag_size,
			  struct page_pool *pool);
bool rnet_xdp_init(struct xdp_buff *xdp, struct xdp_rxq_info *rxq,
		   const struct page_pool *pool, void *hard_start,
		   unsigned int size, unsigned int headroom, unsigned int len);
bool rnet_xdp_add_frag(struct xdp_buff *xdp, const struct page_pool *pool,
		       void *data, unsigned int len, unsigned int truesize);
bool rnet_xdp_has_frags(const struct xdp_buff *xdp);
unsigned int rnet_xdp_len(const struct xdp_buff *xdp);
void rnet_xdp_exception(const struct bpf_prog *prog, const struct net_device *ndev,
			u32 act);
u32 rnet_xdp_run(const struct bpf_prog *prog, struct xdp_buff *xdp);
int rnet_xdp_redirect(const struct bpf_prog *prog, struct xdp_buff *xdp);
struct sk_buff *rnet_xdp_build_skb(const struct xdp_buff *xdp);
struct xdp_frame *rnet_xdp_to_frame(struct xdp_buff *xdp);
bool rnet_xdp_frame_has_frags(const struct xdp_frame *frame);
bool rnet_xdp_frame_pad(struct xdp_frame *frame, unsigned int len);
dma_addr_t rnet_xdp_frame_sync(const struct xdp_frame *frame,
			       unsigned int skip);

/* interrupts, work, timers */
bool rnet_queue_delayed_work(struct delayed_work *work, unsigned int msecs);
void rnet_init_delayed_work(struct delayed_work *work, work_func_t func);

/* PHY and MDIO */
struct device_node *rnet_of_node(struct device *dev);
struct device_node *rnet_of_get_child(struct device_node *np, const char *name);
struct device_node *rnet_of_parse_phandle(struct device_node *np,
					  const char *name);
struct device_node *rnet_of_node_get(struct device_node *np);
void rnet_of_node_put(struct device_node *np);
void rnet_phy_set_mac_managed_pm(struct phy_device *phydev);
void rnet_phy_put(struct phy_device *phydev);
bool rnet_phy_link(const struct phy_device *phydev);
void rnet_phy_get_pause(struct phy_device *phydev, bool *tx, bool *rx);
void rnet_mii_bus_setup(struct mii_bus *bus, struct device *parent,
			const char *name);

/* runtime PM */
int rnet_pm_resume_and_get(struct device *dev);
void rnet_pm_get_noresume(struct device *dev);
int rnet_pm_get_if_active(struct device *dev);
void rnet_pm_put_autosuspend(struct device *dev);
void rnet_pm_put_sync_suspend(struct device *dev);
void rnet_pm_enable(struct device *dev, int autosuspend_ms);
void rnet_pm_disable(struct device *dev);
bool rnet_pm_enabled(struct device *dev);
bool rnet_pm_active(struct device *dev);
bool rnet_device_may_wakeup(struct device *dev);
void rnet_pm_wakeup_event(struct device *dev);

/* netlink */
void rnet_extack_set(struct netlink_ext_ack *extack, const char *msg);

#endif /* _RUST_NET_HELPERS_H */
