//! What is no fragment, and is set: shared values, tags, chunk fragments.

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

use super::Label;
use crate::observers::{Heat, Team, Weight, Wet, sorted, taken, watch_where};

#[test]
fn a_shared_value_is_set_by_whatever_gives_one_be_it_an_equal_one() {
    type Change = fn(&mut World, &[Entity]);
    let changes: &[(&str, Change)] = &[
        ("set_shared", |world, all| {
            all.iter()
                .for_each(|&one| world.set_shared(one, Team(2)).unwrap());
        }),
        ("add", |world, all| {
            let one = |&one| world.add(one, (Weight(1),).shared(Team(2))).unwrap();
            all.iter().for_each(one);
        }),
        ("add_slice", |world, all| {
            assert!(world.add_slice(all, |_| ().shared(Team(2))).is_clean());
        }),
        ("a query", |world, _| {
            let all = world.matching::<With<Heat>>().unwrap();
            assert_eq!(all.set_shared(Team(2)).unwrap(), 4);
        }),
        ("a flush", |world, all| {
            let mut commands = world.commands();
            all.iter()
                .for_each(|&one| commands.set_shared(one, Team(2)).unwrap());
            drop(commands);
            assert!(world.flush().is_clean());
        }),
        ("a flush that sets another, too", |world, all| {
            let mut commands = world.commands();
            for &one in all {
                commands.set_shared(one, Team(1)).unwrap();
                commands.add(one, (Heat(1),).shared(Team(2))).unwrap();
            }
            drop(commands);
            assert!(world.flush().is_clean());
        }),
    ];
    for (name, change) in changes {
        let mut world = World::new();
        // Some have it, some have another one, and some have none.
        let mut all = vec![world.create((Heat(0),)).unwrap()];
        for team in [1, 2, 2] {
            all.push(world.create((Heat(0),).shared(Team(team))).unwrap());
        }
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mine = Arc::clone(&seen);
        let hear = world.observe::<Shared<Team>, ()>(Observed::SET, move |batch, _| {
            let lent = batch.for_each::<(Entity, Shared<Team>)>(|(entity, team)| {
                mine.lock().unwrap().push((entity, *team));
            });
            assert_eq!(lent.unwrap(), batch.len());
        });
        hear.unwrap();
        let others = watch_where::<Label, ()>(&mut world, Observed::SET);
        change(&mut world, &all);
        let mut told = core::mem::take(&mut *seen.lock().unwrap());
        told.sort_unstable_by_key(|(entity, _)| *entity);
        let expected: Vec<_> = sorted(all).into_iter().map(|one| (one, Team(2))).collect();
        assert_eq!(told, expected, "{name}");
        assert!(taken(&others).is_empty());
    }
}

#[test]
fn tags_chunk_fragments_and_const_shared_values_are_set_when_they_come() {
    let mut world = World::new();
    let tag = watch_where::<Wet, ()>(&mut world, Observed::SET);
    let count = Arc::new(Mutex::new((0, 0)));
    let (mine, others) = (Arc::clone(&count), Arc::clone(&count));
    let all = world.observe::<ConstShared<Team>, ()>(Observed::SET, move |batch, _| {
        mine.lock().unwrap().0 += batch.len();
    });
    all.unwrap();
    let all = world.observe::<PerChunk<u64>, ()>(Observed::SET, move |batch, _| {
        others.lock().unwrap().1 += batch.len();
    });
    all.unwrap();
    let ant = world.create((Heat(1),)).unwrap();
    for _ in 0..2 {
        let bundle = (Wet,).const_shared(Team(1)).per_chunk(7_u64);
        world.add(ant, bundle).unwrap();
        let mut commands = world.commands();
        let bundle = (Wet,).const_shared(Team(1)).per_chunk(7_u64);
        commands.add(ant, bundle).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
    }
    assert_eq!(taken(&tag), [(Observed::SET, vec![ant])]);
    assert_eq!(*count.lock().unwrap(), (1, 1));
    // What is for ever, for an entity that has it: another one may come if it goes first.
    for team in [2, 2] {
        let mut commands = world.commands();
        commands
            .remove::<megachunk::fragment::WithConstShared<(), Team>>(ant)
            .unwrap();
        commands.add(ant, ().const_shared(Team(team))).unwrap();
        drop(commands);
        assert!(world.flush().is_clean());
        assert_eq!(world.const_shared::<Team>(ant), Ok(&Team(2)));
    }
    assert_eq!(*count.lock().unwrap(), (3, 1));
}
