//! `FieldDefinition`: a field of a struct that is to be defined at run time.

use core::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::fragment::plain::defined::DefinedStruct;
use crate::fragment::plain::field_type::FieldType;
use crate::fragment::{FragmentError, FragmentId, FragmentRegistry, Plain};

/// A field of a struct that is defined at run time, by a script or a file that tells fragments, for
/// [`define_struct`](FragmentRegistry::define_struct). Each call here is O(1).
///
/// ```
/// use megachunk::fragment::FieldDefinition;
/// use megachunk::prelude::*;
///
/// let registry = FragmentRegistry::new();
/// let point = registry.define_struct("point", &[FieldDefinition::of::<f32>("x"), FieldDefinition::of::<f32>("y")])?;
/// let path = registry.define_struct(
///     "path",
///     &[
///         FieldDefinition::of::<Entity>("leader"),
///         FieldDefinition::defined("corners", point.id()).array(8),
///         FieldDefinition::of::<bool>("closed"),
///     ],
/// )?;
/// let told = path.fields().iter().map(|field| (field.name(), field.type_name(), field.offset()));
/// let told: Vec<_> = told.skip(1).collect();
/// assert_eq!(told, [("corners", "[point; 8]", 8), ("closed", "bool", 72)]);
/// # Ok::<(), FragmentError>(())
/// ```
#[derive(Clone)]
#[must_use = "a field does nothing until it is given to a registry"]
pub struct FieldDefinition<'a> {
    name: &'a str,
    of: Asked,
    /// Of the innermost array first.
    lengths: SmallVec<[usize; 1]>,
}

/// What a field is to be of.
#[derive(Clone)]
enum Asked {
    Type(FieldType),
    Fragment(FragmentId),
}

impl<'a> FieldDefinition<'a> {
    /// A field of a plain type of the program's: a number, a `bool`, a handle, an array, an enum, a struct.
    ///
    /// The name is as Rust has it: that of a field `r#type` is `"r#type"`, and is told as
    /// [`"type"`](crate::fragment::PlainField::name).
    pub fn of<T: Plain>(name: &'a str) -> Self {
        Self::new(name, Asked::Type(FieldType::of::<T>()))
    }

    /// A field of a struct that was [defined](FragmentRegistry::define_struct) before, in the same registry. An id of another
    /// registry is not detected otherwise than by there being no such struct here: it means whichever has this number.
    pub fn defined(name: &'a str, id: FragmentId) -> Self {
        Self::new(name, Asked::Fragment(id))
    }

    fn new(name: &'a str, of: Asked) -> Self {
        Self {
            name,
            of,
            lengths: SmallVec::new(),
        }
    }

    /// So many of them, one behind the other: what `[T; length]` is in Rust, and the same as that, where the length is known
    /// at run time only. Called again, an array of arrays.
    pub fn array(mut self, length: usize) -> Self {
        self.lengths.push(length);
        self
    }

    /// Its name and its type, for a struct of that name.
    fn typed(
        &self,
        of_struct: &str,
        registry: &FragmentRegistry,
    ) -> Result<(&'a str, FieldType), FragmentError> {
        let one = match &self.of {
            Asked::Type(of) => of.clone(),
            &Asked::Fragment(id) => {
                let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
                let defined = info.defined().ok_or_else(|| FragmentError::NotDefinedSo {
                    field: self.name.into(),
                    of: info.name().into(),
                })?;
                FieldType::Struct(Arc::clone(defined))
            }
        };
        let mut lengths = self.lengths.iter();
        let all = lengths.try_fold(one, |of, &length| of.array(of_struct, length))?;
        Ok((self.name, all))
    }
}

impl fmt::Debug for FieldDefinition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("FieldDefinition");
        shown.field("name", &self.name);
        match &self.of {
            Asked::Type(of) => shown.field("of", &of.name()),
            Asked::Fragment(id) => shown.field("of", id),
        };
        shown.field("lengths", &self.lengths).finish()
    }
}

impl DefinedStruct {
    /// The struct of a name with these fields.
    pub(crate) fn of(
        name: &str,
        fields: &[FieldDefinition<'_>],
        registry: &FragmentRegistry,
    ) -> Result<Self, FragmentError> {
        let typed = fields.iter().map(|field| field.typed(name, registry));
        Self::new(name, typed.collect::<Result<Vec<_>, _>>()?)
    }
}
