//! Patterns of names of wires and metrics: `*` matches any text, `?` any one character.

use topology::Fabric;
use wildmatch::WildMatch;

use super::document::{Document, suggestion};
use super::report::ScenarioError;

/// Returns true if all of `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    WildMatch::new(pattern).matches(name)
}

/// Returns true if a pattern selects a wire. A pattern with an arrow is compared with the wire's name. A pattern
/// without an arrow is compared with the names of its link: "a-b" and "b-a" for "a->b", "a-b#2" and "b-a#2" for
/// "a->b#2".
pub fn matches_wire(pattern: &str, wire: &str) -> bool {
    if pattern.contains('>') { matches(pattern, wire) } else { matches_link(pattern, wire) }
}

fn matches_link(pattern: &str, wire: &str) -> bool {
    let Some((from, to)) = wire.split_once("->") else { return false };
    let (to, number) = to.find('#').map_or((to, ""), |place| to.split_at(place));
    matches(pattern, &format!("{from}-{to}{number}"))
        || matches(pattern, &format!("{to}-{from}{number}"))
}

/// Checks that a pattern selects at least one wire of the fabric.
pub(super) fn check(
    pattern: &str,
    path: &str,
    fabric: &Fabric,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let mut names = fabric.wires().iter().map(|wire| wire.name.as_str());
    if names.any(|name| matches_wire(pattern, name)) {
        return Ok(());
    }
    let names = fabric.wires().iter().map(|wire| wire.name.as_str());
    let what = "`*` stands for any text; a link is named like h0-s0; the wires are";
    let help = suggestion(pattern, what, names);
    Err(document.error(path, &format!("no wire or link matches `{pattern}`"), &help))
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_wire};

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

    #[test]
    fn a_link_is_both_of_its_wires() {
        let names = ["h0->a-b", "a-b->h0", "a-b->c", "c->a-b", "a-b->c#2", "c->a-b#2"];
        let meant = |pattern: &str| -> Vec<usize> {
            (0..names.len()).filter(|&number| matches_wire(pattern, names[number])).collect()
        };
        for (pattern, expected) in [
            ("h0->a-b", &[0][..]),
            ("h0-a-b", &[0, 1]),
            ("a-b-h0", &[0, 1]),
            ("c-a-b", &[2, 3]),
            ("a-b-c#2", &[4, 5]),
            ("c-a-b*", &[2, 3, 4, 5]),
            ("c-*", &[2, 3, 4, 5]),
            ("h0*", &[0, 1]),
            ("a-b->*", &[1, 2, 4]),
            ("*", &[0, 1, 2, 3, 4, 5]),
            ("h0", &[]),
            ("h0-", &[]),
            ("", &[]),
            ("h1->a-b", &[]),
        ] {
            assert_eq!(meant(pattern), expected, "{pattern}");
        }
    }
}
