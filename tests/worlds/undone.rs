//! What an editor does and undoes: values that are kept, taken and put back, entities that come back, bytes that are
//! written.

use core::alloc::Layout;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::FragmentDefinition;
use megachunk::prelude::*;
use megachunk::world::Lack;

use crate::counted::{Counted, FUSE};

fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

fn count(alive: &Arc<AtomicUsize>) -> usize {
    alive.load(Ordering::Relaxed)
}

#[test]
fn a_value_is_cloned_if_it_was_said_that_it_can_be() {
    let alive = counter();
    let registry = FragmentRegistry::new();
    let plain = Value::new(&registry, Counted::new(&alive)).unwrap();
    assert!(plain.try_clone().is_none());
    let value = Value::cloneable(&registry, Counted::new(&alive)).unwrap();
    let twin = value.try_clone().unwrap();
    let other = twin.try_clone().unwrap();
    assert_eq!((count(&alive), other.id()), (4, value.id()));
    drop((value, twin));
    assert_eq!(count(&alive), 2);
    drop((plain, other));
    assert_eq!(count(&alive), 0);
}

#[test]
fn a_name_is_cloned_and_a_tag_that_means_something_is_not() {
    struct Seal;
    let mut world = World::new();
    let registry = world.registry();
    let definition = FragmentDefinition::new("marked", Layout::new::<()>());
    // SAFETY: no functions.
    let marked = unsafe { registry.define(definition) }.unwrap().id();
    // SAFETY: of a tag there is nothing to read.
    let mark = unsafe { Value::from_raw(registry, marked, [0_u8; 1].as_ptr()) }.unwrap();
    let twin = mark.try_clone().unwrap();
    let seal = registry.register::<Seal>().unwrap().id();
    let ant = world.create((Seal,)).unwrap();
    world.add_dynamic(ant, twin.into()).unwrap();
    assert!(world.has_dynamic(ant, marked).unwrap());
    let lent = world.get_dynamic(ant, marked).unwrap();
    assert_eq!(lent.to_value().unwrap().id(), marked);
    assert!(world.get_dynamic(ant, seal).unwrap().to_value().is_none());
}

#[test]
fn a_value_is_kept_and_put_back_whatever_its_role() {
    let alive = counter();
    let mut world = World::new();
    let id = world.registry().register_clone::<Counted>().unwrap().id();
    let bundle = (Counted::new(&alive),).per_chunk('c');
    let ant = world.create(bundle).unwrap();
    let kept = world.get_dynamic(ant, id).unwrap().to_value().unwrap();
    assert_eq!(count(&alive), 2);
    assert!(world.remove::<(Counted,)>(ant).unwrap());
    assert_eq!(count(&alive), 1);
    world.add_dynamic(ant, kept.into()).unwrap();
    assert!(world.has::<Counted>(ant).unwrap());

    let role = world.registry().register::<PerChunk<char>>().unwrap().id();
    let of_chunk = world.get_dynamic(ant, role).unwrap().to_value().unwrap();
    let lent = of_chunk.lend(world.registry()).unwrap();
    assert_eq!(lent.value::<char>().unwrap(), &'c');

    let shared = world
        .registry()
        .register_plain::<Shared<u8>>()
        .unwrap()
        .id();
    world.set_shared(ant, 3_u8).unwrap();
    let kept = world.get_dynamic(ant, shared).unwrap().to_value().unwrap();
    world.set_shared(ant, 4_u8).unwrap();
    world.add_dynamic(ant, kept.into()).unwrap();
    assert_eq!(world.shared::<u8>(ant).unwrap(), &3);
    world.set_shared(ant, String::from("red")).unwrap();
    let text = world.registry().register::<Shared<String>>().unwrap().id();
    assert!(world.get_dynamic(ant, text).unwrap().to_value().is_none());
    drop(world);
    assert_eq!(count(&alive), 0);
}

#[test]
fn a_clone_that_panics_leaves_no_value_and_the_world_as_it_was() {
    let alive = counter();
    let mut world = World::new();
    let id = world.registry().register_clone::<Counted>().unwrap().id();
    let ant = world.create((Counted::new(&alive),)).unwrap();
    let value = Value::cloneable(world.registry(), Counted::new(&alive)).unwrap();
    for _ in 0..2 {
        FUSE.set(1);
        let lent = world.get_dynamic(ant, id).unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| lent.to_value()));
        assert!(panic.is_err());
        FUSE.set(1);
        let panic = catch_unwind(AssertUnwindSafe(|| value.try_clone()));
        assert!(panic.is_err());
        assert_eq!(count(&alive), 2);
    }
    world.check().unwrap();
    drop((world, value));
    assert_eq!(count(&alive), 0);
}

#[test]
fn what_is_taken_by_number_has_left_the_world_and_comes_back() {
    #[derive(Debug, PartialEq)]
    struct Load(u64);
    struct Tag;
    let alive = counter();
    let mut world = World::new();
    let make = |n| (Counted::new(&alive), Load(n), Tag);
    let ants = world.create_batch((0..1_000).map(make)).unwrap();
    let ants = ants.to_vec(&world);
    let registry = Arc::clone(world.universe());
    let registry = registry.registry();
    let ids = [
        registry.register::<Tag>().unwrap().id(),
        registry.register::<Counted>().unwrap().id(),
    ];
    let mut taken: Vec<_> = (ants.iter().step_by(3))
        .map(|&ant| (ant, world.take_dynamic(ant, &ids).unwrap()))
        .collect();
    assert_eq!(count(&alive), 1_000);
    assert!(taken.iter().all(|(_, bundle)| bundle.len() == 2));
    assert!(!world.has::<Counted>(ants[3]).unwrap() && !world.has::<Tag>(ants[3]).unwrap());
    assert!(world.has::<Counted>(ants[4]).unwrap());
    assert_eq!(world.get::<Load>(ants[999]).unwrap(), &Load(999));
    world.check().unwrap();
    drop(taken.split_off(100));
    assert_eq!(count(&alive), 1_000 - 234);
    for (ant, bundle) in taken {
        world.add_dynamic(ant, bundle).unwrap();
    }
    assert!(world.has::<Counted>(ants[3]).unwrap() && world.has::<Tag>(ants[3]).unwrap());
    assert!(world.take_dynamic(ants[0], &[]).unwrap().is_empty());
    world.check().unwrap();
    drop(world);
    assert_eq!(count(&alive), 0);
}

#[test]
fn all_is_taken_by_number_or_nothing() {
    let alive = counter();
    let mut world = World::new();
    let bundle = (Counted::new(&alive), 7_u32).shared(3_u8).per_chunk('c');
    let ant = world.create(bundle).unwrap();
    let registry = Arc::clone(world.universe());
    let registry = registry.registry();
    let held = registry.register::<Counted>().unwrap().id();
    let absent = registry.register::<f64>().unwrap().id();
    let before = world.composition(ant).unwrap();
    let mut refused = |ids: &[FragmentId]| world.take_dynamic(ant, ids).map(drop).unwrap_err();
    assert!(
        matches!(refused(&[held, absent]), WorldError::Missing { lack: Lack::Fragment, name, .. } if &*name == "f64")
    );
    let roles = [
        registry.register::<Shared<u8>>().unwrap().id(),
        registry.register::<PerChunk<char>>().unwrap().id(),
    ];
    for role in roles {
        let error = refused(&[held, role]);
        assert!(
            matches!(error, WorldError::Fragment(FragmentError::WrongKind { .. })),
            "{error}"
        );
    }
    let unknown = FragmentId::from_number(60_000);
    let error = refused(&[unknown]);
    assert!(
        matches!(error, WorldError::Fragment(FragmentError::Unknown { .. })),
        "{error}"
    );
    let error = refused(&[held, held]);
    assert!(
        matches!(error, WorldError::Fragment(FragmentError::Twice { .. })),
        "{error}"
    );
    assert_eq!(
        (world.composition(ant).unwrap(), count(&alive)),
        (before, 1)
    );
    world.check().unwrap();
    world.destroy(ant).unwrap();
    assert!(world.take_dynamic(ant, &[held]).is_err());
}

#[test]
fn who_listens_hears_of_what_is_taken_by_number_and_may_panic() {
    let alive = counter();
    let mut world = World::new();
    let id = world.registry().register::<Counted>().unwrap().id();
    let seen = counter();
    let heard = Arc::clone(&seen);
    let observer = world
        .observe::<Counted, ()>(Observed::REMOVE, move |batch, _| {
            heard.fetch_add(batch.len(), Ordering::Relaxed);
            assert!(heard.load(Ordering::Relaxed) < 2, "told to panic");
        })
        .unwrap();
    let ants = [(); 2].map(|()| world.create((Counted::new(&alive), 1_u8)).unwrap());
    drop(world.take_dynamic(ants[0], &[id]).unwrap());
    assert_eq!((count(&seen), count(&alive)), (1, 1));
    let panic = catch_unwind(AssertUnwindSafe(|| world.take_dynamic(ants[1], &[id])));
    assert!(panic.is_err());
    assert_eq!((count(&seen), count(&alive)), (2, 0));
    assert!(!world.has::<Counted>(ants[1]).unwrap());
    world.check().unwrap();
    assert!(world.unobserve(observer));
}

#[test]
fn a_destruction_is_undone_by_a_second_world() {
    struct Awake;
    let universe = Arc::new(Universe::new());
    let registry = universe.registry();
    registry.register_enableable::<Awake>().unwrap();
    let (mut world, mut bin) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    let bundle = (7_u32, String::from("ant"), Awake).shared("red");
    let ant = world.create(bundle).unwrap();
    let bee = world.create((ant,)).unwrap();
    world.set_name(ant, "worker").unwrap();
    world.set_enabled::<Awake>(ant, false).unwrap();
    world.move_to(&mut bin, ant).unwrap();
    // What has happened since.
    let wasp = world
        .create((8_u32, String::from("wasp"), Awake).shared("blue"))
        .unwrap();
    world.set_name(wasp, "worker").unwrap();
    assert!(matches!(
        world.get::<u32>(ant),
        Err(WorldError::Elsewhere { .. })
    ));
    assert_eq!(world.find_by_name("worker"), Some(wasp));
    bin.move_to(&mut world, ant).unwrap();
    assert_eq!(bin.count(), 0);
    assert_eq!(world.get::<Entity>(bee).unwrap(), &ant);
    assert_eq!(
        (
            world.get::<u32>(ant).unwrap(),
            &**world.get::<String>(ant).unwrap()
        ),
        (&7, "ant")
    );
    assert_eq!(world.shared::<&str>(ant).unwrap(), &"red");
    assert_eq!(world.name(ant).unwrap(), Some("worker"));
    assert!(!world.is_enabled::<Awake>(ant).unwrap());
    world.check().unwrap();
    bin.check().unwrap();
}

#[test]
fn bytes_are_written_if_they_are_a_value_and_else_not() {
    let mut world = World::new();
    let registry = Arc::clone(world.universe());
    let registry = registry.registry();
    let target = registry.define_plain_as::<Entity>("target").unwrap().id();
    let free = registry
        .define_plain("free", Layout::new::<u32>())
        .unwrap()
        .id();
    let text = registry.register::<String>().unwrap().id();
    let (ant, bee) = (world.create(()).unwrap(), world.create(()).unwrap());
    let values = [
        Value::from_plain(registry, target, ant).unwrap(),
        Value::from_bytes(registry, free, &[1; 4]).unwrap(),
        Value::new(registry, String::new()).unwrap(),
    ];
    let wasp = world.create_dynamic(values.into_iter().collect()).unwrap();
    let bytes =
        |entity: Entity| [entity.index().to_ne_bytes(), entity.version().to_ne_bytes()].concat();
    let mut set = |id, bytes: &[u8]| world.get_dynamic_mut(wasp, id).unwrap().set_bytes(bytes);
    assert!(
        matches!(set(target, &[0; 8]), Err(FragmentError::NotAValue { of, .. }) if of.ends_with("Entity"))
    );
    assert!(matches!(
        set(target, &[1; 7]),
        Err(FragmentError::WrongSize {
            size: 8,
            given: 7,
            ..
        })
    ));
    assert!(matches!(
        set(text, &[1; 24]),
        Err(FragmentError::NotPlain { .. })
    ));
    assert!(matches!(
        set(free, &[]),
        Err(FragmentError::WrongSize { given: 0, .. })
    ));
    set(free, &[9; 4]).unwrap();
    assert_eq!(
        world
            .get_dynamic(wasp, target)
            .unwrap()
            .value::<Entity>()
            .unwrap(),
        &ant
    );
    world
        .get_dynamic_mut(wasp, target)
        .unwrap()
        .set_bytes(&bytes(bee))
        .unwrap();
    assert_eq!(
        world
            .get_dynamic(wasp, target)
            .unwrap()
            .value::<Entity>()
            .unwrap(),
        &bee
    );
    assert_eq!(
        world.get_dynamic(wasp, free).unwrap().bytes().unwrap(),
        [9; 4]
    );
    let refused = world
        .get_dynamic_mut(wasp, target)
        .unwrap()
        .bytes()
        .unwrap_err();
    assert!(
        refused.to_string().contains("`ValuesMut::set_bytes`"),
        "{refused}"
    );
}

#[test]
fn all_rows_of_a_slice_are_written_or_none() {
    let mut world = World::new();
    let id = world.registry().register_plain::<bool>().unwrap().id();
    let ants = world
        .create_batch((0..3).map(|n| (n == 1,)))
        .unwrap()
        .to_vec(&world);
    let mut run = DynamicQuery::builder(&world).write(id).build().unwrap();
    let mut results = Vec::new();
    for bytes in [&[1, 1, 2][..], &[1, 1], &[1, 0, 1]] {
        run.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
            results.push(chunk.write(id).unwrap().set_bytes(bytes));
        });
    }
    assert!(matches!(results[0], Err(FragmentError::NotAValue { .. })));
    assert!(matches!(
        results[1],
        Err(FragmentError::WrongSize {
            size: 3,
            given: 2,
            ..
        })
    ));
    assert_eq!(results[2], Ok(()));
    let now = ants.iter().map(|&ant| *world.get::<bool>(ant).unwrap());
    assert_eq!(now.collect::<Vec<_>>(), [true, false, true]);
}
