//! Bundles, errors and reports as values.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::FlawPlace;
use megachunk::entity::Full;
use megachunk::prelude::*;
use megachunk::processor::Relation;
use megachunk::query::Access;
use megachunk::world::{Lack, SystemError};

use crate::rows::{Asleep, Counted, Hungry, Name};

#[test]
fn two_bundles_joined_are_put_into_an_entity_like_one() {
    let drops = Arc::new(AtomicUsize::new(0));
    let counted = || Counted(Arc::clone(&drops));
    let mut world = World::new();
    let base = |n: u8| (n, counted(), Asleep).shared(7_i64).per_chunk('c');
    let more = |n: u32| (Name(n.to_string()), n, Hungry).const_shared("fixed");
    let whole = |n: u32| base(n as u8).and(more(n)).and(());
    let ants: Vec<Entity> = (0..40).map(|n| world.create(whole(n)).unwrap()).collect();
    let batch = world.create_batch((40..90_u32).map(|n| (n as u8, counted(), Asleep).and((n,))));
    let batch: Vec<Entity> = batch.unwrap().iter(&world).collect();
    let late = world.create(((),)).unwrap();
    world.add(late, more(90).and(base(90))).unwrap();
    let mut commands = world.commands();
    let recorded = commands.create(().and(whole(91))).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    // Rows move into holes, and along to other archetypes.
    for &ant in ants.iter().step_by(3) {
        world.destroy(ant).unwrap();
    }
    for &ant in ants.iter().skip(1).step_by(3) {
        assert!(world.remove::<(Asleep,)>(ant).unwrap());
    }
    let left = ants.iter().enumerate().filter(|(n, _)| n % 3 != 0);
    let left = left.map(|(n, &ant)| (n as u32, ant, n % 3 == 2));
    for (n, ant, asleep) in left.chain([(90, late, true), (91, recorded, true)]) {
        assert_eq!(world.get::<u8>(ant).unwrap(), &(n as u8));
        assert_eq!(world.get::<u32>(ant).unwrap(), &n);
        assert_eq!(world.get::<Name>(ant).unwrap().0, n.to_string());
        assert_eq!(world.shared::<i64>(ant).unwrap(), &7);
        assert_eq!(world.const_shared::<&str>(ant).unwrap(), &"fixed");
        assert_eq!(world.chunk_fragment::<char>(ant).unwrap(), &'c');
        assert!(world.has::<Hungry>(ant).unwrap());
        assert_eq!(world.has::<Asleep>(ant).unwrap(), asleep);
    }
    let numbers = batch.iter().map(|&ant| *world.get::<u32>(ant).unwrap());
    assert!(numbers.eq(40..90));
    assert_eq!(drops.swap(0, Ordering::Relaxed), 14);
    let twice = world.create((counted(),).and((1_u8, counted()).shared(1_i64)));
    assert!(matches!(twice, Err(WorldError::Fragment(_))));
    let twice = world.create((1_u8,).shared(1_i64).and(().shared(2_i64)));
    assert!(matches!(twice, Err(WorldError::Fragment(_))));
    assert_eq!(drops.swap(0, Ordering::Relaxed), 2);
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 26 + 50 + 2);
}

#[test]
fn errors_and_reports_are_values_that_can_be_copied_and_compared() {
    fn value<T: Clone + PartialEq + std::fmt::Debug>(value: &T) -> T {
        let copy = value.clone();
        assert_eq!(&copy, value);
        copy
    }
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    let missing = world.get::<u32>(ant).map(|_| ());
    assert_eq!(value(&missing), world.get::<u32>(ant).map(|_| ()));
    world.destroy(ant).unwrap();
    assert_ne!(missing, world.get::<u32>(ant).map(|_| ()));
    let report = world.destroy_slice(&[ant]);
    assert_eq!(value(&report).into_result(), world.destroy(ant).map(|()| 1));
    assert_eq!(value(&world.flush()), world.flush());
    let mut schedule = Schedule::new();
    schedule.add(processor("count", |_: &u32| {}));
    let refused = schedule.run(&mut world).unwrap_err();
    assert_eq!(value(&refused), schedule.run(&mut world).unwrap_err());

    let file = |path: &str| World::load(path, Universe::new(), &Default::default()).map(|_| ());
    let (one, other) = (
        file("no such file").unwrap_err(),
        file("nor this").unwrap_err(),
    );
    assert_eq!(value(&one), one);
    assert_ne!(one, other);
    let SnapshotError::File { source, .. } = one else {
        panic!("{one}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
    let refused = |kind: std::io::ErrorKind| SystemError::from(std::io::Error::from(kind));
    let [denied, full] = [
        std::io::ErrorKind::PermissionDenied,
        std::io::ErrorKind::OutOfMemory,
    ];
    assert_eq!(value(&refused(denied)), refused(denied));
    assert_ne!(refused(denied), refused(full));
}

#[test]
fn what_tells_cases_apart_is_a_key() {
    fn distinct<T: Eq + Hash>(all: impl IntoIterator<Item = T>) -> usize {
        all.into_iter().collect::<HashSet<T>>().len()
    }
    let (world, other) = (World::new(), World::new());
    let signals = [&world, &world, &other].map(|world| world.signal::<u8>("hit").unwrap());
    let named = world.signal::<u8>("healed").unwrap();
    assert_eq!(distinct(signals.into_iter().chain([named])), 3);
    assert_eq!(distinct([1, 2, 1].map(|capacity| Full { capacity })), 2);
    assert_eq!(distinct([Access::Read, Access::Write, Access::Read]), 2);
    assert_eq!(distinct([Lack::Fragment, Lack::Match, Lack::Match]), 2);
    assert_eq!(distinct([Relation::Before, Relation::After]), 2);
    assert_eq!(distinct([Rate::EveryFrame, Rate::EveryFrame]), 1);
    assert_eq!(distinct([1, 2, 2].map(Budget::Entities)), 2);
    assert_eq!(distinct([Execution::default(), Execution::Alone]), 2);
    assert_eq!(distinct([FlawPlace::World, FlawPlace::World]), 1);
}

/// A program that imports the prelude alone.
mod program {
    use megachunk::prelude::*;

    fn register(registry: &FragmentRegistry) -> Result<(), FragmentError> {
        registry.register_plain::<u32>().map(drop)
    }

    pub(super) fn saved() -> Result<Vec<u8>, SnapshotError> {
        let mut world = World::new();
        register(world.registry()).unwrap();
        world.create((7_u32,)).unwrap();
        world.compact(Budget::Unlimited);
        world.to_snapshot(&SnapshotOptions::new())
    }

    pub(super) fn loaded(bytes: &[u8]) -> Result<(World, EntityMap), SnapshotError> {
        let universe = std::sync::Arc::new(Universe::new());
        register(universe.registry()).unwrap();
        World::from_snapshot_remapped(bytes, &universe, &EntityMap::default(), &Default::default())
    }

    pub(super) fn is_long(chunk: &ChunkView<'_>) -> bool {
        chunk.len() > 1
    }

    pub(super) fn carried(world: &World) -> Result<(), SignalError> {
        world.signal::<u8>("hit")?;
        world.signal::<u16>("hit").map(drop)
    }

    pub(super) fn spawned(world: &mut World) -> Result<(), SpawnError> {
        Spawner::new(1).spawn(world).map(drop)
    }

    pub(super) fn updated(app: &mut App) -> Result<(), AppError> {
        app.update(std::time::Duration::ZERO)
    }
}

#[test]
fn a_program_names_what_it_is_told_by_the_prelude_alone() {
    let (mut world, come) = program::loaded(&program::saved().unwrap()).unwrap();
    assert_eq!((world.count(), come.len()), (1, 1));
    assert!(program::loaded(b"no snapshot").is_err());
    let long = world.query::<&u32, ()>().unwrap();
    assert_eq!(long.filter_chunks(program::is_long).count(), 0);
    assert!(program::carried(&world).is_err());
    assert!(program::updated(&mut App::new()).is_ok());
    assert!(program::spawned(&mut world).is_err(), "there is no kind");
}
