//! Entities that go to another world, where a shared value's `hash` or `eq` panics: they stay, and the other world keeps none
//! of the values that were judged before.

use std::sync::Arc;

use megachunk::observer::Observed;
use megachunk::prelude::*;

use crate::brittle::{ALWAYS, Brittle, Count, burns, holds_nothing};
use crate::shared::{JUDGES, Judged, Judges};

/// Shared values that are judged before and after the one that panics, whatever the order of fragments.
type Before = [Brittle; 1];
type After = [Brittle; 2];

type Way = fn(&mut World, &mut World, &[Entity]);

const WAYS: [Way; 5] = [
    |land, sea, ants| land.move_to(sea, ants[0]).unwrap(),
    |land, sea, ants| _ = land.move_slice_to(sea, ants).unwrap(),
    |land, sea, _| _ = land.move_all_to(sea).unwrap(),
    |land, sea, _| {
        let all = land.matching::<With<u32>>().unwrap();
        all.move_to(sea).unwrap();
    },
    |land, sea, _| {
        let all = land.matching::<With<u32>>().unwrap();
        let all = all.filter_chunks(|chunk| chunk.len() > 1);
        all.move_to(sea).unwrap();
    },
];

/// A world with some entities of one group, and another with one who has an equal value to one of theirs.
fn land_and_sea(count: &Count, is_watched: bool) -> (World, World, Vec<Entity>) {
    let universe = Arc::new(Universe::new());
    universe.registry().register::<Shared<Before>>().unwrap();
    universe.registry().register::<Shared<Judged>>().unwrap();
    universe.registry().register::<Shared<After>>().unwrap();
    let [mut land, mut sea] = [(); 2].map(|()| World::of(&universe).unwrap());
    let ant = |number| {
        (number, count.brittle(number))
            .shared([count.brittle(1)])
            .shared([count.brittle(1), count.brittle(2)])
            .shared(Judged(count.brittle(3)))
    };
    let ants = (0..7_u32).map(|n| land.create(ant(n)).unwrap()).collect();
    sea.create(().shared(Judged(count.brittle(3)))).unwrap();
    if is_watched {
        for world in [&mut land, &mut sea] {
            world.resources_mut().insert(Vec::<Entity>::new());
            let observed = Observed::COME | Observed::GO;
            let note = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                let entities = batch.entities().collect::<Vec<_>>();
                let seen = batch.resources_mut().get_mut::<Vec<Entity>>();
                seen.unwrap().extend(entities);
            };
            world.observe::<u32, ()>(observed, note).unwrap();
        }
    }
    (land, sea, ants)
}

#[test]
fn who_has_a_value_that_cannot_be_judged_there_stays_here() {
    holds_nothing(|| {
        for judges in [Judges::HashPanics, Judges::EqPanics] {
            for (way, is_watched) in WAYS.iter().flat_map(|way| [(way, false), (way, true)]) {
                let count = Count::default();
                let (mut land, mut sea, ants) = land_and_sea(&count, is_watched);
                let before = count.get();
                // (A value that is equal to one that is there has ended.)
                assert_eq!(before, 7 + 1 + 2 + 1 + 1);
                for _ in 0..2 {
                    JUDGES.set(judges);
                    burns(ALWAYS, || way(&mut land, &mut sea, &ants));
                    JUDGES.set(Judges::Well);
                    assert_eq!((land.count(), sea.count(), count.get()), (7, 1, before));
                    land.check().unwrap();
                    sea.check().unwrap();
                    for (&ant, n) in ants.iter().zip(0..) {
                        assert_eq!(land.get::<u32>(ant).unwrap(), &n);
                        assert_eq!(land.shared::<Before>(ant).unwrap()[0].number(), 1);
                        assert!(!sea.exists(ant));
                    }
                    // (Here it was told who goes before they were to go.)
                    let seen = sea.resources().get::<Vec<Entity>>();
                    assert!(seen.is_none_or(|seen| seen.is_empty()));
                }
                // What the other world was about to keep with the first one it does not.
                drop(land);
                assert_eq!(count.get(), 1);
                sea.check().unwrap();
                drop(sea);
                assert_eq!(count.get(), 0);
            }
        }
    });
}

#[test]
fn who_could_not_go_goes_when_the_value_can_be_judged() {
    let count = Count::default();
    for judges in [Judges::HashPanics, Judges::EqPanics] {
        for (way, is_watched) in WAYS.iter().flat_map(|way| [(way, false), (way, true)]) {
            let (mut land, mut sea, ants) = land_and_sea(&count, is_watched);
            JUDGES.set(judges);
            burns(ALWAYS, || way(&mut land, &mut sea, &ants));
            JUDGES.set(Judges::Well);
            way(&mut land, &mut sea, &ants);
            assert_eq!(land.count() + sea.count(), 8);
            assert!(sea.exists(ants[0]));
            assert_eq!(sea.shared::<After>(ants[0]).unwrap()[1].number(), 2);
            // The value that both had is one.
            let mut having = sea.query::<(Entity, Shared<Judged>), ()>().unwrap();
            let mut seen = Vec::new();
            having.for_each(|(_, value)| seen.push(core::ptr::from_ref(value)));
            assert!(seen.len() > 1 && seen.iter().all(|&value| value == seen[0]));
            let told = sea.resources().get::<Vec<Entity>>();
            assert!(told.is_none_or(|told| told.contains(&ants[0])));
            land.check().unwrap();
            sea.check().unwrap();
            drop((land, sea));
            assert_eq!(count.get(), 0);
        }
    }
}
