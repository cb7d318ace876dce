//! Many values at once: ranges, filters that are asked of each row, and an index that is kept by what is told.

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

use crate::observers::{Heat, Weight, Wet, sorted, taken, watch_where};

#[test]
fn large_flushes_tell_in_ranges_that_do_not_depend_on_threads() {
    let told = |from: Option<usize>| {
        let mut world = World::new();
        world.set_flush_threads_from(from);
        let ants = world
            .create_batch((0..20_000).map(|n| (Heat(n),)))
            .unwrap()
            .to_vec(&world);
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let mine = Arc::clone(&ranges);
        let hear = world.observe::<Heat, ()>(Observed::SET, move |batch, _| {
            let all: Vec<Vec<Entity>> = batch.ranges().map(<[Entity]>::to_vec).collect();
            mine.lock().unwrap().push(all);
        });
        hear.unwrap();
        let mut commands = world.commands();
        for (n, &ant) in ants.iter().enumerate() {
            match n % 10_000 {
                0..5_000 => commands.set(ant, Heat(1)).unwrap(),
                5_000..7_000 => commands.add(ant, (Heat(2), Weight(1))).unwrap(),
                7_000..8_000 => commands.add(ant, (Weight(1),)).unwrap(),
                _ => {}
            }
        }
        drop(commands);
        assert!(world.flush().is_clean());
        let ranges = core::mem::take(&mut *ranges.lock().unwrap());
        assert_eq!(ranges.len(), 1, "one batch");
        let all: Vec<Entity> = ranges[0].iter().flatten().copied().collect();
        let expected = ants.iter().enumerate().filter(|(n, _)| n % 10_000 < 7_000);
        assert_eq!(sorted(all), sorted(expected.map(|(_, &ant)| ant).collect()));
        ranges
    };
    let alone = told(None);
    assert_eq!(alone, told(Some(1)));
    assert!(
        alone[0].len() < 1_000,
        "ranges, not rows: {}",
        alone[0].len()
    );
}

#[test]
fn filters_are_asked_of_what_entities_are_then() {
    let mut world = World::new();
    world.registry().register_enableable::<Weight>().unwrap();
    let dry = watch_where::<Heat, Without<Wet>>(&mut world, Observed::SET);
    let heavy = watch_where::<Heat, With<Weight>>(&mut world, Observed::SET);
    let ants: Vec<Entity> = (0..9)
        .map(|n| world.create((Heat(n), Weight(1))).unwrap())
        .collect();
    let _ = (taken(&dry), taken(&heavy));
    world.set_enabled::<Weight>(ants[4], false).unwrap();
    // The same one comes along several ways; each row is told once.
    let some = [ants[3], ants[5], ants[3], ants[4], ants[5]];
    assert_eq!(world.add_slice(&some, |at| (Heat(at as u32), 'a')).done, 5);
    let told = |seen| {
        taken(seen)
            .into_iter()
            .map(|(_, all)| sorted(all))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&dry), [ants[3..6].to_vec()]);
    assert_eq!(told(&heavy), [vec![ants[3], ants[5]]]);
    world.add(ants[0], (Heat(1), Wet)).unwrap();
    assert_eq!((told(&dry), told(&heavy)), (vec![], vec![vec![ants[0]]]));
}

#[test]
fn an_index_that_is_kept_by_set_and_go_is_true_of_the_world() {
    use std::collections::BTreeMap;
    let mut world = World::new();
    world.resources_mut().insert(BTreeMap::<Entity, u32>::new());
    let keep = world.observe::<Heat, ()>(Observed::SET | Observed::GO, |batch, _| {
        let change = batch.change();
        batch.with_resource(|batch, index: &mut BTreeMap<Entity, u32>| {
            let lent = batch.for_each::<(Entity, &Heat)>(|(entity, heat)| match change {
                Observed::SET => drop(index.insert(entity, heat.0)),
                _ => drop(index.remove(&entity)),
            });
            lent.unwrap();
        });
    });
    let keep = keep.unwrap();
    let ants = world
        .create_batch((0..100).map(|n| (Heat(n), Weight(1))))
        .unwrap()
        .to_vec(&world);
    world.set(ants[1], Heat(1_000)).unwrap();
    assert!(world.remove::<(Heat,)>(ants[2]).unwrap());
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate().skip(10) {
        match n % 4 {
            0 => commands.set(ant, Heat(2_000)).unwrap(),
            1 => commands.destroy(ant),
            2 => commands.remove::<(Heat,)>(ant).unwrap(),
            _ => commands.add(ant, (Heat(3_000), Wet)).unwrap(),
        }
    }
    drop(commands);
    assert!(world.flush().is_clean());
    let there = |world: &World| -> BTreeMap<Entity, u32> {
        let mut all = world.read::<(Entity, &Heat), ()>().unwrap();
        let mut there = BTreeMap::new();
        all.for_each(|(entity, heat)| {
            there.insert(entity, heat.0);
        });
        there
    };
    let index = world
        .resources_mut()
        .remove::<BTreeMap<Entity, u32>>()
        .unwrap();
    assert_eq!(index, there(&world));
    // Who comes late is shown who is there.
    world.resources_mut().insert(BTreeMap::<Entity, u32>::new());
    assert_eq!(world.show_existing(keep), index.len());
    assert_eq!(
        world.resources().get::<BTreeMap<Entity, u32>>(),
        Some(&index)
    );
}
