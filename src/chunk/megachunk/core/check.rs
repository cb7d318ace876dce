//! What must hold of masks, flags and hints in quiet moments.

use super::{Core, GROUP, Memory};
use crate::flaw::{FlawPlace, Found};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::MEGACHUNKS;

impl<M: Memory> Core<M> {
    /// Notes what is wrong with masks, with what is said of them, and with the number of empty mega-chunks; how many
    /// chunks are taken, by users and by threads that keep them.
    pub(crate) fn check(&self, found: &mut Found) -> u64 {
        // Ordering: Relaxed here and below: who says that it is quiet has seen what the others did.
        let mask = |megachunk| self.mask(megachunk).load(Ordering::Relaxed);
        let (mut taken, mut empty) = (0, 0);
        for megachunk in 0..MEGACHUNKS {
            let (mask, has_memory) = (mask(megachunk), self.has_memory(megachunk));
            if mask == 0 && !has_memory {
                continue;
            }
            let at = FlawPlace::Megachunk(megachunk);
            taken += u64::from(mask.count_ones());
            empty += u64::from(mask == 0);
            found.expect(has_memory, at, || {
                format!(
                    "{} of its chunks are taken, and it has no memory",
                    mask.count_ones()
                )
            });
            let group = &self.touched[(megachunk / GROUP) as usize];
            found.expect(group.load(Ordering::Relaxed) == 1, at, || {
                "it has memory, and nobody would look for that".into()
            });
        }
        self.hints.check(found, mask);
        self.spare.check(empty, found);
        taken
    }
}
