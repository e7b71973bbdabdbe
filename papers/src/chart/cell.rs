//! Numbers in the texts of tables.

/// A number with its interval or range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// Interval of seeds: 95 % with ten seeds or more, least and largest otherwise.
    pub ends: Option<(f64, f64)>,
    /// True if the interval has no upper end: some runs ended before they reached a value.
    pub is_open: bool,
}

impl Measured {
    /// Reads `53.1`, `53.1 (52 .. 54.2)`, `53.1 [52, 54.2]` or `53.1 [52, over 100]`, and ignores the rest. Returns `None` for a text without
    /// such a number, such as `not reached by 100`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let value_end = text.find(|it: char| !is_part(it)).unwrap_or(text.len());
        let value: f64 = text[..value_end].parse().ok()?;
        let rest = text[value_end..].trim_start();
        let inside = rest.strip_prefix('(').and_then(|it| it.split_once(')'));
        let inside = inside.or_else(|| rest.strip_prefix('[').and_then(|it| it.split_once(']')));
        let ends = inside
            .and_then(|(inside, _)| inside.split_once(" .. ").or_else(|| inside.split_once(", ")));
        let is_open = ends.is_some_and(|(_, high)| high.trim().starts_with("over "));
        let end = |text: &str| text.trim().trim_start_matches("over ").parse().ok();
        let ends = ends.and_then(|(low, high)| Some((end(low)?, end(high)?)));
        Some(Self { value, ends, is_open })
    }

    /// Reads one number, or the two of `18.5 (18.3 .. 18.9) to 77 (75.7 .. 78.5) %`.
    pub fn parse_all(text: &str) -> Vec<Self> {
        let text = text.trim_start_matches("up to ");
        text.split(" to ").filter_map(Self::parse).collect()
    }

    /// Returns the lowest number.
    pub fn low(self) -> f64 {
        self.ends.map_or(self.value, |(low, _)| low.min(self.value))
    }

    /// Returns the highest number.
    pub fn high(self) -> f64 {
        self.ends.map_or(self.value, |(_, high)| high.max(self.value))
    }
}

fn is_part(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '.' || letter == '-'
}

/// Reads a number with a unit, such as `14MiB` or `0.2`.
pub fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|it: char| !is_part(it)).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

/// Returns the numbers of a paper's value: `18.8 to 52.8 %`, `about 96 %`, `up to 52.9 %`.
pub fn numbers(text: &str) -> Vec<f64> {
    text.split(' ').filter_map(|word| word.parse().ok()).collect()
}

/// Returns the unit of a paper's value.
pub fn unit(text: &str) -> &str {
    let last = text.rsplit(' ').next().unwrap_or_default();
    if last.parse::<f64>().is_ok() { "" } else { last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_intervals() {
        let rows = [
            ("53.1", Some((53.1, None))),
            ("53.1 (52 .. 54.2)", Some((53.1, Some((52.0, 54.2))))),
            ("9.41 [8.05, 10.9], 61 of 100", Some((9.41, Some((8.05, 10.9))))),
            ("-4.65 (-5.4 .. -3.57) %", Some((-4.65, Some((-5.4, -3.57))))),
            ("25 [8.9, over 100]", Some((25.0, Some((8.9, 100.0))))),
            ("2.5 (1 run left out)", Some((2.5, None))),
            ("not reached by 100 [8.8, over 100], 9 of 100", None),
            ("over 4.9", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let is_open = text.contains(", over ");
            let expected = expected.map(|(value, ends)| Measured { value, ends, is_open });
            assert_eq!(Measured::parse(text), expected, "{text}");
        }
        let both = Measured::parse_all("18.5 (18.3 .. 18.9) to 77 (75.7 .. 78.5) %");
        assert_eq!(both.iter().map(|it| it.value).collect::<Vec<_>>(), [18.5, 77.0]);
        assert_eq!(number("200 Gbit/s"), Some((200.0, "Gbit/s")));
        assert_eq!(numbers("18.8 to 52.8 %"), [18.8, 52.8]);
        assert_eq!((unit("about 37.3 Gbit/s"), unit("about 15")), ("Gbit/s", ""));
    }
}
