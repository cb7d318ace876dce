//! `sharded-slab` 0.1.7: a slab for each thread, with a list of what other threads removed.

use megachunk::cli::workload::id::{Abilities, IdContender, IdSession};
use sharded_slab::Slab;

/// A slab of nothing: its keys are the ids.
pub(crate) struct ShardedSlab(Slab<()>);

impl IdContender for ShardedSlab {
    type Id = usize;
    type Session<'a> = Session<'a>;

    const NAME: &'static str = "sharded-slab";
    const ABILITIES: Abilities = Abilities {
        batches: false,
        exists: true,
        places: false,
        limit: None,
    };

    fn fresh() -> Self {
        Self(Slab::new())
    }

    fn session(&self) -> Session<'_> {
        Session(&self.0)
    }

    fn placeholder() -> usize {
        usize::MAX
    }

    #[inline(always)]
    fn to_bits(key: usize) -> u64 {
        key as u64 + 1
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> usize {
        (bits - 1) as usize
    }
}

/// The slab knows its threads by itself.
pub(crate) struct Session<'a>(&'a Slab<()>);

impl IdSession for Session<'_> {
    type Id = usize;

    #[inline(always)]
    fn create(&mut self) -> usize {
        self.0.insert(()).expect("the slab has room")
    }

    #[inline(always)]
    fn destroy(&mut self, key: usize) -> bool {
        self.0.remove(key)
    }

    #[inline(always)]
    fn exists(&mut self, key: usize) -> bool {
        self.0.contains(key)
    }
}
