//! The plain types that everybody has.

use core::marker::PhantomData;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};

use crate::entity::Entity;
use crate::fragment::{Fragment, IsValue, Plain};

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number has no padding, and every bit pattern is one.
            unsafe impl Plain for $number {}
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
            }
            // SAFETY: zero is `None`, all else a number.
            unsafe impl Plain for Option<$number> {}
        )*
    };
}

not_zero!(NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroU128 NonZeroUsize);
not_zero!(NonZeroI8 NonZeroI16 NonZeroI32 NonZeroI64 NonZeroI128 NonZeroIsize);

// SAFETY: there is one value, without bytes.
unsafe impl Plain for () {}
// SAFETY: there is one value, without bytes.
unsafe impl<T: ?Sized> Plain for PhantomData<T> where Self: Fragment {}

// SAFETY: one byte, 0 or 1.
unsafe impl Plain for bool {
    const IS_VALUE: Option<IsValue> = Some(|bytes| matches!(bytes, [0 | 1]));
}

// SAFETY: a number without padding, of which some are no characters.
unsafe impl Plain for char {
    const IS_VALUE: Option<IsValue> = Some(|bytes| match bytes {
        &[a, b, c, d] => char::from_u32(u32::from_ne_bytes([a, b, c, d])).is_some(),
        _ => false,
    });
}

// SAFETY: two numbers without padding, `repr(C)`, of which the second, the version, is odd.
unsafe impl Plain for Entity {
    const IS_VALUE: Option<IsValue> = Some(|bytes| match bytes {
        &[a, b, c, d, e, f, g, h] => {
            let index = u32::from_ne_bytes([a, b, c, d]);
            Self::new(index, u32::from_ne_bytes([e, f, g, h])).is_some()
        }
        _ => false,
    });
}

// SAFETY: an array has no padding between or behind its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const IS_VALUE: Option<IsValue> = match T::IS_VALUE {
        None => None,
        Some(_) => Some(are_values::<T>),
    };
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
    }

    #[test]
    fn an_array_is_a_value_if_all_its_elements_are() {
        assert!(<[u32; 4]>::IS_VALUE.is_none());
        assert!(is_value::<[bool; 3]>(&[0, 1, 1]));
        assert!(!is_value::<[bool; 3]>(&[0, 1, 2]));
        assert!(!is_value::<[[bool; 1]; 3]>(&[2, 1, 0]));
        assert!(is_value::<[bool; 0]>(&[]));
    }
}
