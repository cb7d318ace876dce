//! Structs that are defined at run time, and should not be: each error has a name, and nothing is defined then.

use core::alloc::Layout;

use megachunk::fragment::{FieldDefinition, FragmentError, FragmentRegistry, Plain};
use megachunk::prelude::FragmentId;

/// The error for which a struct is not defined.
fn refused(
    registry: &FragmentRegistry,
    name: &str,
    fields: &[FieldDefinition<'_>],
) -> FragmentError {
    let before = registry.iter().count();
    let error = registry.define_struct(name, fields).map(drop).unwrap_err();
    assert_eq!(registry.iter().count(), before, "{error}");
    error
}

fn byte(name: &str) -> FieldDefinition<'_> {
    FieldDefinition::of::<u8>(name)
}

#[derive(Clone, Copy)]
#[repr(C, align(8192))]
struct Page([u8; 8192]);
// SAFETY: bytes, as many as it is aligned to.
unsafe impl Plain for Page {}

#[test]
fn names_and_fields_that_make_no_struct_are_named() {
    let registry = FragmentRegistry::new();
    let error = refused(&registry, "", &[byte("a")]);
    assert_eq!(error, FragmentError::EmptyName);
    let error = refused(&registry, "pair", &[byte("a"), byte("")]);
    assert_eq!(error, FragmentError::EmptyName);
    let error = refused(&registry, "pair", &[byte("r#")]);
    assert_eq!(error, FragmentError::EmptyName);
    let error = refused(&registry, "pair", &[]);
    assert!(
        matches!(&error, FragmentError::NoFields { name, .. } if **name == *"pair"),
        "{error}"
    );
    for twice in [["a", "a"], ["type", "r#type"]] {
        let error = refused(
            &registry,
            "pair",
            &[byte(twice[0]), byte("b"), byte(twice[1])],
        );
        let told = format!("pair has two fields that are named {:?}", twice[0]);
        assert_eq!(error.to_string(), told);
    }
    // None of them is in the way of one that is right.
    assert!(
        registry
            .define_struct("pair", &[byte("a"), byte("r#type")])
            .is_ok()
    );
    assert_eq!(registry.find("pair").unwrap().fields()[1].name(), "type");
}

#[test]
fn what_no_chunk_holds_is_refused() {
    let registry = FragmentRegistry::new();
    let error = refused(&registry, "page", &[FieldDefinition::of::<Page>("page")]);
    let is_it = matches!(
        error,
        FragmentError::TooAligned {
            align: 8192,
            limit: 4096,
            ..
        }
    );
    assert!(is_it, "{error}");
    let mebibyte = 1 << 20;
    assert!(
        registry
            .define_struct("large", &[byte("bytes").array(mebibyte)])
            .is_ok()
    );
    for fields in [
        vec![byte("bytes").array(mebibyte + 1)],
        vec![byte("bytes").array(mebibyte), byte("more")],
        vec![byte("bytes").array(usize::MAX)],
        vec![byte("bytes").array(usize::MAX / 2).array(3)],
        vec![FieldDefinition::of::<u64>("numbers").array(usize::MAX / 8)],
        vec![byte("less"), FieldDefinition::of::<Page>("none").array(0)],
    ] {
        let error = refused(&registry, "larger", &fields);
        let is_it = matches!(
            error,
            FragmentError::TooLarge { .. } | FragmentError::TooAligned { .. }
        );
        assert!(is_it, "{error}");
    }
}

#[test]
fn a_struct_is_no_other_that_has_its_name() {
    let registry = FragmentRegistry::new();
    let fields = [byte("a"), FieldDefinition::of::<u8>("b")];
    let id = registry.define_struct("pair", &fields).unwrap().id();
    for (others, why) in [
        (
            vec![byte("a"), byte("c")],
            "field 1 is `b: u8` there, and `c: u8` here",
        ),
        (
            vec![byte("a"), FieldDefinition::of::<i8>("b")],
            "field 1 is `b: u8` there, and `b: i8` here",
        ),
        (
            vec![byte("b"), byte("a")],
            "field 0 is `a: u8` there, and `b: u8` here",
        ),
        (
            vec![byte("a")],
            "field 1 is `b: u8` there, and no more here",
        ),
        (
            vec![byte("a"), byte("b"), byte("c")],
            "field 2 is no more there, and `c: u8` here",
        ),
        (
            vec![byte("a"), byte("b").array(1)],
            "field 1 is `b: u8` there, and `b: [u8; 1]` here",
        ),
    ] {
        let error = refused(&registry, "pair", &others);
        let told = format!(
            "pair is defined already with other fields: {why}; a struct with these needs another name"
        );
        assert_eq!(error.to_string(), told);
    }
    assert_eq!(registry.define_struct("pair", &fields).unwrap().id(), id);
    // Nor is it one of another kind.
    registry
        .define_plain("bytes", Layout::new::<[u8; 2]>())
        .unwrap();
    registry.register::<u16>().unwrap();
    for name in ["bytes", "u16"] {
        let error = refused(&registry, name, &fields);
        assert!(matches!(error, FragmentError::NameTaken { .. }), "{error}");
    }
    let taken = registry
        .define_plain("pair", Layout::new::<[u8; 2]>())
        .unwrap_err();
    assert!(matches!(taken, FragmentError::NameTaken { .. }));
}

#[test]
fn a_field_is_of_a_fragment_that_was_defined_as_a_struct() {
    let registry = FragmentRegistry::new();
    let nobody = FragmentId::from_number(7);
    let error = refused(
        &registry,
        "outer",
        &[FieldDefinition::defined("inner", nobody)],
    );
    assert_eq!(error, FragmentError::Unknown { id: nobody });
    let bytes = registry
        .define_plain("bytes", Layout::new::<u32>())
        .unwrap()
        .id();
    let text = registry.register::<String>().unwrap().id();
    for id in [bytes, text] {
        let error = refused(&registry, "outer", &[FieldDefinition::defined("inner", id)]);
        let is_it =
            matches!(&error, FragmentError::NotDefinedSo { field, .. } if **field == *"inner");
        assert!(is_it, "{error}");
    }
}

#[test]
fn structs_lie_in_each_other_only_so_deep() {
    let registry = FragmentRegistry::new();
    let mut last = registry.define_struct("0", &[byte("a")]).unwrap().id();
    let mut deepest = 1;
    let error = loop {
        let name = deepest.to_string();
        match registry.define_struct(&name, &[FieldDefinition::defined("a", last)]) {
            Ok(info) => last = info.id(),
            Err(error) => break error,
        }
        deepest += 1;
        assert!(deepest < 1_000);
    };
    assert_eq!(deepest, 64);
    assert!(
        matches!(error, FragmentError::TooDeep { limit: 64, .. }),
        "{error}"
    );
    // Arrays count, too.
    let arrays = (0..1_000).fold(byte("a"), |field, _| field.array(1));
    let error = refused(&registry, "arrays", &[arrays]);
    assert!(matches!(error, FragmentError::TooDeep { .. }), "{error}");
}
