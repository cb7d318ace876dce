//! A world is saved to a file and comes back: ids, values, and what is dead stays dead.
//!
//!     cargo run --release --example snapshot

use std::error::Error;
use std::time::Duration;

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Position {
    x: f32,
    y: f32,
}
megachunk::plain!(Position { x, y });

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
struct Team(u32);
megachunk::plain!(Team { 0 });

/// Whom a player follows, and how. Entities are saved as what they are: in the loaded world they lead to the same players.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Follows {
    whom: Entity,
    gait: Gait,
    closely: bool,
    _padding: [u8; 6],
}
megachunk::plain!(Follows {
    whom,
    gait,
    closely,
    _padding
});

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum Gait {
    Walks,
    Runs,
}
megachunk::plain!(
    enum Gait {
        Walks,
        Runs,
    }
);

/// How the teams stand, as a resource.
#[derive(Debug, PartialEq)]
struct Goals(Vec<u16>);

/// What both programs agree on: the names and layouts of fragments, and what else is part of the state. All have names of
/// their own: types may be renamed, and built by another compiler, and old files are known.
fn register(registry: &FragmentRegistry) -> Result<(), FragmentError> {
    registry.register_plain_as::<Position>("position")?;
    registry.register_plain_as::<Follows>("follows")?;
    registry.register_plain_as::<Shared<Team>>("team")?;
    // Teams are what delayed signals carry, too.
    registry.register_state_as::<Team>("team")?;
    registry.register_state_with("goals", write_goals, read_goals)
}

fn write_goals(goals: &Goals, bytes: &mut Vec<u8>) {
    bytes.extend(goals.0.iter().flat_map(|goals| goals.to_le_bytes()));
}

fn read_goals(bytes: &[u8], _: &EntityMap) -> Result<Goals, &'static str> {
    match bytes.as_chunks() {
        (goals, []) => Ok(Goals(
            goals.iter().map(|&g| u16::from_le_bytes(g)).collect(),
        )),
        _ => Err("half a number of goals"),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    register(world.registry())?;
    let mut players = Vec::new();
    for number in 0..1_000_u16 {
        let position = Position {
            x: f32::from(number),
            y: 0.5,
        };
        let team = Team(u32::from(number % 4));
        players.push(world.create((position,).shared(team))?);
    }
    for pair in players.windows(2) {
        let follows = Follows {
            whom: pair[0],
            gait: Gait::Runs,
            closely: true,
            _padding: [0; 6],
        };
        world.add(pair[1], (follows,))?;
    }
    world.destroy(players[7])?;
    world.set_name(players[0], "captain")?;
    world.resources_mut().insert(Goals(vec![2, 0, 1, 1]));
    let whistle = world.signal::<Team>("whistle")?;
    let half_time = Duration::from_secs(45 * 60);
    world
        .signals()
        .send_at(whistle, players[0], Team(0), half_time);
    world.advance_time(half_time / 2);

    let path = std::env::temp_dir().join(format!("megachunk-example-{}.world", std::process::id()));
    assert!(world.unnamed(&SnapshotOptions::new())?.is_empty());
    world.save(&path, &Default::default())?;
    let hash = world.state_hash(&Default::default())?;
    println!(
        "saved {} entities in {} bytes, state {hash:016x}",
        world.count(),
        path.metadata()?.len()
    );

    // Another run of the program: a fresh universe that knows the same fragments.
    let universe = Universe::new();
    register(universe.registry())?;
    let mut loaded = World::load(&path, universe, &Default::default())?;
    println!(
        "loaded {} entities, state {:016x}",
        loaded.count(),
        loaded.state_hash(&Default::default())?
    );
    assert_eq!(loaded.state_hash(&Default::default())?, hash);
    assert_eq!(loaded.get::<Position>(players[3])?.x, 3.0);
    assert_eq!(loaded.shared::<Team>(players[3])?, &Team(3));

    // Who followed whom still does; and who followed a dead one knows.
    let follows = loaded.get::<Follows>(players[4])?;
    assert_eq!((follows.whom, follows.gait), (players[3], Gait::Runs));
    assert!(!loaded.exists(loaded.get::<Follows>(players[8])?.whom));

    // What is the world's, and not its entities', has come too.
    assert_eq!(loaded.find_by_name("captain"), Some(players[0]));
    let goals = loaded.resources().get::<Goals>();
    assert_eq!(goals, Some(&Goals(vec![2, 0, 1, 1])));
    let whistle = loaded.signal::<Team>("whistle")?;
    let mut heard = SignalReader::<&Position>::new(&loaded)?;
    heard.subscribe(&mut loaded, whistle)?;
    loaded.advance_time(half_time / 2);
    let delivery = heard.deliver(&mut loaded, |_, _| {});
    println!(
        "at {:?} {} player hears the whistle",
        loaded.time(),
        delivery.entities
    );
    assert_eq!(delivery.signals, 1);

    // The dead player's slot has another entity one day; the old handle never means it.
    let recruit = loaded.create((Position { x: 0.0, y: 0.0 },))?;
    println!(
        "{recruit} is new; {}",
        loaded.get::<Position>(players[7]).unwrap_err()
    );
    assert!(!loaded.exists(players[7]));

    // A damaged file says where, and no world is made of it.
    let mut bytes = std::fs::read(&path)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes)?;
    let universe = Universe::new();
    register(universe.registry())?;
    let error = World::load(&path, universe, &Default::default())
        .err()
        .ok_or("it should be refused")?;
    println!("refused: {error}");
    std::fs::remove_file(path)?;
    Ok(())
}
