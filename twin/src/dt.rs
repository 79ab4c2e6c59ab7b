// SPDX-License-Identifier: GPL-2.0-or-later

//! The device tree nodes: as on the real boards, with what the machine lacks (clocks, reset
//! controller) beside them.
//!
//! Sources: reference sections 4.2 (the real nodes) and 4.3 (what makes them work on "virt").

use crate::chip::{Line, LinkPin, PhyNode};
use crate::config::{Config, DtPart};
use crate::host::DeviceTree;

/// Where the emulator has put the device.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Guest physical address of each region: MAC, reset controller, control page.
    pub regions: [u64; 3],
    /// Shared peripheral interrupt of each line.
    pub spis: Vec<u32>,
    /// Station address.
    pub mac: [u8; 6],
    /// Number of the device.
    pub instance: u32,
}

/// IRQ_TYPE_LEVEL_HIGH.
const LEVEL_HIGH: u32 = 4;
/// First cell of an interrupt specifier of the GIC: a shared peripheral interrupt.
const SPI: u32 = 0;

struct Writer<'a> {
    tree: &'a mut dyn DeviceTree,
}

impl Writer<'_> {
    fn strings<S: AsRef<str>>(&mut self, path: &str, name: &str, values: &[S]) {
        let mut bytes = Vec::new();
        for value in values {
            bytes.extend_from_slice(value.as_ref().as_bytes());
            bytes.push(0);
        }
        self.tree.prop(path, name, &bytes);
    }

    fn cells(&mut self, path: &str, name: &str, cells: &[u32]) {
        let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_be_bytes()).collect();
        self.tree.prop(path, name, &bytes);
    }

    fn flag(&mut self, path: &str, name: &str) {
        self.tree.prop(path, name, &[]);
    }

    /// `reg` below the root, which has two cells for address and size each.
    fn reg(&mut self, path: &str, addr: u64, size: u64) {
        let halves = |value: u64| [(value >> 32) as u32, value as u32];
        let [[a, b], [c, d]] = [halves(addr), halves(size)];
        self.cells(path, "reg", &[a, b, c, d]);
    }
}

/// Adds the nodes of a device with these properties at that place.
pub fn describe(cfg: &Config, place: &Place, tree: &mut dyn DeviceTree) {
    let mut w = Writer { tree };
    let [mac, reset, control] = place.regions;

    if cfg.chip.cpu_port {
        return cpu_port(cfg, place, &mut w);
    }

    let control_node = format!("/ravb-twin-control@{control:x}");
    w.tree.node(&control_node);
    w.strings(&control_node, "compatible", &["ravb-twin,control"]);
    w.reg(&control_node, control, 0x1000);
    w.cells(&control_node, "ravb-twin,instance", &[place.instance]);

    let reset_node = format!("/reset-controller@{reset:x}");
    w.tree.node(&reset_node);
    w.strings(&reset_node, "compatible", &["snps,dw-low-reset"]);
    w.reg(&reset_node, reset, 0x1000);
    w.cells(&reset_node, "#reset-cells", &[1]);

    let clocks: Vec<u32> = cfg
        .chip
        .clocks
        .iter()
        .enumerate()
        .map(|(at, clock)| {
            let node = format!("/clock-{mac:x}-{}", clock.name);
            let hz = if at == cfg.chip.gptp_clock { cfg.clock_hz } else { clock.hz };
            w.tree.node(&node);
            w.strings(&node, "compatible", &["fixed-clock"]);
            w.cells(&node, "#clock-cells", &[0]);
            w.cells(&node, "clock-frequency", &[hz]);
            w.tree.phandle(&node)
        })
        .collect();

    let node = format!("/ethernet@{mac:x}");
    w.tree.node(&node);
    // By this twinctl finds the page of an interface.
    let port = w.tree.phandle(&node);
    w.cells(&control_node, "ravb-twin,port", &[port]);
    let [soc, family] = cfg.chip.compatible;
    let soc = match &cfg.soc {
        // As the usual one, with the other SoC's name in it.
        Some(other) if cfg.chip.toe => format!("renesas,{other}-gbeth"),
        Some(other) => format!("renesas,etheravb-{other}"),
        None => soc.into(),
    };
    w.strings(&node, "compatible", &[soc.as_str(), family]);
    w.reg(&node, mac, cfg.chip.window.into());
    if !cfg.omits(DtPart::Interrupts) {
        interrupts(cfg, place, &node, &mut w);
    }
    if !cfg.omits(DtPart::Clocks) {
        w.cells(&node, "clocks", &clocks);
        let names: Vec<&str> = cfg.chip.clocks.iter().map(|clock| clock.name).collect();
        w.strings(&node, "clock-names", &names);
    }
    if !cfg.omits(DtPart::Resets) {
        let phandle = w.tree.phandle(&reset_node);
        w.cells(&node, "resets", &[phandle, 0]);
    }
    if !cfg.omits(DtPart::PhyMode) {
        w.strings(&node, "phy-mode", &[cfg.phy_mode.as_str()]);
    }
    if let Some((rx, tx)) = cfg.delays_ps {
        w.cells(&node, "rx-internal-delay-ps", &[rx]);
        w.cells(&node, "tx-internal-delay-ps", &[tx]);
    }
    match cfg.link_pin {
        LinkPin::High => (),
        LinkPin::Low => w.flag(&node, "renesas,ether-link-active-low"),
        LinkPin::None => w.flag(&node, "renesas,no-ether-link"),
    }
    if !cfg.omits(DtPart::Mac) {
        w.tree.prop(&node, "local-mac-address", &place.mac);
    }
    w.flag(&node, if cfg.noncoherent { "dma-noncoherent" } else { "dma-coherent" });
    phy(cfg, &node, &mut w);
    w.strings(&node, "status", &["okay"]);
}

/// The CPU port of a switch that somebody else has set up.
fn cpu_port(cfg: &Config, place: &Place, w: &mut Writer<'_>) {
    let [qs, _, control] = place.regions;
    let node = format!("/ethernet@{qs:x}");
    w.tree.node(&node);
    w.strings(&node, "compatible", &cfg.chip.compatible[..1]);
    w.reg(&node, qs, 0x40);
    if !cfg.omits(DtPart::Interrupts) {
        interrupts(cfg, place, &node, w);
    }
    w.cells(&node, "linux,port", &[crate::qs::PORT]);
    if !cfg.omits(DtPart::Mac) {
        w.tree.prop(&node, "local-mac-address", &place.mac);
    }
    w.strings(&node, "status", &["okay"]);

    let control_node = format!("/ravb-twin-control@{control:x}");
    w.tree.node(&control_node);
    w.strings(&control_node, "compatible", &["ravb-twin,control"]);
    w.reg(&control_node, control, 0x1000);
    w.cells(&control_node, "ravb-twin,instance", &[place.instance]);
    let port = w.tree.phandle(&node);
    w.cells(&control_node, "ravb-twin,port", &[port]);
}

fn interrupts(cfg: &Config, place: &Place, node: &str, w: &mut Writer<'_>) {
    let used = cfg.chip.lines_used;
    let wanted = |line: &Line| !cfg.dt_irqs_used || used.is_empty() || used.contains(&line.name);
    let mut specifiers = Vec::new();
    let mut names = Vec::new();
    for (line, spi) in cfg.chip.lines.iter().zip(&place.spis) {
        if wanted(line) {
            specifiers.extend([SPI, *spi, LEVEL_HIGH]);
            names.push(line.name);
        }
    }
    w.cells(node, "interrupts", &specifiers);
    // The real nodes name the interrupts where there is more than one.
    if names.len() > 1 {
        w.strings(node, "interrupt-names", &names);
    }
}

fn phy(cfg: &Config, node: &str, w: &mut Writer<'_>) {
    let mdio = format!("{node}/mdio");
    if let Some(link) = cfg.fixed {
        // Without the empty node the driver would look for PHYs among the MAC's children.
        w.tree.node(&mdio);
        w.cells(&mdio, "#address-cells", &[1]);
        w.cells(&mdio, "#size-cells", &[0]);
        let fixed = format!("{node}/fixed-link");
        w.tree.node(&fixed);
        w.cells(&fixed, "speed", &[link.mbps]);
        w.flag(&fixed, "full-duplex");
        return;
    }
    let bus = match cfg.phy_node {
        PhyNode::Child => node,
        PhyNode::MdioChild => {
            w.tree.node(&mdio);
            &mdio
        }
    };
    w.cells(bus, "#address-cells", &[1]);
    w.cells(bus, "#size-cells", &[0]);
    let phy = format!("{bus}/ethernet-phy@{:x}", cfg.phy_addr);
    w.tree.node(&phy);
    w.strings(&phy, "compatible", &["ethernet-phy-ieee802.3-c22"]);
    w.cells(&phy, "reg", &[cfg.phy_addr.into()]);
    if !cfg.omits(DtPart::PhyHandle) {
        let phandle = w.tree.phandle(&phy);
        w.cells(node, "phy-handle", &[phandle]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::CHIPS;
    use crate::testing::Tree;

    fn place(lines: usize) -> Place {
        Place {
            regions: [0x0B00_0000, 0x0B01_0000, 0x0B02_0000],
            spis: (176..176 + lines as u32).collect(),
            mac: [2, 0, 0, 0, 0x77, 1],
            instance: 1,
        }
    }

    fn tree(args: &str) -> Tree {
        let cfg = Config::parse(args).unwrap();
        let mut tree = Tree::default();
        describe(&cfg, &place(cfg.chip.lines.len()), &mut tree);
        assert_eq!(tree.orphans, [""; 0]);
        tree
    }

    const MAC: &str = "/ethernet@b000000";

    #[test]
    fn every_variant_has_what_the_driver_asks_for() {
        for chip in CHIPS {
            let tree = tree(&format!("chip={}", chip.name));
            assert_eq!(tree.strings(MAC, "compatible"), chip.compatible);
            assert_eq!(tree.cells(MAC, "reg"), [0, 0x0B00_0000, 0, chip.window]);
            assert_eq!(tree.cells(MAC, "interrupts").len(), chip.lines.len() * 3);
            let names = tree.strings(MAC, "interrupt-names");
            assert!(chip.lines_used.iter().all(|used| names.iter().any(|name| name == used)));
            assert_eq!(tree.strings(MAC, "clock-names").len(), tree.cells(MAC, "clocks").len());
            assert_eq!(tree.strings(MAC, "phy-mode"), [chip.phy_mode]);
            assert_eq!(tree.get(MAC, "local-mac-address").unwrap(), [2, 0, 0, 0, 0x77, 1]);
            assert!(tree.get(MAC, "dma-coherent").is_some());
            assert_eq!(tree.cells(MAC, "resets").len(), 2);
            assert_eq!(tree.cells(MAC, "phy-handle").len(), 1);
        }
    }

    #[test]
    fn particulars_of_the_boards() {
        let gbeth = tree("chip=gbeth");
        assert_eq!(gbeth.strings(MAC, "interrupt-names"), ["mux", "fil", "arp_ns"]);
        assert_eq!(gbeth.cells(MAC, "interrupts")[..3], [0, 176, 4]);
        assert_eq!(gbeth.cells("/ethernet@b000000/ethernet-phy@7", "reg"), [7]);
        let rzv2m = tree("chip=rzv2m");
        assert_eq!(rzv2m.strings(MAC, "clock-names"), ["axi", "chi", "gptp"]);
        assert!(rzv2m.get(MAC, "renesas,no-ether-link").is_some());
        let gen2 = tree("chip=gen2");
        assert!(gen2.get(MAC, "renesas,ether-link-active-low").is_some());
        assert_eq!(gen2.get(MAC, "interrupt-names"), None);
        let gen4 = tree("chip=gen4");
        assert!(gen4.entries.contains_key("/ethernet@b000000/mdio/ethernet-phy@0"));
        assert_eq!(gen4.cells(MAC, "tx-internal-delay-ps"), [2000]);
        assert_eq!(gen4.cells("/clock-b000000-fck", "clock-frequency"), [200_000_000]);
        let control = "/ravb-twin-control@b020000";
        assert_eq!(gen4.strings(control, "compatible"), ["ravb-twin,control"]);
        assert_eq!(gen4.strings("/reset-controller@b010000", "compatible"), ["snps,dw-low-reset"]);
    }

    #[test]
    fn cpu_port_of_a_switch() {
        let tree = tree("chip=inject");
        assert_eq!(tree.strings(MAC, "compatible"), ["linux,lan966x-cpu-port"]);
        assert_eq!(tree.cells(MAC, "interrupts"), [0, 176, 4]);
        assert_eq!(tree.cells(MAC, "linux,port"), [0]);
        let control = "/ravb-twin-control@b020000";
        assert_eq!(tree.cells(control, "ravb-twin,port").len(), 1);
    }

    #[test]
    fn parts_can_be_left_out() {
        let bare = tree("dt_omit=resets+clocks+interrupts+phy-mode+phy-handle+mac");
        for name in
            ["resets", "clocks", "interrupts", "phy-mode", "phy-handle", "local-mac-address"]
        {
            assert_eq!(bare.get(MAC, name), None, "{name}");
        }
        let used = tree("chip=rzv2m:dt_irqs=used");
        assert_eq!(
            used.strings(MAC, "interrupt-names"),
            ["ch0", "ch1", "ch18", "ch19", "dia", "err_a", "mgmt_a", "line3"]
        );
        assert_eq!(used.cells(MAC, "interrupts")[12..15], [0, 176 + 22, 4]);
    }

    #[test]
    fn options() {
        let tree = tree("noncoherent=1:phy=fixed:fixed_mbps=100:soc=r9a08g045");
        assert!(tree.get(MAC, "dma-noncoherent").is_some());
        assert!(tree.get(MAC, "dma-coherent").is_none());
        assert_eq!(
            tree.strings(MAC, "compatible"),
            ["renesas,r9a08g045-gbeth", "renesas,rzg2l-gbeth"]
        );
        assert_eq!(tree.cells("/ethernet@b000000/fixed-link", "speed"), [100]);
        assert!(tree.entries.contains_key("/ethernet@b000000/mdio"));
        assert_eq!(tree.get(MAC, "phy-handle"), None);
    }
}
