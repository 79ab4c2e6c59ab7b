/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Headers of net/'s own bindgen run (see bindings.rs and ../Kbuild). They reach
 * what the kernel crate's bindings do not; types that those bindings have are
 * taken from there.
 */

#include <linux/bpf.h>
#include <linux/bpf_trace.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/hrtimer.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/interrupt.h>
#include <linux/mdio-bitbang.h>
#include <linux/mdio.h>
#include <linux/netdevice.h>
#include <linux/of_mdio.h>
#include <linux/of_net.h>
#include <linux/page_frag_cache.h>
#include <linux/phy.h>
#include <linux/phy_fixed.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/pm_wakeirq.h>
#include <linux/ptp_classify.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/reset.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/netdev_queues.h>
#include <net/page_pool/helpers.h>
#include <net/page_pool/types.h>
#include <net/xdp.h>

#include "helpers.h"

/*
 * Macros that bindgen cannot evaluate, and layouts: the kernel crate knows
 * net_device and napi_struct by name only.
 */
const size_t RNET_CONST_NET_DEVICE_PRIV_OFFSET =
	offsetof(struct net_device, priv);
const size_t RNET_CONST_NAPI_STRUCT_SIZE = sizeof(struct napi_struct);
const size_t RNET_CONST_NAPI_STRUCT_ALIGN = __alignof__(struct napi_struct);
const size_t RNET_CONST_SKB_SHARED_INFO_SIZE =
	SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
const u32 RNET_CONST_XDP_XMIT_FLUSH = XDP_XMIT_FLUSH;
const u32 RNET_CONST_ETHTOOL_COALESCE_RX_USECS_ = ETHTOOL_COALESCE_RX_USECS;
const u32 RNET_CONST_ETHTOOL_COALESCE_RX_MAX_FRAMES_ =
	ETHTOOL_COALESCE_RX_MAX_FRAMES;
const u32 RNET_CONST_ETHTOOL_COALESCE_TX_USECS_ = ETHTOOL_COALESCE_TX_USECS;
const u32 RNET_CONST_ETHTOOL_COALESCE_TX_MAX_FRAMES_ =
	ETHTOOL_COALESCE_TX_MAX_FRAMES;
