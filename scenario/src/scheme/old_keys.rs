//! Old keys that choose a scheme; a release reads them as `switch.scheme`, with a note.
//!
//! | old key | new keys |
//! | --- | --- |
//! | `headroom` of kind "dsh" or "oversubscribed" | `scheme` of this kind; `bytes` stays in `headroom` |
//! | `threshold` of kind "spfc" | `scheme` of this kind; `alpha`, `xon_offset` and `by_rate` stay in `threshold` |
//! | both | `scheme` of kind "dsh" with `victims` |
//! | `pause_rule`, `backpressure` | `scheme` |

use crate::document::{Document, Entry, Node, Origin, TAG, Value};
use crate::report::ScenarioError;

const SCHEME: &str = "scheme";

/// Note on the old keys of a file, if it has any.
#[derive(Clone, Debug, Default)]
pub struct OldKeys(pub Option<ScenarioError>);

/// All are equal, so that equality of scenarios ignores how their files are written.
impl PartialEq for OldKeys {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OldKeys {}

/// A key that chooses a scheme.
struct Choice {
    key: &'static str,
    origin: Origin,
    scheme: Node,
}

/// An old key as a note has it.
struct OldKey {
    key: &'static str,
    /// The key, and its kind if only some of its kinds are old.
    name: String,
}

impl Choice {
    fn old_key(&self) -> OldKey {
        let key = self.key;
        let name = match (key, kind(&self.scheme)) {
            ("headroom" | "threshold", Some(kind)) => format!("`switch.{key}` of kind \"{kind}\""),
            _ => format!("`switch.{key}`"),
        };
        OldKey { key, name }
    }
}

impl OldKeys {
    /// Replaces the old keys of `[switch]` by `switch.scheme`. Refuses a second choice of a scheme.
    pub fn replace(document: &mut Document<'_>) -> Result<Self, ScenarioError> {
        let Some(Value::Table(entries)) =
            document.root.child_mut("switch").map(|switch| &mut switch.value)
        else {
            return Ok(Self::default());
        };
        let mut rest: Vec<Entry> = Vec::new();
        let mut choices = Vec::new();
        if !entries.iter().any(is_old) {
            return Ok(Self::default());
        }
        for entry in std::mem::take(entries) {
            let (choice, left) = split(entry);
            choices.extend(choice);
            rest.extend(left);
        }
        choices.sort_by_key(|choice| choice.origin.order());
        let old: Vec<OldKey> = choices.iter().map(Choice::old_key).collect();
        let of = |key: &str| choices.iter().position(|choice| choice.key == key);
        if let [dsh, spfc] = [of("headroom"), of("threshold")]
            && let (Some(dsh), Some(spfc)) = (dsh, spfc)
            && matches!(kind(&choices[dsh].scheme), Some("dsh"))
        {
            let victims = victims(&choices[spfc].scheme);
            if let Value::Table(keys) = &mut choices[dsh].scheme.value {
                keys.push(victims);
            }
            choices.remove(spfc);
        }
        if let [first, second, ..] = &choices[..] {
            let title =
                format!("`switch.{}` and `switch.{}` each choose a scheme", second.key, first.key);
            let help = "a switch runs one scheme: write `switch.scheme` only";
            return Err(document.error_at(Some(&second.origin), &title, Some(help)));
        }
        let Some(Choice { origin, scheme, .. }) = choices.pop() else {
            *entries = rest;
            return Ok(Self::default());
        };
        let (title, help) = note(&old, &scheme, &rest);
        rest.push(Entry { key: SCHEME.to_owned(), key_origin: origin.clone(), node: scheme });
        *entries = rest;
        Ok(Self(Some(document.error_at(Some(&origin), &title, Some(&help)))))
    }
}

/// Returns the title and the help text of the note on `old` keys, which `scheme` and entries of `rest` replace.
fn note(old: &[OldKey], scheme: &Node, rest: &[Entry]) -> (String, String) {
    let mut new = vec![format!("`switch.{SCHEME} = {}`", scheme.inline())];
    let mut removed = Vec::new();
    for OldKey { key, .. } in old {
        match rest.iter().find(|entry| entry.key == *key) {
            Some(kept) => new.push(format!("`switch.{key} = {}`", kept.node.inline())),
            None => removed.push(format!("`switch.{key}`")),
        }
    }
    let remove = if removed.is_empty() {
        String::new()
    } else {
        format!(", and remove {}", removed.join(" and "))
    };
    let help = format!("write {} instead{remove}", new.join(" and "));
    let names: Vec<&str> = old.iter().map(|it| it.name.as_str()).collect();
    let names = names.join(" and ");
    let title = match old.len() {
        1 => format!("{names} is an old key; the next release will refuse it"),
        _ => format!("{names} are old keys; the next release will refuse them"),
    };
    (title, help)
}

/// True if an entry of `[switch]` is an old key.
fn is_old(entry: &Entry) -> bool {
    match entry.key.as_str() {
        "headroom" => matches!(kind(&entry.node), Some("dsh" | "oversubscribed")),
        "threshold" => kind(&entry.node) == Some("spfc"),
        "pause_rule" | "backpressure" => true,
        _ => false,
    }
}

/// Returns the choice of a scheme by an entry, and the part of the entry that stays.
fn split(entry: Entry) -> (Option<Choice>, Option<Entry>) {
    if entry.key != SCHEME && !is_old(&entry) {
        return (None, Some(entry));
    }
    let (key, new_kind, stay): (_, _, &[&str]) = match entry.key.as_str() {
        "headroom" => ("headroom", "sih", &["bytes"]),
        "threshold" => ("threshold", "dt", &["alpha", "xon_offset", "by_rate"]),
        "pause_rule" => ("pause_rule", "", &[]),
        "backpressure" => ("backpressure", "", &[]),
        _ => (SCHEME, "", &[]),
    };
    let origin = entry.key_origin.clone();
    let mut scheme = entry.node.at_path("switch.scheme");
    let mut left = entry;
    if let (Value::Table(moved), Value::Table(kept)) = (&mut scheme.value, &mut left.node.value) {
        moved.retain(|entry| !stay.contains(&entry.key.as_str()));
        kept.retain(|entry| stay.contains(&entry.key.as_str()));
        if !kept.is_empty() {
            let path = left.node.path.clone();
            kept.insert(0, Entry::tag(new_kind, &path, left.node.origin.clone()));
            return (Some(Choice { key, origin, scheme }), Some(left));
        }
    }
    (Some(Choice { key, origin, scheme }), None)
}

/// Returns the settings of SPFC as DSH's `victims`.
fn victims(spfc: &Node) -> Entry {
    let mut node = spfc.at_path("switch.scheme.victims");
    if let Value::Table(keys) = &mut node.value {
        let is_port = |node: &Node| matches!(&node.value, Value::Text(text) if text == "port");
        keys.retain(|entry| entry.key != TAG && !(entry.key == "state_of" && is_port(&entry.node)));
    }
    Entry { key: "victims".to_owned(), key_origin: node.origin.clone(), node }
}

fn kind(node: &Node) -> Option<&str> {
    match &node.child(TAG)?.value {
        Value::Text(kind) => Some(kind),
        _ => None,
    }
}
