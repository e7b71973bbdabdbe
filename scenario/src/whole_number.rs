//! Whole numbers on command lines.

use std::fmt::Display;
use std::str::FromStr;

use super::Refusal;

/// Returns a parser of whole numbers from `least` to `most`.
pub fn between<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, Refusal> + Clone + Send + Sync
where
    T: Copy + Display + FromStr + PartialOrd + Send + Sync + 'static,
{
    move |text| read(text, |number| (least..=most).contains(&number), &format!("{least} to {most}"))
}

/// Returns a parser of whole numbers from `least` up.
pub fn at_least<T>(least: T) -> impl Fn(&str) -> Result<T, Refusal> + Clone + Send + Sync
where
    T: Copy + Display + FromStr + PartialOrd + Send + Sync + 'static,
{
    move |text| read(text, |number| number >= least, &format!("{least} up"))
}

fn read<T: FromStr + Copy>(
    text: &str,
    is_within: impl Fn(T) -> bool,
    range: &str,
) -> Result<T, Refusal> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|&number| is_whole && is_within(number));
    number.ok_or_else(|| {
        let title = if is_whole { "it is out of range" } else { "it is not a whole number" };
        Refusal::new(title, format!("write a whole number from {range}"))
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_in_words() {
        let priority = between(0u8, 7);
        assert_eq!((priority("0"), priority("7")), (Ok(0), Ok(7)));
        for (text, title) in [
            ("8", "it is out of range"),
            ("-1", "it is out of range"),
            ("999", "it is out of range"),
            ("", "it is not a whole number"),
            ("1.5", "it is not a whole number"),
        ] {
            let help = "write a whole number from 0 to 7";
            assert_eq!(priority(text), Err(Refusal::new(title, help)), "{text}");
        }
        let jobs = at_least(NonZeroUsize::MIN);
        assert_eq!(jobs("3").map(NonZeroUsize::get), Ok(3));
        let refusal = Refusal::new("it is out of range", "write a whole number from 1 up");
        assert_eq!(jobs("0"), Err(refusal));
    }
}
