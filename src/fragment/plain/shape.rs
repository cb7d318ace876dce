//! The shape of a plain type: a number that tells types apart whose values have as many bytes, by what their fields are
//! called and are.
//!
//! Stands in files: numbers of what has not changed must not change either. `plain!` computes it in the user's crate, when
//! that is compiled.

use crate::fragment::Plain;

/// Of a type of which nothing is known.
const UNKNOWN: u64 = 0;
/// FNV-1a begins with it.
const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;
/// FNV-1a multiplies by it.
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// Between a name and what follows: no text has this byte.
const END_OF_NAME: u8 = 0xff;

/// FNV-1a goes on.
const fn add(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

/// FNV-1a comes to its end: each bit counts in each, so that sums of several tell, too, which belongs to which.
const fn finish(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// A shape that is known.
const fn known(hash: u64) -> u64 {
    if hash == UNKNOWN { 1 } else { hash }
}

/// That of a type that all programs call so.
pub(super) const fn of_name(name: &str) -> u64 {
    known(finish(add(add(BEGIN, b"type"), name.as_bytes())))
}

/// That of an array.
pub(super) const fn of_array<T: Plain>(length: usize) -> u64 {
    if T::SHAPE == UNKNOWN {
        return UNKNOWN;
    }
    let hash = add(add(BEGIN, b"array"), &(length as u64).to_le_bytes());
    known(finish(add(hash, &T::SHAPE.to_le_bytes())))
}

/// That of a field with its name.
#[doc(hidden)]
#[must_use]
pub const fn field_shape<S, T: Plain>(name: &str, _: fn(&S) -> *const T) -> u64 {
    if T::SHAPE == UNKNOWN {
        return UNKNOWN;
    }
    let hash = add(add(BEGIN, name.as_bytes()), &[END_OF_NAME]);
    known(finish(add(hash, &T::SHAPE.to_le_bytes())))
}

/// That of a struct with fields of these shapes, in the order in which they lie in memory.
#[doc(hidden)]
#[must_use]
pub const fn struct_shape(fields: &[u64]) -> u64 {
    let mut hash = add(BEGIN, b"struct");
    let mut at = 0;
    while at < fields.len() {
        if fields[at] == UNKNOWN {
            return UNKNOWN;
        }
        hash = add(hash, &fields[at].to_le_bytes());
        at += 1;
    }
    known(finish(hash))
}

/// That of an enum with variants that have these names and values, in any order.
#[doc(hidden)]
#[must_use]
pub const fn enum_shape<const N: usize>(names: &[&str], values: &[[u8; N]]) -> u64 {
    let mut sum = 0_u64;
    let mut at = 0;
    while at < names.len() {
        let hash = add(add(BEGIN, names[at].as_bytes()), &[END_OF_NAME]);
        sum = sum.wrapping_add(finish(add(hash, &values[at])));
        at += 1;
    }
    known(finish(add(add(BEGIN, b"enum"), &sum.to_le_bytes())))
}

/// Whether it is known of both that they are not the same.
pub(crate) const fn are_others(one: u64, other: u64) -> bool {
    one != UNKNOWN && other != UNKNOWN && one != other
}

#[cfg(test)]
mod tests {
    use core::marker::PhantomData;
    use core::num::NonZeroU32;
    use std::collections::HashSet;

    use super::*;
    use crate::entity::Entity;

    /// Structs and enums that are plain, each in a module of its own.
    macro_rules! plain_types {
        ($($(#[$attribute:meta])* $module:ident { $($item:item)+ } $plain:tt)+) => {
            $(
                mod $module {
                    #[allow(unused_imports, reason = "some have no handles")]
                    use super::*;
                    $(#[derive(Clone, Copy)] #[allow(dead_code, reason = "nobody makes one")] $item)+
                    plain_types!(@ $plain);
                }
            )+
        };
        (@ ($($told:tt)*)) => { crate::plain!($($told)*); };
    }

    plain_types! {
        pair { #[repr(C)] pub(super) struct Type { a: u32, b: u32 } } (Type { a, b })
        turned { #[repr(C)] pub(super) struct Type { b: u32, a: u32 } } (Type { b, a })
        again { #[repr(C)] pub(super) struct Other { a: u32, b: u32 } } (Other { a, b })
        float { #[repr(C)] pub(super) struct Type { a: u32, b: f32 } } (Type { a, b })
        called { #[repr(C)] pub(super) struct Type { a: u32, c: u32 } } (Type { a, c })
        tuple { #[repr(C)] pub(super) struct Type(u32, u32); } (Type { 0, 1 })
        handle { #[repr(C)] pub(super) struct Type { a: Entity } } (Type { a })
        array { #[repr(C)] pub(super) struct Type { a: [u32; 2] } } (Type { a })
        nested { #[repr(C)] pub(super) struct Type { a: pair::Type } } (Type { a })
        nested_turned { #[repr(C)] pub(super) struct Type { a: turned::Type } } (Type { a })
        tag { pub(super) struct Type; } (Type)
        calm_first { #[repr(u8)] pub(super) enum Type { Calm, Angry } } (enum Type { Calm, Angry })
        angry_first { #[repr(u8)] pub(super) enum Type { Angry, Calm } } (enum Type { Angry, Calm })
        told_turned { #[repr(u8)] pub(super) enum Type { Angry = 1, Calm = 0 } } (enum Type { Angry, Calm })
        sad { #[repr(u8)] pub(super) enum Type { Calm, Sad } } (enum Type { Calm, Sad })
        wide { #[repr(u16)] pub(super) enum Type { Calm, Angry } } (enum Type { Calm, Angry })
        more { #[repr(u8)] pub(super) enum Type { Calm, Angry, Sad } } (enum Type { Calm, Angry, Sad })
    }

    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct ByHand(u32);
    // SAFETY: a number.
    unsafe impl Plain for ByHand {}

    #[derive(Clone, Copy)]
    #[repr(C)]
    struct HasOne {
        a: u32,
        b: ByHand,
    }
    crate::plain!(HasOne { a, b });

    #[test]
    fn types_whose_fields_are_others_have_other_shapes() {
        let all = [
            pair::Type::SHAPE,
            turned::Type::SHAPE,
            float::Type::SHAPE,
            called::Type::SHAPE,
            tuple::Type::SHAPE,
            handle::Type::SHAPE,
            array::Type::SHAPE,
            nested::Type::SHAPE,
            nested_turned::Type::SHAPE,
            tag::Type::SHAPE,
            calm_first::Type::SHAPE,
            angry_first::Type::SHAPE,
            sad::Type::SHAPE,
            wide::Type::SHAPE,
            more::Type::SHAPE,
            <[pair::Type; 2]>::SHAPE,
            <[pair::Type; 3]>::SHAPE,
            <[[u32; 2]; 3]>::SHAPE,
            <[[u32; 3]; 2]>::SHAPE,
            <[u32; 6]>::SHAPE,
            <[i32; 6]>::SHAPE,
            <()>::SHAPE,
            PhantomData::<u32>::SHAPE,
            u32::SHAPE,
            i32::SHAPE,
            f32::SHAPE,
            char::SHAPE,
            NonZeroU32::SHAPE,
            Option::<NonZeroU32>::SHAPE,
            u64::SHAPE,
            usize::SHAPE,
            Entity::SHAPE,
            u8::SHAPE,
            bool::SHAPE,
        ];
        assert!(!all.contains(&UNKNOWN));
        let told: HashSet<u64> = all.into_iter().collect();
        assert_eq!(told.len(), all.len());
    }

    #[test]
    fn a_type_that_is_called_otherwise_or_whose_variants_are_told_in_another_order_has_the_same() {
        assert_eq!(again::Other::SHAPE, pair::Type::SHAPE);
        assert_eq!(told_turned::Type::SHAPE, calm_first::Type::SHAPE);
        assert_eq!(PhantomData::<u8>::SHAPE, PhantomData::<u32>::SHAPE);
    }

    #[test]
    fn of_what_has_a_part_without_a_shape_none_is_known() {
        assert_eq!(ByHand::SHAPE, UNKNOWN);
        assert_eq!(HasOne::SHAPE, UNKNOWN);
        assert_eq!(<[HasOne; 3]>::SHAPE, UNKNOWN);
        assert!(!are_others(HasOne::SHAPE, pair::Type::SHAPE));
        assert!(are_others(turned::Type::SHAPE, pair::Type::SHAPE));
    }

    #[test]
    fn shapes_stay_what_they_are_in_files() {
        let told = [
            (u32::SHAPE, 0x5981_5504_4528_a908),
            (<[u32; 2]>::SHAPE, 0x4dba_63a2_14dc_40cf),
            (Entity::SHAPE, 0xb295_5577_320b_3325),
            (pair::Type::SHAPE, 0x4463_a9cc_a137_5e82),
            (tag::Type::SHAPE, 0x8fe9_0227_d28a_e07a),
            #[cfg(target_endian = "little")]
            (calm_first::Type::SHAPE, 0x702f_4622_9505_dc63),
            #[cfg(target_endian = "little")]
            (wide::Type::SHAPE, 0x210b_e650_8a65_47a1),
        ];
        for (at, (shape, expected)) in told.into_iter().enumerate() {
            assert_eq!(shape, expected, "{at}");
        }
    }
}
