//! Whole chunks change their composition: their columns stay where they are, and nobody can tell.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::DynamicBundle;
use megachunk::prelude::*;
use megachunk::world::{Budget, Prototype, SnapshotOptions, Universe};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide([u64; 12]);
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(256))]
struct Aligned(u64);
#[derive(Debug, PartialEq)]
struct Name(String);
#[derive(Clone, Copy)]
struct Asleep;

megachunk::plain!(Wide { 0 });
megachunk::plain!(Asleep {});

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn wide(n: usize) -> Wide {
    Wide([n as u64; 12])
}

fn universe() -> Universe {
    let universe = Universe::new();
    let registry = universe.registry();
    registry.register_plain::<Wide>().unwrap();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_plain::<u8>().unwrap();
    registry.register_plain::<Asleep>().unwrap();
    universe
}

/// A world of ants that are wide, and the ants.
fn world_of(count: usize) -> (World, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let batch = world.create_batch((0..count).map(|n| (wide(n), n as u64)));
    let ants = batch.unwrap().iter(&world).collect();
    (world, ants)
}

/// The address of an ant's wide fragment.
fn address(world: &World, ant: Entity) -> *const Wide {
    world.get::<Wide>(ant).unwrap()
}

#[test]
fn what_stays_is_not_copied_when_a_small_fragment_comes_and_goes() {
    let (mut world, ants) = world_of(5_000);
    let before = address(&world, ants[17]);
    assert!(world.add_slice(&ants, |at| (at as u32,)).is_clean());
    world.check().unwrap();
    assert_eq!(address(&world, ants[17]), before);
    assert!(world.stats().record_bytes > 4 * 4_000, "it lies outside");
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.get::<u32>(ant).unwrap(), &(n as u32));
        assert_eq!(world.get::<Wide>(ant).unwrap(), &wide(n));
    }
    let sum = |world: &mut World| {
        let mut sum = 0;
        let mut query = world.query::<(&u32, &Wide), ()>().unwrap();
        query.for_each(|(&number, wide)| sum += u64::from(number) + wide.0[11]);
        sum
    };
    assert_eq!(sum(&mut world), 4_999 * 5_000);
    assert_eq!(world.remove_slice::<(u32,)>(&ants).done, 5_000);
    world.check().unwrap();
    assert_eq!(address(&world, ants[17]), before);
    assert_eq!(sum(&mut world), 0);
}

/// A fragment of four bytes. Its name, and so the order of a chunk's arrays, is another for each `N`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load<const N: u32>(u32);

/// A tag with a column: it must be dropped.
struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

static HELD: AtomicUsize = AtomicUsize::new(0);

/// `Load<N>` comes to all of a chunk, by a call and by a flush, and goes.
fn comes_and_goes<const N: u32>() {
    const COUNT: usize = 3_000;
    let mut world = World::new();
    HELD.store(COUNT, Ordering::Relaxed);
    let batch = world.create_batch((0..COUNT).map(|n| (wide(n), Held)));
    let ants: Vec<Entity> = batch.unwrap().iter(&world).collect();
    let mut expected: Vec<_> = (0..COUNT).map(|n| (ants[n], n as u32, n as u64)).collect();
    expected.sort_unstable();
    let is_right = |world: &mut World| {
        let mut query = world
            .query::<(Entity, &Load<N>, &Wide), With<Held>>()
            .unwrap();
        let rows = query.iter();
        let mut rows: Vec<_> = rows
            .map(|(ant, load, wide)| (ant, load.0, wide.0[3]))
            .collect();
        rows.sort_unstable();
        rows == expected
    };
    assert!(
        world
            .add_slice(&ants, |n| (Load::<N>(n as u32),))
            .is_clean()
    );
    world.universe().check([&world]).unwrap();
    assert!(is_right(&mut world), "Load<{N}>");
    assert_eq!(world.remove_slice::<(Load<N>,)>(&ants).done, COUNT);
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate() {
        commands.add(ant, (Load::<N>(n as u32),)).unwrap();
    }
    drop(commands);
    assert_eq!(world.flush().moved, COUNT);
    world.universe().check([&world]).unwrap();
    assert!(is_right(&mut world), "Load<{N}>");
    assert_eq!(HELD.load(Ordering::Relaxed), COUNT);
    drop(world);
    assert_eq!(HELD.load(Ordering::Relaxed), 0);
}

#[test]
fn what_comes_has_an_array_of_its_own_wherever_a_tag_lies() {
    macro_rules! each {
        ($($n:literal)*) => { $(comes_and_goes::<$n>();)* };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11);
}

#[test]
fn chunks_whose_columns_stayed_serve_every_call() {
    let (mut world, ants) = world_of(5_000);
    let mut changed = Query::<&u64, Changed<u64>>::new(&world).unwrap();
    assert_eq!(changed.read(&world).count(), 5_000);
    let all = world.matching::<With<Wide>>().unwrap();
    assert_eq!(all.add(|_| (7_u32, Asleep)).unwrap(), 5_000);
    assert_eq!(changed.read(&world).count(), 5_000, "all counts as new");
    world.check().unwrap();
    // New ones come behind those that are there.
    let mut new = Vec::new();
    for n in 5_000..5_500 {
        let bundle = (wide(n), n as u64, 7_u32, Asleep);
        new.push(world.create(bundle).unwrap());
    }
    // One by one they leave, come back, die.
    for &ant in ants.iter().step_by(3) {
        world.remove::<(u32,)>(ant).unwrap();
    }
    for &ant in ants.iter().step_by(6) {
        world.add(ant, (8_u32,)).unwrap();
        *world.get_mut::<u64>(ant).unwrap() += 1;
    }
    for &ant in ants.iter().step_by(7) {
        world.destroy(ant).unwrap();
    }
    let doomed: Vec<Entity> = ants.iter().skip(1).step_by(14).copied().collect();
    assert!(world.destroy_slice(&doomed).is_clean());
    world.check().unwrap();
    // Tags and runs within.
    let asleep = world.matching::<(With<Asleep>, With<u32>)>().unwrap();
    asleep.remove::<(Asleep,)>().unwrap();
    world
        .add_slice(&ants[1_000..1_200], |_| (Asleep,))
        .refused
        .len();
    world.check().unwrap();
    let mut moved = Query::<Entity, With<u32>>::new(&world).unwrap();
    let count = moved.read(&world).count();
    let mut other = World::of(world.universe()).unwrap();
    moved.change(&mut world).move_to(&mut other).unwrap();
    assert_eq!(other.count(), count);
    other.compact(Budget::Unlimited);
    world.compact(Budget::Unlimited);
    world.check().unwrap();
    other.check().unwrap();
    for (n, &ant) in ants.iter().chain(&new).enumerate() {
        let dead = n < 5_000 && (n % 7 == 0 || n % 14 == 1);
        let (here, there) = (world.exists(ant), other.exists(ant));
        assert_eq!(here || there, !dead, "{n}");
        if dead {
            continue;
        }
        let home = if here { &world } else { &other };
        let more = u64::from(n < 5_000 && n % 6 == 0);
        assert_eq!(home.get::<u64>(ant).unwrap(), &(n as u64 + more));
        assert_eq!(home.get::<Wide>(ant).unwrap(), &wide(n));
        let number = (n >= 5_000 || n % 3 != 0).then_some(&7);
        let number = if n < 5_000 && n % 6 == 0 {
            Some(&8)
        } else {
            number
        };
        assert_eq!(home.get::<u32>(ant).ok(), number);
    }
}

#[test]
fn a_closure_that_panics_in_a_whole_chunk_leaves_those_before_done_and_drops_nothing_twice() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let bundles = (0..3_000).map(|n| (wide(n), Name(n.to_string())));
    let batch = world.create_batch(bundles).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let add = |world: &mut World| {
        world.add_slice(&ants, |at| {
            assert!(at < 1_234, "enough");
            (Counted(Arc::clone(&drops)), Asleep)
        })
    };
    let result = catch_unwind(AssertUnwindSafe(|| add(&mut world)));
    assert!(result.is_err());
    world.check().unwrap();
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.has::<Counted>(ant).unwrap(), n < 1_234, "{n}");
        assert_eq!(world.has::<Asleep>(ant).unwrap(), n < 1_234);
        assert_eq!(world.get::<Name>(ant).unwrap().0, n.to_string());
    }
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    world.remove_slice::<(Counted,)>(&ants).refused.len();
    assert_eq!(drops.load(Ordering::Relaxed), 1_234);
    world.check().unwrap();
    world
        .add_slice(&ants, |_| (Counted(Arc::clone(&drops)),))
        .refused
        .len();
    assert_eq!(world.clear(), 3_000);
    assert_eq!(drops.load(Ordering::Relaxed), 4_234);
    world.check().unwrap();
}

#[test]
fn a_fragment_that_wants_more_than_a_line_is_aligned_wherever_it_lies() {
    let (mut world, _) = world_of(3_000);
    let all = world.matching::<With<Wide>>().unwrap();
    all.add(|_| (1_u8,)).unwrap();
    let all = world.matching::<With<Wide>>().unwrap();
    all.add(|_| (Aligned(5),)).unwrap();
    let mut seen = 0;
    world
        .query::<(&Aligned, &u8), ()>()
        .unwrap()
        .for_each(|(aligned, _)| {
            assert_eq!((aligned.0, (&raw const *aligned).addr() % 256), (5, 0));
            seen += 1;
        });
    assert_eq!(seen, 3_000);
    world.check().unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Add32,
    Add64,
    Add8,
    Tag,
    Drop32,
    Drop64,
    Drop8,
    Untag,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Whatever comes and goes, as slices and one by one, the worlds are the same, and so are their snapshots.
    #[test]
    fn slices_and_single_calls_lead_to_one_state(
        count in 100_usize..3_000,
        steps in prop::collection::vec((0_usize..8, 0.0..1.0_f64, 0.0..1.2_f64), 1..10),
    ) {
        use Step::{Add8, Add32, Add64, Drop8, Drop32, Drop64, Tag, Untag};
        let all = [Add32, Add64, Add8, Tag, Drop32, Drop64, Drop8, Untag];
        let (mut world, ants) = world_of(count);
        let (mut twin, twins) = world_of(count);
        for (step, from, len) in steps {
            // Mostly all of them.
            let from = if len > 0.5 { 0 } else { (from * count as f64) as usize };
            let len = if len > 0.5 { count } else { (len * count as f64) as usize };
            let to = (from + len).min(count);
            let slice = &ants[from..to];
            let value = |at: usize| (from + at) as u32;
            let report = match all[step] {
                Add32 => world.add_slice(slice, |at| (value(at),)),
                Add64 => world.add_slice(slice, |at| (u64::from(value(at)) + 1,)),
                Add8 => world.add_slice(slice, |at| (value(at) as u8,)),
                Tag => world.add_slice(slice, |_| (Asleep,)),
                Drop32 => world.remove_slice::<(u32,)>(slice),
                Drop64 => world.remove_slice::<(u64,)>(slice),
                Drop8 => world.remove_slice::<(u8,)>(slice),
                Untag => world.remove_slice::<(Asleep,)>(slice),
            };
            prop_assert!(report.is_clean());
            prop_assert!(world.check().is_ok());
            for (at, &ant) in twins[from..to].iter().enumerate() {
                match all[step] {
                    Add32 => twin.add(ant, (value(at),)).unwrap(),
                    Add64 => twin.add(ant, (u64::from(value(at)) + 1,)).unwrap(),
                    Add8 => twin.add(ant, (value(at) as u8,)).unwrap(),
                    Tag => twin.add(ant, (Asleep,)).unwrap(),
                    Drop32 => drop(twin.remove::<(u32,)>(ant).unwrap()),
                    Drop64 => drop(twin.remove::<(u64,)>(ant).unwrap()),
                    Drop8 => drop(twin.remove::<(u8,)>(ant).unwrap()),
                    Untag => drop(twin.remove::<(Asleep,)>(ant).unwrap()),
                }
            }
            prop_assert_eq!(world.state_hash(&Default::default()).unwrap(), twin.state_hash(&Default::default()).unwrap());
        }
        let bytes = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        let loaded = World::from_snapshot(&bytes, universe(), &Default::default()).unwrap();
        prop_assert!(loaded.check().is_ok());
        prop_assert_eq!(loaded.state_hash(&Default::default()).unwrap(), twin.state_hash(&Default::default()).unwrap());
    }
}

/// Fills one more chunk to its last row; its entities.
fn fill_a_chunk<B: Bundle>(world: &mut World, bundle: impl Fn(usize) -> B) -> Vec<Entity> {
    let room = |world: &World| {
        let stats = world.stats();
        stats.capacity - stats.entities
    };
    assert_eq!(room(world), 0, "all chunks are full");
    let mut ants: Vec<Entity> = {
        let some = world.create_batch((0..100).map(&bundle)).unwrap();
        some.iter(world).collect()
    };
    let left = room(world);
    let rest = world
        .create_batch((0..left).map(|n| bundle(100 + n)))
        .unwrap();
    ants.extend(rest.iter(world));
    assert_eq!(room(world), 0);
    ants
}

/// A world with three chunks of wide ants, as it was saved: the first one, which a smaller fragment has left, has room
/// in the loaded one, where it is cut out anew; the second has no ants, the last has room for one.
fn loaded_with_an_empty_chunk_between() -> World {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let first = fill_a_chunk(&mut world, |n| (wide(n), n as u64));
    assert_eq!(world.remove_slice::<(u64,)>(&first).done, first.len());
    let second = fill_a_chunk(&mut world, |n| (wide(n),));
    let last = fill_a_chunk(&mut world, |n| (wide(n),));
    assert!(second.len() > first.len() && last.len() == second.len());
    second.iter().for_each(|&ant| world.destroy(ant).unwrap());
    world.destroy(last[7]).unwrap();
    let saved = world.to_snapshot(&SnapshotOptions::new()).unwrap();
    let loaded = World::from_snapshot(&saved, universe(), &Default::default()).unwrap();
    loaded.check().unwrap();
    assert_eq!(
        (loaded.stats().chunks, loaded.stats().empty_chunks),
        (3, 1),
        "the empty chunk was saved, too"
    );
    loaded
}

#[test]
fn a_batch_goes_again_whole_from_a_loaded_world_whatever_room_its_chunks_have() {
    for made in (0..1_000).step_by(3) {
        let mut world = loaded_with_an_empty_chunk_between();
        let (count, hash) = (
            world.count(),
            world.state_hash(&Default::default()).unwrap(),
        );
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            world.create_batch((0..1_000).map(|n| match n {
                n if n == made => panic!("here"),
                n => (wide(n),),
            }))
        }));
        assert!(outcome.is_err());
        assert_eq!(world.count(), count, "after {made}");
        world.check().unwrap();
        assert_eq!(world.state_hash(&Default::default()).unwrap(), hash);
    }
}

#[test]
fn copies_go_again_whole_from_a_loaded_world_whatever_room_its_chunks_have() {
    for count in 1..400 {
        let mut world = loaded_with_an_empty_chunk_between();
        let (before, hash) = (
            world.count(),
            world.state_hash(&Default::default()).unwrap(),
        );
        let nothing = Prototype::new(world.registry(), DynamicBundle::new()).unwrap();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            world.create_copies_with(&nothing, count, |n| match n {
                n if n == count / 2 => panic!("here"),
                n => (wide(n),),
            })
        }));
        assert!(outcome.is_err());
        assert_eq!(world.count(), before, "after {count}");
        world.check().unwrap();
        assert_eq!(world.state_hash(&Default::default()).unwrap(), hash);
    }
}

#[test]
fn a_batch_that_goes_again_leaves_no_chunk_that_it_has_begun() {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let ants = fill_a_chunk(&mut world, |n| (wide(n),));
    // The only chunk is full, or has room for one.
    for room in 0..2 {
        if room == 1 {
            world.trim();
            world.destroy(ants[3]).unwrap();
        }
        for made in 0..400 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                world.create_batch((0..400).map(|n| match n {
                    n if n == made => panic!("here"),
                    n => (wide(n),),
                }))
            }));
            assert!(outcome.is_err());
            let stats = world.stats();
            // One that is empty is kept where no other has room.
            let most = if room == 1 { 1 } else { 2 };
            assert!(stats.chunks <= most, "{} after {made}", stats.chunks);
            world.check().unwrap();
        }
    }
}
