//! `FieldType`: what is known of the type of a field.
//!
//! Nearly always one of the program's: then it is a constant, and what is asked of it is compiled as if it had been written
//! out. One that was defined at run time leads to a table, which all fields of it share.

use core::alloc::Layout;
use core::any::{TypeId, type_name};
#[cfg(not(loom))]
use std::sync::Arc;

use crate::entity::EntityMap;
#[cfg(not(loom))]
use crate::fragment::plain::defined::{DefinedArray, DefinedStruct};
use crate::fragment::{IsValue, MapEntities, Plain, PlainField, PlainVariant};

/// What is known of the type of a field.
#[derive(Clone, Debug)]
pub(super) enum FieldType {
    /// One of the program's.
    Known(KnownType),
    /// One that was defined.
    #[cfg(not(loom))]
    Struct(Arc<DefinedStruct>),
    /// So many of a type that was defined, or so many of one of the program's as nobody knew when it was compiled.
    #[cfg(not(loom))]
    Array(Arc<DefinedArray>),
}

/// A type of the program's.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(loom, expect(dead_code, reason = "models define no structs"))]
pub(super) struct KnownType {
    layout: Layout,
    shape: u64,
    is_value: Option<IsValue>,
    map_entities: Option<MapEntities>,
    type_name: fn() -> &'static str,
    type_id: fn() -> TypeId,
    fields: &'static [PlainField],
    variants: &'static [PlainVariant],
    elements: Option<(usize, &'static PlainField)>,
}

impl FieldType {
    pub(super) const fn of<T: Plain>() -> Self {
        Self::Known(KnownType {
            layout: Layout::new::<T>(),
            shape: T::SHAPE,
            is_value: T::IS_VALUE,
            map_entities: T::MAP_ENTITIES,
            type_name: type_name::<T>,
            type_id: TypeId::of::<T>,
            fields: T::FIELDS,
            variants: T::VARIANTS,
            elements: T::ELEMENTS,
        })
    }

    #[cfg(not(loom))]
    pub(super) fn layout(&self) -> Layout {
        match self {
            Self::Known(known) => known.layout,
            Self::Struct(defined) => defined.layout(),
            Self::Array(array) => array.layout(),
        }
    }

    /// 0: not known.
    #[cfg(not(loom))]
    pub(super) fn shape(&self) -> u64 {
        match self {
            Self::Known(known) => known.shape,
            Self::Struct(defined) => defined.shape(),
            Self::Array(array) => array.shape(),
        }
    }

    /// How many definitions lie in each other there.
    #[cfg(not(loom))]
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Known(_) => 0,
            Self::Struct(defined) => defined.depth(),
            Self::Array(array) => array.depth(),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Known(known) => (known.type_name)(),
            #[cfg(not(loom))]
            Self::Struct(defined) => defined.name(),
            #[cfg(not(loom))]
            Self::Array(array) => array.name(),
        }
    }

    pub(super) fn type_id(&self) -> Option<TypeId> {
        match self {
            Self::Known(known) => Some((known.type_id)()),
            #[cfg(not(loom))]
            Self::Struct(_) | Self::Array(_) => None,
        }
    }

    pub(super) fn fields(&self) -> &[PlainField] {
        match self {
            Self::Known(known) => known.fields,
            #[cfg(not(loom))]
            Self::Struct(defined) => defined.fields(),
            #[cfg(not(loom))]
            Self::Array(_) => &[],
        }
    }

    pub(super) fn variants(&self) -> &'static [PlainVariant] {
        match self {
            Self::Known(known) => known.variants,
            #[cfg(not(loom))]
            Self::Struct(_) | Self::Array(_) => &[],
        }
    }

    pub(super) fn elements(&self) -> Option<(usize, &PlainField)> {
        match self {
            Self::Known(known) => known.elements,
            #[cfg(not(loom))]
            Self::Struct(_) => None,
            #[cfg(not(loom))]
            Self::Array(array) => Some(array.elements()),
        }
    }

    /// Whether any bytes are a value, as far as constants tell: of one of the program's.
    pub(super) const fn takes_any_bytes(&self) -> bool {
        matches!(self, Self::Known(known) if known.is_value.is_none())
    }

    /// Whether a value can name entities, as far as constants tell: one of the program's.
    pub(super) const fn names_entities(&self) -> bool {
        matches!(self, Self::Known(known) if known.map_entities.is_some())
    }

    /// Whether some bytes are no value, so that each is looked at.
    #[cfg(not(loom))]
    pub(super) fn is_checked(&self) -> bool {
        match self {
            Self::Known(known) => known.is_value.is_some(),
            Self::Struct(defined) => defined.is_checked(),
            Self::Array(array) => array.is_checked(),
        }
    }

    /// So many parts are asked whether bytes are a value, if some are none: one of a type of the program's.
    #[cfg(not(loom))]
    pub(super) fn checks(&self) -> usize {
        match self {
            Self::Known(_) => 1,
            Self::Struct(defined) => defined.checks(),
            Self::Array(array) => array.checks(),
        }
    }

    /// Whether a value can name entities.
    #[cfg(not(loom))]
    pub(super) fn names(&self) -> bool {
        match self {
            Self::Known(known) => known.map_entities.is_some(),
            Self::Struct(defined) => defined.names_entities(),
            Self::Array(array) => array.names_entities(),
        }
    }

    /// Whether bytes, as many as a value has, are one.
    #[inline(always)]
    pub(super) fn is_value(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Known(known) => known.is_value.is_none_or(|is_value| is_value(bytes)),
            #[cfg(not(loom))]
            Self::Struct(defined) => defined.is_value(bytes),
            #[cfg(not(loom))]
            Self::Array(array) => array.is_value(bytes),
        }
    }

    /// Changes the entities that a value names to those that they have become.
    #[inline(always)]
    pub(super) fn map(&self, bytes: &mut [u8], entities: &EntityMap) {
        match self {
            Self::Known(known) => {
                if let Some(map) = known.map_entities {
                    map(bytes, entities);
                }
            }
            #[cfg(not(loom))]
            Self::Struct(defined) => defined.map(bytes, entities),
            #[cfg(not(loom))]
            Self::Array(array) => array.map(bytes, entities),
        }
    }

    /// Whether both are one type: of two structs that were defined, whether they are called the same and have the same fields;
    /// of two arrays, whether they have as many elements of one type, wherever these were put together.
    #[cfg(not(loom))]
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(one), Self::Known(other)) => (one.type_id)() == (other.type_id)(),
            (Self::Struct(one), Self::Struct(other)) => one.is(other),
            _ => match (self.elements(), other.elements()) {
                (Some((one, of)), Some((another, of_other))) => {
                    one == another && of.of().is(of_other.of())
                }
                _ => false,
            },
        }
    }
}
