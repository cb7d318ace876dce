//! Blocks are opened after their memory is committed: who sees that one is open may touch it.
//!
//! The model holds what is committed, as a system does that keeps account: whoever commits the same again changes
//! nothing.

use core::ops::Range;

use loom::sync::Arc;
use loom::thread;
use megachunk::entity::model::OpenBlocks;
use megachunk::sync::atomic::{AtomicU32, Ordering};
use megachunk::sync::geometry::BLOCKS;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// Blocks, and whether there is memory for each.
struct Blocks {
    open: OpenBlocks,
    committed: Vec<AtomicU32>,
    /// How many the system grants.
    granted: u32,
}

impl Blocks {
    fn new(granted: u32) -> Arc<Self> {
        Arc::new(Self {
            open: OpenBlocks::new(),
            committed: (0..BLOCKS).map(|_| AtomicU32::new(0)).collect(),
            granted,
        })
    }

    /// As a system does it: all or none.
    fn commit(&self, blocks: Range<u32>) -> bool {
        if blocks.end > self.granted {
            return false;
        }
        for block in blocks {
            // Relaxed: nothing but the number of open blocks orders what others see.
            self.committed[block as usize].store(1, Ordering::Relaxed);
        }
        true
    }

    fn open_next(&self) -> Option<u32> {
        let opened = self.open.open_next(|blocks| self.commit(blocks));
        if let Some(block) = opened {
            self.touch(block);
        }
        opened
    }

    fn open_to(&self, block: u32) -> bool {
        let open = self.open.open_to(block, |blocks| self.commit(blocks));
        if open {
            (0..=block).for_each(|block| self.touch(block));
        }
        open
    }

    /// Looks at a slot of a block.
    fn touch(&self, block: u32) {
        let there = self.committed[block as usize].load(Ordering::Relaxed) == 1;
        assert!(there, "block {block} is touched before it is committed");
    }

    /// Looks at slots by handles that anybody may have made up: in all blocks that are open.
    fn look(&self) -> u32 {
        let open = self.open.count();
        (0..open).for_each(|block| self.touch(block));
        open
    }
}

#[test]
fn an_open_block_is_there_for_whoever_looks() {
    model(
        "an_open_block_is_there_for_whoever_looks",
        Exhaustive,
        || {
            let blocks = Blocks::new(BLOCKS);
            let opener = {
                let blocks = Arc::clone(&blocks);
                thread::spawn(move || blocks.open_next())
            };
            assert!(blocks.look() <= 1);
            assert_eq!(opener.join().unwrap(), Some(0));
            assert_eq!(blocks.look(), 1);
        },
    );
}

#[test]
fn two_that_open_get_different_blocks() {
    model("two_that_open_get_different_blocks", Exhaustive, || {
        let blocks = Blocks::new(BLOCKS);
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || blocks.open_next())
        };
        let mine = blocks.open_next();
        let mut both = [mine, other.join().unwrap()];
        both.sort_unstable();
        assert_eq!(both, [Some(0), Some(1)]);
        // There are no more.
        assert_eq!((BLOCKS, blocks.open_next()), (2, None));
    });
}

#[test]
fn two_that_open_the_same_both_find_it() {
    model("two_that_open_the_same_both_find_it", Exhaustive, || {
        let blocks = Blocks::new(BLOCKS);
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || blocks.open_to(1))
        };
        assert!(blocks.open_to(0));
        assert!(other.join().unwrap());
        assert_eq!(blocks.look(), 2);
    });
}

#[test]
fn one_that_opens_far_and_one_that_opens_the_next_agree() {
    model(
        "one_that_opens_far_and_one_that_opens_the_next_agree",
        Preemptions(3),
        || {
            let blocks = Blocks::new(BLOCKS);
            let others = [true, false].map(|far| {
                let blocks = Arc::clone(&blocks);
                thread::spawn(move || match far {
                    true => blocks.open_to(1),
                    false => blocks.open_next().is_some(),
                })
            });
            blocks.look();
            let [far, next] = others.map(|other| other.join().unwrap());
            // The one opens both blocks, before or after the other opens one.
            assert!(far);
            assert_eq!(blocks.look(), 2);
            let _ = next;
        },
    );
}

#[test]
fn a_block_without_memory_is_never_open() {
    model("a_block_without_memory_is_never_open", Exhaustive, || {
        let blocks = Blocks::new(1);
        let other = {
            let blocks = Arc::clone(&blocks);
            thread::spawn(move || (blocks.open_next(), blocks.look()))
        };
        let mine = blocks.open_next();
        let (theirs, seen) = other.join().unwrap();
        // One of them has it, the other is refused.
        assert_eq!([mine, theirs].iter().flatten().collect::<Vec<_>>(), [&0]);
        assert_eq!(seen, 1);
        assert!(!blocks.open_to(1));
        assert_eq!(blocks.look(), 1);
    });
}
