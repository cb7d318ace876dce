//! User's code that panics at its j-th call, for all j: worlds stay as they must be, and every value is
//! dropped once.
//!
//! `support/world_ops.rs` compares after each operation; at random, and with more operations, the state
//! machine `tests/world_models/operations.rs` does the same.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::world_more::MoreOp;
use crate::world_ops::{WorldOp, run};
use megachunk::prelude::*;

/// Counted fragments among others, in full chunks and partly filled ones, and a batch over the border of
/// a chunk.
fn begin() -> Vec<(u8, WorldOp)> {
    let batch = |shape, len| {
        (
            0,
            WorldOp::CreateBatch {
                shape,
                payload: 7,
                len,
                fuse: 0,
            },
        )
    };
    vec![
        batch(2, 10),
        batch(11, 5),
        batch(13, 130),
        batch(19, 3),
        batch(20, 3),
        batch(18, 4),
    ]
}

/// The calls that run no code of the user's which could panic.
fn go_on() -> [WorldOp; 24] {
    let pick = 40;
    [
        WorldOp::Trim,
        WorldOp::Reserve { len: 3 },
        WorldOp::Build {
            pick: u16::MAX,
            shape: 20,
            payload: 4,
            fuse: 0,
        },
        WorldOp::Release { pick },
        WorldOp::RemoveSlice {
            pick,
            len: 90,
            stride: 2,
            shape: 11,
        },
        WorldOp::SetShared { pick, payload: 2 },
        WorldOp::Enable {
            pick,
            which: 0,
            on: false,
        },
        WorldOp::GetMut {
            pick,
            which: 0,
            payload: 5,
        },
        WorldOp::SetChunkFragment {
            pick: 150,
            payload: 6,
        },
        WorldOp::Query { which: 5, way: 0 },
        WorldOp::Forged {
            index: 9,
            version: 9,
        },
        WorldOp::ChunkSize { chunks: 1 },
        WorldOp::Watch,
        WorldOp::Chunks,
        WorldOp::QueryRemove { which: 1, shape: 1 },
        WorldOp::QuerySwap {
            gone: 1,
            come: 7,
            payload: 8,
        },
        WorldOp::QueryShare {
            which: 4,
            payload: 1,
        },
        WorldOp::QueryMove { which: 0 },
        WorldOp::MoveArchetype { shape: 13 },
        WorldOp::Compact { budget: 255 },
        WorldOp::Collect,
        WorldOp::Snapshot,
        WorldOp::BuildDynamic {
            pick: u16::MAX,
            kinds: 0xfff,
            payload: 4,
            fuse: 0,
        },
        WorldOp::MoveAll,
    ]
}

/// Runs an operation behind the beginning, its `j`-th call of user's code panicking, for all `j` below
/// `calls`; and goes on for a while afterwards.
fn at_every_call(calls: u8, op: impl Fn(u8) -> WorldOp) {
    for j in 0..calls {
        let mut ops = begin();
        ops.push((0, op(0x80 | j)));
        ops.push((
            0,
            WorldOp::CreateBatch {
                shape: 11,
                payload: 3,
                len: 300,
                fuse: 0,
            },
        ));
        ops.push((
            0,
            WorldOp::DestroySlice {
                pick: 1,
                len: 200,
                stride: 3,
                fuse: 0,
            },
        ));
        ops.extend(go_on().map(|op| (0, op)));
        // Every other time observers hear of it.
        run(&ops, j % 2 == 0);
    }
}

#[test]
fn a_constructor_in_an_iterator_that_panics_leaves_no_entity_of_its_batch() {
    for shape in [2, 13, 18, 19, 20] {
        at_every_call(9, |fuse| WorldOp::CreateBatch {
            shape,
            payload: 1,
            len: 4,
            fuse,
        });
    }
    // Over the border of a chunk, of which 6 rows are left, and into a new one.
    at_every_call(10, |fuse| WorldOp::CreateBatch {
        shape: 13,
        payload: 1,
        len: 20,
        fuse,
    });
}

#[test]
fn a_closure_that_panics_ends_a_slice_between_two_entities() {
    at_every_call(14, |fuse| WorldOp::AddSlice {
        pick: 8,
        len: 9,
        stride: 1,
        shape: 12,
        payload: 2,
        fuse,
    });
}

#[test]
fn a_closure_that_panics_ends_a_change_of_what_a_query_matches() {
    for (which, shape) in [(0, 7), (1, 3), (1, 2), (1, 1), (1, 4)] {
        at_every_call(10, |fuse| WorldOp::QueryAdd {
            which,
            shape,
            payload: 9,
            fuse,
        });
    }
    at_every_call(20, |fuse| WorldOp::QueryDestroy { which: 4, fuse });
}

#[test]
fn a_clone_or_drop_that_panics_ends_calls_on_dynamic_fragments() {
    // All fragments, and those that panic alone.
    for kinds in [0xfff, 1 << 2, 1 << 11 | 1, 1 << 2 | 1 << 9 | 1 << 15] {
        at_every_call(5, |fuse| WorldOp::CreateDynamic {
            kinds,
            payload: 1,
            fuse,
        });
        for pick in [3, 150, 154] {
            at_every_call(5, |fuse| WorldOp::AddDynamic {
                pick,
                kinds,
                payload: 2,
                fuse,
            });
            at_every_call(5, |fuse| WorldOp::RemoveDynamic { pick, kinds, fuse });
        }
    }
}

#[test]
fn a_clone_or_closure_that_panics_leaves_no_copies() {
    // All fragments but the tag that cannot be cloned, and those that panic alone.
    for kinds in [0xfef, 1 << 2 | 1, 1 << 2 | 1 << 11] {
        for payload in [2, 3] {
            at_every_call(9, |fuse| WorldOp::CreateCopies {
                kinds,
                payload,
                len: 4,
                fuse,
            });
        }
    }
}

#[test]
fn a_template_that_panics_ends_a_move_to_another_world() {
    at_every_call(4, |fuse| WorldOp::MoveSlice {
        pick: 140,
        len: 20,
        stride: 1,
        fuse,
    });
}

#[test]
fn a_closure_that_panics_ends_a_query() {
    for which in 0..12 {
        at_every_call(4, |fuse| WorldOp::Interrupt { which, fuse });
    }
}

#[test]
fn a_drop_that_panics_ends_nothing_in_the_middle() {
    at_every_call(1, |fuse| WorldOp::Destroy { pick: 3, fuse });
    at_every_call(8, |fuse| WorldOp::DestroySlice {
        pick: 5,
        len: 9,
        stride: 2,
        fuse,
    });
    at_every_call(2, |fuse| WorldOp::Add {
        pick: 3,
        shape: 2,
        payload: 1,
        fuse,
    });
    at_every_call(2, |fuse| WorldOp::Add {
        pick: 3,
        shape: 13,
        payload: 1,
        fuse,
    });
    at_every_call(1, |fuse| WorldOp::Remove {
        pick: 12,
        shape: 2,
        fuse,
    });
    at_every_call(2, |fuse| WorldOp::Swap {
        pick: 12,
        gone: 1,
        come: 18,
        payload: 1,
        fuse,
    });
    at_every_call(20, |fuse| WorldOp::Clear { fuse });
    at_every_call(20, |fuse| WorldOp::Renew { fuse });
}

/// As [`at_every_call`], behind a beginning where a matrix, and a tag, requires what counts itself.
fn at_every_value(op: impl Fn(u8) -> WorldOp) {
    for j in 0..12 {
        let mut ops = vec![(0, WorldOp::More(MoreOp::Require { which: 0x41 }))];
        ops.extend(begin());
        ops.extend([9, 0, 6].map(|shape| {
            let create = WorldOp::CreateBatch {
                shape,
                payload: 2,
                len: 12,
                fuse: 0,
            };
            (0, create)
        }));
        // Some lack what they require.
        let lacks = WorldOp::RemoveSlice {
            pick: 20,
            len: 90,
            stride: 2,
            shape: 2,
        };
        ops.push((0, lacks));
        ops.push((0, op(0x80 | j)));
        ops.extend(go_on().map(|op| (0, op)));
        run(&ops, j % 2 == 0);
    }
}

#[test]
fn a_value_that_cannot_be_made_changes_nothing() {
    use MoreOp::*;
    let (payload, tag, matrix) = (3, 3, 4);
    let kinds = 1 << 5 | 1 << 3;
    for shape in [tag, matrix, 13] {
        at_every_value(|fuse| WorldOp::Create {
            shape,
            payload,
            fuse,
        });
        at_every_value(|fuse| WorldOp::CreateBatch {
            shape,
            payload,
            len: 7,
            fuse,
        });
        // Of those that have nothing, and of some that have it, over and over.
        for (pick, stride) in [(155, 1), (20, 1), (16, 7), (25, 0)] {
            at_every_value(|fuse| WorldOp::AddSlice {
                pick,
                len: 9,
                stride,
                shape,
                payload,
                fuse,
            });
        }
        at_every_value(|fuse| WorldOp::Add {
            pick: 156,
            shape,
            payload,
            fuse,
        });
        at_every_value(|fuse| WorldOp::Swap {
            pick: 168,
            gone: 1,
            come: shape,
            payload,
            fuse,
        });
    }
    for which in [0, 1] {
        at_every_value(|fuse| WorldOp::QueryAdd {
            which,
            shape: 1,
            payload,
            fuse,
        });
    }
    at_every_value(|fuse| WorldOp::CreateCopies {
        kinds,
        payload,
        len: 5,
        fuse,
    });
    at_every_value(|fuse| WorldOp::CreateDynamic {
        kinds,
        payload,
        fuse,
    });
    at_every_value(|fuse| WorldOp::AddDynamic {
        pick: 157,
        kinds,
        payload,
        fuse,
    });
    at_every_value(|fuse| WorldOp::More(AddRequired { fuse }));
    at_every_value(|fuse| {
        WorldOp::More(OfTemplate {
            kinds,
            payload,
            len: 4,
            fuse,
        })
    });
    at_every_value(|fuse| {
        WorldOp::More(Groups {
            pick: 20,
            len: 4,
            stride: 1,
            count: 2,
            fuse,
        })
    });
}

#[test]
fn a_clone_that_panics_makes_no_entity() {
    for pick in [3, 11, 30, 152] {
        at_every_call(2, |fuse| WorldOp::Clone { pick, fuse });
    }
    // The template of a chunk fragment.
    at_every_call(3, |fuse| WorldOp::Create {
        shape: 19,
        payload: 1,
        fuse,
    });
    at_every_call(3, |fuse| WorldOp::Add {
        pick: 3,
        shape: 19,
        payload: 1,
        fuse,
    });
}

/// Found by the state machine: the new values were in place when the chunk for them could not be had.
#[test]
fn a_template_that_panics_for_a_new_shared_value_leaves_the_old_fragments() {
    for fuse in 0x80..0x90 {
        let add = WorldOp::AddSlice {
            pick: 0,
            len: 7,
            stride: 0,
            shape: 20,
            payload: 0,
            fuse,
        };
        let create = WorldOp::Create {
            shape: 0,
            payload: 0,
            fuse: 0,
        };
        run(&[(0, create), (0, add)], true);
    }
}

/// Counts its drops, and panics in each of them with a value that panics when it is dropped.
struct Spiteful(Arc<AtomicUsize>);
struct Payload;

impl Drop for Spiteful {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        if !std::thread::panicking() {
            resume_unwind(Box::new(Payload));
        }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new(()));
        }
    }
}

struct Held(#[expect(dead_code, reason = "it is dropped")] Spiteful);

#[test]
fn a_panic_whose_payload_panics_when_dropped_changes_nothing_of_that() {
    let drops = Arc::new(AtomicUsize::new(0));
    let spiteful = || Spiteful(Arc::clone(&drops));
    let mut world = World::new();
    let create = |world: &mut World| {
        world
            .create(([spiteful()], Held(spiteful()), spiteful()))
            .unwrap()
    };
    let ants: Vec<_> = (0..100).map(|_| create(&mut world)).collect();
    let caught = |call: &mut dyn FnMut()| {
        // What the panic carries must not be dropped here either.
        std::mem::forget(catch_unwind(AssertUnwindSafe(call)).unwrap_err());
    };
    caught(&mut || world.destroy(ants[0]).unwrap());
    assert_eq!((drops.load(Ordering::Relaxed), world.count()), (3, 99));
    caught(&mut || drop(world.destroy_slice(&ants[..50])));
    assert_eq!((drops.load(Ordering::Relaxed), world.count()), (150, 50));
    caught(&mut || drop(world.remove::<(Spiteful, [Spiteful; 1])>(ants[60])));
    caught(&mut || {
        world
            .add(ants[60], ([spiteful()], Held(spiteful())))
            .unwrap()
    });
    assert_eq!(world.count(), 50);
    caught(&mut || {
        world.clear();
    });
    assert_eq!((world.count(), world.universe().count()), (0, 0));
    drop(world);
    assert_eq!(drops.load(Ordering::Relaxed), 302);
    assert_eq!(Arc::strong_count(&drops), 1);
}

/// A shared value whose drop panics.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Team(u8);

impl Drop for Team {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new(()));
        }
    }
}

#[test]
fn shared_values_and_chunk_fragments_whose_drop_panics_stop_nothing() {
    #[derive(Clone)]
    struct Weather;
    impl Drop for Weather {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                resume_unwind(Box::new(()));
            }
        }
    }
    let mut world = World::new();
    let ants: Vec<_> = (0..20_u8)
        .map(|n| world.create((n,).shared(Team(n % 5))).unwrap())
        .collect();
    world.set_shared(ants[0], Team(3)).unwrap();
    let bee = world.create((1_u16,).per_chunk(Weather)).unwrap();
    assert!(world.destroy_slice(&ants[..17]).is_clean());
    world.destroy(bee).unwrap();
    assert_eq!(
        world.trim(),
        0,
        "its chunk has gone with it, and what fell to the chunk"
    );
    assert_eq!((world.clear(), world.universe().count()), (3, 0));
    assert_eq!(world.universe().chunk_stats().in_use, 0);
    // The template goes with the world.
    assert!(catch_unwind(AssertUnwindSafe(|| drop(world))).is_err());
}

#[test]
fn a_batch_with_shared_values_goes_as_a_whole_though_drops_panic_too() {
    /// Panics also while another panic is under way.
    struct Furious(Arc<AtomicUsize>);
    impl Drop for Furious {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
            resume_unwind(Box::new(()));
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let batch = (0..10_u8).map(|n| {
        if n == 7 {
            resume_unwind(Box::new(()));
        }
        (Furious(Arc::clone(&drops)),).shared(n)
    });
    assert!(catch_unwind(AssertUnwindSafe(|| world.create_batch(batch).map(drop))).is_err());
    assert_eq!((world.count(), drops.load(Ordering::Relaxed)), (0, 7));
    assert_eq!(world.universe().chunk_stats().in_use, 0);
}

/// A shared value that tells how many of it there are, by its pointer; its hash panics if it is told to.
struct Counted(u8, #[expect(dead_code, reason = "held only")] Arc<()>, bool);

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl std::hash::Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        if self.2 {
            resume_unwind(Box::new(()));
        }
        self.0.hash(hasher);
    }
}

/// Panics when it is cloned for the time that it counts down to.
struct Brittle(Arc<AtomicUsize>);

impl Clone for Brittle {
    fn clone(&self) -> Self {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            resume_unwind(Box::new(()));
        }
        Self(Arc::clone(&self.0))
    }
}

fn panics(call: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
}

#[test]
fn a_chunk_that_could_not_be_had_leaves_no_combination_of_shared_values() {
    let (values, clones) = (Arc::new(()), Arc::new(AtomicUsize::new(usize::MAX)));
    let team = |n| Counted(n, Arc::clone(&values), false);
    let mut world = World::new();
    let first = (1_u8,).per_chunk(Brittle(Arc::clone(&clones)));
    let ant = world.create(first.shared(team(1))).unwrap();
    let groups = |world: &World| -> Vec<usize> {
        let stats = world.stats();
        stats.archetypes.iter().map(|data| data.groups).collect()
    };
    let (before, kept) = (groups(&world), Arc::strong_count(&values));
    let fail_next = || clones.store(1, Ordering::Relaxed);
    let come = |n| {
        (2_u8,)
            .per_chunk(Brittle(Arc::clone(&clones)))
            .shared(team(n))
    };
    fail_next();
    panics(|| drop(world.create(come(2))));
    fail_next();
    panics(|| drop(world.set_shared(ant, team(3))));
    let reserved = world.reserve().unwrap();
    fail_next();
    panics(|| drop(world.build(reserved, come(4))));
    fail_next();
    panics(|| drop(world.create_batch([come(5)])));
    assert_eq!(
        Arc::strong_count(&values),
        kept,
        "a value is kept for nobody"
    );
    assert_eq!(groups(&world), before);
    assert_eq!(world.count(), 1);
    world.release(reserved).unwrap();
}

#[test]
fn a_hash_that_panics_keeps_no_other_shared_value() {
    let values = Arc::new(());
    #[derive(PartialEq, Eq, Hash)]
    struct Other(Counted);
    let good = || Counted(1, Arc::clone(&values), false);
    let bad = || Counted(2, Arc::clone(&values), true);
    let mut world = World::new();
    let bee = world.create((7_u8,)).unwrap();
    panics(|| drop(world.create(().shared(good()).shared(Other(bad())))));
    panics(|| drop(world.create(().shared(bad()).shared(Other(good())))));
    panics(|| drop(world.add(bee, ().shared(good()).shared(Other(bad())))));
    panics(|| drop(world.add(bee, ().shared(bad()).shared(Other(good())))));
    assert_eq!(Arc::strong_count(&values), 1);
    assert_eq!(world.count(), 1);
}

#[test]
fn a_clone_that_panics_leaves_no_chunk() {
    let clones = Arc::new(AtomicUsize::new(usize::MAX));
    let mut world = World::new();
    world.registry().register_clone::<Brittle>().unwrap();
    world.registry().register_clone::<[u8; 4_000]>().unwrap();
    // Until a chunk is full, so that the clone is the first one of the next.
    let mut ant = None;
    while world.stats().chunks < 2 {
        let bundle = (Brittle(Arc::clone(&clones)), [0_u8; 4_000]).shared(1_u8);
        ant = Some(world.create(bundle).unwrap());
    }
    world.destroy(ant.take().unwrap()).unwrap();
    assert_eq!(world.stats().chunks, 1);
    let ant = world.read::<Entity, ()>().unwrap().iter().next().unwrap();
    clones.store(1, Ordering::Relaxed);
    panics(|| drop(world.clone_entity(ant)));
    let stats = world.stats();
    assert_eq!((stats.chunks, stats.empty_chunks), (1, 0));
}

#[test]
fn names_go_along_with_those_that_went_before_a_template_panicked() {
    let clones = Arc::new(AtomicUsize::new(usize::MAX));
    let universe = Arc::new(Universe::new());
    // The world's template is cloned, and those of the archetypes.
    for (way, call) in (0..4).flat_map(|way| (1..=4).map(move |call| (way, call))) {
        clones.store(usize::MAX, Ordering::Relaxed);
        let mut land = World::of(&universe).unwrap();
        let mut sea = World::of(&universe).unwrap();
        let weather = || Brittle(Arc::clone(&clones));
        let crabs = [
            land.create((1_u8,)).unwrap(),
            land.create((1_u8, 'a').per_chunk(weather())).unwrap(),
            land.create((1_u8, 1_u64).per_chunk(weather())).unwrap(),
        ];
        for crab in crabs {
            land.set_name(crab, "crab").unwrap();
        }
        clones.store(call, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| match way {
            0 => land.move_all_to(&mut sea).unwrap(),
            1 => land.move_slice_to(&mut sea, &crabs).unwrap().done,
            2 => {
                let mut query = Query::<Entity>::new(&land).unwrap();
                query.change(&mut land).move_to(&mut sea).unwrap()
            }
            _ => {
                let moved = land.move_archetype_to::<(u8,)>(&mut sea).unwrap();
                moved + land.move_all_to(&mut sea).unwrap()
            }
        }));
        assert_eq!(result.is_err(), call <= 3, "{way} {call}");
        universe.check([&land, &sea]).unwrap();
        for crab in crabs {
            let world = if land.is_built(crab) { &land } else { &sea };
            assert_eq!(world.name(crab).unwrap(), Some("crab"), "{way} {call}");
        }
    }
}

#[test]
fn a_filter_of_chunks_that_panics_keeps_no_shared_value_of_those_that_were_destroyed_before() {
    let values = Arc::new(());
    let mut world = World::new();
    for n in 0..4 {
        let team = Counted(n, Arc::clone(&values), false);
        world.create((n,).shared(team)).unwrap();
    }
    for left in (1..4).rev() {
        let asked = AtomicUsize::new(0);
        panics(|| {
            let all = world.matching::<With<u8>>().unwrap();
            let filtered = all.filter_chunks(|_| {
                if asked.fetch_add(1, Ordering::Relaxed) == 1 {
                    resume_unwind(Box::new(()));
                }
                true
            });
            filtered.destroy();
        });
        assert_eq!(world.count(), left);
        assert_eq!(Arc::strong_count(&values), 1 + left);
        world.check().unwrap();
    }
}
