//! Operations on the worlds of a universe, and the run that compares them with a naive world.
//!
//! One run is two worlds on one universe. The proptest state machine `tests/world_models/operations.rs` and the
//! fuzz target `structural` make up the operations; both call [`run`]. The worlds of a run and the model beside them
//! are the `Machine` of `world_machine.rs`, which takes one operation after the other. What entities are made of stands
//! in `world_fragments.rs`, the naive world in `world_naive.rs`, the queries in `world_probes.rs`, the calls in
//! `world_calls.rs`, `world_bulk.rs`, `world_loads.rs` and `world_commands.rs`, the naive flush in `world_recorded.rs`, the comparison
//! in `world_compare.rs`, what changes must be seen in `world_changes.rs`.
//!
//! User's code (constructors, closures, `Drop`, `Clone`) panics where a *fuse* says so: the low seven bits
//! are the number of calls until then, and without the high bit nothing panics. After each operation, also
//! one that panicked, counts, compositions, values and one of the queries are compared, and that every
//! value that must be dropped was dropped exactly once; that changes are seen, and nobody's if nothing was done; and that
//! hashes are the same where worlds are.

use crate::world_commands::CommandOp;
use crate::world_machine::{Hands, Machine};
use crate::world_more::MoreOp;

/// A call of one of the worlds, or a few of one kind. A `pick` is taken modulo the number of handles given
/// out so far, a `shape` modulo the number of bundle types.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorldOp {
    Create {
        shape: u8,
        payload: u32,
        fuse: u8,
    },
    CreateBatch {
        shape: u8,
        payload: u32,
        len: u16,
        fuse: u8,
    },
    Reserve {
        len: u8,
    },
    Build {
        pick: u16,
        shape: u8,
        payload: u32,
        fuse: u8,
    },
    Release {
        pick: u16,
    },
    Destroy {
        pick: u16,
        fuse: u8,
    },
    /// Every `stride`-th handle from `pick` on; a stride of 0 names one over and over.
    DestroySlice {
        pick: u16,
        len: u8,
        stride: u8,
        fuse: u8,
    },
    Add {
        pick: u16,
        shape: u8,
        payload: u32,
        fuse: u8,
    },
    AddSlice {
        pick: u16,
        len: u8,
        stride: u8,
        shape: u8,
        payload: u32,
        fuse: u8,
    },
    Remove {
        pick: u16,
        shape: u8,
        fuse: u8,
    },
    Take {
        pick: u16,
        which: u8,
        fuse: u8,
    },
    RemoveSlice {
        pick: u16,
        len: u8,
        stride: u8,
        shape: u8,
    },
    Swap {
        pick: u16,
        gone: u8,
        come: u8,
        payload: u32,
        fuse: u8,
    },
    SetShared {
        pick: u16,
        payload: u32,
    },
    Enable {
        pick: u16,
        which: u8,
        on: bool,
    },
    Clone {
        pick: u16,
        fuse: u8,
    },
    GetMut {
        pick: u16,
        which: u8,
        payload: u32,
    },
    SetChunkFragment {
        pick: u16,
        payload: u32,
    },
    Query {
        which: u8,
        way: u8,
    },
    Interrupt {
        which: u8,
        fuse: u8,
    },
    Chunks,
    Watch,
    Forged {
        index: u32,
        version: u32,
    },
    Clear {
        fuse: u8,
    },
    Trim,
    ChunkSize {
        chunks: u8,
    },
    /// The world goes, and a new one comes to the universe.
    Renew {
        fuse: u8,
    },
    /// Everything that a filter matches.
    QueryAdd {
        which: u8,
        shape: u8,
        payload: u32,
        fuse: u8,
    },
    QueryRemove {
        which: u8,
        shape: u8,
    },
    QuerySwap {
        gone: u8,
        come: u8,
        payload: u32,
    },
    QueryDestroy {
        which: u8,
        fuse: u8,
    },
    QueryShare {
        which: u8,
        payload: u32,
    },
    /// To the other world.
    QueryMove {
        which: u8,
    },
    MoveSlice {
        pick: u16,
        len: u8,
        stride: u8,
        fuse: u8,
    },
    MoveArchetype {
        shape: u8,
    },
    MoveAll,
    /// A bit of `kinds` is a fragment; the highest one says that the first comes twice.
    CreateDynamic {
        kinds: u16,
        payload: u32,
        fuse: u8,
    },
    BuildDynamic {
        pick: u16,
        kinds: u16,
        payload: u32,
        fuse: u8,
    },
    AddDynamic {
        pick: u16,
        kinds: u16,
        payload: u32,
        fuse: u8,
    },
    RemoveDynamic {
        pick: u16,
        kinds: u16,
        fuse: u8,
    },
    /// Copies of a prototype; of every second payload with numbers that a closure makes.
    CreateCopies {
        kinds: u16,
        payload: u32,
        len: u16,
        fuse: u8,
    },
    /// As many entities as `budget` says; 255: all.
    Compact {
        budget: u8,
    },
    Collect,
    Snapshot,
    /// A recorder more is to record something.
    Script {
        key: u8,
    },
    /// The last recorder is to record this.
    Command(CommandOp),
    /// Threads record what was said.
    Record {
        threads: u8,
        together: bool,
    },
    Flush {
        fuse: u8,
    },
    /// Whether several threads share the flushes of this world, however little there is to do. (In ordered universes it is
    /// said once and for all.)
    Forks {
        on: bool,
    },
    /// Who has changed since a step before?
    Since {
        which: u8,
        back: u8,
    },
    /// The worlds are saved and loaded, with their ids or with new ones, and the run goes on with those.
    Reload {
        how: u8,
    },
    More(MoreOp),
}

/// Runs operations, each on the world whose number stands before it (modulo their number), with or without observers of
/// the worlds.
///
/// # Panics
/// As soon as the worlds and the model disagree.
pub(crate) fn run(ops: &[(u8, WorldOp)], heard: bool) {
    Machine::new(Hands::AsSaid, heard).run(ops);
}

/// Runs operations in two ordered universes, with or without observers of the worlds: with as many threads as they say and
/// a flush by several, and all by one thread.
///
/// # Panics
/// As soon as worlds and model disagree, and if the two universes differ in an id, a value, or the order of rows.
pub(crate) fn run_ordered(ops: &[(u8, WorldOp)], heard: bool) {
    let [many, one] = [Hands::Many, Hands::One].map(|hands| Machine::new(hands, heard).run(ops));
    let [(many, mut hashes), (one, others)] = [many, one];
    hashes.join(others);
    for (many, one) in many.iter().zip(&one) {
        let (step, _) = *many;
        assert_eq!(many, one, "after step {step}, {:?}", ops[step]);
    }
}
