//! A flush that only destroys finds the dead by runs of rows, and nobody can tell.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(usize);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wet(u16);

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

const ANTS: usize = 20_000;

/// What a flush has left: the ants' numbers in the order of rows, and how it went.
#[derive(Debug, PartialEq)]
struct Left {
    numbers: Vec<usize>,
    alive: Vec<bool>,
    drops: usize,
    heard: usize,
    report: [usize; 5],
}

/// Destroys the ants of these numbers, in this order and by two recorders; together with a command that
/// changes nothing, so that commands are merged one by one, or without.
fn destroy(numbers: &[usize], merged: bool, threads: usize) -> Left {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut world = World::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let heard = Arc::new(Mutex::new(0));
        let ear = Arc::clone(&heard);
        let destroyed = world.observe::<Number, ()>(Observed::DESTROY, move |batch, _| {
            *ear.lock().unwrap() += batch.entities().count();
        });
        destroyed.unwrap();
        let parts = [0..ANTS / 2, ANTS / 2..ANTS];
        let mut ants: Vec<Entity> = Vec::new();
        for (number, part) in parts.into_iter().enumerate() {
            let with = |n| (Number(n), Counted(Arc::clone(&drops)));
            let batch = match number {
                0 => world.create_batch(part.map(with)).unwrap(),
                _ => {
                    let with = |n| (Number(n), Counted(Arc::clone(&drops)), 'x');
                    world.create_batch(part.map(with)).unwrap()
                }
            };
            ants.extend(batch.iter(&world));
        }
        // One is dead before.
        world.destroy(ants[77]).unwrap();
        let stays = world.create((0_u8,)).unwrap();
        for half in numbers.chunks(numbers.len().div_ceil(2)) {
            let mut commands = world.commands();
            half.iter().for_each(|&n| commands.destroy(ants[n]));
        }
        if merged {
            world.commands().remove::<(Wet,)>(stays).unwrap();
        }
        let report = world.flush();
        world.check().unwrap();
        let mut numbers = Vec::new();
        world
            .query::<&Number, ()>()
            .unwrap()
            .for_each(|number| numbers.push(number.0));
        Left {
            numbers,
            alive: ants.iter().map(|&ant| world.exists(ant)).collect(),
            drops: drops.load(Ordering::Relaxed),
            heard: *heard.lock().unwrap(),
            report: [
                report.commands - usize::from(merged),
                report.destroyed,
                report.dead,
                report.refused.len(),
                report.rounds,
            ],
        }
    })
}

#[test]
fn runs_of_rows_die_as_commands_one_by_one() {
    let all: Vec<usize> = (0..ANTS).filter(|&n| n != 77).collect();
    let holes: Vec<usize> = all.iter().copied().filter(|n| n % 16 < 9).collect();
    let with_dead: Vec<usize> = (0..ANTS).collect();
    let backwards: Vec<usize> = all.iter().rev().copied().collect();
    let runs_backwards: Vec<usize> = all.chunks(100).rev().flatten().copied().collect();
    let mut twice = holes.clone();
    twice.extend(&holes[3_000..3_500]);
    let cases = [all, holes, with_dead, backwards, runs_backwards, twice];
    for (case, numbers) in cases.iter().enumerate() {
        let expected = destroy(numbers, true, 1);
        assert!(expected.report[1] > 0 && expected.drops == expected.heard);
        for threads in [1, 3] {
            let left = destroy(numbers, false, threads);
            assert!(left == expected, "case {case}, {threads} threads");
        }
    }
}
