//! A flush that changes all entities of a chunk alike: their columns stay where they are, and nobody can tell.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide([u64; 12]);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Heat(u32);
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wet(u16);
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u8);
struct Asleep;

/// Counts its drops; one of them panics if it says so.
struct Counted {
    drops: Arc<AtomicUsize>,
    panics: bool,
}

impl Counted {
    fn new(drops: &Arc<AtomicUsize>) -> Self {
        Self {
            drops: Arc::clone(drops),
            panics: false,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
        if self.panics {
            resume_unwind(Box::new("a drop"));
        }
    }
}

fn wide(n: usize) -> Wide {
    Wide([n as u64; 12])
}

/// A world of ants that are wide, and the ants.
fn world_of(count: usize) -> (World, Vec<Entity>) {
    let mut world = World::new();
    let batch = world.create_batch((0..count).map(|n| (wide(n), n as u64)));
    let ants = batch.unwrap().iter(&world).collect();
    (world, ants)
}

/// Records a command for each ant, and flushes.
fn each(
    world: &mut World,
    ants: &[Entity],
    record: impl Fn(&mut Commands<'_>, usize, Entity),
) -> FlushReport {
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate() {
        record(&mut commands, n, ant);
    }
    drop(commands);
    let report = world.flush();
    world.universe().check([&*world]).unwrap();
    report
}

/// How many ants' wide fragments are where they were.
fn stayed(world: &World, ants: &[Entity], before: &[*const Wide]) -> usize {
    let pairs = ants.iter().zip(before);
    pairs
        .filter(|&(&ant, &before)| address(world, ant) == before)
        .count()
}

fn address(world: &World, ant: Entity) -> *const Wide {
    world.get::<Wide>(ant).unwrap()
}

/// The ants in the order in which a query meets them.
fn walk(world: &mut World) -> Vec<Entity> {
    let mut met = Vec::new();
    let mut query = world.query::<Entity, With<Wide>>().unwrap();
    query.for_each(|entity| met.push(entity));
    met
}

#[test]
fn what_stays_is_not_copied_when_a_flush_adds_and_removes_a_small_fragment() {
    let (mut world, ants) = world_of(50_000);
    let before: Vec<_> = ants.iter().map(|&ant| address(&world, ant)).collect();
    for round in 0..3 {
        let report = each(&mut world, &ants, |commands, n, ant| {
            commands.add(ant, (Heat(n as u32 + round),)).unwrap();
        });
        assert_eq!((report.moved, report.is_clean()), (50_000, true));
        let stay = stayed(&world, &ants, &before);
        assert!(stay > 45_000, "{stay}: all but the last chunk");
        for (n, &ant) in ants.iter().enumerate() {
            assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(n as u32 + round));
            assert_eq!(world.get::<Wide>(ant).unwrap(), &wide(n));
            assert_eq!(world.get::<u64>(ant).unwrap(), &(n as u64));
        }
        // A query meets them in the order in which they were created: so it was before.
        assert_eq!(walk(&mut world), ants);
        let report = each(&mut world, &ants, |commands, _, ant| {
            commands.remove::<(Heat,)>(ant).unwrap();
        });
        assert_eq!((report.moved, report.is_clean()), (50_000, true));
        assert_eq!(stayed(&world, &ants, &before), stay);
        assert_eq!(walk(&mut world), ants);
    }
}

#[test]
fn the_last_of_several_values_comes_to_a_whole_chunk() {
    let (mut world, ants) = world_of(3_000);
    let before: Vec<_> = ants.iter().map(|&ant| address(&world, ant)).collect();
    let report = each(&mut world, &ants, |commands, n, ant| {
        commands.add(ant, (Heat(1), Wet(2), Asleep)).unwrap();
        commands.remove::<(Heat,)>(ant).unwrap();
        commands.set(ant, Heat(n as u32)).unwrap();
        commands.set(ant, Wet(n as u16)).unwrap();
    });
    assert_eq!((report.moved, report.is_clean()), (3_000, true));
    assert!(stayed(&world, &ants, &before) > 2_000);
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(n as u32));
        assert_eq!(world.get::<Wet>(ant).unwrap(), &Wet(n as u16));
        assert!(world.has::<Asleep>(ant).unwrap());
        assert_eq!(world.get::<Wide>(ant).unwrap(), &wide(n));
    }
}

#[test]
fn one_fragment_goes_another_is_replaced_a_third_comes_in_whole_chunks() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let bundles = (0..3_000).map(|n| {
        (
            wide(n),
            [n as u64; 12],
            Heat(n as u32),
            Counted::new(&drops),
        )
    });
    let batch = world.create_batch(bundles).unwrap();
    let ants: Vec<Entity> = batch.iter(&world).collect();
    let before: Vec<_> = ants.iter().map(|&ant| address(&world, ant)).collect();
    let report = each(&mut world, &ants, |commands, n, ant| {
        let come = (Counted::new(&drops), Wet(n as u16));
        commands.swap::<(Heat,), _>(ant, come).unwrap();
    });
    assert_eq!((report.moved, report.is_clean()), (3_000, true));
    assert!(stayed(&world, &ants, &before) > 2_000);
    assert_eq!(drops.load(Ordering::Relaxed), 3_000, "those of before");
    for (n, &ant) in ants.iter().enumerate() {
        assert!(!world.has::<Heat>(ant).unwrap());
        assert_eq!(world.get::<Wet>(ant).unwrap(), &Wet(n as u16));
        assert_eq!(world.get::<Wide>(ant).unwrap(), &wide(n));
        assert_eq!(world.get::<[u64; 12]>(ant).unwrap(), &[n as u64; 12]);
    }
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 6_000);
}

#[test]
fn a_drop_that_panics_in_a_whole_chunk_ends_nothing_else() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (mut world, ants) = world_of(3_000);
    let report = each(&mut world, &ants, |commands, n, ant| {
        let mut counted = Counted::new(&drops);
        counted.panics = n == 1_234;
        commands.add(ant, (counted,)).unwrap();
    });
    assert!(report.is_clean());
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate() {
        commands.remove::<(Counted,)>(ant).unwrap();
        commands.add(ant, (Heat(n as u32),)).unwrap();
    }
    drop(commands);
    let result = catch_unwind(AssertUnwindSafe(|| world.flush().moved));
    let panic = result.unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"a drop"));
    world.universe().check([&world]).unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 3_000);
    for (n, &ant) in ants.iter().enumerate() {
        assert!(!world.has::<Counted>(ant).unwrap());
        assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(n as u32));
    }
}

#[test]
fn who_watches_sees_what_goes_while_it_is_there_and_what_comes_when_it_is() {
    let (mut world, ants) = world_of(3_000);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mine = Arc::clone(&seen);
    let both = Observed::ADD | Observed::REMOVE;
    world
        .observe::<Heat, ()>(both, move |batch, _| {
            let mut sum = 0;
            let change = batch.change();
            batch
                .for_each::<&Heat>(|heat| sum += u64::from(heat.0))
                .unwrap();
            mine.lock().unwrap().push((change, batch.len(), sum));
        })
        .unwrap();
    let sum = 2_999 * 3_000 / 2;
    assert!(
        each(&mut world, &ants, |commands, n, ant| {
            commands.add(ant, (Heat(n as u32),)).unwrap();
        })
        .is_clean()
    );
    assert!(
        each(&mut world, &ants, |commands, _, ant| {
            commands.remove::<(Heat,)>(ant).unwrap();
        })
        .is_clean()
    );
    let seen = core::mem::take(&mut *seen.lock().unwrap());
    let expected = [(Observed::ADD, 3_000, sum), (Observed::REMOVE, 3_000, sum)];
    assert_eq!(seen, expected);
}

#[test]
fn whole_chunks_go_to_their_shared_value_with_what_comes() {
    let (mut world, ants) = world_of(3_000);
    let before: Vec<_> = ants.iter().map(|&ant| address(&world, ant)).collect();
    let report = each(&mut world, &ants, |commands, n, ant| {
        commands
            .add(ant, (Heat(n as u32),).shared(Team(7)))
            .unwrap();
    });
    assert_eq!((report.moved, report.is_clean()), (3_000, true));
    assert!(stayed(&world, &ants, &before) > 2_000);
    for (n, &ant) in ants.iter().enumerate() {
        assert_eq!(world.shared::<Team>(ant).unwrap(), &Team(7));
        assert_eq!(world.get::<Heat>(ant).unwrap(), &Heat(n as u32));
    }
}

#[test]
fn others_may_come_to_where_whole_chunks_leave_and_arrive() {
    let (mut world, ants) = world_of(3_000);
    let hot = (3_000..6_000).map(|n| (wide(n), n as u64, Heat(n as u32)));
    let hot = world.create_batch(hot).unwrap();
    let bees: Vec<Entity> = hot.iter(&world).collect();
    let mut commands = world.commands();
    for (n, &ant) in ants.iter().enumerate() {
        commands.add(ant, (Heat(n as u32),)).unwrap();
    }
    // Some of these lose what the others get.
    for &bee in bees.iter().step_by(3) {
        commands.remove::<(Heat,)>(bee).unwrap();
    }
    drop(commands);
    let report = world.flush();
    assert_eq!((report.moved, report.is_clean()), (4_000, true));
    world.universe().check([&world]).unwrap();
    for (n, &one) in ants.iter().chain(&bees).enumerate() {
        let heat = (n < 3_000 || n % 3 != 0).then_some(Heat(n as u32));
        assert_eq!(world.get::<Heat>(one).ok().copied(), heat, "{n}");
        assert_eq!(world.get::<Wide>(one).unwrap(), &wide(n));
        assert_eq!(world.get::<u64>(one).unwrap(), &(n as u64));
    }
}
