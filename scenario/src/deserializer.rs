//! Reads a [`Document`] into types, and keeps for each error the place in the file that caused it.
//!
//! A table with a `kind` is read as the enum variant that `kind` names. serde's internally tagged
//! enums copy the table first and lose all places in it.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::document::{Document, DocumentKind, Entry, Node, Origin, TAG, Value, suggestion};
use super::refusal::Refusal;
use super::report::ScenarioError;

impl Document<'_> {
    /// Reads the whole tree.
    pub fn read<T: for<'de> de::Deserialize<'de>>(&self) -> Result<T, ScenarioError> {
        T::deserialize(&self.root).map_err(|error| {
            let place = error.place.as_ref().filter(|place| !place.path.is_empty());
            let path = place.map_or("", |place| place.path.as_str());
            let origin = place.map(|place| &place.origin);
            let (title, help) = error.problem.explained(path, self.kind);
            self.error_at(origin, &title, help.as_deref())
        })
    }
}

/// Problem, and its place once known.
#[derive(Debug)]
pub struct ReadError {
    problem: Problem,
    place: Option<Place>,
}

#[derive(Debug)]
struct Place {
    path: String,
    origin: Origin,
}

#[derive(Debug)]
enum Problem {
    /// The key is the last step of the place's path.
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    UnknownName {
        name: String,
        known: &'static [&'static str],
    },
    MissingKey {
        key: &'static str,
    },
    Unexpected {
        found: String,
        expected: String,
    },
    /// Refused by the type of the value, which does not know its place.
    Refused(Refusal),
}

impl Problem {
    fn explained(&self, path: &str, kind: DocumentKind) -> (String, Option<String>) {
        let subject = if path.is_empty() { kind.noun.into() } else { format!("`{path}`") };
        match self {
            Self::UnknownKey { key, known } => {
                let inside = path.rsplit_once('.').map(|(parent, _)| format!(" in `{parent}`"));
                let title = format!("unknown key `{key}`{}", inside.unwrap_or_default());
                let known = known.iter().copied().filter(|name| *name != TAG);
                (title, Some(suggestion(key, "the keys here are", known)))
            }
            Self::UnknownName { name, known } => {
                let title = format!("{subject} cannot be `{name}`");
                (title, Some(suggestion(name, "it is one of", known.iter().copied())))
            }
            Self::MissingKey { key } => {
                let help = format!("add `{key}`; `{}` describes every key", kind.schema);
                (format!("{subject} has no `{key}`"), Some(help))
            }
            Self::Unexpected { found, expected } => {
                (format!("{subject} is {found}"), Some(format!("write {expected}")))
            }
            Self::Refused(refusal) => {
                let Refusal { title, is_sentence, .. } = refusal;
                let title =
                    if *is_sentence { title.clone() } else { format!("{subject}: {title}") };
                (title, refusal.help().map(str::to_owned))
            }
        }
    }
}

impl ReadError {
    fn new(problem: Problem) -> Self {
        Self { problem, place: None }
    }

    /// Adds a place to an error that has none.
    fn placed(mut self, path: &str, origin: &Origin) -> Self {
        let here = || Place { path: path.to_owned(), origin: origin.clone() };
        self.place.get_or_insert_with(here);
        self
    }

    fn at(self, node: &Node) -> Self {
        self.placed(&node.path, &node.origin)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.explained("", DocumentKind::SCENARIO).0)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::new(Problem::Refused(Refusal::from_text(&text.to_string())))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Problem::UnknownKey { key: field.to_owned(), known: expected })
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Problem::UnknownName { name: variant.to_owned(), known: expected })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Problem::MissingKey { key: field })
    }

    fn invalid_type(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        let found = match unexpected {
            Unexpected::Str(text) => format!("the text \"{text}\""),
            Unexpected::Signed(number) => format!("the number {number}"),
            Unexpected::Unsigned(number) => format!("the number {number}"),
            Unexpected::Float(number) => format!("the number {number}"),
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Seq => "a list".into(),
            Unexpected::Map => "a table".into(),
            other => other.to_string(),
        };
        let expected = match expected.to_string().as_str() {
            "u8" => "a whole number from 0 to 255".into(),
            "u16" => "a whole number from 0 to 65535".into(),
            "u32" => "a whole number without a sign".into(),
            "u64" => "a whole number from 0 up".into(),
            "a string" => "a text in quotes".into(),
            "a sequence" => "a list in brackets".into(),
            text if text.starts_with("struct ") => "a table with its keys".into(),
            text => text.to_owned(),
        };
        Self::new(Problem::Unexpected { found, expected })
    }

    fn invalid_value(unexpected: Unexpected, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                _ => Err(ReadError::invalid_type(
                    Unexpected::Other(&format!("the number {number}")),
                    &visitor,
                )),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Array(nodes) => visit_all(nodes, visitor),
            Value::Table(entries) => visitor.visit_map(Entries::new(entries, false)),
        };
        read.map_err(|error| error.at(self))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self).map_err(|error| error.at(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let known = super::report::listed(variants.iter().copied());
        let name = match &self.value {
            Value::Table(entries) => {
                let tag = entries.iter().find(|entry| entry.key == TAG);
                let missing = || {
                    let title = format!("the table has no `{TAG}`");
                    ReadError::new(Problem::Refused(Refusal::new(
                        title,
                        format!("`{TAG}` is one of {known}"),
                    )))
                    .at(self)
                };
                &tag.ok_or_else(missing)?.node
            }
            _ => self,
        };
        if let Value::Text(text) = &name.value {
            let variant = Variant { name, text, node: self };
            return visitor.visit_enum(variant).map_err(|error| error.at(self));
        }
        let expected = format!("one of {known}");
        Err(ReadError::new(Problem::Unexpected { found: name.described(), expected }).at(name))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Visits an array. Visitors of a fixed length stop early, so remaining elements are an error.
fn visit_all<'de, V: Visitor<'de>>(nodes: &'de [Node], visitor: V) -> Result<V::Value, ReadError> {
    let mut elements = Elements(nodes.iter());
    let read = visitor.visit_seq(&mut elements)?;
    match elements.0.len() {
        0 => Ok(read),
        left => {
            let (length, expected) = (nodes.len(), nodes.len() - left);
            let message =
                format!("invalid length {length}, expected an array of length {expected}");
            Err(ReadError::custom(message))
        }
    }
}

struct Elements<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.0.next().map(|node| seed.deserialize(node).map_err(|error| error.at(node))).transpose()
    }
}

struct Entries<'de> {
    left: std::slice::Iter<'de, Entry>,
    current: Option<&'de Entry>,
    without_tag: bool,
}

impl<'de> Entries<'de> {
    fn new(entries: &'de [Entry], without_tag: bool) -> Self {
        Self { left: entries.iter(), current: None, without_tag }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let without_tag = self.without_tag;
        self.current = self.left.find(|entry| !(without_tag && entry.key == TAG));
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let key = seed.deserialize(StrDeserializer::new(&entry.key));
        key.map(Some).map_err(|error: ReadError| error.placed(&entry.node.path, &entry.key_origin))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let entry = self.current.take().expect("serde asks for a value after its key");
        seed.deserialize(&entry.node).map_err(|error| error.at(&entry.node))
    }
}

/// Variant named by the `kind` of a table or by a text.
struct Variant<'de> {
    name: &'de Node,
    text: &'de str,
    node: &'de Node,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), ReadError> {
        match seed.deserialize(StrDeserializer::new(self.text)) {
            Ok(variant) => Ok((variant, self)),
            Err(error) => Err(ReadError::at(error, self.name)),
        }
    }
}

impl<'de> Variant<'de> {
    fn entries(&self) -> Result<Entries<'de>, ReadError> {
        match &self.node.value {
            Value::Table(entries) => Ok(Entries::new(entries, true)),
            _ => Err(ReadError::new(Problem::Unexpected {
                found: self.node.described(),
                expected: format!("a table: {{ {TAG} = \"{}\", .. }}", self.text),
            })),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match &self.node.value {
            Value::Text(_) => Ok(()),
            _ => Err(ReadError::new(Problem::Unexpected {
                found: self.node.described(),
                expected: format!("\"{}\"", self.text),
            })),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(de::value::MapAccessDeserializer::new(self.entries()?))
            .map_err(|error| error.at(self.node))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(ReadError::custom("no key of a scenario is a tuple"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_map(self.entries()?).map_err(|error| error.at(self.node))
    }
}
