//! The rows of the stack's behaviour that are the spawner's: shares, places, batches, all or none.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megachunk::fragment::{DynamicBundle, Plain, Value};
use megachunk::prelude::*;
use megachunk::template::spawner::{
    AlongLines, Disc, Each, Generator, Grid, PointsFile, PoissonDisc, Random, SpawnError,
    SpawnPoint, Spawned, Spawner,
};
use megachunk::world::{Budget, Prototype};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Position([f32; 3]);
// SAFETY: numbers without padding.
unsafe impl Plain for Position {}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Heading([f32; 2]);
// SAFETY: numbers without padding.
unsafe impl Plain for Heading {}

/// Which kind, and a number among all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Kind(u64);
// SAFETY: a number.
unsafe impl Plain for Kind {}

/// Counts itself.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(&self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

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

fn points(generator: &impl Generator, count: usize, seed: u64) -> Vec<SpawnPoint> {
    let mut out = vec![SpawnPoint::default(); count];
    let points = generator.points(count, seed).unwrap();
    points.write(0, &mut out);
    // In any pieces they are the same.
    let mut again = vec![SpawnPoint::default(); count];
    let mut first = 0;
    for piece in again.chunks_mut(7) {
        points.write(first, piece);
        first += piece.len();
    }
    assert_eq!(out.len(), again.len());
    for (a, b) in out.iter().zip(&again) {
        assert_eq!((a.position, a.direction), (b.position, b.direction));
    }
    out
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
                world.state_hash().unwrap(),
                spawned.iter().collect::<Vec<_>>(),
            )
        })
    };
    let one = run(1, 7);
    assert!(one == run(1, 7) && one == run(2, 7) && one == run(4, 7));
    assert_ne!(one.0, run(1, 8).0);
}

#[test]
fn points_never_change_with_a_version_of_the_crate() {
    let [disc] = points(&Disc::new([0.0; 3], 1.0).unwrap(), 1, 1)[..] else {
        panic!("one point");
    };
    let mut random = Random::new(1, 0);
    let bits = [random.next_u64(), random.next_u64()];
    assert_eq!(bits, RANDOM, "{bits:#x?}");
    assert_eq!(disc.position, DISC, "{:?}", disc.position);
}

/// Computed by another program, from the formulas in `Random`'s documentation.
const RANDOM: [u64; 2] = [0x017d_af00_1966_6393, 0xd9e4_8427_2f67_5712];
const DISC: [f32; 3] = [0.6196915, 0.08033268, 0.0];

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
fn a_step_of_no_entities_creates_none() {
    let mut world = world();
    let mut job = spawner(&world, 5, &[1.0]).begin().unwrap();
    assert_eq!(job.step(&mut world, Budget::Entities(0)).unwrap(), 0);
    assert!(!job.is_done() && world.is_empty());
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
#[ignore = "fills the index: 1.2 GB"]
fn ids_that_run_out_leave_nothing() {
    let universe = Arc::new(Universe::new());
    let mut last = Vec::new();
    loop {
        let mut some = vec![Entity::PLACEHOLDER; 1 << 16];
        if universe.reserve_slice(&mut some).is_err() {
            break;
        }
        last = some;
    }
    while let Ok(entity) = universe.reserve() {
        last.push(entity);
    }
    let mut world = World::of(&universe).unwrap();
    let spawner = spawner(&world, 900, &[1.0, 1.0, 1.0]);
    for left in [0, 299, 300, 450, 600, 899] {
        for entity in last.drain(..left) {
            world.release(entity).unwrap();
        }
        let error = spawner.spawn(&mut world);
        assert!(matches!(error, Err(SpawnError::World(WorldError::Full(_)))));
        assert!(world.is_empty());
        world.check().unwrap();
        // They are there still: as many as before can be had.
        let mut again = vec![Entity::PLACEHOLDER; left];
        universe.reserve_slice(&mut again).unwrap();
        last.extend(again);
    }
}

// --- Generators --------------------------------------------------------------------------------------

#[test]
fn a_disc_is_filled_as_its_area_says() {
    let disc = Disc::new([10.0, 20.0, 5.0], 4.0).unwrap();
    let all = points(&disc, 20_000, 3);
    let (mut inner, mut left) = (0, 0);
    for point in &all {
        let [x, y, z] = point.position;
        let away = (x - 10.0).hypot(y - 20.0);
        assert!(away < 4.001 && z == 5.0);
        inner += usize::from(away < 2.0);
        left += usize::from(x < 10.0);
    }
    // A quarter of the area, and half of it; five standard deviations.
    assert!(inner.abs_diff(5_000) < 310, "{inner}");
    assert!(left.abs_diff(10_000) < 355, "{left}");
}

#[test]
fn points_of_a_poisson_disc_keep_their_distance_and_the_rest_is_refused_with_a_number() {
    for (corner, opposite, distance) in [
        ([0.0, 0.0], [50.0, 20.0], 1.0),
        ([-7.0, 3.0], [-9.5, -4.0], 0.37),
        ([1_000.0, 1_000.0], [1_010.0, 1_010.0], 0.5),
    ] {
        let park = PoissonDisc::new(corner, opposite, distance).unwrap();
        let Err(SpawnError::NoRoom { possible, .. }) = park.points(100_000, 9) else {
            panic!("there is no room for so many");
        };
        let area = (corner[0] - opposite[0]).abs() * (corner[1] - opposite[1]).abs();
        let densest = area / (distance * distance) * 1.155;
        assert!((possible as f32) < densest * 1.3, "{possible} of {densest}");
        assert!((possible as f32) > densest * 0.5, "{possible} of {densest}");
        for count in [1, possible / 3, possible] {
            let all = points(&park, count, 9);
            for (at, a) in all.iter().enumerate() {
                let [x, y, _] = a.position;
                assert!((corner[0].min(opposite[0])..=corner[0].max(opposite[0])).contains(&x));
                assert!((corner[1].min(opposite[1])..=corner[1].max(opposite[1])).contains(&y));
                for b in &all[..at] {
                    let [dx, dy] = [0, 1]
                        .map(|axis| f64::from(a.position[axis]) - f64::from(b.position[axis]));
                    assert!(dx * dx + dy * dy >= f64::from(distance).powi(2));
                }
            }
        }
        assert!(park.points(possible + 1, 9).is_err());
    }
}

#[test]
fn a_wide_area_with_few_points_needs_little_memory() {
    let land = PoissonDisc::new([-50_000.0; 2], [50_000.0; 2], 1.0).unwrap();
    assert_eq!(points(&land, 2_000, 1).len(), 2_000);
}

#[test]
fn points_along_lines_are_as_dense_on_each_as_its_length_says() {
    let lines: [&[[f32; 3]]; 3] = [
        &[[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]],
        &[
            [0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 21.0, 0.0],
            [10.0, 21.0, 0.0],
        ],
        &[[5.0, 5.0, 0.0], [5.0, 5.0, 60.0]],
    ];
    let streets = AlongLines::new(lines).unwrap();
    assert_eq!(streets.length(), 100.0);
    let mut on = [0_usize; 3];
    for point in points(&streets, 10_000, 4) {
        on[point.line as usize] += 1;
        let [x, y, z] = point.position;
        let expected = match point.line {
            0 => ([point.along, 0.0, 0.0], [1.0, 0.0]),
            1 if point.along < 20.0 => ([0.0, 1.0 + point.along, 0.0], [0.0, 1.0]),
            1 => ([point.along - 20.0, 21.0, 0.0], [1.0, 0.0]),
            _ => ([5.0, 5.0, point.along], [1.0, 0.0]),
        };
        for (is, should) in [x, y, z].into_iter().zip(expected.0) {
            assert!((is - should).abs() < 1e-4, "{point:?}");
        }
        assert_eq!(point.direction, expected.1);
    }
    assert!(
        on[0].abs_diff(1_000) < 150 && on[1].abs_diff(3_000) < 230,
        "{on:?}"
    );
    let even = points(&streets.even(), 10_000, 4);
    let first = even.iter().filter(|point| point.line == 0).count();
    assert_eq!(first, 1_000);
    assert!(even.is_sorted_by_key(|point| point.line));
}

#[test]
fn generators_made_of_nonsense_are_errors_that_say_what() {
    let refused = |result: Result<(), SpawnError>, what: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(what), "{text}");
    };
    let nan = f32::NAN;
    refused(Disc::new([nan, 0.0, 0.0], 1.0).map(drop), "middle is NaN");
    for radius in [0.0, -1.0, f32::INFINITY, nan] {
        refused(Disc::new([0.0; 3], radius).map(drop), "radius");
    }
    refused(Disc::new([f32::MAX; 3], f32::MAX).map(drop), "edge is inf");
    refused(Grid::new([0.0; 3], 0.0, 4).map(drop), "distance");
    let wide = Grid::new([0.0; 3], f32::MAX, 2).unwrap();
    assert!(wide.points(4, 0).is_ok());
    refused(wide.points(5, 0).map(drop), "farthest point is inf");
    refused(Grid::new([0.0; 3], 1.0, 0).map(drop), "columns");
    refused(Grid::new([f32::INFINITY; 3], 1.0, 1).map(drop), "inf");
    refused(
        PoissonDisc::new([nan; 2], [1.0; 2], 1.0).map(drop),
        "corner",
    );
    refused(
        PoissonDisc::new([0.0; 2], [1.0; 2], -1.0).map(drop),
        "distance",
    );
    refused(
        PoissonDisc::new([0.0; 2], [1e9; 2], 1e-9).map(drop),
        "too small",
    );
    refused(
        PoissonDisc::new([f32::MIN; 2], [f32::MAX; 2], 1.0).map(drop),
        "too small",
    );
    let park = PoissonDisc::new([0.0; 2], [1.0; 2], 1.0).unwrap();
    refused(park.at_height(nan).map(drop), "height");
    let none: [Vec<[f32; 3]>; 0] = [];
    refused(AlongLines::new(none).map(drop), "there are none");
    refused(
        AlongLines::new([vec![[0.0; 3], [1.0; 3]], vec![[2.0; 3], [2.0; 3]]]).map(drop),
        "line 1: it has no length",
    );
    refused(AlongLines::new([vec![[0.0; 3]]]).map(drop), "line 0");
    refused(
        AlongLines::new([vec![[0.0; 3], [nan; 3]]]).map(drop),
        "line 0: a corner is NaN",
    );
}

#[test]
fn the_widest_areas_have_places_too() {
    let disc = Disc::new([0.0; 3], f32::MAX).unwrap();
    for point in points(&disc, 100, 1) {
        assert!(point.position.iter().all(|number| number.is_finite()));
    }
    let lines = AlongLines::new([[[f32::MIN; 3], [f32::MAX; 3]]]).unwrap();
    for point in points(&lines, 100, 1) {
        assert!(point.position.iter().all(|number| number.is_finite()));
    }
    let wide = PoissonDisc::new([f32::MIN; 2], [f32::MAX; 2], 1e38).unwrap();
    assert!(wide.points(5, 1).is_ok());
    let nowhere = PoissonDisc::new([3.0; 2], [3.0; 2], 1.0).unwrap();
    assert_eq!(points(&nowhere, 1, 1)[0].position, [3.0, 3.0, 0.0]);
    assert!(matches!(
        nowhere.points(2, 1),
        Err(SpawnError::NoRoom {
            possible: 1,
            wanted: 2,
            ..
        })
    ));
}

#[test]
fn a_closure_can_be_a_generator() {
    let stairs = Each::new(|random: &mut Random, point: &mut SpawnPoint| {
        point.position = [point.number as f32, random.next_below(3) as f32, 0.0];
    });
    let all = points(&stairs, 200, 1);
    assert!(
        all.iter()
            .enumerate()
            .all(|(n, point)| point.position[0] == n as f32)
    );
    assert!((0..3).all(|y| all.iter().any(|point| point.position[1] == y as f32)));
}

// --- Points from a file ------------------------------------------------------------------------------

fn parsed(text: &str) -> Vec<SpawnPoint> {
    let file = PointsFile::parse("points.csv", text).unwrap();
    points(&file, file.len(), 0)
}

#[test]
fn points_come_from_a_table_with_or_without_a_header() {
    let plain = parsed("1,2\r\n 3.5 , -4 \n\n# a comment\n5,6");
    let positions: Vec<_> = plain.iter().map(|point| point.position).collect();
    assert_eq!(
        positions,
        [[1.0, 2.0, 0.0], [3.5, -4.0, 0.0], [5.0, 6.0, 0.0]]
    );
    let [turned] = parsed("1,2,90")[..] else {
        panic!()
    };
    assert!((turned.direction[1] - 1.0).abs() < 1e-6);
    let [high] = parsed("1,2,3,180")[..] else {
        panic!()
    };
    assert_eq!(high.position, [1.0, 2.0, 3.0]);
    let [named] = parsed("\u{feff}Name, Y ,heading,X\nant,1,0,2\n")[..] else {
        panic!()
    };
    assert_eq!(
        (named.position, named.direction),
        ([2.0, 1.0, 0.0], [1.0, 0.0])
    );
}

#[test]
fn what_is_no_point_is_an_error_with_file_line_and_column() {
    for (text, place, what) in [
        ("1,2\n3,four\n", "2:3", "\"four\" is not a finite number"),
        ("x,y\n1,2\n\n# no\n3,  inf\n", "5:5", "\"inf\""),
        ("1,2\n1,2,3\n", "2:5", "3 values, where 2"),
        ("1,2\n1\n", "2:2", "1 values, where 2"),
        ("1\n", "1:1", "1 values without a header"),
        ("1,2,3,4,5\n", "1:1", "5 values without a header"),
        ("name,y\n", "1:1", "no column x"),
        ("x,y,X\n", "1:5", "names x twice"),
        ("x,y\nü,1\n", "2:1", "\"ü\""),
        ("x,y\nü, ü\n1,2", "2:1", "\"ü\""),
        ("y,x\n1,ü ü\n", "2:3", "\"ü ü\""),
        ("1,\n", "1:3", "\"\""),
    ] {
        let error = PointsFile::parse("points.csv", text).unwrap_err();
        let message = error.to_string();
        let start = format!("points.csv:{place}: ");
        assert!(
            message.starts_with(&start) && message.contains(what),
            "{message}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_that_names_it() {
    let error = PointsFile::read("no/such/points.csv").unwrap_err();
    assert!(
        error.to_string().starts_with("no/such/points.csv: "),
        "{error}"
    );
}

#[test]
fn a_file_with_too_few_points_is_refused_unless_it_cycles() {
    let file = PointsFile::parse("points.csv", "1,0\n2,0\n3,0").unwrap();
    assert!(matches!(
        file.points(4, 0),
        Err(SpawnError::NoRoom {
            possible: 3,
            wanted: 4,
            ..
        })
    ));
    let round = points(&file.cycle(), 7, 0);
    let xs: Vec<f32> = round.iter().map(|point| point.position[0]).collect();
    assert_eq!(xs, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]);
    let empty = PointsFile::parse("points.csv", "x,y\n").unwrap();
    assert!(empty.is_empty());
    assert!(empty.points(0, 0).is_ok());
    assert!(empty.cycle().points(1, 0).is_err());
}
