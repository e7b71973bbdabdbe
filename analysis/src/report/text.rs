//! Texts of pictures.

use svg::node::element::Text;

/// Size of all texts, in pixels.
pub const SIZE: f64 = 13.5;
/// Height of a line.
pub const LINE: f64 = 18.0;
/// Mean width of a letter in the widest of common fonts.
const LETTER: f64 = 8.0;

/// Returns about the width of a text, in pixels.
pub fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Breaks a text into lines of at most `most` pixels. A word that is too long is broken, too.
pub fn lines(text: &str, most: f64) -> Vec<String> {
    let letters = ((most / LETTER) as usize).max(4);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let letters_of: Vec<char> = word.chars().collect();
        for (place, part) in letters_of.chunks(letters).enumerate() {
            let line = lines.last_mut().expect("there is a line");
            let used = line.chars().count();
            let space = usize::from(used > 0);
            if place == 0 && used + space + part.len() <= letters {
                line.extend([" "].into_iter().take(space));
                line.extend(part);
            } else {
                lines.push(part.iter().collect());
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Makes a text at a place. `anchor` is `start`, `middle` or `end`.
pub fn at(text: &str, (x, y): (f64, f64), anchor: &str) -> Text {
    Text::new(text).set("x", rounded(x)).set("y", rounded(y)).set("text-anchor", anchor)
}

/// Rounds a coordinate.
pub fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_words_if_possible() {
        assert_eq!(lines("mean flow completion time", 90.0), ["mean flow", "completion", "time"]);
        assert_eq!(lines("abcdefghij", 40.0), ["abcde", "fghij"]);
        assert!(lines("", 40.0).is_empty());
    }
}
