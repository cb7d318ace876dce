//! `plain!`: a struct of plain fields, or an enum without any, is plain. The compiler proves it.

/// Implements [`Plain`](crate::fragment::Plain) for a struct all of whose fields are plain, or an enum whose variants have
/// no fields, so that their values can be hashed, saved and loaded. Without `unsafe` on your side (also where it is
/// forbidden): what must hold is checked when your crate is compiled. Of a union it does not.
///
/// Whoever has the bytes can then make values, with whatever its fields can hold, also fields that
/// are private: it is not for types whose unsafe code relies on more. What is no matter of safety
/// can be asked by a [`Plain::IS_VALUE`](crate::fragment::Plain::IS_VALUE) of your own.
///
/// A struct's fields are named in the order in which they lie in memory (declare it `repr(C)`, and
/// the compiler leaves them as they are written), those of a tuple by their numbers; a tag has
/// none: `plain!(Tag)` is `plain!(Tag {})`. There must be no padding: where there would be some,
/// add a field for it, as `[u8; 3]`. Of an enum all variants are named; give it a `repr` too,
/// because a snapshot remembers the number of each. Of a type with parameters each type is named
/// that is to be plain: `plain!(Id<Ant> { number, of })`.
///
/// A snapshot remembers, too, what the fields are called, in their order, and what types they have ([`Plain::SHAPE`](crate::fragment::Plain::SHAPE)), and of
/// an enum the names and numbers of its variants. Where one of these is another, the values of an older one are refused,
/// even if they have as many bytes: [`load`](crate::world::World::load) says what can be
/// done. What the type itself is called does not count.
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
/// megachunk::plain!(Asleep);
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
/// let loaded = World::from_snapshot(&bytes, universe, &Default::default())?;
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
/// ```compile_fail,E0080
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
/// So is a field that is not plain, an enum whose variants have fields, and what is none of these; fields of a tuple that
/// are not named by their numbers:
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// struct Health(u32);
/// megachunk::plain!(Health(u32)); // `plain!(Health { 0 })`
/// ```
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
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// union Either { a: u32, b: f32 }
/// megachunk::plain!(Either { a });
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// enum Never {}
/// megachunk::plain!(enum Never {});
/// ```
#[macro_export]
macro_rules! plain {
    // In the user's crate nothing means what it does here: `core` may be another crate, a method
    // may be that of a trait in scope, a local a constant. So all is named from this crate on, and
    // no method is called.
    ($(#[$attribute:meta])* enum $type:ty { $($variant:ident),+ $(,)? }) => {
        $(#[$attribute])*
        const _: () = {
            type __Plain = $type;
            const fn __all_are_named(__plain: &__Plain) {
                match __plain {
                    $(__Plain::$variant)|+ => {}
                }
            }
            const _: fn(&__Plain) = __all_are_named;
            // Whether there is padding: the compiler does not take bytes for defined that are not.
            const __VALUES: &[[
                $crate::fragment::__core::primitive::u8;
                $crate::fragment::__core::mem::size_of::<__Plain>()
            ]] = &[
                // SAFETY: as many bytes.
                $(unsafe { $crate::fragment::__core::mem::transmute(__Plain::$variant) }),+
            ];
            fn __is_value(
                __bytes: &[$crate::fragment::__core::primitive::u8],
            ) -> $crate::fragment::__core::primitive::bool {
                $crate::fragment::is_one_of(__VALUES, __bytes)
            }
            // SAFETY: no padding, and the bytes of these values alone are values.
            unsafe impl $crate::fragment::Plain for __Plain {
                const IS_VALUE: $crate::fragment::__core::option::Option<$crate::fragment::IsValue> =
                    $crate::fragment::__core::option::Option::Some(__is_value);
                const SHAPE: $crate::fragment::__core::primitive::u64 = $crate::fragment::enum_shape(
                    &[$($crate::fragment::__core::stringify!($variant)),+],
                    __VALUES,
                );
                const VARIANTS: &'static [$crate::fragment::PlainVariant] = &$crate::fragment::plain_variants(
                    &[$($crate::fragment::__core::stringify!($variant)),+],
                    __VALUES,
                );
            }
        };
    };
    ($(#[$attribute:meta])* enum $type:ty { }) => {
        $crate::fragment::__core::compile_error!("an enum without variants has no values");
    };
    ($(#[$attribute:meta])* struct $($rest:tt)*) => {
        $crate::plain!($(#[$attribute])* $($rest)*);
    };
    ($(#[$attribute:meta])* $type:ident ( $($fields:tt)* ) $(;)?) => {
        $crate::fragment::__core::compile_error!($crate::fragment::__core::concat!(
            "fields of a tuple are named by their numbers: `plain!(", $crate::fragment::__core::stringify!($type), " { 0 })`"
        ));
    };
    ($(#[$attribute:meta])* $type:ty { $($field:tt),* $(,)? }) => {
        $(#[$attribute])*
        const _: () = {
            type __Plain = $type;
            const fn __all_are_named(__plain: &__Plain) {
                let __Plain { $($field: _),* } = __plain;
                // Which of a union is unsafe, and of nothing else.
                $(let __value = __plain.$field;)*
            }
            const _: fn(&__Plain) = __all_are_named;
            // Here alone a field's type is asked whether it is plain: one that is not is one error.
            const __FIELDS: &[$crate::fragment::PlainField] = &[$(
                $crate::fragment::plain_field(
                    $crate::fragment::__core::stringify!($field),
                    $crate::fragment::__core::mem::offset_of!(__Plain, $field),
                    |__plain: &__Plain| &raw const __plain.$field,
                )
            ),*];
            let __at = 0;
            let __end = 0;
            $(
                $crate::fragment::__core::assert!(
                    $crate::fragment::PlainField::offset(&__FIELDS[__at]) == __end,
                    $crate::fragment::__core::concat!(
                        "the field `", $crate::fragment::__core::stringify!($field),
                        "` does not lie behind those that are named before it: there is padding, or they are named \
                         in another order than they lie in (is the struct `repr(C)`?)"
                    )
                );
                let __end = __end + $crate::fragment::PlainField::size(&__FIELDS[__at]);
                let __at = __at + 1;
            )*
            $crate::fragment::__core::assert!(
                __end == $crate::fragment::__core::mem::size_of::<__Plain>(),
                "a field is not named, or there is padding behind the last one: add a field for it, as `[u8; 3]`"
            );
            fn __is_value(
                __bytes: &[$crate::fragment::__core::primitive::u8],
            ) -> $crate::fragment::__core::primitive::bool {
                // Field by field, and no loop: the compiler sees each number, and what is asked of each field.
                let __at = 0;
                $(
                    let _ = $crate::fragment::__core::stringify!($field);
                    if !$crate::fragment::is_field(&__FIELDS[__at], __bytes) {
                        return false;
                    }
                    let __at = __at + 1;
                )*
                true
            }
            fn __map_entities(
                __bytes: &mut [$crate::fragment::__core::primitive::u8],
                __entities: &$crate::entity::EntityMap,
            ) {
                let __at = 0;
                $(
                    let _ = $crate::fragment::__core::stringify!($field);
                    $crate::fragment::map_field(&__FIELDS[__at], __bytes, __entities);
                    let __at = __at + 1;
                )*
            }
            // SAFETY: its fields are plain, and there is nothing but them, from the first byte to the last.
            unsafe impl $crate::fragment::Plain for __Plain {
                const IS_VALUE: $crate::fragment::__core::option::Option<$crate::fragment::IsValue> =
                    if $crate::fragment::fields_take_any_bytes(__FIELDS) {
                        $crate::fragment::__core::option::Option::None
                    } else {
                        $crate::fragment::__core::option::Option::Some(__is_value)
                    };
                const MAP_ENTITIES: $crate::fragment::__core::option::Option<$crate::fragment::MapEntities> =
                    if $crate::fragment::fields_name_entities(__FIELDS) {
                        $crate::fragment::__core::option::Option::Some(__map_entities)
                    } else {
                        $crate::fragment::__core::option::Option::None
                    };
                const SHAPE: $crate::fragment::__core::primitive::u64 = $crate::fragment::struct_shape(__FIELDS);
                const FIELDS: &'static [$crate::fragment::PlainField] = __FIELDS;
            }
        };
    };
    ($(#[$attribute:meta])* $type:ty) => {
        $crate::plain!($(#[$attribute])* $type {});
    };
    ($($rest:tt)*) => {
        $crate::fragment::__core::compile_error!(
            "say `plain!(Type { all, its, fields })`, with numbers for the fields of a tuple and none for a tag, or \
             `plain!(enum Type { All, Its, Variants })`"
        );
    };
}

/// Whether bytes are one of these.
#[doc(hidden)]
#[must_use]
pub fn is_one_of<const N: usize>(values: &[[u8; N]], bytes: &[u8]) -> bool {
    <&[u8; N]>::try_from(bytes).is_ok_and(|bytes| values.contains(bytes))
}

/// What has been tried to get bytes taken for values that are none, without unsafe code; each is a crate of its own.
///
/// A method of a trait in scope:
///
/// ```
/// #![forbid(unsafe_code)]
/// use megachunk::fragment::{FragmentRegistry, Value};
///
/// trait Hijack: Iterator + Sized {
///     fn any<F: FnMut(Self::Item) -> bool>(self, _: F) -> bool { true }
///     fn contains<T>(self, _: T) -> bool { true }
/// }
/// impl<I: Iterator> Hijack for I {}
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// #[repr(u8)]
/// enum Mood { Calm, Angry }
/// megachunk::plain!(enum Mood { Calm, Angry });
///
/// let registry = FragmentRegistry::new();
/// let id = registry.register_plain::<Mood>().unwrap().id();
/// assert!(Value::from_bytes(&registry, id, &[77]).is_err());
/// assert!(Value::from_bytes(&registry, id, &[1]).is_ok());
/// ```
///
/// One that is called as those of the table of fields are, and takes them by value, which comes first:
///
/// ```
/// #![forbid(unsafe_code)]
/// trait Hijack: Sized {
///     fn offset(self) -> usize { 0 }
///     fn size(self) -> usize { 0 }
/// }
/// impl<T: Copy> Hijack for T {}
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32 }
/// megachunk::plain!(Position { x, y });
///
/// let registry = megachunk::fragment::FragmentRegistry::new();
/// let sizes = registry.register_plain::<Position>()?.fields().iter().map(megachunk::fragment::PlainField::size);
/// assert_eq!(sizes.sum::<usize>(), size_of::<Position>());
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
///
/// A field that has no values, read in an edition in which that falls back to `()`:
///
/// ```compile_fail,edition2021,E0277
/// #![allow(dependency_on_unit_never_type_fallback)]
/// trait Output { type Of; }
/// impl<T> Output for fn() -> T { type Of = T; }
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Void { never: <fn() -> ! as Output>::Of }
/// megachunk::plain!(Void { never });
///
/// fn main() {}
/// ```
///
/// In that edition other types are plain as in any:
///
/// ```edition2021
/// #[derive(Clone, Copy)]
/// #[repr(C, packed)]
/// struct Packed { a: u8, b: u32, c: (), d: [Entity; 2] }
/// use megachunk::prelude::Entity;
/// megachunk::plain!(Packed { a, b, c, d });
///
/// megachunk::fragment::FragmentRegistry::new().register_plain::<Packed>().unwrap();
/// ```
///
/// A crate that is called `core`:
///
/// ```compile_fail,E0080
/// extern crate self as core;
/// pub mod mem { pub use ::std::mem::{offset_of, size_of, transmute}; }
/// pub use ::std::{concat, option, primitive, stringify};
/// #[macro_export]
/// macro_rules! assert { ($($t:tt)*) => { () } }
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Padded { a: u8, b: u32 }
/// megachunk::plain!(Padded { a, b });
///
/// fn main() {}
/// ```
///
/// Types and constants that are called as what the macro uses:
///
/// ```
/// #![deny(warnings)]
/// # #![expect(non_camel_case_types, non_snake_case, non_upper_case_globals)]
/// pub mod hostile {
///     pub struct Option;
///     pub struct bool;
///     pub struct u8;
///     pub const end: usize = 7;
///     #[derive(Clone, Copy)]
///     pub struct this;
///     pub const bytes: usize = 7;
///     pub fn is_value() {}
///     pub const None: usize = 0;
///     pub fn Some() {}
/// }
/// use hostile::*;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// #[deprecated]
/// struct This { a: char, b: f32 }
/// megachunk::plain!(#[expect(deprecated, reason = "it is to be saved still")] struct This { a, b });
///
/// #[derive(Clone, Copy)]
/// #[repr(i16)]
/// enum Value { VALUES = -1, This = 300 }
/// megachunk::plain!(enum Value { VALUES, This });
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Id<T> { number: u32, of: core::marker::PhantomData<T>, none: () }
/// megachunk::plain!(Id<this> { number, of, none });
///
/// fn main() {
///     let registry = megachunk::fragment::FragmentRegistry::new();
///     registry.register_plain::<Id<this>>().unwrap();
///     let id = registry.register_plain::<Value>().unwrap().id();
///     let value = |number: i16| {
///         megachunk::fragment::Value::from_bytes(&registry, id, &number.to_ne_bytes()).is_ok()
///     };
///     assert!(value(-1) && value(300) && !value(0));
/// }
/// ```
#[cfg(doctest)]
struct Attacks;
