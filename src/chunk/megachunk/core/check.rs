//! What must hold of masks, flags and hints in quiet moments.

use super::{Core, Memory};
#[cfg(test)]
use crate::chunk::megachunk::hints::Hints;
use crate::flaw::{FlawPlace, Found};
use crate::sync::atomic::Ordering;

impl<M: Memory> Core<M> {
    /// Notes what is wrong with masks, with what is said of them, and with the number of empty mega-chunks; how many
    /// chunks are taken, by users and by threads that keep them. Where nothing was ever used it looks at hints only. (If
    /// something were taken there all the same, what is in use would be more.)
    pub(crate) fn check(&self, found: &mut Found) -> u64 {
        // Ordering: Relaxed everywhere: who says that it is quiet has seen what the others did.
        let (mut taken, mut empty, mut committed) = (0, 0, 0);
        // Of which all chunks are free.
        for megachunk in self.untouched().flatten() {
            self.hints.check(megachunk, 0, found);
        }
        for megachunk in self.touched().flatten() {
            let mask = self.mask(megachunk).load(Ordering::Relaxed);
            let has_memory = self.has_memory(megachunk);
            let count = mask.count_ones();
            taken += u64::from(count);
            empty += u64::from(has_memory && mask == 0);
            committed += u64::from(has_memory);
            let at = FlawPlace::Megachunk(megachunk);
            found.expect(has_memory || mask == 0, at, || {
                format!("{count} of its chunks are taken, and it has no memory")
            });
            self.hints.check(megachunk, mask, found);
        }
        self.hints.check_above(found);
        self.spare.check(empty, found);
        self.budget.check(committed, found);
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
}
