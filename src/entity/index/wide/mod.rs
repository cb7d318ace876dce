//! Several slots at a time: making a run of entities, comparing a group's versions.
//!
//! The compiler never joins atomic accesses into wider ones, so on x86-64 with AVX2 they are
//! written by hand: the arithmetic as intrinsics, each access to slot words as one instruction of
//! assembly. With AVX-512 runs of entities (`run`) are made a cache line at a time.
//!
//! # Why that is sound
//! An ordinary Rust access would be a data race: while one thread makes entities in slots that it
//! has claimed, others may look at those slots (a stale handle) or try a compare-and-swap that names
//! an old version. Assembly is not bound to Rust's memory model but to the processor's:
//! * *Stores* are of 32 or 64 bytes, aligned; they may be done in parts, in any order. No part splits an aligned
//!   word of eight bytes (the processor's unit of access; Intel and AMD promise it for 16 bytes, and Java's virtual
//!   machine copies arrays of references by the same instructions), and each is younger than all that came before:
//!   four or eight `Release` stores of words that do not depend on each other.
//! * *Loads* are 32 or 64 bytes, which may be done in parts. Only the versions are used, aligned
//!   four-byte pieces, which no part splits; and loads are not reordered with older loads, so each piece
//!   is what an `Acquire` load would give. A version that changes meanwhile is caught by the
//!   compare-and-swap of the group word, as with single loads.
//!
//! To the compiler each is an opaque instruction that reads or writes any memory.

#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
mod avx512;
#[cfg(all(not(loom), any(test, all(target_arch = "x86_64", not(miri)))))]
mod lanes;
#[cfg(all(not(loom), any(test, all(target_arch = "x86_64", not(miri)))))]
mod run;
#[cfg(all(test, not(loom)))]
mod tests;

use core::mem::MaybeUninit;

use crate::entity::index::batch::further;
use crate::entity::index::core::{Core, create_in};
use crate::entity::index::slot;
use crate::entity::{Entity, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::GROUP_SLOTS;
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
use crate::sync::probe;

/// The versions that a call expects in the slots of a group; 0 where it expects nothing.
pub(crate) type Expected = [u32; GROUP_SLOTS as usize];

/// What a look at a group's slots found; bit `n` is lane `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Something was expected.
    pub(crate) wanted: u64,
    /// The slot has the version that was expected.
    pub(crate) equal: u64,
    /// The phase of the version in the slot.
    pub(crate) phases: u64,
    /// The version is the slot's last.
    pub(crate) last: u64,
}

/// How many slot words the processor can access at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    /// One.
    Single,
    /// Four: the wide paths may be taken.
    Wide,
    /// Eight, besides.
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    Line,
}

impl Width {
    /// What this processor can, unless a test asked for single accesses.
    pub(crate) fn available() -> Self {
        #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
        {
            use std::arch::is_x86_feature_detected;
            if probe::is_narrow() || !is_x86_feature_detected!("avx2") {
                return Self::Single;
            }
            // The first processors with AVX-512 slow down for a while when it is used; those that know
            // VBMI2 do not.
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vbmi2") {
                return Self::Line;
            }
            Self::Wide
        }
        // Models take the wide paths too, word by word.
        #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
        {
            if cfg!(loom) { Self::Wide } else { Self::Single }
        }
    }
}

/// Handles of a cache line.
#[cfg(not(loom))]
const LINE_HANDLES: usize = crate::memory::LINE / size_of::<Entity>();

/// So many lines of handles are asked for before they are stored: a processor asks for few lines at a time of its own
/// accord where it only writes.
#[cfg(not(loom))]
const LINES_AHEAD: usize = 8;

/// Asks for the memory of the first handles of a batch before they are made. Their stores would ask for it one behind
/// the other, and the claim of the next batch waits for them all.
#[inline(always)]
pub(crate) fn expect(out: &[MaybeUninit<Entity>]) {
    #[cfg(not(loom))]
    for line in out.chunks(LINE_HANDLES).take(LINES_AHEAD) {
        crate::memory::prefetch(line.as_ptr());
    }
    #[cfg(loom)]
    let _ = out;
}

/// Runs that are shorter are made slot by slot.
pub(crate) const SHORTEST: usize = 16;

/// Makes the next entity in each of `out.len()` slots from `first` on, all claimed by the caller and all of one
/// span; with the place of the first one, if they have places: the others lie in the rows behind it.
#[inline]
pub(crate) fn create_run(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.width() == Width::Line && out.len() >= SHORTEST {
        // SAFETY: the width says that the processor has AVX-512.
        return unsafe { avx512::create_run(core, first, out, place) };
    } else if core.wide() && out.len() >= SHORTEST {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::create_run(core, first, out, place) };
    }
    create_singly(core, first, out, place);
}

/// One by one. Out of the way of the wide paths, for which few or none are left.
#[inline]
fn create_singly(core: &Core, first: u32, out: &mut [MaybeUninit<Entity>], place: Option<Place>) {
    if !out.is_empty() {
        create_each(core, first, out, place);
    }
}

#[inline(never)]
fn create_each(core: &Core, first: u32, out: &mut [MaybeUninit<Entity>], place: Option<Place>) {
    // SAFETY: the run's slots exist.
    let slots = unsafe { core.slots(first, out.len()) };
    for (at, (slot, entity)) in slots.iter().zip(out).enumerate() {
        entity.write(create_in(slot, first + at as u32, further(place, at)));
    }
}

/// Makes the slot words of a whole group even, whose entities with these versions the caller has
/// condemned.
#[inline]
pub(crate) fn bury_group(core: &Core, number: u32, versions: &Expected) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::bury_group(core, number, versions) };
    }
    for (lane, &version) in (0..).zip(versions) {
        core.bury(number * GROUP_SLOTS + lane, version);
    }
}

/// Makes the slot words of a whole group even, whose entities the caller has condemned, given by
/// their handles in order.
#[inline]
pub(crate) fn bury_handles(core: &Core, handles: &[Entity]) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide()
        && let Some(handles) = handles.first_chunk::<16>()
    {
        // SAFETY: the width says that the processor has AVX2.
        return unsafe { avx2::bury_handles(core, handles) };
    }
    for handle in handles {
        core.bury(handle.index(), handle.version());
    }
}

/// Of handles of entities that lie in a world which the caller has to itself, the first ones are buried as
/// [`destroy_owned`](crate::entity::EntityIndex::destroy_owned) does it, a version skipped, as far as they are those of
/// whole groups, one behind the other, and none is near its slot's last version: so many are. Always none without the
/// wide instructions.
#[inline]
pub(crate) fn bury_owned(core: &Core, handles: &[Entity]) -> usize {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        let (groups, _) = handles.as_chunks::<16>();
        // SAFETY: the width says that the processor has AVX2.
        return 16 * unsafe { avx2::bury_owned(core, groups) };
    }
    let _ = (core, handles);
    0
}

/// Compares the versions in the slots of group `number` with what is expected.
#[inline]
pub(crate) fn look(core: &Core, number: u32, expected: &Expected) -> Seen {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        // SAFETY: the width says that the processor has AVX2.
        let seen = unsafe { avx2::look(core, number, expected) };
        return Seen {
            wanted: seen & 0xffff,
            equal: seen >> 16 & 0xffff,
            phases: seen >> 32 & 0xffff,
            last: seen >> 48,
        };
    }
    let mut seen = Seen::default();
    for (lane, &expected) in expected.iter().enumerate() {
        if expected != 0 {
            // SAFETY: callers pass groups that exist.
            let slot = unsafe { core.slot(number * GROUP_SLOTS + lane as u32) };
            // Ordering: Relaxed, as in `Core::kill`.
            let version = slot::version(slot.load(Ordering::Relaxed));
            seen.wanted |= 1 << lane;
            seen.equal |= u64::from(version == expected) << lane;
            seen.phases |= u64::from(version >> 1 & 1) << lane;
            seen.last |= u64::from(version == slot::LAST_VERSION) << lane;
        }
    }
    seen
}

/// Of the groups that `entities` are the handles of if they stand in order, beginning with a group's
/// first slot, at most four: how many at the beginning do, with their versions in the slots and none a
/// slot's last; and the versions' phases, bit `n` for slot `n`.
///
/// Says nothing about who is alive. Always none without the wide instructions.
#[inline]
pub(crate) fn look_at_groups(core: &Core, entities: &[Entity]) -> (usize, u64) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    if core.wide() {
        let (groups, _) = entities.as_chunks::<16>();
        // SAFETY: the width says that the processor has AVX2; callers pass slots that exist.
        return unsafe { avx2::look_at_groups(core, groups) };
    }
    #[cfg(loom)]
    if core.wide() {
        return look_at_groups_singly(core, entities);
    }
    let _ = (core, entities);
    (0, 0)
}

/// [`look_at_groups`], slot by slot: what the wide instructions do, in steps that a model sees.
#[cfg(loom)]
fn look_at_groups_singly(core: &Core, entities: &[Entity]) -> (usize, u64) {
    let (mut groups, mut phases) = (0, 0);
    for group in entities.chunks_exact(GROUP_SLOTS as usize) {
        for (lane, entity) in (groups as u32 * GROUP_SLOTS..).zip(group) {
            if entity.index() != entities[0].index() + lane {
                return (groups, phases);
            }
            // SAFETY: callers pass slots that exist.
            let slot = unsafe { core.slot(entity.index()) };
            let version = slot::version(slot.load(Ordering::Relaxed));
            if version != entity.version() || version == slot::LAST_VERSION {
                return (groups, phases);
            }
            phases |= u64::from(version >> 1 & 1) << lane;
        }
        groups += 1;
    }
    (groups, phases)
}
