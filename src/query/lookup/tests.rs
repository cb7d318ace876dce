use std::sync::Arc;

use super::*;
use crate::chunk::ChunkOptions;
use crate::entity::IndexOptions;
use crate::fragment::{PerChunk, Shared};
use crate::prelude::*;
use crate::query::Has;
use crate::world::Universe;

struct Tag;
struct Wide(#[expect(dead_code, reason = "it is large")] [u64; 12]);

/// Asks lookups of a world for handles, of which each lives there, or elsewhere, or no more; as
/// queries that ask for one entity say it. Whether there was a table.
fn same(world: &World, handles: &[Entity]) -> bool {
    type Much<'a> = (
        Entity,
        Option<&'a u8>,
        Has<Tag>,
        Option<&'a Tag>,
        Option<&'a Wide>,
    );
    let mut much = Query::<Much<'_>>::new(world).unwrap();
    let mut number = Query::<&u32>::new(world).unwrap();
    let mut tag = Query::<(&Tag, &u32), With<u8>>::new(world).unwrap();
    let mut common = Query::<(Shared<&'static str>, PerChunk<u16>, &u32)>::new(world).unwrap();
    let text = |error: WorldError| error.to_string();
    let mut told = Vec::new();
    for &handle in handles {
        let tell = |(entity, byte, has, tag, wide): <Much<'_> as QueryData>::Item<'_>| {
            let wide = wide.map(core::ptr::from_ref::<Wide>).map(<*const _>::addr);
            (entity, byte.copied(), has, tag.is_some(), wide)
        };
        let expected = much.get(world, handle).map(tell).map_err(text);
        let found = much.lookup(world).get(handle).map(tell).map_err(text);
        assert_eq!(found, expected);
        let expected = number.get(world, handle).copied().map_err(text);
        let mut lookup = number.lookup(world);
        assert_eq!(lookup.get(handle).copied().map_err(text), expected);
        assert_eq!(lookup.get_mut(handle).copied().map_err(text), expected);
        told.push(expected);
        let tell = |(_, number): (&Tag, &u32)| *number;
        let expected = tag.get(world, handle).map(tell).map_err(text);
        let found = tag.lookup(world).get(handle).map(tell).map_err(text);
        assert_eq!(found, expected);
        type Common = (&'static str, u16, u32);
        let tell = |(text, half, number): (&&'static str, &u16, &u32)| -> Common {
            (text, *half, *number)
        };
        let expected = common.get(world, handle).map(tell).map_err(text);
        let found = common.lookup(world).get(handle).map(tell).map_err(text);
        assert_eq!(found, expected);
    }
    let mut asked = handles.iter();
    let mut lookup = number.lookup(world);
    lookup.get_each(handles, |at, number| {
        assert_eq!(asked.next(), Some(&handles[at]));
        assert_eq!(number.copied().map_err(text), told[at]);
    });
    assert_eq!(asked.next(), None);
    !lookup.table.is_empty()
}

/// Some of each: all are too many for debug builds.
fn some(handles: &[Entity]) -> Vec<Entity> {
    let step = handles.len() / 300 + 1;
    let last = handles.iter().rev().take(3);
    handles.iter().step_by(step).chain(last).copied().collect()
}

/// A world in which entities lie as they can, and handles of all kinds.
fn mixed(universe: &Arc<Universe>) -> (World, Vec<Entity>) {
    let mut world = World::of(universe).unwrap();
    let mut handles = Vec::new();
    // Long chunks whose rows more than one number names, a folded one, and several groups.
    let small = world.create_batch((0..40_000_u32).map(|n| (n, n as u8)));
    handles.extend(some(&small.unwrap().iter(&world).collect::<Vec<_>>()));
    handles.extend((0..5_u32).map(|n| world.create((n, Tag, 7_u8)).unwrap()));
    for text in ["one", "two"] {
        let bundle = (9_u32,).shared(text).per_chunk(text.len() as u16);
        handles.push(world.create(bundle).unwrap());
    }
    // What is chunks of another layout afterwards.
    let wide = world.create_batch((0..400_u32).map(|n| (n, Wide([0; 12]))));
    handles.extend(some(&wide.unwrap().iter(&world).collect::<Vec<_>>()));
    let mut query = Query::<Entity, With<Wide>>::new(&world).unwrap();
    query
        .change(&mut world)
        .add(|entity| (entity.index() as u8,))
        .unwrap();
    let chunks = world.archetypes.iter().flat_map(|data| &data.chunks);
    assert!(chunks.clone().any(|chunk| chunk.refit().is_some()));
    assert!(chunks.clone().any(|chunk| chunk.is_folded()));
    assert!(chunks.clone().any(|chunk| chunk.named() > 2));
    // No such entities, and such that are nowhere yet.
    let dead = world.create((1_u32,)).unwrap();
    world.destroy(dead).unwrap();
    handles.extend([dead, universe.index().create().unwrap()]);
    let again = world.create((2_u32,)).unwrap();
    handles.push(again);
    let mut commands = world.commands();
    handles.push(commands.create((3_u32,)).unwrap());
    drop(commands);
    world.check().unwrap();
    (world, handles)
}

#[test]
fn a_lookup_says_what_a_query_says_wherever_entities_lie() {
    let universe = Arc::new(Universe::new());
    let (mut world, mut handles) = mixed(&universe);
    let (other, others) = mixed(&universe);
    handles.extend(&others);
    assert!(same(&world, &handles) && same(&other, &handles));
    let unknown = [(0, 1), (1 << 26, 1), ((1 << 27) - 1, 3), (u32::MAX, 1)];
    handles.extend(unknown.map(|(index, version)| Entity::from_parts(index, version)));
    assert!(same(&world, &handles));
    // As it is when they have gone, come back, and moved.
    assert!(world.flush().is_clean());
    for &handle in handles.iter().step_by(3) {
        let _ = world.destroy(handle);
    }
    assert!(same(&world, &handles));
    let _ = world.compact(crate::world::Budget::Unlimited);
    world.collect_archetypes();
    assert!(same(&world, &handles));
}

#[test]
fn a_lookup_in_a_world_whose_chunks_lie_far_apart_has_no_table_and_says_the_same() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let mut handles = vec![world.create((1_u32,)).unwrap()];
    // Chunks of another world come between.
    let mut other = World::of(&universe).unwrap();
    let between = (0..500_u32).map(|n| other.create((1_u32,).shared(n)).unwrap());
    handles.extend(between.collect::<Vec<_>>());
    handles.push(world.create((2_u32, Tag)).unwrap());
    assert!(!same(&world, &handles), "they lie {handles:?}");
    assert!(same(&other, &handles));
    drop(other);
    assert!(!same(&world, &handles));
}

#[test]
fn a_query_whose_chunks_have_gone_looks_up_nothing_and_then_what_comes() {
    let mut world = World::new();
    let ants: Vec<Entity> = (0..100_u32)
        .map(|n| world.create((n,).shared(n)).unwrap())
        .collect();
    let mut query = Query::<&u32>::new(&world).unwrap();
    for round in 0..3 {
        let comes = (round == 2).then(|| world.create((7_u32,)).unwrap());
        let lookup = query.lookup(&world);
        assert_eq!(lookup.table.is_empty(), round == 1);
        assert_eq!(comes.map(|ant| *lookup.get(ant).unwrap()), comes.map(|_| 7));
        for (n, &ant) in ants.iter().enumerate() {
            let found = lookup.get(ant).ok().copied();
            assert_eq!(found, (round == 0).then_some(n as u32));
        }
        let mut all = Query::<Entity, With<u32>>::new(&world).unwrap();
        all.change(&mut world).destroy();
    }
}

#[test]
fn a_lookup_in_a_world_without_entities_refuses() {
    let universe = Arc::new(Universe::new());
    let (other, handles) = mixed(&universe);
    let world = World::of(&universe).unwrap();
    assert!(!same(&world, &handles));
    assert!(same(&other, &handles));
}

#[test]
fn names_of_types_are_told_without_modules() {
    let name = "(&mut a::b_1::Position, core::option::Option<&alloc::string::String>, [u8; 4], ())";
    let told = "(&mut Position, Option<&String>, [u8; 4], ())";
    assert_eq!(short(name), told);
}

#[test]
fn a_kept_query_has_nothing_of_a_chunk_that_is_another_worlds_now() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let stays = world.create((1_u32,)).unwrap();
    let goes = world.create((2_u32,).shared("red")).unwrap();
    let run = |world: &World, entity| {
        let (archetype, row) = world.finder().find(entity).unwrap();
        world.archetypes[archetype as usize].chunks[row.chunk as usize].run
    };
    let was = run(&world, goes);
    let (mut read, mut write) = (
        Query::<&u32>::new(&world).unwrap(),
        Query::<(Entity, &mut u32)>::new(&world).unwrap(),
    );
    assert_eq!(read.lookup(&world).get(goes).unwrap(), &2);
    assert_eq!(
        write.lookup_mut(&mut world).get_mut(goes).unwrap(),
        (goes, &mut 2)
    );
    world.destroy(goes).unwrap();
    let mut other = World::of(&universe).unwrap();
    let there = other.create((3_u32,)).unwrap();
    assert_eq!(run(&other, there), was, "the same chunk");

    let lookup = read.lookup(&world);
    assert!(!lookup.table.is_empty());
    assert_eq!(lookup.get(stays).unwrap(), &1);
    let elsewhere = |error| matches!(error, WorldError::Elsewhere { .. });
    assert!(elsewhere(lookup.get(there).unwrap_err()));
    let mut lookup = write.lookup_mut(&mut world);
    assert!(!lookup.table.is_empty());
    assert_eq!(lookup.get_mut(stays).unwrap(), (stays, &mut 1));
    assert!(elsewhere(lookup.get_mut(there).unwrap_err()));
    assert!(elsewhere(
        lookup.get_disjoint_mut([stays, there]).unwrap_err()
    ));
}

struct Light;
struct Switch;

/// What is written of an entity in the tests below; [`Light`] can be switched off, and so has a version.
type Many = (
    &'static mut u32,
    Option<&'static mut i64>,
    Option<&'static mut u64>,
    Option<&'static mut Tag>,
    Option<&'static mut Light>,
);

/// Writes to each of some entities by itself, and asks each time whether it has changed where it
/// lies, and nowhere else. Whether there was a table.
fn written<F: QueryFilter>(world: &mut World, handles: &[Entity]) -> bool {
    fn changed<T: crate::fragment::Fragment>(world: &World, query: &mut Changes<T>) -> Vec<Entity> {
        query.read(world).iter().collect()
    }
    type Changes<T> = Query<Entity, Changed<T>>;
    let mut query = Query::<Many, F>::new(world).unwrap();
    let mut numbers = Changes::<u32>::new(world).unwrap();
    let mut longs = Changes::<i64>::new(world).unwrap();
    let mut last = Changes::<u64>::new(world).unwrap();
    let mut lights = Changes::<Light>::new(world).unwrap();
    let mut tables = 0;
    for (at, &handle) in handles.iter().chain(handles.iter().rev()).enumerate() {
        let _ = (changed(world, &mut numbers), changed(world, &mut longs));
        let _ = (changed(world, &mut last), changed(world, &mut lights));
        let seen = query.get_mut(world, handle).is_ok();
        let _ = (changed(world, &mut numbers), changed(world, &mut longs));
        let _ = (changed(world, &mut last), changed(world, &mut lights));
        let write = |(number, long, last, _, light): <Many as QueryData>::Item<'_>| {
            *number += 1;
            let long = long.map(|long| *long += 1).is_some();
            let last = last.map(|last| *last += 1).is_some();
            (true, long, last, light.is_some())
        };
        let mut found = (false, false, false, false);
        let mut lookup = query.lookup_mut(world);
        tables += usize::from(!lookup.table.is_empty());
        match at % 2 {
            0 => found = lookup.get_mut(handle).map_or(found, write),
            _ => lookup.get_each(&[handle], |_, item| found = item.map_or(found, write)),
        }
        assert_eq!(found.0, seen, "{handle}");
        let row = world.finder().find(handle);
        let chunk = |(archetype, row): (u32, Row)| {
            &world.archetypes[archetype as usize].chunks[row.chunk as usize]
        };
        let beside: Vec<Entity> = row.map_or(vec![], |row| chunk(row).entities().to_vec());
        let expected = |found: bool| if found { &beside[..] } else { &[] };
        assert_eq!(changed(world, &mut numbers), expected(found.0));
        assert_eq!(changed(world, &mut longs), expected(found.1));
        assert_eq!(changed(world, &mut last), expected(found.2));
        assert_eq!(changed(world, &mut lights), expected(found.3));
    }
    assert!(tables == 0 || tables == 2 * handles.len());
    world.check().unwrap();
    tables > 0
}

/// An entity with more columns than a record has versions for, the last of which are written.
fn wide(world: &mut World) -> Entity {
    world.registry().register_enableable::<Light>().unwrap();
    let (first, last) = ((1_u8, 2_u16, 3_i8, 4_i16, 5_i32), (6_u32, 7_i64, 8_u64));
    let wide = world.create(first).unwrap();
    world.add(wide, last).unwrap();
    world.add(wide, (Tag, Light)).unwrap();
    wide
}

#[test]
fn what_a_lookup_lends_for_writing_has_changed_where_it_lies_and_nowhere_else() {
    let universe = Arc::new(Universe::new());
    let (mut world, mut handles) = mixed(&universe);
    handles.extend([wide(&mut world), world.create((1_u8, Tag)).unwrap()]);
    assert!(written::<()>(&mut world, &handles));
    let last = handles[handles.len() - 2];
    assert_eq!(world.get::<u32>(last).unwrap(), &8);
    assert_eq!(world.get::<i64>(last).unwrap(), &9);
    assert_eq!(world.get::<u64>(last).unwrap(), &10);
}

#[test]
fn what_a_lookup_without_a_table_lends_for_writing_has_changed_as_well() {
    // Not with memory of an earlier one, in which other chunks are free.
    let universe = Universe::with(&IndexOptions::new(), &ChunkOptions::new());
    let universe = Arc::new(universe.unwrap());
    let mut world = World::of(&universe).unwrap();
    let mut handles = vec![wide(&mut world)];
    // Chunks of another world come between.
    let mut other = World::of(&universe).unwrap();
    let between = (0..500_u32).map(|n| other.create((1_u32,).shared(n)).unwrap());
    handles.extend(&between.collect::<Vec<_>>()[..2]);
    other.destroy(handles[1]).unwrap();
    handles.extend([world.create((2_u32, Tag)), world.create((3_u32, Light))].map(Result::unwrap));
    assert!(!written::<()>(&mut world, &handles));

    // And where bits decide.
    let mut world = World::new();
    world.registry().register_enableable::<Switch>().unwrap();
    let mut handles = vec![wide(&mut world)];
    handles.extend((0..5_u32).map(|n| world.create((n, Switch)).unwrap()));
    world.set_enabled::<Switch>(handles[2], false).unwrap();
    assert!(!written::<With<Switch>>(&mut world, &handles));
    assert!(written::<()>(&mut world, &handles));
}
