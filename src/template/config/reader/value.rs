//! `Reader`: one value, as a type asks for it.

use core::cell::RefCell;
use core::ops::Range;

use serde::de::{self, DeserializeSeed, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use super::choice::{Named, Tagged};
use super::error::{ReadError, What, near};
use super::path::Path;
use super::table::{Entries, in_order};

/// One value, as a type asks for it.
#[derive(Clone)]
pub(super) struct Reader<'a, 'i> {
    /// Where its key stands; of an item of a list, the item.
    pub(super) key: Range<usize>,
    pub(super) value: &'a Spanned<DeValue<'i>>,
    pub(super) path: Path<'a>,
    /// Parameters that no type has asked for.
    pub(super) unknown: &'a RefCell<Vec<ReadError>>,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// What an error about the value points to: a table has a name rather than a place.
    fn span(&self) -> Range<usize> {
        match self.value.get_ref() {
            DeValue::Table(_) => self.key.clone(),
            _ => self.value.span(),
        }
    }

    /// Adds the place to an error.
    pub(super) fn located<T>(&self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        read.map_err(|error| error.at(self.span(), &self.path))
    }

    fn wrong<T>(&self, expected: &dyn de::Expected) -> Result<T, ReadError> {
        self.located(Err(de::Error::invalid_type(
            unexpected(self.value.get_ref()),
            expected,
        )))
    }

    /// Gives the value to a type. What the type finds wrong after it was read is about the value too.
    pub(super) fn give<'de, T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        let (span, path) = (self.span(), self.path);
        let read = seed.deserialize(self);
        read.map_err(|error| error.at(span, &path))
    }

    pub(super) fn message<T>(&self, message: &str) -> Result<T, ReadError> {
        self.located(Err(de::Error::custom(message)))
    }

    fn entries<'b>(&'b self, table: &'b DeTable<'i>) -> Entries<'b, 'i> {
        Entries {
            entries: in_order(table).into_iter(),
            value: None,
            parent: &self.path,
            unknown: self.unknown,
        }
    }

    fn integer<'de, V: Visitor<'de>>(
        &self,
        integer: &DeInteger<'_>,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let (digits, radix) = (integer.as_str(), integer.radix());
        if let Ok(number) = i64::from_str_radix(digits, radix) {
            visitor.visit_i64(number)
        } else if let Ok(number) = u64::from_str_radix(digits, radix) {
            visitor.visit_u64(number)
        } else if let Ok(number) = i128::from_str_radix(digits, radix) {
            visitor.visit_i128(number)
        } else if let Ok(number) = u128::from_str_radix(digits, radix) {
            visitor.visit_u128(number)
        } else {
            self.message("a number of more than 128 bits")
        }
    }

    fn float(&self, float: &DeFloat<'_>, largest: f64) -> Result<f64, ReadError> {
        match float.as_str().parse::<f64>() {
            Ok(number)
                if number.abs() <= largest
                    || number.is_nan()
                    || float.as_str().ends_with("inf") =>
            {
                Ok(number)
            }
            _ => self.message("a number that is too large"),
        }
    }

    fn items<'de, V: Visitor<'de>>(
        &self,
        items: &[Spanned<DeValue<'i>>],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let mut left = Items {
            list: self,
            items: items.iter().enumerate(),
        };
        let read = visitor.visit_seq(&mut left)?;
        match left.items.len() {
            0 => Ok(read),
            // A type of fixed length does not look whether there are more.
            more => self.message(&format!(
                "a list of {} items, where {} are wanted",
                items.len(),
                items.len() - more
            )),
        }
    }

    /// Notes the keys of a table that a type does not have.
    fn note_unknown(&self, table: &DeTable<'i>, fields: &[&str]) {
        for (key, _) in in_order(table) {
            if !fields.contains(&&**key.get_ref()) {
                let what =
                    What::Unknown(key.get_ref().as_ref().into(), near(key.get_ref(), fields));
                let error = ReadError::new(what).at(key.span(), &self.path);
                self.unknown.borrow_mut().push(error);
            }
        }
    }

    /// Whether a key of this table was noted that is to be `field`, most likely.
    fn is_misspelt(&self, field: &str) -> bool {
        let path = self.path.to_string();
        let unknown = self.unknown.borrow();
        let mut of_table = unknown.iter().filter(|error| *error.path == *path);
        of_table
            .any(|error| matches!(&error.what, What::Unknown(_, Some(near)) if **near == *field))
    }

    pub(super) fn fields<'de, V: Visitor<'de>>(
        &self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let DeValue::Table(table) = self.value.get_ref() else {
            return self.wrong(&"a table");
        };
        self.note_unknown(table, fields);
        let mut entries = in_order(table);
        entries.retain(|(key, _)| fields.contains(&&**key.get_ref()));
        let entries = Entries {
            entries: entries.into_iter(),
            value: None,
            parent: &self.path,
            unknown: self.unknown,
        };
        let read = entries.visit(visitor).map_err(|mut error| {
            if let (What::Missing(field), None) = (&error.what, &error.span)
                && self.is_misspelt(field)
            {
                error.what = What::Told;
            }
            error
        });
        self.located(read)
    }
}

/// What a value is, in serde's words.
fn unexpected<'a>(value: &'a DeValue<'_>) -> Unexpected<'a> {
    match value {
        DeValue::String(text) => Unexpected::Str(text),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => Unexpected::Signed(number),
            Err(_) => Unexpected::Other("integer"),
        },
        DeValue::Float(float) => match float.as_str().parse() {
            Ok(number) => Unexpected::Float(number),
            Err(_) => Unexpected::Other("float"),
        },
        DeValue::Boolean(truth) => Unexpected::Bool(*truth),
        DeValue::Datetime(_) => Unexpected::Other("date or time"),
        DeValue::Array(_) => Unexpected::Other("list"),
        DeValue::Table(_) => Unexpected::Other("table"),
    }
}

impl<'de> de::Deserializer<'de> for Reader<'_, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.value.get_ref() {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(integer) => self.integer(integer, visitor),
            DeValue::Float(float) => self
                .float(float, f64::MAX)
                .and_then(|number| visitor.visit_f64(number)),
            DeValue::Boolean(truth) => visitor.visit_bool(*truth),
            DeValue::Datetime(moment) => visitor.visit_string(moment.to_string()),
            DeValue::Array(items) => self.items(items, visitor),
            DeValue::Table(table) => self.entries(table).visit(visitor),
        };
        self.located(read)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value.get_ref() {
            // So that none becomes infinite on the way.
            DeValue::Float(float) => {
                let number = self.float(float, f64::from(f32::MAX))?;
                self.located(visitor.visit_f64(number))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let at = self.clone();
        at.located(visitor.visit_newtype_struct(self))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.value.get_ref() {
            DeValue::Table(table) => {
                self.note_unknown(table, &[]);
                self.located(visitor.visit_unit())
            }
            _ => self.wrong(&"a table without keys"),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.fields(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match self.value.get_ref() {
            DeValue::String(name) => visitor.visit_enum(Named { name }),
            DeValue::Table(table) if table.len() == 1 => {
                let mut entries = in_order(table);
                match entries.pop() {
                    Some((key, value)) => visitor.visit_enum(Tagged {
                        key,
                        value,
                        parent: &self.path,
                        unknown: self.unknown,
                    }),
                    None => self.wrong(&"a choice"),
                }
            }
            _ => self.wrong(&"the name of a choice, or a table with that as its only key"),
        };
        self.located(read)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f64 char str string bytes byte_buf unit seq tuple tuple_struct
        map identifier ignored_any
    }
}

/// The items of a list, in order.
struct Items<'a, 'i> {
    list: &'a Reader<'a, 'i>,
    items: core::iter::Enumerate<core::slice::Iter<'a, Spanned<DeValue<'i>>>>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        let Some((number, value)) = self.items.next() else {
            return Ok(None);
        };
        let reader = Reader {
            key: value.span(),
            value,
            path: Path::Item(&self.list.path, number),
            unknown: self.list.unknown,
        };
        reader.give(seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}
