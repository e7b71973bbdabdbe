//! Settings of GFC.

use super::state::{self, MAX_STAGES};
use crate::hop_control::LINE_RATE;
use crate::scheme::Configure;
use crate::tables::Tables;
use units::{BitsPerSecond, Bytes};

/// Progression of stages and rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The paper's buffer-based form: each stage has half the width and half the rate of the stage
    /// before. `B_m` is never reached, and the rate is never zero.
    #[default]
    Halving,
    /// OFC's form: stages of equal width, with rates that fall in equal steps to zero at `B_m`.
    Linear,
}

/// All settings of a switch's GFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Progression of stages and rates.
    pub form: Form,
    /// `B_1`, start of the first stage below line rate: above zero, below `most`.
    pub first: Bytes,
    /// `B_m`, the limit of the stages; less than 4 GiB.
    pub most: Bytes,
    /// Number of stages below line rate: 1 to [`MAX_STAGES`].
    pub stages: u8,
    /// Bytes of a frame on the wire beyond its length; less than 4 GiB.
    pub overhead: Bytes,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            form: Form::default(),
            first: Bytes(68_000),
            most: Bytes(75_000),
            stages: 10,
            overhead: Bytes(24),
        }
    }
}

impl Settings {
    /// Start of stage `stage`, counted from 1.
    pub const fn begins(&self, stage: u8) -> Bytes {
        let width = self.most.0.saturating_sub(self.first.0);
        let before = stage as u64 - 1;
        Bytes(match self.form {
            Form::Halving => self.most.0 - (width >> before),
            Form::Linear => self.first.0 + width * before / self.stages as u64,
        })
    }

    /// Rate of stage `stage` at a port of this line rate, kbit/s: [`LINE_RATE`] for stage 0,
    /// otherwise 1 to 4294967294.
    pub fn rate(&self, line_rate: BitsPerSecond, stage: u8) -> u32 {
        if stage == 0 {
            return LINE_RATE;
        }
        let line_rate = line_rate.0 / 1000;
        let rate = match self.form {
            Form::Halving => line_rate >> stage,
            Form::Linear => {
                let steps = u64::from(self.stages) + 1;
                line_rate * (steps - u64::from(stage)) / steps
            }
        };
        u32::try_from(rate).unwrap_or(u32::MAX).clamp(1, LINE_RATE - 1)
    }
}

impl Configure for Settings {
    /// Writes the settings into the scheme's state, for ports of these rates.
    fn write<T: Tables>(
        &self,
        tables: &T,
        ports: impl IntoIterator<Item = (BitsPerSecond, Bytes)>,
    ) {
        const ROOM: &str = "the tables have room for the scheme's state";
        let in_32_bits = |Bytes(bytes)| u32::try_from(bytes).expect("less than 4 GiB");
        let line = state::stages(tables).expect(ROOM);
        line.overhead_bytes.store(in_32_bits(self.overhead));
        for (stage, begin) in (1..).zip(&line.begin_bytes) {
            begin.store(if stage <= self.stages {
                in_32_bits(self.begins(stage))
            } else {
                u32::MAX
            });
        }
        for (port, (rate, _)) in (0..).zip(ports) {
            let line = state::rates(tables, port).expect(ROOM);
            for (stage, kilobits) in (0..=MAX_STAGES).zip(&line.kilobits) {
                kilobits.store(self.rate(rate, stage.min(self.stages)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BitsPerSecond = BitsPerSecond(40_000_000_000);

    fn table(settings: &Settings) -> Vec<(u64, u32)> {
        (1..=settings.stages)
            .map(|stage| (settings.begins(stage).0, settings.rate(RATE, stage)))
            .collect()
    }

    /// Stages of the paper's buffer-based form with OFC's thresholds: the rest up to `B_m` and the rate both halve.
    #[test]
    fn stages_halve() {
        let settings = Settings { first: Bytes(68_600), stages: 5, ..Settings::default() };
        let expected = [
            (68_600, 20_000_000),
            (71_800, 10_000_000),
            (73_400, 5_000_000),
            (74_200, 2_500_000),
            (74_600, 1_250_000),
        ];
        assert_eq!(table(&settings), expected);
        assert_eq!(settings.rate(RATE, 0), LINE_RATE);
    }

    #[test]
    fn stages_of_ofc_go_down_to_zero_at_the_last_threshold() {
        let settings =
            Settings { form: Form::Linear, first: Bytes(60_000), stages: 3, ..Settings::default() };
        let expected = [(60_000, 30_000_000), (65_000, 20_000_000), (70_000, 10_000_000)];
        assert_eq!(table(&settings), expected);
    }

    #[test]
    fn no_rate_is_zero() {
        let settings = Settings { stages: 14, ..Settings::default() };
        assert_eq!(settings.rate(BitsPerSecond(1_000_000), 14), 1);
        let linear = Settings { form: Form::Linear, stages: 4, ..settings };
        let fast = BitsPerSecond(8_000_000_000_000);
        assert_eq!(
            [0, 1, 4].map(|stage| linear.rate(fast, stage)),
            [u32::MAX, u32::MAX - 1, 1_600_000_000]
        );
    }
}
