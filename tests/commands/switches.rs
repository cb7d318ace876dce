//! Recorded switches: `Commands::set_enabled`.

use megachunk::command::FlushReport;
use megachunk::prelude::*;
use rayon::ThreadPoolBuilder;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Power(u32);
struct Awake;
struct Tag;

#[derive(Clone, Copy, Debug)]
enum Step {
    On,
    Off,
    Add,
    Remove,
    /// Goes and comes in one move.
    Swap,
    /// Something else comes.
    Other,
}

const STEPS: [Step; 6] = [
    Step::On,
    Step::Off,
    Step::Add,
    Step::Remove,
    Step::Swap,
    Step::Other,
];

/// What an entity has before.
#[derive(Clone, Copy, Debug)]
enum Before {
    Lacks,
    On,
    Off,
}

fn world() -> World {
    let world = World::new();
    world.registry().register_enableable::<Power>().unwrap();
    world.registry().register_enableable::<Awake>().unwrap();
    world
}

fn make(world: &mut World, before: Before) -> Entity {
    let entity = match before {
        Before::Lacks => world.create((1_u64,)),
        _ => world.create((1_u64, Power(1), Awake)),
    }
    .unwrap();
    if matches!(before, Before::Off) {
        world.set_enabled::<Power>(entity, false).unwrap();
        world.set_enabled::<Awake>(entity, false).unwrap();
    }
    entity
}

fn record(commands: &mut Commands<'_>, entity: Entity, step: Step) {
    match step {
        Step::On | Step::Off => {
            let on = matches!(step, Step::On);
            commands.set_enabled::<Power>(entity, on).unwrap();
            commands.set_enabled::<Awake>(entity, on).unwrap();
        }
        Step::Add => commands.add(entity, (Power(2), Awake)).unwrap(),
        Step::Remove => commands.remove::<(Power, Awake)>(entity).unwrap(),
        Step::Swap => commands
            .swap::<(Power, Awake), _>(entity, (Power(3), Awake))
            .unwrap(),
        Step::Other => commands.add(entity, (Tag,)).unwrap(),
    }
}

/// The same, at once.
fn apply(world: &mut World, entity: Entity, step: Step) {
    match step {
        Step::On | Step::Off => {
            let on = matches!(step, Step::On);
            // Who does not have it passes it by.
            let _ = world.set_enabled::<Power>(entity, on);
            let _ = world.set_enabled::<Awake>(entity, on);
        }
        Step::Add => world.add(entity, (Power(2), Awake)).unwrap(),
        Step::Remove => drop(world.remove::<(Power, Awake)>(entity).unwrap()),
        Step::Swap => world
            .swap::<(Power, Awake), _>(entity, (Power(3), Awake))
            .unwrap(),
        Step::Other => world.add(entity, (Tag,)).unwrap(),
    }
}

fn state(world: &World, entity: Entity) -> (Option<u32>, Option<bool>, Option<bool>) {
    (
        world.get::<Power>(entity).ok().map(|power| power.0),
        world.is_enabled::<Power>(entity).ok(),
        world.is_enabled::<Awake>(entity).ok(),
    )
}

/// All sequences of four steps, of whatever was there before; of one entity, and of a chunk's worth.
#[test]
fn switches_take_their_turn_among_other_commands() {
    for count in [1, 600] {
        for before in [Before::Lacks, Before::On, Before::Off] {
            let (mut at_once, mut recorded) = (world(), world());
            for number in 0..STEPS.len().pow(if count == 1 { 4 } else { 2 }) {
                let steps = [1, 6, 36, 216].map(|place| STEPS[number / place % 6]);
                let steps = &steps[..if count == 1 { 4 } else { 2 }];
                if number % 11 == 10 {
                    // Where no composition is there yet: of one entity, before whatever two first steps.
                    (at_once, recorded) = (world(), world());
                }
                let mut pairs = Vec::new();
                for _ in 0..count {
                    pairs.push((make(&mut at_once, before), make(&mut recorded, before)));
                }
                let mut commands = recorded.commands();
                for &step in steps {
                    for &(one, other) in &pairs {
                        apply(&mut at_once, one, step);
                        record(&mut commands, other, step);
                    }
                }
                drop(commands);
                assert!(recorded.flush().is_clean());
                recorded.check().unwrap();
                for (one, other) in pairs {
                    assert_eq!(
                        state(&at_once, one),
                        state(&recorded, other),
                        "{steps:?} of who was {before:?}"
                    );
                    at_once.destroy(one).unwrap();
                    recorded.destroy(other).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_switch_is_a_change_of_the_fragment_and_no_move() {
    let mut world = world();
    let batch: Vec<Entity> = (0..3_000)
        .map(|n| world.create((n as u64, Power(n), Awake)).unwrap())
        .collect();
    let mut changed = Query::<Entity, Changed<Awake>>::new(&world).unwrap();
    let mut awake = Query::<Entity, With<Awake>>::new(&world).unwrap();
    changed.on(&mut world).for_each(|_| ());
    let mut commands = world.commands();
    for &entity in batch.iter().step_by(3) {
        commands.set_enabled::<Awake>(entity, false).unwrap();
    }
    drop(commands);
    let report = world.flush();
    assert_eq!((report.updated, report.moved), (1_000, 0));
    assert!(changed.on(&mut world).count() > 0);
    assert_eq!(awake.on(&mut world).count(), 2_000);
    // Nothing is changed by what is so already.
    changed.on(&mut world).for_each(|_| ());
    world
        .commands()
        .set_enabled::<Awake>(batch[0], false)
        .unwrap();
    assert_eq!(world.flush().updated, 1);
    assert_eq!(changed.on(&mut world).count(), 0);
}

#[test]
fn switches_of_many_recorders_are_the_same_for_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut world = world();
            let all: Vec<Entity> = (0..60_000)
                .map(|n| match n % 3 {
                    0 => world.create((n as u64, Power(n))),
                    1 => world.create((n as u64, Awake)),
                    _ => world.create((Power(n), Awake)),
                })
                .map(Result::unwrap)
                .collect();
            let commands = world.parallel_commands();
            let record = |piece: usize| {
                let mut commands = commands.open_at(piece as u64);
                for (n, &entity) in all.iter().enumerate().skip(piece) {
                    match (n * 7 + piece) % 5 {
                        0 => commands.set_enabled::<Power>(entity, piece.is_multiple_of(2)),
                        1 => commands.set_enabled::<Awake>(entity, n.is_multiple_of(2)),
                        2 => commands.add(entity, (Power(n as u32),)),
                        3 if n % 4 == 0 => commands.remove::<(Awake,)>(entity),
                        _ => Ok(()),
                    }
                    .unwrap();
                }
            };
            rayon::scope(|scope| {
                let record = &record;
                (0..4).for_each(|piece| scope.spawn(move |_| record(piece)));
            });
            assert!(world.flush().is_clean());
            world.check().unwrap();
            let states: Vec<_> = all.iter().map(|&entity| state(&world, entity)).collect();
            states
        })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

/// What `World::set_enabled` says at once, a flush says of each entity; all else that was recorded is done.
#[test]
fn a_switch_that_is_not_there_is_refused_by_the_flush() {
    for threads in [1, 4] {
        let mut world = World::new();
        world.set_flush_threads_from(Some(1));
        let all = world
            .create_batch((0..300_u32).map(|n| (Power(n),)))
            .unwrap();
        let all: Vec<Entity> = all.iter(&world).collect();
        let lone = world.create((Power(300), Tag)).unwrap();
        world.registry().register_enableable::<Power>().unwrap();
        let refused = world.set_enabled::<Power>(lone, false).unwrap_err();
        assert!(matches!(refused, WorldError::NotEnableable { .. }));
        let is_refused = |report: &FlushReport, entities: &[Entity]| {
            let expected = entities.iter().map(|&entity| (entity, refused.clone()));
            let found = report.refused.iter();
            let found = found.map(|refused| (refused.entity, refused.error.clone()));
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        };
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        // Alone, and in any order.
        let mut commands = world.commands();
        for &entity in all.iter().rev() {
            commands.set_enabled::<Power>(entity, false).unwrap();
        }
        drop(commands);
        let report = pool.install(|| world.flush());
        is_refused(&report, &all);
        assert_eq!((report.updated, report.moved), (0, 0));
        // With a new value, and what comes where there is no switch, either.
        let mut commands = world.commands();
        commands.set(all[0], Power(7)).unwrap();
        commands.set_enabled::<Power>(all[0], false).unwrap();
        commands.set_enabled::<Power>(all[1], false).unwrap();
        commands.add(all[1], (Tag,)).unwrap();
        // There it can be switched: nobody has been in such a composition before.
        commands.set_enabled::<Power>(all[2], false).unwrap();
        commands.add(all[2], (1_u8,)).unwrap();
        // It goes and comes, and nobody has asked for a switch; or it goes.
        commands.swap::<(Power,), _>(all[3], (Power(3),)).unwrap();
        commands.set_enabled::<Power>(all[4], false).unwrap();
        commands.remove::<(Power,)>(all[4]).unwrap();
        commands.set_enabled::<Power>(all[5], false).unwrap();
        commands.destroy(all[5]);
        drop(commands);
        let report = pool.install(|| world.flush());
        is_refused(&report, &all[..2]);
        assert_eq!(world.get::<Power>(all[0]).unwrap(), &Power(7));
        assert!(world.has::<Tag>(all[1]).unwrap());
        assert!(!world.is_enabled::<Power>(all[2]).unwrap());
        // A whole chunk that goes to where there is none, by other hands.
        let rest = &all[6..];
        for &entity in &all[..6] {
            if world.exists(entity) {
                world.destroy(entity).unwrap();
            }
        }
        let id = world.registry().of::<Power>().unwrap().id();
        let mut commands = world.commands();
        for &entity in rest {
            commands.add(entity, (Tag,)).unwrap();
            commands.set_enabled_dynamic(entity, id, false).unwrap();
        }
        drop(commands);
        let report = pool.install(|| world.flush());
        let mut entities: Vec<Entity> = report
            .refused
            .iter()
            .map(|refused| refused.entity)
            .collect();
        entities.sort_unstable();
        let mut expected = rest.to_vec();
        expected.sort_unstable();
        assert_eq!((entities, report.moved), (expected, rest.len()));
        world.check().unwrap();
    }
}
