//! What is known at run time of the types of plain values: fields, fields of fields, variants.

use core::alloc::Layout;
use core::any::TypeId;
use core::marker::PhantomData;

use megachunk::fragment::{Plain, PlainField};
use megachunk::prelude::*;

#[derive(Clone, Copy)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}
megachunk::plain!(Point { x, y });

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i16)]
enum Gait {
    Walk = -1,
    #[expect(non_camel_case_types)]
    r#loop = 300,
}
megachunk::plain!(
    enum Gait {
        Walk,
        r#loop,
    }
);

#[derive(Clone, Copy)]
enum Only {
    One,
}
megachunk::plain!(
    enum Only {
        One,
    }
);

#[derive(Clone, Copy)]
#[repr(C)]
struct Going {
    whom: Entity,
    to: Point,
    by: [Point; 2],
    gait: Gait,
    only: Only,
    none: PhantomData<String>,
    _padding: [u8; 6],
}
megachunk::plain!(Going {
    whom,
    to,
    by,
    gait,
    only,
    none,
    _padding
});

/// As it was written before there were variants: only what must be said.
#[derive(Clone, Copy)]
struct ByHand(#[expect(dead_code)] u32);
// SAFETY: a number.
unsafe impl Plain for ByHand {}

fn field(name: &str) -> &'static PlainField {
    let found = Going::FIELDS.iter().find(|field| field.name() == name);
    found.expect("it is named")
}

#[test]
fn fields_know_their_types_and_the_fields_of_these() {
    assert_eq!(field("whom").value_type(), Some(TypeId::of::<Entity>()));
    assert_eq!(
        field("by").type_name(),
        core::any::type_name::<[Point; 2]>()
    );
    assert_eq!(
        field("none").value_type(),
        Some(TypeId::of::<PhantomData<String>>())
    );
    let to = field("to");
    assert!(
        to.type_name().ends_with("reflected::Point"),
        "{}",
        to.type_name()
    );
    let told = to.fields().iter();
    let told = told.map(|field| (field.name(), field.type_name(), field.offset()));
    assert_eq!(told.collect::<Vec<_>>(), [("x", "f32", 0), ("y", "f32", 4)]);
    for name in ["whom", "by", "gait", "none", "_padding"] {
        assert!(field(name).fields().is_empty(), "{name}");
    }
}

#[test]
fn arrays_tell_their_elements_and_nothing_else_has_some() {
    let (count, point) = field("by").elements().unwrap();
    assert_eq!((count, point.size(), point.offset()), (2, 8, 0));
    assert_eq!((point.name(), point.fields().len()), ("", 2));
    assert_eq!(point.value_type(), Some(TypeId::of::<Point>()));
    let (count, byte) = field("_padding").elements().unwrap();
    assert_eq!((count, byte.type_name()), (6, "u8"));
    for name in ["whom", "to", "gait", "none"] {
        assert!(field(name).elements().is_none(), "{name}");
    }
    // Arrays of arrays, the outer one first.
    let registry = FragmentRegistry::new();
    let grid = registry.register_plain::<[[Gait; 3]; 2]>().unwrap();
    let (rows, row) = grid.elements().unwrap();
    let (columns, gait) = row.elements().unwrap();
    assert_eq!((rows, row.size(), columns, gait.size()), (2, 6, 3, 2));
    assert_eq!(gait.variants(), Gait::VARIANTS);
    let (none, unit) = <[(); 0]>::ELEMENTS.unwrap();
    assert_eq!((none, unit.size()), (0, 0));
    assert!(
        registry
            .register_plain::<Gait>()
            .unwrap()
            .elements()
            .is_none()
    );
    assert!(registry.register::<[u8; 2]>().unwrap().elements().is_none());
}

#[test]
fn variants_have_names_and_bytes() {
    let told = |field: &PlainField| {
        let variants = field.variants().iter();
        let told = variants.map(|variant| (variant.name(), variant.bytes()));
        told.collect::<Vec<_>>()
    };
    let (walk, forever) = ((-1_i16).to_ne_bytes(), 300_i16.to_ne_bytes());
    assert_eq!(
        told(field("gait")),
        [("Walk", &walk[..]), ("loop", &forever)]
    );
    assert_eq!(told(field("only")), [("One", &[][..])]);
    assert!(told(field("to")).is_empty() && told(field("whom")).is_empty());
    assert!(ByHand::VARIANTS.is_empty() && bool::VARIANTS.is_empty());
    let registry = FragmentRegistry::new();
    let gait = registry.register::<Gait>().unwrap();
    assert!(
        gait.variants().is_empty(),
        "nobody has said that it is plain"
    );
    registry.register_plain::<Gait>().unwrap();
    assert_eq!(gait.variants(), Gait::VARIANTS);
    assert!(
        registry
            .define_plain_as::<Gait>("other")
            .unwrap()
            .variants()
            .len()
            == 2
    );
    for variant in Gait::VARIANTS {
        let value = Value::from_bytes(&registry, gait.id(), variant.bytes()).unwrap();
        let lent = value.lend(&registry).unwrap();
        let expected = match variant.name() {
            "Walk" => Gait::Walk,
            _ => Gait::r#loop,
        };
        assert_eq!(lent.value::<Gait>().unwrap(), &expected);
    }
}

#[test]
fn fragments_know_their_types_whatever_their_role() {
    let registry = FragmentRegistry::new();
    let of = Some(TypeId::of::<u8>());
    assert_eq!(registry.register::<u8>().unwrap().value_type(), of);
    assert_eq!(registry.register::<Shared<u8>>().unwrap().value_type(), of);
    assert_eq!(
        registry.register::<ConstShared<u8>>().unwrap().value_type(),
        of
    );
    assert_eq!(
        registry.register::<PerChunk<u8>>().unwrap().value_type(),
        of
    );
    assert_eq!(
        registry.define_plain_as::<u8>("byte").unwrap().value_type(),
        of
    );
    let untyped = registry.define_plain("free", Layout::new::<u8>()).unwrap();
    assert_eq!(untyped.value_type(), None);
    let text = registry.register::<String>().unwrap();
    assert_eq!(text.value_type(), Some(TypeId::of::<String>()));
}
