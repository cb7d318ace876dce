//! What is known at run time only goes from all that matches, or comes to it.

use crate::archetype::Change;
use crate::entity::Entity;
use crate::fragment::FragmentId;
use crate::query::change::ways::{chunks_of, ways};
use crate::query::{QueryChange, QueryData, QueryFilter};
use crate::world::watch::{ADDED, REMOVED, SET};
use crate::world::{Prototype, WorldError};

impl<D: QueryData, F: QueryFilter> QueryChange<'_, D, F> {
    /// Takes these fragments away: see [`remove`](Self::remove).
    ///
    /// # Errors
    /// As for that; [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown),
    /// [`Twice`](crate::fragment::FragmentError::Twice): then no entity has changed.
    pub(in crate::query) fn remove_dynamic(
        self,
        fragments: &[FragmentId],
    ) -> Result<usize, WorldError> {
        self.ending((), |change, ()| {
            let number = change.world.number_of_gone(fragments)?;
            change.remove_told(number)
        })
    }

    /// Takes fragments away, if some are named, and gives clones of a prototype's values, in one move: see
    /// [`swap`](Self::swap).
    ///
    /// # Errors
    /// As for that and [`remove_dynamic`](Self::remove_dynamic); [`WorldError::OtherUniverse`].
    pub(in crate::query) fn come_dynamic(
        self,
        gone: Option<&[FragmentId]>,
        come: &Prototype,
    ) -> Result<usize, WorldError> {
        self.ending((), |change, ()| change.come_told(gone, come))
    }

    fn come_told(
        mut self,
        gone: Option<&[FragmentId]>,
        come: &Prototype,
    ) -> Result<usize, WorldError> {
        come.refuse_foreign(self.world.registry())?;
        let gone = gone.map(|gone| self.world.number_of_gone(gone));
        let gone = gone.transpose()?;
        let number = self.world.bundles.number_of(come.fragments());
        let (change, kind) = match gone {
            Some(gone) => (Change::Swap(gone, number), REMOVED),
            None => (Change::Add(number), ADDED),
        };
        if !self.world.is_watched(ADDED | kind | SET) {
            return self.come_all(change, come);
        }
        let mut going = Vec::new();
        if kind == REMOVED {
            self.decide();
            going = self.going_along(|world, data| world.expect_archetype(data, change))?;
        }
        self.told(kind, going, |all| all.come_all(change, come))
    }

    fn come_all(mut self, change: Change, come: &Prototype) -> Result<usize, WorldError> {
        if !come.fills_rows() {
            self.check(change)?;
            let entities = self.entities();
            return self
                .world
                .give_copies(&entities, come, change)
                .into_result();
        }
        let Self {
            matches,
            world,
            seen,
        } = self;
        let ways = ways(world, &matches, |world, archetype| {
            world.edge_for(archetype, change)
        })?;
        let (mut count, mut runs) = (0, Vec::new());
        for (known, edge) in ways {
            let archetype = known.archetype;
            for chunk in (0..chunks_of(world, archetype)).rev() {
                seen.rows(world, known, chunk, &mut runs);
                for &rows in &runs {
                    count += world.give_rows_copies(archetype, rows, &edge, come, change)?;
                }
            }
        }
        Ok(count)
    }

    /// The entities that are seen, in the order of chunks and rows.
    pub(super) fn entities(&self) -> Vec<Entity> {
        let (world, mut entities, mut runs) = (&*self.world, Vec::new(), Vec::new());
        for known in self.matches.iter() {
            for chunk in 0..chunks_of(world, known.archetype) {
                self.seen.rows(world, known, chunk, &mut runs);
                let data = &world.archetypes[known.archetype as usize];
                let all = data.chunks[chunk as usize].entities();
                for rows in runs.iter().rev() {
                    let rows = rows.first as usize..(rows.first + rows.count) as usize;
                    entities.extend_from_slice(&all[rows]);
                }
            }
        }
        entities
    }
}
