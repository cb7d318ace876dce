//! `WhichAreValues`, `MapPlain`: what is asked of bytes that are plain values, and done with them.
//!
//! Of a type it is a function, which is called as it always was, column by column; of a struct that was defined at run time a
//! walk over its table.

use core::fmt;
#[cfg(not(loom))]
use std::sync::Arc;

#[cfg(not(loom))]
use crate::entity::EntityMap;
#[cfg(not(loom))]
use crate::fragment::DefinedStruct;
use crate::fragment::{IsValue, MapEntities};

/// What says which bytes are a value.
#[derive(Clone)]
pub(crate) enum WhichAreValues {
    Typed(IsValue),
    #[cfg(not(loom))]
    Defined(Arc<DefinedStruct>),
}

/// What changes the entities that a value names.
#[derive(Clone)]
pub(crate) enum MapPlain {
    Typed(MapEntities),
    #[cfg(not(loom))]
    Defined(Arc<DefinedStruct>),
}

/// Of a struct its name: all else is told of the fragment.
impl fmt::Debug for WhichAreValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(is_value) => f.debug_tuple("Typed").field(is_value).finish(),
            #[cfg(not(loom))]
            Self::Defined(defined) => f.debug_tuple("Defined").field(&defined.name()).finish(),
        }
    }
}

/// Of a struct its name: all else is told of the fragment.
impl fmt::Debug for MapPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(map) => f.debug_tuple("Typed").field(map).finish(),
            #[cfg(not(loom))]
            Self::Defined(defined) => f.debug_tuple("Defined").field(&defined.name()).finish(),
        }
    }
}

#[cfg(not(loom))]
impl WhichAreValues {
    /// Whether bytes, as many as a value has, are one.
    #[inline]
    pub(crate) fn has(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Typed(is_value) => is_value(bytes),
            Self::Defined(defined) => defined.is_value(bytes),
        }
    }

    /// The first of values of so many bytes, one behind the other, that is none; of those without bytes the one that there is.
    pub(crate) fn first_other(&self, values: &[u8], size: usize) -> Option<usize> {
        if size == 0 {
            return (!self.has(&[])).then_some(0);
        }
        self.first_other_of(values.chunks_exact(size))
    }

    /// The first of some values that is none.
    pub(crate) fn first_other_of<'a>(
        &self,
        mut values: impl Iterator<Item = &'a [u8]>,
    ) -> Option<usize> {
        match self {
            Self::Typed(is_value) => values.position(|value| !is_value(value)),
            Self::Defined(defined) => values.position(|value| !defined.is_value(value)),
        }
    }
}

#[cfg(not(loom))]
impl MapPlain {
    /// Changes the entities that a value names to those that they have become.
    #[inline]
    pub(crate) fn apply(&self, value: &mut [u8], entities: &EntityMap) {
        match self {
            Self::Typed(map) => map(value, entities),
            Self::Defined(defined) => defined.map(value, entities),
        }
    }

    /// The same with values of so many bytes, one behind the other.
    pub(crate) fn apply_to_each(&self, values: &mut [u8], size: usize, entities: &EntityMap) {
        let values = values.chunks_exact_mut(size.max(1));
        match self {
            Self::Typed(map) => values.for_each(|value| map(value, entities)),
            Self::Defined(defined) => values.for_each(|value| defined.map(value, entities)),
        }
    }
}
