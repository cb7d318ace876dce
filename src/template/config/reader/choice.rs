//! `Named`, `Tagged`: a choice, as an `enum` asks for it.

use core::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, EnumAccess, VariantAccess, Visitor};
use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::error::ReadError;
use super::path::Path;
use super::value::Reader;

/// A choice that is a name alone: `gait = "slow"`.
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
}

impl<'de> EnumAccess<'de> for Named<'_> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        let name = seed.deserialize(StrDeserializer::<ReadError>::new(self.name))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Named<'_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        _seed: T,
    ) -> Result<T::Value, ReadError> {
        Err(needs(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        _visitor: V,
    ) -> Result<V::Value, ReadError> {
        Err(needs(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, ReadError> {
        Err(needs(self.name))
    }
}

fn needs(name: &str) -> ReadError {
    de::Error::custom(format!("`{name}` needs a value: {{ {name} = … }}"))
}

/// A choice that has a value: `gait = { run = { speed = 4 } }`.
pub(super) struct Tagged<'a, 'i> {
    pub(super) key: &'a Spanned<DeString<'i>>,
    pub(super) value: &'a Spanned<DeValue<'i>>,
    pub(super) parent: &'a Path<'a>,
    pub(super) unknown: &'a RefCell<Vec<ReadError>>,
}

impl<'de, 'a, 'i> EnumAccess<'de> for Tagged<'a, 'i> {
    type Error = ReadError;
    type Variant = Reader<'a, 'i>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), ReadError> {
        let name = seed.deserialize(StrDeserializer::<ReadError>::new(self.key.get_ref()));
        let name = name.map_err(|error: ReadError| error.at(self.key.span(), self.parent))?;
        let value = Reader {
            key: self.key.span(),
            value: self.value,
            path: Path::Key(self.parent, self.key.get_ref()),
            unknown: self.unknown,
        };
        Ok((name, value))
    }
}

impl<'de> VariantAccess<'de> for Reader<'_, '_> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.value.get_ref() {
            DeValue::Table(table) if table.is_empty() => Ok(()),
            _ => self.message("is a choice without a value"),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        self.give(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        de::Deserializer::deserialize_any(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.fields(fields, visitor)
    }
}
