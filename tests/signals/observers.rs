//! Observers: each row of the behaviour has a test of its name.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::query::{CompositionFilter, DynamicFilter, Enabled};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heat(pub(crate) u32);
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weight(pub(crate) u64);
pub(crate) struct Burning;
pub(crate) struct Wet;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Team(pub(crate) u8);

/// What observers saw: the kind of change, and the entities.
pub(crate) type Seen = Arc<Mutex<Vec<(Observed, Vec<Entity>)>>>;

/// Observes all kinds of change of a fragment.
pub(crate) fn watch<T: Send + Sync + 'static>(world: &mut World) -> Seen {
    watch_where::<T, ()>(world, Observed::COME | Observed::GO)
}

pub(crate) fn watch_where<T: Send + Sync + 'static, F: CompositionFilter>(
    world: &mut World,
    observed: Observed,
) -> Seen {
    let seen = Seen::default();
    let mine = Arc::clone(&seen);
    world
        .observe::<T, F>(observed, move |batch, _| {
            let entities: Vec<Entity> = batch.entities().collect();
            assert_eq!(entities.len(), batch.len());
            mine.lock().unwrap().push((batch.change(), entities));
        })
        .unwrap();
    seen
}

pub(crate) fn taken(seen: &Seen) -> Vec<(Observed, Vec<Entity>)> {
    core::mem::take(&mut seen.lock().unwrap())
}

pub(crate) fn sorted(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort_unstable();
    entities
}

pub(crate) fn many(world: &mut World, count: u32) -> Vec<Entity> {
    let batch = world.create_batch((0..count).map(|n| (Heat(n),))).unwrap();
    batch.iter(world).collect()
}

#[test]
fn create_is_observed_after_all_values_are_set() {
    let mut world = World::new();
    let sum = Arc::new(Mutex::new(0));
    let mine = Arc::clone(&sum);
    world
        .observe::<Burning, ()>(Observed::CREATE, move |batch, _| {
            batch
                .for_each::<(&Heat, &Weight)>(|(heat, weight)| {
                    *mine.lock().unwrap() += u64::from(heat.0) + weight.0;
                })
                .unwrap();
        })
        .unwrap();
    world.create((Heat(1), Burning, Weight(10))).unwrap();
    world.create((Heat(1), Weight(10))).unwrap();
    let mut commands = world.commands();
    commands
        .create((Burning, Heat(100), Weight(1_000)))
        .unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(*sum.lock().unwrap(), 1_111);
}

#[test]
fn destroy_is_observed_before_data_goes() {
    let mut world = World::new();
    let held = Arc::new(7_u32);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mine = Arc::clone(&seen);
    world
        .observe::<Arc<u32>, ()>(Observed::DESTROY, move |batch, _| {
            batch
                .for_each::<(Entity, &Arc<u32>)>(|(entity, value)| {
                    let uses = Arc::strong_count(value);
                    mine.lock().unwrap().push((entity, uses));
                })
                .unwrap();
        })
        .unwrap();
    let a = world.create((Arc::clone(&held), 1_u8)).unwrap();
    let b = world.create((Arc::clone(&held),)).unwrap();
    world.destroy(a).unwrap();
    let mut commands = world.commands();
    commands.destroy(b);
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(*seen.lock().unwrap(), [(a, 3), (b, 2)]);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn add_is_observed_after_values_are_set_and_may_write_them() {
    let mut world = World::new();
    world
        .observe::<Weight, ()>(Observed::ADD, |batch, _| {
            let lent = batch.for_each::<(&mut Weight, &Heat)>(|(weight, heat)| {
                weight.0 += u64::from(heat.0);
            });
            assert_eq!(lent.unwrap(), batch.len());
        })
        .unwrap();
    let ant = world.create((Heat(1),)).unwrap();
    world.add(ant, (Weight(10),)).unwrap();
    assert_eq!(world.get::<Weight>(ant).unwrap(), &Weight(11));
    let bee = world.create((Heat(2),)).unwrap();
    let mut commands = world.commands();
    commands.add(bee, (Weight(20), Wet)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Weight>(bee).unwrap(), &Weight(22));
}

#[test]
fn moves_are_observed_though_nobody_observes_the_other_world() {
    type Move = fn(&mut World, &mut World, &[Entity]);
    let moves: [Move; 5] = [
        |land, sea, ants| {
            for &ant in ants {
                land.move_to(sea, ant).unwrap();
            }
        },
        |land, sea, ants| assert_eq!(land.move_slice_to(sea, ants).unwrap().done, ants.len()),
        |land, sea, ants| {
            let moved = land.move_archetype_to::<(Heat,)>(sea).unwrap();
            assert_eq!(moved, ants.len());
        },
        |land, sea, ants| {
            let moving = land.matching::<With<Heat>>().unwrap();
            assert_eq!(moving.move_to(sea).unwrap(), ants.len());
        },
        |land, sea, ants| assert_eq!(land.move_all_to(sea).unwrap(), ants.len()),
    ];
    for (at, moves) in moves.into_iter().enumerate() {
        for count in [1, 10, 5_000] {
            for only_there in [true, false] {
                let mut land = World::new();
                let mut sea = World::of(land.universe()).unwrap();
                let ants = many(&mut land, count);
                let (observed, kind) = match only_there {
                    true => (&mut sea, Observed::CREATE),
                    false => (&mut land, Observed::DESTROY),
                };
                let seen = watch::<Heat>(observed);
                moves(&mut land, &mut sea, &ants);
                let told = taken(&seen);
                assert!(told.iter().all(|(kind_of, _)| *kind_of == kind), "{at}");
                let told: Vec<Entity> = told.into_iter().flat_map(|(_, told)| told).collect();
                assert_eq!(sorted(told), ants, "{at} {count} {only_there}");
            }
        }
    }
}

#[test]
fn remove_is_observed_before_data_goes() {
    let mut world = World::new();
    let sum = Arc::new(Mutex::new(0));
    let mine = Arc::clone(&sum);
    world
        .observe::<Weight, ()>(Observed::REMOVE, move |batch, _| {
            let sum = |(weight, _): (&Weight, &Heat)| *mine.lock().unwrap() += weight.0;
            batch.for_each::<(&Weight, &Heat)>(sum).unwrap();
        })
        .unwrap();
    let ant = world.create((Heat(1), Weight(10))).unwrap();
    let bee = world.create((Heat(1), Weight(100))).unwrap();
    assert!(world.remove::<(Weight,)>(ant).unwrap());
    assert!(!world.remove::<(Weight,)>(ant).unwrap());
    let mut commands = world.commands();
    commands.remove::<(Weight, Heat)>(bee).unwrap();
    commands.remove::<(Weight,)>(ant).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert_eq!(*sum.lock().unwrap(), 110);
}

#[test]
fn tags_are_observed_as_fragments_are() {
    let mut world = World::new();
    let seen = watch::<Burning>(&mut world);
    let ant = world.create((Heat(1),)).unwrap();
    world.add(ant, (Burning,)).unwrap();
    world.swap::<(Burning,), _>(ant, (Wet,)).unwrap();
    world.swap::<(Wet,), _>(ant, (Burning,)).unwrap();
    world.destroy(ant).unwrap();
    let kinds = [
        Observed::ADD,
        Observed::REMOVE,
        Observed::ADD,
        Observed::DESTROY,
    ];
    assert_eq!(taken(&seen), kinds.map(|kind| (kind, vec![ant])));
}

#[test]
fn new_values_of_what_is_there_are_no_change_of_composition() {
    let mut world = World::new();
    let seen = watch_where::<Heat, ()>(&mut world, Observed::ADD | Observed::REMOVE);
    let ant = world.create((Heat(1),)).unwrap();
    world.add(ant, (Heat(2),)).unwrap();
    world.add(ant, (Heat(2), Wet)).unwrap();
    world.swap::<(Heat,), _>(ant, (Heat(3),)).unwrap();
    world.set_shared(ant, Team(1)).unwrap();
    world.set_shared(ant, Team(2)).unwrap();
    let mut commands = world.commands();
    commands.remove::<(Heat,)>(ant).unwrap();
    commands.set(ant, Heat(9)).unwrap();
    drop(commands);
    assert!(world.flush().is_clean());
    assert!(taken(&seen).is_empty());
    assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(9));
}

#[test]
fn observers_ask_a_query_of_the_composition_at_the_time() {
    let mut world = World::new();
    let dry = watch_where::<Burning, Without<Wet>>(&mut world, Observed::COME | Observed::GO);
    let heavy = watch_where::<Burning, (With<Weight>, With<Heat>)>(&mut world, Observed::COME);
    let ant = world.create((Heat(1), Wet)).unwrap();
    world.add(ant, (Burning,)).unwrap();
    assert!(taken(&dry).is_empty());
    world.remove::<(Wet,)>(ant).unwrap();
    world.remove::<(Burning,)>(ant).unwrap();
    assert_eq!(taken(&dry), [(Observed::REMOVE, vec![ant])]);
    assert!(taken(&heavy).is_empty());
    world.add(ant, (Weight(1), Burning)).unwrap();
    assert_eq!(taken(&heavy), [(Observed::ADD, vec![ant])]);
}

#[test]
fn switched_off_fragments_decide_row_by_row() {
    let mut world = World::new();
    world.registry().register_enableable::<Wet>().unwrap();
    let seen = watch_where::<Burning, Without<Wet>>(&mut world, Observed::GO);
    let ants: Vec<Entity> = (0..9)
        .map(|_| world.create((Burning, Wet)).unwrap())
        .collect();
    for &ant in &ants[3..6] {
        world.set_enabled::<Wet>(ant, false).unwrap();
    }
    assert_eq!(world.clear(), 9);
    assert_eq!(taken(&seen), [(Observed::DESTROY, ants[3..6].to_vec())]);
}

#[test]
fn who_stays_because_an_observer_switches_off_what_is_asked_for_is_shown_as_coming_again() {
    for destroys in [true, false] {
        let mut world = World::new();
        world.registry().register_enableable::<Wet>().unwrap();
        let ants: Vec<Entity> = (0..9)
            .map(|_| world.create((Burning, Wet)).unwrap())
            .collect();
        let seen = watch::<Burning>(&mut world);
        let mut number = 0;
        world
            .observe::<Burning, ()>(Observed::GO, move |batch, _| {
                let switched = batch.for_each::<Enabled<Wet>>(|wet| {
                    wet.set(number % 3 > 0);
                    number += 1;
                });
                assert_eq!(switched, Ok(9));
            })
            .unwrap();
        let wet = world.matching::<With<Wet>>().unwrap();
        let (gone, [goes, comes]) = match destroys {
            true => (wet.destroy(), [Observed::DESTROY, Observed::CREATE]),
            false => {
                let gone = wet.remove::<(Burning,)>().unwrap();
                (gone, [Observed::REMOVE, Observed::ADD])
            }
        };
        let stays = [ants[0], ants[3], ants[6]];
        assert_eq!(gone, 6);
        let seen = taken(&seen);
        assert_eq!(seen[0], (goes, ants.clone()));
        assert_eq!((seen.len(), seen[1].0), (2, comes));
        assert_eq!(sorted(seen[1].1.clone()), stays);
        assert_eq!(world.query::<Entity, With<Burning>>().unwrap().count(), 3);
    }
}

#[test]
fn fragments_are_observed_by_their_numbers_in_every_role() {
    let mut world = World::new();
    let team = world.registry().register::<Shared<Team>>().unwrap().id();
    let seen = Seen::default();
    let mine = Arc::clone(&seen);
    let note = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
        let entities = batch.entities().collect();
        mine.lock().unwrap().push((batch.change(), entities));
    };
    let all = Observed::COME | Observed::GO;
    world
        .observe_dynamic(all, team, DynamicFilter::new(), note)
        .unwrap();
    let ant = world.create((Heat(1),)).unwrap();
    world.set_shared(ant, Team(1)).unwrap();
    world.set_shared(ant, Team(2)).unwrap();
    let all = world.matching::<With<Heat>>().unwrap();
    assert_eq!(all.set_shared(Team(3)).unwrap(), 1);
    world.destroy(ant).unwrap();
    assert_eq!(
        taken(&seen),
        [(Observed::ADD, vec![ant]), (Observed::DESTROY, vec![ant])]
    );
}

#[test]
fn who_is_observed_by_number_is_filtered_by_numbers() {
    let mut world = World::new();
    let registry = world.registry();
    let heat = registry.register::<Heat>().unwrap().id();
    let weight = registry.register::<Weight>().unwrap().id();
    let burning = registry.register::<Burning>().unwrap().id();
    registry.register_enableable::<Wet>().unwrap();
    let wet = registry.register::<Wet>().unwrap().id();
    let team = registry.register::<Shared<Team>>().unwrap().id();
    let observe = |world: &mut World, filter: DynamicFilter| {
        let seen = Seen::default();
        let mine = Arc::clone(&seen);
        let note = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let entities = batch.entities().collect();
            mine.lock().unwrap().push((batch.change(), entities));
        };
        world
            .observe_dynamic(Observed::GO, heat, filter, note)
            .map(|_| seen)
    };
    let all = observe(&mut world, DynamicFilter::new()).unwrap();
    let with = DynamicFilter::new().with(weight).with(wet);
    let with = observe(&mut world, with).unwrap();
    let without = observe(&mut world, DynamicFilter::new().without(wet)).unwrap();
    let any = DynamicFilter::new().any(&[burning, team, weight]);
    let any = observe(&mut world, any).unwrap();
    let nobody = observe(&mut world, DynamicFilter::new().any(&[])).unwrap();

    let bare = world.create((Heat(1),)).unwrap();
    let damp = world.create((Heat(2), Weight(2), Wet)).unwrap();
    let dry = world.create((Heat(3), Weight(3), Wet)).unwrap();
    world.set_enabled::<Wet>(dry, false).unwrap();
    let member = world.create((Heat(4), Wet).shared(Team(1))).unwrap();
    let fire = world.create((Heat(5), Burning)).unwrap();
    let five = [bare, damp, dry, member, fire];
    for entity in five {
        world.destroy(entity).unwrap();
    }
    let seen = |seen: &Seen| -> Vec<Entity> {
        let batches = taken(seen).into_iter();
        batches.flat_map(|(_, entities)| entities).collect()
    };
    assert_eq!(seen(&all), five);
    assert_eq!(seen(&with), [damp], "switched on");
    assert_eq!(seen(&without), [bare, dry, fire], "or switched off");
    assert_eq!(seen(&any), [damp, dry, member, fire]);
    assert_eq!(seen(&nobody), []);

    for filter in [
        DynamicFilter::new().without(heat),
        DynamicFilter::new().with(weight).without(weight),
    ] {
        let refused = observe(&mut world, filter).map(drop);
        assert!(matches!(refused, Err(QueryError::Contradiction { .. })));
    }
    let other = World::new();
    for n in 0..9 {
        let layout = core::alloc::Layout::new::<u32>();
        let _ = other.registry().define_plain(&n.to_string(), layout);
    }
    let id = other.registry().find("8").unwrap().id();
    for filter in [
        DynamicFilter::new().with(id),
        DynamicFilter::new().without(id),
        DynamicFilter::new().any(&[heat, id]),
    ] {
        let refused = observe(&mut world, filter).map(drop);
        let unknown = FragmentError::Unknown { id };
        assert_eq!(refused, Err(QueryError::Fragment(unknown)));
    }
    assert_eq!(world.observers().count(), 5, "who is refused is not there");
}

#[test]
fn a_contradictory_observer_is_an_error() {
    let mut world = World::new();
    let refused = world.observe::<Heat, Without<Heat>>(Observed::ADD, |_, _| {});
    assert!(matches!(refused, Err(QueryError::Contradiction { .. })));
    world.create((Heat(1),)).unwrap();
}

#[test]
fn builds_clones_and_run_time_bundles_fire() {
    let mut world = World::new();
    world.registry().register_clone::<Heat>().unwrap();
    let seen = watch::<Heat>(&mut world);
    let ant = world.reserve().unwrap();
    world.build(ant, (Heat(1),)).unwrap();
    let twin = world.clone_entity(ant).unwrap();
    let heat = world.registry().of::<Heat>().unwrap().id();
    assert!(world.remove_dynamic(twin, &[heat]).unwrap());
    let mut bundle = megachunk::fragment::DynamicBundle::new();
    bundle.push(megachunk::fragment::Value::new(world.registry(), Heat(4)).unwrap());
    world.add_dynamic(twin, bundle).unwrap();
    let mut view = world.entity_mut(ant).unwrap();
    view.remove::<(Heat,)>().unwrap();
    assert_eq!(
        taken(&seen),
        [
            (Observed::CREATE, vec![ant]),
            (Observed::CREATE, vec![twin]),
            (Observed::REMOVE, vec![twin]),
            (Observed::ADD, vec![twin]),
            (Observed::REMOVE, vec![ant]),
        ]
    );
}

#[test]
fn going_to_another_world_is_an_end_here_and_a_beginning_there() {
    let universe = Arc::new(Universe::new());
    let (mut land, mut sea) = (World::of(&universe).unwrap(), World::of(&universe).unwrap());
    let (here, there) = (watch::<Heat>(&mut land), watch::<Heat>(&mut sea));
    let crabs = many(&mut land, 2_000);
    taken(&here);
    land.move_to(&mut sea, crabs[7]).unwrap();
    assert_eq!(taken(&here), [(Observed::DESTROY, vec![crabs[7]])]);
    assert_eq!(taken(&there), [(Observed::CREATE, vec![crabs[7]])]);
    assert!(
        land.move_slice_to(&mut sea, &crabs[100..200])
            .unwrap()
            .is_clean()
    );
    assert_eq!((taken(&here).len(), taken(&there).len()), (1, 1));
    assert_eq!(
        land.matching::<With<Heat>>()
            .unwrap()
            .move_to(&mut sea)
            .unwrap(),
        1_899
    );
    let (went, came) = (taken(&here), taken(&there));
    assert_eq!((went.len(), came.len()), (1, 1));
    assert_eq!(sorted(went[0].1.clone()), sorted(came[0].1.clone()));
    assert_eq!(sea.move_all_to(&mut land).unwrap(), 2_000);
    assert_eq!(taken(&here)[0].1.len(), 2_000);
}

#[test]
fn a_refused_change_fires_nothing() {
    let mut world = World::new();
    let seen = watch::<Heat>(&mut world);
    let ant = world.create((Wet,)).unwrap();
    world.destroy(ant).unwrap();
    assert!(world.add(ant, (Heat(1),)).is_err());
    assert!(world.destroy(ant).is_err());
    // All or none: the iterator panics, and what was made goes again.
    let batch = catch_unwind(AssertUnwindSafe(|| {
        let made = world.create_batch((0..9_u32).map(|n| {
            assert!(n < 5, "no more");
            (Heat(n),)
        }));
        drop(made);
    }));
    assert!(batch.is_err() && world.is_empty());
    assert!(taken(&seen).is_empty());
}

#[test]
fn observers_of_a_role_are_told_of_that_role_alone() {
    let mut world = World::new();
    world.resources_mut().insert(Vec::<(&str, Entity)>::new());
    fn told(batch: &mut ObservedBatch<'_>, what: &'static str) {
        let entities: Vec<Entity> = batch.entities().collect();
        let told = batch.resources_mut().get_mut::<Vec<(&str, Entity)>>();
        told.unwrap().extend(entities.iter().map(|&e| (what, e)));
    }
    world
        .observe::<Shared<u64>, ()>(Observed::COME, |batch, _| told(batch, "come"))
        .unwrap();
    world
        .observe::<Shared<u64>, With<u8>>(Observed::GO, |batch, _| told(batch, "go"))
        .unwrap();
    world.create((1_u8, 1_u64)).unwrap();
    world.create((1_u8,).const_shared(1_u64)).unwrap();
    let created = world.create((1_u8,).shared(1_u64)).unwrap();
    let added = world.create(()).unwrap();
    world.add(added, (2_u8,).shared(2_u64)).unwrap();
    world.add(added, ().shared(3_u64)).unwrap();
    type Gone = megachunk::fragment::WithShared<(), u64>;
    assert!(world.remove::<Gone>(created).unwrap());
    assert!(!world.remove::<Gone>(created).unwrap());
    world.destroy(added).unwrap();
    let told = world.resources().get::<Vec<(&str, Entity)>>().unwrap();
    let expected = [
        ("come", created),
        ("come", added),
        ("go", created),
        ("go", added),
    ];
    assert_eq!(told[..], expected);
}

#[test]
fn observers_are_listed_with_where_they_were_made_and_whose_they_are() {
    let mut world = World::new();
    assert_eq!(world.observers().count(), 0);
    let line = line!() + 1;
    let id = world.observe::<u32, Without<u8>>(Observed::GO, |_, _| {});
    let id = id.unwrap();
    let role = world.observe::<Shared<u64>, ()>(Observed::CREATE, |_, _| {});
    let mut schedule = Schedule::new();
    let of_schedule = line!() + 1;
    schedule.add(observing_processor::<u32, ()>(
        "hear",
        Observed::COME,
        |_, _| {},
    ));
    schedule.run(&mut world).unwrap();
    let all: Vec<_> = world.observers().collect();
    assert_eq!(all.len(), 3);
    assert_eq!(
        (all[0].id, all[0].observed, all[0].processor),
        (id, Observed::GO, None)
    );
    assert_eq!((all[0].at.file(), all[0].at.line()), (file!(), line));
    let fragment = world.registry().of::<u32>().unwrap().id();
    assert_eq!((all[0].fragment, all[2].fragment), (fragment, fragment));
    assert_eq!(all[0].requirements.excluded().iter().count(), 1);
    assert_eq!((all[1].id, all[1].at.line()), (role.unwrap(), line + 2));
    assert_eq!(
        (all[2].processor, all[2].at.line()),
        (Some("hear"), of_schedule)
    );
    // Whoever is gone is not there, also before the world has forgotten it.
    drop(schedule);
    assert_eq!(world.observers().count(), 2);
    assert!(world.unobserve(id));
    assert_eq!(world.observers().count(), 1);
}
