//! Signals that rise to all above an entity.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use crate::rows::{numbers, reader};

struct Below(Entity);

impl Relationship for Below {
    fn target(&self) -> Entity {
        self.0
    }
}

#[test]
fn a_signal_rises_to_all_above_each_once_and_circles_end() {
    let mut world = World::new();
    let hit = world.signal::<u32>("hit").unwrap();
    let mut hits: SignalReader = reader(&mut world, hit);
    let all: Vec<Entity> = (0..12).map(|_| world.create(()).unwrap()).collect();
    // 0 → 1 → 2 → 3, a tree; 4 → 5 → 6 → 7 → 5, a circle with a way into it; 8 → 8; 9 → nobody; 10 ⇄ 11.
    let above = [1, 2, 3, 99, 5, 6, 7, 5, 8, 98, 11, 10];
    for (&entity, above) in all.iter().zip(above) {
        match above {
            99 => {}
            98 => world.add(entity, (Below(Entity::PLACEHOLDER),)).unwrap(),
            above => world.add(entity, (Below(all[above]),)).unwrap(),
        }
    }
    let mut index = RelationshipIndex::<Below>::new(&world).unwrap();
    index.update(&world);
    for (from, expected) in [
        (0, &[1, 2, 3][..]),
        (2, &[3]),
        (3, &[]),
        (4, &[5, 6, 7]),
        (5, &[6, 7]),
        (7, &[5, 6]),
        (8, &[]),
        (9, &[]),
        (10, &[11]),
    ] {
        let mut signals = world.signals();
        let sent = signals.send_up(hit, all[from], &(from as u32), &index);
        assert_eq!((sent, signals.len()), (expected.len(), expected.len()));
        drop(signals);
        let mut got = numbers(&mut hits, &mut world, hit);
        got.sort_unstable();
        let mut expected: Vec<_> = expected
            .iter()
            .map(|&at| (all[at], vec![from as u32]))
            .collect();
        expected.sort_unstable();
        assert_eq!(got, expected, "from {from}");
    }
    // The nearest first.
    struct Numbered(Arc<AtomicUsize>, usize);
    impl Clone for Numbered {
        fn clone(&self) -> Self {
            Self(Arc::clone(&self.0), self.0.fetch_add(1, Ordering::Relaxed))
        }
    }
    let numbered = world.signal_of::<Numbered>();
    let mut reader: SignalReader = reader(&mut world, numbered);
    let payload = Numbered(Arc::default(), 0);
    let sent = world.signals().send_up(numbered, all[0], &payload, &index);
    assert_eq!(sent, 3);
    let mut order = Vec::new();
    let _ = reader.deliver(&mut world, |entity, received| {
        order.extend(received.of(numbered).map(|number| (number.1, entity)));
    });
    order.sort_unstable();
    assert_eq!(order, [(0, all[1]), (1, all[2]), (2, all[3])]);
}
