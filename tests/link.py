#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The link: what it reports, and that it follows the cable and renegotiation."""

from lib.py import RavbEnv, LinkWatch, ksft_disruptive, ksft_eq, ksft_exit, ksft_in, ksft_not_in, \
    ksft_pr, ksft_run
from lib.py import KsftSkipEx, cmd, defer, ethtool, ip, until


def _settings(cfg) -> dict:
    """ethtool's answer as {"Speed": "1000Mb/s", "Supported link modes": [...], ...}."""
    out, key = {}, ""
    for line in ethtool(cfg.ifname).stdout.splitlines()[1:]:
        name, colon, value = line.strip().partition(": ")
        if colon:
            key = name
            out[key] = value.strip()
        elif line.strip():      # a continued list of link modes
            out[key] += " " + line.strip()
    return {k: v.split() if k.endswith("link modes") else v for k, v in out.items()}


def reported(cfg) -> None:
    """1000 Mbit/s, full duplex, by autonegotiation, carrier and operstate up."""
    got = _settings(cfg)
    ksft_eq(got["Speed"], "1000Mb/s")
    ksft_eq(got["Duplex"], "Full")
    ksft_eq(got["Auto-negotiation"], "on")
    ksft_eq(got["Link detected"], "yes")
    ksft_eq((cfg.sysfs / "operstate").read_text().strip(), "up")
    ksft_eq((cfg.sysfs / "speed").read_text().strip(), "1000")


def link_modes(cfg) -> None:
    """10 Mbit/s and half duplex only where the MAC can do them."""
    modes = _settings(cfg)["Supported link modes"]
    for mode in ("100baseT/Full", "1000baseT/Full"):
        ksft_in(mode, modes)
    for mode in ("10baseT/Half", "10baseT/Full", "100baseT/Half"):
        if cfg.chip.low_speeds:
            ksft_in(mode, modes)
        else:
            ksft_not_in(mode, modes)


@ksft_disruptive
def ifdown_ifup(cfg) -> None:
    """Down takes the carrier away, up brings it back, each with its event; traffic resumes."""
    defer(cfg.set_link, True)
    with LinkWatch(cfg.ifindex) as watch:
        cfg.set_link(False)
        ksft_eq(cfg.link_up(), False)
        watch.drain()
        cfg.set_link(True)
        took = watch.wait_link(True)
    ksft_pr(f"carrier {took:.3f} s after up")
    cfg.resume()


@ksft_disruptive
def unplug_replug(cfg) -> None:
    """A pulled cable is noticed, as is its return; traffic resumes by itself."""
    twin = cfg.require_twin()
    changes = int((cfg.sysfs / "carrier_changes").read_text())
    defer(twin.plug)
    with LinkWatch(cfg.ifindex) as watch:
        twin.unplug()
        down = watch.wait_link(False)
        ksft_eq((cfg.sysfs / "operstate").read_text().strip(), "down")
        ksft_eq(_settings(cfg)["Link detected"], "no")
        ksft_eq(cfg.ping(count=1, fail=False, wait=0.5).ret != 0, True, "ping without a cable")
        twin.plug()
        up = watch.wait_link(True)
    ksft_pr(f"down noticed after {down:.3f} s, up after {up:.3f} s")
    ksft_eq(int((cfg.sysfs / "carrier_changes").read_text()), changes + 2, "carrier_changes")
    cfg.resume()
    ksft_eq(_settings(cfg)["Speed"], "1000Mb/s")


@ksft_disruptive
def renegotiate(cfg) -> None:
    """ethtool -r: the link goes through a new negotiation and traffic resumes."""
    with LinkWatch(cfg.ifindex) as watch:
        ethtool(f"-r {cfg.ifname}")
        took = watch.wait_link(True)
    ksft_pr(f"carrier {took:.3f} s after the restart, events {watch.seen}")
    cfg.resume()


@ksft_disruptive
def at_100(cfg) -> None:
    """The MAC follows a link of 100 Mbit/s, and back to 1000."""
    def advertise(modes):
        ethtool(f"-s {cfg.ifname} autoneg on advertise {modes}")

    all_modes = "0x02f" if cfg.chip.low_speeds else "0x028"
    defer(advertise, all_modes)
    with LinkWatch(cfg.ifindex) as watch:
        advertise("0x008")
        watch.wait_link(True)
    got = _settings(cfg)
    ksft_eq((got["Speed"], got["Duplex"]), ("100Mb/s", "Full"))
    cfg.resume()
    cfg.ping(wait=5, size=1472)
    with LinkWatch(cfg.ifindex) as watch:
        advertise(all_modes)
        watch.wait_link(True)
    ksft_eq(_settings(cfg)["Speed"], "1000Mb/s")
    cfg.resume()


def self_test(cfg) -> None:
    """ethtool -t: no self test is claimed, or the link test passes."""
    done = cmd(f"ethtool -t {cfg.ifname}", fail=False)
    if done.ret and "not supported" in (done.stderr + done.stdout).lower():
        ksft_pr("no self test, refused as such; the link test is link detection")
        ksft_eq(_settings(cfg)["Link detected"], "yes")
        return
    if done.ret:
        raise KsftSkipEx(f"self test offline only: {done.stdout} {done.stderr}")
    ksft_in("PASS", done.stdout)


@ksft_disruptive
def down_address(cfg) -> None:
    """The station address cannot be changed while up, and is used after a change while down."""
    ksft_eq(cmd(f"ip link set dev {cfg.ifname} address 02:00:00:00:77:aa", fail=False).ret != 0,
            True, "address changed while up")

    def back():
        cfg.set_link(False)
        ip(f"link set dev {cfg.ifname} address {cfg.mac}")
        cfg.set_link(True)
        until(cfg.link_up, 15, "link")

    defer(back)
    cfg.set_link(False)
    ip(f"link set dev {cfg.ifname} address 02:00:00:00:77:aa")
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cmd("ip neigh flush all", host=cfg.remote)
    cfg.resume()
    seen = ip(f"neigh show {cfg.addr_v['4']}", json=True, host=cfg.remote)
    ksft_eq(seen[0]["lladdr"], "02:00:00:00:77:aa", "address that the peer learnt")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([reported, link_modes, ifdown_ifup, unplug_replug, renegotiate, at_100,
                  self_test, down_address], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
