// SPDX-License-Identifier: GPL-2.0

//! The E-MAC, and the checksum engine behind it.
//!
//! What it shall do is in [`Settings`]. Each register that decides how it behaves is computed from
//! all of them and written whole, whenever one changes.

use kernel::{
    io::Io,
    prelude::*,
    sync::SpinLockIrq,
    time::Delta, //
};

use super::{
    driver::{
        Board,
        Private,
        Ravb, //
    },
    hw_info::{
        Checksum,
        Emac,
        HwInfo,
        Rate, //
    },
    regs::{
        APSR,
        CSR0,
        CSR1,
        CSR2,
        CXR31,
        CXR35,
        ECMR,
        ECSIPR,
        ECSR,
        GECMR,
        MAHR,
        MALR,
        PSR,
        RFLR, //
    },
    wait::{
        poll_ready,
        Patience, //
    }, //
};
use crate::net::{
    irq::Return,
    phy::{
        self,
        Duplex,
        LinkState, //
    },
    Device,
    MacAddress, //
};

/// What the E-MAC shall do.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    /// Whether the registers can be accessed, that is, the interface is up. If not, settings are
    /// used when it comes up.
    live: bool,
    /// Send and receive, if the link allows.
    running: bool,
    /// Report magic packets.
    wake: bool,
    /// Receive everything.
    promiscuous: bool,
    full_duplex: bool,
    /// In Mbit/s, once there was a link.
    speed: Option<u32>,
    /// Whether there is a link. Without a link pin it is phylib that knows; with one, the E-MAC,
    /// which counts as connected until it says otherwise.
    link: bool,
}

impl Settings {
    /// The settings of a device before its first link.
    pub(super) fn new(info: &HwInfo, board: &Board) -> Self {
        Self {
            live: false,
            running: false,
            wake: false,
            promiscuous: false,
            full_duplex: !info.half_duplex(),
            speed: None,
            link: !board.no_ether_link,
        }
    }

    fn ecmr(&self, info: &HwInfo) -> ECMR {
        let on = self.running && self.link;
        let mode = ECMR::zeroed()
            .with_te(on)
            .with_re(on)
            .with_dm(self.full_duplex)
            .with_prm(self.promiscuous)
            .with_mpde(self.wake)
            .with_zpf(true);

        match info.checksum {
            // The engine has the received frame check sequences to work with. Pause frames are
            // obeyed, and none sent: the stack gives no sign when it should be done.
            Checksum::Engine => mode.with_rcpt(true).with_rxf(true),
            Checksum::Sum => mode.with_rcsc(true),
        }
    }

    fn gecmr(&self, info: &HwInfo) -> Option<GECMR> {
        let speed = self.speed?;

        Some(match info.rate {
            Rate::Three => match speed {
                10 => GECMR::zeroed().with_const_gbeth_speed::<0>(),
                100 => GECMR::zeroed().with_const_gbeth_speed::<1>(),
                1000 => GECMR::zeroed().with_const_gbeth_speed::<2>(),
                _ => return None,
            },
            Rate::Two => match speed {
                100 => GECMR::zeroed().with_gigabit(false),
                1000 => GECMR::zeroed().with_gigabit(true),
                _ => return None,
            },
        })
    }

    /// Writes ECMR, if the registers can be accessed.
    fn write_mode(&self, data: &Private<'_>) {
        if self.live {
            data.io.write_reg(self.ecmr(data.info));
        }
    }

    /// Writes GECMR, if the registers can be accessed and the speed is known.
    fn write_speed(&self, data: &Private<'_>) {
        if let (true, Some(gecmr)) = (self.live, self.gecmr(data.info)) {
            data.io.write_reg(gecmr);
        }
    }
}

/// The lock of the settings: an interrupt may report a link change.
pub(super) type SettingsLock = SpinLockIrq<Settings>;

/// Which interrupts the E-MAC shall make.
fn ecsipr(info: &HwInfo) -> ECSIPR {
    let carrier = ECSIPR::zeroed().with_icd(true);

    match info.emac {
        // Link changes come from the PHY alone.
        Emac::Gbeth => carrier,
        Emac::Avb | Emac::AvbMiiSelect => carrier.with_lchng(true),
    }
}

/// The status of the E-MAC that says nothing when the interface comes up.
fn stale(info: &HwInfo) -> ECSR {
    let status = ECSR::zeroed().with_icd(true);

    match info.emac {
        Emac::Gbeth => status.with_lchng(true).with_pfri(true),
        // A link change that nobody has seen yet is news.
        Emac::Avb | Emac::AvbMiiSelect => status.with_mpd(true),
    }
}

/// The checksums that the engine computes in frames to be sent. It does so in all of them.
fn csr1(tx_checksums: bool) -> CSR1 {
    // Not those of IPv4 headers and ICMP, which the stack computes anyway.
    CSR1::zeroed()
        .with_tcp4(tx_checksums)
        .with_udp4(tx_checksums)
        .with_tcp6(tx_checksums)
        .with_udp6(tx_checksums)
}

/// The checksums that the engine checks in received frames.
///
/// Always: then frames always end in the engine's verdict, and no frame is around for which it is
/// not known whether it does, when the user switches. Switched off, the verdict is ignored.
fn csr2() -> CSR2 {
    CSR2::zeroed()
        .with_tcp4(true)
        .with_udp4(true)
        .with_icmp4(true)
        .with_tcp6(true)
        .with_udp6(true)
        .with_icmp6(true)
}

/// Programs everything, with sending and receiving off. The DMAC is in CONFIG mode. Process
/// context.
pub(super) fn configure(data: &Private<'_>, address: MacAddress, tx_checksums: bool) -> Result {
    let io = &data.io;
    let info = data.info;
    let [a, b, c, d, e, f] = address.0;

    select_interface(data);
    io.write_reg(RFLR::zeroed().try_with_limit(info.rx_max_frame)?);
    io.write_reg(MAHR::from(u32::from_be_bytes([a, b, c, d])));
    io.write_reg(MALR::from(u32::from_be_bytes([0, 0, e, f])));
    io.write_reg(ECSIPR::zeroed());
    io.write_reg(stale(info).clearing());
    if info.checksum == Checksum::Engine {
        configure_engine(data, tx_checksums)?;
    }

    let mut settings = data.emac.lock();

    settings.live = true;
    settings.running = false;
    settings.write_mode(data);
    settings.write_speed(data);
    Ok(())
}

fn select_interface(data: &Private<'_>) {
    let io = &data.io;

    match data.info.emac {
        Emac::Gbeth => {
            let rgmii = data.board.phy_mode.is_rgmii();
            let half_cycle = CXR35::zeroed().with_const_half_cycle::<1000>();

            io.write_reg(if rgmii {
                half_cycle.with_const_sel_xmii::<0>()
            } else {
                half_cycle.with_const_sel_xmii::<2>()
            });
            io.write_reg(CXR31::zeroed().with_sel_link0(rgmii));
        }
        Emac::AvbMiiSelect => io.write_reg(apsr(&data.board, true)),
        Emac::Avb if data.info.internal_delay => io.write_reg(apsr(&data.board, false)),
        Emac::Avb => (),
    }
}

/// How the media interface of EtherAVB works.
fn apsr(board: &Board, selects_mii: bool) -> APSR {
    APSR::zeroed()
        .with_rdm(board.rx_delay)
        .with_tdm(board.tx_delay)
        .with_mii_select(selects_mii && board.phy_mode == phy::Mode::MII)
}

/// Programs the checksum engine, which must be idle for that. Its registers are beyond what all
/// chips have, hence the fallible accesses.
fn configure_engine(data: &Private<'_>, tx_checksums: bool) -> Result {
    const PATIENCE: Patience = Patience {
        interval: Delta::from_micros(10),
        bound: Delta::from_millis(100),
    };
    let io = &data.io;

    io.try_write_reg(CSR0::zeroed())?;
    poll_ready(PATIENCE, || match io.try_read(CSR0) {
        Ok(ports) if ports.tpe() || ports.rpe() => None,
        result => Some(result.map(|_| ())),
    })??;
    io.try_write_reg(csr1(tx_checksums))?;
    io.try_write_reg(csr2())?;
    io.try_write_reg(CSR0::zeroed().with_tpe(true).with_rpe(true))
}

/// Sends and receives. The DMAC is in OPERATION mode.
pub(super) fn start(data: &Private<'_>) {
    let mut settings = data.emac.lock();

    settings.running = true;
    settings.write_mode(data);
    data.io.write_reg(ecsipr(data.info));
}

/// Makes no more interrupts.
pub(super) fn mask(data: &Private<'_>) {
    data.io.write_reg(ECSIPR::zeroed());
}

/// Reports magic packets and nothing else, until it is [disarmed](disarm).
pub(super) fn arm(data: &Private<'_>) {
    let mut settings = data.emac.lock();

    settings.wake = true;
    settings.write_mode(data);
    data.io.write_reg(ECSR::zeroed().with_mpd(true).clearing());
    data.io.write_reg(ECSIPR::zeroed().with_mpd(true));
}

/// Ends what [`arm`] began: no interrupt any more, and the next write of the mode is a usual one.
pub(super) fn disarm(data: &Private<'_>) {
    data.emac.lock().wake = false;
    mask(data);
}

/// Returns whether magic packets are reported, and nothing else.
pub(super) fn is_armed(data: &Private<'_>) -> bool {
    data.emac.lock().wake
}

/// Neither sends nor receives.
pub(super) fn stop(data: &Private<'_>) {
    let mut settings = data.emac.lock();

    settings.running = false;
    settings.write_mode(data);
}

/// The registers are not accessible from now on.
pub(super) fn power_off(data: &Private<'_>) {
    data.emac.lock().live = false;
}

/// Receives everything, or not.
pub(super) fn set_promiscuous(data: &Private<'_>, on: bool) {
    let mut settings = data.emac.lock();

    settings.promiscuous = on;
    settings.write_mode(data);
}

/// phylib reports the link.
pub(super) fn set_link(data: &Private<'_>, link: &LinkState) {
    let mut settings = data.emac.lock();

    // Nothing is to be sent or received by the settings of the last link.
    if data.board.no_ether_link {
        settings.link = false;
        settings.write_mode(data);
        settings.link = link.up;
    }
    if link.up {
        if let (true, Some(duplex)) = (data.info.half_duplex(), link.duplex) {
            settings.full_duplex = duplex == Duplex::Full;
        }
        if link.speed != settings.speed {
            settings.speed = link.speed;
            settings.write_speed(data);
        }
    }
    settings.write_mode(data);
}

/// An interrupt of the E-MAC.
pub(super) fn interrupt(dev: &Device<'_, Ravb>) -> Return {
    let data = dev.data();
    let data = data.get_ref();
    let status = data.io.read(ECSR);
    let status = status.enabled(if is_armed(data) {
        ECSIPR::zeroed().with_mpd(true)
    } else {
        ecsipr(data.info)
    });

    if status.into_raw() == 0 {
        return Return::None;
    }
    data.io.write_reg(status.clearing());
    if status.mpd() {
        dev.pm().wakeup_event();
    }
    if status.icd() {
        data.false_carriers.inc();
    }
    if status.lchng() && !data.board.no_ether_link {
        let pin = data.io.read(PSR).lmon();
        let mut settings = data.emac.lock();

        settings.link = pin != data.board.link_active_low;
        settings.write_mode(data);
    }
    Return::Handled
}

/// Reads the address that the boot loader has left. The DMAC is in CONFIG mode.
pub(super) fn boot_address(data: &Private<'_>) -> MacAddress {
    let [a, b, c, d] = data.io.read(MAHR).into_raw().to_be_bytes();
    let [_, _, e, f] = data.io.read(MALR).into_raw().to_be_bytes();

    MacAddress([a, b, c, d, e, f])
}

#[kunit_tests(ravb_rs_emac)]
mod tests {
    use super::*;
    use crate::ravb::hw_info::{
        GBETH,
        GEN3, //
    };

    const BOARD: Board = Board {
        phy_mode: phy::Mode::RGMII_ID,
        rx_delay: false,
        tx_delay: false,
        no_ether_link: false,
        link_active_low: false,
    };

    #[test]
    fn mode_is_a_function_of_all_settings() {
        let mut settings = Settings::new(&GBETH, &BOARD);

        assert_eq!(settings.ecmr(&GBETH).into_raw(), 0x020a_0000);
        settings.running = true;
        settings.full_duplex = true;
        assert_eq!(settings.ecmr(&GBETH).into_raw(), 0x020a_0062);
        settings.promiscuous = true;
        settings.link = false;
        assert_eq!(settings.ecmr(&GBETH).into_raw(), 0x020a_0003);

        let mut settings = Settings::new(&GEN3, &BOARD);

        settings.running = true;
        assert_eq!(settings.ecmr(&GEN3).into_raw(), 0x0088_0062);
    }

    #[test]
    fn speeds() {
        let mut settings = Settings::new(&GBETH, &BOARD);

        assert!(settings.gecmr(&GBETH).is_none());
        for (speed, want) in [(10, 0u32), (100, 0x10), (1000, 0x20)] {
            settings.speed = Some(speed);
            assert_eq!(settings.gecmr(&GBETH).map(GECMR::into_raw), Some(want));
        }
        settings.speed = Some(10);
        assert!(settings.gecmr(&GEN3).is_none());
        settings.speed = Some(1000);
        assert_eq!(settings.gecmr(&GEN3).map(GECMR::into_raw), Some(1));
    }

    #[test]
    fn engine() {
        assert_eq!(csr1(true).into_raw(), 0x0030_0030);
        assert_eq!(csr1(false).into_raw(), 0);
        assert_eq!(csr2().into_raw(), 0x0070_0070);
    }
}
