//! Many observers: each hears what it would hear alone, and all in their order.

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

use crate::observers::{Burning, Heat, Seen, Team, Weight, Wet, taken, watch_where};

type Watch = fn(&mut World, Observed) -> Seen;

/// More than are asked about each change as they stand.
fn all() -> Vec<(Watch, Observed)> {
    let watches: [Watch; 8] = [
        watch_where::<Heat, ()>,
        watch_where::<Weight, ()>,
        watch_where::<Burning, ()>,
        watch_where::<Wet, ()>,
        watch_where::<Heat, Without<Wet>>,
        watch_where::<Weight, With<Burning>>,
        watch_where::<Burning, Without<Heat>>,
        watch_where::<Wet, (With<Heat>, With<Weight>)>,
    ];
    let kinds = [
        Observed::COME,
        Observed::GO,
        Observed::COME | Observed::GO,
        Observed::CREATE,
    ];
    let all = kinds.iter().flat_map(|&kind| watches.map(|w| (w, kind)));
    all.collect()
}

/// Changes of all kinds, of one and of many, some of them in archetypes that come when they are made.
fn change(world: &mut World) {
    let heat = world.create((Heat(1),)).unwrap();
    let both = world.create((Heat(2), Weight(1), Wet)).unwrap();
    world.add(heat, (Burning,)).unwrap();
    let batch = world
        .create_batch((0..100).map(|n| (Weight(n), Burning)))
        .unwrap();
    let many: Vec<Entity> = batch.iter(world).collect();
    let _ = world.add_slice(&many[..50], |_| (Wet,));
    let _ = world.remove_slice::<(Burning,)>(&many[20..70]);
    world.remove::<(Heat,)>(both).unwrap();
    let _ = world.destroy_slice(&[heat, many[1], many[60], many[99]]);
    let mut commands = world.commands();
    commands.create((Heat(9), Wet)).unwrap();
    commands.add(many[5], (Heat(3), Team(1))).unwrap();
    commands.destroy(many[6]);
    drop(commands);
    assert!(world.flush().is_clean());
    world.clear();
}

#[test]
fn each_of_many_observers_hears_what_it_would_hear_alone() {
    let mut together = World::of(&Arc::new(Universe::ordered())).unwrap();
    let seen: Vec<Seen> = all()
        .iter()
        .map(|(watch, kind)| watch(&mut together, *kind))
        .collect();
    // Twice, so that what is remembered of archetypes is used.
    for _ in 0..2 {
        change(&mut together);
    }
    let mut heard = 0;
    for ((watch, kind), seen) in all().into_iter().zip(&seen) {
        let mut alone = World::of(&Arc::new(Universe::ordered())).unwrap();
        let only = watch(&mut alone, kind);
        for _ in 0..2 {
            change(&mut alone);
        }
        let only = taken(&only);
        heard += only.len();
        assert_eq!(taken(seen), only);
    }
    assert!(heard > 100, "{heard}");
}

#[test]
fn many_observers_come_and_go_and_are_called_in_their_order() {
    let mut world = World::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let observe = |world: &mut World, number: u32| {
        let order = Arc::clone(&order);
        let note = move |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            order.lock().unwrap().push(number)
        };
        match number % 3 {
            0 => world.observe::<Heat, ()>(Observed::CREATE, note),
            1 => world.observe::<Weight, ()>(Observed::CREATE, note),
            _ => world.observe::<Wet, ()>(Observed::CREATE, note),
        }
        .unwrap()
    };
    let mut ids: Vec<_> = (0..30).map(|n| (n, observe(&mut world, n))).collect();
    for next in 30..60 {
        world.create((Heat(1), Weight(2))).unwrap();
        let expected: Vec<u32> = ids
            .iter()
            .map(|(number, _)| *number)
            .filter(|number| number % 3 != 2)
            .collect();
        assert_eq!(core::mem::take(&mut *order.lock().unwrap()), expected);
        // One goes from the middle, and one comes.
        let (_, gone) = ids.remove((next as usize * 7) % ids.len());
        assert!(world.unobserve(gone));
        ids.push((next, observe(&mut world, next)));
    }
}
