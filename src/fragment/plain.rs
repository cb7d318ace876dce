//! `Plain`: values that are nothing but their bytes.

use crate::fragment::Fragment;

/// Values that are nothing but their bytes, so that they can be hashed, saved and loaded.
///
/// Implemented for integers, floats, and arrays of plain types.
///
/// # Safety
/// No padding, no pointers, and every bit pattern is a valid value.
///
/// ```
/// use megachunk::fragment::Plain;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32 }
/// // SAFETY: two floats, without padding.
/// unsafe impl Plain for Position {}
/// ```
pub unsafe trait Plain: Fragment + Copy {}

macro_rules! plain {
    ($($type:ty)*) => {
        $(
            // SAFETY: a number has no padding, and every bit pattern is one.
            unsafe impl Plain for $type {}
        )*
    };
}

plain!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

// SAFETY: an array has no padding between or behind its elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
