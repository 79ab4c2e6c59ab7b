// SPDX-License-Identifier: GPL-2.0-or-later

//! Interrupt lines (reference sections 2.2, 2.11, 3.5, 3.6).

use crate::bench::*;
use ravbtwin::chip::{CHIP_GEN3, CHIP_GEN4, CHIP_RZV2M, GEN3, GEN4};
use ravbtwin::mac::regs::reg;

tests! {
    reception, transmission, network_control, errors, time_stamps, gptp_events, e_mac,
    masking_drops_the_level, enable_views_drop_the_level, status_is_kept_while_masked,
    queue_events_on_the_common_line, gptp_line_property, handler_of_a_queue, quiet_after_open,
}

/// The one line where there is one, else the named one.
fn expect<'a>(b: &Bench, gen3: &'a str, rzv2m: &'a str) -> Vec<&'a str> {
    vec![match b.chip.name {
        "gen3" | "gen4" => gen3,
        "rzv2m" => rzv2m,
        _ => "mux",
    }]
}

fn quiet_after_open() {
    on_all(|b| {
        b.open();
        assert_eq!((b.lines().len(), b.r(reg::ISS)), (0, 0));
    });
}

fn reception() {
    on_all(|b| {
        b.open();
        b.receive(&frame(60));
        assert_eq!(b.lines(), expect(b, "ch0", "ch0"));
        assert_eq!(b.r(reg::ISS), 1, "FRS");
        b.w(reg::RIS0, 0x0003_FFFE);
        assert_eq!((b.lines().len(), b.r(reg::ISS)), (0, 0));
    });
}

fn transmission() {
    on_all(|b| {
        b.open();
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        assert_eq!(b.lines(), expect(b, "ch18", "ch18"));
        assert_eq!(b.r(reg::ISS), 4, "FTS");
        b.w(reg::TIS, 0x000F_0F0E);
        assert_eq!(b.lines().len(), 0);
    });
}

fn network_control() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            b.receive(&frame_to(STATION, 0x88F7, 60));
            assert_eq!(b.lines(), expect(b, "ch1", "ch1"));
            b.w(reg::RIS0, 0x0003_FFFD);
            b.tx_put(1, 0, &frame(60));
            b.kick(1);
            b.drained(1);
            assert_eq!(b.lines(), expect(b, "ch19", "ch19"));
            b.w(reg::TIS, 0x000F_0F0D);
            assert_eq!(b.lines().len(), 0);
        },
    );
}

fn errors() {
    on_all(|b| {
        b.open();
        b.order("fifo-overflow");
        b.receive(&frame(60));
        assert_eq!(b.r(reg::RIS2), 1 << 31, "RFFF");
        assert_eq!(b.lines(), expect(b, "ch22", "err_a"));
        assert_eq!(b.r(reg::ISS), 1 << 6, "ES though EIC is 0");
        b.w(reg::RIS2, 0x0003_FFFC);
        assert_eq!(b.lines().len(), 0);
        // Other errors need EIC, which the driver leaves alone.
        b.order("bus-error");
        b.receive(&frame(60));
        assert_eq!((b.r(reg::EIS) & 1, b.lines().len()), (1, 0));
        b.w(reg::EIC, 1);
        assert_eq!(b.lines(), expect(b, "ch22", "err_a"));
        b.w(reg::EIS, 0x7FE);
        assert_eq!(b.lines().len(), 0);
    });
}

fn time_stamps() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            let ptr = b.tx_data(0, &frame(60));
            b.desc(TX_RING[0], FSINGLE, 60, 0x40, ptr);
            b.w(reg::TIC, 0x100);
            b.kick(0);
            b.drained(0);
            assert_eq!(b.lines(), expect(b, "ch22", "mgmt_a"));
            assert_eq!(b.r(reg::ISS), 1 << 8, "TFUS");
            b.w(reg::TIS, 0x000F_0E0F);
            assert_eq!(b.lines().len(), 0);
        },
    );
}

fn gptp_events() {
    on_those(
        |chip| !chip.toe,
        |b| {
            b.open();
            b.order("capture");
            assert_eq!((b.r(reg::GIS), b.lines().len()), (1, 0), "PTCF, not enabled");
            b.w(reg::GIC, 1);
            assert_eq!(b.lines(), expect(b, "ch22", "mgmt_a"));
            assert_eq!(b.r(reg::ISS), 1 << 13, "CGIS");
            b.w(reg::GIS, !(1 | 0xFC00));
            assert_eq!((b.r(reg::GIS), b.lines().len()), (0, 0));
        },
    );
}

fn e_mac() {
    on_all(|b| {
        b.open();
        b.order("false-carrier");
        let enabled = b.r(reg::ECSIPR) & 1 != 0;
        assert!(enabled);
        assert_eq!(b.lines(), expect(b, "ch24", "line3"));
        assert_eq!(b.r(reg::ISS), 1 << 7, "MS");
        b.w(reg::ECSIPR, 0);
        assert_eq!(b.lines().len(), 0);
        b.w(reg::ECSIPR, 1);
        b.w(reg::ECSR, 1);
        assert_eq!(b.lines().len(), 0);
    });
}

fn masking_drops_the_level() {
    on_all(|b| {
        b.open();
        b.receive(&frame(60));
        b.modify(reg::RIC0, 1, 0);
        assert_eq!((b.lines().len(), b.r(reg::ISS)), (0, 0));
        b.modify(reg::RIC0, 0, 1);
        assert_eq!(b.lines().len(), 1);
    });
}

fn enable_views_drop_the_level() {
    on_those(
        |chip| chip.is_in(GEN3 | GEN4),
        |b| {
            b.open();
            b.receive(&frame(60));
            b.tx_put(0, 0, &frame(60));
            b.kick(0);
            b.drained(0);
            assert_eq!(b.lines(), ["ch0", "ch18"]);
            b.w(reg::RID0, 1);
            assert_eq!((b.lines(), b.r(reg::RIC0)), (vec!["ch18"], 2));
            b.w(reg::TID, 1);
            assert_eq!((b.lines().len(), b.r(reg::TIC)), (0, 0x102));
            b.w(reg::RIE0, 1);
            b.w(reg::TIE, 1);
            assert_eq!(b.lines(), ["ch0", "ch18"]);
        },
    );
}

fn status_is_kept_while_masked() {
    on_all(|b| {
        b.open();
        b.w(reg::RIC0, 0);
        b.receive(&frame(60));
        assert_eq!((b.r(reg::RIS0), b.lines().len()), (1, 0));
        b.w(reg::RIC0, 1);
        assert_eq!(b.lines().len(), 1);
    });
}

/// Without CIE.CRIE and CTIE queue events are on the common line, without CL0M on both.
fn queue_events_on_the_common_line() {
    let both = [&CHIP_GEN3, &CHIP_GEN4];
    on(&both, "", |b| {
        b.open();
        b.receive(&frame(60));
        assert_eq!(b.lines(), ["ch0"]);
        b.w(reg::CIE, 0x101);
        assert_eq!(b.lines(), ["ch0", "ch22"]);
        b.w(reg::CIE, 0x100);
        assert_eq!(b.lines(), ["ch22"]);
        b.w(reg::CIE, 0x0002_0101);
        assert_eq!(b.lines(), ["ch0"]);
    });
    on(&[&CHIP_RZV2M], "", |b| {
        b.open();
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        b.w(reg::CIE, 1);
        assert_eq!(b.lines(), ["dia"]);
    });
}

fn gptp_line_property() {
    on(&[&CHIP_RZV2M], "gptp_line=dia", |b| {
        b.open();
        b.w(reg::GIC, 1);
        b.order("capture");
        assert_eq!(b.lines(), ["dia"]);
    });
}

/// What the driver's handler and poll do with one received and one sent frame, to the end.
fn handler_of_a_queue() {
    on_all(|b| {
        b.open();
        b.receive(&frame(60));
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        let (ris0, ric0) = (b.r(reg::RIS0), b.r(reg::RIC0));
        let (tis, tic) = (b.r(reg::TIS), b.r(reg::TIC));
        assert_eq!((ris0 & ric0 & 1, tis & tic & 1), (1, 1));
        if b.chip.is_in(GEN3 | GEN4) {
            b.w(reg::RID0, 1);
            b.w(reg::TID, 1);
        } else {
            b.w(reg::RIC0, ric0 & !1);
            b.w(reg::TIC, tic & !1);
        }
        assert_eq!(b.lines().len(), 0);
        b.w(reg::RIS0, !(1 | 0xFFFC_0000));
        b.w(reg::TIS, !(1 | 0xFFF0_F0F0));
        if b.chip.is_in(GEN3 | GEN4) {
            b.w(reg::RIE0, 1);
            b.w(reg::TIE, 1);
        } else {
            b.modify(reg::RIC0, 0, 1);
            b.modify(reg::TIC, 0, 1);
        }
        assert_eq!((b.r(reg::RIC0), b.r(reg::TIC)), (ric0, tic));
        assert_eq!(b.lines().len(), 0);
    });
}
