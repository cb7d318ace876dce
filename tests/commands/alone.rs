//! What one recorder alone has recorded, one command or a few that do the same: where that is for the ordinary way after all,
//! and where users' code panics, it is done as that does it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use crate::refused::{Goes, flush};

const WAYS: [Goes; 3] = [Goes::General, Goes::Few, Goes::Alone];

#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(usize);
/// Can be switched off.
struct Lit;
#[derive(Clone, Copy, Debug, PartialEq)]
struct Heat(u32);
/// Comes with another.
struct Cart;
#[derive(Default)]
struct Wheel(u32);
/// There is one of those in its composition.
struct Hermit;

/// Counts its drops, and panics in that, if it is to.
struct Counted(Arc<AtomicUsize>, bool);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        if self.1 && !std::thread::panicking() {
            resume_unwind(Box::new("the fuse"));
        }
    }
}

/// A world of some who can be lit, every third of whom is not, and what each of them has that is dropped.
fn lit(drops: &Arc<AtomicUsize>) -> (World, Vec<Entity>) {
    let mut world = World::new();
    world.registry().register_enableable::<Lit>().unwrap();
    world.registry().require::<Cart, Wheel>().unwrap();
    let counted = || Counted(Arc::clone(drops), false);
    let ants: Vec<Entity> = (0..60)
        .map(|n| world.create((Number(n), Lit, counted())).unwrap())
        .collect();
    for &ant in ants.iter().step_by(3) {
        world.set_enabled::<Lit>(ant, false).unwrap();
    }
    (world, ants)
}

type Record<'a> = Box<dyn Fn(&World, &mut Commands<'_>) + 'a>;

/// What is recorded for ten of them.
type Case = for<'a> fn(&'a [Entity], &'a Arc<AtomicUsize>) -> Vec<Record<'a>>;

fn each<'a>(
    few: impl IntoIterator<Item = &'a Entity>,
    record: impl Fn(usize, Entity, &mut Commands<'_>) + Clone + 'a,
) -> Vec<Record<'a>> {
    let all = few.into_iter().enumerate();
    let all = all.map(|(nth, &entity)| {
        let record = record.clone();
        Box::new(move |_: &World, commands: &mut Commands<'_>| record(nth, entity, commands))
            as Record<'a>
    });
    all.collect()
}

const CASES: [(&str, Case); 10] = [
    ("switches go along", |ants, _| {
        each(&ants[..6], |nth, ant, commands| {
            commands.add(ant, (Heat(nth as u32),)).unwrap();
        })
    }),
    ("switches go along with tags", |ants, _| {
        each(ants[..6].iter().rev(), |_, ant, commands| {
            commands.add(ant, (7_u8,)).unwrap();
        })
    }),
    ("one that requires", |ants, _| {
        each(&ants[..1], |_, ant, commands| {
            commands.add(ant, (Cart,)).unwrap();
        })
    }),
    ("some that require", |ants, _| {
        each(&ants[..5], |_, ant, commands| {
            commands.add(ant, (Cart,)).unwrap();
        })
    }),
    ("twice, in no order", |ants, _| {
        each(
            [&ants[5], &ants[3], &ants[5], &ants[1]],
            |nth, ant, commands| {
                commands.add(ant, (Heat(nth as u32),)).unwrap();
            },
        )
    }),
    ("twice destroyed, in no order", |ants, _| {
        each([&ants[5], &ants[3], &ants[5]], |_, ant, commands| {
            commands.destroy(ant);
        })
    }),
    ("what is dropped goes", |ants, _| {
        each(&ants[2..7], |_, ant, commands| {
            commands.remove::<(Counted,)>(ant).unwrap();
        })
    }),
    ("one that is dropped goes", |ants, _| {
        each(&ants[2..3], |_, ant, commands| {
            commands.remove::<(Counted,)>(ant).unwrap();
        })
    }),
    ("what is dropped is replaced", |ants, drops| {
        each(&ants[2..7], move |_, ant, commands| {
            let value = Counted(Arc::clone(drops), false);
            commands.set(ant, value).unwrap();
        })
    }),
    ("one to its own composition, and away", |ants, _| {
        each([&ants[0]], |_, ant, commands| {
            commands.add(ant, (Hermit,)).unwrap();
        })
    }),
];

/// All that can be told of it.
fn told(world: &mut World, all: &[Entity], drops: &AtomicUsize) -> Vec<String> {
    world.check().unwrap();
    let number = |entity| all.iter().position(|&other| other == entity);
    let mut told = vec![format!("dropped {}", drops.load(Ordering::Relaxed))];
    type Parts<'a> = (
        Entity,
        &'a Number,
        Option<&'a Heat>,
        Has<u8>,
        Has<Cart>,
        Has<Counted>,
        Has<Hermit>,
    );
    let mut seen = world.query::<Parts<'_>, ()>().unwrap();
    let mut rows = Vec::new();
    seen.for_each(|(entity, seen, heat, small, cart, counted, hermit)| {
        assert_eq!(number(entity), Some(seen.0));
        rows.push((
            entity,
            format!("{} {heat:?} {small} {cart} {counted} {hermit}", seen.0),
        ));
    });
    for (entity, row) in rows {
        let is_lit = world.is_enabled::<Lit>(entity).unwrap();
        let wheel = world.get::<Wheel>(entity).map(|wheel| wheel.0).ok();
        told.push(format!("{row} {is_lit} {wheel:?}"));
    }
    told
}

#[test]
fn what_the_short_ways_pass_on_is_done_as_ever() {
    for (what, case) in CASES {
        let history = |goes| {
            let drops = Arc::new(AtomicUsize::new(0));
            let (mut world, ants) = lit(&drops);
            let mut all = Vec::new();
            // The first time the way is not known.
            for few in ants.chunks(10) {
                let commands = case(few, &drops);
                let commands: Vec<_> = commands.iter().map(|command| &**command).collect();
                let report = flush(&mut world, goes, &commands);
                let counts = [report.destroyed, report.moved, report.updated, report.dead];
                all.push(format!("{counts:?} {}", report.refused.len()));
                all.extend(told(&mut world, &ants, &drops));
            }
            drop(world);
            all.push(format!("in the end {}", drops.load(Ordering::Relaxed)));
            all
        };
        let general = history(Goes::General);
        for goes in [Goes::Few, Goes::Alone] {
            assert_eq!(history(goes), general, "{what}: {goes:?}");
        }
    }
}

#[test]
fn who_goes_with_its_chunk_goes_alone_as_with_others() {
    let history = |goes| {
        let mut world = World::new();
        let hermit = world.create((Number(0), Hermit)).unwrap();
        // Where it comes to there is room.
        let other = world.create((Number(1), Hermit, 1_u8)).unwrap();
        let mut all = Vec::new();
        for round in 0..4 {
            let command: &dyn Fn(&World, &mut Commands<'_>) = match round % 2 {
                0 => &|_, commands| commands.add(hermit, (1_u8,)).unwrap(),
                _ => &|_, commands| commands.remove::<(u8,)>(hermit).unwrap(),
            };
            let report = flush(&mut world, goes, &[command]);
            assert!(report.is_clean());
            all.push(format!("{} {}", report.moved, world.stats().chunks));
            world.check().unwrap();
            for (entity, number) in [(hermit, 0), (other, 1)] {
                assert_eq!(world.get::<Number>(entity).unwrap(), &Number(number));
            }
            assert_eq!(world.has::<u8>(hermit).unwrap(), round % 2 == 0);
        }
        all
    };
    let general = history(Goes::General);
    for goes in [Goes::Few, Goes::Alone] {
        assert_eq!(history(goes), general, "{goes:?}");
    }
}

#[test]
fn a_drop_that_panics_in_a_flush_of_one_recorder_comes_back_when_all_is_done() {
    type Call = fn(Entity, &Arc<AtomicUsize>, &mut Commands<'_>);
    let calls: [(&str, Call, usize); 4] = [
        ("destroy", |ant, _, commands| commands.destroy(ant), 0),
        (
            "remove",
            |ant, _, commands| commands.remove::<(Counted,)>(ant).unwrap(),
            0,
        ),
        (
            "set",
            |ant, drops, commands| {
                let value = Counted(Arc::clone(drops), false);
                commands.set(ant, value).unwrap();
            },
            1,
        ),
        (
            "swap",
            |ant, _, commands| commands.swap::<(Counted,), _>(ant, (Heat(1),)).unwrap(),
            0,
        ),
    ];
    for (what, call, left) in calls {
        for goes in WAYS {
            for several in [false, true] {
                let drops = Arc::new(AtomicUsize::new(0));
                let mut world = World::new();
                let burning = |burns| Counted(Arc::clone(&drops), burns);
                let ants: Vec<Entity> = (0..8)
                    .map(|n| world.create((Number(n), burning(n == 5))).unwrap())
                    .collect();
                let few = if several { &ants[4..7] } else { &ants[5..6] };
                // So that the way is known.
                let first: &dyn Fn(&World, &mut Commands<'_>) =
                    &|_, commands| call(ants[0], &drops, commands);
                assert!(flush(&mut world, goes, &[first]).is_clean());
                assert_eq!(drops.load(Ordering::Relaxed), 1, "{what}");
                let commands = each(few, |_, ant, commands| call(ant, &drops, commands));
                let commands: Vec<_> = commands.iter().map(|command| &**command).collect();
                let flushed = catch_unwind(AssertUnwindSafe(|| {
                    let _ = flush(&mut world, goes, &commands);
                }));
                let panic = flushed.unwrap_err();
                assert_eq!(panic.downcast_ref(), Some(&"the fuse"), "{what} {goes:?}");
                // What was under way is done.
                assert_eq!(
                    drops.load(Ordering::Relaxed),
                    1 + few.len(),
                    "{what} {goes:?}"
                );
                world.check().unwrap();
                for &ant in few {
                    assert_eq!(world.exists(ant), what != "destroy");
                    assert_eq!(world.has::<Counted>(ant).unwrap_or(false), left == 1);
                }
                assert!(world.flush().is_clean());
                let again: &dyn Fn(&World, &mut Commands<'_>) =
                    &|_, commands| call(ants[1], &drops, commands);
                assert!(flush(&mut world, goes, &[again]).is_clean());
                drop(world);
                let in_all = 8 + left * (2 + few.len());
                assert_eq!(drops.load(Ordering::Relaxed), in_all, "{what} {goes:?}");
            }
        }
    }
}
