use units::Picos;

use super::Parameters;

pub const PARAMETERS: Parameters = Parameters {
    initial_timeout: Picos(10_000_000_000),
    minimum_timeout: Picos(1_000_000_000),
    maximum_timeout: Picos(60_000_000_000_000),
    loss_threshold: 3,
    tail_loss_probe: false,
    delayed_ack: Picos::ZERO,
    handshake: true,
};
