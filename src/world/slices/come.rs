//! Each entity of a slice gets a bundle, which a closure makes.

use core::marker::PhantomData;

use crate::archetype::{Change, Rows};
use crate::entity::Entity;
use crate::fragment::Bundle;
use crate::panics::{after, resume};
use crate::world::slices::SliceChange;
use crate::world::watch::{ADDED, REMOVED, SET, WatchedRows};
use crate::world::{SliceReport, World, WorldError};

/// Bundles come, which a closure makes of positions.
struct Comes<B, M, O> {
    make: M,
    /// What they come by, if it can be.
    change: Option<Change>,
    /// Gives one entity a bundle.
    one: O,
    _bundle: PhantomData<fn() -> B>,
}

impl<B, M, O> Comes<B, M, O>
where
    B: Bundle,
    M: FnMut(usize) -> B,
    O: Fn(&mut World, Entity, B) -> Result<(), WorldError>,
{
    fn new(make: M, change: Option<Change>, one: O) -> Self {
        Self {
            make,
            change,
            one,
            _bundle: PhantomData,
        }
    }
}

impl<B, M, O> SliceChange for Comes<B, M, O>
where
    B: Bundle,
    M: FnMut(usize) -> B,
    O: Fn(&mut World, Entity, B) -> Result<(), WorldError>,
{
    /// Shared values may differ from one to the next.
    const HAS_RUNS: bool = !B::HAS_VALUES;

    fn run(
        &mut self,
        world: &mut World,
        (archetype, rows): (u32, Rows),
        at: usize,
        report: &mut SliceReport,
    ) -> Option<usize> {
        let edge = world.edge_for(archetype, self.change?).ok()?;
        let mut make = |row: u32| (self.make)(at + (row - rows.first) as usize);
        if edge.target == archetype {
            resume(world.replace_rows(archetype, rows, &edge, |fill| fill.each(make)));
            report.done += rows.count as usize;
            return Some(rows.count as usize);
        }
        let group = world.same_group(archetype, rows.chunk, edge.target);
        let moved = world.move_rows(archetype, rows, &edge, group, |fill| fill.each(&mut make));
        resume(moved.panicked);
        report.done += moved.count as usize;
        Some(report.refuse(at + moved.count as usize, moved.refused) - at)
    }

    #[inline(always)]
    fn one(&mut self, world: &mut World, entity: Entity, at: usize) -> Result<bool, WorldError> {
        let bundle = (self.make)(at);
        (self.one)(world, entity, bundle).map(|()| true)
    }
}

impl World {
    /// Gives each entity of a slice a bundle, which `bundle` makes of its position; handles that are
    /// refused are reported by position. Entities that lie side by side, as those of a batch do, move
    /// together: a copy for each fragment instead of one for each entity.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..1_000).map(|n| (n,)))?;
    /// let ants: Vec<Entity> = batch.iter(&world).collect();
    /// let report = world.add_slice(&ants, |position| (position as f32,));
    /// assert_eq!(report.done, 1_000);
    /// assert_eq!(world.get::<f32>(ants[7])?, &7.0);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`add`](Self::add), and if `bundle` panics: the entities before are done then; if the `drop` of a value
    /// that is replaced panics, also those that lie beside it; if what makes a
    /// [required value](crate::fragment::FragmentRegistry::require_with) does, some are done, whole runs of them.
    /// The others are as they were: `bundle` is asked no more.
    pub fn add_slice<B: Bundle>(
        &mut self,
        entities: &[Entity],
        mut bundle: impl FnMut(usize) -> B,
    ) -> SliceReport {
        self.keep_versions();
        let number = self.bundles.number::<B>(self.universe.registry()).ok();
        let one = |world: &mut Self, entity, bundle| world.add(entity, bundle);
        let mut comes = Comes::new(&mut bundle, number.map(Change::Add), one);
        let report = if self.is_watched(ADDED | SET) {
            self.told(ADDED, Vec::new(), |world| {
                world.change_slice(entities, &mut comes)
            })
        } else {
            self.change_slice(entities, &mut comes)
        };
        after(bundle, report)
    }

    /// Takes the fragments of `Gone` away from each entity of a slice and gives it the bundle that `come` makes of its
    /// position, in one move: [`swap`](Self::swap) of many. Handles that are refused are reported by position; entities
    /// that lie side by side move together, and where both are tags, a whole chunk stays where it is.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Asleep;
    /// struct Awake;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..1_000).map(|n| (n, Asleep)))?;
    /// let bears: Vec<Entity> = batch.iter(&world).collect();
    /// let report = world.swap_slice::<(Asleep,), _>(&bears, |_| (Awake,));
    /// assert_eq!(report.done, 1_000);
    /// assert!(world.has::<Awake>(bears[7])? && !world.has::<Asleep>(bears[7])?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// As for [`add_slice`](Self::add_slice); the `drop` of a value may also be that of one that goes.
    pub fn swap_slice<Gone: Bundle, Come: Bundle>(
        &mut self,
        entities: &[Entity],
        mut come: impl FnMut(usize) -> Come,
    ) -> SliceReport {
        self.keep_versions();
        let registry = self.universe.registry();
        let gone = self.bundles.number::<Gone>(registry);
        let number = self.bundles.number::<Come>(registry);
        let change = match (gone, number) {
            (Ok(gone), Ok(number)) => Some(Change::Swap(gone, number)),
            _ => None,
        };
        let one = |world: &mut Self, entity, come| world.swap::<Gone, Come>(entity, come);
        let mut comes = Comes::new(&mut come, change, one);
        let report = if self.is_watched(ADDED | REMOVED | SET) {
            let going = change.map_or_else(Vec::new, |change| self.going_along(entities, change));
            self.told(REMOVED, going, |world| {
                world.change_slice(entities, &mut comes)
            })
        } else {
            self.change_slice(entities, &mut comes)
        };
        after(come, report)
    }

    /// The rows of the entities of a slice that are told to go from their archetypes by a change with which others
    /// come.
    pub(super) fn going_along(&mut self, entities: &[Entity], change: Change) -> Vec<WatchedRows> {
        self.going(REMOVED, entities, |world, archetype| {
            let target = world.expect_archetype(archetype, change).ok()?;
            (target != archetype).then_some(target)
        })
    }
}
