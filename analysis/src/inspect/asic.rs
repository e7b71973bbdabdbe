//! Headroom that SONiC configures for a lossless queue of a port, from its parameters of the switch chip.
//!
//! Source of the formula and of the chips' numbers: SONiC, `cfgmgr/buffer_headroom_mellanox.lua` in sonic-swss, and the
//! design document of its dynamic buffer calculation. Summary, in bytes:
//!
//! - a packet takes whole cells, so arriving bytes take up to `occupancy` times as much of the buffer: cell / 64 for
//!   cells above 128 bytes, otherwise 2 cell / (1 + cell), for the share of small packets;
//! - xoff = lossless MTU + (port MTU + cable both ways + 2 gearbox + MAC and PHY + response) x occupancy;
//! - xon = bytes that arrive during the chip's latency; doubled less a KiB for a port of 8 lanes, which also gets a
//!   port MTU in the sum;
//! - xoff and xon are rounded up to a KiB, and the queue has their sum.
//!
//! The formula uses 1000 instead of 1024 bytes for the cable; so does this code.

use std::fmt;
use std::str::FromStr;

use scenario::{Refusal, quantity};
use serde_json::{Value, json};
use units::{BitsPerSecond, Bytes, Picos};

use super::LinkHeadroom;

/// Chips with names. The latency and the delay of MAC and PHY are equal (18 and 0.8 KiB).
const CHIPS: [(&str, Bytes); 3] =
    [("spectrum", Bytes(96)), ("spectrum-2", Bytes(144)), ("spectrum-3", Bytes(144))];
const PIPELINE: Bytes = Bytes(18 * KIB);
const MAC_PHY: Bytes = Bytes(820);

/// Quanta within which a port has to obey a PAUSE, by its rate in Mbit/s. Source: IEEE 802.3, 31B.3.7, as in SONiC.
const QUANTA: [(u64, u64); 10] = [
    (800_000, 905),
    (400_000, 905),
    (200_000, 453),
    (100_000, 394),
    (50_000, 147),
    (40_000, 118),
    (25_000, 80),
    (10_000, 67),
    (1000, 2),
    (100, 1),
];
/// Response at other rates: 3.8 KiB.
const OTHER_RESPONSE: Bytes = Bytes(3892);

const KIB: u64 = 1024;
const MIN_PACKET: u64 = 64;
/// Upper limit of each part of a chip's headroom.
const MAX_SIZE: Bytes = Bytes(1_000_000_000);
const KEYS: &str =
    "cell, pipeline, mac-phy, gearbox, response, mtu, lossless-mtu, small-packets, lanes";

/// Parameters of a switch chip and its ports in SONiC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asic {
    name: String,
    cell: Bytes,
    pipeline: Bytes,
    mac_phy: Bytes,
    gearbox: Bytes,
    response: Option<Bytes>,
    mtu: Option<Bytes>,
    lossless_mtu: Option<Bytes>,
    small_packets: u64,
    lanes: u64,
}

/// A queue's headroom on a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsicHeadroom {
    name: String,
    /// Occupancy, times 100.
    occupancy: u64,
    lossless_mtu: Bytes,
    mtu: Bytes,
    cable: Bytes,
    gearbox: Bytes,
    mac_phy: Bytes,
    response: Bytes,
    xoff: Bytes,
    xon: Bytes,
    /// Overhead of a port of 8 lanes.
    overhead: Bytes,
    size: Bytes,
}

impl FromStr for Asic {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.split(',').map(str::trim).peekable();
        let named = parts.next_if(|first| !first.contains('='));
        let mut asic = match named {
            Some(name) => Self::named(name)?,
            None => Self::from_cells("this chip", Bytes(0)),
        };
        let mut given: Vec<&str> = Vec::new();
        for part in parts {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| Refusal::new(format!("`{part}` is not KEY=VALUE"), keys()))?;
            if given.contains(&key) {
                return Err(Refusal::new(format!("`{key}` is there twice"), "write it once"));
            }
            given.push(key);
            asic.set(key, value)?;
        }
        match (named, ["cell", "pipeline"].into_iter().find(|key| !given.contains(key))) {
            (None, Some(missing)) => Err(Refusal::new(
                format!("a chip without a name needs `{missing}`"),
                format!("name one ({}), or write such as {EXAMPLE}", names()),
            )),
            _ => Ok(asic),
        }
    }
}

impl Asic {
    fn named(name: &str) -> Result<Self, Refusal> {
        let chip = CHIPS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (name, cell) = chip.ok_or_else(|| {
            let help = format!("the names are {}; or write such as {EXAMPLE}", names());
            Refusal::new(format!("there is no chip `{name}`"), help)
        })?;
        Ok(Self::from_cells(name, *cell))
    }

    fn from_cells(name: &str, cell: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            cell,
            pipeline: PIPELINE,
            mac_phy: MAC_PHY,
            gearbox: Bytes(0),
            response: None,
            mtu: None,
            lossless_mtu: None,
            small_packets: 100,
            lanes: 4,
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Refusal> {
        match key {
            "cell" => {
                self.cell = size(key, value)?;
                if self.cell.0 == 0 || self.cell > Bytes(KIB * 64) {
                    return Err(Refusal::new("`cell` is 1 to 65536 bytes", ""));
                }
            }
            "pipeline" => self.pipeline = size(key, value)?,
            "mac-phy" => self.mac_phy = size(key, value)?,
            "gearbox" => self.gearbox = size(key, value)?,
            "response" => self.response = Some(size(key, value)?),
            "mtu" => self.mtu = Some(size(key, value)?),
            "lossless-mtu" => self.lossless_mtu = Some(size(key, value)?),
            "small-packets" => self.small_packets = number(key, value, 0, 100)?,
            "lanes" => self.lanes = number(key, value, 1, 8)?,
            _ => return Err(Refusal::new(format!("`{key}` is not a key of a chip"), keys())),
        }
        Ok(())
    }

    /// Returns a queue's headroom on a port with such a link.
    pub fn headroom(&self, link: &LinkHeadroom) -> AsicHeadroom {
        let mtu = self.mtu.unwrap_or(link.packet);
        let lossless_mtu = self.lossless_mtu.unwrap_or(link.packet);
        let response = self.response.unwrap_or_else(|| response(link.rate));
        let cable = on_the_cable(link.rate, link.delay);
        let Self { gearbox, mac_phy, .. } = *self;
        let arriving = mtu.0 + cable.0 + 2 * gearbox.0 + mac_phy.0 + response.0;
        let (numerator, denominator) = self.occupancy();
        let cells = (u128::from(arriving) * numerator).div_ceil(denominator);
        let xoff = lossless_mtu.0.saturating_add(u64::try_from(cells).unwrap_or(u64::MAX));
        let (xoff, pipeline, overhead) = match self.lanes {
            8 => (xoff, (2 * self.pipeline.0).saturating_sub(KIB), mtu.0),
            _ => (xoff, self.pipeline.0, 0),
        };
        let [xoff, xon] = [xoff, pipeline].map(whole_kib);
        AsicHeadroom {
            name: self.name.clone(),
            occupancy: u64::try_from(numerator * 100 / denominator).unwrap_or(u64::MAX),
            lossless_mtu,
            mtu,
            cable,
            gearbox,
            mac_phy,
            response,
            xoff: Bytes(xoff),
            xon: Bytes(xon),
            overhead: Bytes(overhead),
            size: Bytes(whole_kib(xoff.saturating_add(xon).saturating_add(overhead))),
        }
    }

    /// Returns the worst-case buffer bytes per arriving byte, as a fraction.
    fn occupancy(&self) -> (u128, u128) {
        let (cell, small) = (u128::from(self.cell.0), u128::from(self.small_packets));
        let (numerator, denominator) = if self.cell.0 > 2 * MIN_PACKET {
            (cell, u128::from(MIN_PACKET))
        } else {
            (2 * cell, 1 + cell)
        };
        ((100 - small) * denominator + small * numerator, 100 * denominator)
    }
}

impl AsicHeadroom {
    /// Formats the headroom as a part of the report in JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "cell_occupancy_percent": self.occupancy,
            "lossless_mtu_bytes": self.lossless_mtu.0,
            "mtu_bytes": self.mtu.0,
            "cable_bytes": self.cable.0,
            "gearbox_bytes": 2 * self.gearbox.0,
            "mac_phy_bytes": self.mac_phy.0,
            "response_bytes": self.response.0,
            "xoff_bytes": self.xoff.0,
            "xon_bytes": self.xon.0,
            "overhead_bytes": self.overhead.0,
            "size_bytes": self.size.0,
        })
    }
}

impl fmt::Display for AsicHeadroom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [size, xoff, xon] = [self.size, self.xoff, self.xon].map(|Bytes(bytes)| bytes / KIB);
        let name = &self.name;
        write!(f, "    {name} as SONiC has it: {size} KiB = xoff {xoff} KiB + xon {xon} KiB")?;
        if self.overhead > Bytes(0) {
            write!(f, " + {} B MTU", self.overhead.0)?;
        }
        write!(
            f,
            "; xoff: {} B packet + {}.{:02} x ({} MTU + {} cable",
            self.lossless_mtu.0,
            self.occupancy / 100,
            self.occupancy % 100,
            self.mtu.0,
            self.cable.0,
        )?;
        if self.gearbox > Bytes(0) {
            write!(f, " + {} gearbox", 2 * self.gearbox.0)?;
        }
        write!(f, " + {} MAC and PHY + {} response)", self.mac_phy.0, self.response.0)
    }
}

/// Example of a chip without a name.
const EXAMPLE: &str = "cell=144B,pipeline=18KiB";

fn keys() -> String {
    format!("the keys are {KEYS}")
}

fn names() -> String {
    CHIPS.map(|(name, _)| name).join(", ")
}

fn size(key: &str, text: &str) -> Result<Bytes, Refusal> {
    match quantity::parse(text) {
        Ok(size) if size > MAX_SIZE => {
            Err(Refusal::new(format!("`{key}` is at most {}", quantity::display(MAX_SIZE)), ""))
        }
        read => read
            .map_err(|refusal| Refusal::new(format!("`{key}`: {}", refusal.title), refusal.help)),
    }
}

fn number(key: &str, text: &str, least: u64, most: u64) -> Result<u64, Refusal> {
    let read = text.parse().ok().filter(|number| (least..=most).contains(number));
    read.ok_or_else(|| {
        Refusal::new(format!("`{key}` is a number from {least} to {most}, not `{text}`"), "")
    })
}

/// Returns the bytes that arrive until a port of this rate obeys a PAUSE.
fn response(rate: BitsPerSecond) -> Bytes {
    let listed = QUANTA.iter().find(|(megabits, _)| megabits * 1_000_000 == rate.0);
    listed.map_or(OTHER_RESPONSE, |(_, quanta)| Bytes(quanta * 512 / 8))
}

/// Returns the bytes on the cable in both directions, with the formula's 1000 for 1024; rounded up.
fn on_the_cable(rate: BitsPerSecond, delay: Picos) -> Bytes {
    let bits_times_e12 = 2 * u128::from(rate.0) * u128::from(delay.0);
    let bytes = (bits_times_e12 * 1000).div_ceil(8 * 1024 * 1_000_000_000_000);
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX / 4))
}

fn whole_kib(bytes: u64) -> u64 {
    bytes.div_ceil(KIB).saturating_mul(KIB)
}

#[cfg(test)]
mod tests {
    use fabric_core::headroom::HeadroomTerms;

    use super::*;

    const LINK: LinkHeadroom = LinkHeadroom {
        rate: BitsPerSecond(100_000_000_000),
        delay: Picos(1_500_000),
        packet: Bytes(1024),
        terms: HeadroomTerms { propagation: Bytes(0), response: Bytes(0), whole_frames: Bytes(0) },
    };

    fn headroom_of(asic: &str, link: &LinkHeadroom) -> [u64; 3] {
        let headroom = asic.parse::<Asic>().expect(asic).headroom(link);
        [headroom.xoff, headroom.xon, headroom.size].map(|Bytes(bytes)| bytes / KIB)
    }

    /// Expected values: the script's floating-point arithmetic, computed by hand.
    #[test]
    fn a_queue_has_what_sonic_gives_it() {
        // 9100 + 36621.1 + 819.2 + 25216 = 71756.3 bytes arrive; x 2.25 + 1024 = 162475.7.
        assert_eq!(headroom_of("spectrum-3,mtu=9100B", &LINK), [159, 18, 177]);
        // x 192 / 97 + 1024 = 143057.1.
        assert_eq!(headroom_of("spectrum,mtu=9100B", &LINK), [140, 18, 158]);
        // Half of the packets are small: x 1.625 + 1024 = 117628.0.
        assert_eq!(headroom_of("spectrum-2,mtu=9100B,small-packets=50", &LINK), [115, 18, 133]);
        // xon = 2 x 18 - 1; 159 + 35 + 9100 B.
        assert_eq!(headroom_of("spectrum-3,mtu=9100B,lanes=8", &LINK), [159, 35, 203]);
    }

    #[test]
    fn a_rate_without_quanta_has_the_chips_response() {
        let slow = LinkHeadroom { rate: BitsPerSecond(5_000_000_000), delay: Picos(0), ..LINK };
        // 1024 + 2.25 x (1024 + 820 + 3892) = 13930.
        assert_eq!(headroom_of("spectrum-2", &slow), [14, 18, 32]);
        assert_eq!(headroom_of("spectrum-2,response=0B", &slow), [6, 18, 24]);
    }

    #[test]
    fn a_chip_of_ones_own_is_as_one_with_a_name() {
        let own = "cell=144B,pipeline=18KiB,mac-phy=820B";
        assert_eq!(headroom_of(own, &LINK), headroom_of("Spectrum-3", &LINK));
    }

    #[test]
    fn what_is_no_chip_is_refused() {
        for (text, part) in [
            ("tomahawk", "spectrum-2"),
            ("", "spectrum-2"),
            ("spectrum,9100", "KEY=VALUE"),
            ("spectrum,size=1B", "the keys are cell"),
            ("spectrum,cell=0B", "1 to 65536"),
            ("spectrum,cell=65537B", "1 to 65536"),
            ("spectrum,mtu=9100", "no unit"),
            ("spectrum,mtu=2GB", "at most 1GB"),
            ("spectrum,small-packets=101", "0 to 100"),
            ("spectrum,lanes=0", "1 to 8"),
            ("spectrum,lanes=4,lanes=8", "twice"),
            ("cell=96B", "`pipeline`"),
        ] {
            let error = text.parse::<Asic>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_largest_numbers_saturate() {
        let all = "cell=64KiB,pipeline=1GB,mac-phy=1GB,gearbox=1GB,response=1GB,mtu=1GB,lanes=8";
        let link = LinkHeadroom {
            rate: BitsPerSecond(8_000_000_000_000),
            delay: Picos(86_400_000_000_000_000),
            ..LINK
        };
        let [xoff, _, size] = headroom_of(all, &link);
        assert!(size >= xoff && xoff > MAX_SIZE.0);
    }
}
