//! `Places`: where chunks lie in a list, by their memory.

use crate::chunk::Run;

/// So many chunks that are not where they were looked for are found by a look at all: most often there are a few.
const LOOKS: usize = 16;

/// Where chunks lie in a list that does not change meanwhile. Found at once where they are expected; of the others a few by a
/// look at all, and more by a table, which is made for them.
#[derive(Debug, Default)]
pub(super) struct Places {
    looks: usize,
    /// In the order of runs; empty until there are many to be found.
    by_run: Vec<(Run, u32)>,
}

impl Places {
    /// Where the chunk lies that has this memory, among `count` of which `run_at` says theirs. O(1) where it is `expected`;
    /// else O(log chunks), but for the first ones, O(chunks), and one, O(chunks log chunks).
    pub(super) fn find(
        &mut self,
        run: Run,
        expected: usize,
        (count, run_at): (usize, impl Fn(usize) -> Run),
    ) -> Option<usize> {
        if expected < count && run_at(expected) == run {
            return Some(expected);
        }
        if self.looks < LOOKS {
            self.looks += 1;
            return (0..count).find(|&at| run_at(at) == run);
        }
        if self.by_run.len() < count {
            let all = (0..).zip(0..count);
            self.by_run
                .extend(all.map(|(at, place)| (run_at(place), at)));
            self.by_run.sort_unstable();
        }
        let found = self.by_run.binary_search_by_key(&run, |&(run, _)| run);
        found.ok().map(|found| self.by_run[found].1 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn many_are_found_by_a_table_and_all_where_they_are() {
        let run = |n: u32| Run::new(n, 1).unwrap();
        const COUNT: u32 = 1_000;
        // 7 has no divisor in common with the count: each is there once.
        let there: Vec<Run> = (0..COUNT).map(|n| run(n * 7 % COUNT)).collect();
        let looked = Cell::new(0);
        let run_at = |at: usize| {
            looked.set(looked.get() + 1);
            there[at]
        };
        let mut places = Places::default();
        for expected in 0..COUNT as usize {
            let found = places.find(there[expected], expected, (there.len(), run_at));
            assert_eq!(found, Some(expected));
        }
        assert_eq!(looked.replace(0), COUNT, "one look each");
        for n in 0..COUNT * 2 {
            let found = places.find(run(n), n as usize, (there.len(), run_at));
            let is = there.iter().position(|&there| there == run(n));
            assert_eq!(found, is, "{n}");
        }
        // Where each is expected; all for the first few, and once for the table.
        assert!(
            looked.get() <= COUNT + (LOOKS as u32 + 1) * COUNT,
            "{looked:?}"
        );
    }
}
