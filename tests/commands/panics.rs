//! Recorders and flushes, the `j`-th call of user's code panicking for all `j`.
//!
//! Closures and `Drop` panic in `tests/world_models`; memory ends in the unit tests of the command room, ids
//! in `tests/full_index`.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

thread_local! {
    /// Calls of user's code until one panics; 0: none does.
    static FUSE: Cell<usize> = const { Cell::new(0) };
}

fn burn() {
    let left = FUSE.get();
    FUSE.set(left.saturating_sub(1));
    if left == 1 && !std::thread::panicking() {
        resume_unwind(Box::new("the fuse"));
    }
}

/// Runs `work`, the `call`-th call of user's code panicking; whether one did.
fn panics_at(call: usize, work: impl FnOnce()) -> bool {
    FUSE.set(call);
    let result = catch_unwind(AssertUnwindSafe(work));
    let burnt = FUSE.replace(0) == 0;
    assert!(result.is_ok() || burnt);
    result.is_err()
}

/// Counts itself, and panics when it is cloned, if the fuse says so.
#[derive(Debug)]
struct Weather(Arc<AtomicUsize>);

impl Weather {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Clone for Weather {
    fn clone(&self) -> Self {
        burn();
        Self::new(&self.0)
    }
}

impl Drop for Weather {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Panics when it is compared or hashed, if the fuse says so.
#[derive(Debug)]
struct Faction(u32, #[expect(dead_code, reason = "it is dropped")] Weather);

impl PartialEq for Faction {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Eq for Faction {}

impl Hash for Faction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        // All in one place: equality must decide.
        0.hash(state);
    }
}

#[test]
fn a_template_that_panics_while_chunks_are_taken_over_ends_those_rows_alone() {
    for call in 1.. {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::new();
        let bundle = |n: u64| (n, Weather::new(&alive));
        let templates = Arc::new(AtomicUsize::new(0));
        // A chunk with room, which the recorder's last chunk tops up.
        let first = bundle(0).per_chunk([Weather::new(&templates), Weather::new(&templates)]);
        world.create(first).unwrap();
        let mut commands = world.commands();
        let mut all: Vec<Entity> = Vec::new();
        for n in 0..2_500 {
            let bundle = bundle(n).per_chunk([Weather::new(&templates), Weather::new(&templates)]);
            all.push(commands.create(bundle).unwrap());
        }
        drop(commands);
        let panicked = panics_at(call, || assert!(world.flush().is_clean()));
        world.universe().check([&world]).unwrap();
        let living = all.iter().filter(|&&entity| world.exists(entity)).count();
        assert_eq!(world.count(), living + 1);
        assert_eq!(alive.load(Ordering::Relaxed), living + 1);
        for (n, &entity) in all.iter().enumerate() {
            assert_eq!(
                world.get::<u64>(entity).ok(),
                world.exists(entity).then_some(&(n as u64))
            );
        }
        drop(world);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert_eq!(templates.load(Ordering::Relaxed), 0);
        if !panicked {
            assert!(call > 4 && living == 2_500);
            break;
        }
    }
}

#[test]
fn shared_values_whose_eq_or_hash_panics_leave_nothing_behind() {
    for call in 1.. {
        let alive = Arc::new(AtomicUsize::new(0));
        let faction = |n| Faction(n, Weather::new(&alive));
        let mut world = World::new();
        let ants: Vec<Entity> = (0..6)
            .map(|n| world.create((n, Weather::new(&alive)).shared(faction(n % 2))))
            .collect::<Result<_, _>>()
            .unwrap();
        let mut made = Vec::new();
        let mut panicked = panics_at(call, || {
            let mut commands = world.commands();
            for n in 0..6 {
                let bundle = (n, Weather::new(&alive)).shared(faction(n % 3));
                made.push(commands.create(bundle).unwrap());
                commands
                    .set_shared(ants[n as usize], faction(2 + n % 3))
                    .unwrap();
            }
        });
        let left = FUSE.get();
        assert_eq!(left, 0);
        // What was recorded before stays.
        panicked |= panics_at(if panicked { 0 } else { call }, || {
            assert!(world.flush().is_clean());
        });
        world.universe().check([&world]).unwrap();
        for &ant in &ants {
            assert!(world.shared::<Faction>(ant).unwrap().0 < 5);
        }
        drop(world);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        if !panicked {
            assert!(call > 10);
            break;
        }
    }
}

#[test]
fn an_iterator_that_panics_leaves_none_of_its_batch() {
    for len in [3, 300, 3_000] {
        for call in (1..=len + 1).step_by(1 + len / 40) {
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::new();
            let mut commands = world.commands();
            let before = commands.create((7_u32, Weather::new(&alive))).unwrap();
            let panicked = panics_at(call, || {
                let bundles = (0..len as u32).map(|n| {
                    burn();
                    (n, Weather::new(&alive))
                });
                assert_eq!(commands.create_batch(bundles).unwrap().len(), len);
            });
            assert_eq!(panicked, call <= len);
            let stay = if panicked { 0 } else { len };
            assert_eq!(alive.load(Ordering::Relaxed), 1 + stay);
            let bundles = (0..200_u32).map(|n| (n, Weather::new(&alive)));
            let after = commands.create_batch(bundles).unwrap();
            let after: Vec<Entity> = after.iter(&commands).collect();
            for (&entity, n) in after.iter().zip(0..) {
                assert_eq!(commands.get::<u32>(entity).unwrap(), &n);
            }
            drop(commands);
            world.universe().check([&world]).unwrap();
            assert_eq!(world.universe().count(), 201 + stay);
            let report = world.flush();
            world.universe().check([&world]).unwrap();
            assert!(report.is_clean());
            assert_eq!((report.created, world.count()), (201 + stay, 201 + stay));
            assert_eq!(world.get::<u32>(before).unwrap(), &7);
            for (&entity, n) in after.iter().zip(0..) {
                assert_eq!(world.get::<u32>(entity).unwrap(), &n);
            }
            assert_eq!(alive.load(Ordering::Relaxed), world.count());
        }
    }
}

#[test]
fn an_iterator_of_shared_values_that_panics_leaves_none_of_its_batch() {
    for call in (1..=1_501).step_by(50) {
        let alive = Arc::new(AtomicUsize::new(0));
        let values = Arc::new(AtomicUsize::new(0));
        let mut world = World::new();
        let mut commands = world.commands();
        let mut made = 0;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let bundles = (0..1_500_u32).map(|n| {
                made += 1;
                assert_ne!(made, call, "enough");
                let faction = Faction(n % 3, Weather::new(&values));
                (n, Weather::new(&alive)).shared(faction)
            });
            assert_eq!(commands.create_batch(bundles).unwrap().len(), 1_500);
        }));
        let stay = if result.is_err() { 0 } else { 1_500 };
        assert_eq!(stay == 0, call <= 1_500);
        let faction = Faction(1, Weather::new(&values));
        let after = (9_u32, Weather::new(&alive)).shared(faction);
        let after = commands.create(after).unwrap();
        assert_eq!(commands.get::<u32>(after).unwrap(), &9);
        drop(commands);
        world.universe().check([&world]).unwrap();
        assert_eq!(world.flush().created, 1 + stay);
        world.universe().check([&world]).unwrap();
        assert_eq!(world.shared::<Faction>(after).unwrap().0, 1);
        assert_eq!(alive.load(Ordering::Relaxed), 1 + stay);
        drop(world);
        assert_eq!(values.load(Ordering::Relaxed), 0);
    }
}

/// So large that a chunk holds eight: the first four of a recorder go where those of other recorders are.
#[derive(Clone, Copy)]
struct Large([u64; 250]);

#[test]
fn rows_that_batches_leave_are_filled_again_wherever_they_were() {
    // How many others created, how many a first batch makes before it panics, how many come then, how many a second
    // one makes: so that it goes over every border between what a recorder has of one chunk and of the next.
    // All of them, or so many from here and there.
    let all = 8 * 10 * 8 * 8;
    let cases = std::env::var("MEGACHUNK_LEFT_ROWS").map_or(all, |n| n.parse().expect("a number"));
    for number in 0..cases {
        let case = number * 1_001 % all;
        let (others, first, between, second) = (case % 8, case / 8 % 10, case / 80 % 8, case / 640);
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::new();
        let bundle = |n: u64| (Large([n; 250]), Weather::new(&alive));
        let mut all: Vec<Entity> = Vec::new();
        for n in 0..others {
            all.push(world.commands().create(bundle(n)).unwrap());
        }
        let mut commands = world.commands();
        let broken_off = |commands: &mut Commands<'_>, made| {
            let bundles = (0..=made).map(|n| {
                if n == made {
                    resume_unwind(Box::new("enough"));
                }
                bundle(n)
            });
            let result = catch_unwind(AssertUnwindSafe(|| commands.create_batch(bundles)));
            assert!(result.is_err());
        };
        broken_off(&mut commands, first);
        all.extend((others..others + between).map(|n| commands.create(bundle(n)).unwrap()));
        broken_off(&mut commands, second);
        let end = others + between + 12;
        all.extend((others + between..end).map(|n| commands.create(bundle(n)).unwrap()));
        for (&entity, n) in all.iter().zip(0..).skip(others as usize) {
            assert_eq!(commands.get::<Large>(entity).unwrap().0, [n; 250]);
        }
        drop(commands);
        world.universe().check([&world]).unwrap();
        assert_eq!(world.flush().created, all.len());
        world.universe().check([&world]).unwrap();
        for (&entity, n) in all.iter().zip(0..) {
            assert_eq!(world.get::<Large>(entity).unwrap().0, [n; 250]);
        }
        assert_eq!(alive.load(Ordering::Relaxed), all.len());
    }
}
