#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest: 64-byte frames, 29 762 and 44 643 a second (20 and 30 Mbit/s of line) and as many as the line takes.
# What the driver receives of them in a second is printed, for both ways to run NAPI. The frames are for nobody: answers
# would cost the guest more than the frames.
set -e

ip link set dev "$NETIF" up
until [[ $(< "/sys/class/net/$NETIF/carrier") == 1 ]]; do sleep 0.1; done

ip addr flush dev "$NETIF"

received() {
	echo "$(< "/sys/class/net/$NETIF/statistics/rx_packets")"
}

for threaded in 0 1; do
	echo "$threaded" > "/sys/class/net/$NETIF/threaded"
	for rate in 20M 30M line; do
		before=$(received)
		start=${EPOCHREALTIME/./}
		twinctl flood size=64 for=2s "rate=$rate"
		sleep 2
		after=$(received)
		end=${EPOCHREALTIME/./}
		echo "rx_$rate threaded=$threaded $(((after - before) * 1000000 / (end - start))) frames/s"
		twinctl stop
	done
done
