//! `concurrent-slotmap` 0.2.0-alpha.1: a lock-free free list, with removed slots kept back until
//! no thread can still look at them.

use concurrent_slotmap::{SlotId, SlotMap};
use megachunk::cli::workload::id::{Abilities, IdContender, IdSession};

/// The most slots: sixteen times what any workload here keeps alive, because removed slots wait.
const CAPACITY: u32 = 1 << 24;

/// A map of nothing: its keys are the ids.
pub(crate) struct ConcurrentSlotmap(SlotMap<SlotId, ()>);

impl IdContender for ConcurrentSlotmap {
    type Id = SlotId;
    type Session<'a> = Session<'a>;

    const NAME: &'static str = "concurrent-slotmap";
    const ABILITIES: Abilities = Abilities {
        batches: false,
        exists: true,
        places: false,
        limit: None,
    };

    fn fresh() -> Self {
        Self(SlotMap::new(CAPACITY))
    }

    fn session(&self) -> Session<'_> {
        Session(&self.0)
    }

    fn placeholder() -> SlotId {
        SlotId::INVALID
    }

    #[inline(always)]
    fn to_bits(id: SlotId) -> u64 {
        u64::from(id.generation()) << 32 | u64::from(id.index())
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> SlotId {
        SlotId::new(bits as u32, (bits >> 32) as u32)
    }
}

/// Pins for each call, as the crate's own benchmarks do: a pin that is kept keeps removed slots
/// from being used again.
pub(crate) struct Session<'a>(&'a SlotMap<SlotId, ()>);

impl IdSession for Session<'_> {
    type Id = SlotId;

    #[inline(always)]
    fn create(&mut self) -> SlotId {
        self.0.insert((), &self.0.pin())
    }

    #[inline(always)]
    fn destroy(&mut self, id: SlotId) -> bool {
        self.0.remove(id, &self.0.pin()).is_some()
    }

    #[inline(always)]
    fn exists(&mut self, id: SlotId) -> bool {
        self.0.get(id, &self.0.pin()).is_some()
    }
}
