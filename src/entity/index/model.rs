//! What loom models need of the index and an ordinary user does not: slots with a past, and the hint
//! tree alone. Exists under `cfg(loom)` only.

use core::ops::Range;

use super::deaths::few;
use super::free_words::FreeWords;
use super::lowest::Lowest;
use super::opened::Opened;
use super::ordered::Claimed;
use super::owned::Buried;
use super::rewind::{Rewind, SavedSlots};
use super::slot;
use super::summary::Summary;
use crate::entity::{Entity, EntityIndex, Full, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{GROUP_SLOTS, WORD_BITS, WORDS_PER_BLOCK};

/// The last version that an entity can have.
pub const LAST_VERSION: u32 = slot::LAST_VERSION;

/// Gives slot `index`, in which nothing was ever created, a past: its next entity has `version`.
///
/// # Panics
/// If the slot is not fresh, or `version` even.
pub fn age(entities: &EntityIndex, index: u32, version: u32) {
    assert!(version % 2 == 1, "entities have odd versions");
    let core = &entities.shared.core;
    // SAFETY: models pass slots that exist.
    let (group, word) = unsafe { (core.group(index), core.slot(index)) };
    assert_eq!(word.load(Ordering::Relaxed), 0, "the slot is fresh");
    word.store(slot::dead(version - 2), Ordering::Relaxed);
    let phase = u64::from(version >> 1 & 1);
    group.fetch_or(phase << (index % GROUP_SLOTS), Ordering::Relaxed);
}

/// Destroys an entity that the caller alone may destroy, as a world does with its own.
pub fn destroy_owned(entities: &EntityIndex, entity: Entity) {
    entities.destroy_owned(entity);
}

/// Destroys entities by the steps of a small batch: how many of the first ones it destroyed.
#[must_use]
pub fn destroy_few(entities: &EntityIndex, batch: &[Entity]) -> usize {
    entities.with_cache(|core, cache, tally| few::destroy(core, cache, tally, batch))
}

/// Destroys an entity by the steps of whom another death in its group has beaten to the group word: whether it was this
/// call that destroyed it. Its slot stays claimed.
pub fn destroy_slowly(entities: &EntityIndex, entity: Entity) -> bool {
    entities.shared.core.kill_slowly(entity).is_ok()
}

/// Sets the place of an entity that the caller alone changes or destroys, as a world does.
pub fn set_place(entities: &EntityIndex, entity: Entity, place: Place) {
    entities.set_place(entity, place);
}

/// The same, where the world has just found the entity.
///
/// # Panics
/// If it does not live.
pub fn replace_place(entities: &EntityIndex, entity: Entity, place: Place) {
    assert!(entities.exists(entity), "{entity} does not live");
    // SAFETY: just checked, and the caller alone destroys it.
    unsafe { entities.replace_place(entity, place) };
}

/// Destroys entities that the caller alone may destroy, as a world does with its own where they stand in order.
pub fn destroy_owned_slice(entities: &EntityIndex, owned: &[Entity]) {
    entities.destroy_owned_slice(owned);
}

/// The same, as a world does where they stand in no order: it buries them, and gives their slots back together.
pub fn bury_and_free(entities: &EntityIndex, owned: &[Entity]) {
    let mut buried = Buried::with_capacity(owned.len());
    for &entity in owned {
        entities.bury_owned(entity, &mut buried);
    }
    entities.free_owned(buried);
}

/// The same, where threads' caches are passed by.
pub fn bury_and_free_at_once(entities: &EntityIndex, owned: &[Entity]) {
    let mut buried = Buried::with_capacity(owned.len());
    for &entity in owned {
        entities.bury_owned(entity, &mut buried);
    }
    entities.free_owned_at_once(buried);
}

/// Destroys entities that the caller alone may destroy, where threads' caches are passed by.
pub fn destroy_owned_slice_at_once(entities: &EntityIndex, owned: &[Entity]) {
    entities.destroy_owned_slice_at_once(owned);
}

/// The claim words of which all slots are free: first as the claim words have it, then as the index tells by its hints.
#[must_use]
pub fn free_words(entities: &EntityIndex) -> [Vec<u32>; 2] {
    let used = entities.shared.core.opened() * WORDS_PER_BLOCK;
    let all = |free: FreeWords| (0..free.len()).filter_map(|at| free.get(at)).collect();
    let before = all(entities.free_words_by_claims(used));
    [before, all(entities.free_words().0)]
}

/// Says of a span what a search says that found it closed: that nothing is free there. It looks again, and takes that
/// back if it is wrong.
pub fn mark_closed(entities: &EntityIndex, span: u32) {
    entities.with_cache(|core, _, tally| core.mark_closed(tally, span));
}

/// Creates an entity that lies at a place from the beginning, as a world does.
///
/// # Errors
/// [`Full`].
pub fn create_placed(entities: &EntityIndex, place: Place) -> Result<Entity, Full> {
    entities.create_placed(place)
}

/// Creates an entity that is to come to a row of which nobody knows yet, as a world does whose entities come out of a file.
///
/// # Errors
/// [`Full`].
pub fn create_newborn(entities: &EntityIndex) -> Result<Entity, Full> {
    entities.create_placed(Place::COMING)
}

/// Creates entities that lie in neighbouring rows from `first` on, as a world does.
///
/// # Errors
/// [`Full`]; then none stays created.
pub fn create_in_rows(
    entities: &EntityIndex,
    out: &mut [Entity],
    first: Place,
) -> Result<(), Full> {
    // SAFETY: batches write whole handles.
    let handles = unsafe { super::batch::overwritten(out) };
    entities.create_placed_slice(handles, first)
}

/// Ids as an ordered universe gives them: always the lowest.
#[derive(Debug)]
pub struct LowestIds {
    index: EntityIndex,
    lowest: Lowest,
}

/// What stood in all slots at a checkpoint.
#[derive(Debug)]
pub struct SlotsThen(SavedSlots);

/// A claim word of which all slots are a recorder's.
#[derive(Debug)]
pub struct Piece(Claimed);

impl LowestIds {
    /// None of them.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "for models")]
    pub fn new() -> Self {
        Self {
            index: EntityIndex::new(),
            lowest: Lowest::new(),
        }
    }

    /// The index.
    #[must_use]
    pub fn index(&self) -> &EntityIndex {
        &self.index
    }

    /// Creates an entity with the lowest free index, as a world does.
    ///
    /// # Errors
    /// [`Full`].
    pub fn create(&self) -> Result<Entity, Full> {
        self.index.create_lowest(&self.lowest, None)
    }

    /// Creates entities with the lowest free indices, as a world does where it creates many.
    ///
    /// # Errors
    /// [`Full`]; then the first ones stay created, whose handles are written.
    pub fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        // SAFETY: nothing but handles is written.
        let handles = unsafe { super::batch::overwritten(out) };
        let created = self.index.create_lowest_slice(&self.lowest, handles, None);
        created.map_err(|(_, full)| full)
    }

    /// Destroys entities that the caller alone may destroy.
    pub fn destroy_slice(&self, entities: &[Entity]) {
        if let Some(word) = self.index.destroy_owned_slice_at_once(entities) {
            self.lowest.freed(word);
        }
    }

    /// Destroys an entity that the caller alone may destroy.
    pub fn destroy(&self, entity: Entity) {
        let word = self.index.destroy_owned_at_once(entity);
        self.lowest.freed(word);
    }

    /// All of a claim word, if all is free, as a recorder claims it.
    #[must_use]
    pub fn claim(&self, word: u32) -> Option<Piece> {
        let claimed = self.index.claim_whole_word(word, &self.lowest);
        claimed.ok().flatten().map(Piece)
    }

    /// Creates an entity in a recorder's word.
    pub fn create_in(&self, piece: &mut Piece) -> Option<Entity> {
        self.index.create_claimed(&mut piece.0, None)
    }

    /// Ends a recorder.
    pub fn close(&self, mut piece: Piece) {
        self.index.give_claimed(&mut piece.0, &self.lowest);
    }

    /// Creates an entity with the lowest free index that lies at a place from the beginning, as a world does.
    ///
    /// # Errors
    /// [`Full`].
    pub fn create_placed(&self, place: Place) -> Result<Entity, Full> {
        self.index.create_lowest(&self.lowest, Some(place))
    }

    /// Destroys an entity that anybody may destroy, as one is released that nobody built: whether it was this call.
    pub fn release(&self, entity: Entity) -> bool {
        let destroyed = self.index.destroy(entity).is_ok();
        if destroyed {
            self.index.flush();
            self.lowest.freed(entity.index() / WORD_BITS);
        }
        destroyed
    }

    /// What stands in all slots, if none is others' than those of the caller's `living` entities.
    #[must_use]
    pub fn save(&self, living: usize) -> Option<SlotsThen> {
        let mut saved = SavedSlots::default();
        let alone = self.index.save_slots(&mut saved, living);
        alone.then_some(SlotsThen(saved))
    }

    /// Makes all slots what they were, as a world does, which says of places whether they are in it: whether nobody else had
    /// one of them.
    #[must_use]
    pub fn go_back(&self, then: &SlotsThen, is_own: impl Fn(Place) -> bool) -> bool {
        let (mut rewind, SlotsThen(saved)) = (Rewind::default(), then);
        let (index, lowest) = (&self.index, &self.lowest);
        let begun = index.begin_rewind(saved, &mut rewind, lowest, is_own);
        if begun {
            index.finish_rewind(saved, &mut rewind, lowest);
        }
        begun
    }

    /// Whether no slot is free where nobody would look for it. Exact while nothing changes.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        let free = self.index.first_free_word();
        free.is_none_or(|word| word >= self.lowest.seen().word())
    }
}

/// The hint tree alone, over words that the model has in its own hands.
#[derive(Debug)]
pub struct HintTree(Summary);

impl HintTree {
    /// A tree over `leaves` children with one word at its top.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn new(leaves: usize) -> Self {
        match Summary::new(leaves, 1, 0) {
            Ok(summary) => Self(summary),
            Err(error) => panic!("no memory for a hint tree: {error}"),
        }
    }

    /// Says that leaf `leaf` was found full, unless `still_full` now says otherwise.
    pub fn mark_full(&self, leaf: usize, still_full: impl Fn() -> bool) {
        self.0.mark_full(leaf, still_full);
    }

    /// Says that leaf `leaf`, which was full, is not any more.
    pub fn mark_open(&self, leaf: usize) {
        self.0.mark_open(leaf);
    }

    /// The first leaf in `from..to` that is not marked full.
    #[must_use]
    pub fn find(&self, from: usize, to: usize) -> Option<usize> {
        self.0.find(from, to)
    }
}

/// How many blocks are open, over memory that the model has in its own hands.
#[derive(Debug)]
pub struct OpenBlocks(Opened);

impl OpenBlocks {
    /// None is open.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "for models")]
    pub fn new() -> Self {
        Self(Opened::none())
    }

    /// Blocks that are open.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.count()
    }

    /// Opens the next block, after it is committed.
    pub fn open_next(&self, commit: impl Fn(Range<u32>) -> bool) -> Option<u32> {
        self.0.open_next(commit)
    }

    /// Opens all blocks up to this one, after they are committed.
    pub fn open_to(&self, block: u32, commit: impl Fn(Range<u32>) -> bool) -> bool {
        self.0.open_to(block, commit)
    }
}
