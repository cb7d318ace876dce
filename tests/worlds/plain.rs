//! Plain data of which not all bytes are a value: entities, yes or no, enums.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::snapshot_world::{Grudge, Mood};
use megachunk::fragment::{FragmentError, FragmentRegistry, Plain, Value};
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};

fn bytes(world: &World) -> Vec<u8> {
    world.to_snapshot(&SnapshotOptions::new()).unwrap()
}

fn universe(register: impl Fn(&FragmentRegistry)) -> Universe {
    let universe = Universe::new();
    register(universe.registry());
    universe
}

const CALM: Grudge = Grudge {
    against: Entity::PLACEHOLDER,
    sign: 'ß',
    mood: Mood::Calm,
    forgiven: true,
    heat: 7,
};

#[test]
fn entities_and_enums_are_saved_in_every_role_and_handles_still_lead_where_they_led() {
    let register = |registry: &FragmentRegistry| {
        registry.register_plain::<Entity>().unwrap();
        registry.register_plain::<Grudge>().unwrap();
        registry.register_plain::<PerChunk<Mood>>().unwrap();
        registry.register_plain::<Shared<char>>().unwrap();
        registry.register_plain::<ConstShared<Entity>>().unwrap();
    };
    let mut world = World::of(&std::sync::Arc::new(universe(register))).unwrap();
    let nest = world.create((CALM,)).unwrap();
    let dead = world.create((CALM,)).unwrap();
    let ants: Vec<Entity> = [nest, dead]
        .into_iter()
        .map(|home| {
            let bundle = (home,)
                .per_chunk(Mood::Angry)
                .shared('a')
                .const_shared(home);
            world.create(bundle).unwrap()
        })
        .collect();
    world.destroy(dead).unwrap();
    let loaded =
        World::from_snapshot(&bytes(&world), universe(register), &Default::default()).unwrap();
    assert_eq!(
        loaded.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );
    for (&ant, home) in ants.iter().zip([nest, dead]) {
        assert_eq!(loaded.get::<Entity>(ant).unwrap(), &home);
        assert_eq!(loaded.const_shared::<Entity>(ant).unwrap(), &home);
        assert_eq!(loaded.shared::<char>(ant).unwrap(), &'a');
        assert_eq!(loaded.chunk_fragment::<Mood>(ant).unwrap(), &Mood::Angry);
    }
    assert_eq!(loaded.get::<Grudge>(nest).unwrap(), &CALM);
    assert!(loaded.exists(nest) && !loaded.exists(dead));
}

/// Two types of one name and size: what was an old program's, and what it is today. Any byte was the old one; one of
/// today is at most 9, and 255 is a panic.
macro_rules! old_and_new {
    () => {{
        let old = {
            #[derive(Clone, Copy, PartialEq, Eq, Hash)]
            struct Digit(u8);
            megachunk::plain!(Digit { 0 });
            (Digit as fn(u8) -> Digit, core::any::type_name::<Digit>())
        };
        let new = {
            #[derive(Clone, Copy, PartialEq, Eq, Hash)]
            struct Digit(u8);
            // SAFETY: a byte, and all are values.
            unsafe impl Plain for Digit {
                const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| {
                    assert_ne!(bytes[0], 255, "such a byte was never seen");
                    bytes[0] < 10
                });
            }
            (Digit as fn(u8) -> Digit, core::any::type_name::<Digit>())
        };
        assert_eq!(old.1, new.1);
        (old.0, new.0)
    }};
}

/// Registers the type of what a function makes.
fn register<T: Plain + Eq + core::hash::Hash>(registry: &FragmentRegistry, _: fn(u8) -> T) {
    registry.register_plain::<T>().unwrap();
    registry.register_plain::<PerChunk<T>>().unwrap();
    registry.register_plain::<Shared<T>>().unwrap();
    registry.register_plain::<ConstShared<T>>().unwrap();
    registry.register_plain::<u32>().unwrap();
}

#[test]
fn bytes_that_are_no_value_are_refused_in_every_role_with_their_place() {
    let (old, new) = old_and_new!();
    type Fill<'f> = dyn Fn(&mut World, u8) + 'f;
    let load = |fill: &Fill<'_>, byte: u8| {
        let mut world = World::new();
        register(world.registry(), old);
        world.create((1_u32,)).unwrap();
        fill(&mut world, byte);
        let saved = bytes(&world);
        let loaded = World::from_snapshot(
            &saved,
            universe(|registry| register(registry, new)),
            &Default::default(),
        );
        (
            saved,
            loaded.map(|loaded| loaded.state_hash(&Default::default()).unwrap()),
        )
    };
    let roles: [&Fill<'_>; 5] = [
        &|world, byte| {
            world.create_batch((0..100).map(|n| (old(n % 9),))).unwrap();
            world.create((old(byte), 2_u32)).unwrap();
        },
        &|world, byte| {
            // Not what the chunks of new archetypes begin with.
            let ant = world.create((3_u32,).per_chunk(old(0))).unwrap();
            *world.chunk_fragment_mut(ant).unwrap() = old(byte);
        },
        &|world, byte| {
            let ant = world.create((3_u32,).per_chunk(old(byte))).unwrap();
            *world.chunk_fragment_mut(ant).unwrap() = old(0);
        },
        &|world, byte| {
            world.create((3_u32,).shared(old(byte))).unwrap();
        },
        &|world, byte| {
            world.create((3_u32,).const_shared(old(byte))).unwrap();
        },
    ];
    for (role, fill) in roles.into_iter().enumerate() {
        let (_, loaded) = load(fill, 9);
        assert!(loaded.is_ok(), "role {role}: {loaded:?}");
        let (saved, refused) = load(fill, 171);
        let Err(SnapshotError::NotAValue { name, at, .. }) = refused else {
            panic!("role {role}: {refused:?}");
        };
        assert!(name.ends_with("Digit"), "{name}");
        assert_eq!(saved[at as usize], 171, "role {role}");
        // A panic of the type's own comes through.
        let panicked = catch_unwind(AssertUnwindSafe(|| load(fill, 255))).map(drop);
        let panicked = panicked.unwrap_err();
        let message = panicked.downcast_ref::<String>().unwrap();
        assert!(message.contains("such a byte was never seen"), "{message}");
    }
}

#[test]
fn values_of_which_not_all_bytes_are_one_are_lent_only_as_what_they_are() {
    let mut world = World::new();
    let id = world.registry().register_plain::<Mood>().unwrap().id();
    let free = world.registry().register_plain::<u8>().unwrap().id();
    let ant = world.create((Mood::Angry, 1_u8)).unwrap();
    // To read, its bytes are bytes.
    let values = world.get_dynamic(ant, id).unwrap();
    assert_eq!(values.value::<Mood>().unwrap(), &Mood::Angry);
    assert_eq!(values.bytes().unwrap(), [3]);
    assert_eq!(values.plain::<u8>().unwrap(), [3]);
    assert_eq!(
        values.plain::<Mood>().unwrap(),
        [Mood::Angry],
        "what they are"
    );
    // Bytes that are 0 or 1 today may be 2 tomorrow.
    let values = world.get_dynamic(ant, free).unwrap();
    let error = values.plain::<bool>().unwrap_err();
    let expected = "a u8 cannot be seen as a bool: not all bytes are one";
    assert_eq!(error.to_string(), expected);

    *world
        .get_dynamic_mut(ant, id)
        .unwrap()
        .value::<Mood>()
        .unwrap() = Mood::Calm;
    let error = world.get_dynamic_mut(ant, id).unwrap().bytes().unwrap_err();
    assert!(matches!(&error, FragmentError::NotAnyBytes { name, .. } if name.ends_with("Mood")));
    let error = world.get_dynamic_mut(ant, id).unwrap().plain::<u8>();
    assert!(matches!(error, Err(FragmentError::NotAnyBytes { .. })));
    world
        .get_dynamic_mut(ant, id)
        .unwrap()
        .plain::<Mood>()
        .unwrap()[0] = Mood::Calm;
    assert_eq!(world.get::<Mood>(ant).unwrap(), &Mood::Calm);
}

#[test]
fn a_value_is_made_of_the_bytes_of_one() {
    let registry = FragmentRegistry::new();
    let id = registry.register_plain::<Mood>().unwrap().id();
    for byte in 0..=255 {
        match Value::from_bytes(&registry, id, &[byte]) {
            Ok(value) => {
                let expected = if byte == 1 { Mood::Calm } else { Mood::Angry };
                assert_eq!(
                    value.lend(&registry).unwrap().value::<Mood>().unwrap(),
                    &expected
                );
                assert!(matches!(byte, 1 | 3));
            }
            Err(error) => {
                assert!(matches!(error, FragmentError::NotAValue { .. }), "{error}");
                assert!(!matches!(byte, 1 | 3));
            }
        }
    }
}

#[test]
fn a_struct_is_a_value_if_its_fields_are() {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed(u8, u64, [bool; 2]);
    megachunk::plain!(Packed { 0, 1, 2 });
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Free {
        wide: u64,
        many: [[f32; 3]; 2],
    }
    megachunk::plain!(Free { wide, many });
    assert!(Free::IS_VALUE.is_none());
    let is_value = Packed::IS_VALUE.unwrap();
    let mut good = [9; size_of::<Packed>()];
    good[9..].fill(1);
    assert!(is_value(&good));
    for at in [9, 10] {
        let mut bad = good;
        bad[at] = 2;
        assert!(!is_value(&bad), "byte {at}");
    }
    let mut other = good;
    other[0] = 200;
    assert!(is_value(&other));
}

/// Of a hundred at most, by its own word: the language takes any byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Percent(u8);
// SAFETY: a byte, and all are values.
unsafe impl Plain for Percent {
    const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| bytes[0] <= 100);
}

#[test]
fn what_could_not_be_loaded_is_not_saved_and_the_old_file_stays() {
    type Fill<'f> = dyn Fn(&mut World, Percent) -> Option<Entity> + 'f;
    let roles: [&Fill<'_>; 5] = [
        &|world, percent| {
            world.create_batch((0..100).map(|n| (Percent(n),))).unwrap();
            Some(world.create((percent,)).unwrap())
        },
        &|world, percent| {
            let ant = world.create((1_u32,).per_chunk(Percent(1))).unwrap();
            *world.chunk_fragment_mut(ant).unwrap() = percent;
            Some(ant)
        },
        &|world, percent| {
            let ant = world.create((1_u32,).per_chunk(percent)).unwrap();
            *world.chunk_fragment_mut(ant).unwrap() = Percent(1);
            None
        },
        &|world, percent| Some(world.create((1_u32,).shared(percent)).unwrap()),
        &|world, percent| Some(world.create((1_u32,).const_shared(percent)).unwrap()),
    ];
    let path = std::env::temp_dir().join(format!("megachunk-percent-{}", std::process::id()));
    for (role, fill) in roles.into_iter().enumerate() {
        std::fs::write(&path, "old").unwrap();
        for percent in [101, 100] {
            let mut world = World::new();
            register(world.registry(), Percent);
            world.create((2_u32,)).unwrap();
            let ant = fill(&mut world, Percent(percent));
            let saved = world.save(&path, &Default::default());
            if percent == 100 {
                saved.unwrap();
                let load = World::load(
                    &path,
                    universe(|registry| register(registry, Percent)),
                    &Default::default(),
                );
                assert_eq!(load.unwrap().count(), world.count(), "role {role}");
                continue;
            }
            let Err(SnapshotError::Unloadable { name, entity, .. }) = &saved else {
                panic!("role {role}: {saved:?}");
            };
            assert!(name.ends_with("Percent"), "{name}");
            assert_eq!(entity, &ant, "role {role}");
            let told = saved.unwrap_err().to_string();
            assert_eq!(told.starts_with("entity "), ant.is_some(), "{told}");
            assert_eq!(std::fs::read(&path).unwrap(), b"old");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_tag_that_is_no_value_is_refused_only_if_somebody_has_it() {
    static IS_ONE: AtomicBool = AtomicBool::new(false);
    #[derive(Clone, Copy)]
    struct Fickle;
    // SAFETY: it has no bytes.
    unsafe impl Plain for Fickle {
        const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|_| IS_ONE.load(Ordering::Relaxed));
    }
    let registered = |registry: &FragmentRegistry| {
        registry.register_plain::<Fickle>().unwrap();
        registry.register_plain::<u32>().unwrap();
    };
    let mut world = World::new();
    registered(world.registry());
    world.create((1_u32,)).unwrap();
    let ant = world.create((Fickle, 2_u32)).unwrap();
    IS_ONE.store(true, Ordering::Relaxed);
    let inhabited = bytes(&world);
    IS_ONE.store(false, Ordering::Relaxed);
    let refused =
        World::from_snapshot(&inhabited, universe(registered), &Default::default()).unwrap_err();
    assert!(
        matches!(&refused, SnapshotError::NotAValue { name, .. } if name.ends_with("Fickle")),
        "{refused}"
    );
    world.destroy(ant).unwrap();
    let loaded =
        World::from_snapshot(&bytes(&world), universe(registered), &Default::default()).unwrap();
    assert_eq!((loaded.count(), loaded.archetypes().len()), (1, 2));
    loaded.check().unwrap();
}

#[test]
fn a_save_that_panics_leaves_the_old_file_and_nothing_beside_it() {
    static CALLS: AtomicUsize = AtomicUsize::new(usize::MAX);
    #[derive(Clone, Copy)]
    struct Brittle(#[expect(dead_code, reason = "it is saved")] u8);
    // SAFETY: a byte, and all are values.
    unsafe impl Plain for Brittle {
        const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|_| {
            let left = CALLS.load(Ordering::Relaxed);
            CALLS.store(left.saturating_sub(1), Ordering::Relaxed);
            match left {
                0 => resume_unwind(Box::new("it was to panic")),
                _ => true,
            }
        });
    }
    let mut world = World::new();
    world.registry().register_plain::<u32>().unwrap();
    world
        .registry()
        .register_plain::<PerChunk<Brittle>>()
        .unwrap();
    // Nobody has it any more; what its chunks began with is saved.
    let ant = world.create((1_u32,).per_chunk(Brittle(1))).unwrap();
    world.destroy(ant).unwrap();
    world.create((1_u32,)).unwrap();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("a-save-that-panics");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("saved");
    std::fs::write(&path, "old").unwrap();
    let mut panicked = 0;
    for calls in 0.. {
        CALLS.store(calls, Ordering::Relaxed);
        let saved = catch_unwind(AssertUnwindSafe(|| world.save(&path, &Default::default())));
        let names = std::fs::read_dir(&folder).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["saved"], "with {calls} calls");
        if let Ok(saved) = saved {
            saved.unwrap();
            break;
        }
        panicked += 1;
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
    assert!(panicked > 1, "there is more than one call");
    assert!(std::fs::read(&path).unwrap().starts_with(b"MEGACHNK"));
    std::fs::remove_dir_all(folder).unwrap();
}
