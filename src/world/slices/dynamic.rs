//! Each entity of a slice changes by fragments that are known at run time only.

use crate::archetype::{Change, Chunk, Edge, Rows, SharedId};
use crate::entity::Entity;
use crate::fragment::FragmentId;
use crate::panics::{first, note, refused, resume};
use crate::world::dynamic::write;
use crate::world::slices::SliceChange;
use crate::world::watch::{ADDED, REMOVED, SET};
use crate::world::{Prototype, SliceReport, World, WorldError};

/// Clones of a prototype's values come.
struct Copies<'a> {
    prototype: &'a Prototype,
    change: Change,
    /// The numbers of its shared values.
    shared: &'a [(FragmentId, SharedId)],
    /// Whether an entity that went by itself has got its values, also if a `drop` has panicked then.
    has_given: bool,
}

impl SliceChange for Copies<'_> {
    const HAS_RUNS: bool = true;

    fn run(
        &mut self,
        world: &mut World,
        (archetype, rows): (u32, Rows),
        at: usize,
        report: &mut SliceReport,
    ) -> Option<usize> {
        if !self.prototype.fills_rows() {
            return None;
        }
        let edge = world.edge_for(archetype, self.change).ok()?;
        self.run_along(world, (archetype, rows), &edge, at, report)
    }

    fn one(&mut self, world: &mut World, entity: Entity, _: usize) -> Result<bool, WorldError> {
        let (archetype, row) = world.find(entity)?;
        let edge = world.edge_among(archetype, row, entity, self.change, self.shared)?;
        let mut columns = Some(self.prototype.clone_columns());
        let put = |chunk: &Chunk, row| {
            if let Some(columns) = columns.take() {
                // SAFETY: a row of the edge's target that holds no values there.
                unsafe { write(chunk, &edge.offsets, row, columns) }
            }
        };
        match world.add_shared(archetype, row, entity, &edge, self.shared, put) {
            Ok(panicked) => {
                self.has_given = true;
                resume(panicked);
            }
            Err(error) => return Err(refused(columns, error)),
        }
        Ok(true)
    }
}

impl Copies<'_> {
    /// Changes a run along the edge of the change, of a prototype whose values lie in columns alone: see
    /// [`run`](SliceChange::run).
    fn run_along(
        &mut self,
        world: &mut World,
        (archetype, rows): (u32, Rows),
        edge: &Edge,
        at: usize,
        report: &mut SliceReport,
    ) -> Option<usize> {
        let prototype = self.prototype;
        if edge.target == archetype {
            if !prototype.is_bytes() || edge.ends_drop {
                // Each clone first, and then the value goes whose place it takes.
                return None;
            }
            let panicked = world.replace_rows(archetype, rows, edge, |fill| {
                // SAFETY: the edge's change is that of the prototype, and all are bytes.
                unsafe { fill.copies(prototype) };
            });
            report.done += rows.count as usize;
            resume(panicked);
            return Some(rows.count as usize);
        }
        let group = world.same_group(archetype, rows.chunk, edge.target);
        let moved = world.move_rows(archetype, rows, edge, group, |fill| {
            // SAFETY: the edge's change is that of the prototype; it leads elsewhere, where nothing is replaced.
            unsafe { fill.copies(prototype) };
        });
        report.done += moved.count as usize;
        resume(moved.panicked);
        Some(report.refuse(at + moved.count as usize, moved.refused) - at)
    }
}

impl World {
    /// Gives each entity of a slice clones of a prototype's values, and its shared values: [`add_dynamic`] of many that
    /// get the same, as a script does that tags them. Handles that are refused are reported by position. Entities that
    /// lie side by side move together, as in [`add_slice`](Self::add_slice), and columns are filled one after the
    /// other; not where the prototype has shared values, chunk fragments, or more than 16 fragments.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let batch = world.create_batch((0..1_000).map(|n| (n,)))?;
    /// let ants: Vec<Entity> = batch.iter(&world).collect();
    /// let hungry = world.registry().define_plain("hungry", Layout::new::<u32>())?.id();
    /// let value = Value::from_bytes(world.registry(), hungry, &7_u32.to_ne_bytes())?;
    /// let values = Prototype::new(world.registry(), DynamicBundle::new().with(value))?;
    /// let report = world.add_slice_dynamic(&ants, &values)?;
    /// assert_eq!(report.done, 1_000);
    /// assert_eq!(world.get_dynamic(ants[3], hungry)?.plain::<u32>()?, [7]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`WorldError::OtherUniverse`] for a prototype of another universe: then nothing has changed.
    ///
    /// # Panics
    /// As for [`add_dynamic`], and if a `clone` panics: some entities at the beginning of the slice are done then, the
    /// others as they were.
    ///
    /// [`add_dynamic`]: Self::add_dynamic
    pub fn add_slice_dynamic(
        &mut self,
        entities: &[Entity],
        values: &Prototype,
    ) -> Result<SliceReport, WorldError> {
        self.keep_versions();
        values.refuse_foreign(self.registry())?;
        let change = Change::Add(self.bundles.number_of(values.fragments()));
        if self.is_watched(ADDED | SET) {
            let report = self.told(ADDED, Vec::new(), |world| {
                world.give_copies(entities, values, change)
            });
            return Ok(report);
        }
        Ok(self.give_copies(entities, values, change))
    }

    /// Takes those of these fragments away from each entity of a slice that it has: [`remove_dynamic`] of many. Handles
    /// that are refused are reported by position; those that have none of them count as not done. Entities that lie
    /// side by side move together.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let hungry = world.registry().define_plain("hungry", Layout::new::<()>())?.id();
    /// let tag = Value::from_bytes(world.registry(), hungry, &[])?;
    /// let ant = Prototype::new(world.registry(), DynamicBundle::new().with(tag))?;
    /// let ants: Vec<Entity> = world.create_copies(&ant, 1_000)?.iter(&world).collect();
    /// assert_eq!(world.remove_slice_dynamic(&ants[..600], &[hungry])?.done, 600);
    /// assert_eq!(world.remove_slice_dynamic(&ants, &[hungry])?.done, 400);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown),
    /// [`FragmentError::Twice`](crate::fragment::FragmentError::Twice): then nothing has changed.
    ///
    /// # Panics
    /// As for [`remove_slice`](Self::remove_slice).
    ///
    /// [`remove_dynamic`]: Self::remove_dynamic
    pub fn remove_slice_dynamic(
        &mut self,
        entities: &[Entity],
        fragments: &[FragmentId],
    ) -> Result<SliceReport, WorldError> {
        self.keep_versions();
        let number = self.number_of_gone(fragments)?;
        Ok(self.remove_told_of(entities, Ok(number)))
    }

    /// Takes those of the fragments away from each entity of a slice that it has, and gives it clones of a prototype's
    /// values, in one move: [`swap_dynamic`](Self::swap_dynamic) of many that get the same. Otherwise as
    /// [`add_slice_dynamic`](Self::add_slice_dynamic).
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let registry = world.registry();
    /// let asleep = registry.define_plain("asleep", Layout::new::<()>())?.id();
    /// let awake = registry.define_plain("awake", Layout::new::<()>())?.id();
    /// let with = |id| {
    ///     let tag = Value::from_bytes(registry, id, &[])?;
    ///     Prototype::new(registry, DynamicBundle::new().with(tag))
    /// };
    /// let (sleeper, waker) = (with(asleep)?, with(awake)?);
    /// let bears: Vec<Entity> = world.create_copies(&sleeper, 1_000)?.iter(&world).collect();
    /// assert_eq!(world.swap_slice_dynamic(&bears, &[asleep], &waker)?.done, 1_000);
    /// assert!(world.has_dynamic(bears[7], awake)? && !world.has_dynamic(bears[7], asleep)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`add_slice_dynamic`](Self::add_slice_dynamic) and [`remove_slice_dynamic`](Self::remove_slice_dynamic).
    ///
    /// # Panics
    /// As for [`add_slice_dynamic`](Self::add_slice_dynamic).
    pub fn swap_slice_dynamic(
        &mut self,
        entities: &[Entity],
        gone: &[FragmentId],
        come: &Prototype,
    ) -> Result<SliceReport, WorldError> {
        self.keep_versions();
        come.refuse_foreign(self.registry())?;
        let gone = self.number_of_gone(gone)?;
        let change = Change::Swap(gone, self.bundles.number_of(come.fragments()));
        if self.is_watched(ADDED | REMOVED | SET) {
            let going = self.going_along(entities, change);
            let report = self.told(REMOVED, going, |world| {
                world.give_copies(entities, come, change)
            });
            return Ok(report);
        }
        Ok(self.give_copies(entities, come, change))
    }

    /// Rows of a chunk change along an edge, by which clones of a prototype's values come, all of which
    /// [lie in columns](Prototype::fills_rows): how many. If that panics, or is refused, the first of them may be done.
    pub(crate) fn give_rows_copies(
        &mut self,
        archetype: u32,
        rows: Rows,
        edge: &Edge,
        prototype: &Prototype,
        change: Change,
    ) -> Result<usize, WorldError> {
        let mut copies = Copies {
            prototype,
            change,
            shared: &[],
            has_given: false,
        };
        let mut report = SliceReport::default();
        if copies
            .run_along(self, (archetype, rows), edge, 0, &mut report)
            .is_none()
        {
            // They stay where they are: each clone first, and then the value goes whose place it takes.
            let all = self.archetypes[archetype as usize].chunks[rows.chunk as usize].entities();
            let some = rows.first as usize..(rows.first + rows.count) as usize;
            let entities = all[some].to_vec();
            for &entity in &entities {
                copies.one(self, entity, 0)?;
                report.done += 1;
            }
        }
        report.into_result()
    }

    /// Makes a change by which clones of a prototype's values come. If nobody gets them, nothing of it stays.
    pub(crate) fn give_copies(
        &mut self,
        entities: &[Entity],
        prototype: &Prototype,
        change: Change,
    ) -> SliceReport {
        let taken = self.take_in_copies(prototype);
        let mut report = SliceReport::default();
        let (mut panicked, mut ended) = (None, None);
        note(&mut ended, || {
            let shared = self.sharing(taken, |world, shared| {
                // Whom no chunk is left for lets go what its group has, and those behind it still name that.
                let held = shared.iter().map(|&(_, value)| value);
                held.clone().for_each(|value| world.shared.hold(value));
                let mut copies = Copies {
                    prototype,
                    change,
                    shared,
                    has_given: false,
                };
                note(&mut panicked, || {
                    world.change_slice_noting(entities, &mut copies, &mut report);
                });
                held.for_each(|value| world.shared.release(value));
                match copies.has_given || report.done > 0 {
                    true => Ok(()),
                    false => Err(WorldError::Interrupted),
                }
            });
            debug_assert!(shared.is_ok() || report.done == 0);
        });
        resume(first(panicked, ended));
        report
    }
}
