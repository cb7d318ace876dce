//! `plain!`: a struct of plain fields, or an enum without any, is plain. The compiler proves it.

use crate::fragment::Plain;

/// Implements [`Plain`](crate::fragment::Plain) for a struct all of whose fields are plain, or an enum whose variants have
/// no fields, so that their values can be hashed, saved and loaded. Without `unsafe` on your side: what must hold is
/// checked when your crate is compiled.
///
/// A struct's fields are named in the order in which they lie in memory (declare it `repr(C)`, and the compiler leaves
/// them as they are written), those of a tuple by their numbers; a tag has none. There must be no padding: where there would be some, add
/// a field for it, as `[u8; 3]`. Of an enum all variants are named; give it a `repr` too, because a snapshot remembers the
/// number of each. Types with parameters are not taken.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// #[repr(u8)]
/// enum Mood { Calm, Angry }
/// megachunk::plain!(enum Mood { Calm, Angry });
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// #[repr(C)]
/// struct Grudge { against: Entity, since: f32, mood: Mood, forgiven: bool, _padding: [u8; 2] }
/// megachunk::plain!(Grudge { against, since, mood, forgiven, _padding });
///
/// #[derive(Clone, Copy)]
/// #[repr(transparent)]
/// struct Health(u32);
/// megachunk::plain!(Health { 0 });
///
/// #[derive(Clone, Copy)]
/// struct Asleep;
/// megachunk::plain!(Asleep {});
///
/// let mut world = World::new();
/// world.registry().register_plain::<Grudge>()?;
/// world.registry().register_plain::<Health>()?;
/// let ant = world.create((Health(3),))?;
/// let grudge = Grudge { against: ant, since: 0.5, mood: Mood::Angry, forgiven: false, _padding: [0; 2] };
/// let bee = world.create((grudge,))?;
///
/// let universe = Universe::new();
/// universe.registry().register_plain::<Grudge>()?;
/// universe.registry().register_plain::<Health>()?;
/// let bytes = world.to_snapshot(&Default::default())?;
/// let loaded = World::from_snapshot(&bytes, universe)?;
/// assert_eq!(loaded.get::<Grudge>(bee)?, &grudge);
/// assert_eq!(loaded.get::<Health>(grudge.against)?.0, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Padding, a field that is left out or stands elsewhere, and a variant that is left out are errors:
///
/// ```compile_fail,E0080
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Padded { a: u8, b: u32 }
/// megachunk::plain!(Padded { a, b });
/// ```
///
/// ```compile_fail,E0080
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Pair { a: u32, b: u32 }
/// megachunk::plain!(Pair { b, a });
/// ```
///
/// ```compile_fail,E0027
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Pair { a: u32, b: u32 }
/// megachunk::plain!(Pair { a });
/// ```
///
/// ```compile_fail,E0004
/// #[derive(Clone, Copy)]
/// #[repr(u8)]
/// enum Mood { Calm, Angry }
/// megachunk::plain!(enum Mood { Calm });
/// ```
///
/// So is a field that is not plain, and an enum whose variants have fields:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Name { text: &'static str }
/// megachunk::plain!(Name { text });
/// ```
///
/// ```compile_fail,E0533
/// #[derive(Clone, Copy)]
/// enum Shape { Point, Disc(f32) }
/// megachunk::plain!(enum Shape { Point, Disc });
/// ```
#[macro_export]
macro_rules! plain {
    (enum $type:ty { $($variant:ident),+ $(,)? }) => {
        const _: () = {
            type This = $type;
            const fn all_are_named(this: &This) {
                match this {
                    $(This::$variant)|+ => {}
                }
            }
            const _: fn(&This) = all_are_named;
            // Whether there is padding: the compiler does not take bytes for defined that are not.
            const VALUES: &[[u8; ::core::mem::size_of::<This>()]] = &[
                // SAFETY: as many bytes.
                $(#[allow(unsafe_code)] unsafe { ::core::mem::transmute(This::$variant) }),+
            ];
            fn is_value(bytes: &[u8]) -> bool {
                VALUES.iter().any(|value| value == bytes)
            }
            // SAFETY: no padding, and the bytes of these values alone are values.
            #[allow(unsafe_code)]
            unsafe impl $crate::fragment::Plain for $type {
                const IS_VALUE: ::core::option::Option<fn(&[u8]) -> bool> =
                    ::core::option::Option::Some(is_value);
            }
        };
    };
    ($type:ty { $($field:tt),* $(,)? }) => {
        const _: () = {
            type This = $type;
            const fn all_are_named(this: &This) {
                let This { $($field: _),* } = this;
            }
            const _: fn(&This) = all_are_named;
            let end = 0;
            $(
                ::core::assert!(
                    ::core::mem::offset_of!(This, $field) == end,
                    ::core::concat!(
                        "there is padding before `", ::core::stringify!($field),
                        "`, or it does not lie behind those that are named before it"
                    )
                );
                let end = end + $crate::fragment::field_size(|this: &This| this.$field);
            )*
            ::core::assert!(end == ::core::mem::size_of::<This>(), "there is padding at the end");
            fn is_value(_bytes: &[u8]) -> bool {
                true $(
                    && $crate::fragment::is_field(
                        |this: &This| this.$field,
                        &_bytes[::core::mem::offset_of!(This, $field)..],
                    )
                )*
            }
            // SAFETY: its fields are plain, and there is nothing but them, from the first byte to the last.
            #[allow(unsafe_code)]
            unsafe impl $crate::fragment::Plain for $type {
                const IS_VALUE: ::core::option::Option<fn(&[u8]) -> bool> =
                    if true $(&& $crate::fragment::field_takes_any_bytes(|this: &This| this.$field))* {
                        ::core::option::Option::None
                    } else {
                        ::core::option::Option::Some(is_value)
                    };
            }
        };
    };
}

/// Bytes of a field, which is plain.
#[doc(hidden)]
#[must_use]
pub const fn field_size<S, T: Plain>(_: fn(&S) -> T) -> usize {
    size_of::<T>()
}

/// Whether any bytes are a value of the field.
#[doc(hidden)]
#[must_use]
pub const fn field_takes_any_bytes<S, T: Plain>(_: fn(&S) -> T) -> bool {
    T::IS_VALUE.is_none()
}

/// Whether the first of these bytes are a value of the field.
#[doc(hidden)]
#[must_use]
pub fn is_field<S, T: Plain>(_: fn(&S) -> T, bytes: &[u8]) -> bool {
    T::IS_VALUE.is_none_or(|is_value| is_value(&bytes[..size_of::<T>()]))
}
