//! What observers hear of those who go from world to world.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

#[test]
fn who_goes_to_another_world_is_not_taken_for_dead() {
    struct Seen;
    type Said = (&'static str, Observed, bool, usize);
    let universe = Arc::new(Universe::new());
    let heard: Arc<Mutex<Vec<Said>>> = Arc::default();
    let mut worlds = ["one", "other"].map(|name| {
        let mut world = World::of(&universe).unwrap();
        for kind in [Observed::CREATE, Observed::DESTROY, Observed::ADD] {
            let heard = Arc::clone(&heard);
            let observer = world.observe::<Seen, ()>(kind, move |batch, _| {
                let said = (name, batch.change(), batch.is_move(), batch.len());
                heard.lock().unwrap().push(said);
                let panics = batch
                    .resources()
                    .get::<bool>()
                    .is_some_and(|panics| *panics);
                assert!(!panics, "as it was told");
            });
            observer.unwrap();
        }
        world
    });
    let said = || core::mem::take(&mut *heard.lock().unwrap());
    let (create, destroy, add) = (Observed::CREATE, Observed::DESTROY, Observed::ADD);
    let [one, other] = &mut worlds;
    let all: Vec<Entity> = (0..6).map(|_| one.create((Seen,)).unwrap()).collect();
    assert_eq!(said(), [("one", create, false, 1); 6]);
    let between = |count| {
        [
            ("other", create, true, count),
            ("one", destroy, true, count),
        ]
    };
    let both = || {
        let mut said = said();
        said.sort_by_key(|(name, ..)| *name == "one");
        said
    };
    one.move_to(other, all[0]).unwrap();
    assert_eq!(both(), between(1));
    assert!(one.move_slice_to(other, &all[1..3]).unwrap().is_clean());
    assert_eq!(both(), between(2));
    let moved = one.matching::<With<Seen>>().unwrap().move_to(other);
    assert_eq!((moved, both()), (Ok(3), between(3).to_vec()));
    // A panic between two worlds is over when it is.
    one.resources_mut().insert(true);
    let back = catch_unwind(AssertUnwindSafe(|| other.move_all_to(one)));
    assert!(back.is_err());
    one.resources_mut().insert(false);
    let _ = said();
    one.destroy(all[0]).unwrap();
    one.remove::<(Seen,)>(all[1]).unwrap();
    one.add(all[1], (Seen,)).unwrap();
    other.create((Seen,)).unwrap();
    assert_eq!(
        said(),
        [
            ("one", destroy, false, 1),
            ("one", add, false, 1),
            ("other", create, false, 1)
        ]
    );
}

#[test]
fn a_reader_runs_in_no_other_world_and_goes_on_in_its_own() {
    struct Hit;
    let universe = Arc::new(Universe::new());
    let [mut one, mut other] = [(); 2].map(|()| World::of(&universe).unwrap());
    let mut reader = SignalReader::<&u32>::new(&one).unwrap();
    let signals = [&one, &other].map(|world| world.signal::<Hit>("hit").unwrap());
    reader.subscribe(&mut one, signals[0]).unwrap();
    let ants = [&mut one, &mut other].map(|world| world.create((5_u32,)).unwrap());
    one.signals().send(signals[0], ants[0], Hit);
    other.signals().send(signals[1], ants[1], Hit);
    other.collect_signals();
    let mut heard = 0;
    let delivered = catch_unwind(AssertUnwindSafe(|| {
        reader.deliver(&mut other, |number, _| heard += number)
    }));
    let read = catch_unwind(AssertUnwindSafe(|| {
        reader.read(&other, |number, _| heard += number)
    }));
    for refused in [delivered, read] {
        let panic = refused.unwrap_err();
        let said = panic.downcast_ref::<&str>().unwrap();
        assert!(
            said.contains("the world whose signals it has subscribed to"),
            "{said}"
        );
    }
    assert_eq!(heard, 0);
    let delivery = reader.deliver(&mut one, |number, received| {
        heard += number * received.len() as u32;
    });
    assert_eq!((heard, delivery.dead), (5, 0));
}
