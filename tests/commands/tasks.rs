//! Tasks of a server: recorders that follow each other in one task, while others of the same thread are open. What they
//! leave keeps no order over flushes, as the documentation says: who wants one sends through a channel, or numbers.

use megachunk::prelude::*;

#[derive(Debug, PartialEq)]
struct Wanted(u32);

fn world_of_one() -> Result<(World, Entity), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let player = world.create((Wanted(0),))?;
    Ok((world, player))
}

fn record(commands: &ParallelCommands, player: Entity, wanted: u32) {
    commands.open().set(player, Wanted(wanted)).unwrap();
}

#[test]
fn of_one_task_an_older_command_comes_last_if_another_task_on_its_thread_holds_it_back() {
    let (mut world, player) = world_of_one().unwrap();
    let commands = world.parallel_commands();
    record(&commands, player, 0);
    record(&commands, player, 1);
    // Another task's, which goes on in the memory of the last one and is open over two flushes.
    let other = commands.open();
    record(&commands, player, 2);
    assert_eq!(world.flush().open, 1);
    assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(2)));
    drop(other);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(1)), "the older");
}

#[test]
fn of_a_task_that_moves_an_older_command_comes_last_if_it_is_held_back_where_it_was() {
    let (mut world, player) = world_of_one().unwrap();
    let commands = world.parallel_commands();
    record(&commands, player, 0);
    record(&commands, player, 1);
    let other = commands.open();
    // The task goes on there.
    std::thread::scope(|scope| scope.spawn(|| record(&commands, player, 2)).join()).unwrap();
    assert_eq!(world.flush().open, 1);
    assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(2)));
    drop(other);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(1)), "the older");
}

#[test]
fn a_task_that_records_alone_on_its_thread_keeps_its_order_over_flushes() {
    let (mut world, player) = world_of_one().unwrap();
    let commands = world.parallel_commands();
    let mut recorded = 0;
    for flush in 1..=20_u32 {
        for _ in 0..flush % 5 {
            recorded += 1;
            record(&commands, player, recorded);
        }
        assert!(world.flush().is_clean());
        assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(recorded)));
    }
}

#[test]
fn one_that_numbers_what_it_sends_and_a_closure_that_ignores_the_older_keep_the_newest() {
    let (mut world, player) = world_of_one().unwrap();
    let commands = world.parallel_commands();
    let want = |wanted: u32| {
        commands.open().defer(move |world| {
            if let Ok(now) = world.get_mut::<Wanted>(player)
                && now.0 < wanted
            {
                now.0 = wanted;
            }
        });
    };
    want(1);
    want(2);
    let other = commands.open();
    want(3);
    assert_eq!(world.flush().open, 1);
    assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(3)));
    drop(other);
    assert!(world.flush().is_clean());
    assert_eq!(world.get::<Wanted>(player), Ok(&Wanted(3)));
}
