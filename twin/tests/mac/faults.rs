// SPDX-License-Identifier: GPL-2.0-or-later

//! Faults, ordered by way of the control page.

use crate::bench::*;
use ravbtwin::chip::CHIP_GBETH;
use ravbtwin::mac::regs::reg;

tests! {
    lost_interrupt, stuck_interrupt, stuck_queue, stuck_restart, stuck_reception, stuck_mode,
    stuck_stop, stuck_checksum_ports, stuck_gptp, lost_stamps, fifo_overflow, bus_errors, slowness,
    false_carrier, counters_of_the_e_mac, clearing_counters,
}

fn lost_interrupt() {
    on_all(|b| {
        b.open();
        let line = b.chip.lines.iter().position(|line| line.causes & 1 != 0).unwrap();
        b.order(&format!("lose-irq line={line} count=2"));
        for lost in [true, true, false] {
            b.receive(&frame(60));
            assert_eq!(b.lines().is_empty(), lost);
            assert_eq!(b.r(reg::RIS0), 1);
            b.w(reg::RIS0, 0);
        }
        assert_eq!(b.count("mac.irqs_lost"), 2);
    });
}

fn stuck_interrupt() {
    on_all(|b| {
        b.open();
        let last = b.chip.lines.len() - 1;
        b.order(&format!("stuck-irq line={last} on"));
        assert_eq!(b.lines(), [b.chip.lines[last].name]);
        b.w(reg::ECSIPR, 0);
        assert_eq!(b.lines().len(), 1);
        b.order(&format!("stuck-irq line={last} off"));
        assert_eq!(b.lines().len(), 0);
    });
}

fn stuck_queue() {
    on_all(|b| {
        b.open();
        b.order("stuck-tx queue=0 on");
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        if b.is_rcar() {
            b.tx_put(1, 0, &frame(100));
            b.kick(1);
        }
        b.run(10_000 * MS);
        assert_eq!((b.r(reg::TCCR) & 1, b.dt(TX_RING[0])), (1, FSINGLE));
        assert_eq!(b.mem.sent.len(), usize::from(b.is_rcar()), "the other queue goes on");
        b.order("stuck-tx queue=0 off");
        b.drained(0);
        assert_eq!(b.dt(TX_RING[0]), FEMPTY);
    });
}

fn stuck_restart() {
    on_all(|b| {
        b.open();
        b.order("stuck-dlr on");
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        b.w(reg::DLR, 1);
        b.run(1000 * MS);
        assert_eq!((b.r(reg::DLR), b.r(reg::CDAR0)), (1, TX_RING[0] + 8), "the queue stays");
        b.order("stuck-dlr off");
        b.tx_put(0, 0, &frame(61));
        b.kick(0);
        b.drained(0);
        assert_eq!(b.mem.sent.last().unwrap().len(), 61);
        assert_eq!((b.r(reg::DLR), b.r(reg::CDAR0)), (0, TX_RING[0] + 8));
    });
}

fn stuck_reception() {
    on_all(|b| {
        b.open();
        b.order("stuck-rx on");
        b.receive(&frame(60));
        assert_eq!((b.r(reg::RIS0), b.r(reg::RIS2)), (0, 0));
        b.order("stuck-rx off");
        b.receive(&frame(60));
        assert_eq!(b.r(reg::RIS0), 1);
    });
}

fn stuck_mode() {
    on_all(|b| {
        b.open();
        b.order("stuck-mode on");
        b.modify(reg::CCC, 3, 1);
        b.run(1000 * MS);
        assert_eq!(b.r(reg::CSR) & 0xF, 4);
        b.order("stuck-mode off");
        b.wait("CONFIG", |b| b.r(reg::CSR) & 0xF == 2);
    });
}

fn stuck_stop() {
    on_all(|b| {
        b.open();
        b.order("stuck-stop on");
        b.modify(reg::CCC, 0, 1 << 8);
        b.run(1000 * MS);
        let csr = b.r(reg::CSR);
        assert_eq!(csr & (1 << 8), 0, "DTS");
        assert_ne!(csr & (1 << 16), 0, "TPO0");
        assert_ne!(csr & (1 << 20), 0, "RPO");
        b.order("stuck-stop off");
        b.wait("DTS", |b| b.r(reg::CSR) & 0x001F_0100 == 1 << 8);
    });
}

fn stuck_checksum_ports() {
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.order("stuck-csum on");
        b.w(reg::CSR0, 0);
        b.run(1000 * MS);
        assert_eq!(b.r(reg::CSR0), 0x30);
        b.order("stuck-csum off");
        b.wait("CSR0", |b| b.r(reg::CSR0) == 0);
    });
}

fn stuck_gptp() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            b.order("stuck-gptp on");
            b.modify(reg::GCCR, 0, 0x13);
            b.run(1000 * MS);
            assert_eq!(b.r(reg::GCCR) & 0x3F, 0x13);
            b.order("stuck-gptp off");
            b.wait("GCCR", |b| b.r(reg::GCCR) & 0x3F == 0);
        },
    );
}

fn lost_stamps() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            b.order("lose-stamp count=1");
            for n in 0..2 {
                let ptr = b.tx_data(n, &frame(60));
                b.desc(TX_RING[1] + 8 * n, FSINGLE, 60 | (n << 12), 0x40, ptr);
            }
            b.kick(1);
            b.drained(1);
            assert_eq!((b.r(reg::TSR) >> 8, b.r(reg::TFA2) >> 16), (1, 1));
        },
    );
}

fn fifo_overflow() {
    on_all(|b| {
        b.open();
        b.order("fifo-overflow count=2");
        for _ in 0..3 {
            b.receive(&frame(60));
        }
        assert_eq!((b.count("mac.rx_fifo"), b.count("mac.rx_frames")), (2, 1));
        assert_eq!(b.r(reg::RIS2), 1 << 31);
    });
}

fn bus_errors() {
    on_all(|b| {
        b.open();
        b.order("bus-error count=1");
        b.receive(&frame(60));
        b.receive(&frame(61));
        assert_eq!((b.count("mac.rx_bus_errors"), b.r(reg::EIS) & 1), (1, 1));
        assert_eq!(b.rx_data(0, 0)[..61], frame(61), "the slot was not lost");
        b.order("bus-error count=1");
        b.tx_put(0, 0, &frame(60));
        b.tx_put(0, 1, &frame(61));
        b.kick(0);
        b.drained(0);
        assert_eq!((b.mem.sent.len(), b.r(reg::EIS) & 3), (1, 3));
        assert_eq!(b.dt(TX_RING[0]), FEMPTY);
    });
}

fn slowness() {
    on_all(|b| {
        b.open();
        b.order("slow 50ms");
        b.modify(reg::CCC, 3, 1);
        b.run(49 * MS);
        assert_eq!(b.r(reg::CSR) & 0xF, 4);
        b.run(2 * MS);
        assert_eq!(b.r(reg::CSR) & 0xF, 2);
        b.order("slow 0");
        b.set_mode(0);
    });
}

fn false_carrier() {
    on_all(|b| {
        b.open();
        b.order("false-carrier");
        assert_eq!(b.r(reg::ECSR), 1);
    });
}

fn counters_of_the_e_mac() {
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        b.order("emac-counters trocr=65535 cxr41=1 cxr42=2");
        b.order("emac-counters trocr=1 cxr41=1");
        assert_eq!((b.r(reg::TROCR), b.r(reg::CXR41), b.r(reg::CXR42)), (0xFFFF, 2, 2));
    });
}

fn clearing_counters() {
    on_all(|b| {
        b.open();
        b.receive(&frame(60));
        b.r(0xFFC);
        assert_eq!(b.violations().len(), 1);
        assert!(b.order("violations").contains("violation.unknown_register 1"));
        assert!(b.order("stats mac.rx_frames").contains("mac.rx_frames 1"));
        b.order("clear");
        assert_eq!((b.count("mac.rx_frames"), b.count("violation.total")), (0, 0));
    });
}
