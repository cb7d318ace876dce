//! The rows of the stack's behaviour that are the spawner's: shares, places, batches, all or none.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::counted::Counted;
use megachunk::entity::EntityIndex;
use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::template::spawner::{
    Disc, Grid, PoissonDisc, SpawnError, SpawnPoint, Spawned, Spawner,
};
use megachunk::world::{Budget, Prototype};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Position([f32; 3]);
megachunk::plain!(Position { 0 });

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Heading([f32; 2]);
megachunk::plain!(Heading { 0 });

/// Which kind, and a number among all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Kind(u64);
megachunk::plain!(Kind { 0 });

fn world() -> World {
    let world = World::new();
    world.registry().register_plain::<Position>().unwrap();
    world.registry().register_plain::<Heading>().unwrap();
    world.registry().register_plain::<Kind>().unwrap();
    world
}

fn kind(world: &World, number: u64) -> Arc<Prototype> {
    let registry = world.registry();
    let values = DynamicBundle::new()
        .with(Value::cloneable(registry, Position([9.0; 3])).unwrap())
        .with(Value::cloneable(registry, Heading([0.0, 1.0])).unwrap())
        .with(Value::cloneable(registry, Kind(number)).unwrap());
    Arc::new(Prototype::new(registry, values).unwrap())
}

/// Kinds 0, 1, 2 … in these proportions.
fn spawner(world: &World, total: usize, proportions: &[f64]) -> Spawner {
    let mut spawner = Spawner::new(total);
    for (number, &proportion) in proportions.iter().enumerate() {
        let prototype = kind(world, number as u64);
        spawner = spawner
            .prototype(&format!("kind {number}"), &prototype, proportion)
            .unwrap();
    }
    spawner
}

fn counts(spawned: &Spawned) -> Vec<usize> {
    spawned.counts().collect()
}

fn sound(world: &World) {
    world.check().unwrap_or_else(|error| panic!("{error}"));
    world
        .universe()
        .check([world])
        .unwrap_or_else(|error| panic!("{error}"));
}

// --- Shares ------------------------------------------------------------------------------------------

#[test]
fn three_equal_proportions_of_ten_give_four_three_three_in_order() {
    let mut world = world();
    let spawned = spawner(&world, 10, &[1.0, 1.0, 1.0])
        .spawn(&mut world)
        .unwrap();
    assert_eq!(counts(&spawned), [4, 3, 3]);
    for entry in 0..3 {
        for entity in spawned.of(entry) {
            assert_eq!(world.get::<Kind>(entity).unwrap().0, entry as u64);
        }
    }
    assert_eq!(spawned.iter().count(), 10);
    sound(&world);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shares_are_those_of_the_largest_remainder(
        proportions in prop::collection::vec(0_u32..50, 1..6),
        total in 0_usize..3_000,
    ) {
        let sum: u32 = proportions.iter().sum();
        prop_assume!(sum > 0);
        // The naive model: whole parts, then one each by remainder, the first of equals first.
        let quota = |p: u32| (total * p as usize / sum as usize, total * p as usize % sum as usize);
        let mut model: Vec<usize> = proportions.iter().map(|&p| quota(p).0).collect();
        let mut order: Vec<usize> = (0..model.len()).collect();
        order.sort_by(|&a, &b| quota(proportions[b]).1.cmp(&quota(proportions[a]).1));
        let left = total - model.iter().sum::<usize>();
        order.iter().take(left).for_each(|&at| model[at] += 1);

        let mut world = world();
        let given: Vec<f64> = proportions.iter().map(|&p| f64::from(p)).collect();
        let spawned = spawner(&world, total, &given).spawn(&mut world).unwrap();
        prop_assert_eq!(counts(&spawned), model);
        prop_assert_eq!(world.count(), total);
    }
}

#[test]
fn a_proportion_that_is_no_share_is_an_error_that_names_the_entry() {
    let world = world();
    let ant = kind(&world, 0);
    for proportion in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e-300] {
        let error = Spawner::new(10)
            .prototype("bee", &ant, 1.0)
            .unwrap()
            .prototype("ant", &ant, proportion)
            .unwrap_err();
        assert!(error.to_string().contains("\"ant\""), "{error}");
    }
}

#[test]
fn proportions_that_are_all_zero_and_no_entries_are_errors() {
    let mut world = world();
    let error = spawner(&world, 10, &[0.0, 0.0])
        .spawn(&mut world)
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("kind 0") && text.contains("kind 1"), "{text}");
    let error = Spawner::new(0).spawn(&mut world).unwrap_err();
    assert!(matches!(error, SpawnError::NoEntries));
}

#[test]
fn a_total_of_zero_creates_nothing() {
    let mut world = world();
    let spawned = spawner(&world, 0, &[1.0, 2.0]).spawn(&mut world).unwrap();
    assert!(spawned.is_empty() && world.is_empty());
    assert_eq!(spawned.despawn(&mut world), 0);
    assert_eq!(spawned.of(7).count(), 0);
    sound(&world);
}

#[test]
fn more_than_there_are_ids_are_refused_before_anything_is_done() {
    let mut world = world();
    for total in [usize::MAX, EntityIndex::CAPACITY + 1] {
        let error = spawner(&world, total, &[1.0, 1.0])
            .generator(PoissonDisc::new([0.0; 2], [9.0; 2], 1.0).unwrap())
            .spawn(&mut world);
        assert!(matches!(error, Err(SpawnError::World(WorldError::Full(_)))));
    }
    sound(&world);
}

// --- Places ------------------------------------------------------------------------------------------

#[test]
fn what_is_placed_stands_in_the_rows_and_the_rest_is_the_templates() {
    let mut world = world();
    let spawned = spawner(&world, 5_000, &[2.0, 1.0])
        .seed(3)
        .generator(Grid::new([1.0, 2.0, 3.0], 0.5, 100).unwrap())
        .place(|point: &SpawnPoint| (Position(point.position),))
        .spawn(&mut world)
        .unwrap();
    for (number, entity) in spawned.iter().enumerate() {
        let (row, column) = (number / 100, number % 100);
        let expected = [1.0 + column as f32 * 0.5, 2.0 + row as f32 * 0.5, 3.0];
        assert_eq!(world.get::<Position>(entity).unwrap().0, expected);
        assert_eq!(world.get::<Heading>(entity).unwrap().0, [0.0, 1.0]);
    }
    sound(&world);
}

#[test]
fn several_placements_write_their_own_fragments() {
    let mut world = world();
    let spawned = spawner(&world, 300, &[1.0])
        .generator(Disc::new([0.0; 3], 1.0).unwrap())
        .place(|point: &SpawnPoint| (Position(point.position), Heading(point.direction)))
        .place(|point: &SpawnPoint| (Kind(point.number),))
        .spawn(&mut world)
        .unwrap();
    for (number, entity) in spawned.iter().enumerate() {
        assert_eq!(world.get::<Kind>(entity).unwrap().0, number as u64);
        let [x, y] = world.get::<Heading>(entity).unwrap().0;
        assert!((x.hypot(y) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn a_fragment_that_is_placed_twice_or_that_an_entry_lacks_is_an_error_that_names_it() {
    let mut world = world();
    let twice = spawner(&world, 10, &[1.0])
        .place(|_: &SpawnPoint| (Kind(1),))
        .place(|_: &SpawnPoint| (Heading::default(), Kind(2)))
        .spawn(&mut world)
        .unwrap_err();
    assert!(twice.to_string().contains("Kind"), "{twice}");
    let missing = spawner(&world, 10, &[1.0, 0.0])
        .place(|_: &SpawnPoint| (7_u8,))
        .spawn(&mut world)
        .unwrap_err();
    let text = missing.to_string();
    assert!(text.contains("kind 0") && text.contains("u8"), "{text}");
    assert!(world.is_empty());
    sound(&world);
}

#[test]
fn shuffled_points_are_the_same_points_in_another_order() {
    let mut world = world();
    let run = |world: &mut World, shuffled| {
        let spawned = spawner(world, 1_000, &[1.0, 1.0])
            .generator(Grid::new([0.0; 3], 1.0, 1_000).unwrap())
            .shuffled(shuffled)
            .place(|point: &SpawnPoint| (Kind(point.number), Position(point.position)))
            .spawn(world)
            .unwrap();
        let numbers = spawned.iter().map(|entity| {
            let number = world.get::<Kind>(entity).unwrap().0;
            assert_eq!(world.get::<Position>(entity).unwrap().0[0], number as f32);
            number
        });
        numbers.collect::<Vec<u64>>()
    };
    let (plain, mut shuffled) = (run(&mut world, false), run(&mut world, true));
    assert!(plain.iter().copied().eq(0..1_000));
    // Both halves of the row come to the first entry.
    assert!(
        shuffled[..500]
            .iter()
            .filter(|&&number| number < 500)
            .count()
            < 400
    );
    shuffled.sort_unstable();
    assert_eq!(plain, shuffled);
}

#[test]
fn templates_can_be_entries_and_their_ids_are_the_names() {
    struct Body(u64);
    impl EntityTrait for Body {
        fn build(&self, context: &mut BuildContext<'_>) -> Result<(), TraitError> {
            context.add(Position::default());
            context.add(Kind(self.0));
            context.shared(String::from("street"));
            Ok(())
        }
    }
    let mut world = world();
    let template = |id: &str, kind| TemplateBuilder::new(id).with(Body(kind)).finish(&world);
    let (walker, car) = (template("walker", 1).unwrap(), template("car", 2).unwrap());
    let spawner = Spawner::new(40)
        .entry(&walker, 3.0)
        .unwrap()
        .entry(&car, 1.0)
        .unwrap();
    drop(car);
    let spawned = spawner.spawn(&mut world).unwrap();
    assert_eq!(counts(&spawned), [30, 10]);
    for (entity, kind) in spawned
        .of(0)
        .map(|e| (e, 1))
        .chain(spawned.of(1).map(|e| (e, 2)))
    {
        assert_eq!(world.get::<Kind>(entity).unwrap().0, kind);
        assert_eq!(world.shared::<String>(entity).unwrap(), "street");
    }
    let error = Spawner::new(1).entry(&walker, -1.0).unwrap_err();
    assert!(error.to_string().contains("walker"), "{error}");
    sound(&world);
}

#[test]
fn prototypes_of_another_universe_are_refused() {
    let (mut here, elsewhere) = (world(), world());
    let error = spawner(&elsewhere, 10, &[1.0])
        .place(|point: &SpawnPoint| (Position(point.position),))
        .spawn(&mut here);
    assert!(matches!(error, Err(SpawnError::OtherUniverse { .. })));
    assert!(here.is_empty());
    sound(&here);
}

// --- The same every time -----------------------------------------------------------------------------

fn crowd(world: &mut World, seed: u64) -> Spawned {
    spawner(world, 20_000, &[3.0, 1.0, 1.0])
        .seed(seed)
        .generator(Disc::new([0.0; 3], 100.0).unwrap())
        .shuffled(true)
        .place(|point: &SpawnPoint| (Position(point.position), Heading(point.direction)))
        .spawn(world)
        .unwrap()
}

#[test]
fn the_same_seed_gives_the_same_world_for_one_two_and_four_threads() {
    let run = |threads: usize, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut world = world();
            let spawned = crowd(&mut world, seed);
            sound(&world);
            (
                world.state_hash(&Default::default()).unwrap(),
                spawned.iter().collect::<Vec<_>>(),
            )
        })
    };
    let one = run(1, 7);
    assert!(one == run(1, 7) && one == run(2, 7) && one == run(4, 7));
    assert_ne!(one.0, run(1, 8).0);
}

// --- Observers ---------------------------------------------------------------------------------------

#[derive(Default)]
struct Heard(Vec<(u64, usize)>);

fn listen(world: &mut World) {
    world.resources_mut().insert(Heard::default());
    world
        .observe::<Kind, ()>(Observed::CREATE, |batch, _| {
            let mut kinds = Vec::new();
            batch.for_each::<&Kind>(|kind| kinds.push(kind.0)).unwrap();
            kinds.dedup();
            assert_eq!(kinds.len(), 1, "one entry in a batch");
            let len = batch.len();
            let heard = batch.resources_mut().get_mut::<Heard>().unwrap();
            heard.0.push((kinds[0], len));
        })
        .unwrap();
}

#[test]
fn observers_see_one_batch_for_each_entry_in_order() {
    let mut world = world();
    listen(&mut world);
    let spawned = spawner(&world, 9_000, &[1.0, 0.0, 2.0])
        .spawn(&mut world)
        .unwrap();
    let heard = &world.resources().get::<Heard>().unwrap().0;
    assert_eq!(heard[..], [(0, 3_000), (2, 6_000)]);
    let gone = Arc::new(AtomicUsize::new(0));
    let calls = Arc::clone(&gone);
    world
        .observe::<Kind, ()>(Observed::DESTROY, move |batch, _| {
            assert_eq!(batch.len(), 9_000);
            calls.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    assert_eq!(spawned.despawn(&mut world), 9_000);
    assert_eq!(gone.load(Ordering::Relaxed), 1);
    sound(&world);
}

#[test]
fn a_panicking_observer_comes_after_all_is_there() {
    let mut world = world();
    world
        .observe::<Kind, ()>(Observed::CREATE, |_, _| resume_unwind(Box::new("seen")))
        .unwrap();
    let mut job = spawner(&world, 100, &[1.0, 1.0]).begin().unwrap();
    let step = catch_unwind(AssertUnwindSafe(|| job.step(&mut world, Budget::Unlimited)));
    assert!(step.is_err() && job.is_done());
    assert_eq!(job.spawned().len(), 100);
    assert_eq!(world.count(), 100);
    assert_eq!(job.finish().despawn(&mut world), 100);
    sound(&world);
}

// --- Despawn -----------------------------------------------------------------------------------------

#[test]
fn despawning_passes_over_those_that_are_dead_and_comes_to_nothing_again() {
    let mut world = world();
    let bystander = world.create((Kind(9),)).unwrap();
    let spawned = crowd(&mut world, 1);
    let dead: Vec<Entity> = spawned.iter().step_by(3).collect();
    assert!(world.destroy_slice(&dead).is_clean());
    // Their slots have others now.
    let others = world.create_batch((0..5_000).map(|_| (Kind(8),))).unwrap();
    assert_eq!(others.len(), 5_000);
    assert_eq!(spawned.despawn(&mut world), 20_000 - dead.len());
    assert_eq!(spawned.despawn(&mut world), 0);
    assert_eq!(world.count(), 5_001);
    assert!(world.exists(bystander));
    sound(&world);
}

#[test]
fn despawning_in_a_world_of_another_universe_does_nothing() {
    let (mut here, mut elsewhere) = (world(), world());
    let spawned = crowd(&mut here, 1);
    // The same ids, of other entities.
    let others = crowd(&mut elsewhere, 2);
    assert_eq!(spawned.despawn(&mut elsewhere), 0);
    assert_eq!(elsewhere.count(), others.len());
    assert_eq!(spawned.despawn(&mut here), 20_000);
}

// --- Several frames ----------------------------------------------------------------------------------

fn rows(world: &mut World, spawned: &Spawned) -> Vec<(Position, Heading, Kind)> {
    let row = |entity| {
        (
            *world.get::<Position>(entity).unwrap(),
            *world.get::<Heading>(entity).unwrap(),
            *world.get::<Kind>(entity).unwrap(),
        )
    };
    spawned.iter().map(row).collect()
}

/// All rows, chunk by chunk.
fn in_chunks(world: &mut World) -> Vec<(Position, Kind)> {
    let mut query = Query::<(&Position, &Kind)>::new(world).unwrap();
    query.read(world).iter().map(|(p, k)| (*p, *k)).collect()
}

#[test]
fn steps_of_any_size_come_to_the_same_as_one_call() {
    let spawner = |world: &World| {
        spawner(world, 3_000, &[1.0, 2.0, 1.0])
            .seed(5)
            .generator(Disc::new([0.0; 3], 9.0).unwrap())
            .place(|point: &SpawnPoint| (Position(point.position), Heading(point.direction)))
    };
    let mut whole = world();
    let all = spawner(&whole).spawn(&mut whole).unwrap();
    for budget in [1, 7, 999, 3_000, usize::MAX] {
        let mut world = world();
        listen(&mut world);
        let mut job = spawner(&world).begin().unwrap();
        let mut steps = 0;
        while !job.is_done() {
            let made = job.step(&mut world, Budget::Entities(budget)).unwrap();
            assert_eq!(made, budget.min(3_000 - job.done() + made));
            steps += 1;
        }
        assert_eq!(steps, 3_000_usize.div_ceil(budget));
        assert_eq!(job.step(&mut world, Budget::Unlimited).unwrap(), 0);
        let spawned = job.finish();
        assert_eq!(rows(&mut world, &spawned), rows(&mut whole, &all));
        assert_eq!(in_chunks(&mut world), in_chunks(&mut whole));
        sound(&world);
    }
}

#[test]
fn a_step_with_no_time_still_comes_to_an_end() {
    let mut world = world();
    let mut job = spawner(&world, 5_000, &[1.0]).begin().unwrap();
    let mut steps = 0;
    while !job.is_done() {
        assert!(job.step(&mut world, Budget::Time(Duration::ZERO)).unwrap() > 0);
        steps += 1;
    }
    assert_eq!(steps, 5);
    let mut job = spawner(&world, 5_000, &[1.0]).begin().unwrap();
    job.step(&mut world, Budget::Time(Duration::MAX)).unwrap();
    assert!(job.is_done());
    assert_eq!(world.count(), 10_000);
}

#[test]
fn a_step_of_no_entities_creates_one_so_that_steps_come_to_an_end() {
    let mut world = world();
    let mut job = spawner(&world, 5, &[1.0]).begin().unwrap();
    for created in 1..6 {
        assert_eq!(job.step(&mut world, Budget::Entities(0)).unwrap(), 1);
        assert_eq!((job.is_done(), world.count()), (created == 5, created));
    }
    assert_eq!(job.step(&mut world, Budget::Entities(0)).unwrap(), 0);
}

// --- All or none -------------------------------------------------------------------------------------

#[test]
fn a_panicking_placement_leaves_nothing_and_drops_everything_once() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = world();
    listen(&mut world);
    let registry = world.registry();
    let prototype = |kind| {
        let values = DynamicBundle::new()
            .with(Value::cloneable(registry, Counted::new(&alive)).unwrap())
            .with(Value::cloneable(registry, (Counted::new(&alive), 1_u8)).unwrap())
            .with(Value::cloneable(registry, Kind(kind)).unwrap());
        Arc::new(Prototype::new(registry, values).unwrap())
    };
    let (ant, bee) = (prototype(0), prototype(1));
    for at in [0, 1, 40, 1_999, 2_000, 3_999] {
        let made = Arc::clone(&alive);
        let spawner = Spawner::new(4_000)
            .prototype("ant", &ant, 1.0)
            .unwrap()
            .prototype("bee", &bee, 1.0)
            .unwrap()
            .place(move |point: &SpawnPoint| {
                if point.number == at {
                    resume_unwind(Box::new("no place"));
                }
                (Counted::new(&made),)
            });
        let result = catch_unwind(AssertUnwindSafe(|| spawner.spawn(&mut world)));
        assert!(result.is_err());
        assert_eq!(alive.load(Ordering::Relaxed), 4, "at {at}");
        assert!(world.is_empty());
        assert_eq!(world.universe().count(), 0);
        sound(&world);
    }
    assert!(world.resources().get::<Heard>().unwrap().0.is_empty());
}

#[test]
fn a_job_goes_on_after_a_panic_in_a_step() {
    let mut world = world();
    let fuse = Arc::new(AtomicUsize::new(1));
    let burnt = Arc::clone(&fuse);
    let mut job = spawner(&world, 1_000, &[1.0, 1.0])
        .place(move |point: &SpawnPoint| {
            if point.number == 700 && burnt.swap(0, Ordering::Relaxed) == 1 {
                resume_unwind(Box::new("once"));
            }
            (Position([point.number as f32; 3]),)
        })
        .begin()
        .unwrap();
    job.step(&mut world, Budget::Entities(600)).unwrap();
    let step = catch_unwind(AssertUnwindSafe(|| job.step(&mut world, Budget::Unlimited)));
    assert!(step.is_err());
    assert_eq!((job.done(), world.count()), (600, 600));
    job.step(&mut world, Budget::Unlimited).unwrap();
    let spawned = job.finish();
    for (number, entity) in spawned.iter().enumerate() {
        assert_eq!(world.get::<Position>(entity).unwrap().0[0], number as f32);
    }
    sound(&world);
}

#[test]
fn what_is_no_share_of_anything_is_refused_by_name() {
    let mut world = world();
    let ant = kind(&world, 0);
    for given in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = Spawner::new(3).prototype("ant", &ant, given).map(drop);
        let Err(SpawnError::Proportion { entry, proportion }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((&*entry, proportion.to_bits()), ("ant", given.to_bits()));
    }
    let nothing = Spawner::new(3).counts();
    assert!(matches!(nothing, Err(SpawnError::NoEntries)));
    let nobody = spawner(&world, 3, &[0.0, 0.0]);
    let refused = [
        nobody.counts().map(drop),
        nobody.begin().map(drop),
        nobody.spawn(&mut world).map(drop),
    ];
    for refused in refused {
        let Err(SpawnError::AllZero { entries }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(entries, ["kind 0".into(), "kind 1".into()]);
    }
    let placed = spawner(&world, 3, &[0.0, 1.0]).place(|_: &SpawnPoint| (1_u8,));
    let refused = placed.spawn(&mut world).map(drop);
    let Err(SpawnError::Missing { entry, fragment }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(&*fragment, "u8");
    assert!(entry.starts_with("kind "), "{entry}");
    assert!(world.is_empty());
    sound(&world);
}

#[test]
fn a_total_that_is_said_later_counts() {
    let world = world();
    let spawner = spawner(&world, 10, &[1.0, 1.0]).total(5);
    assert_eq!(spawner.counts().unwrap(), [3, 2]);
    let job = spawner.begin().unwrap();
    assert_eq!((job.total(), job.done()), (5, 0));
}
