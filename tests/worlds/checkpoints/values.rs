//! Values are cloned, kept and dropped once, whatever panics, and come back as they were.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;
use megachunk::world::{CheckpointError, Checkpoints};

use crate::checkpoints::{Spot, Wide, bytes, world};
use crate::counted::{Counted, FUSE};

/// A world of values that count themselves, in each role.
fn counted() -> World {
    let world = World::of(&Arc::new(Universe::ordered())).unwrap();
    world.registry().register_clone::<Counted>().unwrap();
    world.registry().register_clone::<Token>().unwrap();
    world.registry().register_clone::<Padded>().unwrap();
    world
}

thread_local! {
    static TOKENS: Cell<isize> = const { Cell::new(0) };
}

/// Of no size, and dropped.
struct Token;

impl Token {
    fn new() -> Self {
        TOKENS.set(TOKENS.get() + 1);
        Self
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        crate::counted::burn();
        Self::new()
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        TOKENS.set(TOKENS.get() - 1);
    }
}

/// Wants to lie at a page's begin, nearly.
#[derive(Clone)]
#[repr(align(1024))]
struct Padded(u8);

#[test]
fn values_are_dropped_once_whatever_clone_panics() {
    let alive = Arc::new(AtomicUsize::new(0));
    let count = || alive.load(Ordering::Relaxed);
    let tokens = TOKENS.get();
    let mut world = counted();
    let make = |n: u8| (Counted::new(&alive), Token::new(), Padded(n));
    let first = world
        .create_batch((0..20).map(make))
        .unwrap()
        .to_vec(&world);
    let pair = (Counted::new(&alive), 7_u8).per_chunk(Counted::new(&alive));
    world.registry().register_clone::<u8>().unwrap();
    let lone = world.create(pair).unwrap();
    let there = count();
    let mut checkpoints = Checkpoints::new(2);
    // Each call of `clone` panics in turn, and then none.
    let mut fuses = 0;
    let taken = (1..).find_map(|fuse| {
        FUSE.set(fuse);
        fuses = fuse;
        match catch_unwind(AssertUnwindSafe(|| checkpoints.take(&mut world))) {
            Ok(taken) => Some(taken.unwrap()),
            Err(_) => {
                assert_eq!(count(), there, "fuse {fuse}");
                assert!(checkpoints.is_empty());
                world.check().unwrap();
                None
            }
        }
    });
    FUSE.set(0);
    // Twenty with a token each, one, that of its chunk, and what chunks begin with.
    assert_eq!(fuses, 20 * 2 + 3 + 1);
    assert_eq!(count(), there + 20 + 3);
    let taken = taken.unwrap();
    for fuse in 1.. {
        for &one in &first[3..9] {
            if world.exists(one) {
                world.destroy(one).unwrap();
            }
        }
        if world.exists(lone) {
            world.destroy(lone).unwrap();
        }
        let made = world
            .create((Counted::new(&alive), Token::new(), Padded(9), 'x'))
            .unwrap();
        let changed = count();
        FUSE.set(fuse);
        let gone_back = catch_unwind(AssertUnwindSafe(|| {
            checkpoints.roll_back(&mut world, taken)
        }));
        let went = FUSE.replace(0) > 0;
        match gone_back {
            Ok(gone_back) => {
                assert!(went && gone_back.is_ok());
                break;
            }
            Err(_) => {
                assert_eq!(count(), changed, "fuse {fuse}");
                assert!(world.exists(made) && !world.exists(lone));
                world.destroy(made).unwrap();
                world.check().unwrap();
            }
        }
        assert!(fuse < 100);
    }
    world.check().unwrap();
    assert_eq!(count(), there + 20 + 3);
    for (n, &one) in (0..20).zip(&first) {
        assert_eq!(world.get::<Padded>(one).unwrap().0, n);
    }
    assert!(world.exists(lone));
    drop(world);
    // And the value that was given last, which new compositions would begin with: kept by both.
    assert_eq!(count(), 20 + 3 + 1, "what is kept is not the world's");
    drop(checkpoints);
    assert_eq!((count(), TOKENS.get()), (0, tokens));
}

#[test]
fn what_a_drop_panics_with_comes_back_when_the_world_has_gone_back() {
    #[derive(Clone)]
    struct Burns(u32);
    impl Drop for Burns {
        fn drop(&mut self) {
            if self.0 == 13 {
                crate::counted::burn();
            }
        }
    }
    let mut world = world();
    world.registry().register_clone::<Burns>().unwrap();
    let all = world
        .create_batch((0..10).map(|n| (Burns(n), Spot(n.into()))))
        .unwrap();
    let all = all.to_vec(&world);
    let mut checkpoints = Checkpoints::new(3);
    let taken = checkpoints.take(&mut world).unwrap();
    world.get_mut::<Burns>(all[4]).unwrap().0 = 13;
    world.destroy(all[7]).unwrap();
    let later = checkpoints.take(&mut world).unwrap();
    for fuse in [1, 2] {
        // That of the world, or that of the later checkpoint.
        FUSE.set(fuse);
        let to = taken;
        let panicked =
            catch_unwind(AssertUnwindSafe(|| checkpoints.roll_back(&mut world, to))).is_err();
        FUSE.set(0);
        assert!(panicked, "{fuse}");
        assert!(!checkpoints.has(later));
        assert_eq!(checkpoints.last(), Some(taken));
        world.check().unwrap();
        for (n, &one) in (0..).zip(&all) {
            assert_eq!(world.get::<Burns>(one).unwrap().0, n);
        }
        world.get_mut::<Burns>(all[4]).unwrap().0 = 13;
        checkpoints.take(&mut world).unwrap();
    }
}

/// Equal to whoever reads the same aloud.
#[derive(Clone, Debug)]
struct Word(&'static str);

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl Eq for Word {}

impl std::hash::Hash for Word {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(self.0.to_ascii_lowercase().as_bytes());
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        if self.0 == "aNT" {
            crate::counted::burn();
        }
    }
}

#[test]
fn a_shared_value_comes_back_as_it_was_and_not_as_an_equal_one() {
    let mut world = world();
    let make = |world: &mut World, word| world.create((Spot(1),).shared(Word(word))).unwrap();
    let ant = make(&mut world, "Ant");
    let bee = make(&mut world, "Bee");
    // In two compositions: one value.
    let wide = (Wide([1; 20]),).shared(Word("Ant"));
    let other = world.create(wide).unwrap();
    let mut checkpoints = Checkpoints::new(3);
    let taken = checkpoints.take(&mut world).unwrap();
    for panics in [false, true] {
        for gone in [ant, other] {
            world.destroy(gone).unwrap();
        }
        let equal = make(&mut world, "aNT");
        assert_eq!(world.shared::<Word>(equal).unwrap().0, "aNT");
        // What is refused changes none.
        let reserved = world.universe().reserve().unwrap();
        assert_eq!(
            checkpoints.roll_back(&mut world, taken),
            Err(CheckpointError::NotAlone)
        );
        world.universe().release(reserved).unwrap();
        assert_eq!(world.shared::<Word>(equal).unwrap().0, "aNT");
        world.check().unwrap();
        FUSE.set(panics.into());
        let gone_back = catch_unwind(AssertUnwindSafe(|| {
            checkpoints.roll_back(&mut world, taken)
        }));
        assert_eq!(FUSE.replace(0), 0);
        assert_eq!(gone_back.is_err(), panics, "it is dropped once");
        for (one, word) in [(ant, "Ant"), (bee, "Bee"), (other, "Ant")] {
            assert_eq!(world.shared::<Word>(one).unwrap().0, word);
        }
        world.check().unwrap();
        // It is found, and the one that is there.
        let found = make(&mut world, "ANT");
        assert_eq!(world.shared::<Word>(found).unwrap().0, "Ant");
        world.destroy(found).unwrap();
    }
}

#[test]
fn what_is_written_by_closures_goes_back_if_it_can_be_cloned() {
    let mut world = world();
    let written = world.registry().register_written_as::<String, _, _>(
        "words",
        |words: &String, bytes| bytes.extend(words.as_bytes()),
        |bytes, _| String::from_utf8(bytes.to_vec()),
    );
    written.unwrap();
    let ant = world.create((String::from("ant"),)).unwrap();
    let was = bytes(&world);
    let mut checkpoints = Checkpoints::new(2);
    assert!(matches!(
        checkpoints.take(&mut world),
        Err(CheckpointError::NotCloneable { .. })
    ));
    world.registry().register_clone::<String>().unwrap();
    let taken = checkpoints.take(&mut world).unwrap();
    world.get_mut::<String>(ant).unwrap().push('s');
    checkpoints.roll_back(&mut world, taken).unwrap();
    assert!(bytes(&world) == was);
}
