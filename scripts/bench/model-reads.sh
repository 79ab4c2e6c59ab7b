#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, without a driver: how long reads of the MAC's first register take.
set -e

node=$(echo /proc/device-tree/ethernet@*)
for i in 1 2 3 4 5; do
	read -r _ _ each < <(mmiotime "0x${node##*@}" 200000)
	echo "register_read run$i ${each#ns_each=} ns"
done
