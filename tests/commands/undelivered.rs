//! Values that no command delivers, recorded for the dead or overwritten, are dropped in the order of the commands: what a
//! `drop` records depends neither on who opened first nor on what the memory held before.

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

/// Who recorded last when it was dropped.
struct Won(u64);

/// A value that records something when it is dropped.
struct Last {
    number: u64,
    commands: ParallelCommands,
    of: Entity,
}

impl Drop for Last {
    fn drop(&mut self) {
        self.commands.open().set(self.of, Won(self.number)).unwrap();
    }
}

/// A dead entity, and one that lives.
fn dead_and_ant(world: &mut World) -> (Entity, Entity) {
    let dead = world.create((1_u8,)).unwrap();
    world.destroy(dead).unwrap();
    (dead, world.create((Won(99),)).unwrap())
}

#[test]
fn what_drops_record_does_not_depend_on_who_opened_first() {
    for backwards in [false, true] {
        let mut world = World::new();
        let (dead, ant) = dead_and_ant(&mut world);
        let commands = world.parallel_commands();
        let mut keys = [0, 1, 2, 3];
        if backwards {
            keys.reverse();
        }
        let mut open: Vec<_> = keys.iter().map(|&key| commands.open_at(key)).collect();
        for (number, recorder) in keys.into_iter().zip(&mut open) {
            let commands = commands.clone();
            let last = Last {
                number,
                commands,
                of: ant,
            };
            recorder.set(dead, last).unwrap();
        }
        drop(open);
        while world.pending().commands > 0 {
            let _ = world.flush();
        }
        assert_eq!(world.get::<Won>(ant).unwrap().0, 3, "{backwards}");
    }
}

type Dropped = Arc<Mutex<Vec<u64>>>;

/// Writes down when it is dropped; of several types.
struct Written<const TYPE: usize>(u64, Dropped);

impl<const TYPE: usize> Drop for Written<TYPE> {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

fn record<const TYPE: usize>(
    commands: &mut Commands<'_>,
    to: Entity,
    number: u64,
    dropped: &Dropped,
) {
    let written = |number| Written::<TYPE>(number, Arc::clone(dropped));
    if number.is_multiple_of(3) {
        let both = (
            written(number),
            Written::<9>(number + 1, Arc::clone(dropped)),
        );
        commands.add(to, both).unwrap();
    } else {
        commands.set(to, written(number)).unwrap();
    }
}

/// What one recorder records, for the dead and for one who gets the last of each type.
fn record_all(commands: &mut Commands<'_>, to: [Entity; 2], first: u64, dropped: &Dropped) {
    for n in 0..40 {
        let (to, number) = (to[usize::from(n % 4 == 1)], first + 10 * n);
        match n % 5 {
            0 | 3 => record::<0>(commands, to, number, dropped),
            1 => record::<1>(commands, to, number, dropped),
            2 => commands.set(to, 1_u32).unwrap(),
            _ => record::<2>(commands, to, number, dropped),
        }
    }
}

#[test]
fn values_are_dropped_in_the_order_of_commands_whatever_memory_they_lie_in() {
    let play = |recorders: u64, backwards: bool, together: bool, shared: bool, threads: usize| {
        let mut world = World::new();
        world.set_flush_threads_from((threads > 1).then_some(1));
        let (dead, ant) = dead_and_ant(&mut world);
        let dropped = Dropped::default();
        let kept = shared.then(|| world.parallel_commands());
        // The memory of recorders knows types in the order in which they came first.
        for round in 0..3 {
            let mut commands = world.commands();
            match backwards {
                true => record::<2>(&mut commands, dead, 1, &dropped),
                false => record::<0>(&mut commands, dead, 1, &dropped),
            }
            record::<1>(&mut commands, dead, 1, &dropped);
            record::<2>(&mut commands, dead, 1, &dropped);
            let another = (round == 2).then(|| world.commands());
            drop((commands, another));
            let _ = world.flush();
        }
        dropped.lock().unwrap().clear();
        if let Some(commands) = &kept {
            let mut keys: Vec<u64> = (0..recorders).collect();
            if backwards {
                keys.reverse();
            }
            let mut open = Vec::new();
            for key in keys {
                let mut recorder = commands.open_at(key);
                record_all(&mut recorder, [dead, ant], key * 1_000, &dropped);
                if together {
                    open.push(recorder);
                }
            }
        } else {
            record_all(&mut world.commands(), [dead, ant], 0, &dropped);
        }
        let _ = world.flush();
        let seen = dropped.lock().unwrap().clone();
        assert!(seen.len() > 30 * recorders as usize);
        seen
    };
    for threads in [1, 2] {
        for recorders in [1, 2, 7] {
            let expected = play(recorders, false, false, true, threads);
            assert!(expected.is_sorted());
            for (backwards, together) in [(false, true), (true, false), (true, true)] {
                let seen = play(recorders, backwards, together, true, threads);
                assert_eq!(seen, expected, "{recorders}, {backwards}, {together}");
            }
            if recorders == 1 {
                let alone =
                    [false, true].map(|backwards| play(1, backwards, false, false, threads));
                assert!(alone.iter().all(|seen| *seen == expected));
            }
        }
    }
}

/// A shared value, each another one.
#[derive(Clone)]
struct Told(u64, Dropped);

impl PartialEq for Told {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Told {}

impl std::hash::Hash for Told {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn shared_values_that_nobody_gets_are_dropped_in_the_order_of_recorders() {
    for backwards in [false, true] {
        let mut world = World::new();
        let (dead, _) = dead_and_ant(&mut world);
        let dropped = Dropped::default();
        let commands = world.parallel_commands();
        let mut keys = [0, 1, 2, 3];
        if backwards {
            keys.reverse();
        }
        let mut open: Vec<_> = keys.iter().map(|&key| commands.open_at(key)).collect();
        for (key, recorder) in keys.into_iter().zip(&mut open) {
            let told = Told(key, Arc::clone(&dropped));
            recorder.set_shared(dead, told).unwrap();
        }
        drop(open);
        let _ = world.flush();
        drop(world);
        assert_eq!(*dropped.lock().unwrap(), [0, 1, 2, 3], "{backwards}");
    }
}
