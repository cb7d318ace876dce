//! The plain types that everybody has.

use core::marker::PhantomData;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};

use crate::entity::{Entity, EntityMap};
use crate::fragment::plain::shape::{of_array, of_name};
use crate::fragment::{Fragment, IsValue, MapEntities, Plain, PlainField};

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number has no padding, and every bit pattern is one.
            unsafe impl Plain for $number {
                const SHAPE: u64 = of_name(stringify!($number));
            }
        )*
    };
}

numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

macro_rules! not_zero {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number, of which zero alone is none.
            unsafe impl Plain for $number {
                const IS_VALUE: Option<IsValue> = Some(|bytes| bytes.iter().any(|&byte| byte != 0));
                const SHAPE: u64 = of_name(stringify!($number));
            }
            // SAFETY: zero is `None`, all else a number.
            unsafe impl Plain for Option<$number> {
                const SHAPE: u64 = of_name(concat!("Option<", stringify!($number), ">"));
            }
        )*
    };
}

not_zero!(NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize);
not_zero!(NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize);

// SAFETY: there is one value, without bytes.
unsafe impl Plain for () {
    const SHAPE: u64 = of_name("()");
}
// SAFETY: there is one value, without bytes.
unsafe impl<T: ?Sized> Plain for PhantomData<T>
where
    Self: Fragment,
{
    // Of which type it is is no matter: there are no values of that.
    const SHAPE: u64 = of_name("PhantomData");
}

// SAFETY: one byte, 0 or 1.
unsafe impl Plain for bool {
    const IS_VALUE: Option<IsValue> = Some(|bytes| matches!(bytes, [0 | 1]));
    const SHAPE: u64 = of_name("bool");
}

// SAFETY: a number without padding, of which some are no characters.
unsafe impl Plain for char {
    const IS_VALUE: Option<IsValue> = Some(|bytes| match bytes {
        &[a, b, c, d] => char::from_u32(u32::from_ne_bytes([a, b, c, d])).is_some(),
        _ => false,
    });
    const SHAPE: u64 = of_name("char");
}

// SAFETY: two numbers without padding, `repr(C)`, of which the second, the version, is odd. What is written is one.
unsafe impl Plain for Entity {
    const IS_VALUE: Option<IsValue> = Some(|bytes| entity_of(bytes).is_some());

    const MAP_ENTITIES: Option<MapEntities> = Some(|bytes, entities| {
        let new = entity_of(bytes).map_or(Self::PLACEHOLDER, |old| entities.meant(old));
        let (index, version) = (new.index().to_ne_bytes(), new.version().to_ne_bytes());
        bytes[..4].copy_from_slice(&index);
        bytes[4..].copy_from_slice(&version);
    });

    const SHAPE: u64 = of_name("Entity");
}

/// The entity that bytes are, as this machine has them.
fn entity_of(bytes: &[u8]) -> Option<Entity> {
    let &[a, b, c, d, e, f, g, h] = bytes else {
        return None;
    };
    let index = u32::from_ne_bytes([a, b, c, d]);
    Entity::new(index, u32::from_ne_bytes([e, f, g, h]))
}

// SAFETY: an array has no padding between or behind its elements, of which each stays a value.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const IS_VALUE: Option<IsValue> = match T::IS_VALUE {
        // Of none all are.
        Some(_) if N > 0 => Some(are_values::<T>),
        _ => None,
    };

    const MAP_ENTITIES: Option<MapEntities> = match T::MAP_ENTITIES {
        // Of none none is changed.
        Some(_) if N > 0 => Some(map_each::<T>),
        _ => None,
    };

    const SHAPE: u64 = of_array(N, T::SHAPE);

    const ELEMENTS: Option<(usize, &'static PlainField)> = Some((N, Element::<T>::FIELD));
}

/// What stands for all elements of an array.
struct Element<T>(PhantomData<T>);

impl<T: Plain> Element<T> {
    const FIELD: &'static PlainField = &PlainField::element::<T>();
}

/// Whether bytes are values of `T`, one behind the other.
fn are_values<T: Plain>(bytes: &[u8]) -> bool {
    let Some(is_value) = T::IS_VALUE else {
        return true;
    };
    match size_of::<T>() {
        0 => is_value(&[]),
        size => bytes.chunks_exact(size).all(is_value),
    }
}

/// Changes the entities that values of `T` name, which lie one behind the other.
fn map_each<T: Plain>(bytes: &mut [u8], entities: &EntityMap) {
    if let Some(map) = T::MAP_ENTITIES {
        let values = bytes.chunks_exact_mut(size_of::<T>().max(1));
        values.for_each(|value| map(value, entities));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_value<T: Plain>(bytes: &[u8]) -> bool {
        T::IS_VALUE.is_none_or(|is_value| is_value(bytes))
    }

    #[test]
    fn bytes_are_a_value_where_the_language_says_so() {
        for byte in 0..=255 {
            assert_eq!(is_value::<bool>(&[byte]), byte < 2);
            assert_eq!(is_value::<NonZeroI8>(&[byte]), byte != 0);
            assert!(is_value::<Option<NonZeroU8>>(&[byte]));
        }
        for code in [
            0,
            0xD7FF,
            0xD800,
            0xDFFF,
            0xE000,
            0x0010_FFFF,
            0x0011_0000,
            u32::MAX,
        ] {
            let expected = char::from_u32(code).is_some();
            assert_eq!(is_value::<char>(&code.to_ne_bytes()), expected, "{code:x}");
        }
        // One byte of many is enough.
        for n in 0..16 {
            assert!(is_value::<NonZeroU128>(&(1_u128 << (8 * n)).to_ne_bytes()));
        }
        assert!(!is_value::<NonZeroU128>(&[0; 16]));
    }

    #[test]
    fn an_entity_is_one_whose_version_is_odd() {
        for entity in [Entity::PLACEHOLDER, Entity::new(7, 3).unwrap()] {
            let [a, b, c, d] = entity.index().to_ne_bytes();
            let [e, f, g, h] = entity.version().to_ne_bytes();
            assert!(is_value::<Entity>(&[a, b, c, d, e, f, g, h]));
            let [e, f, g, h] = (entity.version() + 1).to_ne_bytes();
            assert!(!is_value::<Entity>(&[a, b, c, d, e, f, g, h]));
        }
        assert!(!is_value::<Entity>(&[0; 8]));
        assert!(!is_value::<Entity>(&[1; 7]));
    }

    #[test]
    fn an_entity_becomes_what_it_is_mapped_to_and_no_entity_where_it_is_not() {
        let [old, new, other] = [(1, 3), (70_000, 1), (1, 5)]
            .map(|(index, version)| Entity::new(index, version).unwrap());
        let entities = EntityMap::from_iter([(old, new)]);
        let bytes = |entity: Entity| {
            let (index, version) = (entity.index().to_ne_bytes(), entity.version().to_ne_bytes());
            [index, version].concat()
        };
        let mut pairs = [bytes(other), bytes(old), bytes(Entity::PLACEHOLDER)].concat();
        let map = <[[Entity; 1]; 3]>::MAP_ENTITIES.unwrap();
        map(&mut pairs, &entities);
        let none = bytes(Entity::PLACEHOLDER);
        assert_eq!(pairs, [none.clone(), bytes(new), none].concat());
        assert!(<[Entity; 0]>::MAP_ENTITIES.is_none());
        assert!(<[u64; 3]>::MAP_ENTITIES.is_none());
    }

    #[test]
    fn an_array_is_a_value_if_all_its_elements_are() {
        assert!(<[u32; 4]>::IS_VALUE.is_none());
        assert!(is_value::<[bool; 3]>(&[0, 1, 1]));
        assert!(!is_value::<[bool; 3]>(&[0, 1, 2]));
        assert!(!is_value::<[[bool; 1]; 3]>(&[2, 1, 0]));
        assert!(<[bool; 0]>::IS_VALUE.is_none() && <[[bool; 0]; 7]>::IS_VALUE.is_none());
    }
}
