//! `MRG32k3a`, a combined multiple recursive generator with streams: L'Ecuyer, Operations Research 47(1), 1999; L'Ecuyer,
//! Simard, Chen and Kelton, Operations Research 50(6), 2002. ns-3 draws from it.
#![expect(clippy::cast_possible_truncation, reason = "components are below 2^32")]

const M1: u64 = 4_294_967_087;
const M2: u64 = 4_294_944_443;
const A12: u64 = 1_403_580;
const A13N: u64 = 810_728;
const A21: u64 = 527_612;
const A23N: u64 = 1_370_589;
/// Log2 of the steps between two streams, and between two substreams.
const STREAM: u32 = 127;
const SUBSTREAM: u32 = 76;

type Matrix = [[u64; 3]; 3];

/// State of a generator: three numbers of each component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator([[u32; 3]; 2]);

/// A jump by a number of steps.
#[derive(Clone, Copy, Debug)]
pub struct Jump([Matrix; 2]);

impl Generator {
    /// The generator of stream `stream`, substream 1, under the seed 1, as ns-3 with its default seed and run begins
    /// it.
    pub fn of_stream(stream: u64) -> Self {
        Self::seeded(1, stream)
    }

    /// The generator of stream `stream`, substream 1, under a seed: all its numbers are the seed at first.
    pub fn seeded(seed: u32, stream: u64) -> Self {
        let mut generator = Self([[seed; 3]; 2]);
        generator.jump(&Jump::by(SUBSTREAM));
        generator.jump(&Jump::by(STREAM).times(stream));
        generator
    }

    /// Moves by a jump.
    pub fn jump(&mut self, Jump(matrices): &Jump) {
        for ((state, matrix), modulus) in self.0.iter_mut().zip(matrices).zip([M1, M2]) {
            *state = matrix.map(|row| {
                let products = row.iter().zip(&*state);
                let sum = products.map(|(&a, &b)| a * u64::from(b) % modulus).sum::<u64>();
                (sum % modulus) as u32
            });
        }
    }

    /// Draws a number between 0 and 1, both excluded.
    pub fn draw(&mut self) -> f64 {
        let [first, second] = &mut self.0;
        let [a, b, c] = first.map(u64::from);
        let one = (A12 * b + (M1 - A13N) * a % M1) % M1;
        *first = [b as u32, c as u32, one as u32];
        let [a, b, c] = second.map(u64::from);
        let two = (A21 * c + (M2 - A23N) * a % M2) % M2;
        *second = [b as u32, c as u32, two as u32];
        let difference = if one > two { one - two } else { one + M1 - two };
        difference as f64 * (1.0 / (M1 as f64 + 1.0))
    }
}

impl Jump {
    /// A jump by one stream.
    pub fn to_next_stream() -> Self {
        Self::by(STREAM)
    }

    /// A jump by 2^`log` steps.
    fn by(log: u32) -> Self {
        let one = [[0, 1, 0], [0, 0, 1], [M1 - A13N, A12, 0]];
        let two = [[0, 1, 0], [0, 0, 1], [M2 - A23N, 0, A21]];
        (0..log).fold(Self([one, two]), |jump, _| jump.after(&jump))
    }

    /// This jump, `count` times.
    fn times(&self, mut count: u64) -> Self {
        let unit = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
        let (mut all, mut power) = (Self([unit; 2]), *self);
        while count > 0 {
            if count & 1 == 1 {
                all = all.after(&power);
            }
            power = power.after(&power);
            count >>= 1;
        }
        all
    }

    /// This jump after another.
    fn after(&self, other: &Self) -> Self {
        let mut both = *self;
        for ((product, right), modulus) in both.0.iter_mut().zip(&other.0).zip([M1, M2]) {
            *product = product.map(|row| {
                [0, 1, 2].map(|column| {
                    let terms =
                        row.iter().zip(right).map(|(&a, other)| a * other[column] % modulus);
                    terms.sum::<u64>() % modulus
                })
            });
        }
        both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published test: seed 12345, the sum of 10,000,000 numbers is 5001090.95; here of its first numbers, from
    /// `RngStreams`, which begins with this seed.
    #[test]
    fn the_first_numbers_of_the_published_seed() {
        let mut generator = Generator([[12345; 3]; 2]);
        let drawn: Vec<String> = (0..3).map(|_| format!("{:.6}", generator.draw())).collect();
        assert_eq!(drawn, ["0.127011", "0.318528", "0.309186"]);
    }

    /// Numbers that ns-3 draws.
    #[test]
    fn the_first_numbers_of_streams_are_those_of_ns3() {
        let draw = |stream| Generator::of_stream(stream).draw();
        for (stream, expected) in [
            (74, 0.280_068_849_039_804_34),
            (75, 0.389_918_978_815_699_87),
            (62, 0.912_957_794_241_426),
            (63, 0.753_825_759_001_951_3),
            (242, 0.225_989_659_318_199_67),
        ] {
            assert_eq!(draw(stream).to_bits(), f64::to_bits(expected), "{stream}");
        }
    }

    /// The steps are linear, so that twice the seed gives twice the numbers, modulo the moduli.
    #[test]
    fn a_seed_is_in_all_numbers_of_the_state() {
        assert_eq!(Generator::seeded(1, 74), Generator::of_stream(74));
        let [one, two] = [1, 2].map(|seed| Generator::seeded(seed, 1 << 63));
        for ((one, two), modulus) in one.0.iter().zip(&two.0).zip([M1, M2]) {
            assert_eq!(one.map(|number| (2 * u64::from(number) % modulus) as u32), *two);
        }
    }

    #[test]
    fn jumps_reach_the_next_stream_and_the_far_ones() {
        let mut generator = Generator::of_stream(74);
        generator.jump(&Jump::to_next_stream());
        assert_eq!(generator, Generator::of_stream(75));
        let far = Generator::of_stream((1 << 63) + 49);
        let mut next = far;
        next.jump(&Jump::to_next_stream());
        assert_eq!(next, Generator::of_stream((1 << 63) + 50));
    }

    #[test]
    fn a_jump_by_two_steps_is_two_steps() {
        let mut stepped = Generator([[12345; 3]; 2]);
        let mut jumped = stepped;
        for _ in 0..4 {
            stepped.draw();
        }
        jumped.jump(&Jump::by(2));
        assert_eq!(jumped, stepped);
    }
}
