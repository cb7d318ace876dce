//! `DefinedStruct`, `DefinedArray`: types of fields that were defined at run time, and what is asked of their values: a walk
//! over a table.
//!
//! Must hold: a table leads only to such as were there before it, and to no more than [`DEEPEST`] in each other, so each walk
//! ends soon, and takes little of the stack.

use core::alloc::Layout;
use core::fmt;
use std::collections::HashSet;
use std::sync::Arc;

use crate::archetype::MAX_ALIGN;
use crate::chunk::{CHUNK_BYTES, MEGACHUNK_CHUNKS};
use crate::entity::EntityMap;
use crate::fragment::plain::field_type::FieldType;
use crate::fragment::plain::shape;
use crate::fragment::{FragmentError, PlainField};

/// So many structs and arrays that were defined may lie in each other.
const DEEPEST: usize = 64;
/// No chunk has more bytes.
const LARGEST: usize = MEGACHUNK_CHUNKS * CHUNK_BYTES;
/// Whether bytes are a value is asked of no more parts: each of the largest one's bytes may be one in a few structs. Parts
/// without bytes would be without end else, where each struct has several of the one before.
const MOST_CHECKS: usize = 4 * LARGEST;

/// A struct that was defined at run time.
pub(crate) struct DefinedStruct {
    name: Box<str>,
    fields: Box<[PlainField]>,
    layout: Layout,
    shape: u64,
    depth: usize,
    /// The fields of which some bytes are no value.
    checked: Box<[u32]>,
    /// Those that can name entities: such as have bytes.
    naming: Box<[u32]>,
    /// So many parts are asked for a value.
    checks: usize,
}

impl DefinedStruct {
    /// One with these fields, each with its name, which lie as C lays them out: each at the next byte that it can be aligned to.
    pub(super) fn new<'a>(
        name: &str,
        fields: impl IntoIterator<Item = (&'a str, FieldType)>,
    ) -> Result<Self, FragmentError> {
        let mut laid = Layout::new::<()>();
        let mut placed: Vec<PlainField> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        for (field, of) in fields {
            check_layout(name, of.layout())?;
            let (with, offset) = laid.extend(of.layout()).map_err(|_| endless(name, &of))?;
            laid = with;
            let new = PlainField::defined(field, offset, of);
            if new.name().is_empty() {
                return Err(FragmentError::EmptyName);
            }
            if !names.insert(new.name().into()) {
                return Err(FragmentError::FieldTwice {
                    name: name.into(),
                    field: new.name().into(),
                });
            }
            placed.push(new);
        }
        if placed.is_empty() {
            return Err(FragmentError::NoFields { name: name.into() });
        }
        let layout = laid.pad_to_align();
        check_layout(name, layout)?;
        let depth = deeper(name, placed.iter().map(|field| field.of().depth()).max())?;
        let checked = those(&placed, |field| field.of().is_checked());
        let checks = checked.iter().map(|&at| placed[at as usize].of().checks());
        let checks = checks.fold(1, usize::saturating_add);
        if checks > MOST_CHECKS {
            return Err(FragmentError::TooManyChecks {
                name: name.into(),
                checks,
                limit: MOST_CHECKS,
            });
        }
        Ok(Self {
            name: name.into(),
            layout,
            shape: shape::of_struct(&placed, layout.size()),
            depth,
            checked,
            // What has no bytes has none that change.
            naming: those(&placed, |field| field.size() > 0 && field.of().names()),
            checks,
            fields: placed.into(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn fields(&self) -> &[PlainField] {
        &self.fields
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// 0: not known.
    pub(crate) fn shape(&self) -> u64 {
        self.shape
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether some bytes are no value, so that each is looked at.
    pub(crate) fn is_checked(&self) -> bool {
        !self.checked.is_empty()
    }

    /// So many parts are asked whether bytes are a value.
    pub(super) fn checks(&self) -> usize {
        self.checks
    }

    /// Whether a value can name entities.
    pub(crate) fn names_entities(&self) -> bool {
        !self.naming.is_empty()
    }

    /// Whether bytes, as many as a value has, are one: each field's. Those that are of no field may be any.
    pub(crate) fn is_value(&self, bytes: &[u8]) -> bool {
        let part = |field: &PlainField| &bytes[field.offset()..][..field.size()];
        let mut checked = self.checked.iter().map(|&at| &self.fields[at as usize]);
        checked.all(|field| field.of().is_value(part(field)))
    }

    /// Changes the entities that a value names to those that they have become.
    pub(crate) fn map(&self, bytes: &mut [u8], entities: &EntityMap) {
        for field in self.naming.iter().map(|&at| &self.fields[at as usize]) {
            let part = &mut bytes[field.offset()..][..field.size()];
            field.of().map(part, entities);
        }
    }

    /// Whether both are called the same, and have the same fields.
    pub(crate) fn is(&self, other: &Self) -> bool {
        core::ptr::eq(self, other) || (self.name == other.name && self.first_other(other).is_none())
    }

    /// The first field that is another there, in words.
    pub(crate) fn first_other(&self, other: &Self) -> Option<String> {
        let same = |at: usize| match (self.fields.get(at), other.fields.get(at)) {
            (Some(here), Some(there)) => is_field_of(here, there),
            _ => false,
        };
        let count = self.fields.len().max(other.fields.len());
        let at = (0..count).find(|&at| !same(at))?;
        let told = |fields: &[PlainField]| match fields.get(at) {
            None => String::from("no more"),
            Some(field) => format!("`{}: {}`", field.name(), field.of().name()),
        };
        let (here, there) = (told(&self.fields), told(&other.fields));
        // Names are told as they are spoken, types by what they are called.
        let but = match here == there {
            true => ", as it is written (`r#`), or of another type that is called so",
            false => "",
        };
        Some(format!("field {at} is {here} there, and {there} here{but}"))
    }
}

/// Its fields are told by their number: each leads to others.
impl fmt::Debug for DefinedStruct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DefinedStruct");
        shown.field("name", &self.name);
        shown.field("layout", &self.layout);
        shown.field("fields", &self.fields.len());
        shown.finish_non_exhaustive()
    }
}

/// Which of some fields are so.
fn those(fields: &[PlainField], are: impl Fn(&PlainField) -> bool) -> Box<[u32]> {
    let fields = (0..).zip(fields);
    let those = fields.filter(|(_, field)| are(field));
    those.map(|(at, _)| at).collect()
}

/// Whether both are called the same, and are of one type: also as it is written, which its shape tells.
fn is_field_of(one: &PlainField, other: &PlainField) -> bool {
    one.name() == other.name() && one.shape() == other.shape() && one.of().is(other.of())
}

/// So many values of one type, one behind the other.
pub(super) struct DefinedArray {
    name: Box<str>,
    length: usize,
    element: PlainField,
    layout: Layout,
    shape: u64,
    depth: usize,
}

impl DefinedArray {
    /// An array for a field of a struct of that name.
    pub(super) fn new(
        of_struct: &str,
        length: usize,
        of: FieldType,
    ) -> Result<Self, FragmentError> {
        check_layout(of_struct, of.layout())?;
        let one = of.layout();
        // Also of such as have no bytes: who shows a value goes from one to the next.
        if length > LARGEST {
            let size = length.saturating_mul(one.size().max(1));
            return Err(too_large(of_struct, size, one.align()));
        }
        let size = one.size().checked_mul(length);
        let layout = size.and_then(|size| Layout::from_size_align(size, one.align()).ok());
        Ok(Self {
            name: format!("[{}; {length}]", of.name()).into(),
            length,
            layout: layout.ok_or_else(|| endless(of_struct, &of))?,
            shape: shape::of_array(length, of.shape()),
            depth: deeper(of_struct, Some(of.depth()))?,
            element: PlainField::defined("", 0, of),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn elements(&self) -> (usize, &PlainField) {
        (self.length, &self.element)
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn shape(&self) -> u64 {
        self.shape
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether some bytes are no value, so that each is looked at.
    pub(super) fn is_checked(&self) -> bool {
        self.length > 0 && self.element.of().is_checked()
    }

    /// Whether a value can name entities.
    pub(super) fn names_entities(&self) -> bool {
        self.length > 0 && self.element.of().names()
    }

    /// So many parts are asked whether bytes are a value: if its elements have none, of one.
    pub(super) fn checks(&self) -> usize {
        let length = match self.element.size() {
            0 => self.length.min(1),
            _ => self.length,
        };
        length.saturating_mul(self.element.of().checks())
    }

    pub(super) fn is_value(&self, bytes: &[u8]) -> bool {
        let of = self.element.of();
        match self.element.size() {
            // All are one.
            0 => of.is_value(&[]),
            size => bytes.chunks_exact(size).all(|value| of.is_value(value)),
        }
    }

    pub(super) fn map(&self, bytes: &mut [u8], entities: &EntityMap) {
        let values = bytes.chunks_exact_mut(self.element.size().max(1));
        values.for_each(|value| self.element.of().map(value, entities));
    }
}

/// What its elements are is told by their name: it may lead to others.
impl fmt::Debug for DefinedArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("DefinedArray");
        shown.field("name", &self.name);
        shown.field("layout", &self.layout);
        shown.finish_non_exhaustive()
    }
}

impl FieldType {
    /// So many of them, for a field of a struct of that name.
    pub(super) fn array(self, of_struct: &str, length: usize) -> Result<Self, FragmentError> {
        Ok(Self::Array(Arc::new(DefinedArray::new(
            of_struct, length, self,
        )?)))
    }
}

/// Whether chunks can hold what is laid out so.
fn check_layout(name: &str, layout: Layout) -> Result<(), FragmentError> {
    if layout.align() > MAX_ALIGN {
        return Err(FragmentError::TooAligned {
            name: name.into(),
            align: layout.align(),
            limit: MAX_ALIGN,
        });
    }
    if layout.size() > LARGEST {
        return Err(too_large(name, layout.size(), layout.align()));
    }
    Ok(())
}

fn too_large(name: &str, size: usize, align: usize) -> FragmentError {
    FragmentError::TooLarge {
        name: name.into(),
        size,
        align,
        limit: LARGEST,
    }
}

/// The error for one with a field of a type that would have more bytes than there are addresses.
#[cold]
fn endless(name: &str, of: &FieldType) -> FragmentError {
    too_large(name, usize::MAX, of.layout().align())
}

/// How deep it is with what lies in it so deep.
fn deeper(name: &str, depth: Option<usize>) -> Result<usize, FragmentError> {
    match depth.unwrap_or(0) + 1 {
        depth if depth <= DEEPEST => Ok(depth),
        _ => Err(FragmentError::TooDeep {
            name: name.into(),
            limit: DEEPEST,
        }),
    }
}
