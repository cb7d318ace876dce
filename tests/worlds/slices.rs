//! Slices: handles that stand there twice, and panics in the middle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use crate::changes::Counted;

struct Asleep;

fn ants(world: &mut World, count: usize) -> Vec<Entity> {
    let bundles = (0..count).map(|n| (n as f32, n.to_string()));
    world.create_batch(bundles).unwrap().iter(world).collect()
}

#[test]
fn a_handle_that_stands_in_a_slice_twice_is_changed_twice_where_it_can_be() {
    let mut world = World::new();
    let mut all = ants(&mut world, 1_000);
    all.extend_from_within(500..);
    let mut calls = 0;
    let mut make = |position| {
        calls += 1;
        (position as u64,)
    };
    let report = world.add_slice(&all, &mut make);
    assert_eq!((report.done, report.is_clean()), (1_500, true));
    let report = world.swap_slice::<(Asleep,), _>(&all, make);
    assert_eq!(
        (report.done, report.is_clean(), calls),
        (1_500, true, 3_000)
    );
    // The last has it.
    for (n, ant) in all[..1_000].iter().enumerate() {
        let last = if n < 500 { n } else { n + 500 };
        assert_eq!(world.get::<u64>(*ant).unwrap(), &(last as u64));
    }
    let report = world.remove_slice::<(u64,)>(&all);
    assert_eq!((report.done, report.is_clean()), (1_000, true));
    let mut positions = Query::<&f32>::new(&world).unwrap();
    let mut lent = 0;
    let report = positions.on(&mut world).for_each_in(&all, |_| lent += 1);
    assert_eq!((report.done, report.is_clean(), lent), (1_000, true, 1_000));
    let mut other = World::of(world.universe()).unwrap();
    let report = world.move_slice_to(&mut other, &all).unwrap();
    assert_eq!((report.done, report.refused.len()), (1_000, 500));
    for (at, error) in &report.refused {
        assert!(*at >= 1_000 && matches!(error, WorldError::Elsewhere { .. }));
    }
    let report = other.destroy_slice(&all);
    assert_eq!((report.done, report.refused.len()), (1_000, 500));
    for (at, error) in &report.refused {
        assert!(*at >= 1_000 && matches!(error, WorldError::Entity(_)));
    }
}

#[test]
fn what_begins_a_chunk_and_cannot_be_cloned_ends_a_removal() {
    struct Weather(Arc<AtomicUsize>);
    impl Clone for Weather {
        fn clone(&self) -> Self {
            let left = self.0.load(Ordering::Relaxed);
            self.0.store(left.saturating_sub(1), Ordering::Relaxed);
            assert_ne!(left, 1, "enough");
            Self(Arc::clone(&self.0))
        }
    }
    let (drops, fuse) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut world = World::new();
    let weather = Weather(Arc::clone(&fuse));
    let first = (0_u32, [0_u64; 12], Counted::new(&drops)).per_chunk(weather);
    let mut ants = vec![world.create(first).unwrap()];
    for n in 1..2_000_u32 {
        let bomb = n == 3;
        let ant = (
            n,
            [0_u64; 12],
            Counted {
                drops: Arc::clone(&drops),
                bomb,
            },
        );
        ants.push(
            world
                .create(ant.per_chunk(Weather(Arc::default())))
                .unwrap(),
        );
    }
    fuse.store(4, Ordering::Relaxed);
    let gone = catch_unwind(AssertUnwindSafe(|| world.remove_slice::<(Counted,)>(&ants)));
    let said = gone.unwrap_err();
    assert_eq!(
        said.downcast_ref(),
        Some(&"a bomb was dropped"),
        "the first"
    );
    world.check().unwrap();
    let done = drops.load(Ordering::Relaxed);
    assert!(0 < done && done < 2_000);
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.has::<Counted>(ant).unwrap(), n >= done);
        assert_eq!(world.get::<u32>(ant).unwrap(), &(n as u32));
    }
    fuse.store(0, Ordering::Relaxed);
    assert_eq!(world.remove_slice::<(Counted,)>(&ants).done, 2_000 - done);
    assert_eq!(drops.load(Ordering::Relaxed), 2_000);
}
