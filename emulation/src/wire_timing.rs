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

/// The rate and length of a wire.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Propagation delay.
    pub delay: Picos,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Picoseconds per byte at this rate; zero if that is not a whole number, or has no effect.
    byte: u32,
    /// Arithmetic of a simulator, whose times may be zero; `None` if times are xoff's own.
    simulated: Option<Arithmetic>,
    /// Computes how long frames occupy the port.
    frame_time: FrameTime,
}

impl Timing {
    /// The timing of `wire`.
    pub fn new(wire: &Wire, scenario: &Scenario) -> Self {
        let (delay, rate, frame_time) = (wire.delay, wire.rate, scenario.frame_time());
        let simulated = scenario.frames.time.simulated();
        let byte = if simulated.is_some() { 0 } else { byte_at(rate) };
        Self { delay, rate, byte, simulated, frame_time }
    }

    /// The timing at another rate of the port.
    #[must_use]
    pub fn at(self, rate: BitsPerSecond) -> Self {
        let byte = if self.simulated.is_some() { 0 } else { byte_at(rate) };
        Self { rate, byte, ..self }
    }

    /// Bytes on the wire of a frame of `length` bytes.
    #[inline]
    pub fn on_the_wire(&self, length: u32) -> u64 {
        self.frame_time.on_the_wire(length.into())
    }

    /// Time for which a frame of `length` bytes occupies the port.
    #[inline]
    pub fn serialise(&self, length: u32) -> Picos {
        let bytes = self.on_the_wire(length);
        // A division would be most of the work of a transmission. The usual rates need only a product.
        if self.byte == 0 {
            return self.serialise_slowly(bytes);
        }
        self.frame_time.rounded(Picos(bytes * u64::from(self.byte)))
    }

    /// Time of bytes at a rate at which a byte has no whole number of picoseconds, or as a simulator computes it.
    fn serialise_slowly(&self, bytes: u64) -> Picos {
        match self.simulated {
            Some(arithmetic) => Picos::from_nanos(arithmetic.transmission(bytes, self.rate)),
            None => self.frame_time.rounded(self.rate.serialise(bytes)),
        }
    }

    /// Beginning of the transmission of a frame of `length` bytes whose last bit arrives at `arrival`.
    #[inline]
    pub fn started(&self, arrival: Picos, length: u32) -> Picos {
        Picos(arrival.0 - self.delay.0 - self.serialise(length).0)
    }
}
