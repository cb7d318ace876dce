//! `SavedAs`: how values of a fragment become bytes, and come back: as they lie, or as closures say.

use core::any::{TypeId, type_name};
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(not(loom))]
use crate::fragment::DefinedStruct;
use crate::fragment::info::of_bytes::{MapPlain, WhichAreValues};
use crate::fragment::{Plain, PlainField, PlainVariant};

/// How values become bytes, and come back.
#[derive(Debug)]
pub(super) enum SavedAs {
    /// They are nothing but their bytes; and what is asked of the type.
    Plain(PlainOps),
    /// As closures say.
    #[cfg(not(loom))]
    Written(crate::fragment::WrittenForm),
}

/// What is asked of bytes that are plain values.
#[derive(Clone, Debug)]
#[cfg_attr(loom, expect(dead_code, reason = "models have no values"))]
pub(super) struct PlainOps {
    /// What the type is called, if there is one.
    pub(super) type_name: Option<fn() -> &'static str>,
    /// What says which bytes are a value, if not all are.
    pub(super) is_value: Option<WhichAreValues>,
    /// What changes the entities that a value names, if it can name some.
    pub(super) map_entities: Option<MapPlain>,
    /// What tells apart types whose values have as many bytes; 0 if that is not known.
    pub(super) shape: u64,
    /// The fields of the type, if they are known.
    pub(super) fields: &'static [PlainField],
    /// How many elements there are, and what each is, if it is an array.
    pub(super) elements: Option<(usize, &'static PlainField)>,
    /// The struct that was defined at run time, which has the fields then.
    #[cfg(not(loom))]
    pub(super) defined: Option<Arc<DefinedStruct>>,
    /// Its variants, if it is an enum.
    pub(super) variants: &'static [PlainVariant],
    /// Files tell what these are called.
    pub(super) says_variants: bool,
}

impl PlainOps {
    /// Whatever bytes there are.
    const ANY_BYTES: Self = Self {
        type_name: None,
        is_value: None,
        map_entities: None,
        shape: 0,
        fields: &[],
        elements: None,
        #[cfg(not(loom))]
        defined: None,
        variants: &[],
        says_variants: false,
    };

    pub(super) const fn of<T: Plain>() -> Self {
        Self {
            type_name: Some(type_name::<T>),
            is_value: match T::IS_VALUE {
                Some(is_value) => Some(WhichAreValues::Typed(is_value)),
                None => None,
            },
            map_entities: match T::MAP_ENTITIES {
                Some(map) => Some(MapPlain::Typed(map)),
                None => None,
            },
            shape: T::SHAPE,
            fields: T::FIELDS,
            elements: T::ELEMENTS,
            #[cfg(not(loom))]
            defined: None,
            variants: T::VARIANTS,
            says_variants: T::SAYS_VARIANTS,
        }
    }
}

/// What values that are plain data are, of a fragment that no type stands for.
#[derive(Clone, Debug)]
pub(crate) struct PlainValues {
    pub(super) ops: PlainOps,
    /// The type that they are of, if it was said.
    pub(super) of: Option<TypeId>,
}

impl PlainValues {
    /// Whatever bytes there are.
    pub(crate) const ANY_BYTES: Self = Self {
        ops: PlainOps::ANY_BYTES,
        of: None,
    };

    /// Whatever bytes there are, of a type that is not here, and has this shape.
    pub(crate) fn of_shape(shape: u64) -> Self {
        Self {
            ops: PlainOps {
                shape,
                ..PlainOps::ANY_BYTES
            },
            of: None,
        }
    }

    /// Values of a struct that is defined at run time.
    #[cfg(not(loom))]
    pub(crate) fn defined(of: Arc<DefinedStruct>) -> Self {
        let checked = of.is_checked().then(|| Arc::clone(&of));
        let naming = of.names_entities().then(|| Arc::clone(&of));
        let ops = PlainOps {
            is_value: checked.map(WhichAreValues::Defined),
            map_entities: naming.map(MapPlain::Defined),
            shape: of.shape(),
            defined: Some(of),
            ..PlainOps::ANY_BYTES
        };
        Self { ops, of: None }
    }

    /// Values of a type.
    pub(crate) fn of<T: Plain>() -> Self {
        Self {
            ops: PlainOps::of::<T>(),
            of: Some(TypeId::of::<T>()),
        }
    }
}
