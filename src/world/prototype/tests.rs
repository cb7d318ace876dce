//! Copies of prototypes: values, drops, panics, memory that runs out.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Prototype;
use super::copies::Order;
use crate::archetype::scarce::Scarce;
use crate::counted::{Counted, FUSE, burn};
use crate::entity::Entity;
use crate::fragment::{DynamicBundle, FragmentDefinition, FragmentError, FragmentRegistry, Value};
use crate::observer::Observed;
use crate::query::Query;
use crate::world::{Universe, World, WorldError};

fn prototype<const N: usize>(registry: &FragmentRegistry, values: [Value; N]) -> Prototype {
    Prototype::new(registry, values.into_iter().collect()).unwrap()
}

fn cloneable<T: Clone + Send + Sync + 'static>(world: &World, value: T) -> Value {
    Value::cloneable(world.registry(), value).unwrap()
}

/// Entities of the world, and of its universe.
fn counts(world: &World) -> (usize, usize) {
    (world.count(), world.universe.count())
}

fn sound(world: &World) {
    world.check().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn copies_have_the_values_of_every_column_in_every_row() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Odd([u8; 7]);
    let mut world = World::new();
    world.registry().register_plain::<[f32; 3]>().unwrap();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, Odd([1, 2, 3, 4, 5, 6, 7])),
            cloneable(&world, [1.0_f32, 2.0, 3.0]),
            cloneable(&world, String::from("ant")),
            cloneable(&world, 0_u64),
        ],
    );
    let mut count = 0;
    for more in [1, 2, 100, 5_000, 0] {
        count += more;
        assert_eq!(world.create_copies(&ant, more).unwrap().len(), more);
        sound(&world);
    }
    let mut query = Query::<(&Odd, &[f32; 3], &String, &u64)>::new(&world).unwrap();
    let mut seen = 0;
    for (odd, vector, name, number) in query.read(&world).iter() {
        assert_eq!(odd, &Odd([1, 2, 3, 4, 5, 6, 7]));
        assert_eq!(
            (vector, name.as_str(), number),
            (&[1.0, 2.0, 3.0], "ant", &0)
        );
        seen += 1;
    }
    assert_eq!(seen, count);
}

#[test]
fn copies_follow_those_that_are_there_and_come_in_the_order_of_their_handles() {
    let mut world = World::new();
    let first = world.create((7_u32,)).unwrap();
    world.registry().register_plain::<u32>().unwrap();
    let ant = prototype(world.registry(), [cloneable(&world, 9_u32)]);
    let batch = world
        .create_copies_with(&ant, 4_000, |number| (number as u32,))
        .unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    assert_eq!(ants.len(), 4_000);
    for (number, &ant) in ants.iter().enumerate() {
        assert_eq!(world.get::<u32>(ant).unwrap(), &(number as u32));
    }
    assert_eq!(world.get::<u32>(first).unwrap(), &7);
    sound(&world);
}

#[test]
fn a_prototype_names_what_cannot_be_cloned_is_foreign_or_stands_there_twice() {
    struct Token(#[expect(dead_code, reason = "it is only there")] u8);
    #[derive(Clone)]
    struct Asleep;
    let world = World::new();
    let registry = world.registry();
    let bundle = |value| DynamicBundle::new().with(value);
    let error = Prototype::new(registry, bundle(Value::new(registry, Token(1)).unwrap()));
    assert!(matches!(error, Err(WorldError::NotCloneable { name }) if name.contains("Token")));
    // Who has one of a type has no other, even if it has no bytes; a name is nothing else.
    let tag = || bundle(Value::new(registry, Asleep).unwrap());
    let error = Prototype::new(registry, tag());
    assert!(matches!(error, Err(WorldError::NotCloneable { name }) if name.contains("Asleep")));
    registry.register_clone::<Asleep>().unwrap();
    assert_eq!(
        Prototype::new(registry, tag()).unwrap().fragments().len(),
        1
    );
    let layout = core::alloc::Layout::new::<()>();
    let named = registry.define_plain("awake", layout).unwrap().id();
    let tag = bundle(Value::from_bytes(registry, named, &[]).unwrap());
    assert_eq!(Prototype::new(registry, tag).unwrap().fragments().len(), 1);
    let other = FragmentRegistry::new();
    let foreign = bundle(Value::cloneable(&other, 1_u8).unwrap());
    let error = Prototype::new(registry, foreign);
    assert!(matches!(
        error,
        Err(WorldError::Fragment(FragmentError::OtherUniverse { .. }))
    ));
    let twice = bundle(cloneable(&world, 1_u8)).with(cloneable(&world, 2_u8));
    let error = Prototype::new(registry, twice);
    assert!(matches!(
        error,
        Err(WorldError::Fragment(FragmentError::Twice { .. }))
    ));
}

#[test]
fn a_prototype_of_another_universe_is_refused_and_one_of_this_serves_all_its_worlds() {
    let universe = Arc::new(Universe::new());
    let (mut land, mut sea) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    let crab = prototype(
        universe.registry(),
        [
            cloneable(&land, 3_u8),
            Value::shared(universe.registry(), String::from("crabs")).unwrap(),
        ],
    );
    for world in [&mut land, &mut sea] {
        let batch = world.create_copies(&crab, 3).unwrap();
        let one = batch.iter(world).next().unwrap();
        assert_eq!(world.shared::<String>(one).unwrap(), "crabs");
        sound(world);
    }
    let error = World::new().create_copies(&crab, 1);
    assert!(matches!(error, Err(WorldError::OtherUniverse)));
}

#[test]
fn shared_values_bring_copies_together_with_equals_and_go_with_the_last() {
    let mut world = World::new();
    let team = |world: &World, name: &str| {
        prototype(
            world.registry(),
            [
                cloneable(world, 1_u8),
                Value::shared(world.registry(), String::from(name)).unwrap(),
                Value::const_shared(world.registry(), 5_u64).unwrap(),
            ],
        )
    };
    let (red, blue) = (team(&world, "red"), team(&world, "blue"));
    assert_eq!(world.create_copies(&red, 0).unwrap().len(), 0);
    let reds = world.create_copies(&red, 10).unwrap();
    let blues = world.create_copies(&blue, 10).unwrap();
    let more = world.create_copies(&red, 10).unwrap();
    let at = |batch: &crate::world::Batch| batch.iter(&world).next().unwrap();
    let shared = |entity| core::ptr::from_ref(world.shared::<String>(entity).unwrap());
    assert_eq!(shared(at(&reds)), shared(at(&more)));
    assert_ne!(shared(at(&reds)), shared(at(&blues)));
    sound(&world);
    world.clear();
    sound(&world);
}

#[test]
fn chunk_fragments_begin_with_the_prototypes_value() {
    let mut world = World::new();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, 1_u8),
            Value::per_chunk(world.registry(), String::from("near")).unwrap(),
        ],
    );
    let batch = world.create_copies(&ant, 3).unwrap();
    let one = batch.iter(&world).next().unwrap();
    assert_eq!(world.chunk_fragment::<String>(one).unwrap(), "near");
    sound(&world);
}

#[test]
fn chunk_fragments_are_cloned_when_a_chunk_begins_and_not_for_each_copy() {
    static CLONES: AtomicUsize = AtomicUsize::new(0);
    struct Weather(u32);
    impl Clone for Weather {
        fn clone(&self) -> Self {
            CLONES.fetch_add(1, Ordering::Relaxed);
            Self(self.0)
        }
    }
    let mut world = World::new();
    world.set_chunk_size(1);
    let of = |number| {
        let weather = Value::per_chunk(world.registry(), Weather(number)).unwrap();
        prototype(world.registry(), [cloneable(&world, [0_u64; 50]), weather])
    };
    let (sunny, rainy) = (of(1), of(2));
    for _ in 0..200 {
        world.create_copies(&sunny, 1).unwrap();
    }
    let chunks = world.stats().chunks;
    assert!(chunks > 2);
    // One more is the composition's.
    assert_eq!(CLONES.load(Ordering::Relaxed), chunks + 1);
    // Its chunks go on as they began; a new composition begins with its own.
    let ant = world.create_copies(&rainy, 1).unwrap();
    let ant = ant.iter(&world).next().unwrap();
    assert_eq!(world.chunk_fragment::<Weather>(ant).unwrap().0, 1);
    let weather = Value::per_chunk(world.registry(), Weather(3)).unwrap();
    let other = prototype(world.registry(), [cloneable(&world, 1_u8), weather]);
    let other = world.create_copies(&other, 1).unwrap();
    let other = other.iter(&world).next().unwrap();
    assert_eq!(world.chunk_fragment::<Weather>(other).unwrap().0, 3);
    drop((sunny, rainy));
    sound(&world);
}

#[test]
fn every_clone_is_dropped_once_whichever_panics() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let other = world.create((Counted::new(&alive), 1_u8)).unwrap();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, Counted::new(&alive)),
            cloneable(&world, 3_u8),
            // Never reached by a fuse of its own: after the first column, or before it.
            cloneable(&world, (Counted::new(&alive), 1_u64)),
        ],
    );
    let before = counts(&world);
    for call in 1..=1_200 {
        FUSE.set(call);
        catch_unwind(AssertUnwindSafe(|| world.create_copies(&ant, 600))).unwrap_err();
        FUSE.set(0);
        assert_eq!(alive.load(Ordering::Relaxed), 3, "call {call}");
        assert_eq!(counts(&world), before);
        if call % 100 == 1 {
            sound(&world);
        }
    }
    world.create_copies(&ant, 600).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 3 + 1_200);
    assert!(world.exists(other));
    world.clear();
    drop(ant);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    sound(&world);
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
fn what_a_panicking_closure_has_made_is_dropped_once() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, Counted::new(&alive)),
            cloneable(&world, 3_u8),
        ],
    );
    for at in [0, 1, 77, 2_999] {
        let made = catch_unwind(AssertUnwindSafe(|| {
            world.create_copies_with(&ant, 3_000, |number| {
                if number == at {
                    resume_unwind(Box::new("made enough"));
                }
                (Numbered::new(&alive, number), Counted::new(&alive))
            })
        }));
        assert!(made.is_err());
        assert_eq!(alive.load(Ordering::Relaxed), 1, "panic at {at}");
        assert_eq!(counts(&world), (0, 0));
        sound(&world);
    }
}

#[test]
fn a_panic_on_one_of_many_threads_leaves_nothing_on_any() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, Counted::new(&alive)),
            cloneable(&world, [7_u64; 20]),
        ],
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build();
    pool.unwrap().install(|| {
        for at in [0, 9_999, 19_999] {
            let made = catch_unwind(AssertUnwindSafe(|| {
                world.create_copies_with(&ant, 20_000, |number| {
                    if number == at {
                        resume_unwind(Box::new(number));
                    }
                    (Numbered::new(&alive, number),)
                })
            }));
            assert_eq!(made.unwrap_err().downcast_ref::<usize>(), Some(&at));
            assert_eq!(alive.load(Ordering::Relaxed), 1, "panic at {at}");
            assert_eq!(counts(&world), (0, 0));
            sound(&world);
        }
    });
}

#[test]
fn a_drop_that_panics_while_copies_are_taken_back_hides_nothing() {
    /// Panics in the `drop` of every third.
    #[derive(Clone)]
    struct Sour(Arc<AtomicUsize>);
    impl Drop for Sour {
        fn drop(&mut self) {
            if self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
                resume_unwind(Box::new("sour"));
            }
        }
    }
    let (alive, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(1)));
    let mut world = World::new();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, Sour(Arc::clone(&dropped))),
            cloneable(&world, Counted::new(&alive)),
        ],
    );
    let made = catch_unwind(AssertUnwindSafe(|| {
        world.create_copies_with(&ant, 3_000, |number| -> (u8,) {
            if number == 2_500 {
                resume_unwind(Box::new("the first"));
            }
            (1,)
        })
    }));
    assert!(made.is_err());
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    assert!(dropped.load(Ordering::Relaxed) > 2_500);
    assert_eq!(counts(&world), (0, 0));
    sound(&world);
    // Its own value may be one of those that panic.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(ant)));
}

#[test]
fn what_the_closure_gives_is_not_cloned_before() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ant = prototype(world.registry(), [cloneable(&world, Counted::new(&alive))]);
    FUSE.set(1);
    let other = Arc::new(AtomicUsize::new(0));
    world
        .create_copies_with(&ant, 10, |_| (Counted::new(&other),))
        .unwrap();
    FUSE.set(0);
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    assert_eq!(other.load(Ordering::Relaxed), 10);
}

#[test]
fn tags_with_a_drop_are_cloned_and_dropped_with_their_rows() {
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    #[derive(Debug)]
    struct Guard;
    impl Clone for Guard {
        fn clone(&self) -> Self {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            burn();
            Self
        }
    }
    impl Drop for Guard {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let mut world = World::new();
    ALIVE.fetch_add(1, Ordering::Relaxed);
    let ant = prototype(world.registry(), [cloneable(&world, Guard)]);
    world.create_copies(&ant, 100).unwrap();
    assert_eq!(ALIVE.load(Ordering::Relaxed), 101);
    FUSE.set(50);
    catch_unwind(AssertUnwindSafe(|| world.create_copies(&ant, 100))).unwrap_err();
    // The one whose `clone` panicked was never made.
    assert_eq!(ALIVE.load(Ordering::Relaxed), 102);
    world.clear();
    assert_eq!(ALIVE.load(Ordering::Relaxed), 2);
    sound(&world);
}

#[test]
fn over_aligned_values_lie_where_they_must() {
    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(256))]
    struct Wide(u8);
    #[derive(Clone, Copy, Debug)]
    #[repr(align(128))]
    struct Mark;
    let mut world = World::new();
    let ant = prototype(
        world.registry(),
        [
            cloneable(&world, Wide(5)),
            cloneable(&world, Mark),
            cloneable(&world, 1_u16),
        ],
    );
    let batch = world.create_copies(&ant, 300).unwrap();
    for ant in batch.iter(&world) {
        let wide = world.get::<Wide>(ant).unwrap();
        assert!(core::ptr::from_ref(wide).addr().is_multiple_of(256));
        assert_eq!(wide, &Wide(5));
        world.get::<Mark>(ant).unwrap();
    }
    sound(&world);
}

#[test]
fn fragments_that_can_be_switched_off_are_on() {
    #[derive(Clone)]
    struct Hungry;
    let mut world = World::new();
    world.registry().register_enableable::<Hungry>().unwrap();
    world.registry().register_enableable::<u32>().unwrap();
    let ant = prototype(
        world.registry(),
        [cloneable(&world, Hungry), cloneable(&world, 4_u32)],
    );
    let one = world.create((Hungry, 1_u32)).unwrap();
    world.set_enabled::<Hungry>(one, false).unwrap();
    let batch = world.create_copies(&ant, 500).unwrap();
    for ant in batch.iter(&world) {
        assert!(world.is_enabled::<Hungry>(ant).unwrap());
        assert!(world.is_enabled::<u32>(ant).unwrap());
    }
    sound(&world);
}

#[test]
fn fragments_defined_at_run_time_are_cloned_by_their_function() {
    unsafe fn clone(from: *const u8, to: *mut u8, size: usize) {
        burn();
        // SAFETY: the caller's.
        unsafe { from.copy_to_nonoverlapping(to, size) };
    }
    let mut world = World::new();
    let definition =
        FragmentDefinition::new("health", core::alloc::Layout::new::<u32>()).clone_value(clone);
    // SAFETY: the function copies what is nothing but its bytes.
    let health = unsafe { world.registry().define(definition) }.unwrap().id();
    let full = 77_u32;
    // SAFETY: four bytes.
    let full = unsafe { Value::from_raw(world.registry(), health, (&raw const full).cast()) };
    let plain = world
        .registry()
        .define_plain("armour", core::alloc::Layout::new::<[u8; 3]>())
        .unwrap()
        .id();
    let armour = Value::from_bytes(world.registry(), plain, &[1, 2, 3]).unwrap();
    let ant = prototype(world.registry(), [full.unwrap(), armour]);
    FUSE.set(20);
    catch_unwind(AssertUnwindSafe(|| world.create_copies(&ant, 100))).unwrap_err();
    assert_eq!(world.count(), 0);
    let batch = world.create_copies(&ant, 100).unwrap();
    let last = batch.iter(&world).last().unwrap();
    let bytes = world.get_dynamic(last, health).unwrap().as_ptr();
    // SAFETY: a value of four bytes.
    assert_eq!(unsafe { bytes.cast::<u32>().read() }, 77);
    let armour = world.get_dynamic(last, plain).unwrap();
    assert_eq!(armour.bytes().unwrap(), [1, 2, 3]);
    sound(&world);
}

#[test]
fn when_memory_ends_at_any_claim_nothing_is_left() {
    const NEEDED: usize = 8;
    let mut scarce = Scarce::new();
    // Each time there is one chunk more.
    for chunks in 0..=NEEDED {
        scarce.leave(chunks);
        let universe = &scarce.universe;
        let mut world = World::of(universe).unwrap();
        world.set_chunk_size(1);
        let ant = prototype(
            universe.registry(),
            [
                cloneable(&world, [1_u64; 100]),
                Value::shared(universe.registry(), String::from("red")).unwrap(),
            ],
        );
        let result = world.create_copies(&ant, 20 * NEEDED);
        sound(&world);
        if chunks == NEEDED {
            assert_eq!(result.unwrap().len(), 160);
        } else {
            assert!(matches!(result, Err(WorldError::Chunk(_))), "{chunks}");
            assert_eq!((world.count(), universe.count()), (0, 0));
        }
    }
}

#[test]
fn more_than_there_are_ids_is_refused_at_once() {
    let mut world = World::new();
    let ant = prototype(world.registry(), [cloneable(&world, 1_u8)]);
    for count in [usize::MAX, 134_217_729, usize::MAX / 2] {
        let error = world.create_copies(&ant, count);
        assert!(matches!(error, Err(WorldError::Full(_))));
        assert_eq!(world.stats().chunks, 0);
    }
    let tags = prototype(world.registry(), []);
    assert_eq!(world.create_copies(&tags, 5).unwrap().len(), 5);
    sound(&world);
}

#[test]
fn observers_see_one_batch_with_all_values_and_none_if_it_fails() {
    #[derive(Default)]
    struct Seen(Vec<usize>);
    let mut world = World::new();
    world.resources_mut().insert(Seen::default());
    world
        .observe::<u32, ()>(Observed::CREATE, |batch, _| {
            let mut sum = 0;
            batch
                .for_each::<&u32>(|&number| sum += number as usize)
                .unwrap();
            assert_eq!(sum, (0..batch.len()).sum::<usize>());
            let len = batch.len();
            batch.resources_mut().get_mut::<Seen>().unwrap().0.push(len);
        })
        .unwrap();
    let ant = prototype(world.registry(), [cloneable(&world, 0_u32)]);
    world
        .create_copies_with(&ant, 10_000, |number| (number as u32,))
        .unwrap();
    let failed = catch_unwind(AssertUnwindSafe(|| {
        world.create_copies_with(&ant, 10_000, |number| -> (u32,) {
            resume_unwind(Box::new(number));
        })
    }));
    assert!(failed.is_err());
    assert_eq!(world.resources().get::<Seen>().unwrap().0, [10_000]);
}

#[test]
fn each_order_of_a_call_gets_its_own_batch_also_where_others_are_for_nobody() {
    #[derive(Default)]
    struct Seen(Vec<Vec<Entity>>);
    let mut world = World::new();
    world.set_chunk_size(1);
    world.resources_mut().insert(Seen::default());
    world
        .observe::<u32, ()>(Observed::CREATE, |batch, _| {
            let mut seen = Vec::new();
            batch
                .for_each::<Entity>(|entity| seen.push(entity))
                .unwrap();
            batch
                .resources_mut()
                .get_mut::<Seen>()
                .unwrap()
                .0
                .push(seen);
        })
        .unwrap();
    let ants = [0_u32, 1].map(|number| {
        let values = [cloneable(&world, number), cloneable(&world, [number; 16])];
        prototype(world.registry(), values)
    });
    // Of several chunks and of none, those of one prototype side by side and apart.
    let counts = [0, 700, 0, 0, 300, 1, 900, 0];
    let orders: Vec<Order<'_>> = (counts.iter().enumerate())
        .map(|(number, &count)| Order {
            prototype: &ants[number / 2 % 2],
            count,
            writers: &[],
        })
        .collect();
    let (batches, panicked) = world.create_orders(&orders).unwrap();
    assert!(panicked.is_none());
    let created: Vec<Vec<Entity>> = (batches.iter())
        .map(|batch| batch.iter(&world).collect())
        .collect();
    let lens: Vec<usize> = created.iter().map(Vec::len).collect();
    assert_eq!(lens, counts);
    for (number, entities) in created.iter().enumerate() {
        for &entity in entities {
            let value = number as u32 / 2 % 2;
            assert_eq!(world.get::<u32>(entity).unwrap(), &value, "{number}");
        }
    }
    let mut all = created.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), world.count());
    let some = created.into_iter().filter(|entities| !entities.is_empty());
    assert_eq!(
        world.resources().get::<Seen>().unwrap().0,
        some.collect::<Vec<_>>()
    );
    sound(&world);
}

#[test]
fn the_result_is_the_same_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut world = World::new();
            world.registry().register_plain::<[u64; 5]>().unwrap();
            world.registry().register_plain::<u32>().unwrap();
            let ant = prototype(world.registry(), [cloneable(&world, [1_u64, 2, 3, 4, 5])]);
            let batch = world
                .create_copies_with(&ant, 50_000, |number| (number as u32,))
                .unwrap();
            let ids: Vec<Entity> = batch.iter(&world).collect();
            sound(&world);
            (ids, world.state_hash(&Default::default()).unwrap())
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(4));
}

/// One copy, made by itself or as a batch of one.
type One = fn(&mut World, &Prototype) -> Result<Entity, WorldError>;

const ONE: [One; 2] = [
    |world, prototype| world.create_copy(prototype),
    |world, prototype| {
        let batch = world.create_copies(prototype, 1)?;
        Ok(batch.iter(world).next().unwrap())
    },
];

#[test]
fn one_copy_is_as_a_batch_of_one_would_be() {
    #[derive(Clone, Default)]
    struct Heard(Vec<String>);
    let [alone, batch] = ONE.map(|create| {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
        world.resources_mut().insert(Heard::default());
        let registry = world.registry();
        registry.register_enableable::<u16>().unwrap();
        registry.require_with::<u32, _>(|| 0.5_f64).unwrap();
        let counted = (Counted::new(&alive), 7_u8);
        let ant = [
            cloneable(&world, counted),
            cloneable(&world, 3_u32),
            cloneable(&world, 4_u16),
            Value::shared(registry, String::from("red")).unwrap(),
            Value::per_chunk(registry, 'c').unwrap(),
        ];
        let ant = prototype(registry, ant);
        for (kind, name) in [(Observed::CREATE, "created"), (Observed::SET, "set")] {
            let hear = move |batch: &mut crate::observer::ObservedBatch<'_>,
                             _: &mut crate::command::Commands<'_>| {
                let mut heard = Vec::new();
                batch
                    .for_each::<(Entity, &u32, &f64)>(|row| heard.push(format!("{name} {row:?}")))
                    .unwrap();
                let all = batch.resources_mut().get_mut::<Heard>();
                all.unwrap().0.append(&mut heard);
            };
            world.observe::<u32, ()>(kind, hear).unwrap();
        }
        let holes = [(); 3].map(|()| world.create((1_u64,)).unwrap());
        world.destroy(holes[1]).unwrap();
        let mut changed = Query::<Entity, crate::query::Changed<u32>>::new(&world).unwrap();
        let mut seen = Vec::new();
        for number in 0..20 {
            let copy = create(&mut world, &ant).unwrap();
            assert_eq!(alive.load(Ordering::Relaxed), 2 + number);
            assert_eq!(changed.on(&mut world).iter().last(), Some(copy));
            let value = world.get::<(Counted, u8)>(copy).unwrap().1;
            seen.push(format!(
                "{copy:?} {value} {:?} {:?} {:?} {:?} {:?}",
                world.get::<u32>(copy).unwrap(),
                world.get::<f64>(copy).unwrap(),
                world.is_enabled::<u16>(copy).unwrap(),
                world.shared::<String>(copy).unwrap(),
                world.chunk_fragment::<char>(copy).unwrap(),
            ));
            let data = world.archetypes.last().unwrap();
            let chunk = data.chunks.last().unwrap();
            let versions = (0..data.columns.len()).map(|column| chunk.version(column));
            seen.push(format!(
                "{:?} {} {}",
                versions.collect::<Vec<_>>(),
                chunk.order_version,
                chunk.filled_version,
            ));
            sound(&world);
        }
        seen.append(&mut world.resources_mut().get_mut::<Heard>().unwrap().0);
        world.clear();
        drop(ant);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        seen
    });
    assert_eq!(alone.len(), 80);
    assert_eq!(alone, batch);
}

#[test]
fn whatever_panics_or_is_refused_leaves_nothing_of_one_copy() {
    for create in ONE {
        let mut scarce = Scarce::new();
        let universe = Arc::clone(&scarce.universe);
        let registry = universe.registry();
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&universe).unwrap();
        // What is required burns the fuse, too.
        let made = Arc::clone(&alive);
        let burnt = move || {
            burn();
            (Counted::new(&made), 5_u16)
        };
        registry.require_with::<u8, _>(burnt).unwrap();
        let ant = [
            cloneable(&world, Counted::new(&alive)),
            cloneable(&world, 3_u8),
            cloneable(&world, (Counted::new(&alive), 1_u64)),
            Value::shared(registry, String::from("red")).unwrap(),
        ];
        let ant = prototype(registry, ant);
        let nothing = |world: &World, why: &str| {
            assert_eq!(counts(world), (0, 0), "{why}");
            assert_eq!(alive.load(Ordering::Relaxed), 2, "{why}");
            assert_eq!(world.archetypes().flat_map(|all| all.chunks()).count(), 0);
            sound(world);
        };
        for call in 1..=3 {
            FUSE.set(call);
            catch_unwind(AssertUnwindSafe(|| create(&mut world, &ant))).unwrap_err();
            FUSE.set(0);
            nothing(&world, &format!("call {call}"));
        }
        scarce.leave(0);
        let error = create(&mut world, &ant).unwrap_err();
        assert!(matches!(error, WorldError::Chunk(_)), "{error}");
        nothing(&world, "without memory");
        let foreign = prototype(World::new().registry(), []);
        let error = create(&mut world, &foreign).unwrap_err();
        assert!(matches!(error, WorldError::OtherUniverse), "{error}");
        nothing(&world, "of another universe");
        scarce.leave(1);
        let copy = create(&mut world, &ant).unwrap();
        assert_eq!((counts(&world), alive.load(Ordering::Relaxed)), ((1, 1), 5));
        assert_eq!(world.shared::<String>(copy).unwrap(), "red");
        sound(&world);
    }
}

#[test]
fn one_copy_is_there_though_an_observer_of_it_panics() {
    for create in ONE {
        let mut world = World::new();
        let observe = world.observe::<u32, ()>(Observed::CREATE, |_, _| {
            resume_unwind(Box::new("an observer"));
        });
        observe.unwrap();
        let ant = prototype(world.registry(), [cloneable(&world, 3_u32)]);
        catch_unwind(AssertUnwindSafe(|| create(&mut world, &ant))).unwrap_err();
        assert_eq!(counts(&world), (1, 1));
        sound(&world);
    }
}

#[test]
fn copies_made_one_by_one_lie_in_chunks_as_long_as_whatever_is_made_one_by_one() {
    let mut worlds = [World::new(), World::new()];
    let ant = prototype(worlds[0].registry(), [cloneable(&worlds[0], [3_u32; 4])]);
    for _ in 0..50_000 {
        worlds[0].create_copy(&ant).unwrap();
        worlds[1].create(([3_u32; 4],)).unwrap();
    }
    let [copies, others] = worlds.map(|world| {
        let chunks = world.archetypes[0].chunks.iter();
        chunks.map(|chunk| chunk.capacity).collect::<Vec<_>>()
    });
    assert_eq!(copies, others);
}
