//! Structs that are defined at run time, and should not be: each error has a name, and nothing is defined then.

use core::alloc::Layout;

use megachunk::entity::EntityMap;
use megachunk::fragment::{
    FieldDefinition, FragmentError, FragmentRegistry, MapEntities, Plain, Value,
};
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
    let nothing = || FieldDefinition::of::<()>("nothing");
    for fields in [
        vec![byte("bytes").array(mebibyte + 1)],
        vec![byte("bytes").array(mebibyte), byte("more")],
        vec![byte("bytes").array(usize::MAX)],
        vec![byte("bytes").array(usize::MAX / 2).array(3)],
        vec![FieldDefinition::of::<u64>("numbers").array(usize::MAX / 8)],
        // Nobody goes over so many, though they have no bytes.
        vec![nothing().array(mebibyte + 1)],
        vec![nothing().array(usize::MAX)],
        vec![byte("none").array(0).array(mebibyte + 1)],
    ] {
        let error = refused(&registry, "larger", &fields);
        let is_it = matches!(&error, FragmentError::TooLarge { name, .. } if **name == *"larger");
        assert!(is_it, "{error}");
    }
    let pages = [byte("less"), FieldDefinition::of::<Page>("none").array(0)];
    let error = refused(&registry, "pages", &pages);
    assert!(
        matches!(error, FragmentError::TooAligned { align: 8192, .. }),
        "{error}"
    );
}

/// The last of some structs, each with two fields of the one before and the first with two of this type, and the error for
/// which there is no other.
fn doubled<T: Plain>(
    registry: &FragmentRegistry,
    levels: usize,
) -> Result<FragmentId, FragmentError> {
    let first = [FieldDefinition::of::<T>("a"), FieldDefinition::of::<T>("b")];
    let mut last = registry.define_struct("0", &first)?.id();
    for level in 1..levels {
        let two = ["a", "b"].map(|name| FieldDefinition::defined(name, last));
        last = registry.define_struct(&level.to_string(), &two)?.id();
    }
    Ok(last)
}

/// It has no bytes, and is asked for all the same.
#[derive(Clone, Copy)]
struct Asked;
// SAFETY: no bytes.
unsafe impl Plain for Asked {
    const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| bytes.is_empty());
    const MAP_ENTITIES: Option<MapEntities> = Some(|_, _| ());
}

#[test]
fn what_would_be_asked_without_end_is_not() {
    // Of none of these bytes are asked: there are none, of 2^60 fields.
    let registry = FragmentRegistry::new();
    let id = doubled::<[bool; 0]>(&registry, 60).unwrap();
    let mut value = Value::from_bytes(&registry, id, &[]).unwrap();
    let lent = value.lend_mut(&registry).unwrap();
    assert!(!lent.map_entities(&EntityMap::default()).unwrap());
    assert!(format!("{:?}", registry.get(id).unwrap()).len() < 10_000);
    // Who has no bytes and wants to be asked is, but not without end.
    let registry = FragmentRegistry::new();
    let error = doubled::<Asked>(&registry, 60).unwrap_err();
    let is_it = matches!(&error, FragmentError::TooManyChecks { name, limit, .. }
        if **name == *"21" && *limit == 4 << 20);
    assert!(is_it, "{error}");
    let last = registry.find("20").unwrap().id();
    assert!(Value::from_bytes(&registry, last, &[]).is_ok());
    // In an array all that have no bytes are one; those that have some are so many.
    let many = FieldDefinition::defined("many", last).array(1 << 20);
    assert!(registry.define_struct("many", &[many]).is_ok());
    let some = [
        byte("byte"),
        FieldDefinition::defined("asked", registry.find("10").unwrap().id()),
    ];
    let some = registry.define_struct("some", &some).unwrap().id();
    let some = |count| [FieldDefinition::defined("all", some).array(count)];
    assert!(registry.define_struct("few", &some(1_000)).is_ok());
    let error = refused(&registry, "more", &some(1 << 12));
    assert!(
        matches!(error, FragmentError::TooManyChecks { .. }),
        "{error}"
    );
    // A flag in each byte, in two structs, is no more than can be.
    let flag = [FieldDefinition::of::<bool>("on")];
    let flag = registry.define_struct("flag", &flag).unwrap().id();
    let flag = [FieldDefinition::defined("flag", flag)];
    let flag = registry.define_struct("flags", &flag).unwrap().id();
    let all = [FieldDefinition::defined("all", flag).array(1 << 20)];
    assert!(registry.define_struct("all", &all).is_ok());
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
    // Both are told alike, and are not.
    registry.define_struct("raw", &[byte("type")]).unwrap();
    let error = refused(&registry, "raw", &[byte("r#type")]);
    assert!(
        error
            .to_string()
            .contains("`type: u8` here, as it is written (`r#`), or of"),
        "{error}"
    );
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
