//! What several compositions had becomes one's where a fragment is skipped: a chunk without anybody stands among others then,
//! and changes that are refused leave these where they are.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use megachunk::prelude::*;

std::thread_local! { static FUSE: Cell<u32> = const { Cell::new(0) }; }

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Heat(u64);
#[derive(Clone, Copy, Debug, Default)]
struct Token;
#[derive(Clone, Copy, Debug, Default)]
struct Badge;
/// Rows of it fill chunks, so that they are handed over.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Wide([u64; 12]);
megachunk::plain!(Heat { 0 });
megachunk::plain!(Token {});
megachunk::plain!(Badge {});
megachunk::plain!(Wide { 0 });

fn register(universe: &Universe) {
    let registry = universe.registry();
    registry.register_plain_as::<Heat>("heat").unwrap();
    registry.register_plain_as::<Token>("token").unwrap();
    registry.register_plain_as::<Badge>("badge").unwrap();
    registry.register_plain_as::<Wide>("wide").unwrap();
}

/// Three compositions that differ by what is skipped later; the second has a chunk, and nobody.
fn file() -> Vec<u8> {
    let universe = Universe::new();
    register(&universe);
    let registry = universe.registry();
    registry.register_plain_as::<u32>("mana").unwrap();
    registry.register_plain_as::<i32>("stamina").unwrap();
    let mut world = World::of(&std::sync::Arc::new(universe)).unwrap();
    world.set_chunk_size(1);
    _ = world
        .create_batch((0..10).map(|n| (Heat(n), Token, 1_u32)))
        .unwrap();
    let gone = world.create((Heat(0), Token)).unwrap();
    world.destroy(gone).unwrap();
    _ = world
        .create_batch((0..5_000).map(|n| (Heat(n), Token, 1_i32)))
        .unwrap();
    world.to_snapshot(&Default::default()).unwrap()
}

fn loaded(file: &[u8]) -> World {
    let universe = Universe::new();
    register(&universe);
    let made = || {
        let left = FUSE.get();
        FUSE.set(left.saturating_sub(1));
        assert!(left != 1, "the fuse");
        Token
    };
    universe
        .registry()
        .require_with::<Heat, Token>(made)
        .unwrap();
    let options = LoadOptions::new().skip("mana").skip("stamina");
    World::from_snapshot(file, universe, &options).unwrap()
}

#[test]
fn a_change_that_is_refused_moves_no_chunk_that_a_flush_has_planned_with() {
    let file = file();
    for count in [500, 1_500, 3_000, 9_000] {
        for wide in [false, true] {
            let mut world = loaded(&file);
            // It stands among others.
            assert_eq!((world.count(), world.stats().empty_chunks), (5_010, 1));
            let mut all = world.read::<Entity, With<Heat>>().unwrap();
            let all: Vec<Entity> = all.iter().collect();
            let strangers: Vec<Entity> = (0..count)
                .map(|_| match wide {
                    true => world.create((Badge, Wide([1; 12]))).unwrap(),
                    false => world.create((Badge,)).unwrap(),
                })
                .collect();
            let heat = |world: &World, one| world.get::<Heat>(one).unwrap().0;
            let heats: Vec<u64> = all.iter().map(|&one| heat(&world, one)).collect();
            let mut commands = world.commands();
            for &one in &all[10..] {
                commands.add(one, (7_u16,)).unwrap();
            }
            for &one in &strangers {
                commands.add(one, (Heat(9_000),)).unwrap();
                commands.remove::<(Badge,)>(one).unwrap();
            }
            drop(commands);
            FUSE.set(1);
            let flushed = catch_unwind(AssertUnwindSafe(|| world.flush()));
            FUSE.set(0);
            assert!(flushed.is_err(), "{count}, {wide}");
            world.check().unwrap();
            for (&one, &before) in all.iter().zip(&heats) {
                assert_eq!(heat(&world, one), before);
            }
            assert!(
                all[10..]
                    .iter()
                    .all(|&one| world.has::<u16>(one) == Ok(true))
            );
            let came = |&&one: &&Entity| world.get::<Heat>(one) == Ok(&Heat(9_000));
            let stayed = |&&one: &&Entity| world.has::<Badge>(one) == Ok(true);
            let (came, stayed) = (
                strangers.iter().filter(came),
                strangers.iter().filter(stayed),
            );
            let (came, stayed) = (came.count(), stayed.count());
            assert!(
                stayed > 0 && came + stayed == count,
                "{came}, {stayed}, {wide}"
            );
        }
    }
}
