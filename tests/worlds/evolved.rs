//! Snapshots of a program whose types were others then.

use megachunk::fragment::{FragmentKind, FragmentRegistry, Plain};
use megachunk::prelude::*;
use megachunk::world::SnapshotError;

use crate::snapshots::bytes;

/// Types in a module of their own, as each version of a program has them.
macro_rules! version {
    ($module:ident { $($item:item)+ } $(($($plain:tt)*))+) => {
        mod $module {
            $(#[derive(Clone, Copy, Debug, PartialEq)] $item)+
            $(megachunk::plain!($($plain)*);)+
        }
    };
}

version! {
    first {
        #[repr(C)] pub(super) struct Health { pub(super) now: u32, pub(super) most: u32 }
        #[repr(C)] pub(super) struct Team { pub(super) of: [Health; 2] }
        #[repr(u8)] pub(super) enum Mood { Calm = 0, Angry = 1 }
        #[repr(C)] pub(super) struct Target { pub(super) who: megachunk::entity::Entity }
    }
    (Health { now, most }) (Team { of }) (enum Mood { Calm, Angry }) (Target { who })
}
version! {
    turned {
        #[repr(C)] pub(super) struct Health { most: u32, now: u32 }
        #[repr(C)] pub(super) struct Team { of: [Health; 2] }
        #[repr(u8)] pub(super) enum Mood { Calm = 1, Angry = 0 }
        #[repr(C)] pub(super) struct Target { who: u64 }
    }
    (Health { most, now }) (Team { of }) (enum Mood { Calm, Angry }) (Target { who })
}
version! {
    others {
        #[repr(C)] pub(super) struct Health { now: u32, most: f32 }
        #[repr(C)] pub(super) struct Team { of: [u32; 4] }
        #[repr(u8)] pub(super) enum Mood { Calm = 0, Afraid = 1 }
        #[repr(C)] pub(super) struct Target { who: f64 }
    }
    (Health { now, most }) (Team { of }) (enum Mood { Calm, Afraid }) (Target { who })
}
version! {
    called {
        #[repr(C)] pub(super) struct Health { current: u32, most: u32 }
        #[repr(C)] pub(super) struct Team { all: [super::first::Health; 2] }
        #[repr(u8)] pub(super) enum Mood { Calm = 0, Angry = 1, Afraid = 2 }
        #[repr(C)] pub(super) struct Target { whom: megachunk::entity::Entity }
    }
    (Health { current, most }) (Team { all }) (enum Mood { Calm, Angry, Afraid }) (Target { whom })
}
version! {
    renamed {
        #[repr(C)] pub(super) struct Vigour { pub(super) now: u32, pub(super) most: u32 }
        #[repr(C)] pub(super) struct Side { of: [Vigour; 2] }
        #[repr(u8)] pub(super) enum Humour { Angry = 1, Calm = 0 }
        #[repr(C)] pub(super) struct Aim { who: megachunk::entity::Entity }
    }
    (Vigour { now, most }) (Side { of }) (enum Humour { Angry, Calm }) (Aim { who })
}

const HEALTH: first::Health = first::Health { now: 3, most: 5 };

/// Saves a value whose type is known as `thing`, and loads it as another type that is known so: as a fragment, and as a
/// resource.
fn reload<T: Plain, U: Plain>(value: T) -> [Result<(), SnapshotError>; 2] {
    let mut worlds = [World::new(), World::new()];
    worlds[0]
        .registry()
        .register_plain_as::<T>("thing")
        .unwrap();
    worlds[0].create((value,)).unwrap();
    worlds[1]
        .registry()
        .register_state_as::<T>("thing")
        .unwrap();
    worlds[1].resources_mut().insert(value);
    worlds.map(|world| {
        let universe = Universe::new();
        universe.registry().register_plain_as::<U>("thing").unwrap();
        universe.registry().register_state_as::<U>("thing").unwrap();
        World::from_snapshot(&bytes(&world), universe, &Default::default()).map(drop)
    })
}

fn expect_refused<T: Plain, U: Plain>(value: T) {
    let [fragment, resource] = reload::<T, U>(value).map(Result::unwrap_err);
    assert_eq!(
        fragment.to_string(),
        "the fields of thing are others than in the snapshot, though its size is the same: see \
         `LoadOptions::convert`, or `convert_bytes` for what is defined at run time, which makes today's values of those of the snapshot"
    );
    let resource = resource.to_string();
    let told = "are no \"thing\": its fields are others than when it was saved, though its size is the same";
    assert!(resource.ends_with(told), "{resource}");
}

#[test]
fn fields_that_have_changed_places_or_types_or_names_are_refused() {
    expect_refused::<_, turned::Health>(HEALTH);
    expect_refused::<_, others::Health>(HEALTH);
    expect_refused::<_, called::Health>(HEALTH);
    expect_refused::<u32, f32>(1);
    expect_refused::<[u16; 2], [i16; 2]>([1, 2]);
    expect_refused::<[[u16; 2]; 3], [[u16; 3]; 2]>([[1, 2]; 3]);
}

#[test]
fn fields_of_a_field_count_and_so_do_elements_and_handles() {
    let team = first::Team { of: [HEALTH; 2] };
    expect_refused::<_, turned::Team>(team);
    expect_refused::<_, others::Team>(team);
    expect_refused::<_, called::Team>(team);
    let target = first::Target {
        who: Entity::PLACEHOLDER,
    };
    expect_refused::<_, turned::Target>(target);
    expect_refused::<_, others::Target>(target);
    expect_refused::<_, called::Target>(target);
}

#[test]
fn variants_that_have_other_values_or_names_or_more_of_them_are_refused() {
    for mood in [first::Mood::Calm, first::Mood::Angry] {
        expect_refused::<_, turned::Mood>(mood);
        expect_refused::<_, others::Mood>(mood);
        expect_refused::<_, called::Mood>(mood);
    }
}

#[test]
fn a_type_that_is_called_otherwise_is_taken() {
    for taken in [
        reload::<_, first::Health>(HEALTH),
        reload::<_, renamed::Vigour>(HEALTH),
        reload::<_, renamed::Side>(first::Team { of: [HEALTH; 2] }),
        reload::<_, renamed::Humour>(first::Mood::Angry),
        reload::<_, renamed::Aim>(first::Target {
            who: Entity::PLACEHOLDER,
        }),
    ] {
        assert_eq!(taken, [Ok(()), Ok(())]);
    }
}

#[test]
fn of_another_size_the_sizes_are_told() {
    let [fragment, resource] = reload::<_, u32>(HEALTH).map(Result::unwrap_err);
    assert_eq!(
        fragment.to_string(),
        "thing had 8 bytes aligned to 4 when it was saved, and has 4 aligned to 4 now: see \
         `LoadOptions::convert`, or `convert_bytes` for what is defined at run time, which makes today's values of those of the snapshot"
    );
    let told = "it had 8 bytes when it was saved, and has 4 now";
    assert!(resource.to_string().ends_with(told), "{resource}");
}

/// Two numbers, of which it is not said what they are.
#[derive(Clone, Copy)]
#[repr(C)]
struct ByHand {
    now: u32,
    most: u32,
}

// SAFETY: two numbers, without padding.
unsafe impl Plain for ByHand {}

#[test]
fn what_is_not_known_to_have_other_fields_is_taken() {
    assert_eq!(reload::<_, ByHand>(HEALTH), [Ok(()), Ok(())]);
    let by_hand = ByHand { now: 1, most: 2 };
    assert_eq!(by_hand.now + by_hand.most, 3);
    assert_eq!(reload::<_, turned::Health>(by_hand), [Ok(()), Ok(())]);
    // Nor is it of what is defined by its layout alone, here or there.
    type Registered = fn(&FragmentRegistry) -> FragmentId;
    let ways: [Registered; 2] = [
        |known| {
            known
                .register_plain_as::<first::Health>("thing")
                .unwrap()
                .id()
        },
        |known| {
            let layout = core::alloc::Layout::new::<first::Health>();
            known.define_plain("thing", layout).unwrap().id()
        },
    ];
    for [then, now] in [[0, 1], [1, 0]] {
        let mut world = World::new();
        let id = ways[then](world.registry());
        let value = Value::from_bytes(world.registry(), id, &[7; 8]).unwrap();
        let ant = world.create_dynamic([value].into_iter().collect()).unwrap();
        let universe = Universe::new();
        let id = ways[now](universe.registry());
        let loaded = World::from_snapshot(&bytes(&world), universe, &Default::default()).unwrap();
        assert_eq!(
            loaded.get_dynamic(ant, id).unwrap().bytes().unwrap(),
            [7; 8]
        );
    }
}

#[test]
fn values_of_a_type_that_are_defined_at_run_time_have_its_fields() {
    let mut world = World::new();
    let id = world
        .registry()
        .define_plain_as::<u32>("speed")
        .unwrap()
        .id();
    let speed = Value::from_plain(world.registry(), id, 3_u32).unwrap();
    world.create_dynamic([speed].into_iter().collect()).unwrap();
    let load = |define: fn(&FragmentRegistry) -> FragmentId| {
        let universe = Universe::new();
        define(universe.registry());
        World::from_snapshot(&bytes(&world), universe, &Default::default()).map(drop)
    };
    load(|known| known.define_plain_as::<u32>("speed").unwrap().id()).unwrap();
    let refused = load(|known| known.define_plain_as::<f32>("speed").unwrap().id()).unwrap_err();
    assert!(matches!(refused, SnapshotError::Layout { .. }), "{refused}");
}

#[test]
fn values_of_every_role_are_refused_and_all_are_told_at_once() {
    let mut world = World::new();
    let known = world.registry();
    known.register_plain_as::<u32>("own").unwrap();
    known
        .register_plain_as::<PerChunk<u32>>("of chunks")
        .unwrap();
    known.register_plain_as::<Shared<u32>>("shared").unwrap();
    known
        .register_plain_as::<ConstShared<u32>>("const")
        .unwrap();
    let bundle = (1_u32,).shared(2_u32).const_shared(3_u32).per_chunk(4_u32);
    world.create(bundle).unwrap();
    let universe = Universe::new();
    let known = universe.registry();
    known.register_plain_as::<i32>("own").unwrap();
    known
        .register_plain_as::<PerChunk<i32>>("of chunks")
        .unwrap();
    known.register_plain_as::<Shared<i32>>("shared").unwrap();
    known
        .register_plain_as::<ConstShared<i32>>("const")
        .unwrap();
    let refused = World::from_snapshot(&bytes(&world), universe, &Default::default()).unwrap_err();
    let SnapshotError::Layout { fragments, .. } = &refused else {
        panic!("{refused}");
    };
    let mut told: Vec<&str> = fragments.iter().map(|changed| &*changed.name).collect();
    told.sort_unstable();
    assert_eq!(told, ["const", "of chunks", "own", "shared"]);
}

#[test]
fn two_that_have_one_name_are_told_with_what_they_are() {
    let path = core::any::type_name::<first::Health>();
    let load = |define: fn(&FragmentRegistry)| {
        let mut world = World::new();
        world.registry().register_plain::<first::Health>().unwrap();
        world.create((HEALTH,)).unwrap();
        let universe = Universe::new();
        define(universe.registry());
        universe
            .registry()
            .register_plain::<first::Health>()
            .unwrap();
        let refused =
            World::from_snapshot(&bytes(&world), universe, &Default::default()).unwrap_err();
        let SnapshotError::Ambiguous { are, .. } = &refused else {
            panic!("{refused}");
        };
        assert_eq!(&*are[1], "a type whose path it is");
        let begin = format!(
            "there are two fragments with the name {path:?}: {}, and ",
            are[0]
        );
        assert!(refused.to_string().starts_with(&begin), "{refused}");
        are[0].to_string()
    };
    let defined = load(|known| {
        let path = core::any::type_name::<first::Health>();
        let layout = core::alloc::Layout::new::<first::Health>();
        known.define_plain(path, layout).unwrap();
    });
    assert_eq!(defined, "one that was defined at run time");
    let with_values = load(|known| {
        let path = core::any::type_name::<first::Health>();
        known.define_plain_as::<u32>(path).unwrap();
    });
    assert_eq!(
        with_values,
        "one that was defined at run time, with values of u32"
    );
    let given = load(|known| {
        let path = core::any::type_name::<first::Health>();
        known.register_plain_as::<renamed::Vigour>(path).unwrap();
    });
    let vigour = core::any::type_name::<renamed::Vigour>();
    assert_eq!(
        given,
        format!("the type {vigour}, which was given the name")
    );
}

#[test]
fn what_was_given_no_name_is_told_unless_it_is_skipped_or_nobody_has_it() {
    let mut world = World::new();
    let known = world.registry();
    let chunks = known.register_plain::<PerChunk<i64>>().unwrap().id();
    known.register_plain::<Shared<i32>>().unwrap();
    known.register_plain_as::<i16>("named").unwrap();
    known.register_plain::<i8>().unwrap();
    known.register_state::<first::Health>().unwrap();
    known.register_state_as::<u64>("seed").unwrap();
    let ant = world.create((1_i16,).per_chunk(2_i64)).unwrap();
    world.create((1_i16,).shared(3_i32)).unwrap();
    let health = core::any::type_name::<first::Health>();
    let all = SnapshotOptions::new();
    assert_eq!(world.unnamed(&all).unwrap(), ["i32", "i64", health]);
    let options = all.clone().skip(chunks).skip_resource::<first::Health>();
    assert_eq!(world.unnamed(&options).unwrap(), ["i32"]);
    world.destroy(ant).unwrap();
    assert_eq!(world.unnamed(&all).unwrap(), ["i32", health]);
}

#[test]
fn what_is_missing_is_told_with_its_size_and_alignment() {
    let mut world = World::new();
    let known = world.registry();
    known.register_plain_as::<first::Health>("health").unwrap();
    known.register_plain_as::<Shared<u64>>("herd").unwrap();
    let asleep = known
        .define_plain("asleep", core::alloc::Layout::new::<()>())
        .unwrap()
        .id();
    let asleep = Value::from_bytes(known, asleep, &[]).unwrap();
    let ant = world.create((HEALTH,).shared(1_u64)).unwrap();
    world
        .add_dynamic(ant, [asleep].into_iter().collect())
        .unwrap();
    let refused =
        World::from_snapshot(&bytes(&world), Universe::new(), &Default::default()).unwrap_err();
    let SnapshotError::Unregistered {
        fragments, here, ..
    } = &refused
    else {
        panic!("{refused}");
    };
    let told = fragments
        .iter()
        .map(|one| (&*one.name, one.kind, one.size, one.align));
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    let expected = [
        ("asleep", FragmentKind::Tag, 0, 1),
        ("health", FragmentKind::Fragment, 8, 4),
        ("herd", FragmentKind::Shared, 8, 8),
    ];
    assert_eq!(told, expected);
    assert!(here.is_empty());
}
