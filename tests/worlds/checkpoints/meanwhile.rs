//! What is recorded and sent while a world goes back, by users' code or by other threads, is for those who were there: whoever
//! gets a handle afterwards that a guess had gets nothing of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use megachunk::command::ParallelCommands;
use megachunk::prelude::*;
use megachunk::signal::{ParallelSignals, Signal};
use megachunk::world::{Checkpoint, CheckpointError, Checkpoints};

use crate::checkpoints::{Spot, world};

/// Says something when it is cloned, or dropped.
#[derive(Clone)]
struct Says {
    on_clone: Option<Arc<dyn Fn() + Send + Sync>>,
    on_drop: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Says {
    fn on_drop(says: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            on_clone: None,
            on_drop: Some(Arc::new(says)),
        }
    }
}

/// A fragment that does.
struct Tied(Says);

impl Clone for Tied {
    fn clone(&self) -> Self {
        if let Some(says) = &self.0.on_clone {
            says();
        }
        Self(self.0.clone())
    }
}

impl Drop for Tied {
    fn drop(&mut self) {
        if let Some(says) = &self.0.on_drop {
            says();
        }
    }
}

/// A world, what opens its recorders, and a checkpoint of it.
fn begin() -> (World, ParallelCommands, Checkpoints, Checkpoint) {
    let mut world = world();
    world.registry().register_clone::<Tied>().unwrap();
    let commands = world.parallel_commands();
    world.create((Spot(0),)).unwrap();
    let mut checkpoints = Checkpoints::new(3);
    let start = checkpoints.take(&mut world).unwrap();
    (world, commands, checkpoints, start)
}

/// That nothing waits, and that who gets a guess's handle is left alone.
fn expect_nothing_for(world: &mut World, guess: Entity) {
    assert!(world.pending().is_empty(), "{}", world.pending());
    let real = world.create((Spot(7),)).unwrap();
    assert_eq!(real, guess);
    let report = world.flush();
    assert_eq!((report.commands, report.created), (0, 0), "{report:?}");
    assert_eq!(world.get::<Spot>(real).unwrap(), &Spot(7));
    world.check().unwrap();
}

#[test]
fn what_drops_record_of_values_that_go_is_gone() {
    let (mut world, commands, mut checkpoints, start) = begin();
    let guess = world.create((Spot(1),)).unwrap();
    let destroys = {
        let commands = commands.clone();
        move || commands.open().destroy(guess)
    };
    // The values that it carries record when they are dropped, too, which is when it is let go.
    let also = {
        let commands = commands.clone();
        move || {
            let tied = Tied(Says::on_drop(destroys.clone()));
            let mut commands = commands.open();
            commands.add(guess, (tied,)).unwrap();
            commands.create((Spot(8),)).unwrap();
            commands.clone_entity(guess).unwrap();
        }
    };
    let also = Tied(Says::on_drop(also));
    world.create((Spot(2), also)).unwrap();
    checkpoints.roll_back(&mut world, start).unwrap();
    assert!(world.pending().is_empty(), "{}", world.pending());
    assert_eq!(world.count(), 1);
    world.check().unwrap();
    assert_eq!(world.flush().commands, 0);
    checkpoints.roll_back(&mut world, start).unwrap();
    drop(commands);
    expect_nothing_for(&mut world, guess);
}

#[test]
fn what_drops_of_later_checkpoints_record_and_send_is_gone() {
    let (mut world, commands, mut checkpoints, start) = begin();
    let bell = world.signal::<u32>("bell").unwrap();
    let mut reader = SignalReader::<Entity>::new(&world).unwrap();
    reader.subscribe(&mut world, bell).unwrap();
    let signals = world.parallel_signals();
    let guess = world.create((Spot(1),)).unwrap();
    let says = move || {
        commands.open().destroy(guess);
        signals.open().send(bell, guess, 7);
    };
    world.create((Spot(2), Tied(Says::on_drop(says)))).unwrap();
    checkpoints.take(&mut world).unwrap();
    checkpoints.roll_back(&mut world, start).unwrap();
    expect_nothing_for(&mut world, guess);
    let _ = reader.deliver(&mut world, |entity, _| panic!("{entity} has heard"));
}

/// A fragment of the checkpoint that calls this when it is cloned to go back; the guess's handle.
fn guess_beside(
    world: &mut World,
    checkpoints: &mut Checkpoints,
    says: impl Fn(Entity) + Send + Sync + 'static,
) -> (Checkpoint, Entity) {
    let guess = Arc::new(OnceLock::new());
    let on_clone = {
        let guess = Arc::clone(&guess);
        move || {
            if let Some(&guess) = guess.get() {
                says(guess);
            }
        }
    };
    let tied = Tied(Says {
        on_clone: Some(Arc::new(on_clone)),
        on_drop: None,
    });
    let home = world.create((tied,)).unwrap();
    let start = checkpoints.take(world).unwrap();
    // What was written is cloned back.
    let _ = world.get_mut::<Tied>(home).unwrap();
    let real = world.create((Spot(1),)).unwrap();
    guess.set(real).unwrap();
    (start, real)
}

#[test]
fn what_another_thread_records_while_the_world_goes_back_is_gone() {
    let (mut world, commands, mut checkpoints, _) = begin();
    let (start, guess) = guess_beside(&mut world, &mut checkpoints, move |guess| {
        std::thread::scope(|scope| {
            scope.spawn(|| commands.open().destroy(guess));
        });
    });
    checkpoints.roll_back(&mut world, start).unwrap();
    expect_nothing_for(&mut world, guess);
}

/// A thread that opens a recorder and a sender when it is told to, uses both, and keeps them until it is told again.
struct Other {
    told: mpsc::Sender<Option<Entity>>,
    done: Mutex<mpsc::Receiver<()>>,
}

impl Other {
    fn new(commands: ParallelCommands, signals: ParallelSignals, bell: Signal<u32>) -> Arc<Self> {
        let (told, tells) = mpsc::channel::<Option<Entity>>();
        let (does, done) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok(Some(guess)) = tells.recv() {
                let mut commands = commands.open();
                let mut signals = signals.open();
                commands.destroy(guess);
                signals.send(bell, guess, 7);
                signals.send_after(bell, guess, 7, Duration::from_secs(1));
                does.send(()).unwrap();
                tells.recv().unwrap();
                drop((commands, signals));
                does.send(()).unwrap();
            }
        });
        Arc::new(Self {
            told,
            done: Mutex::new(done),
        })
    }

    fn tell(&self, guess: Option<Entity>) {
        self.told.send(guess).unwrap();
        self.done.lock().unwrap().recv().unwrap();
    }
}

#[test]
fn what_is_open_beyond_the_end_is_gone_when_it_is_closed() {
    for collected in [false, true] {
        let (mut world, commands, mut checkpoints, _) = begin();
        let bell = world.signal::<u32>("bell").unwrap();
        let mut reader = SignalReader::<Entity>::new(&world).unwrap();
        reader.subscribe(&mut world, bell).unwrap();
        let other = Other::new(commands.clone(), world.parallel_signals(), bell);
        let tells = Arc::clone(&other);
        let (start, guess) = guess_beside(&mut world, &mut checkpoints, move |guess| {
            tells.tell(Some(guess));
        });
        checkpoints.roll_back(&mut world, start).unwrap();
        let real = world.create((Spot(7),)).unwrap();
        assert_eq!(real, guess);
        assert_eq!(
            checkpoints.take(&mut world),
            Err(CheckpointError::RecorderOpen)
        );
        if collected {
            assert_eq!(world.flush().commands, 0);
            world.collect_signals();
        }
        other.tell(None);
        assert!(world.pending().is_empty(), "{}", world.pending());
        // What is recorded since is there.
        commands.open().set(real, Spot(8)).unwrap();
        assert_eq!(world.pending().commands, 1);
        drop((commands, other));
        let report = world.flush();
        assert_eq!((report.commands, report.updated), (1, 1), "{report:?}");
        assert_eq!(world.get::<Spot>(real).unwrap(), &Spot(8));
        world.advance_time(Duration::from_secs(1));
        let _ = reader.deliver(&mut world, |entity, _| panic!("{entity} has heard"));
        assert_eq!(world.flush().commands, 0);
        checkpoints.take(&mut world).unwrap();
        checkpoints.roll_back(&mut world, start).unwrap();
        world.check().unwrap();
    }
}

#[test]
fn who_was_created_by_a_recorder_that_is_open_beyond_the_end_dies_when_that_is_closed() {
    let (mut world, commands, mut checkpoints, start) = begin();
    let (created, creates) = mpsc::channel();
    let (told, tells) = mpsc::channel::<()>();
    let (tells, open) = (Mutex::new(Some(tells)), Mutex::new(None));
    let open = Arc::new(open);
    let says = {
        let open = Arc::clone(&open);
        move || {
            let Some(tells) = tells.lock().unwrap().take() else {
                return;
            };
            let (commands, creates) = (commands.clone(), created.clone());
            let (has, had) = mpsc::channel();
            *open.lock().unwrap() = Some(std::thread::spawn(move || {
                let mut commands = commands.open();
                creates.send(commands.create((Spot(9),)).unwrap()).unwrap();
                has.send(()).unwrap();
                tells.recv().unwrap();
            }));
            had.recv().unwrap();
        }
    };
    world.create((Spot(2), Tied(Says::on_drop(says)))).unwrap();
    checkpoints.roll_back(&mut world, start).unwrap();
    let puff = creates.recv().unwrap();
    assert!(world.universe().exists(puff));
    told.send(()).unwrap();
    let thread = open.lock().unwrap().take().unwrap();
    thread.join().unwrap();
    assert!(world.pending().is_empty(), "{}", world.pending());
    let report = world.flush();
    assert_eq!((report.created, report.open), (0, 0), "{report:?}");
    assert!(!world.universe().exists(puff));
    assert_eq!(world.count(), 1);
    checkpoints.roll_back(&mut world, start).unwrap();
    world.check().unwrap();
}

#[test]
fn drops_that_record_what_does_so_again_come_to_an_end() {
    /// Records another one when it is dropped.
    struct Again(ParallelCommands, Arc<AtomicUsize>);

    impl Drop for Again {
        fn drop(&mut self) {
            if self.1.fetch_add(1, Ordering::Relaxed) < 40 {
                let again = Self(self.0.clone(), Arc::clone(&self.1));
                self.0.open().defer(move |_| drop(again));
            }
        }
    }

    let (mut world, commands, mut checkpoints, start) = begin();
    let drops = Arc::new(AtomicUsize::new(0));
    let says = {
        let drops = Arc::clone(&drops);
        move || drop(Again(commands.clone(), Arc::clone(&drops)))
    };
    world.create((Spot(2), Tied(Says::on_drop(says)))).unwrap();
    checkpoints.roll_back(&mut world, start).unwrap();
    assert!(drops.load(Ordering::Relaxed) < 40);
    assert_eq!(world.pending().commands, 1);
}

/// Panics when it is dropped.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("fragile");
    }
}

#[test]
fn a_drop_that_panics_of_what_was_recorded_or_sent_is_told_whenever_it_was_collected() {
    for collected in [false, true] {
        let (mut world, _, mut checkpoints, start) = begin();
        let bell = world.signal::<Fragile>("bell").unwrap();
        let mut reader = SignalReader::<Entity>::new(&world).unwrap();
        reader.subscribe(&mut world, bell).unwrap();
        let ant = world.create((Spot(1),)).unwrap();
        world.signals().send(bell, ant, Fragile);
        if collected {
            world.collect_signals();
        }
        expect_panic(&mut checkpoints, &mut world, start);
        let _ = reader.deliver(&mut world, |entity, _| panic!("{entity} has heard"));
    }
    let (mut world, commands, mut checkpoints, start) = begin();
    let ant = world.create((Spot(1),)).unwrap();
    let says = move || commands.open().add(ant, (Fragile,)).unwrap();
    world.create((Spot(2), Tied(Says::on_drop(says)))).unwrap();
    expect_panic(&mut checkpoints, &mut world, start);
}

/// That going back panics, and that the world has gone back.
fn expect_panic(checkpoints: &mut Checkpoints, world: &mut World, start: Checkpoint) {
    let went = catch_unwind(AssertUnwindSafe(|| checkpoints.roll_back(world, start)));
    assert_eq!(went.unwrap_err().downcast_ref(), Some(&"fragile"));
    assert_eq!(world.count(), 1);
    assert!(world.pending().is_empty(), "{}", world.pending());
    assert_eq!(checkpoints.roll_back(world, start), Ok(()));
}
