//! `Reader`: TOML values → what users' types ask for.
//!
//! It is serde's way from a parsed document to any type, with three things that the TOML crate's own way does not
//! have: parameters that a type does not know are found without an attribute on the type, *all* of them, each with
//! its place and the nearest known name; every error knows the path to the value that it is about; and
//! a parameter that is missing because it is misspelt is told once.
//!
//! Where a type reads itself through `#[serde(flatten)]`, `#[serde(tag = …)]` or
//! `#[serde(untagged)]`, serde does not say which names it knows: there unknown ones are refused
//! only if the type itself does so.

mod choice;
mod error;
mod path;
mod table;
mod value;

use core::cell::RefCell;
use core::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::DeValue;

pub(super) use error::{ReadError, What};
use path::Path;
pub(super) use table::{Entry, in_order};
use value::Reader;

/// Reads a value that stands behind a key; or all that is wrong with it.
pub(super) fn read<T: DeserializeOwned>(
    key: Range<usize>,
    value: &Spanned<DeValue<'_>>,
) -> Result<T, Vec<ReadError>> {
    let unknown = RefCell::new(Vec::new());
    let read = T::deserialize(Reader {
        key,
        value,
        path: Path::Root,
        unknown: &unknown,
    });
    let mut errors = unknown.into_inner();
    match read {
        Ok(value) if errors.is_empty() => return Ok(value),
        Ok(_) => {}
        Err(error) if error.what == What::Told => {}
        Err(error) => errors.push(error),
    }
    Err(errors)
}
