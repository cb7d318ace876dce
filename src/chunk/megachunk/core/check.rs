//! What must hold of masks, flags and hints in quiet moments.

use core::ops::Range;

use super::{Core, GROUP, Memory};
#[cfg(test)]
use crate::chunk::megachunk::hints::Hints;
use crate::flaw::{FlawPlace, Found};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::MEGACHUNKS;

impl<M: Memory> Core<M> {
    /// Notes what is wrong with masks, with what is said of them, and with the number of empty mega-chunks; how many
    /// chunks are taken, by users and by threads that keep them.
    pub(crate) fn check(&self, found: &mut Found) -> u64 {
        // Ordering: Relaxed everywhere: who says that it is quiet has seen what the others did.
        let (mut taken, mut empty) = (0, 0);
        for group in 0..MEGACHUNKS / GROUP {
            let megachunks = group * GROUP..(group + 1) * GROUP;
            if !self.is_touched(group) {
                let at = FlawPlace::Megachunk(megachunks.start);
                found.expect(self.is_untouched(megachunks), at, || {
                    format!("it or one of {GROUP} from it on was used, and nobody would look there")
                });
                continue;
            }
            for megachunk in megachunks {
                let mask = self.mask(megachunk).load(Ordering::Relaxed);
                let has_memory = self.has_memory(megachunk);
                let count = mask.count_ones();
                taken += u64::from(count);
                empty += u64::from(has_memory && mask == 0);
                let at = FlawPlace::Megachunk(megachunk);
                found.expect(has_memory || mask == 0, at, || {
                    format!("{count} of its chunks are taken, and it has no memory")
                });
            }
        }
        self.hints.check(found, |megachunk| {
            self.mask(megachunk).load(Ordering::Relaxed)
        });
        self.spare.check(empty, found);
        taken
    }

    /// Says of a mega-chunk that its memory is there, or not, whether it is or not.
    #[cfg(test)]
    pub(crate) fn say_committed(&self, megachunk: u32, there: bool) {
        let flag = self.committed.get(megachunk as usize);
        flag.store(there.into(), Ordering::Relaxed);
    }

    /// Where hints are.
    #[cfg(test)]
    pub(crate) fn hints(&self) -> &Hints {
        &self.hints
    }

    /// Whether nothing is taken of some mega-chunks, and none has memory.
    fn is_untouched(&self, megachunks: Range<u32>) -> bool {
        let range = megachunks.start as usize..megachunks.end as usize;
        let mut masks = self.masks.range(range.clone()).iter();
        let mut flags = self.committed.range(range).iter();
        masks.all(|mask| mask.load(Ordering::Relaxed) == 0)
            && flags.all(|flag| flag.load(Ordering::Relaxed) == 0)
    }
}
