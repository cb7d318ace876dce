//! `Plain::SHAPE`, by which files tell types apart whose values have as many bytes.

use core::marker::PhantomData;
use core::num::NonZeroU32;
use std::collections::HashSet;

use megachunk::fragment::{Plain, PlainField};
use megachunk::prelude::*;

/// Plain types, each with its name and all its parts.
macro_rules! plain_types {
    ($(($item:item $($plain:tt)*))+) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq)]
            $item
            megachunk::plain!($($plain)*);
        )+
    };
}

plain_types! {
    (#[repr(C)] struct Pair { a: u32, b: u32 } Pair { a, b })
    (#[repr(C)] struct Turned { b: u32, a: u32 } Turned { b, a })
    (#[repr(C)] struct Renamed { a: u32, b: u32 } Renamed { a, b })
    (#[repr(C)] struct Float { a: u32, b: f32 } Float { a, b })
    (#[repr(C)] struct Called { a: u32, c: u32 } Called { a, c })
    (#[repr(C)] struct Tuple(u32, u32); Tuple { 0, 1 })
    (#[repr(C)] struct Handle { a: Entity } Handle { a })
    (#[repr(C)] struct Array { a: [u32; 2] } Array { a })
    (#[repr(C)] struct Nested { a: Pair } Nested { a })
    (#[repr(C)] struct Raw { r#type: u8 } Raw { r#type })
    (#[repr(C)] struct NestedTurned { a: Turned } NestedTurned { a })
    (struct Tag; Tag)
    (#[repr(u8)] enum CalmFirst { Calm, Angry } enum CalmFirst { Calm, Angry })
    (#[repr(u8)] enum AngryFirst { Angry, Calm } enum AngryFirst { Angry, Calm })
    (#[repr(u8)] enum ToldTurned { Angry = 1, Calm = 0 } enum ToldTurned { Angry, Calm })
    (#[repr(u8)] enum Sad { Calm, Sad } enum Sad { Calm, Sad })
    (#[repr(u16)] enum Wide { Calm, Angry } enum Wide { Calm, Angry })
    (#[repr(u8)] enum More { Calm, Angry, Sad } enum More { Calm, Angry, Sad })
    (#[repr(C)] struct HasOne { a: u32, b: ByHand } HasOne { a, b })
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct ByHand(u32);
// SAFETY: a number.
unsafe impl Plain for ByHand {}

#[test]
fn types_whose_fields_are_others_have_other_shapes() {
    let all = [
        Pair::SHAPE,
        Turned::SHAPE,
        Float::SHAPE,
        Called::SHAPE,
        Tuple::SHAPE,
        Handle::SHAPE,
        Array::SHAPE,
        Nested::SHAPE,
        NestedTurned::SHAPE,
        Tag::SHAPE,
        CalmFirst::SHAPE,
        AngryFirst::SHAPE,
        Sad::SHAPE,
        Wide::SHAPE,
        More::SHAPE,
        <[Pair; 2]>::SHAPE,
        <[Pair; 3]>::SHAPE,
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
    assert!(!all.contains(&0));
    let told: HashSet<u64> = all.into_iter().collect();
    assert_eq!(told.len(), all.len());
}

#[test]
fn a_type_that_is_called_otherwise_or_whose_variants_are_told_in_another_order_has_the_same() {
    assert_eq!(Renamed::SHAPE, Pair::SHAPE);
    assert_eq!(ToldTurned::SHAPE, CalmFirst::SHAPE);
    assert_eq!(PhantomData::<u8>::SHAPE, PhantomData::<u32>::SHAPE);
}

#[test]
fn of_what_has_a_part_without_a_shape_none_is_known() {
    assert_eq!(ByHand::SHAPE, 0);
    assert_eq!(HasOne::SHAPE, 0);
    assert_eq!(<[HasOne; 3]>::SHAPE, 0);
}

#[test]
fn shapes_stay_what_they_are_in_files() {
    let told = [
        (u32::SHAPE, 0x5981_5504_4528_a908),
        (<[u32; 2]>::SHAPE, 0x4dba_63a2_14dc_40cf),
        (Entity::SHAPE, 0xb295_5577_320b_3325),
        (Pair::SHAPE, 0x4463_a9cc_a137_5e82),
        (Tag::SHAPE, 0x8fe9_0227_d28a_e07a),
        (CalmFirst::SHAPE, 0x702f_4622_9505_dc63),
        #[cfg(target_endian = "little")]
        (Wide::SHAPE, 0x210b_e650_8a65_47a1),
    ];
    for (at, (shape, expected)) in told.into_iter().enumerate() {
        assert_eq!(shape, expected, "{at}");
    }
}

#[test]
fn fields_of_what_plain_has_made_plain_have_names_places_and_sizes() {
    fn told(fields: &[PlainField]) -> Vec<(&str, usize, usize)> {
        let told = fields.iter();
        let told = told.map(|field| (field.name(), field.offset(), field.size()));
        told.collect()
    }
    assert_eq!(told(Float::FIELDS), [("a", 0, 4), ("b", 4, 4)]);
    assert_eq!(told(Tuple::FIELDS), [("0", 0, 4), ("1", 4, 4)]);
    assert_eq!(told(Nested::FIELDS), [("a", 0, 8)]);
    assert_eq!(told(Raw::FIELDS), [("type", 0, 1)]);
    let none = [Tag::FIELDS, CalmFirst::FIELDS, u32::FIELDS, ByHand::FIELDS];
    assert_eq!(none.map(<[_]>::len), [0; 4]);
    let registry = FragmentRegistry::new();
    let chunk = registry.register_plain::<PerChunk<Float>>().unwrap();
    assert_eq!(told(chunk.fields()), told(Float::FIELDS));
    let pair = registry.register::<Pair>().unwrap();
    assert_eq!(told(pair.fields()), [], "nobody has said that it is plain");
    registry.register_plain::<Pair>().unwrap();
    assert_eq!(told(pair.fields()), [("a", 0, 4), ("b", 4, 4)]);
}
