// SPDX-License-Identifier: GPL-2.0-or-later

//! Reception (reference sections 2.5, 2.7, 1.7).

use crate::bench::*;
use crate::tx::udp;
use ravbtwin::chip::{CHIPS, CHIP_GBETH, CHIP_GEN3};
use ravbtwin::dmac::rx::POISON;
use ravbtwin::mac::regs::reg;

tests! {
    one_slot, ring_wrap, spills_into_following_slots, full_ring_and_recovery,
    not_enough_slots_for_a_frame, truncation_property, filter, gates, length_limit,
    errored_frames, errors_dropped_by_property, counters, two_byte_sum, sum_behind_the_tag,
    checksum_status, status_straddles_slots, status_without_enables, stamps,
    stamps_enable_sets_the_step, network_control, network_control_property,
    rest_of_the_buffer_is_poisoned, write_back_order, slot_without_size, link_and_end_of_set,
    endless_links, no_memory, descriptor_interrupts, pause, magic_packet, msc_property,
    unread_frames_do_not_stop_reception,
}

/// Bytes behind the frame: sum or status.
fn trailer(b: &Bench) -> usize {
    if b.is_rcar() {
        2
    } else {
        4
    }
}

fn one_slot() {
    on_all(|b| {
        b.open();
        b.receive(&frame(100));
        let len = 100 + trailer(b);
        assert_eq!(b.rx_status(0, 0), (len as u32, 0, FSINGLE));
        assert_eq!(b.rx_data(0, 0)[..100], frame(100));
        let slot = u64::from(b.rx_slot(0, 0));
        assert_eq!(b.mem.word(slot + 4), b.rx_buf(0, 0), "DPTR must survive");
        assert_eq!(b.r(reg::RIS0), 1);
        assert_eq!(b.dt(b.rx_slot(0, 1)), FEMPTY);
    });
}

fn ring_wrap() {
    on_all(|b| {
        b.open();
        for n in 0..3 * SLOTS {
            let data = frame(60 + n as usize);
            b.receive(&data);
            assert_eq!(b.rx_data(0, n % SLOTS)[..data.len()], data, "{n}");
            let ds = b.rx_ds();
            b.rx_arm(0, n % SLOTS, ds);
        }
    });
}

/// As GbEth's driver relies on it: frames of up to 8192 bytes in slots of 1726.
fn spills_into_following_slots() {
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.receive(&frame(8192));
        let kinds: Vec<u8> = (0..6).map(|n| b.rx_status(0, n).2).collect();
        assert_eq!(kinds, [FSTART, FMID, FMID, FMID, FEND, FEMPTY]);
        let sizes: Vec<u32> = (0..5).map(|n| b.rx_status(0, n).0).collect();
        assert_eq!(sizes, [1726, 1726, 1726, 1726, 8196 - 4 * 1726]);
        let data: Vec<u8> = (0..5).flat_map(|n| b.rx_data(0, n)).collect();
        assert_eq!(data[..8192], frame(8192));
        assert_eq!(b.count("mac.rx_frames"), 1);
    });
    // The same with small slots on every variant, and across the end of the ring.
    on_all(|b| {
        b.open();
        for n in 0..SLOTS {
            b.rx_arm(0, n, 64);
        }
        for _ in 0..6 {
            b.receive(&frame(60));
        }
        b.rx_arm(0, 0, 64);
        b.receive(&frame(150));
        let kinds = [6, 7, 0].map(|n| b.rx_status(0, n).2);
        assert_eq!(kinds, [FSTART, FMID, FEND]);
        let data: Vec<u8> = [6, 7, 0].iter().flat_map(|n| b.rx_data(0, *n)).collect();
        assert_eq!(data[..150], frame(150));
    });
}

fn full_ring_and_recovery() {
    on_all(|b| {
        b.open();
        for _ in 0..SLOTS {
            b.receive(&frame(60));
        }
        assert_eq!(b.r(reg::RIS2), 0);
        b.receive(&frame(61));
        assert_eq!(b.r(reg::RIS2), 1, "QFF0");
        assert_eq!(b.r(reg::EIS) & (1 << 16), 1 << 16, "QFS");
        assert_eq!(b.r(reg::ISS) & (1 << 6), 1 << 6, "ES");
        b.w(reg::EIS, 0x7FF);
        assert_eq!(b.r(reg::EIS) & (1 << 16), 1 << 16, "QFS follows RIS2");
        b.w(reg::RIS2, 0x0003_FFFC);
        assert_eq!((b.r(reg::RIS2), b.r(reg::ISS) & (1 << 6)), (0, 0));
        let ds = b.rx_ds();
        b.rx_arm(0, 0, ds);
        b.receive(&frame(62));
        assert_eq!(b.rx_data(0, 0)[..62], frame(62), "goes on where it stood");
        assert_eq!(b.count("mac.rx_full"), 1);
    });
}

fn not_enough_slots_for_a_frame() {
    on_all(|b| {
        b.open();
        for n in 0..SLOTS {
            b.rx_arm(0, n, 64);
        }
        b.desc(b.rx_slot(0, 2), FSINGLE, 0, 0, 0);
        b.mem.written.clear();
        b.receive(&frame(150));
        assert_eq!(b.mem.written, [], "nothing is written");
        assert_eq!((b.r(reg::RIS2), b.r(reg::RIS0)), (1, 0));
        b.receive(&frame(60));
        assert_ne!(b.dt(b.rx_slot(0, 0)), FEMPTY, "a shorter one fits");
    });
}

fn truncation_property() {
    on(&CHIPS, "rx_short_of_slots=truncate", |b| {
        b.open();
        for n in 0..SLOTS {
            b.rx_arm(0, n, 64);
        }
        b.desc(b.rx_slot(0, 2), FSINGLE, 0, 0, 0);
        b.receive(&frame(150));
        assert_eq!(b.rx_status(0, 0).2, FSTART);
        assert_eq!(b.rx_status(0, 1), (64 | 0x1000, 0, FEND), "TR");
    });
}

fn filter() {
    on_all(|b| {
        b.open();
        let other = [2, 0, 0, 0, 0x77, 9];
        let multicast = [0x01, 0x00, 0x5E, 0, 0, 1];
        for (dst, taken, msc) in
            [(STATION, 1, 0), (other, 0, 0), ([0xFF; 6], 1, 0), (multicast, 1, 0x80)]
        {
            let before = b.count("mac.rx_frames");
            b.receive(&frame_to(dst, 0x88B5, 60));
            assert_eq!(b.count("mac.rx_frames") - before, taken, "{dst:x?}");
            if taken == 1 {
                assert_eq!(b.rx_status(0, before as u32).1, msc, "{dst:x?}");
            }
        }
        b.modify(reg::ECMR, 0, 1);
        b.receive(&frame_to(other, 0x88B5, 60));
        assert_eq!(b.count("mac.rx_frames"), 4, "promiscuous");
        assert_eq!(b.count("mac.rx_filtered"), 1);
        b.modify(reg::ECMR, 1, 0);
        b.w(reg::MALR, 0x7709);
        b.receive(&frame_to(other, 0x88B5, 60));
        assert_eq!(b.count("mac.rx_frames"), 5, "the address has changed");
    });
}

fn gates() {
    on_all(|b| {
        b.open();
        b.modify(reg::ECMR, RE, 0);
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 0);
        b.wait("RPO", |b| b.r(reg::CSR) & (1 << 20) == 0);
        b.modify(reg::ECMR, 0, RE);
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 1);
        b.set_mode(1);
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 1, "not in CONFIG");
    });
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.w(reg::CSR0, 0x10);
        b.wait("RPE", |b| b.r(reg::CSR0) == 0x10);
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 0);
    });
}

fn length_limit() {
    on_all(|b| {
        b.open();
        b.w(reg::RFLR, 104);
        b.receive(&frame(100));
        assert_eq!(b.rx_status(0, 0).2, FSINGLE);
        b.receive(&frame(101));
        assert_eq!(b.r(reg::TLFRCR), 1);
        if b.is_rcar() {
            assert_eq!(b.rx_status(0, 1), (102 | 0x3000, 0x08, FSINGLE), "RTLF, EI, TR");
            assert_eq!(b.rx_data(0, 1)[..100], frame(101)[..100]);
        } else {
            assert_eq!(b.dt(b.rx_slot(0, 1)), FEMPTY, "errored frames are dropped");
        }
    });
}

/// Each defect has its bit; R-Car delivers such frames (EFFS), GbEth does not.
const DEFECTS: [(&str, u8); 7] = [
    ("crc", 0x01),
    ("phy", 0x02),
    ("short", 0x04),
    ("long", 0x08),
    ("fraction", 0x10),
    ("carrier-lost", 0x20),
    ("carrier-ext", 0x40),
];

fn errored_frames() {
    on_all(|b| {
        b.open();
        for (n, (defect, msc)) in DEFECTS.into_iter().enumerate() {
            b.inject(&frame(100), &format!("defect={defect}"));
            if b.is_rcar() {
                assert_eq!(b.rx_status(0, n as u32), (102 | 0x2000, msc, FSINGLE), "{defect}");
            }
        }
        let delivered = if b.is_rcar() { 7 } else { 0 };
        assert_eq!(b.count("mac.rx_frames"), delivered);
        assert_eq!(b.count("mac.rx_bad"), 7 - delivered);
        b.inject(&[2, 0, 0, 0, 0x77, 1, 9, 9], "");
        if b.is_rcar() {
            assert_eq!(b.rx_status(0, 7), (10 | 0x2000, 0x04, FSINGLE), "runt");
        }
    });
}

fn errors_dropped_by_property() {
    on(&CHIPS, "effs=drop", |b| {
        b.open();
        b.inject(&frame(100), "defect=crc");
        assert_eq!(b.count("mac.rx_frames"), u64::from(!b.is_rcar()));
    });
}

fn counters() {
    on_all(|b| {
        b.open();
        for (defect, off) in [
            ("crc", reg::CEFCR),
            ("phy", reg::FRECR),
            ("short", reg::TSFRCR),
            ("long", reg::TLFRCR),
            ("fraction", reg::RFCR),
        ] {
            assert_eq!(b.r(off), 0);
            b.inject(&frame(100), &format!("defect={defect}"));
            assert_eq!(b.r(off), 1, "{defect}");
            b.w(off, 0);
            assert_eq!(b.r(off), 0, "{defect}");
        }
        b.receive(&frame_to([1, 0, 0, 0, 0, 1], 0x88B5, 60));
        b.receive(&frame_to([0xFF; 6], 0x88B5, 60));
        assert_eq!(b.r(reg::MAFCR), 1);
    });
}

fn two_byte_sum() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            // The example of RFC 1071: ddf2; zeros up to the minimum size do not change it.
            let mut data = frame(14);
            data.extend([0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]);
            data.resize(60, 0);
            b.receive(&data);
            assert_eq!(b.rx_data(0, 0)[60..], [0xDD, 0xF2]);
            b.modify(reg::ECMR, 1 << 23, 0);
            b.receive(&data);
            assert_eq!(b.rx_status(0, 1).0, 60, "no RCSC, no sum");
        },
    );
}

fn sum_behind_the_tag() {
    on(&[&CHIP_GEN3], "rcsc=l3", |b| {
        b.open();
        let mut data = frame_to(STATION, 0x8100, 14);
        data.extend([0x00, 0x05, 0x08, 0x00, 0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]);
        data.resize(60, 0);
        b.receive(&data);
        assert_eq!(b.rx_data(0, 0)[60..], [0xDD, 0xF2]);
    });
}

fn checksum_status() {
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.receive(&udp(0x5DE1));
        b.receive(&udp(0x5DE2));
        b.receive(&udp(0));
        b.receive(&frame(60));
        let status = |b: &Bench, n| {
            let data = b.rx_data(0, n);
            let [a, b, c, d] = data[data.len() - 4..] else { unreachable!() };
            (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
        };
        assert_eq!(status(b, 0), (0xFFFF, 0), "good; RIP4 is not enabled");
        let (_, bad) = status(b, 1);
        assert!(bad != 0 && bad != 0xFFFF);
        assert_eq!(status(b, 2), (0xFFFF, 0xFFFF), "no checksum");
        assert_eq!(status(b, 3), (0xFFFF, 0xFFFF), "not IP");
    });
}

fn status_straddles_slots() {
    on(&[&CHIP_GBETH], "", |b| {
        for split in 0..=4 {
            b.open();
            for n in 0..SLOTS {
                b.rx_arm(0, n, 60 + split);
            }
            let mut data = udp(0x5DE1);
            data.resize(60, 0);
            b.receive(&data);
            let slots = if split == 4 { 1 } else { 2 };
            let all: Vec<u8> = (0..slots).flat_map(|n| b.rx_data(0, n)).collect();
            assert_eq!(all[60..], [0xFF, 0xFF, 0, 0], "{split}");
            if slots == 2 {
                assert_eq!(b.rx_status(0, 1), (4 - split, 0, FEND));
            }
            b.reset_line(true);
        }
    });
}

fn status_without_enables() {
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.w(reg::CSR2, 0);
        b.receive(&frame(60));
        assert_eq!(b.rx_status(0, 0).0, 60);
    });
    on(&[&CHIP_GBETH], "toe_trailer=always", |b| {
        b.open();
        b.w(reg::CSR2, 0);
        b.receive(&frame(60));
        assert_eq!(b.rx_status(0, 0).0, 64);
    });
}

fn stamps() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            let mut last = 0;
            for n in 0..3 {
                b.receive(&frame(60));
                b.run(MS);
                let slot = u64::from(b.rx_slot(0, n));
                let (ns, sec) = (b.mem.word(slot + 8), b.mem.word(slot + 12));
                let stamp = u64::from(sec) * 1_000_000_000 + u64::from(ns);
                if n > 0 {
                    // 1.2 ms apart, to the tick and the rounding of the increment.
                    assert!((1_199_900..1_200_100).contains(&(stamp - last)), "{}", stamp - last);
                }
                assert_eq!(b.mem.word(slot + 16), 0, "seconds above 32 bits, reserved");
                last = stamp;
            }
        },
    );
}

/// Without ETS0 queue 0 has slots of eight bytes, queue 1 has long ones always.
fn stamps_enable_sets_the_step() {
    on(&[&CHIP_GEN3], "", |b| {
        b.open();
        b.set_mode(1);
        b.w(reg::RCR, 0x1800_000F);
        b.desc(RX_RING[0], FEMPTY, 100, 0, RX_BUF);
        b.desc(RX_RING[0] + 8, FEMPTY, 100, 0, RX_BUF + 0x1000);
        b.set_mode(2);
        b.receive(&frame(60));
        b.receive(&frame(60));
        assert_eq!(b.dt(RX_RING[0] + 8), FSINGLE);
        b.receive(&frame_to([0x01, 0x1B, 0x19, 0, 0, 0], 0x88F7, 60));
        b.receive(&frame_to([0x01, 0x1B, 0x19, 0, 0, 0], 0x88F7, 60));
        assert_eq!(b.rx_status(1, 1).2, FSINGLE);
    });
}

fn network_control() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            b.receive(&frame_to(STATION, 0x88F7, 60));
            b.receive(&frame_to([0x01, 0x80, 0xC2, 0, 0, 0x0E], 0x88F7, 60));
            b.receive(&frame(60));
            assert_eq!((b.rx_status(1, 0).2, b.rx_status(1, 1).2), (FSINGLE, FSINGLE));
            assert_eq!((b.rx_status(0, 0).2, b.rx_status(1, 2).2), (FSINGLE, FEMPTY));
            assert_eq!(b.r(reg::RIS0), 3);
            for _ in 0..SLOTS {
                b.receive(&frame_to(STATION, 0x88F7, 60));
            }
            assert_eq!(b.r(reg::RIS2), 2, "QFF1");
            b.w(reg::RIS2, 0x0003_FFFC);
            assert_eq!(b.r(reg::RIS2), 0);
            b.set_mode(1);
            b.w(reg::RCR, 0x1800_001D);
            b.make_rings();
            b.set_mode(2);
            b.receive(&frame_to(STATION, 0x88F7, 60));
            assert_eq!(b.rx_status(0, 0).2, FSINGLE, "ENCF is off");
        },
    );
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.receive(&frame_to(STATION, 0x88F7, 60));
        assert_eq!(b.rx_status(0, 0).2, FSINGLE);
    });
}

fn network_control_property() {
    let mut tagged = frame_to(STATION, 0x8100, 60);
    tagged[14] = 0xE0;
    let lldp = frame_to([0x01, 0x80, 0xC2, 0, 0, 0x0E], 0x88CC, 60);
    let ptp = frame_to(STATION, 0x88F7, 60);
    for (class, expected) in [
        ("ptp", [false, true, true]),
        ("type", [false, false, true]),
        ("priority", [true, true, true]),
        ("none", [false, false, false]),
    ] {
        let mut b = Bench::new(&format!("chip=gen3:nc={class}"));
        b.open();
        let got = [&tagged, &lldp, &ptp].map(|data| {
            b.w(reg::RIS0, 0);
            b.receive(data);
            b.r(reg::RIS0) == 2
        });
        assert_eq!(got, expected, "{class}");
    }
}

fn rest_of_the_buffer_is_poisoned() {
    on_all(|b| {
        b.open();
        let (buf, ds) = (u64::from(b.rx_buf(0, 0)), b.rx_ds() as usize);
        b.receive(&frame(60));
        let len = 60 + trailer(b);
        assert!(b.mem.get(buf, ds)[len..].iter().all(|byte| *byte == POISON));
        assert!(b.mem.get(buf, ds + 64)[ds..].iter().all(|byte| *byte == 0), "not beyond");
    });
    on(&CHIPS, "kind=1", |b| {
        b.open();
        b.receive(&frame(60));
        let len = 60 + trailer(b);
        assert!(b.mem.get(u64::from(b.rx_buf(0, 0)), 2000)[len..].iter().all(|byte| *byte == 0));
    });
}

fn write_back_order() {
    on_all(|b| {
        b.open();
        b.mem.written.clear();
        b.receive(&frame(60));
        let (slot, buf) = (u64::from(b.rx_slot(0, 0)), u64::from(b.rx_buf(0, 0)));
        let order: Vec<u64> = b.mem.written.iter().map(|(addr, _)| *addr).collect();
        let expected = if b.is_rcar() {
            vec![buf, slot + 8, slot, slot + 3]
        } else {
            vec![buf, slot, slot + 3]
        };
        assert_eq!(order, expected);
        assert_eq!(b.mem.written.last().unwrap().1, 1);
    });
}

fn slot_without_size() {
    on_all(|b| {
        b.open();
        b.rx_arm(0, 0, 0);
        b.receive(&frame(60));
        assert_eq!(b.violations(), ["violation.rx_slot"]);
        assert_eq!((b.r(reg::RIS2), b.dt(b.rx_slot(0, 0))), (1, FEMPTY));
    });
}

fn link_and_end_of_set() {
    on_all(|b| {
        b.open();
        let step = b.step();
        b.desc(RX_RING[0], LINK, 0, 0, RX_RING[0] + 2 * step);
        b.desc(RX_RING[0] + 3 * step, EOS, 0, 0, 0);
        b.receive(&frame(60));
        assert_eq!((b.dt(RX_RING[0]), b.rx_status(0, 2).2), (LEMPTY, FSINGLE));
        b.receive(&frame(60));
        assert_eq!((b.dt(RX_RING[0] + 3 * step), b.r(reg::RIS2)), (EEMPTY, 1));
    });
}

fn endless_links() {
    on_all(|b| {
        b.open();
        b.desc(RX_RING[0], LINKFIX, 0, 0, RX_RING[0]);
        b.receive(&frame(60));
        assert_eq!(b.violations(), ["violation.descriptor"]);
        assert_eq!((b.r(reg::EIS) & 4, b.r(reg::ESR) & 0x1F), (4, 4), "QEF, entry 4");
    });
}

fn no_memory() {
    on_all(|b| {
        b.open();
        let ds = b.rx_ds();
        b.desc(b.rx_slot(0, 0), FEMPTY, ds, 0, 0x1000);
        b.receive(&frame(60));
        assert_eq!(b.violations(), ["violation.bus"]);
        assert_eq!((b.r(reg::EIS) & 1, b.r(reg::RIS0)), (1, 0), "MREF");
        assert_eq!(b.dt(b.rx_slot(0, 0)), FEMPTY);
        b.rx_arm(0, 0, ds);
        b.receive(&frame(61));
        assert_eq!(b.rx_data(0, 0)[..61], frame(61));
    });
}

fn descriptor_interrupts() {
    on_all(|b| {
        b.open();
        b.mem.put(u64::from(b.rx_slot(0, 0)) + 3, &[FEMPTY | 9]);
        b.receive(&frame(60));
        assert_eq!((b.r(reg::DIS), b.dt(b.rx_slot(0, 0))), (1 << 9, FSINGLE | 9));
    });
}

/// A pause frame stops transmission for so many times 512 bits, if ECMR.RXF is set.
fn pause() {
    on(&CHIPS, "kind=1", |b| {
        b.open();
        let mut data = frame_to([0x01, 0x80, 0xC2, 0, 0, 1], 0x8808, 60);
        data[14..18].copy_from_slice(&[0, 1, 0x10, 0]);
        b.modify(reg::ECMR, 1 << 17, 0);
        b.receive(&data);
        assert_eq!(b.count("mac.rx_frames"), 1, "an ordinary frame without RXF");
        b.modify(reg::ECMR, 0, 1 << 17);
        b.w(reg::ECSR, 0x17);
        b.receive(&data);
        let until = b.now() - 200 * US + 4096 * 512;
        assert_eq!((b.count("mac.rx_frames"), b.r(reg::PFRCR)), (1, 1));
        assert_eq!(b.r(reg::ECSR), 1 << 4, "PFRI");
        b.w(reg::PFRCR, 0);
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.run(until - b.now() - 100 * US);
        assert_eq!(b.mem.sent.len(), 0);
        b.run(120 * US);
        assert_eq!(b.mem.sent.len(), 1);
        // A pause of 0 lets go at once.
        b.receive(&data);
        data[16] = 0;
        b.receive(&data);
        b.tx_put(0, 1, &frame(60));
        b.kick(0);
        b.run(10 * US);
        assert_eq!(b.mem.sent.len(), 2);
    });
}

fn magic_packet() {
    on_all(|b| {
        b.open();
        let mut magic = frame_to([0xFF; 6], 0x0842, 14);
        magic.extend([0xFF; 6]);
        for _ in 0..16 {
            magic.extend(STATION);
        }
        b.receive(&magic);
        assert_eq!(b.r(reg::ECSR) & 2, 0, "not enabled");
        b.modify(reg::ECMR, 0, 1 << 9);
        b.w(reg::ECSIPR, 2);
        let mut near = magic.clone();
        near[50] ^= 1;
        b.receive(&near);
        assert_eq!(b.r(reg::ECSR) & 2, 0, "not quite");
        b.receive(&magic);
        let seen = b.r(reg::ECSR) & 2 != 0;
        assert_eq!(seen, b.chip.magic);
        assert_eq!(b.lines().contains(&"line3") || b.lines().contains(&"ch24"), {
            seen && b.chip.queue_lines
        });
        b.w(reg::ECSR, 2);
        assert_eq!(b.r(reg::ECSR) & 2, 0);
    });
}

fn msc_property() {
    for (property, first) in [("last", 0), ("all", 0x80)] {
        let mut b = Bench::new(&format!("chip=gbeth:msc={property}"));
        b.open();
        b.receive(&frame_to([1, 0, 0, 0, 0, 1], 0x88B5, 2000));
        assert_eq!((b.rx_status(0, 0).1, b.rx_status(0, 1).1), (first, 0x80), "{property}");
    }
}

fn unread_frames_do_not_stop_reception() {
    on_all(|b| {
        b.open();
        for n in 0..300 {
            b.receive(&frame(60));
            let ds = b.rx_ds();
            b.rx_arm(0, n % SLOTS, ds);
        }
        assert_eq!(b.count("mac.rx_frames"), 300);
    });
}
