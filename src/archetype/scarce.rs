//! `Scarce`: for tests, memory that ends where they say.

use std::sync::Arc;

use crate::archetype::Universe;
use crate::chunk::{ChunkOptions, MEGACHUNK_CHUNKS, Run};
use crate::entity::IndexOptions;
use crate::world::World;

/// A universe with so many chunks as [`leave`](Self::leave) says.
pub(crate) struct Scarce {
    /// The universe.
    pub(crate) universe: Arc<Universe>,
    /// What nobody else can have.
    taken: Vec<Run>,
}

impl Scarce {
    /// A universe with as many chunks as any test leaves: a budget of eight mega-chunks spares taking a million.
    pub(crate) fn new() -> Self {
        let (index, chunks) = (IndexOptions::new(), ChunkOptions::new());
        let universe = Universe::with(
            &index.huge_pages(false),
            &chunks.huge_pages(false).at_most(8),
        );
        Self {
            universe: Arc::new(universe.unwrap()),
            taken: Vec::new(),
        }
    }

    /// Takes all chunks but `left`, which are singles.
    pub(crate) fn leave(&mut self, left: usize) {
        let mut len = MEGACHUNK_CHUNKS as u32;
        while len > 0 {
            match self.universe.take_chunk(len) {
                Ok(run) => self.taken.push(run),
                Err(_) => len /= 2,
            }
        }
        for _ in 0..left {
            if self.taken.last().is_none_or(|run| run.len() > 1) {
                let run = self.taken.pop().expect("there were chunks");
                // SAFETY: taken above.
                unsafe { self.universe.give_chunk(run) };
                let singles = (0..run.len()).map(|_| self.universe.take_chunk(1));
                self.taken
                    .extend(singles.map(|run| run.expect("just given back")));
            }
            let run = self.taken.pop().expect("there were chunks");
            // SAFETY: as above.
            unsafe { self.universe.give_chunk(run) };
        }
    }

    /// A world, and whether nothing is lost, besides what was taken.
    pub(crate) fn check(&self, world: &World) {
        world.check().unwrap();
        let taken: usize = self.taken.iter().map(|run| run.len() as usize).sum();
        let error = self.universe.check([world]).unwrap_err();
        let [flaw] = error.flaws() else {
            panic!("{error}")
        };
        let of_worlds = self.universe.chunks_in_use() - taken;
        let said = format!("worlds have {of_worlds}");
        assert!(flaw.what().ends_with(&said), "{flaw}, and not {said}");
    }
}

impl Drop for Scarce {
    fn drop(&mut self) {
        for run in self.taken.drain(..) {
            // SAFETY: taken by `leave`.
            unsafe { self.universe.give_chunk(run) };
        }
    }
}
