//! Each entity of a slice loses fragments.

use crate::archetype::{Change, Rows};
use crate::entity::Entity;
use crate::fragment::{Bundle, FragmentError};
use crate::panics::{Panicked, first, note, resume};
use crate::world::slices::SliceChange;
use crate::world::watch::REMOVED;
use crate::world::{SliceReport, World, WorldError};

/// The fragments of a bundle go.
struct Goes {
    /// The bundle's number, or why it has none.
    number: Result<u32, FragmentError>,
    /// What users' `drop`s have panicked with.
    panicked: Panicked,
}

impl SliceChange for Goes {
    const HAS_RUNS: bool = true;

    fn run(
        &mut self,
        world: &mut World,
        (archetype, rows): (u32, Rows),
        at: usize,
        report: &mut SliceReport,
    ) -> Option<usize> {
        let number = *self.number.as_ref().ok()?;
        let edge = world.edge_for(archetype, Change::Remove(number)).ok()?;
        if edge.target == archetype {
            return Some(rows.count as usize);
        }
        let group = world.same_group(archetype, rows.chunk, edge.target);
        let moved = world.move_rows::<()>(archetype, rows, &edge, group, |fill| fill.nothing());
        report.done += moved.count as usize;
        if moved.count < rows.count && moved.refused.is_none() {
            // A `clone` has panicked that was to begin a chunk.
            resume(moved.panicked);
            return None;
        }
        self.panicked = first(self.panicked.take(), moved.panicked);
        Some(report.refuse(at + moved.count as usize, moved.refused) - at)
    }

    #[inline(always)]
    fn one(&mut self, world: &mut World, entity: Entity, _: usize) -> Result<bool, WorldError> {
        let found = world.finder().find_place(entity);
        let found = found.ok_or_else(|| world.refuse(entity))?;
        let number = match &self.number {
            Ok(number) => *number,
            Err(error) => return Err(error.clone().into()),
        };
        world.remove_found(found, entity, number, |more| {
            self.panicked = first(self.panicked.take(), more);
        })
    }
}

impl World {
    /// Takes fragments away from each entity of a slice; handles that are refused are reported by
    /// position. Those that have none of them count as not done. Entities that lie side by side move
    /// together.
    ///
    /// # Panics
    /// If the `drop` of a value panics: all that the slice names are done then, and every value is dropped. If the
    /// `clone` of what a new chunk begins with does: the entities before are done.
    pub fn remove_slice<B: Bundle>(&mut self, entities: &[Entity]) -> SliceReport {
        self.keep_versions();
        let number = self.bundles.number::<B>(self.universe.registry());
        self.remove_told_of(entities, number)
    }

    /// The same of the bundle with this number, or of none.
    pub(super) fn remove_told_of(
        &mut self,
        entities: &[Entity],
        number: Result<u32, FragmentError>,
    ) -> SliceReport {
        if !self.is_watched(REMOVED) {
            return self.remove_all(entities, number);
        }
        let mut going = Vec::new();
        if let Ok(number) = number {
            going = self.going(REMOVED, entities, |world, archetype| {
                let edge = world.edge_for(archetype, Change::Remove(number)).ok()?;
                (edge.target != archetype).then_some(edge.target)
            });
        }
        self.told(REMOVED, going, |world| world.remove_all(entities, number))
    }

    #[inline]
    fn remove_all(
        &mut self,
        entities: &[Entity],
        number: Result<u32, FragmentError>,
    ) -> SliceReport {
        let mut goes = Goes {
            number,
            panicked: None,
        };
        let (mut report, mut stopped) = (SliceReport::default(), None);
        note(&mut stopped, || {
            report = self.change_slice(entities, &mut goes)
        });
        if goes.panicked.is_some() || stopped.is_some() {
            drop(report);
            resume(first(goes.panicked, stopped));
            unreachable!("a panic goes on");
        }
        report
    }
}
