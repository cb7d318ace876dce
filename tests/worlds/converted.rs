//! Values of types whose fields have changed come out of older files as those of today.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use megachunk::fragment::{Plain, SharedFragment};
use megachunk::prelude::*;

/// What files of versions 1 and 2 have.
mod then {
    use megachunk::prelude::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub(crate) struct V1 {
        pub(crate) now: u8,
    }
    megachunk::plain!(V1 { now });

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub(crate) struct V2 {
        pub(crate) friend: Entity,
        pub(crate) now: u64,
    }
    megachunk::plain!(V2 { friend, now });
}
pub(crate) use then::{V1, V2};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(crate) struct Health {
    now: u32,
    most: u32,
    friend: Entity,
    owner: Entity,
}
megachunk::plain!(Health {
    now,
    most,
    friend,
    owner
});

fn health(now: u32, friend: Entity) -> Health {
    Health {
        now,
        most: 100,
        friend,
        owner: Entity::PLACEHOLDER,
    }
}

/// What the type is called in each role.
const NAMES: [&str; 4] = ["health", "health.chunk", "health.shared", "health.const"];

/// Registers a type in each role, and something beside it.
fn register<T: Plain + SharedFragment>(universe: &Universe) {
    let registry = universe.registry();
    let [fragment, chunk, shared, fixed] = NAMES;
    registry.register_plain_as::<T>(fragment).unwrap();
    registry.register_plain_as::<PerChunk<T>>(chunk).unwrap();
    registry.register_plain_as::<Shared<T>>(shared).unwrap();
    registry.register_plain_as::<ConstShared<T>>(fixed).unwrap();
    registry.register_plain::<u16>().unwrap();
    registry.register_plain::<f64>().unwrap();
    registry.register_enableable::<f64>().unwrap();
}

fn universe<T: Plain + SharedFragment>() -> Universe {
    let universe = Universe::new();
    register::<T>(&universe);
    universe
}

/// All that is called by one of the names comes by this.
fn converting<O: Plain>(options: LoadOptions, convert: fn(O) -> Health) -> LoadOptions {
    let names = NAMES.into_iter();
    names.fold(options, |options, name| options.convert(name, convert))
}

pub(crate) fn from_v1(old: V1) -> Health {
    health(old.now.into(), Entity::PLACEHOLDER)
}

fn from_v2(old: V2) -> Health {
    health(old.now as u32, old.friend)
}

fn options() -> LoadOptions {
    let options = LoadOptions::new().convert("elsewhere", |_: V1| -> u64 {
        panic!("nothing has this name")
    });
    converting(converting(options, from_v1), from_v2)
}

/// Many entities with values made of numbers, in all roles, some with something switched off between.
fn saved<T: Plain + SharedFragment>(value: impl Fn(u32) -> T) -> (Vec<u8>, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe::<T>())).unwrap();
    let all: Vec<Entity> = (0..3_000)
        .map(|n| {
            let bundle = (n as u16, 0.5_f64, value(n % 200));
            let bundle = bundle.shared(value(n % 3)).const_shared(value(n % 2));
            let entity = world.create(bundle.per_chunk(value(9))).unwrap();
            if n % 7 == 0 {
                world.set_enabled::<f64>(entity, false).unwrap();
            }
            entity
        })
        .collect();
    world.create((value(77),)).unwrap();
    (world.to_snapshot(&Default::default()).unwrap(), all)
}

/// Whether all have come, with the friend that each value names.
fn assert_come(world: &mut World, all: &[Entity], friend: Entity) {
    world.check().unwrap();
    assert_eq!(world.count(), 3_001);
    for (n, &entity) in (0..).zip(all) {
        let expected = |n| health(n, friend);
        assert_eq!(world.get::<u16>(entity).unwrap(), &(n as u16));
        assert_eq!(world.get::<Health>(entity).unwrap(), &expected(n % 200));
        assert_eq!(world.shared::<Health>(entity).unwrap(), &expected(n % 3));
        let fixed = world.const_shared::<Health>(entity).unwrap();
        assert_eq!(fixed, &expected(n % 2));
        let once = world.chunk_fragment::<Health>(entity).unwrap();
        assert_eq!(once, &expected(9));
        assert_eq!(world.is_enabled::<f64>(entity).unwrap(), n % 7 != 0);
    }
    // New chunks begin with what is converted, too.
    world.clear();
    let bundle = (1_u16, 0.5_f64, health(1, friend)).shared(health(0, friend));
    let bundle = bundle.const_shared(health(1, friend));
    let new = world.create(bundle.per_chunk(health(1, friend))).unwrap();
    let once = world.chunk_fragment::<Health>(new).unwrap();
    assert_eq!(once, &health(9, friend));
}

#[test]
fn values_of_an_older_type_come_in_every_role() {
    let (file, all) = saved(|n| V1 { now: n as u8 });
    let mut world = World::from_snapshot(&file, universe::<Health>(), &options()).unwrap();
    let again = world.to_snapshot(&Default::default()).unwrap();
    assert_come(&mut world, &all, Entity::PLACEHOLDER);
    // What is saved now is as it is, for who has the options still.
    let mut world = World::from_snapshot(&again, universe::<Health>(), &options()).unwrap();
    assert_come(&mut world, &all, Entity::PLACEHOLDER);
    assert!(World::from_snapshot(&again, universe::<Health>(), &Default::default()).is_ok());
}

#[test]
fn of_several_versions_the_one_that_the_file_has_is_taken() {
    let friend = Entity::new(3, 1).unwrap();
    let (file, all) = saved(|n| V2 {
        friend,
        now: n.into(),
    });
    let mut world = World::from_snapshot(&file, universe::<Health>(), &options()).unwrap();
    assert_come(&mut world, &all, friend);
}

#[test]
fn handles_of_older_types_lead_to_new_ids() {
    let friend = Entity::new(3, 1).unwrap();
    let (file, all) = saved(|n| V2 {
        friend,
        now: n.into(),
    });
    let universe = Arc::new(universe::<Health>());
    let mut beside = World::of(&universe).unwrap();
    let taken = beside.create_batch((0..50_u16).map(|n| (n,))).unwrap();
    drop(taken);
    let nobody = EntityMap::default();
    let loaded = World::from_snapshot_remapped(&file, &universe, &nobody, &options());
    let (mut world, come) = loaded.unwrap();
    let all: Vec<Entity> = all.iter().map(|&old| come.get(old).unwrap()).collect();
    let friend = come.get(friend).unwrap();
    assert_ne!(friend, Entity::new(3, 1).unwrap());
    assert_come(&mut world, &all, friend);
}

#[test]
fn without_a_conversion_for_it_a_file_is_refused_as_ever() {
    let (file, _) = saved(|n| V1 { now: n as u8 });
    let refused = |options: &LoadOptions| {
        let error = World::from_snapshot(&file, universe::<Health>(), options).unwrap_err();
        assert!(matches!(error, SnapshotError::Layout { .. }), "{error}");
    };
    refused(&LoadOptions::new());
    // Of another old type, to another new one, of another name, and all but one.
    refused(&converting(LoadOptions::new(), from_v2));
    refused(&LoadOptions::new().convert("health", |old: V1| u64::from(old.now)));
    refused(&LoadOptions::new().convert("mana", from_v1));
    let but_one = NAMES.into_iter().skip(1);
    refused(&but_one.fold(LoadOptions::new(), |options, name| {
        options.convert(name, from_v1)
    }));
}

#[test]
fn who_skips_it_converts_nothing() {
    let (file, all) = saved(|n| V1 { now: n as u8 });
    let names = NAMES.into_iter();
    let options = names.fold(LoadOptions::new(), LoadOptions::skip);
    let options = converting(options, |_: V1| panic!("it is skipped"));
    let world = World::from_snapshot(&file, universe::<Health>(), &options).unwrap();
    assert_eq!(world.get::<u16>(all[5]).unwrap(), &5);
    assert!(!world.has::<Health>(all[5]).unwrap());
}

#[test]
fn a_conversion_that_panics_leaves_no_world_and_no_entity() {
    let (file, all) = saved(|n| V1 { now: n as u8 });
    let options = converting(LoadOptions::new(), |old: V1| {
        assert!(old.now != 199, "no such health");
        from_v1(old)
    });
    let universe = Arc::new(universe::<Health>());
    let mut beside = World::of(&universe).unwrap();
    let stays = beside.create((7_u16,)).unwrap();
    let (entities, chunks) = (universe.count(), universe.chunk_stats().in_use);
    let nobody = EntityMap::default();
    let load = || World::from_snapshot_remapped(&file, &universe, &nobody, &options);
    assert!(catch_unwind(AssertUnwindSafe(load)).is_err());
    assert_eq!(
        (universe.count(), universe.chunk_stats().in_use),
        (entities, chunks)
    );
    assert_eq!(beside.get::<u16>(stays).unwrap(), &7);
    let load = || World::from_snapshot_remapped(&file, &universe, &nobody, &self::options());
    let (mut world, come) = load().unwrap();
    let all: Vec<Entity> = all.iter().map(|&old| come.get(old).unwrap()).collect();
    assert_come(&mut world, &all, Entity::PLACEHOLDER);
}

#[test]
fn bytes_that_are_no_value_of_the_older_type_are_refused_before_they_are_converted() {
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Flag {
        up: bool,
    }
    megachunk::plain!(Flag { up });
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Byte {
        up: u8,
    }
    megachunk::plain!(Byte { up });
    // A file whose values are any bytes; who reads it takes it for another type, by its name and size alone.
    let world = |value: u8| {
        let mut world = World::new();
        let id = world
            .registry()
            .define_plain("flag", core::alloc::Layout::new::<u8>());
        let id = id.unwrap().id();
        let value = Value::from_bytes(world.registry(), id, &[value]).unwrap();
        let entity = world
            .create_dynamic(DynamicBundle::new().with(value))
            .unwrap();
        (world.to_snapshot(&Default::default()).unwrap(), entity)
    };
    let load = |file: &[u8]| {
        let universe = Universe::new();
        universe
            .registry()
            .register_plain_as::<u32>("flag")
            .unwrap();
        let options = LoadOptions::new().convert("flag", |old: Flag| u32::from(old.up) + 5);
        World::from_snapshot(file, universe, &options)
    };
    let (file, entity) = world(1);
    assert_eq!(load(&file).unwrap().get::<u32>(entity).unwrap(), &6);
    let error = load(&world(2).0).unwrap_err();
    assert!(matches!(error, SnapshotError::NotAValue { .. }), "{error}");
    // The size is right as it is: nothing says that it is meant.
    let universe = Universe::new();
    universe
        .registry()
        .register_plain_as::<Byte>("flag")
        .unwrap();
    let options = LoadOptions::new().convert("flag", |_: Flag| Byte { up: 9 });
    let as_it_is = World::from_snapshot(&file, universe, &options).unwrap();
    assert_eq!(as_it_is.get::<Byte>(entity).unwrap().up, 1);
}

#[test]
fn resources_and_what_signals_carry_of_an_older_type_come_as_well() {
    let mut world = World::new();
    world.registry().register_state_as::<V2>("state").unwrap();
    world.registry().register_state_as::<V1>("other").unwrap();
    let (ant, friend) = (world.create(()).unwrap(), world.create(()).unwrap());
    let value = |now| V2 { friend, now };
    world.resources_mut().insert(value(5));
    world.resources_mut().insert(V1 { now: 3 });
    let signal = world.signal::<V2>("later").unwrap();
    let time = std::time::Duration::from_secs(1);
    world.signals().send_at(signal, ant, value(6), time);
    world.collect_signals();
    let file = world.to_snapshot(&Default::default()).unwrap();
    assert_eq!(world.pending().delayed_signals, 1);

    let universe = Arc::new(Universe::new());
    universe
        .registry()
        .register_state_as::<Health>("state")
        .unwrap();
    universe
        .registry()
        .register_state_as::<V1>("other")
        .unwrap();
    let mut beside = World::of(&universe).unwrap();
    beside.create(()).unwrap();
    let options = LoadOptions::new()
        .convert_state("state", |old: V1| {
            health(old.now.into(), Entity::PLACEHOLDER)
        })
        .convert_state("state", |old: V2| health(old.now as u32, old.friend))
        .convert_state("other", |old: V2| V1 { now: old.now as u8 });
    let nobody = EntityMap::default();
    let load =
        |options: &LoadOptions| World::from_snapshot_remapped(&file, &universe, &nobody, options);
    assert!(matches!(
        load(&LoadOptions::new()),
        Err(SnapshotError::StateNotRead { .. })
    ));
    let (mut world, come) = load(&options).unwrap();
    let (ant, friend) = (come.get(ant).unwrap(), come.get(friend).unwrap());
    assert_eq!(world.resources().get::<Health>(), Some(&health(5, friend)));
    assert_eq!(world.resources().get::<V1>(), Some(&V1 { now: 3 }));
    let signal = world.signal::<Health>("later").unwrap();
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, signal).unwrap();
    world.advance_time(time * 2);
    let mut got = Vec::new();
    let _ = reader.deliver(&mut world, |entity, received| {
        got.extend(received.of(signal).map(|&health| (entity, health)));
    });
    assert_eq!(got, [(ant, health(6, friend))]);
    // A panic there leaves nothing either.
    let count = universe.count();
    let options = LoadOptions::new().convert_state("state", |_: V2| -> Health { panic!("no") });
    assert!(catch_unwind(AssertUnwindSafe(|| load(&options))).is_err());
    assert_eq!(universe.count(), count);
}

/// Types without bytes, of which one has no value.
mod bare {
    use std::sync::atomic::{AtomicU32, Ordering};

    use megachunk::fragment::{IsValue, Plain};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) struct Old;
    // SAFETY: no bytes.
    unsafe impl Plain for Old {
        const IS_VALUE: Option<IsValue> = None;
        const SHAPE: u64 = 78;
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) enum Void {}
    // SAFETY: no bytes, and they are no value.
    unsafe impl Plain for Void {
        const IS_VALUE: Option<IsValue> = Some(|_| false);
        const SHAPE: u64 = 77;
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) struct Refused;
    // SAFETY: no bytes.
    unsafe impl Plain for Refused {
        const IS_VALUE: Option<IsValue> = Some(|_| false);
        const SHAPE: u64 = 80;
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(super) struct New;
    // SAFETY: no bytes.
    unsafe impl Plain for New {
        const IS_VALUE: Option<IsValue> = None;
        const SHAPE: u64 = 79;
    }

    pub(super) static CALLS: AtomicU32 = AtomicU32::new(0);

    pub(super) fn new(_: Old) -> New {
        CALLS.fetch_add(1, Ordering::Relaxed);
        New
    }
}

#[test]
fn values_without_bytes_are_converted_as_others_are() {
    let universe = |register: fn(&FragmentRegistry)| {
        let universe = Universe::new();
        register(universe.registry());
        universe
    };
    let mut world = World::new();
    world
        .registry()
        .register_plain_as::<bare::Old>("t")
        .unwrap();
    let ants = [(); 3].map(|()| world.create((bare::Old,)).unwrap());
    let file = world.to_snapshot(&Default::default()).unwrap();
    let load = |options: &LoadOptions| {
        let of_void = |registry: &FragmentRegistry| {
            registry.register_plain_as::<bare::Void>("t").unwrap();
        };
        World::from_snapshot(&file, universe(of_void), options)
    };
    let options = LoadOptions::new().convert("t", |_: bare::Old| -> bare::Void { panic!("none") });
    assert!(catch_unwind(AssertUnwindSafe(|| load(&options))).is_err());
    assert!(matches!(
        load(&LoadOptions::new()),
        Err(SnapshotError::Layout { .. })
    ));
    // Once for each that somebody has.
    let options = LoadOptions::new().convert("t", bare::new);
    let of_new = universe(|registry| {
        registry.register_plain_as::<bare::New>("t").unwrap();
    });
    let loaded = World::from_snapshot(&file, of_new, &options).unwrap();
    assert_eq!(bare::CALLS.load(Ordering::Relaxed), 3);
    assert!(
        ants.iter()
            .all(|&ant| loaded.has::<bare::New>(ant).unwrap())
    );
    // With bytes it is another role.
    let of_bytes = universe(|registry| {
        registry.register_plain_as::<V1>("t").unwrap();
    });
    let options = LoadOptions::new().convert("t", |_: bare::Old| V1 { now: 1 });
    let error = World::from_snapshot(&file, of_bytes, &options).unwrap_err();
    assert!(
        matches!(error, SnapshotError::Unregistered { .. }),
        "{error}"
    );

    // A value of which its type says that it is none is refused.
    let of_refused = universe(|registry| {
        registry.register_plain_as::<bare::Refused>("t").unwrap();
    });
    let options = LoadOptions::new().convert("t", |_: bare::Old| bare::Refused);
    let error = World::from_snapshot(&file, of_refused, &options).unwrap_err();
    assert!(matches!(error, SnapshotError::NotAValue { .. }), "{error}");

    // In the other roles the same, also of one that had bytes.
    for role in ["chunk", "shared", "const"] {
        let mut world = World::new();
        register_as::<V1>(world.registry(), role);
        let value = V1 { now: 3 };
        match role {
            "chunk" => world.create(().per_chunk(value)).unwrap(),
            "shared" => world.create(().shared(value)).unwrap(),
            _ => world.create(().const_shared(value)).unwrap(),
        };
        let file = world.to_snapshot(&Default::default()).unwrap();
        let universe = Universe::new();
        register_as::<bare::Refused>(universe.registry(), role);
        let options = LoadOptions::new().convert("t", |_: V1| bare::Refused);
        let error = World::from_snapshot(&file, universe, &options).unwrap_err();
        assert!(
            matches!(error, SnapshotError::NotAValue { .. }),
            "{role}: {error}"
        );
    }
}

/// Registers a type as `t` in a role.
pub(crate) fn register_as<T: Plain + SharedFragment>(registry: &FragmentRegistry, role: &str) {
    match role {
        "chunk" => registry.register_plain_as::<PerChunk<T>>("t").unwrap(),
        "shared" => registry.register_plain_as::<Shared<T>>("t").unwrap(),
        _ => registry.register_plain_as::<ConstShared<T>>("t").unwrap(),
    };
}

#[test]
fn nothing_is_converted_for_a_fragment_that_is_of_no_type() {
    let mut world = World::new();
    world.registry().register_plain_as::<V1>("health").unwrap();
    let ant = world.create((V1 { now: 7 },)).unwrap();
    let file = world.to_snapshot(&Default::default()).unwrap();
    let load = |layout: Layout| {
        let universe = Universe::new();
        universe.registry().define_plain("health", layout).unwrap();
        let options = LoadOptions::new()
            .convert("health", from_v1)
            .convert("health", |old: V1| u32::from(old.now))
            .convert("health", |old: V1| [old.now]);
        World::from_snapshot(&file, universe, &options)
    };
    // With the layout of what some of them make, and of none.
    for layout in [
        Layout::new::<Health>(),
        Layout::new::<u32>(),
        Layout::new::<u16>(),
    ] {
        let error = load(layout).unwrap_err();
        assert!(matches!(error, SnapshotError::Layout { .. }), "{error}");
    }
    // With that of the file, it comes as it is.
    let world = load(Layout::new::<V1>()).unwrap();
    let id = world.registry().find("health").unwrap().id();
    assert_eq!(world.get_dynamic(ant, id).unwrap().bytes().unwrap(), [7]);
    // One that is defined with a type is of that.
    let universe = Universe::new();
    let id = universe.registry().define_plain_as::<u32>("health");
    let id = id.unwrap().id();
    let options = LoadOptions::new().convert("health", |old: V1| u32::from(old.now));
    let world = World::from_snapshot(&file, universe, &options).unwrap();
    let bytes = world
        .get_dynamic(ant, id)
        .unwrap()
        .bytes()
        .unwrap()
        .to_vec();
    assert_eq!(bytes, 7_u32.to_ne_bytes());
}

#[test]
fn what_closures_write_and_read_is_not_converted() {
    let file = {
        let mut world = World::new();
        world.registry().register_state_as::<V1>("state").unwrap();
        world.resources_mut().insert(V1 { now: 3 });
        world.to_snapshot(&Default::default()).unwrap()
    };
    let universe = Universe::new();
    let registered = universe.registry().register_state_with(
        "state",
        |value: &u32, bytes| bytes.push(*value as u8),
        |bytes, _| match bytes {
            [byte] => Ok(u32::from(*byte)),
            _ => Err("one byte was written"),
        },
    );
    registered.unwrap();
    let options = LoadOptions::new().convert_state("state", |_: V1| -> u32 { panic!("no") });
    let world = World::from_snapshot(&file, universe, &options).unwrap();
    assert_eq!(world.resources().get::<u32>(), Some(&3));
}

#[test]
fn who_ignores_fields_converts_all_the_same() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Left {
        left: u8,
    }
    megachunk::plain!(Left { left });
    let mut world = World::new();
    world.registry().register_plain_as::<V1>("one").unwrap();
    world.registry().register_state_as::<V1>("one").unwrap();
    let ant = world.create((V1 { now: 30 },)).unwrap();
    world.resources_mut().insert(V1 { now: 40 });
    let file = world.to_snapshot(&Default::default()).unwrap();
    let load = |options: LoadOptions| {
        let universe = Universe::new();
        universe
            .registry()
            .register_plain_as::<Left>("one")
            .unwrap();
        universe
            .registry()
            .register_state_as::<Left>("one")
            .unwrap();
        let world = World::from_snapshot(&file, universe, &options)?;
        let resource = world.resources().get::<Left>().map(|left| left.left);
        Ok::<_, SnapshotError>((world.get::<Left>(ant).unwrap().left, resource.unwrap()))
    };
    let convert = |old: V1| Left {
        left: 100 - old.now,
    };
    assert!(load(LoadOptions::new()).is_err());
    let options = LoadOptions::new().ignore_fields("one");
    assert_eq!(load(options.clone()).unwrap(), (30, 40));
    let options = options
        .convert("one", convert)
        .convert_state("one", convert);
    assert_eq!(load(options).unwrap(), (70, 60));
}

#[test]
fn what_is_converted_to_no_value_is_told_where_the_old_one_lies() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    struct Small {
        now: u64,
    }
    // SAFETY: eight bytes, of which some are meant to be no value.
    unsafe impl Plain for Small {
        const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| !bytes.contains(&177));
        const SHAPE: u64 = 81;
    }
    for role in ["fragment", "chunk", "shared", "const"] {
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        let registry = world.registry();
        match role {
            "fragment" => registry.register_plain_as::<V1>("t").map(|_| ()).unwrap(),
            role => register_as::<V1>(registry, role),
        }
        for n in 0..5 {
            let (low, value) = (V1 { now: n }, V1 { now: 177 });
            match role {
                "fragment" => world.create((if n == 3 { value } else { low },)).unwrap(),
                "chunk" => world.create(().per_chunk(value)).unwrap(),
                "shared" => world.create(().shared(value)).unwrap(),
                _ => world.create(().const_shared(value)).unwrap(),
            };
        }
        let file = world.to_snapshot(&Default::default()).unwrap();
        let universe = Universe::new();
        match role {
            "fragment" => universe
                .registry()
                .register_plain_as::<Small>("t")
                .map(|_| ())
                .unwrap(),
            role => register_as::<Small>(universe.registry(), role),
        }
        let convert = |old: V1| Small {
            now: old.now.into(),
        };
        let options = LoadOptions::new().convert("t", convert);
        let error = World::from_snapshot(&file, universe, &options).unwrap_err();
        let SnapshotError::NotAValue { at, .. } = error else {
            panic!("{role}: {error}")
        };
        assert_eq!(file[at as usize], 177, "{role}");
    }
}
