//! Mutations of texts by words and lines.
//!
//! libFuzzer changes bytes. Few of a hundred such changes leave a scenario that is read to its end, and none writes the
//! largest number.

use workload::random::mix;

/// Numbers at which something ends.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "00",
    "-1",
    "0.0000001",
    "0.5",
    "65536",
    "4294967296",
    "1000000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "340282366920938463463374607431768211455",
    "1e308",
];

/// Returns the text with one word or line changed, chosen by the seed. `None` for a text without words.
pub fn mutate(text: &str, seed: u32) -> Option<String> {
    let mut random = Random { seed: u64::from(seed) | 1 << 32, drawn: 0 };
    match random.below(8) {
        0 => another_line(text, &mut random),
        _ => another_word(text, &mut random),
    }
}

fn another_word(text: &str, random: &mut Random) -> Option<String> {
    let words = words(text);
    let (start, word) = random.choose(&words)?;
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(digits);
    let replaced = match number.parse::<u64>() {
        // A number keeps its unit.
        Ok(value) => match random.below(4) {
            0 => format!("{}{unit}", value.saturating_add(1)),
            1 => format!("{}{unit}", value.saturating_sub(1)),
            2 => format!("{}{unit}", random.choose(&NUMBERS)?),
            _ => random.choose(&words)?.1.to_owned(),
        },
        Err(_) => random.choose(&words)?.1.to_owned(),
    };
    Some([&text[..*start], &replaced, &text[start + word.len()..]].concat())
}

/// A line less, or one twice, or two in the other order.
fn another_line(text: &str, random: &mut Random) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return None;
    }
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one]),
        _ => lines.swap(one, other),
    }
    Some(lines.concat())
}

/// Words and where they start.
fn words(text: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let starts = text.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    starts.map(|word| (word.as_ptr().addr() - text.as_ptr().addr(), word)).collect()
}

/// The numbers of a seed, one after the other.
struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Below `bound`, which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        let value = mix(self.seed, self.drawn);
        self.drawn += 1;
        (value % bound as u64) as usize
    }

    fn choose<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        if list.is_empty() { None } else { list.get(self.below(list.len())) }
    }
}
