//! Recorders where ids run out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::world::Prototype;

use crate::counted::Counted;
use crate::{fill, full};

/// Panics when it is dropped, if it is armed. `N` tells two types apart.
struct Bomb<const N: usize>(Arc<AtomicUsize>);

const ARMED: usize = 1 << 32;

impl<const N: usize> Drop for Bomb<N> {
    fn drop(&mut self) {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(before < ARMED, "a bomb");
    }
}

#[test]
#[ignore = "fills the index: 1.2 GB"]
fn ids_that_run_out_end_a_recording_and_nothing_else() {
    let (universe, mut last) = full();
    let mut world = World::of(&universe).unwrap();
    let copied = Arc::new(AtomicUsize::new(0));
    let value = Value::cloneable(world.registry(), Counted::new(&copied)).unwrap();
    let copied_from = Prototype::new(world.registry(), DynamicBundle::new().with(value)).unwrap();
    for left in 0..40 {
        for entity in last.drain(..left) {
            world.release(entity).unwrap();
        }
        let alive = Arc::new(AtomicUsize::new(0));
        let mut commands = world.commands();
        let mut made = 0;
        while made < left / 2 {
            commands.create((1_u32, Counted::new(&alive))).unwrap();
            made += 1;
        }
        let batch = commands.create_batch((0..60).map(|n: u32| (n, Counted::new(&alive))));
        assert!(matches!(batch, Err(WorldError::Full(_))));
        let copies = commands.create_copies(&copied_from, 60);
        assert!(matches!(copies, Err(WorldError::Full(_))));
        assert_eq!(copied.load(Ordering::Relaxed), 1);
        let copy = commands.create_copy(&copied_from);
        match copy {
            Ok(_) => assert!(left > made),
            Err(ref error) => assert!(matches!(error, WorldError::Full(_)) && left == made),
        }
        made += usize::from(copy.is_ok());
        match commands.create((2_u32, Counted::new(&alive))) {
            Ok(_) => assert!(left > made),
            Err(error) => assert!(matches!(error, WorldError::Full(_)), "{error}"),
        }
        drop(commands);
        let created = world.flush().created;
        assert!((made..=left).contains(&created));
        world.check().unwrap();
        let weathers = [&alive, &copied].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(weathers[0] + weathers[1], created + 1);
        assert_eq!(world.clear(), created);
        while let Ok(entity) = universe.reserve() {
            last.push(entity);
        }
    }
}

#[test]
#[ignore = "fills the index: 1.2 GB"]
fn values_that_a_recorder_refuses_end_one_by_one_in_every_kind_of_universe() {
    for universe in [Universe::new(), Universe::ordered()] {
        let universe = Arc::new(universe);
        let mut world = World::of(&universe).unwrap();
        let ended = Arc::new(AtomicUsize::new(0));
        let bundle = || (Bomb::<1>(Arc::clone(&ended)), Bomb::<2>(Arc::clone(&ended)));
        let mut commands = world.commands();
        // From here on it knows where such entities go.
        commands.create(bundle()).unwrap();
        fill(&universe);
        ended.store(ARMED, Ordering::Relaxed);
        let refused = catch_unwind(AssertUnwindSafe(|| {
            // Some ids may be at hand still.
            for _ in 0..1_000 {
                if commands.create(bundle()).is_err() {
                    return;
                }
            }
        }));
        assert!(refused.is_err(), "the panic goes on");
        assert_eq!(ended.swap(0, Ordering::Relaxed), ARMED + 2);
        drop(commands);
        let created = world.flush().created;
        assert_eq!(world.clear(), created);
        assert_eq!(ended.load(Ordering::Relaxed), 2 * created);
    }
}
