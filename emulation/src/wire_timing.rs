//! Time that frames take on a wire.

use host_agent::ns3::time::Arithmetic;
use scenario::Scenario;
use topology::Wire;
use units::{BitsPerSecond, FrameTime, Picos};

/// Picoseconds per byte; zero if that is not a whole number.
fn byte_at(rate: BitsPerSecond) -> u32 {
    let second = BitsPerSecond(1).serialise(1);
    let even = second.0.is_multiple_of(rate.0);
    let byte = if even { second.0 / rate.0 } else { 0 };
    u32::try_from(byte).unwrap_or(0)
}

/// Computes how long frames occupy ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTime {
    /// xoff's own rule, and bytes beyond a frame.
    own: FrameTime,
    /// Arithmetic of a simulator, whose times may be zero; `None` if times are xoff's own.
    simulated: Option<Arithmetic>,
}

impl PortTime {
    /// As a scenario has it.
    pub fn new(scenario: &Scenario) -> Self {
        Self { own: scenario.frame_time(), simulated: scenario.frames.time.simulated() }
    }

    /// Bytes on the wire of a frame of `length` bytes.
    #[inline]
    const fn on_the_wire(self, length: u64) -> u64 {
        self.own.on_the_wire(length)
    }

    /// Time for which a frame of `length` bytes occupies a port.
    ///
    /// # Panics
    /// On a rate of zero.
    pub fn serialise(self, rate: BitsPerSecond, length: u64) -> Picos {
        self.of_bytes(rate, self.on_the_wire(length))
    }

    /// Time for which `bytes` bytes on the wire occupy a port.
    fn of_bytes(self, rate: BitsPerSecond, bytes: u64) -> Picos {
        match self.simulated {
            Some(arithmetic) => Picos::from_nanos(arithmetic.transmission(bytes, rate)),
            None => self.own.rounded(rate.serialise(bytes)),
        }
    }
}

impl From<FrameTime> for PortTime {
    fn from(own: FrameTime) -> Self {
        Self { own, simulated: None }
    }
}

/// The rate and length of a wire.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Propagation delay.
    pub delay: Picos,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Picoseconds per byte at this rate; zero if that is not a whole number, or has no effect.
    byte: u32,
    /// Computes how long frames occupy the port.
    time: PortTime,
}

impl Timing {
    /// The timing of `wire`.
    pub fn new(wire: &Wire, scenario: &Scenario) -> Self {
        let (delay, time) = (wire.delay, PortTime::new(scenario));
        Self { delay, rate: wire.rate, byte: 0, time }.at(wire.rate)
    }

    /// The timing at another rate of the port.
    #[must_use]
    pub fn at(self, rate: BitsPerSecond) -> Self {
        let byte = if self.time.simulated.is_some() { 0 } else { byte_at(rate) };
        Self { rate, byte, ..self }
    }

    /// Bytes on the wire of a frame of `length` bytes.
    #[inline]
    pub fn on_the_wire(&self, length: u32) -> u64 {
        self.time.on_the_wire(length.into())
    }

    /// Time for which a frame of `length` bytes occupies the port.
    #[inline]
    pub fn serialise(&self, length: u32) -> Picos {
        let bytes = self.on_the_wire(length);
        // A division would be most of the work of a transmission. The usual rates need only a product.
        if self.byte == 0 {
            return self.time.of_bytes(self.rate, bytes);
        }
        self.time.own.rounded(Picos(bytes * u64::from(self.byte)))
    }

    /// Beginning of the transmission of a frame of `length` bytes whose last bit arrives at `arrival`.
    #[inline]
    pub fn started(&self, arrival: Picos, length: u32) -> Picos {
        Picos(arrival.0 - self.delay.0 - self.serialise(length).0)
    }
}
