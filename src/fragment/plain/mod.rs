//! `Plain`: values that are nothing but their bytes.

mod fields;
mod known;

use crate::fragment::Fragment;

#[doc(hidden)]
pub use fields::{field_size, field_takes_any_bytes, is_field};

/// Says of some bytes whether they are a value: as many as a value has, at any alignment.
pub type IsValue = fn(bytes: &[u8]) -> bool;

/// Values that are nothing but their bytes, so that they can be hashed, saved and loaded.
///
/// Implemented for integers, floats, `bool`, `char`, integers that are not zero (and `Option`s of them),
/// [`Entity`](crate::entity::Entity), and arrays of plain types; [`plain!`](crate::plain) implements it for structs of
/// plain types and for enums without fields, without `unsafe`. `Option<Entity>` is not plain, because the bytes of `None`
/// are not all defined; [`Entity::PLACEHOLDER`](crate::entity::Entity::PLACEHOLDER) can stand for no entity.
///
/// # Safety
/// No padding, no pointers; all bytes for which [`IS_VALUE`](Self::IS_VALUE) says yes are a valid value, and it says
/// the same of the same bytes.
///
/// ```
/// use megachunk::fragment::Plain;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32 }
/// // SAFETY: two floats, without padding.
/// unsafe impl Plain for Position {}
///
/// #[derive(Clone, Copy)]
/// #[repr(transparent)]
/// struct Percent(u8);
/// // SAFETY: one byte. That it is at most 100 is no matter of safety; a snapshot with a larger one is refused.
/// unsafe impl Plain for Percent {
///     const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| bytes[0] <= 100);
/// }
/// ```
pub unsafe trait Plain: Fragment + Copy {
    /// Which bytes are a value; `None` if any are.
    ///
    /// Asked where bytes become values: of a [snapshot](crate::world::World::load), once a value, and in
    /// [`Value::from_bytes`](crate::fragment::Value::from_bytes). Values of a type that has one are not lent as bytes to
    /// change, nor as another type. It should not panic: who loads gets the panic, and no world.
    const IS_VALUE: Option<IsValue> = None;
}
