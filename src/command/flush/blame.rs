//! Who recorded what was refused. Nothing of that stands beside a command: a recorder's commands lie together, and whose
//! they are is looked up when there is somebody to be told.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::command::author::Author;
use crate::command::flush::{Flush, Piece};
use crate::command::lane::{Lane, Op};
use crate::entity::Entity;
use crate::world::{World, WorldError};

impl Flush<'_> {
    /// Who recorded a piece of commands.
    #[cold]
    pub(super) fn author(&self, world: &World, lanes: &[&Lane], piece: &Piece) -> Author {
        let segment = &lanes[piece.lane].segments[piece.segment];
        world.ranks.author(segment.precedence, self.began)
    }

    /// Says of what was refused since there were so many by whom it was recorded: all whose commands for the entity have
    /// become the one change that was refused; of a switch that is not there, those who switch. O(refused + commands), the
    /// latter of this batch.
    #[cold]
    #[inline(never)]
    pub(super) fn blame(
        &mut self,
        world: &World,
        lanes: &[&Lane],
        pieces: &[Piece],
        refused: usize,
    ) {
        /// Which of the authors have recorded something for an entity, and something that switches.
        #[derive(Default)]
        struct Found {
            all: SmallVec<[u32; 2]>,
            switches: SmallVec<[u32; 2]>,
        }
        let refused = refused..self.report.refused.len();
        let entries = &self.report.refused[refused.clone()];
        let mut found: HashMap<Entity, Found> = entries
            .iter()
            .map(|entry| (entry.entity, Found::default()))
            .collect();
        let mut authors: Vec<Author> = Vec::new();
        for piece in pieces {
            let author = self.author(world, lanes, piece);
            // Pieces of one author follow each other: the recorders of one processor.
            let known = authors.iter().rposition(|known| *known == author);
            let author = known.unwrap_or_else(|| {
                authors.push(author);
                authors.len() - 1
            }) as u32;
            let lane = lanes[piece.lane];
            for part in lane.log.parts(piece.commands.clone()) {
                for (entity, word) in part.commands() {
                    let Some(found) = found.get_mut(&entity) else {
                        continue;
                    };
                    let add = |list: &mut SmallVec<[u32; 2]>| {
                        if !list.contains(&author) {
                            list.push(author);
                        }
                    };
                    add(&mut found.all);
                    if let Op::Switch { .. } = lane.ops[word.op() as usize] {
                        add(&mut found.switches);
                    }
                }
            }
        }
        for entry in &mut self.report.refused[refused] {
            let Some(found) = found.get(&entry.entity) else {
                continue;
            };
            let of_this = match entry.error {
                WorldError::NotEnableable { .. } => &found.switches,
                _ => &found.all,
            };
            let of_this = of_this
                .iter()
                .map(|&author| authors[author as usize].clone());
            entry.by = Author::of_all(of_this.collect());
        }
    }
}
