//! `Entries`: the keys and values of a table.

use core::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, MapAccess, Visitor};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::ReadError;
use super::path::Path;
use super::value::Reader;

/// A key and its value.
pub(in super::super) type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

/// The entries of a table in the order of the file.
pub(in super::super) fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The keys and values of a table, in the order of the file.
pub(super) struct Entries<'a, 'i> {
    pub(super) entries: std::vec::IntoIter<Entry<'a, 'i>>,
    /// The entry whose key was read last.
    pub(super) value: Option<Entry<'a, 'i>>,
    pub(super) parent: &'a Path<'a>,
    pub(super) unknown: &'a RefCell<Vec<ReadError>>,
}

impl Entries<'_, '_> {
    /// Lets a type read the entries. What it finds wrong with a key, before it asks for its value, is about the key.
    pub(super) fn visit<'de, V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ReadError> {
        let read = visitor.visit_map(&mut self);
        read.map_err(|error| match self.value {
            Some((key, _)) => error.at(key.span(), &Path::Key(self.parent, key.get_ref())),
            None => error,
        })
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'_, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        self.value = self.entries.next();
        let Some((key, _)) = self.value else {
            return Ok(None);
        };
        let read = seed.deserialize(StrDeserializer::<ReadError>::new(key.get_ref()));
        let path = Path::Key(self.parent, key.get_ref());
        read.map(Some).map_err(|error| match error.what {
            // The path ends with the table: the key is named by the error.
            super::What::Unknown(..) => error.at(key.span(), self.parent),
            _ => error.at(key.span(), &path),
        })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let Some((key, value)) = self.value.take() else {
            return Err(serde::de::Error::custom(
                "a value was asked for before its key",
            ));
        };
        let reader = Reader {
            key: key.span(),
            value,
            path: Path::Key(self.parent, key.get_ref()),
            unknown: self.unknown,
        };
        reader.give(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
