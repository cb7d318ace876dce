//! A world with something of everything that a snapshot can hold, and what must hold of any file that is
//! taken for one: for the tests, the proptests and the fuzz target.

use core::alloc::Layout;
use core::ops::ControlFlow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use megachunk::entity::EntityMap;
use megachunk::fragment::{DynamicBundle, FragmentRegistry, Value};
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions, SnapshotState, SnapshotSummary};

/// Two floats without padding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Position {
    pub(crate) x: f32,
    pub(crate) y: f32,
}
megachunk::plain!(Position { x, y });

/// Nothing, that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Asleep;
megachunk::plain!(Asleep {});

/// Who belongs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct Team(pub(crate) u16);
megachunk::plain!(Team { 0 });

/// How somebody feels.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(crate) enum Mood {
    Calm = 1,
    Angry = 3,
}
megachunk::plain!(
    enum Mood {
        Calm,
        Angry,
    }
);

/// Not all bytes are one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Grudge {
    pub(crate) against: Entity,
    pub(crate) sign: char,
    pub(crate) mood: Mood,
    pub(crate) forgiven: bool,
    pub(crate) heat: u16,
}
megachunk::plain!(Grudge {
    against,
    sign,
    mood,
    forgiven,
    heat
});

/// What somebody says, to whom: more than its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Words {
    pub(crate) to: Entity,
    pub(crate) text: String,
}

/// A shared value that is more than its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tribe(pub(crate) String);

fn write_words(words: &Words, bytes: &mut Vec<u8>) {
    bytes.extend(words.to.to_bits().to_le_bytes());
    bytes.extend(words.text.as_bytes());
}

fn read_words(bytes: &[u8], entities: &EntityMap) -> Result<Words, &'static str> {
    let (to, text) = bytes.split_first_chunk().ok_or("half a handle")?;
    let mut to = Entity::try_from_bits(u64::from_le_bytes(*to)).ok_or("said to nobody")?;
    entities.apply(&mut to);
    let text = core::str::from_utf8(text).map_err(|_| "no text")?.into();
    Ok(Words { to, text })
}

/// Registers what is written.
fn register_written(registry: &FragmentRegistry) {
    registry
        .register_written_as::<Words, _, _>("words", write_words, read_words)
        .unwrap();
    registry
        .register_written_as::<Shared<Tribe>, _, _>(
            "tribe",
            |tribe: &Tribe, bytes| bytes.extend(tribe.0.as_bytes()),
            |bytes, _| String::from_utf8(bytes.to_vec()).map(Tribe),
        )
        .unwrap();
}

/// Lets some of a world's entities say something, and others be of a tribe.
pub(crate) fn let_speak(world: &mut World) {
    let all = all_of(world);
    for (at, &entity) in all.iter().enumerate() {
        if at % 2 == 0 {
            let (to, text) = (all[at / 2], "so ".repeat(at % 5));
            world.add(entity, (Words { to, text },)).unwrap();
        }
        if at % 3 == 1 {
            let tribe = Tribe(["", "ants"][at % 2].into());
            world.add(entity, ().shared(tribe)).unwrap();
        }
    }
}

/// Registers all that the worlds of this file have.
pub(crate) fn register(registry: &FragmentRegistry) {
    register_written(registry);
    registry.register_plain::<Position>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry.register_plain::<Grudge>().unwrap();
    registry.register_plain::<PerChunk<bool>>().unwrap();
    registry.register_plain::<[u8; 3]>().unwrap();
    registry.register_enableable::<[u8; 3]>().unwrap();
    registry.register_plain::<Asleep>().unwrap();
    registry.register_enableable::<Asleep>().unwrap();
    registry.register_plain::<Shared<Team>>().unwrap();
    registry.register_plain::<ConstShared<u8>>().unwrap();
    registry.register_plain::<PerChunk<i64>>().unwrap();
    registry
        .define_plain("health", Layout::new::<u32>())
        .unwrap();
    registry.define_plain("armed", Layout::new::<()>()).unwrap();
    register_state(registry);
}

/// Registers what is part of the state besides entities.
fn register_state(registry: &FragmentRegistry) {
    registry.register_state_as::<Entity>("leader").unwrap();
    registry.register_state_as::<Grudge>("grudge").unwrap();
    registry
        .register_state_with("motto", write_motto, read_motto)
        .unwrap();
}

/// A resource that is more than its bytes.
#[derive(Debug, PartialEq)]
struct Motto(String);

fn write_motto(motto: &Motto, bytes: &mut Vec<u8>) -> Result<(), std::string::FromUtf8Error> {
    bytes.extend(motto.0.as_bytes());
    Ok(())
}

fn read_motto(bytes: &[u8], _: &EntityMap) -> Result<Motto, std::string::FromUtf8Error> {
    Ok(Motto(String::from_utf8(bytes.to_vec())?))
}

/// A universe in which all that is registered, in another order than in a world of [`small_world`].
pub(crate) fn universe() -> Universe {
    let universe = Universe::new();
    register_state(universe.registry());
    register_written(universe.registry());
    universe
        .registry()
        .define_plain("armed", Layout::new::<()>())
        .unwrap();
    universe.registry().register_plain::<i16>().unwrap();
    universe
        .registry()
        .register_plain::<PerChunk<bool>>()
        .unwrap();
    universe.registry().register_plain::<Grudge>().unwrap();
    universe.registry().register_plain::<u64>().unwrap();
    let definition = universe
        .registry()
        .define_plain("health", Layout::new::<u32>());
    definition.unwrap();
    universe.registry().register_plain::<Position>().unwrap();
    universe.registry().register_plain::<[u8; 3]>().unwrap();
    universe
        .registry()
        .register_enableable::<[u8; 3]>()
        .unwrap();
    universe.registry().register_plain::<Asleep>().unwrap();
    universe.registry().register_enableable::<Asleep>().unwrap();
    universe
        .registry()
        .register_plain::<PerChunk<i64>>()
        .unwrap();
    universe
        .registry()
        .register_plain::<ConstShared<u8>>()
        .unwrap();
    universe
        .registry()
        .register_plain::<Shared<Team>>()
        .unwrap();
    universe
}

/// A world of `count` entities with something of everything, some of them dead; all handles there ever were.
pub(crate) fn small_world(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::new();
    register(world.registry());
    let all = fill(&mut world, count);
    (world, all)
}

/// Two such worlds of one universe.
pub(crate) fn small_worlds(count: u32) -> [World; 2] {
    let universe = Arc::new(Universe::new());
    register(universe.registry());
    let mut worlds = [(); 2].map(|()| World::of(&universe).unwrap());
    worlds[1].set_chunk_size(3);
    // In turns, so that each has ids between those of the other.
    for part in [count / 3, count - count / 3] {
        worlds.iter_mut().for_each(|world| drop(fill(world, part)));
    }
    worlds
}

/// Creates `count` entities with something of everything, some of which die again; all their handles.
pub(crate) fn fill(world: &mut World, count: u32) -> Vec<Entity> {
    let health = world.registry().find("health").unwrap().id();
    let armed = world.registry().find("armed").unwrap().id();
    let mut all = Vec::new();
    for n in 0..count {
        let position = Position {
            x: n as f32,
            y: -(n as f32),
        };
        let entity = world.create((position,)).unwrap();
        if n % 2 == 0 {
            world
                .add(entity, (u64::from(n) << 40, [n as u8; 3]))
                .unwrap();
        }
        if n % 3 == 0 {
            world.add(entity, ().shared(Team(n as u16 % 4))).unwrap();
        }
        if n % 5 == 0 {
            let bundle = DynamicBundle::new()
                .with(Value::from_bytes(world.registry(), health, &n.to_ne_bytes()).unwrap())
                .with(Value::from_bytes(world.registry(), armed, &[]).unwrap());
            world.add_dynamic(entity, bundle).unwrap();
        }
        if n % 7 == 0 {
            world
                .add(entity, (Asleep,).const_shared(3_u8).per_chunk(11_i64))
                .unwrap();
            *world.chunk_fragment_mut::<i64>(entity).unwrap() = i64::from(n);
        }
        if n % 9 == 0 {
            let grudge = Grudge {
                against: all.last().copied().unwrap_or(Entity::PLACEHOLDER),
                sign: char::from_u32(0x1F600 + n).unwrap_or('?'),
                mood: if n % 2 == 0 { Mood::Calm } else { Mood::Angry },
                forgiven: n % 4 == 0,
                heat: n as u16,
            };
            world.add(entity, (grudge,).per_chunk(false)).unwrap();
            *world.chunk_fragment_mut::<bool>(entity).unwrap() = true;
        }
        if n % 4 == 0 {
            world.set_enabled::<[u8; 3]>(entity, false).unwrap();
        }
        if n % 14 == 0 {
            world.set_enabled::<Asleep>(entity, false).unwrap();
        }
        if n % 6 == 1 {
            world.destroy(entity).unwrap();
        }
        all.push(entity);
    }
    fill_besides(world, &all);
    all
}

/// Gives a world what it has besides its entities.
fn fill_besides(world: &mut World, all: &[Entity]) {
    world.resources_mut().insert(Motto("all for one".into()));
    let leader = all.first().copied().unwrap_or(Entity::PLACEHOLDER);
    world.resources_mut().insert(leader);
    world.advance_time(Duration::from_millis(700));
    let alarm = world.signal::<Grudge>("alarm").unwrap();
    let called = world.signal_of::<Entity>();
    let alive: Vec<Entity> = all.iter().copied().filter(|&e| world.exists(e)).collect();
    let mut signals = world.signals();
    for (at, &entity) in alive.iter().enumerate().step_by(5) {
        let grudge = Grudge {
            against: alive[at / 2],
            sign: '!',
            mood: Mood::Angry,
            forgiven: false,
            heat: at as u16,
        };
        let after = Duration::from_secs(1 + at as u64 % 3);
        signals.send_after(alarm, entity, grudge, after);
        signals.send_after(called, entity, alive[at], after);
    }
    drop(signals);
    world.collect_signals();
    for (at, &entity) in alive.iter().enumerate().step_by(4) {
        let name = ["ant", "bee"][at / 4 % 2];
        world.set_name(entity, name).unwrap();
    }
}

/// Takes bytes for a snapshot. If they are one, the worlds are whole: they can be saved, loaded, changed and
/// emptied, and their state survives.
pub(crate) fn check(bytes: &[u8]) -> Result<(), SnapshotError> {
    check_state(bytes);
    // Whoever looks first is told of all that is loaded, and of no more.
    let summary = SnapshotSummary::of(bytes);
    let mut worlds = match World::worlds_from_snapshot(bytes, universe(), &LoadOptions::new()) {
        Err(SnapshotError::DeadSkipped) => return check_dead_skipped(bytes),
        worlds => worlds?,
    };
    let summary = summary.expect("it was loaded");
    assert_eq!(summary.worlds, worlds.len());
    let sum = |of: fn(&World) -> usize| worlds.iter().map(of).sum::<usize>() as u64;
    assert_eq!(summary.entities, sum(World::count));
    assert_eq!(summary.signals, sum(|of| of.pending().delayed_signals));
    assert!(summary.slots.is_some() && !summary.to_string().is_empty());
    let first = worlds.first();
    if let Some(world) = first.filter(|world| are_switched_alike(&summary, world)) {
        let taken = world.universe().chunk_stats().in_use as u64;
        assert!(summary.chunk_bytes >= taken << 14, "{summary}: {taken}");
    }
    let hashes = |worlds: &[World]| -> Result<Vec<u64>, SnapshotError> {
        worlds
            .iter()
            .map(|world| world.state_hash(&Default::default()))
            .collect()
    };
    let expected = hashes(&worlds)?;
    let all: Vec<&World> = worlds.iter().collect();
    let again = World::worlds_to_snapshot(&all, &SnapshotOptions::new())?;
    let copies = World::worlds_from_snapshot(&again, universe(), &LoadOptions::new())?;
    assert_eq!(hashes(&copies)?, expected);
    match World::from_snapshot(bytes, universe(), &Default::default()) {
        Ok(one) => assert_eq!(one.state_hash(&Default::default())?, expected[0]),
        Err(SnapshotError::Worlds { found }) => assert_eq!(found, worlds.len()),
        Err(error) => return Err(error),
    }
    check_remapped(bytes, &worlds)?;
    check_skipped(bytes, &summary, worlds.iter().map(World::count).sum());
    let state = SnapshotState::of(bytes).expect("it was loaded");
    for (at, world) in worlds.iter().enumerate() {
        let hashes = world.state_hashes(&SnapshotOptions::new());
        assert_eq!(Some(hashes.unwrap()), state.state_hashes(at));
    }
    for (world, copy) in worlds.iter().zip(&copies) {
        assert_eq!(besides(world, |e| e), besides(copy, |e| e));
    }
    let mut known: Vec<Entity> = Vec::new();
    for (world, copy) in worlds.iter_mut().zip(&copies) {
        assert_eq!(copy.count(), world.count());
        let entities = all_of(world);
        assert_eq!(entities.len(), world.count());
        for (at, &entity) in entities.iter().enumerate() {
            assert!(world.is_built(entity) && copy.is_built(entity));
            match at % 3 {
                0 => world.destroy(entity).unwrap(),
                1 => world.add(entity, (1_u64,).shared(Team(9))).unwrap(),
                _ => drop(world.remove::<(Position,)>(entity).unwrap()),
            }
        }
        known.extend(entities);
    }
    for _ in 0..10 {
        for world in &mut worlds {
            let new = world.create((5_u64,)).unwrap();
            assert!(!known.contains(&new));
        }
    }
    for world in &mut worlds {
        world.clear();
    }
    if let Some(world) = worlds.first() {
        assert_eq!(world.universe().count(), 0);
    }
    Ok(())
}

/// Takes what may be a snapshot as it is, without the types: if it is one, its worlds differ from themselves in nothing.
fn check_state(bytes: &[u8]) {
    let Ok(state) = SnapshotState::of(bytes) else {
        return;
    };
    for world in 0..state.worlds() {
        let hashes = state.state_hashes(world).unwrap();
        assert!(hashes.iter().len() > 0);
    }
    let told = state.differences(&state, |_, _| ControlFlow::Continue(()));
    assert_eq!(told, 0);
}

/// Whether the same fragments of a file can be switched off here as where it was saved.
fn are_switched_alike(summary: &SnapshotSummary, world: &World) -> bool {
    summary.fragments.iter().all(|told| {
        let mut all = world.registry().iter();
        let here = all.find(|info| info.name() == told.name && info.kind() == told.kind);
        here.is_none_or(|info| info.is_enableable() == told.enableable)
    })
}

/// Takes a snapshot of so many entities, which can be loaded, without one of its fragments: all of them come all the
/// same, with their ids and with new ones, and go again.
fn check_skipped(bytes: &[u8], summary: &SnapshotSummary, count: usize) {
    let names: Vec<&str> = summary.fragments.iter().map(|told| &*told.name).collect();
    // A byte of the input says which one, or several by one name.
    let lot = bytes.get(bytes.len() / 2).copied().map_or(0, usize::from);
    let Some(name) = names.get(lot % names.len().max(1)) else {
        return;
    };
    let options = LoadOptions::new().skip(name);
    let have_come = |worlds: &[World]| {
        worlds.iter().for_each(|world| world.check().unwrap());
        let sum: usize = worlds.iter().map(World::count).sum();
        assert_eq!(sum, count, "without {name}");
    };
    if summary.slots.is_some() {
        let worlds = World::worlds_from_snapshot(bytes, universe(), &options);
        have_come(&worlds.expect("it was loaded with all"));
    }
    let (universe, nobody) = (Arc::new(universe()), EntityMap::default());
    let anew = World::worlds_from_snapshot_remapped(bytes, &universe, &nobody, &options);
    let (worlds, _) = anew.expect("it was loaded with all");
    have_come(&worlds);
    drop(worlds);
    assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
}

/// Takes the snapshot of these worlds for one that comes, twice, to a universe where others live: the same entities, by
/// other names; and they go again.
fn check_remapped(bytes: &[u8], worlds: &[World]) -> Result<(), SnapshotError> {
    let universe = Arc::new(universe());
    let mut native = World::of(&universe).unwrap();
    let natives: Vec<Entity> = (0..3_u64).map(|n| native.create((n,)).unwrap()).collect();
    native.destroy(natives[1]).unwrap();
    let before = (universe.count(), universe.chunk_stats().in_use);
    let mut come = Vec::new();
    for _ in 0..2 {
        let (copies, entities) = World::worlds_from_snapshot_remapped(
            bytes,
            &universe,
            &EntityMap::default(),
            &LoadOptions::new(),
        )?;
        assert_eq!(
            entities.len(),
            worlds.iter().map(World::count).sum::<usize>()
        );
        let new = |old| entities.get(old).unwrap_or(Entity::PLACEHOLDER);
        for (world, copy) in worlds.iter().zip(&copies) {
            copy.check().unwrap();
            let (olds, news) = (all_of(world), all_of(copy));
            let mapped: Vec<Entity> = olds.iter().map(|&old| new(old)).collect();
            assert_eq!(mapped, news, "the same order of rows");
            for (&old, &new_one) in olds.iter().zip(&news) {
                let (here, there) = (described(world, old, new), described(copy, new_one, |e| e));
                assert_eq!(here, there, "{old} has become {new_one}");
            }
            assert_eq!(besides(world, new), besides(copy, |e| e));
            come.extend(news);
        }
        let pairs: Vec<(Entity, Entity)> = entities.iter().collect();
        assert_eq!(pairs.len(), entities.len());
        assert!(pairs.iter().all(|&(old, now)| new(old) == now));
        come.sort_unstable();
        assert!(come.is_sorted_by(|a, b| a < b), "each is somebody new");
        native.check().unwrap();
        // The first go along, the others with their worlds.
        if before.0 == native.count() {
            for mut copy in copies {
                copy.move_all_to(&mut native).unwrap();
            }
            assert_eq!(native.count(), before.0 + entities.len());
        } else {
            assert_eq!(universe.count(), native.count() + entities.len());
            drop(copies);
            assert_eq!(universe.count(), native.count());
        }
    }
    native.check().unwrap();
    assert!(native.get::<u64>(natives[2]) == Ok(&2) && !native.exists(natives[1]));
    native.destroy(natives[0]).unwrap();
    native.destroy(natives[2]).unwrap();
    native.clear();
    drop(native);
    assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
    Ok(())
}

/// Takes a snapshot that says nothing of the dead for worlds that come twice: to the same ones, but for their names; and
/// they go again.
fn check_dead_skipped(bytes: &[u8]) -> Result<(), SnapshotError> {
    let universe = Arc::new(universe());
    let load = || {
        World::worlds_from_snapshot_remapped(
            bytes,
            &universe,
            &EntityMap::default(),
            &LoadOptions::new(),
        )
    };
    let (one, other) = (load()?, load()?);
    let summary = SnapshotSummary::of(bytes).expect("it was loaded");
    assert_eq!((summary.worlds, summary.slots), (one.0.len(), None));
    assert_eq!(summary.entities, one.1.len() as u64);
    assert_eq!(universe.count(), 2 * one.1.len());
    let olds = |entities: &EntityMap| -> HashMap<Entity, Entity> {
        entities.iter().map(|(old, new)| (new, old)).collect()
    };
    let (of_one, of_other) = (olds(&one.1), olds(&other.1));
    let old = |olds: &HashMap<Entity, Entity>, new: Entity| {
        olds.get(&new).copied().unwrap_or(Entity::PLACEHOLDER)
    };
    for (first, second) in one.0.iter().zip(&other.0) {
        first.check().unwrap();
        let (all, again) = (all_of(first), all_of(second));
        assert_eq!(all.len(), again.len());
        for (&a, &b) in all.iter().zip(&again) {
            assert_eq!(of_one[&a], of_other[&b], "the same order of rows");
            let here = described(first, a, |new| old(&of_one, new));
            assert_eq!(here, described(second, b, |new| old(&of_other, new)));
        }
    }
    drop((one, other));
    assert_eq!((universe.count(), universe.chunk_stats().in_use), (0, 0));
    check_skipped(bytes, &summary, summary.entities as usize);
    Ok(())
}

/// All entities, in the order of their rows.
fn all_of(world: &World) -> Vec<Entity> {
    world.read::<Entity, ()>().unwrap().iter().collect()
}

/// What a world has besides its entities, with the names that these have become.
fn besides(world: &World, new: impl Fn(Entity) -> Entity) -> String {
    let named = ["ant", "bee"].map(|name| -> Vec<Entity> { world.named(name).map(&new).collect() });
    let resources = world.resources();
    let parts: [&dyn core::fmt::Debug; 5] = [
        &resources.get::<Motto>(),
        &resources.get::<Entity>().map(|&leader| new(leader)),
        &named,
        &world.time(),
        &world.pending(),
    ];
    format!("{parts:?}")
}

/// All that there is to an entity, whom it names by the names that they have become.
fn described(world: &World, entity: Entity, new: impl Fn(Entity) -> Entity) -> String {
    let health = world.registry().find("health").unwrap().id();
    let armed = world.registry().find("armed").unwrap().id();
    let health = world.get_dynamic(entity, health).ok();
    let health = health.map(|values| values.plain::<u32>().unwrap()[0]);
    let grudge = world.get::<Grudge>(entity).map(|grudge| Grudge {
        against: new(grudge.against),
        ..*grudge
    });
    let words = world.get::<Words>(entity).map(|words| Words {
        to: new(words.to),
        text: words.text.clone(),
    });
    let parts: [&dyn core::fmt::Debug; 15] = [
        &words.ok(),
        &world.shared::<Tribe>(entity).ok(),
        &world.get::<Position>(entity).ok(),
        &world.get::<u64>(entity).ok(),
        &world.get::<[u8; 3]>(entity).ok(),
        &world.is_enabled::<[u8; 3]>(entity).ok(),
        &world.get::<Asleep>(entity).ok(),
        &world.is_enabled::<Asleep>(entity).ok(),
        &world.shared::<Team>(entity).ok(),
        &world.const_shared::<u8>(entity).ok(),
        &world.chunk_fragment::<i64>(entity).ok(),
        &world.chunk_fragment::<bool>(entity).ok(),
        &grudge.ok(),
        &health,
        &world.get_dynamic(entity, armed).is_ok(),
    ];
    format!("{parts:?}")
}
