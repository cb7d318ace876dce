//! The memory of universes that have ended, which later ones find.
//!
//! Must hold: parts are whose call has exchanged them for others, or for none; and nothing of what was in them can be told.

use crate::archetype::directory::Directory;
use crate::archetype::world_numbers::WorldNumbers;
use crate::chunk::MegachunkAllocator;
use crate::entity::EntityIndex;
use crate::fragment::FragmentRegistry;
use crate::sync::atomic::{AtomicPtr, Ordering};

/// Empty mega-chunks (1 MiB each) whose memory a universe keeps: what comes and goes from frame to frame
/// does not go to the system and back.
pub(super) const RETAIN: usize = 256;

/// Those that it leaves to a later universe, which finds its first chunks there, whatever was in use; by the place
/// where it leaves them. As many universes that come and go side by side find what they had, most of it the first.
const RETAIN_SPARE: [usize; 4] = [16, 4, 4, 4];

/// What a universe that has ended leaves to a later one: everything as if it were new, but for the pages.
#[derive(Debug)]
pub(super) struct Parts {
    /// None are in use.
    pub(super) chunks: MegachunkAllocator,
    /// None of these if they were too large to be made as new.
    pub(super) index: Option<EntityIndex>,
    pub(super) registry: Option<FragmentRegistry>,
    /// All chunks are nobody's.
    pub(super) directory: Directory,
    /// All are free.
    pub(super) worlds: WorldNumbers,
}

/// The parts of universes that have ended, each place by itself.
static SPARE: [AtomicPtr<Parts>; RETAIN_SPARE.len()] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; RETAIN_SPARE.len()];

/// Leaves parts, or none, in a place; those that were there.
fn exchange(place: usize, new: Option<Parts>) -> Option<Parts> {
    let new = new.map_or(core::ptr::null_mut(), |new| Box::into_raw(Box::new(new)));
    // Ordering: AcqRel: whoever takes the parts sees them as whoever left them did.
    let old = SPARE[place].swap(new, Ordering::AcqRel);
    // SAFETY: from `into_raw` above, and the exchange has made it this call's.
    (!old.is_null()).then(|| *unsafe { Box::from_raw(old) })
}

/// Whether nothing seems to be in a place. The exchange decides.
fn is_bare(place: usize) -> bool {
    // Ordering: Relaxed, a guess.
    SPARE[place].load(Ordering::Relaxed).is_null()
}

/// Takes parts, if there are any: those with the most memory.
pub(super) fn take() -> Option<Parts> {
    let mut places = (0..SPARE.len()).filter(|&place| !is_bare(place));
    places.find_map(|place| exchange(place, None))
}

/// Leaves parts to a later universe. Where no place is bare, the youngest memory is left in the first.
pub(super) fn leave(parts: Parts) {
    let place = (0..SPARE.len()).find(|&place| is_bare(place)).unwrap_or(0);
    parts.chunks.trim_to(RETAIN_SPARE[place]);
    drop(exchange(place, Some(parts)));
}

/// Gives the memory of all parts back; whether there were any.
pub(super) fn forget() -> bool {
    let places = 0..SPARE.len();
    let forgotten = places.filter(|&place| exchange(place, None).is_some());
    forgotten.count() > 0
}
