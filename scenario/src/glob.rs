//! Patterns over names of wires and metrics: `*` is any text, `?` any one character.

use topology::Fabric;

use super::document::{Document, suggestion};
use super::report::ScenarioError;

/// Whether all of `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut seen) = (0, 0);
    // The latest star, and how much of the name it stands for so far.
    let mut star = None;
    while seen < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, seen));
            at += 1;
        } else if pattern.get(at).is_some_and(|&byte| byte == b'?' || byte == name[seen]) {
            at += 1;
            seen += 1;
        } else if let Some((place, covered)) = star {
            star = Some((place, covered + 1));
            at = place + 1;
            seen = covered + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

/// Checks that a pattern matches a wire of the fabric.
pub(super) fn check(
    pattern: &str,
    path: &str,
    fabric: &Fabric,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let mut names = fabric.wires().iter().map(|wire| wire.name.as_str());
    if names.any(|name| matches(pattern, name)) {
        return Ok(());
    }
    let names = fabric.wires().iter().map(|wire| wire.name.as_str());
    let help = suggestion(pattern, "`*` stands for any text; the wires are", names);
    Err(document.error(path, &format!("no wire matches `{pattern}`"), &help))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_text() {
        for pattern in ["*", "h0->leaf0", "h?->*", "*->leaf0", "h0->leaf0*", "*-*-*0", "h*l*f0"] {
            let expected = pattern != "*-*-*0";
            assert_eq!(matches(pattern, "h0->leaf0"), expected, "{pattern}");
        }
        assert!(!matches("h0", "h0->leaf0"));
        assert!(!matches("", "h0->leaf0"));
        assert!(!matches("h0->leaf0?", "h0->leaf0"));
    }
}
