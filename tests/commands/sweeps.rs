//! A flush finds and merges commands for neighbours by runs of rows, and nobody can tell.

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

/// Numbers below what is asked for, in no order, the same for the same seed.
fn numbers(mut random: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    }
}

/// What a flush has left: the ants' numbers in the order of rows, and how it went.
#[derive(Debug, PartialEq)]
struct Left {
    numbers: Vec<usize>,
    alive: Vec<bool>,
    drops: usize,
    heard: usize,
    report: [usize; 5],
}

/// Destroys the ants of these numbers, in this order and by two recorders; together with a command for a dead
/// ant, so that commands are merged one by one, or without.
fn destroy(numbers: &[usize], merged: bool, threads: usize) -> Left {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut world = World::new();
        world.set_flush_threads_from(Some(1));
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
        for half in numbers.chunks(numbers.len().div_ceil(2)) {
            let mut commands = world.commands();
            half.iter().for_each(|&n| commands.destroy(ants[n]));
        }
        if merged {
            world.commands().remove::<(Wet,)>(ants[77]).unwrap();
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
                report.dead - usize::from(merged),
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

#[derive(Clone, Copy, Debug, PartialEq)]
struct Load(u64, u8);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Asleep;
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);

/// A round of commands: what is done to each before the next one's turn, to which neighbours, and every how manyth is left
/// out.
type Round = (Vec<u32>, core::ops::Range<usize>, usize);

/// All that can be seen of an ant.
type Ant<'w> = (
    Entity,
    &'w Number,
    Option<&'w Wet>,
    Option<&'w Load>,
    Has<Asleep>,
    Option<&'w Counted>,
);

/// Round after round by two recorders in turn; what can be seen afterwards.
fn play(
    rounds: &[Round],
    ants: usize,
    merged: bool,
    threads: usize,
) -> impl PartialEq + core::fmt::Debug {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut world = World::new();
        world.set_flush_threads_from(Some(1));
        world.registry().register_enableable::<Wet>().unwrap();
        let (drops, heard) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(Mutex::new(Vec::new())),
        );
        for event in [Observed::ADD, Observed::REMOVE, Observed::DESTROY] {
            let heard = Arc::clone(&heard);
            let heard = world.observe::<Load, ()>(event, move |batch, _| {
                let mut heard = heard.lock().unwrap();
                heard.extend(batch.entities().map(|entity| (event, entity)));
            });
            heard.unwrap();
        }
        let dead = world.create((Number(0),)).unwrap();
        world.destroy(dead).unwrap();
        let all: Vec<Entity> = {
            let half = world
                .create_batch((0..ants / 2).map(|n| (Number(n), Wet(0))))
                .unwrap();
            let mut all: Vec<Entity> = half.iter(&world).collect();
            let rest = world.create_batch((ants / 2..ants).map(|n| (Number(n),).shared(Team(0))));
            all.extend(rest.unwrap().iter(&world));
            all
        };
        for ant in all[..ants / 2].iter().step_by(3) {
            world.set_enabled::<Wet>(*ant, false).unwrap();
        }
        let queue = world.parallel_commands();
        let mut recorders = [queue.open_at(1), queue.open_at(2)];
        for (number, (what, who, step)) in rounds.iter().enumerate() {
            let commands = &mut recorders[number % 2];
            let ants = all[who.clone()].iter().enumerate();
            let ants = ants.filter(|(nth, _)| *step == 0 || nth % step != step - 1);
            let each = ants.flat_map(|(nth, &ant)| what.iter().map(move |what| (nth, ant, what)));
            for (value, (nth, ant, what)) in each.enumerate() {
                let value = number * 100_000 + 7 * value + nth;
                match what % 9 {
                    0 => commands.add(ant, (Wet(value as u16),)),
                    1 => commands.add(ant, (Load(value as u64, number as u8), Asleep)),
                    2 => commands.add(ant, (Counted(Arc::clone(&drops)), Wet(value as u16))),
                    3 => commands.remove::<(Wet,)>(ant),
                    4 => commands.remove::<(Load, Counted)>(ant),
                    5 => commands.swap::<(Asleep,), (Load,)>(ant, (Load(1, number as u8),)),
                    6 => commands.set_shared(ant, Team(number as u8 % 3)),
                    7 => commands.add(ant, (Asleep,)),
                    _ => {
                        commands.destroy(ant);
                        Ok(())
                    }
                }
                .unwrap();
            }
        }
        drop(recorders);
        if merged {
            queue.open_at(3).destroy(dead);
        }
        let report = world.flush();
        world.check().unwrap();
        let mut seen = Vec::new();
        world.query::<Ant<'_>, ()>().unwrap().for_each(
            |(id, number, wet, load, asleep, counted)| {
                seen.push((
                    id,
                    *number,
                    wet.copied(),
                    load.copied(),
                    asleep,
                    counted.is_some(),
                ));
            },
        );
        let team = |&ant: &Entity| world.shared::<Team>(ant).ok().copied();
        let teams: Vec<_> = all.iter().map(team).collect();
        let on = |&ant: &Entity| world.is_enabled::<Wet>(ant).ok();
        let on: Vec<_> = all.iter().map(on).collect();
        let heard = heard.lock().unwrap().clone();
        let report = [
            report.commands - usize::from(merged),
            report.destroyed,
            report.moved,
            report.updated,
            report.dead - usize::from(merged),
            report.refused.len(),
            report.rounds,
            drops.load(Ordering::Relaxed),
        ];
        (seen, teams, on, heard, report)
    })
}

#[test]
fn rounds_of_commands_for_neighbours_are_what_they_are_one_by_one() {
    let mut next = numbers(77);
    let cases = std::env::var("MEGACHUNK_SWEEPS").map_or(60, |n| n.parse().expect("a number"));
    for case in 0..cases {
        let ants = if case % 10 == 0 { 30_000 } else { 2_000 };
        let rounds: Vec<Round> = (0..1 + next(12))
            .map(|_| {
                let (a, b) = (next(ants + 1), next(ants + 1));
                let who = match next(3) {
                    0 => 0..ants,
                    1 => ants / 2..ants,
                    _ => a.min(b)..a.max(b),
                };
                let step = if next(3) == 0 { 9 + next(90) } else { 0 };
                let several = [1, 1, 1, 1 + next(5), 1 + next(5), 1 + next(40)][next(6)];
                let what = (0..several).map(|_| next(90) as u32).collect();
                (what, who, step)
            })
            .collect();
        let expected = play(&rounds, ants, true, 1);
        for threads in [1, 3] {
            let left = play(&rounds, ants, false, threads);
            assert!(
                left == expected,
                "case {case}, {threads} threads: {rounds:?}"
            );
        }
    }
}

#[test]
fn of_commands_in_no_order_by_several_recorders_the_last_ones_count() {
    const NAMED: usize = 9_000;
    let mut next = numbers(3);
    // One kind of command, as many do; and two, of which one takes what the other gives.
    for (kinds, threads) in [(1, 1), (1, 3), (2, 1), (2, 3), (3, 1), (3, 3)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut world = World::new();
            world.set_flush_threads_from(Some(1));
            let drops = Arc::new(AtomicUsize::new(0));
            let ants = world.create_batch((0..NAMED).map(|n| (Number(n),)));
            let ants: Vec<Entity> = ants.unwrap().iter(&world).collect();
            let queue = world.parallel_commands();
            let mut recorders = [queue.open_at(3), queue.open_at(1), queue.open_at(2)];
            // For each ant, who recorded the last of its commands, in the order in which they count, and its value.
            let mut last: Vec<(usize, Option<usize>)> = vec![(0, None); NAMED];
            let mut made = 0;
            for value in 0..3 * NAMED {
                let (recorder, ant) = (next(3), next(NAMED));
                let rank = [3, 1, 2][recorder];
                let commands = &mut recorders[recorder];
                let gives = match next(kinds) {
                    0 => {
                        made += 1;
                        let counted = Counted(Arc::clone(&drops));
                        commands
                            .add(ants[ant], (Load(value as u64, 0), counted))
                            .unwrap();
                        Some(value)
                    }
                    1 => {
                        commands.remove::<(Load, Counted)>(ants[ant]).unwrap();
                        None
                    }
                    _ => {
                        made += 1;
                        let counted = Counted(Arc::clone(&drops));
                        commands
                            .add(ants[ant], (counted, Load(value as u64, 0)))
                            .unwrap();
                        Some(value)
                    }
                };
                if rank >= last[ant].0 {
                    last[ant] = (rank, gives);
                }
            }
            drop(recorders);
            let report = world.flush();
            world.check().unwrap();
            assert_eq!(report.commands, 3 * NAMED);
            let mut loaded = 0;
            for (&ant, (_, expected)) in ants.iter().zip(&last) {
                let load = world.get::<Load>(ant).ok().map(|load| load.0 as usize);
                assert_eq!(load, *expected, "{kinds} kinds, {threads} threads, {ant}");
                loaded += usize::from(expected.is_some());
            }
            assert!(loaded > NAMED / 4);
            assert_eq!(drops.load(Ordering::Relaxed), made - loaded);
            drop(world);
            assert_eq!(drops.load(Ordering::Relaxed), made);
        });
    }
}

/// Five bytes, and a tag, and eighty bytes: what a flush keeps of them differs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Short([u8; 5]);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Long([u64; 10]);

/// What is done to each ant by one of many recorders, all the same; and what can be seen afterwards: ids, the values in
/// the order of rows, the report.
fn all_alike(
    what: usize,
    merged: bool,
    threads: usize,
    recorders: usize,
) -> (Vec<Entity>, Vec<Option<u64>>, [usize; 4]) {
    const ANTS: usize = 6_000;
    let mut next = numbers(11);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        // Of two worlds on one index, whose chunks lie between each other's.
        let mut world = World::new();
        world.set_flush_threads_from(Some(1));
        let mut other = World::of(world.universe()).unwrap();
        let mut ants: Vec<Entity> = Vec::new();
        let mut strangers = Vec::new();
        for part in 0..6 {
            let some = (0..ANTS / 6).map(|n| (Number(part * ANTS / 6 + n),));
            ants.extend(world.create_batch(some.clone()).unwrap().iter(&world));
            strangers.extend(other.create_batch(some).unwrap().iter(&other));
        }
        // Half have it already.
        for ant in &ants[ANTS / 2..] {
            world.add(*ant, (Short([0; 5]), Long([0; 10]))).unwrap();
        }
        world.destroy(ants[5]).unwrap();
        let queue = world.parallel_commands();
        let mut open: Vec<_> = (0..recorders)
            .map(|n| queue.open_at((n * 7 % recorders) as u64))
            .collect();
        for value in 0..2 * ANTS {
            let ant = match next(400) {
                0 => strangers[next(ANTS)],
                1 => ants[5],
                _ => ants[next(ANTS)],
            };
            let commands = &mut open[next(recorders)];
            let bytes = (value as u32).to_le_bytes();
            // Now and then twice in a row.
            for again in 0..1 + value % 2 {
                let byte = again as u8;
                match what {
                    0 => commands.add(
                        ant,
                        (Short([bytes[0], bytes[1], bytes[2], bytes[3], byte]),),
                    ),
                    1 => commands.add(ant, (Long([value as u64 + u64::from(byte); 10]),)),
                    2 => commands.add(ant, (Asleep,)),
                    3 => commands.remove::<(Short,)>(ant),
                    _ => {
                        commands.destroy(ant);
                        Ok(())
                    }
                }
                .unwrap();
            }
        }
        drop(open);
        if merged {
            // Something else, to an entity that is dead.
            queue.open_at(99).remove::<(Wet,)>(ants[5]).unwrap();
        }
        let report = world.flush();
        world.check().unwrap();
        other.check().unwrap();
        assert_eq!(other.count(), ANTS);
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        type Seen<'w> = (Entity, Option<&'w Short>, Option<&'w Long>, Has<Asleep>);
        let mut seen = world.query::<Seen<'_>, ()>().unwrap();
        seen.for_each(|(id, short, long, asleep)| {
            ids.push(id);
            let short = short.map(|Short([a, b, c, d, e])| {
                u64::from(u32::from_le_bytes([*a, *b, *c, *d])) << 8 | u64::from(*e)
            });
            values.push(match what {
                1 => long.map(|long| long.0.iter().sum()),
                2 => Some(u64::from(asleep)),
                _ => short,
            });
        });
        let dead = report.dead - usize::from(merged);
        let report = [
            report.destroyed,
            report.moved + report.updated,
            dead,
            report.refused.len(),
        ];
        (ids, values, report)
    })
}

#[test]
fn commands_that_all_do_the_same_are_what_they_are_one_by_one() {
    for what in 0..5 {
        for recorders in [1, 3, 40] {
            let expected = all_alike(what, true, 1, recorders);
            assert!(expected.2.iter().sum::<usize>() > 0 && expected.2[2] > 0);
            for threads in [1, 2, 3, 9] {
                let left = all_alike(what, false, threads, recorders);
                assert!(
                    left == expected,
                    "{what}, {recorders} recorders, {threads} threads"
                );
            }
        }
    }
}

#[test]
fn values_for_neighbours_come_in_one_and_are_dropped_once() {
    const ANTS: usize = 5_000;
    for left_out in [usize::MAX, 3, 2_048] {
        let mut world = World::new();
        let _ = world.create_batch((0..ANTS).map(|n| (Number(n),))).unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let mut given = 0;
        // They come, and are replaced where they are.
        for round in 0..2 {
            let all: Vec<Entity> = world.query::<Entity, ()>().unwrap().iter().collect();
            let mut commands = world.commands();
            for ant in all {
                if ant.index() as usize % left_out != 1 {
                    let value = Counted(Arc::clone(&drops));
                    commands.add(ant, (value, Wet(round))).unwrap();
                    given += 1;
                }
            }
            drop(commands);
            let report = world.flush();
            assert_eq!(report.moved + report.updated, given / (round as usize + 1));
            world.check().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), round as usize * given / 2);
            let mut wet = world.query::<(&Wet, &Counted), ()>().unwrap();
            assert!(wet.iter().all(|(wet, _)| *wet == Wet(round)));
            assert_eq!(wet.count(), given / (round as usize + 1));
        }
        drop(world);
        assert_eq!(drops.load(Ordering::Relaxed), given);
    }
}
