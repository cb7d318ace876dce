//! Observers that set, go, come, panic or switch off in the middle of what they hear.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::query::Enabled;

use super::hear_heat;
use crate::observers::{Heat, Wet, sorted, taken, watch_where};

#[test]
fn an_observer_that_sets_what_it_hears_of_is_stopped_and_one_that_writes_is_not_called_again() {
    let mut world = World::new();
    let ant = world.create((Heat(0),)).unwrap();
    let writes = world.observe::<Heat, ()>(Observed::SET, |batch, _| {
        batch.for_each::<&mut Heat>(|heat| heat.0 += 1).unwrap();
    });
    let writes = writes.unwrap();
    world.set(ant, Heat(10)).unwrap();
    assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(11));
    assert!(world.unobserve(writes));
    let sets = world.observe::<Heat, ()>(Observed::SET, |batch, commands| {
        for entity in batch.entities() {
            commands.set(entity, Heat(1)).unwrap();
        }
    });
    sets.unwrap();
    world.set(ant, Heat(2)).unwrap();
    assert_eq!(
        world.get::<Heat>(ant).unwrap(),
        &Heat(2),
        "what is recorded waits"
    );
    let report = world.flush();
    assert!(report.unfinished && report.rounds == 5);
    assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(1));
}

#[test]
fn observers_come_and_go_in_the_middle() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..4).map(|n| world.create((Heat(n),)).unwrap()).collect();
    let early = watch_where::<Heat, ()>(&mut world, Observed::SET);
    let late: Arc<Mutex<Option<crate::observers::Seen>>> = Arc::default();
    let mine = Arc::clone(&late);
    let mut commands = world.commands();
    commands.set(ants[0], Heat(7)).unwrap();
    commands.defer(move |world| {
        let first = world.observers().next().unwrap().id;
        assert!(world.unobserve(first));
        *mine.lock().unwrap() = Some(watch_where::<Heat, ()>(world, Observed::SET));
    });
    commands.set(ants[1], Heat(7)).unwrap();
    commands.add(ants[2], (Heat(7), Wet)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(taken(&early), [(Observed::SET, vec![ants[0]])]);
    let late = late.lock().unwrap().take().unwrap();
    let told: Vec<Entity> = taken(&late).into_iter().flat_map(|(_, all)| all).collect();
    assert_eq!(sorted(told), ants[1..3]);
    // Nobody is left: nothing is told, and nothing is kept to be told.
    let last = world.observers().next().unwrap().id;
    assert!(world.unobserve(last));
    world.set(ants[0], Heat(8)).unwrap();
    assert!(taken(&late).is_empty());
}

#[test]
fn panics_of_observers_and_of_users_code_leave_the_others_told() {
    struct Loud(u32);
    impl Drop for Loud {
        fn drop(&mut self) {
            assert!(self.0 != 7, "dropped");
        }
    }
    let mut world = World::new();
    let ants: Vec<Entity> = (0..4)
        .map(|n| world.create((Heat(n), Loud(n + 6))).unwrap())
        .collect();
    let angry = world
        .observe::<Heat, ()>(Observed::SET, |_, _| panic!("observed"))
        .unwrap();
    let heats = watch_where::<Heat, ()>(&mut world, Observed::SET);
    let louds = watch_where::<Loud, ()>(&mut world, Observed::SET);
    let panics = |world: &mut World, change: &mut dyn FnMut(&mut World)| {
        let result = catch_unwind(AssertUnwindSafe(|| change(world)));
        *result.unwrap_err().downcast_ref::<&str>().unwrap()
    };
    assert_eq!(
        panics(&mut world, &mut |world| world
            .set(ants[0], Heat(5))
            .unwrap()),
        "observed"
    );
    assert_eq!(taken(&heats), [(Observed::SET, vec![ants[0]])]);
    let set = panics(&mut world, &mut |world| {
        let mut commands = world.commands();
        ants.iter()
            .for_each(|&ant| commands.set(ant, Heat(6)).unwrap());
        drop(commands);
        let _ = world.flush();
    });
    assert_eq!(
        (set, taken(&heats)),
        ("observed", vec![(Observed::SET, ants.clone())])
    );
    assert!(world.unobserve(angry));
    // The second one's value panics when it is replaced: it has the new one, and is told of.
    assert_eq!(
        panics(&mut world, &mut |world| world
            .set(ants[1], Loud(1))
            .unwrap()),
        "dropped"
    );
    assert_eq!(taken(&louds), [(Observed::SET, vec![ants[1]])]);
    world.set(ants[1], Loud(7)).unwrap();
    taken(&louds);
    let _ = panics(&mut world, &mut |world| {
        let _ = world.add_slice(&ants[1..2], |_| (Loud(1), Wet));
    });
    assert_eq!(taken(&louds), [(Observed::SET, vec![ants[1]])]);
    // A closure that panics: those before it have theirs.
    let made = panics(&mut world, &mut |world| {
        let _ = world.add_slice(&ants, |at| match at {
            2 => panic!("made"),
            _ => (Heat(3),),
        });
    });
    assert_eq!(
        (made, taken(&heats)),
        ("made", vec![(Observed::SET, ants[..2].to_vec())])
    );
    world.check().unwrap();
}

#[test]
fn who_was_to_go_and_stays_comes_again_and_is_set_again() {
    for destroys in [true, false] {
        let mut world = World::new();
        world.registry().register_enableable::<Wet>().unwrap();
        let ants: Vec<Entity> = (0..3)
            .map(|n| world.create((Heat(n), Wet)).unwrap())
            .collect();
        let calls = hear_heat(&mut world, Observed::GO | Observed::COME | Observed::SET);
        // Whoever hears of the end switches off what the change asks for.
        let hear = world.observe::<Heat, ()>(Observed::GO, |batch, _| {
            let mut number = 0;
            let switched = batch.for_each::<Enabled<Wet>>(|wet| {
                wet.set(number > 0);
                number += 1;
            });
            assert_eq!(switched, Ok(3));
        });
        hear.unwrap();
        let wet = world.matching::<With<Wet>>().unwrap();
        let [goes, comes] = match destroys {
            true => {
                assert_eq!(wet.destroy(), 2);
                [Observed::DESTROY, Observed::CREATE]
            }
            false => {
                assert_eq!(wet.remove::<(Heat,)>().unwrap(), 2);
                [Observed::REMOVE, Observed::ADD]
            }
        };
        let one = vec![(ants[0], 0)];
        let told = core::mem::take(&mut *calls.lock().unwrap());
        assert_eq!((told[0].0, told[0].1.len()), (goes, 3));
        assert_eq!(told[1..], [(comes, one.clone()), (Observed::SET, one)]);
    }
}
