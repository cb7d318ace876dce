//! Copies of prototypes that recorders create: what they are, in which order, on how many threads; drops and panics.
//!
//! Memory that ends is tried by the unit tests of the command room.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counted::{Counted, FUSE};
use megachunk::command::RecordedBatch;
use megachunk::fragment::{DynamicBundle, FragmentError, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::world::{Prototype, SnapshotOptions};

/// Plain data of seven bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Odd([u8; 7]);
megachunk::plain!(Odd { 0 });
#[derive(Clone, Copy, Debug, PartialEq)]
struct Energy(u64);
megachunk::plain!(Energy { 0 });
#[derive(Clone, Copy, Debug)]
struct Asleep;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

fn prototype<const N: usize>(registry: &FragmentRegistry, values: [Value; N]) -> Prototype {
    let values: DynamicBundle = values.into_iter().collect();
    Prototype::new(registry, values).unwrap()
}

fn cloneable<T: Clone + Send + Sync + 'static>(registry: &FragmentRegistry, value: T) -> Value {
    Value::cloneable(registry, value).unwrap()
}

/// An ant of everything: plain, cloned, a tag, shared, const shared, for each chunk.
fn ant(registry: &FragmentRegistry) -> Prototype {
    registry.register_plain::<Odd>().unwrap();
    registry.register_plain::<Energy>().unwrap();
    prototype(
        registry,
        [
            cloneable(registry, Odd([1, 2, 3, 4, 5, 6, 7])),
            cloneable(registry, Energy(9)),
            cloneable(registry, String::from("ant")),
            cloneable(registry, Asleep),
            Value::shared(registry, Team(3)).unwrap(),
            Value::const_shared(registry, 5_u64).unwrap(),
            Value::per_chunk(registry, String::from("near")).unwrap(),
        ],
    )
}

fn ordered() -> World {
    World::of(&Arc::new(Universe::ordered())).unwrap()
}

/// A hash of all entities and their plain values.
fn hash(world: &World) -> u64 {
    let options = SnapshotOptions::new().skip_not_plain();
    world.state_hash(&options).unwrap()
}

/// A world, and nothing but it in its universe.
fn sound(world: &World) {
    world.universe().check([world]).unwrap();
}

#[test]
fn what_a_recorder_copies_is_what_the_world_copies() {
    for count in [0, 1, 2, 100, 1_000, 20_000] {
        let (mut at_once, mut recorded) = (ordered(), ordered());
        let prototypes = [&at_once, &recorded].map(|world| ant(world.registry()));
        let energy = |number: usize| (Energy(number as u64), number as u32);
        let batch = at_once.create_copies(&prototypes[0], count).unwrap();
        let mut first: Vec<Entity> = batch.iter(&at_once).collect();
        let batch = at_once.create_copies_with(&prototypes[0], count, energy);
        first.extend(batch.unwrap().iter(&at_once));

        let mut commands = recorded.commands();
        let batch = commands.create_copies(&prototypes[1], count).unwrap();
        assert_eq!((batch.len(), batch.is_empty()), (count, count == 0));
        let mut second: Vec<Entity> = batch.iter(&commands).collect();
        let batch = commands.create_copies_with(&prototypes[1], count, energy);
        second.extend(batch.unwrap().iter(&commands));
        drop(commands);
        sound(&recorded);
        let report = recorded.flush();
        assert!(report.is_clean());
        assert_eq!(report.created, 2 * count);
        sound(&recorded);
        assert_eq!(first, second);
        assert_eq!(hash(&at_once), hash(&recorded));
        for (at, &ant) in second.iter().enumerate() {
            let energy = if at < count { 9 } else { (at - count) as u64 };
            assert_eq!(recorded.get::<Energy>(ant).unwrap().0, energy);
            assert_eq!(recorded.get::<Odd>(ant).unwrap().0, [1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(recorded.get::<String>(ant).unwrap(), "ant");
            assert!(recorded.has::<Asleep>(ant).unwrap());
            assert_eq!(recorded.shared::<Team>(ant).unwrap(), &Team(3));
            assert_eq!(recorded.const_shared::<u64>(ant).unwrap(), &5);
            assert_eq!(recorded.chunk_fragment::<String>(ant).unwrap(), "near");
        }
    }
}

#[test]
fn copies_one_by_one_are_as_those_of_one_call() {
    let (mut singly, mut together) = (ordered(), ordered());
    let prototypes = [&singly, &together].map(|world| ant(world.registry()));
    // More flushes than one: what a recorder knows of a prototype outlives them.
    for _ in 0..3 {
        let mut commands = singly.commands();
        let first = (0..3_000).map(|_| commands.create_copy(&prototypes[0]).unwrap());
        let first: Vec<Entity> = first.collect();
        drop(commands);
        let mut commands = together.commands();
        let batch = commands.create_copies(&prototypes[1], 3_000).unwrap();
        let second: Vec<Entity> = batch.iter(&commands).collect();
        drop(commands);
        assert_eq!(first, second);
        assert_eq!(singly.flush().created, 3_000);
        assert_eq!(together.flush().created, 3_000);
        sound(&singly);
        sound(&together);
    }
    assert_eq!(hash(&singly), hash(&together));
}

#[test]
fn a_batch_is_asked_of_the_recorder_that_made_it() {
    let (mut world, other_world) = (World::new(), World::new());
    let mut commands = world.commands();
    let batch = commands.create_batch([(1_u32,), (2,)]).unwrap();
    assert_eq!(batch.iter(&commands).count(), 2);
    let mut beside = world.commands();
    beside.create_batch([(3_u32,), (4,)]).unwrap();
    assert_eq!(batch.iter(&beside).next(), None);
    let mut elsewhere = other_world.commands();
    elsewhere.create_batch([(5_u32,), (6,)]).unwrap();
    assert_eq!(batch.iter(&elsewhere).next(), None);
    drop((commands, beside));
    assert_eq!(world.flush().created, 4);
    // What it recorded with serves again.
    let mut later = world.commands();
    later.create_batch([(7_u32,), (8,)]).unwrap();
    assert_eq!(batch.iter(&later).next(), None);
    assert_eq!(RecordedBatch::default().iter(&later).next(), None);
}

#[test]
fn a_copy_of_the_world_s_own_is_as_those_of_one_call() {
    let (mut singly, mut together) = (ordered(), ordered());
    let prototypes = [&singly, &together].map(|world| ant(world.registry()));
    let first = (0..3_000).map(|_| singly.create_copy(&prototypes[0]).unwrap());
    let first: Vec<Entity> = first.collect();
    let batch = together.create_copies(&prototypes[1], 3_000).unwrap();
    assert!(batch.iter(&together).eq(first));
    assert_eq!(hash(&singly), hash(&together));
    sound(&singly);
    let foreign = singly.create_copy(&prototypes[1]).unwrap_err();
    assert_eq!(foreign, WorldError::OtherUniverse);
}

#[test]
fn a_copy_lives_at_once_and_its_recorder_reads_and_changes_it() {
    let mut world = World::new();
    let ant = ant(world.registry());
    let mut commands = world.commands();
    let first = commands.create_copy(&ant).unwrap();
    let batch = commands.create_copies(&ant, 2_000).unwrap();
    let last = batch.iter(&commands).last().unwrap();
    assert!(commands.exists(first) && commands.exists(last));
    for entity in [first, last] {
        assert_eq!(commands.get::<Odd>(entity).unwrap().0[6], 7);
        commands.get_mut::<String>(entity).unwrap().push('!');
        assert!(matches!(
            commands.get::<f32>(entity),
            Err(WorldError::Missing { .. })
        ));
    }
    commands.add(last, (0.5_f32,)).unwrap();
    commands.destroy(first);
    drop(commands);
    let report = world.flush();
    assert_eq!((report.created, report.destroyed), (2_001, 1));
    assert!(!world.exists(first));
    assert_eq!(world.get::<String>(last).unwrap(), "ant!");
    assert_eq!(world.get::<f32>(last).unwrap(), &0.5);
    sound(&world);
}

#[test]
fn copies_are_the_same_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut world = ordered();
            let ants = [ant(world.registry()), ant(world.registry())];
            let worm = prototype(world.registry(), [cloneable(world.registry(), Energy(4))]);
            let mut seen = Vec::new();
            for _ in 0..3 {
                let made = std::sync::Mutex::new(vec![Vec::new(); 40]);
                let parallel = world.parallel_commands_for(40);
                rayon::scope(|scope| {
                    for piece in 0..40_usize {
                        let (parallel, ants, worm, made) = (&parallel, &ants, &worm, &made);
                        scope.spawn(move |_| {
                            let mut commands = parallel.open_at(piece as u64);
                            let mut mine = Vec::new();
                            for part in 0..5 {
                                let count = 12 * piece * part;
                                let ants = &ants[part % 2];
                                mine.push(commands.create_copy(worm).unwrap());
                                let batch = commands.create_copies(ants, count).unwrap();
                                mine.extend(batch.iter(&commands));
                                let batch = commands
                                    .create_copies_with(worm, count, |at| (Energy(at as u64),));
                                mine.extend(batch.unwrap().iter(&commands));
                                mine.push(commands.create((Energy(1),)).unwrap());
                            }
                            made.lock().unwrap()[piece] = mine;
                        });
                    }
                });
                let report = world.flush();
                assert_eq!(report.by_chance, 0);
                seen.push((made.into_inner().unwrap(), report.created, hash(&world)));
                sound(&world);
            }
            seen
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(4));
}

#[test]
fn copies_with_shared_values_come_to_their_groups() {
    let mut world = World::new();
    let registry = world.registry();
    let team = |team| {
        let values = [
            cloneable(registry, 1_u32),
            Value::shared(registry, Team(team)).unwrap(),
        ];
        prototype(registry, values)
    };
    let (red, blue, also_red) = (team(1), team(2), team(1));
    let old = world.create((7_u32,).shared(Team(1))).unwrap();
    for _ in 0..3 {
        let mut commands = world.commands();
        let reds = commands.create_copies(&red, 500).unwrap();
        let blues = commands.create_copies(&blue, 500).unwrap();
        let more = commands.create_copy(&also_red).unwrap();
        let typed = commands.create((7_u32,).shared(Team(1))).unwrap();
        let of = |batch: &RecordedBatch| batch.iter(&commands).collect::<Vec<_>>();
        let (reds, blues) = (of(&reds), of(&blues));
        drop(commands);
        assert_eq!(world.flush().created, 1_002);
        let place = |entity| core::ptr::from_ref(world.shared::<Team>(entity).unwrap());
        for &red in reds.iter().chain([&more, &typed]) {
            assert_eq!(place(red), place(old));
        }
        for &blue in &blues {
            assert_eq!(world.shared::<Team>(blue).unwrap(), &Team(2));
        }
        sound(&world);
    }
    drop((red, blue, also_red));
    assert_eq!(world.clear(), 3_007);
    sound(&world);
}

#[test]
fn chunks_of_each_kind_begin_with_their_own_prototypes_value() {
    let mut world = World::new();
    let registry = world.registry();
    let level = |name: &str| Value::per_chunk(registry, String::from(name)).unwrap();
    let ant = prototype(registry, [cloneable(registry, 1_u32), level("ants'")]);
    let bee = prototype(registry, [cloneable(registry, 1_u64), level("bees'")]);
    let mut commands = world.commands();
    let first = commands.create_copy(&ant).unwrap();
    let bees = commands.create_copies(&bee, 10_000).unwrap();
    let bees: Vec<Entity> = bees.iter(&commands).collect();
    let second = commands.create_copy(&ant).unwrap();
    drop(commands);
    // What the recorder has kept of it does not go with it.
    drop((ant, bee));
    assert!(world.flush().is_clean());
    for ant in [first, second] {
        assert_eq!(world.chunk_fragment::<String>(ant).unwrap(), "ants'");
    }
    for &bee in &bees {
        assert_eq!(world.chunk_fragment::<String>(bee).unwrap(), "bees'");
    }
    sound(&world);
}

#[test]
fn observers_see_copies_in_the_flush_as_one_batch() {
    #[derive(Default)]
    struct Seen(Vec<usize>);
    let mut world = World::new();
    world.resources_mut().insert(Seen::default());
    world
        .observe::<Energy, ()>(Observed::CREATE, |batch, _| {
            let mut sum = 0;
            batch
                .for_each::<&Energy>(|energy| sum += energy.0 as usize)
                .unwrap();
            assert_eq!(sum, (0..batch.len()).sum::<usize>());
            let len = batch.len();
            batch.resources_mut().get_mut::<Seen>().unwrap().0.push(len);
        })
        .unwrap();
    let ant = ant(world.registry());
    let mut commands = world.commands();
    let made = commands.create_copies_with(&ant, 5_000, |at| (Energy(at as u64),));
    assert_eq!(made.unwrap().len(), 5_000);
    drop(commands);
    assert!(world.resources().get::<Seen>().unwrap().0.is_empty());
    assert!(world.flush().is_clean());
    assert_eq!(world.resources().get::<Seen>().unwrap().0, [5_000]);
    sound(&world);
}

#[test]
fn whichever_clone_panics_none_of_its_call_is_left() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let registry = world.registry();
    let ant = prototype(
        registry,
        [
            cloneable(registry, Counted::new(&alive)),
            cloneable(registry, 3_u8),
            cloneable(registry, (Counted::new(&alive), [1_u64; 20])),
            Value::shared(registry, Team(1)).unwrap(),
            Value::per_chunk(registry, 0.5_f64).unwrap(),
        ],
    );
    for (count, step) in [(1, 1), (400, 7), (2_000, 97)] {
        for call in (1..=2 * count).step_by(step) {
            let mut commands = world.commands();
            let before = commands.create_copies(&ant, 30).unwrap();
            let before: Vec<Entity> = before.iter(&commands).collect();
            FUSE.set(call);
            let result = catch_unwind(AssertUnwindSafe(|| match count {
                1 => drop(commands.create_copy(&ant)),
                _ => drop(commands.create_copies(&ant, count)),
            }));
            assert!(result.is_err() && FUSE.replace(0) == 0);
            assert_eq!(alive.load(Ordering::Relaxed), 2 + 60);
            assert_eq!(world.universe().count(), 30);
            let after = commands.create_copies(&ant, 30).unwrap();
            let after: Vec<Entity> = after.iter(&commands).collect();
            drop(commands);
            sound(&world);
            let report = world.flush();
            assert_eq!((report.created, report.is_clean()), (60, true));
            sound(&world);
            for &ant in before.iter().chain(&after) {
                assert_eq!(world.get::<u8>(ant).unwrap(), &3);
                assert_eq!(world.shared::<Team>(ant).unwrap(), &Team(1));
            }
            assert_eq!(world.clear(), 60);
            assert_eq!(alive.load(Ordering::Relaxed), 2);
        }
    }
    drop((world, ant));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// A counted value among others.
struct Numbered {
    _counted: Counted,
    _number: usize,
}

impl Numbered {
    fn new(alive: &Arc<AtomicUsize>, number: usize) -> Self {
        Self {
            _counted: Counted::new(alive),
            _number: number,
        }
    }
}

#[test]
fn what_a_panicking_closure_has_made_goes_with_the_clones() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let registry = world.registry();
    let ant = prototype(
        registry,
        [
            cloneable(registry, Counted::new(&alive)),
            cloneable(registry, 3_u8),
        ],
    );
    for at in [0, 1, 77, 2_999, 3_000] {
        let mut commands = world.commands();
        let mut called = 0;
        let made = catch_unwind(AssertUnwindSafe(|| {
            commands.create_copies_with(&ant, 3_000, |number| {
                assert_eq!(number, called, "in order");
                called += 1;
                if number == at {
                    resume_unwind(Box::new("made enough"));
                }
                (number as u8, Numbered::new(&alive, number))
            })
        }));
        let stay = if at == 3_000 { 3_000 } else { 0 };
        assert_eq!((made.is_ok(), called), (stay > 0, 3_000.min(at + 1)));
        assert_eq!(alive.load(Ordering::Relaxed), 1 + 2 * stay);
        drop(commands);
        sound(&world);
        assert_eq!(world.flush().created, stay);
        assert_eq!(world.count(), stay);
        sound(&world);
    }
}

#[test]
fn what_the_closure_gives_is_not_cloned_before() {
    let (alive, other) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut world = World::new();
    let registry = world.registry();
    let ant = prototype(registry, [cloneable(registry, Counted::new(&alive))]);
    let mut commands = world.commands();
    FUSE.set(1);
    let batch = commands.create_copies_with(&ant, 10, |_| (Counted::new(&other),));
    FUSE.set(0);
    assert_eq!(batch.unwrap().len(), 10);
    let counts = || [&alive, &other].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts(), [1, 10]);
    // The same prototype all by itself is another way.
    commands.create_copy(&ant).unwrap();
    assert_eq!(counts(), [2, 10]);
    // A closure without a bundle is called all the same.
    let mut calls = 0;
    commands
        .create_copies_with(&ant, 3, |_| calls += 1)
        .unwrap();
    assert_eq!((calls, counts()), (3, [5, 10]));
    drop(commands);
    assert_eq!(world.flush().created, 14);
    sound(&world);
    drop((world, ant));
    assert_eq!(counts(), [0, 0]);
}

#[test]
fn what_was_never_flushed_is_dropped_once() {
    let alive = Arc::new(AtomicUsize::new(0));
    let world = World::new();
    let registry = world.registry();
    let ant = prototype(
        registry,
        [
            cloneable(registry, Counted::new(&alive)),
            Value::per_chunk(registry, Counted::new(&alive)).unwrap(),
        ],
    );
    let mut commands = world.commands();
    assert_eq!(commands.create_copies(&ant, 1_000).unwrap().len(), 1_000);
    drop(commands);
    drop(world);
    drop(ant);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn many_prototypes_come_and_go() {
    let mut world = World::new();
    let mut created = 0;
    for round in 0..4_u64 {
        let registry = world.registry();
        let ants: Vec<Prototype> = (0..400)
            .map(|n| {
                let team = Value::shared(registry, Team((n % 3) as u8)).unwrap();
                let energy = cloneable(registry, Energy(1_000 * round + n));
                match n % 2 {
                    0 => prototype(registry, [energy]),
                    _ => prototype(registry, [energy, team]),
                }
            })
            .collect();
        for _ in 0..2 {
            let mut commands = world.commands();
            for (n, ant) in (0..).zip(&ants) {
                let made = commands.create_copy(ant).unwrap();
                let energy = commands.get::<Energy>(made).unwrap();
                assert_eq!(energy.0, 1_000 * round + n);
            }
            for (n, ant) in (0..).zip(&ants).step_by(7) {
                let made = commands
                    .create_copies_with(ant, 2, |at| (at as u8,))
                    .unwrap();
                for (at, made) in made.iter(&commands).enumerate() {
                    assert_eq!(commands.get::<u8>(made).unwrap(), &(at as u8));
                    assert_eq!(commands.get::<Energy>(made).unwrap().0, 1_000 * round + n);
                }
            }
            drop(commands);
            created += 400 + 2 * 58;
            assert!(world.flush().is_clean());
            assert_eq!(world.count(), created);
            sound(&world);
        }
    }
}

#[test]
fn a_chunk_size_that_changes_reaches_copies_too() {
    let mut world = World::new();
    let ant = ant(world.registry());
    for chunks in [1, 8, 2] {
        world.set_chunk_size(chunks);
        let mut commands = world.commands();
        let made = commands.create_copies(&ant, 3_000).unwrap();
        let last = made.iter(&commands).last().unwrap();
        commands.create_copy(&ant).unwrap();
        drop(commands);
        assert_eq!(world.flush().created, 3_001);
        assert_eq!(world.get::<String>(last).unwrap(), "ant");
        sound(&world);
    }
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let mut world = World::new();
    let elsewhere = FragmentRegistry::new();
    let foreign = prototype(&elsewhere, [cloneable(&elsewhere, 1_u8)]);
    let ant = ant(world.registry());
    let mut commands = world.commands();
    for _ in 0..2 {
        let errors = [
            commands.create_copy(&foreign).map(|_| ()),
            commands.create_copies(&foreign, 5).map(|_| ()),
            commands
                .create_copies_with(&foreign, 5, |_| (1_u8,))
                .map(|_| ()),
        ];
        for error in errors {
            assert_eq!(error, Err(WorldError::OtherUniverse));
        }
        let twice = commands.create_copies_with(&ant, 1, |_| (1_u8, 2_u8));
        assert!(matches!(
            twice,
            Err(WorldError::Fragment(FragmentError::Twice { .. }))
        ));
        for count in [usize::MAX, 134_217_729] {
            let error = commands.create_copies(&ant, count);
            assert!(matches!(error, Err(WorldError::Full(_))));
        }
    }
    // None of them has left anything.
    drop(commands);
    assert_eq!(world.flush().created, 0);
    assert_eq!(world.archetypes().len(), 0);
    sound(&world);
}

#[test]
fn a_recorders_chunk_fragments_stay_with_their_composition() {
    #[derive(Clone, Debug, PartialEq)]
    struct Start(u32);
    let mut world = World::new();
    let registry = world.registry();
    let values = DynamicBundle::new()
        .with(Value::cloneable(registry, 1_u8).unwrap())
        .with(Value::per_chunk(registry, Start(2)).unwrap());
    let prototype = Prototype::new(registry, values).unwrap();
    let mut commands = world.commands();
    let copy = commands.create_copy(&prototype).unwrap();
    let other = commands.create((1_u16,).per_chunk(Start(1))).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.chunk_fragment::<Start>(copy).unwrap(), &Start(2));
    assert_eq!(world.chunk_fragment::<Start>(other).unwrap(), &Start(1));
    world.check().unwrap();
}

#[test]
fn what_has_no_fragments_is_refused_by_other_universes_too() {
    let (one, mut two) = (World::new(), World::new());
    let empty = Prototype::new(one.registry(), DynamicBundle::new()).unwrap();
    assert!(matches!(
        two.create_copies(&empty, 1),
        Err(WorldError::OtherUniverse)
    ));
    assert!(matches!(
        two.commands().create_copy(&empty),
        Err(WorldError::OtherUniverse)
    ));
    assert!(two.flush().is_clean() && two.is_empty());
}

#[test]
fn copies_that_are_none_keep_no_shared_value() {
    let mut world = World::new();
    let held = Arc::new(7_u32);
    let shared = Value::shared(world.registry(), Arc::clone(&held)).unwrap();
    let energy = cloneable(world.registry(), Energy(1));
    let none = prototype(world.registry(), [energy, shared]);
    world.commands().create_copies(&none, 0).unwrap();
    drop(none);
    assert_eq!(world.flush().created, 0);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn ids_by_chance_are_told_though_nothing_else_was_recorded() {
    let told = |copies: bool| {
        let mut world = ordered();
        let commands = world.parallel_commands_for(1);
        let mut recorder = commands.open_at(7);
        recorder.reserve().unwrap();
        if copies {
            let shared = Value::shared(world.registry(), Team(1)).unwrap();
            let energy = cloneable(world.registry(), Energy(1));
            let none = prototype(world.registry(), [energy, shared]);
            recorder.create_copies(&none, 0).unwrap();
        }
        drop(recorder);
        drop(commands);
        let first = world.flush().by_chance;
        world.commands().create((1_u8,)).unwrap();
        (first, first + world.flush().by_chance)
    };
    assert_eq!(told(true), told(false));
    assert_eq!(told(false).0, 1);
}
