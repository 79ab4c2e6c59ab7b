#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
# Sets up the board: toolbox, then the emulator and the guest image side by side, then the model.
# Each part is keyed by what it is built from and returns at once when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/host-tools.sh
scripts/toolbox.sh
scripts/guest.sh &
guest=$!
scripts/qemu.sh || { wait "$guest" || true; exit 1; }
wait "$guest"
scripts/twin.sh
