//! Structs that are defined at run time: how they lie, what is known of them, which bytes are a value, whom they name.

use core::any::TypeId;
use core::mem::offset_of;

use megachunk::entity::EntityMap;
use megachunk::fragment::{FieldDefinition, FragmentError, FragmentInfo, PlainField, Value};
use megachunk::prelude::*;
use megachunk::world::Group;

pub(super) fn bytes_of(entity: Entity) -> [u8; 8] {
    let (index, version) = (entity.index().to_ne_bytes(), entity.version().to_ne_bytes());
    [index, version].concat().try_into().unwrap()
}

/// Two handles, a flag and a number, a struct of that, and some of these, so many as nobody knew before.
pub(super) fn define_nested(registry: &FragmentRegistry) -> (FragmentId, FragmentId) {
    let part = [
        FieldDefinition::of::<[Entity; 2]>("ends"),
        FieldDefinition::of::<bool>("closed"),
        FieldDefinition::of::<u8>("_padding").array(3),
        FieldDefinition::of::<f32>("width"),
    ];
    let part = registry.define_struct("part", &part).unwrap().id();
    let whole = [
        FieldDefinition::of::<u64>("number"),
        FieldDefinition::defined("parts", part).array(2),
        FieldDefinition::defined("last", part),
    ];
    (part, registry.define_struct("whole", &whole).unwrap().id())
}

/// Bytes of a part.
pub(super) fn part(ends: [Entity; 2], closed: u8, width: f32) -> Vec<u8> {
    let ends = ends.map(bytes_of).concat();
    [&ends[..], &[closed, 0, 0, 0], &width.to_ne_bytes()].concat()
}

/// Bytes of a whole.
pub(super) fn whole(number: u64, parts: [Vec<u8>; 3]) -> Vec<u8> {
    [&number.to_ne_bytes()[..], &parts.concat()].concat()
}

fn told(info: &FragmentInfo) -> Vec<(&str, usize, usize, &str)> {
    let fields = info.fields().iter();
    let told = fields.map(|of| (of.name(), of.offset(), of.size(), of.type_name()));
    told.collect()
}

#[test]
fn fields_lie_as_those_of_the_language_c() {
    #[repr(C)]
    struct Gaps {
        a: u8,
        b: u32,
        c: u16,
        d: u64,
        e: [u16; 3],
    }
    let registry = FragmentRegistry::new();
    let fields = [
        FieldDefinition::of::<u8>("a"),
        FieldDefinition::of::<u32>("b"),
        FieldDefinition::of::<u16>("c"),
        FieldDefinition::of::<u64>("d"),
        FieldDefinition::of::<u16>("e").array(3),
    ];
    let info = registry.define_struct("gaps", &fields).unwrap();
    assert_eq!(info.layout(), core::alloc::Layout::new::<Gaps>());
    assert_eq!(
        told(info),
        [
            ("a", offset_of!(Gaps, a), 1, "u8"),
            ("b", offset_of!(Gaps, b), 4, "u32"),
            ("c", offset_of!(Gaps, c), 2, "u16"),
            ("d", offset_of!(Gaps, d), 8, "u64"),
            ("e", offset_of!(Gaps, e), 6, "[u16; 3]"),
        ]
    );
    // One in another has its size, with what is behind its last field.
    let fields = [
        FieldDefinition::of::<u8>("first"),
        FieldDefinition::defined("gaps", info.id()).array(2),
        FieldDefinition::of::<u8>("last"),
    ];
    let outer = registry.define_struct("outer", &fields).unwrap();
    let size = size_of::<Gaps>();
    assert_eq!(told(outer)[1], ("gaps", 8, 2 * size, "[gaps; 2]"));
    assert_eq!(told(outer)[2], ("last", 8 + 2 * size, 1, "u8"));
    assert_eq!(outer.layout().size(), 16 + 2 * size);
    // Bytes of no field may be any, and stay.
    let bytes: Vec<u8> = (0..size as u8).collect();
    let value = Value::from_bytes(&registry, info.id(), &bytes).unwrap();
    assert_eq!(value.lend(&registry).unwrap().bytes().unwrap(), bytes);
}

#[test]
fn an_inspector_comes_to_each_number_of_what_was_defined() {
    fn leaves(path: &str, at: usize, field: &PlainField, all: &mut Vec<(String, usize)>) {
        if let Some((count, element)) = field.elements() {
            for n in 0..count {
                leaves(
                    &format!("{path}[{n}]"),
                    at + n * element.size(),
                    element,
                    all,
                );
            }
        } else if field.fields().is_empty() {
            all.push((path.into(), at));
        }
        for inner in field.fields() {
            leaves(
                &format!("{path}.{}", inner.name()),
                at + inner.offset(),
                inner,
                all,
            );
        }
    }
    let registry = FragmentRegistry::new();
    let (part, whole) = define_nested(&registry);
    let info = registry.get(whole).unwrap();
    let mut all = Vec::new();
    for field in info.fields() {
        leaves(field.name(), field.offset(), field, &mut all);
    }
    let of = |path: &str| all.iter().find(|(of, _)| of == path).map(|&(_, at)| at);
    assert_eq!(all.len(), 1 + 3 * 7);
    assert_eq!(of("number"), Some(0));
    assert_eq!(of("parts[1].ends[1]"), Some(8 + 24 + 8));
    assert_eq!(of("parts[0]._padding[2]"), Some(8 + 19));
    assert_eq!(of("last.width"), Some(8 + 48 + 20));
    let parts = &info.fields()[1];
    assert_eq!((parts.value_type(), parts.type_name()), (None, "[part; 2]"));
    let last = &info.fields()[2];
    assert_eq!((last.value_type(), last.type_name()), (None, "part"));
    let closed = &registry.get(part).unwrap().fields()[1];
    assert_eq!(closed.value_type(), Some(TypeId::of::<bool>()));
    assert_eq!((info.value_type(), info.is_plain()), (None, true));
    assert!(info.elements().is_none() && info.variants().is_empty());
    assert!(info.shape() != 0 && info.shape() != registry.get(part).unwrap().shape());
}

#[test]
fn one_with_the_same_name_and_fields_is_the_same_on_any_thread() {
    let registry = FragmentRegistry::new();
    let ids: Vec<_> = std::thread::scope(|scope| {
        let all = [(); 8].map(|()| scope.spawn(|| define_nested(&registry)));
        all.map(|thread| thread.join().unwrap()).into()
    });
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(registry.iter().count(), 2);
    // An array of a type is that of the type so often.
    let fields = [
        FieldDefinition::of::<[Entity; 2]>("ends"),
        FieldDefinition::of::<bool>("closed"),
        FieldDefinition::of::<[u8; 3]>("_padding"),
        FieldDefinition::of::<f32>("width"),
    ];
    let again = registry.define_struct("part", &fields).unwrap();
    assert_eq!(again.id(), ids[0].0);
    assert_eq!(
        registry.find("part").map(FragmentInfo::id),
        Some(again.id())
    );
}

#[test]
fn bytes_are_a_value_if_those_of_each_field_are() {
    let registry = FragmentRegistry::new();
    let (_, id) = define_nested(&registry);
    let none = [Entity::PLACEHOLDER; 2];
    let good = whole(
        7,
        [part(none, 0, 1.0), part(none, 1, 2.0), part(none, 0, 3.0)],
    );
    assert!(Value::from_bytes(&registry, id, &good).is_ok());
    let size = good.len();
    // The flag, and a handle, of each part; all else may be anything.
    let mut refused = Vec::new();
    for at in 0..size {
        let mut bytes = good.clone();
        bytes[at] ^= 0xfe;
        match Value::from_bytes(&registry, id, &bytes) {
            Ok(_) => {}
            Err(FragmentError::NotAValue { .. }) => refused.push(at),
            Err(error) => panic!("{error}"),
        }
    }
    let flags = [0, 1, 2].map(|part| 8 + part * 24 + 16);
    assert!(flags.iter().all(|at| refused.contains(at)), "{refused:?}");
    let is_asked = |at: &usize| *at >= 8 && ((at - 8) % 24 < 16 || flags.contains(at));
    assert!(refused.iter().all(is_asked), "{refused:?}");
    for part in 0..3 {
        for handle in 0..2 {
            let begin = 8 + part * 24 + handle * 8;
            let mut bytes = good.clone();
            bytes[begin..begin + 8].fill(0);
            let error = Value::from_bytes(&registry, id, &bytes).unwrap_err();
            assert_eq!(error.to_string(), "these bytes are no whole");
        }
    }
    // One that takes any bytes is lent as bytes; this one is not.
    let mut value = Value::from_bytes(&registry, id, &good).unwrap();
    let lent = value.lend_mut(&registry).unwrap();
    assert!(matches!(
        lent.bytes(),
        Err(FragmentError::NotAnyBytes { .. })
    ));
    let pair = [
        FieldDefinition::of::<u32>("a"),
        FieldDefinition::of::<f32>("b"),
    ];
    let pair = registry.define_struct("pair", &pair).unwrap().id();
    let mut value = Value::from_bytes(&registry, pair, &[0; 8]).unwrap();
    value.lend_mut(&registry).unwrap().bytes().unwrap()[0] = 9;
    let numbers = value.lend(&registry).unwrap().plain::<[u32; 2]>().unwrap();
    assert_eq!(numbers[0][0].to_ne_bytes()[0], 9);
}

#[test]
fn handles_in_structs_of_structs_are_led_to_others() {
    let mut world = World::new();
    let (_, id) = define_nested(world.registry());
    let [ant, bee, old, new] = [(); 4].map(|()| world.create(()).unwrap());
    let none = Entity::PLACEHOLDER;
    let bytes = |at: Entity, then: Entity| {
        whole(
            3,
            [
                part([at, none], 1, 0.5),
                part([none, at], 0, 1.5),
                part([at, then], 1, 2.5),
            ],
        )
    };
    let value = Value::from_bytes(world.registry(), id, &bytes(old, ant)).unwrap();
    world.add_dynamic(ant, value.into()).unwrap();
    let known: EntityMap = [(old, new), (ant, ant)].into_iter().collect();
    let lent = world.get_dynamic_mut(ant, id).unwrap();
    assert!(lent.map_entities(&known).unwrap());
    let lent = world.get_dynamic(ant, id).unwrap();
    assert_eq!(lent.bytes().unwrap(), bytes(new, ant));
    // Copies of a group name each other, and others as before.
    let value = Value::from_bytes(world.registry(), id, &bytes(bee, old)).unwrap();
    world.add_dynamic(ant, value.into()).unwrap();
    let group = Group::of(&world, &[ant, bee]).unwrap();
    let copies = world.create_groups(&group, 3).unwrap();
    for copy in copies.chunks(2) {
        let lent = world.get_dynamic(copy[0], id).unwrap();
        assert_eq!(lent.bytes().unwrap(), bytes(copy[1], old));
    }
    // Where there is none, none is led.
    let flag = [FieldDefinition::of::<bool>("on")];
    let flag = world.registry().define_struct("flag", &flag).unwrap().id();
    let value = Value::from_bytes(world.registry(), flag, &[1]).unwrap();
    world.add_dynamic(bee, value.into()).unwrap();
    let lent = world.get_dynamic_mut(bee, flag).unwrap();
    assert!(!lent.map_entities(&known).unwrap());
    world.check().unwrap();
}

#[test]
fn a_struct_without_bytes_is_a_tag_and_arrays_of_none_have_none() {
    let mut world = World::new();
    let fields = [
        FieldDefinition::of::<()>("nothing").array(1 << 20),
        FieldDefinition::of::<bool>("no_flags").array(0),
        FieldDefinition::of::<Entity>("nobody").array(0).array(7),
    ];
    let info = world.registry().define_struct("tag", &fields);
    let refused = info.map(FragmentInfo::layout);
    // No bytes, and aligned as handles are.
    assert_eq!(
        refused.map(|layout| (layout.size(), layout.align())),
        Ok((0, align_of::<Entity>()))
    );
    let id = world.registry().find("tag").unwrap().id();
    let tag = Value::from_bytes(world.registry(), id, &[]).unwrap();
    let ant = world.create_dynamic(tag.into()).unwrap();
    assert!(world.has_dynamic(ant, id).unwrap());
    let known = EntityMap::default();
    assert!(
        !world
            .get_dynamic_mut(ant, id)
            .unwrap()
            .map_entities(&known)
            .unwrap()
    );
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let universe = Universe::new();
    universe.registry().define_struct("tag", &fields).unwrap();
    assert_eq!(
        World::from_snapshot(&saved, universe, &Default::default())
            .unwrap()
            .count(),
        1
    );
}
