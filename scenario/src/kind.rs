//! Writes an enum as a table whose `kind` names the variant: the counterpart of `deserializer.rs`.
//!
//! An enum derives `Serialize` and `Deserialize` with `#[serde(remote = "Self")]`, and `#[schemars(tag = "kind")]`
//! describes its table. serde's own `tag` loses the places of errors when it reads.

use serde::ser::{Error as _, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

use super::document::TAG;

/// Implements reading and writing of enums with a `kind`, which derive both for `remote = "Self"`.
macro_rules! by_kind {
    ($($sort:ty)*) => { $(
        impl serde::Serialize for $sort {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                <$sort>::serialize(self, $crate::kind::ByKind { kind: None, out })
            }
        }

        impl<'de> serde::Deserialize<'de> for $sort {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                <$sort>::deserialize(input)
            }
        }
    )* };
}
pub(crate) use by_kind;

/// Serializer of an enum, and with a `kind` of the table of a variant.
pub(crate) struct ByKind<S> {
    pub kind: Option<&'static str>,
    pub out: S,
}

/// Fields of a struct variant.
pub(crate) struct Fields<T>(T);

impl<T: SerializeStruct> serde::ser::SerializeStructVariant for Fields<T> {
    type Ok = T::Ok;
    type Error = T::Error;

    fn serialize_field<V: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &V,
    ) -> Result<(), T::Error> {
        self.0.serialize_field(key, value)
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), T::Error> {
        self.0.skip_field(key)
    }

    fn end(self) -> Result<T::Ok, T::Error> {
        self.0.end()
    }
}

/// Methods for values that are not a table.
macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $result:ty;)*) => { $(
        fn $method(self, $(_: $argument),*) -> Result<$result, S::Error> {
            Err(S::Error::custom("only a table has a `kind`"))
        }
    )* };
}

impl<S: Serializer> Serializer for ByKind<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = S::SerializeMap;
    type SerializeStruct = S::SerializeStruct;
    type SerializeStructVariant = Fields<S::SerializeStruct>;

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        table: &T,
    ) -> Result<S::Ok, S::Error> {
        table.serialize(Self { kind: Some(variant), ..self })
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        Self { kind: Some(variant), ..self }.serialize_struct(name, length).map(Fields)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<S::SerializeStruct, S::Error> {
        let mut table = self.out.serialize_struct(name, length + 1)?;
        table.serialize_field(TAG, &self.kind)?;
        Ok(table)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<S::SerializeMap, S::Error> {
        let mut table = self.out.serialize_map(length.map(|length| length + 1))?;
        table.serialize_entry(TAG, &self.kind)?;
        Ok(table)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    refused! {
        serialize_bool(bool) -> S::Ok;
        serialize_i8(i8) -> S::Ok;
        serialize_i16(i16) -> S::Ok;
        serialize_i32(i32) -> S::Ok;
        serialize_i64(i64) -> S::Ok;
        serialize_u8(u8) -> S::Ok;
        serialize_u16(u16) -> S::Ok;
        serialize_u32(u32) -> S::Ok;
        serialize_u64(u64) -> S::Ok;
        serialize_f32(f32) -> S::Ok;
        serialize_f64(f64) -> S::Ok;
        serialize_char(char) -> S::Ok;
        serialize_str(&str) -> S::Ok;
        serialize_bytes(&[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(&'static str) -> S::Ok;
        serialize_unit_variant(&'static str, u32, &'static str) -> S::Ok;
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
    }
}
