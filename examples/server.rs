//! A server of matches: each a world that ticks with the others, and connections that are tasks.
//!
//!     cargo run --release --example server
//!
//! A task here is a thread; of a runtime's tasks all is as true. It keeps `WeakCommands`, opens a recorder for one message,
//! and has none open while it waits.

use std::sync::mpsc;
use std::time::Duration;

use megachunk::command::WeakCommands;
use megachunk::prelude::*;
use megachunk::processor::Broken;

struct Player(u32);

/// Whoever holds it is in the match: it goes when the task ends, however that ends.
struct Seat {
    commands: WeakCommands,
    player: Entity,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(commands) = self.commands.upgrade() {
            commands.open().destroy(self.player);
        }
    }
}

/// One connection: joins, asks how many there are, and leaves. `None` if the match has ended.
fn connection(commands: WeakCommands, number: u32) -> Option<usize> {
    let player = commands.upgrade()?.open().create((Player(number),)).ok()?;
    let _seat = Seat {
        commands: commands.clone(),
        player,
    };
    let (reply, answer) = mpsc::sync_channel(1);
    commands.upgrade()?.open().defer(move |world| {
        let _ = reply.send(world.count());
    });
    // The world ends first: the closure is dropped, and its sender with it.
    answer.recv().ok()
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut app = App::new();
    let mut connections = Vec::new();
    for number in 0..4_u32 {
        let mut schedule = Schedule::new();
        schedule.add(processor(
            "play",
            move |mut all: QueryRun<'_, &mut Player>| {
                all.for_each(|player| player.0 += 1);
                assert_ne!(number, 3, "a fault of this match alone");
            },
        ));
        let world = World::new();
        let commands = world.parallel_commands().downgrade();
        app.add(format!("match {number}"), Simulation::new(world, schedule));
        for player in 0..3 {
            let commands = commands.clone();
            connections.push((
                number,
                std::thread::spawn(move || connection(commands, player)),
            ));
        }
    }
    let mut over = Vec::new();
    while !connections.iter().all(|(_, task)| task.is_finished()) {
        app.update_each(Duration::from_millis(20), |name, _, why| {
            assert!(matches!(why, Broken::Panicked(_)), "{why}");
            over.push(name.to_owned());
        });
        app.retain(|name, _| !over.iter().any(|gone| gone == name));
    }
    for (number, task) in connections {
        let answer = task.join().expect("no connection panics");
        assert!(number == 3 || answer.is_some_and(|players| (1..=3).contains(&players)));
    }
    // What the seats have recorded.
    app.update_each(Duration::from_millis(20), |name, _, why| {
        unreachable!("{name}: {why}")
    });
    assert_eq!(over, ["match 3"]);
    assert!(app.iter().all(|(_, one)| one.world().count() == 0));
    println!(
        "{} matches have ended well, and one was broken",
        app.iter().count()
    );
}
