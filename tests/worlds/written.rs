//! Fragments that are more than their bytes: texts, lists, enums that name entities. They are saved, hashed, compared and
//! loaded by what was said of how they are written and read.

use core::cell::Cell;
use core::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::entity::EntityMap;
use megachunk::fragment::{FragmentError, FragmentKind, FragmentRegistry};
use megachunk::prelude::*;
use megachunk::world::{
    Difference, SnapshotError, SnapshotOptions, SnapshotState, SnapshotSummary,
};

use crate::counted::Counted;
use crate::snapshot_world::{check, let_speak, small_world, small_worlds};

#[derive(Clone, Debug, PartialEq)]
struct Name(String);

/// What somebody carries: of what, and how many.
#[derive(Clone, Debug, PartialEq)]
struct Pack(Vec<(String, u32)>);

#[derive(Clone, Debug, PartialEq)]
enum Order {
    Idle,
    Follow(Entity),
    Guard { whom: Vec<Entity>, words: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Faction(String);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Banner(Vec<u16>);

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Result<&'b [u8; N], &'static str> {
    let (taken, rest) = bytes.split_first_chunk().ok_or("it ends early")?;
    *bytes = rest;
    Ok(taken)
}

fn take_text(bytes: &mut &[u8]) -> Result<String, &'static str> {
    let length = u32::from_le_bytes(*take(bytes)?) as usize;
    let (text, rest) = bytes.split_at_checked(length).ok_or("it ends early")?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).map_err(|_| "it is no text")
}

fn take_entity(bytes: &mut &[u8], entities: &EntityMap) -> Result<Entity, &'static str> {
    let bits = u64::from_le_bytes(*take(bytes)?);
    let mut entity = Entity::try_from_bits(bits).ok_or("it names nobody")?;
    entities.apply(&mut entity);
    Ok(entity)
}

fn write_order(order: &Order, bytes: &mut Vec<u8>) {
    match order {
        Order::Idle => bytes.push(0),
        Order::Follow(whom) => {
            bytes.push(1);
            bytes.extend(whom.to_bits().to_le_bytes());
        }
        Order::Guard { whom, words } => {
            bytes.push(2);
            put_text(words, bytes);
            bytes.extend(whom.iter().flat_map(|one| one.to_bits().to_le_bytes()));
        }
    }
}

fn read_order(mut bytes: &[u8], entities: &EntityMap) -> Result<Order, &'static str> {
    match take(&mut bytes)? {
        [0] => Ok(Order::Idle),
        [1] => Ok(Order::Follow(take_entity(&mut bytes, entities)?)),
        [2] => {
            let words = take_text(&mut bytes)?;
            let mut whom = Vec::new();
            while !bytes.is_empty() {
                whom.push(take_entity(&mut bytes, entities)?);
            }
            Ok(Order::Guard { whom, words })
        }
        _ => Err("there is no such order"),
    }
}

fn write_name(name: &Name, bytes: &mut Vec<u8>) {
    bytes.extend(name.0.as_bytes());
}

fn read_name(bytes: &[u8], _: &EntityMap) -> Result<Name, std::string::FromUtf8Error> {
    String::from_utf8(bytes.to_vec()).map(Name)
}

fn register(registry: &FragmentRegistry) {
    registry.register_plain_as::<u32>("health").unwrap();
    registry
        .register_written_as("name", write_name, read_name)
        .unwrap();
    registry
        .register_written_as("order", write_order, read_order)
        .unwrap();
    let write = |pack: &Pack, bytes: &mut Vec<u8>| {
        for (what, count) in &pack.0 {
            put_text(what, bytes);
            bytes.extend(count.to_le_bytes());
        }
    };
    let read = |mut bytes: &[u8], _: &EntityMap| -> Result<Pack, &'static str> {
        let mut pack = Vec::new();
        while !bytes.is_empty() {
            let what = take_text(&mut bytes)?;
            pack.push((what, u32::from_le_bytes(*take(&mut bytes)?)));
        }
        Ok(Pack(pack))
    };
    registry.register_written_as("pack", write, read).unwrap();
    registry
        .register_written_shared_as(
            "faction",
            |faction: &Faction, bytes| bytes.extend(faction.0.as_bytes()),
            |bytes, _| String::from_utf8(bytes.to_vec()).map(Faction),
        )
        .unwrap();
    registry
        .register_written_const_shared_as(
            "banner",
            |banner: &Banner, bytes| bytes.extend(banner.0.iter().flat_map(|n| n.to_le_bytes())),
            |bytes, _| match bytes.as_chunks() {
                (numbers, []) => Ok(Banner(
                    numbers.iter().copied().map(u16::from_le_bytes).collect(),
                )),
                _ => Err("half a number"),
            },
        )
        .unwrap();
}

fn universe() -> Universe {
    let universe = Universe::ordered();
    register(universe.registry());
    universe
}

/// So many with something of everything, the first of whom is dead.
fn filled(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let mut all: Vec<Entity> = Vec::new();
    for n in 0..count {
        let name = Name("ant".repeat(n as usize % 4));
        let entity = world.create((n, name)).unwrap();
        all.push(entity);
        let before = all[all.len() / 2];
        let order = match n % 3 {
            0 => Order::Idle,
            1 => Order::Follow(before),
            _ => Order::Guard {
                whom: vec![before, entity],
                words: format!("of {n}"),
            },
        };
        world.add(entity, (order,)).unwrap();
        if n % 2 == 0 {
            let pack = (0..n % 5).map(|m| (format!("thing {m}"), n + m));
            world.add(entity, (Pack(pack.collect()),)).unwrap();
        }
        if n % 5 == 0 {
            let faction = Faction(["", "red", "blue"][n as usize / 5 % 3].into());
            let banner = Banner((0..n as u16 % 3).collect());
            let bundle = ().shared(faction).const_shared(banner);
            world.add(entity, bundle).unwrap();
        }
    }
    if let Some(first) = all.first() {
        world.destroy(*first).unwrap();
    }
    (world, all)
}

/// What there is to an entity, whom it names by the names that they have become.
fn told(world: &World, entity: Entity, new: impl Fn(Entity) -> Entity) -> String {
    let order = match world.get::<Order>(entity).unwrap().clone() {
        Order::Idle => Order::Idle,
        Order::Follow(whom) => Order::Follow(new(whom)),
        Order::Guard { whom, words } => Order::Guard {
            whom: whom.into_iter().map(&new).collect(),
            words,
        },
    };
    let parts: [&dyn core::fmt::Debug; 6] = [
        &world.get::<u32>(entity).unwrap(),
        &world.get::<Name>(entity).unwrap(),
        &order,
        &world.get::<Pack>(entity).ok(),
        &world.shared::<Faction>(entity).ok(),
        &world.const_shared::<Banner>(entity).ok(),
    ];
    format!("{parts:?}")
}

fn all() -> SnapshotOptions {
    SnapshotOptions::new()
}

#[test]
fn a_world_with_texts_lists_and_enums_comes_back_the_same() {
    for count in [0, 1, 2, 40, 3_000] {
        let (world, entities) = filled(count);
        let file = world.to_snapshot(&all()).unwrap();
        let loaded = World::from_snapshot(&file, universe()).unwrap();
        loaded.check().unwrap();
        assert_eq!(loaded.count(), world.count());
        for &entity in entities.iter().skip(1) {
            assert_eq!(told(&loaded, entity, |e| e), told(&world, entity, |e| e));
        }
        assert_eq!(loaded.state_hash().unwrap(), world.state_hash().unwrap());
        assert_eq!(loaded.to_snapshot(&all()).unwrap(), file);
        let continued = [&world, &loaded].map(|world| world.continuation_hash(&all()).unwrap());
        assert_eq!(continued[0], continued[1]);
        let state = SnapshotState::of(&file).unwrap();
        let hashes = world.state_hashes(&all()).unwrap();
        assert_eq!(state.state_hashes(0), Some(hashes));
        assert!(
            world
                .first_differences(&loaded, &all(), 1)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn files_are_of_the_format_of_plain_data_unless_something_is_written() {
    let format = |world: &World| SnapshotSummary::of(&world.to_snapshot(&all()).unwrap());
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let ant = world.create((1_u32,)).unwrap();
    assert_eq!(format(&world).unwrap().format, 5);
    world.add(ant, (Name("ant".into()),)).unwrap();
    let summary = format(&world).unwrap();
    assert_eq!(summary.format, 6);
    let [health, name] = &summary.fragments[..] else {
        panic!("{summary}");
    };
    assert_eq!((health.is_written, name.is_written), (false, true));
    assert_eq!(name.size, size_of::<Name>() as u64);
    assert!(
        summary.to_string().contains("written  name (fragment)"),
        "{summary}"
    );
    assert!(summary.chunk_bytes >= 16 << 10);
}

#[test]
fn handles_in_written_values_lead_to_those_who_have_come() {
    let (world, entities) = filled(300);
    let file = world.to_snapshot(&all()).unwrap();
    let universe = Arc::new(universe());
    let mut native = World::of(&universe).unwrap();
    let hare = native
        .create((1_u32, Name("hare".into()), Order::Idle))
        .unwrap();
    // The dead one is the hare, here.
    let known: EntityMap = [(entities[0], hare)].into_iter().collect();
    for _ in 0..2 {
        let (mut copy, come) = World::from_snapshot_remapped(&file, &universe, &known).unwrap();
        copy.check().unwrap();
        let new = |old| come.get(old).unwrap_or(hare);
        for &old in &entities[1..] {
            assert_eq!(told(&copy, new(old), |e| e), told(&world, old, new));
        }
        copy.move_all_to(&mut native).unwrap();
    }
    native.check().unwrap();
    assert_eq!(native.count(), 1 + 2 * world.count());
    // Nobody is known: who is dead is nobody.
    let (copy, come) =
        World::from_snapshot_remapped(&file, &universe, &EntityMap::default()).unwrap();
    let nobody = |old| come.get(old).unwrap_or(Entity::PLACEHOLDER);
    for &old in &entities[1..] {
        assert_eq!(told(&copy, nobody(old), |e| e), told(&world, old, nobody));
    }
}

#[test]
fn some_entities_are_copied_and_pasted() {
    let (mut world, entities) = filled(60);
    let chosen: Vec<Entity> = entities.iter().skip(1).step_by(3).rev().copied().collect();
    let copied = world.slice_to_snapshot(&chosen, &all()).unwrap();
    assert_eq!(copied, world.slice_to_snapshot(&chosen, &all()).unwrap());
    let known = EntityMap::default().keeping_others();
    let (mut pasted, come) =
        World::from_snapshot_remapped(&copied, world.universe(), &known).unwrap();
    pasted.check().unwrap();
    pasted.move_all_to(&mut world).unwrap();
    assert_eq!(world.count(), 59 + chosen.len());
    let new = |old| come.get(old).unwrap_or(old);
    for &old in &chosen {
        assert_ne!(new(old), old);
        assert_eq!(told(&world, new(old), |e| e), told(&world, old, new));
    }
}

#[test]
fn what_is_written_is_hashed_with_its_length_and_whatever_the_order() {
    let world = |names: [&str; 2], swapped: bool| {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        let both = [(); 2].map(|()| world.create((0_u32,)).unwrap());
        let mut order = [0, 1];
        if swapped {
            order.reverse();
        }
        for at in order {
            world.add(both[at], (Name(names[at].into()),)).unwrap();
        }
        let hashes = world.state_hashes(&all()).unwrap();
        (world.state_hash().unwrap(), hashes)
    };
    assert_eq!(world(["a", "bc"], false), world(["a", "bc"], true));
    for other in [["ab", "c"], ["a\0", "bc"], ["bc", "a"], ["", "abc"]] {
        let (one, two) = (world(["a", "bc"], false), world(other, false));
        assert_ne!(one.0, two.0, "{other:?}");
        let parts: Vec<String> = one
            .1
            .differing(&two.1)
            .map(|part| part.to_string())
            .collect();
        assert_eq!(parts, ["the fragment name differs"], "{other:?}");
    }
}

#[test]
fn differences_tell_bytes_of_two_lengths() {
    let (mut here, entities) = filled(10);
    let there = World::from_snapshot(&here.to_snapshot(&all()).unwrap(), universe()).unwrap();
    let before = here.to_snapshot(&all()).unwrap();
    here.get_mut::<Name>(entities[3]).unwrap().0 = "antz".into();
    here.add(entities[5], ().shared(Faction("green".into())))
        .unwrap();
    let mut told = Vec::new();
    let count = here.differences(&there, &all(), |difference| {
        if let Difference::Value { here, there, .. } = &difference {
            assert_eq!((&here[..], &there[..]), (&b"antz"[..], &b"antantant"[..]));
        }
        told.push(difference.to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(count, Ok(2));
    assert!(
        told[0].contains("fragment name differs at byte 3 of 4 here and 9 there"),
        "{told:?}"
    );
    assert!(
        told[1].contains("shared fragment faction differs"),
        "{told:?}"
    );
    let after = here.to_snapshot(&all()).unwrap();
    let (one, two) = (
        SnapshotState::of(&after).unwrap(),
        SnapshotState::of(&before).unwrap(),
    );
    let mut of_files = Vec::new();
    one.differences(&two, |_, difference| {
        of_files.push(difference.to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(of_files, told);
}

#[test]
fn what_is_written_can_be_switched_off() {
    let universe = || {
        let universe = universe();
        universe.registry().register_enableable::<Name>().unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let all_of = (0..100_u32).map(|n| (n, Name(n.to_string()), Order::Idle));
    let batch = world.create_batch(all_of).unwrap();
    let entities: Vec<Entity> = batch.iter(&world).collect();
    for &entity in entities.iter().step_by(3) {
        world.set_enabled::<Name>(entity, false).unwrap();
    }
    let file = world.to_snapshot(&all()).unwrap();
    let loaded = World::from_snapshot(&file, universe()).unwrap();
    for (n, &entity) in entities.iter().enumerate() {
        assert_eq!(loaded.is_enabled::<Name>(entity).unwrap(), n % 3 != 0);
        assert_eq!(loaded.get::<Name>(entity).unwrap().0, n.to_string());
    }
    assert_eq!(loaded.state_hash().unwrap(), world.state_hash().unwrap());
    // Somebody has it off, and nobody can here.
    let refused = World::from_snapshot(&file, self::universe()).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::NotEnableable { .. }),
        "{refused}"
    );
}

#[test]
fn chunks_that_are_cut_up_have_each_value_once() {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let rows = (0..50_000_u32).map(|n| (n, Name(format!("{n}")), Pack(vec![(String::new(), n)])));
    let batch = world.create_batch(rows).unwrap();
    let entities: Vec<Entity> = batch.iter(&world).collect();
    let file = world.to_snapshot(&all()).unwrap();
    // Here there must be room for bits.
    let narrow = universe();
    narrow.registry().register_enableable::<Name>().unwrap();
    narrow.registry().register_enableable::<Pack>().unwrap();
    narrow.registry().register_enableable::<u32>().unwrap();
    let loaded = World::from_snapshot(&file, narrow).unwrap();
    loaded.check().unwrap();
    let chunks = [&world, &loaded].map(|world| world.stats().chunks);
    assert!(chunks[1] > chunks[0], "{chunks:?}");
    for (n, &entity) in (0..).zip(&entities) {
        assert_eq!(loaded.get::<Name>(entity).unwrap().0, format!("{n}"));
        assert_eq!(loaded.get::<Pack>(entity).unwrap().0, [(String::new(), n)]);
    }
    assert_eq!(loaded.state_hash().unwrap(), world.state_hash().unwrap());
}

#[test]
fn files_and_hashes_are_the_same_for_any_number_of_threads() {
    let (world, _) = filled(20_000);
    let seen = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let file = world.to_snapshot(&all()).unwrap();
            let loaded = World::from_snapshot(&file, universe()).unwrap();
            let hashes = loaded.state_hashes(&all()).unwrap();
            (file, loaded.state_hash().unwrap(), hashes)
        })
    };
    let one = seen(1);
    assert_eq!(one.1, world.state_hash().unwrap());
    for threads in [2, 4] {
        assert!(seen(threads) == one, "{threads} threads");
    }
}

#[test]
fn a_game_goes_back_and_comes_on_again() {
    fn tick(world: &mut World, n: u32) {
        let query = world.query::<(Entity, &mut Name), ()>().unwrap();
        let names: Vec<Entity> = query
            .into_iter()
            .map(|(entity, name)| {
                name.0.push(char::from(b'a' + (n % 26) as u8));
                entity
            })
            .collect();
        let (first, last) = (names[0], names[names.len() - 1]);
        world
            .add(
                last,
                (Order::Guard {
                    whom: vec![first],
                    words: n.to_string(),
                },),
            )
            .unwrap();
        if n.is_multiple_of(2) {
            world.destroy(first).unwrap();
        }
        let new = world
            .create((n, Name(String::new()), Pack(vec![("egg".into(), n)])))
            .unwrap();
        world
            .add(
                new,
                (Order::Follow(last),).shared(Faction(format!("of {}", n % 3))),
            )
            .unwrap();
    }
    let (mut world, _) = filled(50);
    let mut ring = Vec::new();
    for n in 0..12 {
        ring.push((
            world.to_snapshot(&all()).unwrap(),
            world.continuation_hash(&all()).unwrap(),
        ));
        tick(&mut world, n);
    }
    let expected = (
        world.state_hash().unwrap(),
        world.to_snapshot(&all()).unwrap(),
    );
    for back in [0, 5, 11] {
        let mut again = World::from_snapshot(&ring[back].0, universe()).unwrap();
        for (n, (_, expected)) in (0..).zip(&ring).skip(back) {
            let hash = again.continuation_hash(&all()).unwrap();
            assert_eq!(hash, *expected, "tick {n}");
            tick(&mut again, n);
        }
        assert_eq!(again.state_hash().unwrap(), expected.0);
        assert!(
            again.to_snapshot(&all()).unwrap() == expected.1,
            "from {back}"
        );
    }
}

#[test]
fn what_is_plain_in_a_file_and_written_here_or_the_other_way_round_is_an_error_that_says_so() {
    let plain = Universe::ordered();
    plain.registry().register_plain_as::<u32>("name").unwrap();
    let mut world = World::of(&Arc::new(plain)).unwrap();
    let ant = world.create((7_u32,)).unwrap();
    let was_plain = world.to_snapshot(&all()).unwrap();
    let (written, entities) = filled(3);
    let was_written = written.to_snapshot(&all()).unwrap();
    let also_plain = || {
        let universe = Universe::ordered();
        universe
            .registry()
            .register_plain_as::<u64>("name")
            .unwrap();
        universe
            .registry()
            .register_plain_as::<u32>("health")
            .unwrap();
        universe
            .registry()
            .register_written_as("order", write_order, read_order)
            .unwrap();
        let pack = |bytes: &[u8], _: &EntityMap| {
            Ok::<_, &str>(Pack(vec![(String::new(), bytes.len() as u32)]))
        };
        universe
            .registry()
            .register_written_as("pack", |_: &Pack, _| {}, pack)
            .unwrap();
        universe
    };
    for (file, universe, told) in [
        (
            &was_plain,
            universe(),
            "name is plain data in the snapshot, and written here: ",
        ),
        (
            &was_written,
            also_plain(),
            "name is written in the snapshot, and plain data here: ",
        ),
    ] {
        let refused = World::from_snapshot(file, universe).unwrap_err();
        assert!(
            matches!(refused, SnapshotError::WrittenOtherwise { .. }),
            "{refused}"
        );
        assert!(refused.to_string().starts_with(told), "{refused}");
    }
    // Left out, the rest comes.
    let without = LoadOptions::new().skip("name");
    let rest = World::from_snapshot_with(&was_written, also_plain(), &without).unwrap();
    assert_eq!(rest.get::<u32>(entities[1]).unwrap(), &1);
    // What it was is registered by its name, and becomes what it is.
    let renamed = Universe::ordered();
    renamed.registry().register_plain_as::<u32>("name").unwrap();
    renamed
        .registry()
        .register_written_as("name.2", write_name, read_name)
        .unwrap();
    let mut come = World::from_snapshot(&was_plain, renamed).unwrap();
    let mut old = Query::<&u32>::new(&come).unwrap();
    old.change(&mut come)
        .swap::<(u32,), _>(|number| (Name(number.to_string()),))
        .unwrap();
    assert_eq!(come.get::<Name>(ant).unwrap().0, "7");
    // Nobody knows it.
    let refused = World::from_snapshot(&was_written, Universe::new()).unwrap_err();
    let SnapshotError::Unregistered { fragments, .. } = &refused else {
        panic!("{refused}");
    };
    let name = fragments
        .iter()
        .find(|missing| &*missing.name == "name")
        .unwrap();
    assert!(name.is_written, "{name:?}");
    assert!(
        refused
            .to_string()
            .contains("a fragment name, which is written"),
        "{refused}"
    );
}

#[test]
fn the_first_that_is_said_of_how_a_type_is_saved_stays() {
    let registry = FragmentRegistry::new();
    registry.register_plain_as::<u32>("number").unwrap();
    let write = |number: &u32, bytes: &mut Vec<u8>| bytes.extend(number.to_le_bytes());
    let read = |bytes: &[u8], _: &EntityMap| bytes.try_into().map(u32::from_le_bytes);
    let refused = registry
        .register_written_as("number", write, read)
        .unwrap_err();
    let told = "number is registered already, as plain data: that stays";
    assert_eq!(refused.to_string(), told);
    let other = FragmentRegistry::new();
    let id = other
        .register_written_as("number", write, read)
        .unwrap()
        .id();
    assert_eq!(
        other
            .register_written_as("number", write, read)
            .unwrap()
            .id(),
        id
    );
    let refused = other.register_plain::<u32>().unwrap_err();
    assert!(
        matches!(
            refused,
            FragmentError::SavedOtherwise {
                is_plain: false,
                ..
            }
        ),
        "{refused}"
    );
    let info = other.of::<u32>().unwrap();
    // Nothing has come of what was refused.
    assert!(info.is_written() && info.clone_value().is_none());
    let refused = other.register_written_as("other", write, read).unwrap_err();
    assert!(
        matches!(refused, FragmentError::NamedOtherwise { .. }),
        "{refused}"
    );

    struct Tag;
    let nothing = |_: &[u8], _: &EntityMap| Ok::<_, &str>(Tag);
    let refused = registry
        .register_written_as("tag", |_: &Tag, _| {}, nothing)
        .unwrap_err();
    assert!(
        matches!(
            refused,
            FragmentError::WrongKind {
                is: FragmentKind::Tag,
                ..
            }
        ),
        "{refused}"
    );
}

thread_local! {
    /// Calls until one fails, or panics; 0: none does.
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

/// Whether this call is to fail.
fn burnt() -> bool {
    let left = FUSE.get();
    FUSE.set(left.saturating_sub(1));
    left == 1
}

/// A value that counts itself.
struct Kept(u32, #[expect(dead_code, reason = "it is dropped")] Counted);

/// Where `Kept` fails: with an error, or with a panic.
fn counting(universe: Universe, alive: &Arc<AtomicUsize>, panics: bool) -> Universe {
    let fail = move || match panics {
        true => resume_unwind(Box::new("burnt")),
        false => Err("burnt"),
    };
    let write = move |kept: &Kept, bytes: &mut Vec<u8>| {
        bytes.extend(kept.0.to_le_bytes());
        if burnt() { fail() } else { Ok(()) }
    };
    let alive = Arc::clone(alive);
    let read = move |bytes: &[u8], _: &EntityMap| {
        let kept = Kept(
            bytes.try_into().map_or(0, u32::from_le_bytes),
            Counted::new(&alive),
        );
        if burnt() {
            fail().map(|()| kept)
        } else {
            Ok(kept)
        }
    };
    universe
        .registry()
        .register_written_as("kept", write, read)
        .unwrap();
    universe
}

#[test]
fn a_read_that_fails_or_panics_leaves_no_world_and_no_value() {
    let alive = Arc::new(AtomicUsize::new(0));
    let make = |panics| counting(universe(), &alive, panics);
    let mut world = World::of(&Arc::new(make(false))).unwrap();
    for n in 0..20 {
        let kept = Kept(n, Counted::new(&alive));
        let entity = world.create((n, kept, Name(n.to_string()))).unwrap();
        if n % 2 == 0 {
            world.add(entity, (Order::Idle,)).unwrap();
        }
        if n % 3 == 0 {
            world.add(entity, ().shared(Faction("red".into()))).unwrap();
        }
    }
    let file = world.to_snapshot(&all()).unwrap();
    let before = alive.load(Ordering::Relaxed);
    assert_eq!(before, 20);
    for panics in [false, true] {
        for fuse in 1..=20 {
            FUSE.set(fuse);
            let loaded = catch_unwind(AssertUnwindSafe(|| {
                World::from_snapshot(&file, make(panics))
            }));
            assert_eq!(alive.load(Ordering::Relaxed), before, "fuse {fuse}");
            match loaded {
                Ok(refused) => {
                    assert!(!panics);
                    let refused = refused.unwrap_err();
                    let SnapshotError::NotRead {
                        name, at, reason, ..
                    } = &refused
                    else {
                        panic!("{refused}");
                    };
                    assert_eq!((&**name, &**reason), ("kept", "burnt"));
                    let kept = u32::from_le_bytes(file[*at as usize..][..4].try_into().unwrap());
                    assert!(kept < 20);
                }
                Err(panic) => assert!(panics && panic.is::<&str>()),
            }
            // Beside others, of whom nobody has changed.
            FUSE.set(fuse);
            let universe = Arc::new(make(panics));
            let mut native = World::of(&universe).unwrap();
            let hare = native.create((1_u32,)).unwrap();
            let come = catch_unwind(AssertUnwindSafe(|| {
                World::from_snapshot_remapped(&file, &universe, &EntityMap::default())
            }));
            assert!(come.map_or(panics, |come| come.is_err() && !panics));
            assert_eq!(alive.load(Ordering::Relaxed), before, "fuse {fuse}");
            assert_eq!((universe.count(), native.get::<u32>(hare)), (1, Ok(&1)));
            native.check().unwrap();
        }
    }
    FUSE.set(0);
    let loaded = World::from_snapshot(&file, make(true)).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 2 * before);
    drop(loaded);
    assert_eq!(alive.load(Ordering::Relaxed), before);
    drop(world);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

/// The last written column of a chunk.
struct Last(u32, #[expect(dead_code, reason = "it is dropped")] Counted);

/// A shared value that counts itself.
struct Team(u32, #[expect(dead_code, reason = "it is dropped")] Counted);

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Team {}

impl core::hash::Hash for Team {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A universe in which reading a `Last`, or a `Team`, fails where its fuse, calls until then, ends; 0: nowhere.
fn with_last(alive: &Arc<AtomicUsize>, fuses: [usize; 2], panics: bool) -> Universe {
    let fused = move |fuse: usize| {
        let left = AtomicUsize::new(fuse);
        let alive = Arc::clone(alive);
        move |bytes: &[u8]| -> Result<(u32, Counted), &'static str> {
            let value = (
                bytes.try_into().map_or(0, u32::from_le_bytes),
                Counted::new(&alive),
            );
            match left.fetch_sub(1, Ordering::Relaxed) {
                1 if panics => resume_unwind(Box::new("burnt")),
                1 => Err("burnt"),
                _ => Ok(value),
            }
        }
    };
    let universe = counting(universe(), alive, panics);
    let [last, team] = fuses.map(fused);
    let registry = universe.registry();
    registry
        .register_written_as(
            "zz",
            |last: &Last, bytes| bytes.extend(last.0.to_le_bytes()),
            move |bytes, _| last(bytes).map(|(number, counted)| Last(number, counted)),
        )
        .unwrap();
    registry
        .register_written_shared_as(
            "team",
            |team: &Team, bytes| bytes.extend(team.0.to_le_bytes()),
            move |bytes, _| team(bytes).map(|(number, counted)| Team(number, counted)),
        )
        .unwrap();
    universe
}

#[test]
fn what_fails_behind_other_columns_and_in_a_later_piece_leaves_no_value() {
    const ROWS: usize = 50_000;
    let alive = Arc::new(AtomicUsize::new(0));
    let kept = |n| Kept(n, Counted::new(&alive));
    let of_bytes = |fuses, panics| {
        let universe = with_last(&alive, fuses, panics);
        universe.registry().register_plain_as::<u8>("zzz").unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(of_bytes([0; 2], false))).unwrap();
    // Only the byte of the last one is no `bool`.
    let rows = (0..ROWS as u32).map(|n| {
        let byte = if n as usize + 1 == ROWS { 7_u8 } else { 1 };
        (n, kept(n), Last(n, Counted::new(&alive)), byte)
    });
    let batch = world.create_batch(rows).unwrap();
    let first = batch.iter(&world).next().unwrap();
    for n in 0..3 {
        let team = Team(n, Counted::new(&alive));
        let last = Last(n, Counted::new(&alive));
        world.create((n, kept(n), last).shared(team)).unwrap();
    }
    let file = world.to_snapshot(&all()).unwrap();
    let before = alive.load(Ordering::Relaxed);
    assert_eq!(before, 2 * ROWS + 9);
    // Chunks are cut up: there must be room for bits.
    let narrow = |fuses, panics| {
        let universe = of_bytes(fuses, panics);
        universe.registry().register_enableable::<u32>().unwrap();
        universe.registry().register_enableable::<Kept>().unwrap();
        universe.registry().register_enableable::<Last>().unwrap();
        universe
    };
    for panics in [false, true] {
        for fuses in [[1, 0], [1_500, 0], [ROWS / 2, 0], [ROWS, 0], [0, 1], [0, 3]] {
            let loaded = catch_unwind(AssertUnwindSafe(|| {
                World::from_snapshot(&file, narrow(fuses, panics))
            }));
            assert_eq!(alive.load(Ordering::Relaxed), before, "{fuses:?}");
            match loaded {
                Ok(refused) => {
                    let refused = refused.unwrap_err();
                    let whose = if fuses[0] > 0 { "zz" } else { "team" };
                    let is_it =
                        matches!(&refused, SnapshotError::NotRead { name, .. } if **name == *whose);
                    assert!(is_it && !panics, "{refused}");
                }
                Err(panic) => assert!(panics && panic.is::<&str>()),
            }
        }
    }
    // All columns are read, and then a byte is no value.
    let universe = with_last(&alive, [0; 2], false);
    universe
        .registry()
        .register_plain_as::<bool>("zzz")
        .unwrap();
    let universe = Arc::new(universe);
    let options = LoadOptions::new().ignore_fields("zzz");
    let known = EntityMap::default();
    let refused =
        World::from_snapshot_remapped_with(&file, &universe, &known, &options).unwrap_err();
    assert!(
        matches!(&refused, SnapshotError::NotAValue { name, .. } if &**name == "zzz"),
        "{refused}"
    );
    assert_eq!(
        (universe.count(), alive.load(Ordering::Relaxed)),
        (0, before)
    );
    let loaded = World::from_snapshot(&file, narrow([0; 2], true)).unwrap();
    loaded.check().unwrap();
    assert_eq!(loaded.get::<Last>(first).unwrap().0, 0);
    assert_eq!(alive.load(Ordering::Relaxed), 2 * before);
    drop((world, loaded));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_hash_writes_a_shared_value_once_however_many_chunks_have_it() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let mut world = World::new();
    let write = move |faction: &Faction, bytes: &mut Vec<u8>| {
        counted.fetch_add(1, Ordering::Relaxed);
        bytes.extend(faction.0.as_bytes());
    };
    let read = |bytes: &[u8], _: &EntityMap| String::from_utf8(bytes.to_vec()).map(Faction);
    let registry = world.registry();
    registry.register_plain::<u32>().unwrap();
    registry.register_plain::<u64>().unwrap();
    registry
        .register_written_shared_as("faction", write, read)
        .unwrap();
    for n in 0..10_000_u32 {
        let faction = Faction(["red", "blue"][n as usize % 2].into());
        match n % 3 {
            0 => world.create((n,).shared(faction)).unwrap(),
            _ => world.create((n, u64::from(n)).shared(faction)).unwrap(),
        };
    }
    assert!(world.stats().chunks > 4, "{:?}", world.stats());
    let hash = world.state_hash().unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 2);
    assert_eq!(world.state_hash().unwrap(), hash);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_write_that_fails_or_panics_leaves_the_world_and_the_file_as_they_were() {
    let folder = std::env::temp_dir().join(format!("megachunk-written-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("world");
    let alive = Arc::new(AtomicUsize::new(0));
    for panics in [false, true] {
        let mut world = World::of(&Arc::new(counting(universe(), &alive, panics))).unwrap();
        let rows = (0..10).map(|n| (n, Kept(n, Counted::new(&alive))));
        let batch = world.create_batch(rows).unwrap();
        let entities: Vec<Entity> = batch.iter(&world).collect();
        world.save(&path).unwrap();
        let before = std::fs::read(&path).unwrap();
        let calls: [&dyn Fn() -> Result<(), SnapshotError>; 6] = [
            &|| world.save(&path),
            &|| world.to_snapshot(&all()).map(drop),
            &|| world.state_hash().map(drop),
            &|| world.state_hashes(&all()).map(drop),
            &|| world.continuation_hash(&all()).map(drop),
            &|| world.slice_to_snapshot(&entities, &all()).map(drop),
        ];
        for call in calls {
            for fuse in [1, 4, 10] {
                FUSE.set(fuse);
                match catch_unwind(AssertUnwindSafe(call)) {
                    Ok(refused) => {
                        let refused = refused.unwrap_err().to_string();
                        let whose = entities[fuse as usize - 1];
                        let expected =
                            format!("entity {whose}: the kept cannot be saved or hashed: burnt");
                        assert!(refused == expected && !panics, "{refused}");
                    }
                    Err(_) => assert!(panics),
                }
                assert_eq!(FUSE.get(), 0);
            }
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(
            std::fs::read_dir(&folder).unwrap().count(),
            1,
            "nothing lies beside it"
        );
        assert_eq!(world.to_snapshot(&all()).unwrap(), before);
        world.destroy(entities[0]).unwrap();
        world.check().unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_write_that_takes_away_what_is_there_takes_nothing_of_others() {
    let universe = Universe::ordered();
    // The second one finds the bytes of the first, if there are some.
    let write = |name: &Name, bytes: &mut Vec<u8>| {
        assert!(bytes.is_empty());
        *bytes = name.0.clone().into_bytes();
    };
    universe
        .registry()
        .register_written_as("name", write, read_name)
        .unwrap();
    let mut world = World::of(&Arc::new(universe)).unwrap();
    let names = ["one", "", "three"].map(|name| world.create((Name(name.into()),)).unwrap());
    let file = world.to_snapshot(&all()).unwrap();
    let other = Universe::new();
    other
        .registry()
        .register_written_as("name", write_name, read_name)
        .unwrap();
    let loaded = World::from_snapshot(&file, other).unwrap();
    assert_eq!(loaded.get::<Name>(names[2]).unwrap().0, "three");
    assert_eq!(loaded.get::<Name>(names[1]).unwrap().0, "");
}

#[test]
fn files_that_are_cut_off_or_changed_are_refused() {
    let (world, _) = filled(30);
    let file = world.to_snapshot(&all()).unwrap();
    for end in (0..file.len()).step_by(7) {
        assert!(
            World::from_snapshot(&file[..end], universe()).is_err(),
            "{end}"
        );
        assert!(SnapshotState::of(&file[..end]).is_err(), "{end}");
    }
    for at in 0..file.len() {
        let mut changed = file.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(World::from_snapshot(&changed, universe()).is_err(), "{at}");
        assert!(SnapshotState::of(&changed).is_err(), "{at}");
    }
}

#[test]
fn worlds_with_something_of_everything_are_whole_with_written_values() {
    let (mut world, _) = small_world(39);
    let_speak(&mut world);
    check(&world.to_snapshot(&all()).unwrap()).unwrap();
    check(&world.to_snapshot(&all().skip_dead()).unwrap()).unwrap();
    let mut worlds = small_worlds(20);
    worlds.iter_mut().for_each(let_speak);
    let file = World::worlds_to_snapshot(&worlds.each_ref(), &all()).unwrap();
    check(&file).unwrap();
}
