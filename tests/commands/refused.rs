//! What few commands are refused is what many are: whom, why, by whom; and nothing else is done to those.

use std::alloc::Layout;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::chunk::ChunkOptions;
use megachunk::entity::IndexOptions;
use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(usize);

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Which way commands go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goes {
    General,
    /// Two recorders.
    Few,
    /// One recorder, and nobody else has one.
    Alone,
}

/// What records a command.
pub(crate) type Record<'a> = &'a dyn Fn(&World, &mut Commands<'_>);

/// Records by one recorder or two, by turns, and flushes.
pub(crate) fn flush(world: &mut World, goes: Goes, commands: &[Record<'_>]) -> FlushReport {
    let threads = if matches!(goes, Goes::General) { 2 } else { 1 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    world.set_flush_threads_from(matches!(goes, Goes::General).then_some(1));
    if matches!(goes, Goes::Alone) {
        let mut recorder = world.commands();
        commands
            .iter()
            .for_each(|command| command(world, &mut recorder));
        drop(recorder);
        return pool.unwrap().install(|| world.flush());
    }
    let recorders = world.parallel_commands();
    let mut open = [recorders.open_at(0), recorders.open_at(1)];
    for (at, command) in commands.iter().enumerate() {
        // The first half first, as by one.
        command(world, &mut open[2 * at / commands.len()]);
    }
    drop(open);
    let report = pool.unwrap().install(|| world.flush());
    drop(recorders);
    report
}

/// All that can be told of it: each entity by its number.
fn told(world: &mut World, all: &[Entity], report: &FlushReport) -> Vec<String> {
    world.check().unwrap();
    let number = |entity| all.iter().position(|&other| other == entity);
    let mut told: Vec<String> = report
        .refused
        .iter()
        .map(|refused| {
            let error = match &refused.error {
                WorldError::Fragment(error) => error.to_string(),
                WorldError::Chunk(error) => error.is_over_budget().to_string(),
                error => panic!("{error}"),
            };
            format!("{:?}: {error}", number(refused.entity))
        })
        .collect();
    told.push(format!(
        "{:?}",
        [report.destroyed, report.moved, report.updated, report.dead]
    ));
    let mut seen = world
        .query::<(Entity, &Number, Has<u8>, Option<&u16>, Option<&Counted>), ()>()
        .unwrap();
    seen.for_each(|(entity, seen, small, short, counted)| {
        assert_eq!(number(entity), Some(seen.0));
        told.push(format!(
            "{} {small} {short:?} {}",
            seen.0,
            counted.is_some()
        ));
    });
    told
}

/// Of entities that have a large fragment two get another, so that no chunk holds both.
fn too_large(goes: Goes) -> Vec<String> {
    let mut world = World::new();
    let layout = Layout::array::<u8>(600_000).unwrap();
    let define = |name| world.registry().define_plain(name, layout).unwrap().id();
    let [one, other] = ["one", "other"].map(define);
    let bytes = vec![7; layout.size()];
    let value = |world: &World, id| {
        let value = Value::from_bytes(world.registry(), id, &bytes).unwrap();
        DynamicBundle::new().with(value)
    };
    let ants: Vec<Entity> = (0..8)
        .map(|n| world.create((Number(n),)).unwrap())
        .collect();
    for &ant in &ants[..4] {
        let large = value(&world, one);
        world.add_dynamic(ant, large).unwrap();
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let ants = &ants;
    let report = flush(
        &mut world,
        goes,
        &[
            &|_, commands| commands.add(ants[5], (1_u8,)).unwrap(),
            &|world, commands| commands.add_dynamic(ants[1], value(world, other)).unwrap(),
            &|_, commands| commands.destroy(ants[2]),
            // With the one before it is one change.
            &|_, commands| {
                commands
                    .add(ants[1], (2_u16, Counted(Arc::clone(&drops))))
                    .unwrap()
            },
            &|world, commands| commands.add_dynamic(ants[0], value(world, other)).unwrap(),
            &|_, commands| {
                commands
                    .add(ants[3], (Counted(Arc::clone(&drops)),))
                    .unwrap()
            },
            &|world, commands| commands.add_dynamic(ants[6], value(world, other)).unwrap(),
        ],
    );
    assert_eq!(drops.load(Ordering::Relaxed), 1, "what was refused");
    let by = report.refused.iter().map(|refused| refused.by.to_string());
    let told = told(&mut world, ants, &report);
    let told = told.into_iter().chain(by).collect();
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    told
}

/// Of entities that fill all memory there is some get a fragment more.
fn no_room(goes: Goes) -> Vec<String> {
    let options = ChunkOptions::new().at_most(2);
    let universe = Universe::with(&IndexOptions::new(), &options).unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    // So that many entities are not looked at.
    let mut ants = Vec::new();
    while let Ok(ant) = world.create((Number(ants.len()), [0_u8; 4_000])) {
        ants.push(ant);
    }
    let (ants, drops) = (&ants, Arc::new(AtomicUsize::new(0)));
    let report = flush(
        &mut world,
        goes,
        &[
            &|_, commands| commands.set(ants[3], [1_u8; 4_000]).unwrap(),
            &|_, commands| {
                commands
                    .add(ants[5], (Counted(Arc::clone(&drops)),))
                    .unwrap()
            },
            &|_, commands| commands.destroy(ants[9]),
            &|_, commands| {
                commands
                    .add(ants[6], (Counted(Arc::clone(&drops)),))
                    .unwrap()
            },
            &|_, commands| {
                commands
                    .add(ants[30], (Counted(Arc::clone(&drops)),))
                    .unwrap()
            },
            &|_, commands| commands.add(ants[31], (4_u16,)).unwrap(),
        ],
    );
    assert_eq!(drops.load(Ordering::Relaxed), 3);
    told(&mut world, ants, &report)
}

#[test]
fn few_commands_are_refused_as_many_are() {
    for case in [too_large, no_room] {
        let general = case(Goes::General);
        assert!(
            general[0].starts_with("Some(") && general[1].starts_with("Some("),
            "{general:?}"
        );
        for goes in [Goes::Few, Goes::Alone] {
            assert_eq!(case(goes), general, "{goes:?}");
        }
    }
}
