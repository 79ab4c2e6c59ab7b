#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest: the steps whose register accesses are compared, with marks between them. Prints what the device tree
# gives that can be seen in registers.
set -eu

dev=/sys/class/net/$NETIF/device/of_node
cells() { od -An -tx1 "$dev/$1" | tr -d ' \n'; }
flag() { [[ -e $dev/$1 ]] && echo 1 || echo 0; }

echo "mac=$(cat "/sys/class/net/$NETIF/address")"
echo "phy_mode=$(tr -d '\0' <"$dev/phy-mode")"
echo "no_ether_link=$(flag renesas,no-ether-link)"
for delay in rx tx; do
	[[ -e $dev/$delay-internal-delay-ps ]] && echo "$delay=$((16#$(cells $delay-internal-delay-ps)))"
done
# The clock of the gPTP timer: "gptp" where there is one of that name, else the first.
index=0
if [[ -e $dev/clock-names ]]; then
	names=$(tr '\0' '\n' <"$dev/clock-names")
	[[ $(grep -nx gptp <<<"$names") =~ ^([0-9]+) ]] && index=$((BASH_REMATCH[1] - 1))
fi
phandle=$(cells clocks)
phandle=${phandle:$((index * 8)):8}
for node in /proc/device-tree/clock*; do
	[[ -e $node/phandle && $(od -An -tx1 "$node/phandle" | tr -d ' \n') == "$phandle" ]] || continue
	echo "rate=$((16#$(od -An -tx1 "$node/clock-frequency" | tr -d ' \n')))"
done

# Nothing is sent by itself: the trace is of the driver's own doing.
sysctl -qw "net.ipv6.conf.$NETIF.disable_ipv6=1"
ip addr flush dev "$NETIF"
carrier() { [[ $(cat "/sys/class/net/$NETIF/carrier" 2>/dev/null) == 1 ]]; }
settled() {
	for _ in $(seq 300); do
		"$@" && return
		sleep 0.05
	done
	echo "not within 15 s: $*" >&2
	exit 1
}

ip link set dev "$NETIF" down
twinctl mark open
ip link set dev "$NETIF" up
settled carrier
twinctl mark close
ip link set dev "$NETIF" down
# Asleep before the mark, so that nothing of the close is missing.
settled grep -qx suspended "/sys/class/net/$NETIF/device/power/runtime_status"
twinctl mark end
echo "done=1"
