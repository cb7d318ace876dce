//! `PlainField`: a field of a struct that is plain, and what is asked of the bytes of all.
//!
//! `plain!` makes a table of them in the user's crate, a constant: what is asked of it with a fixed table is compiled for
//! that, as if each field had been written out.

use crate::entity::EntityMap;
use crate::fragment::plain::shape;
use crate::fragment::{IsValue, MapEntities, Plain};

/// A field of a type that is plain by [`plain!`](crate::plain): for inspectors and scripts, which have a value's bytes.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32 }
/// megachunk::plain!(Position { x, y });
///
/// let registry = FragmentRegistry::new();
/// let fields = registry.register_plain::<Position>()?.fields();
/// let fields: Vec<_> = fields.iter().map(|field| (field.name(), field.offset(), field.size())).collect();
/// assert_eq!(fields, [("x", 0, 4), ("y", 4, 4)]);
/// # Ok::<(), FragmentError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PlainField {
    name: &'static str,
    offset: usize,
    size: usize,
    is_value: Option<IsValue>,
    map_entities: Option<MapEntities>,
    /// Of the field with its name.
    shape: u64,
}

impl PlainField {
    /// What it is called: `r#type` is `"type"`, and fields of a tuple are called by their numbers, `"0"`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The byte of the value at which it begins.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Its bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    pub(super) const fn shape(&self) -> u64 {
        self.shape
    }
}

/// A field, whose type is plain. The type comes with a pointer to the field: what a closure returns by value is coerced,
/// and a field of type `!`, which has no values, to whatever the compiler falls back to.
#[doc(hidden)]
#[must_use]
pub const fn plain_field<S, T: Plain>(
    name: &'static str,
    offset: usize,
    _: fn(&S) -> *const T,
) -> PlainField {
    PlainField {
        name: without_r(name),
        offset,
        size: size_of::<T>(),
        is_value: T::IS_VALUE,
        map_entities: T::MAP_ENTITIES,
        shape: shape::of_field::<T>(name),
    }
}

/// A name as it is spoken; the shape has it as it is written, as files have had it always.
const fn without_r(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Whether any bytes are values of these fields.
#[doc(hidden)]
#[must_use]
pub const fn fields_take_any_bytes(fields: &[PlainField]) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if fields[at].is_value.is_some() {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether a value of these fields can name entities.
#[doc(hidden)]
#[must_use]
pub const fn fields_name_entities(fields: &[PlainField]) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if fields[at].map_entities.is_some() {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether the bytes of a value are one as far as this field goes.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn is_field(field: &PlainField, bytes: &[u8]) -> bool {
    field
        .is_value
        .is_none_or(|is_value| is_value(&bytes[field.offset..][..field.size]))
}

/// Changes the entities that this field names of a value that bytes are.
#[doc(hidden)]
#[inline(always)]
pub fn map_field(field: &PlainField, bytes: &mut [u8], entities: &EntityMap) {
    if let Some(map) = field.map_entities {
        map(&mut bytes[field.offset..][..field.size], entities);
    }
}
