//! A name or a list of names, in which `*` stands for any text and `?` for one character.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use topology::{Fabric, HostId, NodeKind, SwitchId};

use super::document::{Document, suggestion};
use super::glob;
use super::report::ScenarioError;

/// One pattern, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    patterns: Vec<String>,
    /// True if the file has a list.
    is_list: bool,
}

impl Names {
    /// Returns a list of names.
    pub(super) fn list(names: Vec<String>) -> Self {
        Self { patterns: names, is_list: true }
    }

    /// Returns the path in the file of pattern number `place`; `path` is the path of all patterns.
    fn path(&self, path: &str, place: usize) -> String {
        if self.is_list { format!("{path}.{place}") } else { path.to_owned() }
    }

    /// Returns the matching switches, ascending.
    pub(super) fn switches(
        &self,
        path: &str,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<Vec<SwitchId>, ScenarioError> {
        let matching = |pattern: &str| {
            let switches = (0..fabric.switch_count()).map(SwitchId);
            switches.filter(|&it| glob::matches(pattern, &fabric.switch(it).name)).collect()
        };
        let names = fabric.nodes()[fabric.host_count() as usize..].iter();
        let names = names.map(|node| node.name.as_str());
        self.resolve(path, document, matching, ("switch", "the switches are"), names)
    }

    /// Returns the matching hosts and the hosts on matching switches, ascending.
    pub(super) fn hosts(
        &self,
        path: &str,
        fabric: &Fabric,
        document: &Document<'_>,
    ) -> Result<Vec<HostId>, ScenarioError> {
        let matching = |pattern: &str| {
            let hosts = (0..fabric.host_count()).map(HostId);
            let names =
                |host: HostId| [&fabric.host(host).name, &fabric.switch(fabric.edge(host)).name];
            hosts.filter(|&it| names(it).iter().any(|it| glob::matches(pattern, it))).collect()
        };
        let is_host = |kind| matches!(kind, NodeKind::Host(_));
        let names = fabric.nodes().iter().filter(|node| is_host(node.kind));
        let names = names.map(|node| node.name.as_str());
        self.resolve(path, document, matching, ("host", "the hosts are"), names)
    }

    fn resolve<'a, T: Ord>(
        &self,
        path: &str,
        document: &Document<'_>,
        matching: impl Fn(&str) -> Vec<T>,
        (noun, known): (&str, &str),
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<Vec<T>, ScenarioError> {
        let mut found = Vec::new();
        for (place, pattern) in self.patterns.iter().enumerate() {
            let members = matching(pattern);
            if members.is_empty() {
                let is = if pattern.contains(['*', '?']) { "matches" } else { "is called" };
                let title = format!("no {noun} {is} `{pattern}`");
                let help = suggestion(pattern, known, names);
                return Err(document.error(&self.path(path, place), &title, &help));
            }
            found.extend(members);
        }
        if found.is_empty() {
            let help = format!("name a {noun}, or several: [\"a\", \"b\"]");
            return Err(document.error(path, &format!("no {noun} is named"), &help));
        }
        found.sort();
        found.dedup();
        Ok(found)
    }
}

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.patterns.join(", "))
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.patterns.as_slice() {
            [only] if !self.is_list => out.serialize_str(only),
            list => out.collect_seq(list),
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Names;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(f, "a name such as \"leaf0\", or a list of names")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Names, E> {
                Ok(Names { patterns: vec![text.to_owned()], is_list: false })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut patterns = Vec::new();
                while let Some(pattern) = list.next_element()? {
                    patterns.push(pattern);
                }
                Ok(Names { patterns, is_list: true })
            }
        }
        input.deserialize_any(Reader)
    }
}

impl JsonSchema for Names {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Names".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name or a list of names; `*` stands for any text and `?` for one character.",
            "oneOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            ],
        })
    }
}
