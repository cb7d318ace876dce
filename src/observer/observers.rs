//! `Observers`: those of a world.

use core::fmt;
use core::panic::Location;
use std::sync::{Arc, Weak};

use smallvec::SmallVec;

use crate::archetype::Archetype;
use crate::command::{Commands, ParallelCommands};
use crate::fragment::{FragmentError, FragmentId, FragmentInfo, FragmentRegistry, TypeInRole};
use crate::observer::{Observed, ObservedBatch, Precedence};
use crate::panics::{Panicked, end_all, end_here, note, refused, resume_alone};
use crate::query::{CompositionFilter, DynamicFilter, QueryError, Requirements, Span, masked};
use crate::span;
use crate::world::watch::{SET, WatchedRows, Watcher};
use crate::world::{World, new_identity};

/// Names an observer, unique in the process, for [`World::unobserve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverId(u64);

/// What an observer calls.
pub(crate) type ObserverRun =
    Box<dyn FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync>;

pub(super) struct Observer {
    id: ObserverId,
    precedence: Precedence,
    pub(super) observed: Observed,
    pub(super) fragment: FragmentId,
    /// What the entities must have beside it.
    requirements: Requirements,
    /// Where that was said.
    at: &'static Location<'static>,
    /// The processor that it is.
    processor: Option<Arc<str>>,
    /// It is dead when this has ended: it is called no more, and forgotten when that is next looked at.
    life: Option<Weak<()>>,
    pub(super) run: ObserverRun,
}

/// An observer of a world: from [`World::observers`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ObserverInfo<'w> {
    /// What [`World::unobserve`] takes.
    pub id: ObserverId,
    /// Which changes it observes.
    pub observed: Observed,
    /// Of which fragment, or of what in another role.
    pub fragment: FragmentId,
    /// What the entities must have beside it.
    pub requirements: &'w Requirements,
    /// Where it was made: the call that observes, or that makes the processor.
    pub at: &'static Location<'static>,
    /// The name of the [processor](crate::processor::observing_processor) that it is, if it is one.
    pub processor: Option<&'w str>,
}

/// The observers of a world, in the order in which they are called: by their precedence, and of one precedence in the order
/// in which they came.
#[derive(Debug, Default)]
pub(super) struct Observers {
    all: Vec<Observer>,
    seeing: Seeing,
}

/// The rows that an observer is shown: of one change mostly few.
pub(super) type Spans = SmallVec<[Span; 4]>;

/// So many observers are all asked about each change; of more, those are remembered that each archetype has.
const FEW: usize = 8;

/// Which observers see an archetype's entities, for those archetypes that were asked for.
#[derive(Debug, Default)]
struct Seeing {
    /// How many [versions](World::composition_version) the world had beyond one for each archetype when it was learned: as long as
    /// there are as many, archetypes have only come, and numbers have meant the same.
    lost: u64,
    /// Positions, in order.
    of: Vec<Option<Box<[u32]>>>,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer")
            .field("id", &self.id)
            .field("observed", &self.observed)
            .field("fragment", &self.fragment)
            .finish_non_exhaustive()
    }
}

impl Observer {
    fn is_dead(&self) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| life.strong_count() == 0)
    }

    /// Calls it, in a span of its own, if anybody listens.
    #[inline]
    pub(super) fn call(&mut self, batch: &mut ObservedBatch<'_>, commands: &mut Commands<'_>) {
        if span::is_observer_heard() {
            return self.call_heard(batch, commands);
        }
        (self.run)(batch, commands);
    }

    #[cold]
    fn call_heard(&mut self, batch: &mut ObservedBatch<'_>, commands: &mut Commands<'_>) {
        let Self {
            run, processor, at, ..
        } = self;
        let name = || match processor {
            Some(processor) => processor.to_string(),
            None => at.to_string(),
        };
        let (of, entities) = (batch.seat(), batch.len());
        span::observer(&of, name, entities, || run(batch, commands));
    }

    fn sees(&self, archetype: &Archetype) -> bool {
        archetype.set.contains(self.fragment) && self.requirements.met_by(archetype)
    }

    /// Which of the rows that change it observes.
    pub(super) fn spans(&self, world: &World, rows: &[WatchedRows], spans: &mut Spans) {
        spans.clear();
        let alike =
            |a: &WatchedRows, b: &WatchedRows| (a.archetype, a.other) == (b.archetype, b.other);
        for rows in rows.chunk_by(alike) {
            let archetype = &world.archetypes[rows[0].archetype as usize];
            // What is on both sides of a move has neither come nor gone.
            if !world.concerns(&rows[0], self.fragment) || !self.sees(archetype) {
                continue;
            }
            let masks = self.requirements.masks(archetype);
            for rows in rows {
                let chunk = &archetype.chunks[rows.chunk as usize];
                let span = |first, count| Span {
                    archetype: rows.archetype,
                    chunk: rows.chunk,
                    first,
                    count,
                };
                if masks.is_none() {
                    spans.push(span(rows.first, rows.count));
                    continue;
                }
                let mut joins = false;
                for row in rows.first..rows.first + rows.count {
                    let seen = masked(masks.as_deref(), chunk, row);
                    match spans.last_mut() {
                        Some(last) if seen && joins => last.count += 1,
                        _ if seen => spans.push(span(row, 1)),
                        _ => {}
                    }
                    joins = seen;
                }
            }
        }
    }
}

/// Brings spans in order, and joins those that touch: a row is there several times that was given something several times.
fn join(spans: &mut Spans) {
    spans.sort_unstable_by_key(|span| (span.archetype, span.chunk, span.first));
    spans.dedup_by(|next, last| {
        let end = last.first + last.count;
        let same = (next.archetype, next.chunk) == (last.archetype, last.chunk);
        let joins = same && next.first <= end;
        if joins {
            last.count = end.max(next.first + next.count) - last.first;
        }
        joins
    });
}

impl Observers {
    /// Those that may see rows, in order: O(those that see some of the rows' archetypes), once that is known.
    fn asked(&mut self, world: &World, rows: &[WatchedRows]) -> SmallVec<[u32; FEW]> {
        if self.all.len() <= FEW {
            return (0..self.all.len() as u32).collect();
        }
        let lost = world.composition_version - world.archetypes.len() as u64;
        if self.seeing.lost != lost {
            self.seeing.of.clear();
            self.seeing.lost = lost;
        }
        self.seeing.of.resize(world.archetypes.len(), None);
        let mut asked = SmallVec::new();
        let mut archetypes = 0;
        for rows in rows.chunk_by(|a, b| a.archetype == b.archetype) {
            let archetype = rows[0].archetype as usize;
            let seeing = self.seeing.of[archetype].get_or_insert_with(|| {
                let data = &world.archetypes[archetype];
                let all = (0..).zip(&self.all);
                let seeing = all.filter(|(_, observer)| observer.sees(data));
                seeing.map(|(at, _)| at).collect()
            });
            asked.extend_from_slice(seeing);
            archetypes += 1;
        }
        if archetypes > 1 {
            asked.sort_unstable();
            asked.dedup();
        }
        asked
    }

    /// One comes to its place. O(log observers), and O(1) for each that is called after it.
    fn insert(&mut self, observer: Observer) {
        let before = |other: &Observer| other.precedence <= observer.precedence;
        let place = self.all.partition_point(before);
        self.all.insert(place, observer);
        self.forget_seeing();
    }

    /// After one came or went.
    fn forget_seeing(&mut self) {
        self.seeing.of.clear();
    }

    /// Forgets those that are dead, if there are some: archetypes are watched for the others only. The others stay in
    /// order. O(observers), and for each dead one as [`World::unobserve`].
    fn forget_dead(&mut self, world: &mut World) {
        let dead: Vec<Observer> = self.all.extract_if(.., |one| one.is_dead()).collect();
        if dead.is_empty() {
            return;
        }
        self.forget_seeing();
        let mut fragments: Vec<FragmentId> = dead.iter().map(|gone| gone.fragment).collect();
        fragments.sort_unstable();
        fragments.dedup();
        for fragment in fragments {
            world.watch_anew(self, self.kinds(), fragment);
        }
        // Whoever had made them is gone: there is nobody to give a panic of their `drop`s to.
        let mut panicked = None;
        end_all(&mut panicked, dead);
        let dropped = "an observer whose schedule is gone";
        end_here(panicked, dropped, Some(&world.seat));
    }
}

impl Drop for Observers {
    fn drop(&mut self) {
        let mut panicked = None;
        end_all(&mut panicked, core::mem::take(&mut self.all));
        resume_alone(panicked);
    }
}

impl Watcher for Observers {
    fn kinds_of(&self, archetype: &Archetype) -> u8 {
        let seeing = self.all.iter().filter(|observer| observer.sees(archetype));
        seeing.fold(0, |kinds, observer| kinds | observer.observed.bits())
    }

    fn hear(&mut self, world: &mut World, kind: u8, rows: &[WatchedRows]) -> Panicked {
        let change = Observed::from_bits(kind);
        let mut recorders: Option<ParallelCommands> = None;
        let mut panicked = None;
        let mut spans = Spans::new();
        let mut some_dead = false;
        for at in self.asked(world, rows) {
            let observer = &mut self.all[at as usize];
            if !observer.observed.contains(change) {
                continue;
            }
            if observer.is_dead() {
                some_dead = true;
                continue;
            }
            observer.spans(world, rows, &mut spans);
            if spans.is_empty() {
                continue;
            }
            if kind == SET {
                join(&mut spans);
            }
            let recorders = recorders.get_or_insert_with(|| ParallelCommands::of_one(world));
            let mut commands = recorders.open();
            // SAFETY: the world tells of rows that hold values, each once, in order; spans are parts of them.
            let mut batch = unsafe { ObservedBatch::new(world, &spans, change) };
            note(&mut panicked, || observer.call(&mut batch, &mut commands));
        }
        if some_dead {
            self.forget_dead(world);
        }
        panicked
    }
}

impl World {
    /// Calls `run` with the entities that `Filter` matches whenever they are created or destroyed with a fragment or
    /// tag, or get or lose it, or are given a value of it, whichever of these is `observed`.
    ///
    /// *When:* what comes is shown when all its values are set, what goes before its values do; `Filter` is asked of
    /// the composition that the entities have then. A change of many is one call of an observer for each kind:
    /// all of a slice, a batch, a query, a `clear`; in a [flush](World::flush) all that is created in a round
    /// ([`CREATE`](Observed::CREATE)), and what the commands between two closures destroy, remove and add, in
    /// this order; last, each time, what was [set](Observed::SET). Observers are called in the order in which they came, and before those of
    /// [schedules](crate::processor::observing_processor), which have their own; each kind with ranges of chunks in
    /// order: all that is the same for any number of threads.
    ///
    /// *What an observer may do:* read and write the fragments of its entities and the resources, and record
    /// commands. They run in the next round of the flush that calls it; those that are recorded in a change
    /// without a flush wait for the next one. An observer that records commands which call it again, without
    /// end, is stopped after [so many rounds](World::set_flush_rounds): the report says
    /// [`unfinished`](crate::command::FlushReport::unfinished).
    ///
    /// *Who fires:* every call that creates, destroys, adds or removes: single ones, slices,
    /// batches, queries, clones, dynamic ones. Going to another world counts as destroyed here, and
    /// created there. New values of fragments that are there are told to observers of [`SET`](Observed::SET), other shared
    /// values to those of what is shared. Not: values that are written in place, switching, compaction, the end of the world; nor is anybody shown who was there before the observer, or
    /// in a world that was loaded, unless you [say so](Self::show_existing). A flush makes one
    /// change of all commands for an entity: a fragment that goes and comes in one flush was there
    /// before and is there after it, with a new value: that was set, and has neither gone nor come. If memory runs out in the middle of a change of many, or
    /// users' code panics, or an observer switches off what the change asks for, what was shown as
    /// going and stays after all is shown as coming again.
    ///
    /// *Cost:* of this call O(compositions that have the fragment). Of changes, archetypes that
    /// nobody observes cost one predicted branch each; others ask the observers that may see them,
    /// and no more than 8 others. A composition that is new asks all observers. `Filter` decides by composition and by enabled
    /// bits, and is a [`CompositionFilter`]: [`Changed`](crate::query::Changed) and [`Moved`](crate::query::Moved) are none.
    ///
    /// `T` is a type in one of its [roles](TypeInRole), one: a tuple is a fragment of its own type here, which nobody has. Who has
    /// several is asked for by the filter, `observe::<A, With<B>>`. Entities come and go that have a shared value, or a chunk
    /// fragment, as they do that have a fragment; one whose shared value is changed has one before and after: nothing comes or
    /// goes; it is [set](Observed::SET).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Burning(f32);
    /// struct Wet;
    /// #[derive(Default)]
    /// struct Fires(usize);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Fires(0));
    /// let fires = world.observe::<Burning, Without<Wet>>(Observed::COME, |batch, commands| {
    ///     batch.resources_mut().get_mut::<Fires>().unwrap().0 += batch.len();
    ///     batch.for_each::<&mut Burning>(|burning| burning.0 = 1.0).unwrap();
    ///     commands.create(("smoke",)).unwrap();
    /// })?;
    /// let logs = world.create_batch((0..1_000).map(|_| ("log",)))?;
    /// let logs = logs.to_vec(&world);
    /// let _ = world.add_slice(&logs, |_| (Burning(0.0),));
    /// assert_eq!(world.resources().get::<Fires>().unwrap().0, 1_000);
    /// assert_eq!(world.get::<Burning>(logs[7])?.0, 1.0);
    /// // One call for the whole slice: one cloud of smoke.
    /// assert_eq!(world.flush().created, 1);
    /// assert!(world.unobserve(fires));
    ///
    /// world.observe::<Shared<&str>, ()>(Observed::COME, |batch, _| {
    ///     batch.resources_mut().get_mut::<Fires>().unwrap().0 += batch.len();
    /// })?;
    /// world.create((1_u32,).shared("camp"))?;
    /// world.create((2_u32, "no camp"))?;
    /// assert_eq!(world.resources().get::<Fires>().unwrap().0, 1_001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`](crate::query::Query::new) with this filter, asking for the fragment.
    ///
    /// # Panics
    /// Never; but a panic of `run` comes back from the call that changed the world, when the change is complete
    /// and the other observers were called.
    #[doc(alias = "trigger")]
    #[doc(alias = "hook")]
    #[track_caller]
    pub fn observe<T: TypeInRole, Filter: CompositionFilter>(
        &mut self,
        observed: Observed,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        let register = FragmentRegistry::register_met::<T>;
        self.observe_registered::<Filter>(register, Precedence::OF_WORLD, observed, None, run)
    }

    /// Observes as long as `life` has not ended, in a place of its own among others; then the observer is called no more. It
    /// is forgotten when a change is found that it would have been told of, or when another one comes or goes.
    pub(crate) fn observe_while<F: CompositionFilter>(
        &mut self,
        register: impl FnOnce(&FragmentRegistry) -> Result<&FragmentInfo, FragmentError>,
        precedence: Precedence,
        life: Weak<()>,
        observed: Observed,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        self.observe_registered::<F>(register, precedence, observed, Some(life), run)
    }

    /// What an observer is told of, or what is wrong with it, before it is there.
    pub(crate) fn check_observed<F: CompositionFilter>(
        &self,
        register: impl FnOnce(&FragmentRegistry) -> Result<&FragmentInfo, FragmentError>,
    ) -> Result<Requirements, QueryError> {
        let (fragment, mut requirements) = required::<F>(self.registry(), register)?;
        check(self.registry(), fragment, &requirements)?;
        requirements.in_any_state(fragment);
        Ok(requirements)
    }

    #[track_caller]
    fn observe_registered<F: CompositionFilter>(
        &mut self,
        register: impl FnOnce(&FragmentRegistry) -> Result<&FragmentInfo, FragmentError>,
        precedence: Precedence,
        observed: Observed,
        life: Option<Weak<()>>,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        match required::<F>(self.registry(), register) {
            Ok((fragment, requirements)) => {
                self.observe_living(precedence, observed, fragment, requirements, life, run)
            }
            Err(error) => Err(refused(run, error)),
        }
    }

    /// Observes a fragment in whatever role, known by its number, as [`observe`](Self::observe) does, of entities that
    /// the filter sees. Its values are read by [`ObservedBatch::for_each_range_dynamic`].
    ///
    /// # Errors
    /// [`QueryError::Contradiction`]: the filter excludes what it asks for, or what is observed;
    /// [`FragmentError::Unknown`] for a number that the world's registry did not give out.
    #[track_caller]
    pub fn observe_dynamic(
        &mut self,
        observed: Observed,
        fragment: FragmentId,
        filter: DynamicFilter,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        match filter.requirements(self.registry()) {
            Ok(requirements) => {
                let precedence = Precedence::OF_WORLD;
                self.observe_living(precedence, observed, fragment, requirements, None, run)
            }
            Err(error) => Err(refused(run, error.into())),
        }
    }

    #[track_caller]
    fn observe_living(
        &mut self,
        precedence: Precedence,
        observed: Observed,
        fragment: FragmentId,
        requirements: Requirements,
        life: Option<Weak<()>>,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        if let Err(error) = check(self.registry(), fragment, &requirements) {
            return Err(refused(run, error));
        }
        let observer = Observer {
            id: ObserverId(new_identity()),
            precedence,
            observed,
            fragment,
            requirements,
            at: Location::caller(),
            processor: None,
            life,
            run: Box::new(run),
        };
        let id = observer.id;
        // Whoever replaces schedules again and again adds observers again and again.
        self.with_watcher(|world, observers: &mut Observers| observers.forget_dead(world));
        self.watch_more(observed.bits(), fragment, |data| observer.sees(data));
        self.watcher::<Observers>().insert(observer);
        Ok(id)
    }

    /// An observer is a processor's.
    pub(crate) fn observes_for(
        &mut self,
        id: ObserverId,
        processor: &Arc<str>,
        at: &'static Location<'static>,
    ) {
        if let Some(observer) = self.watcher::<Observers>().find(id) {
            observer.at = at;
            observer.processor = Some(Arc::clone(processor));
        }
    }

    /// The observers that there are, in the order in which they are called: what each observes, and where it was made. None
    /// while one of them is called. O(1), and O(1) for each.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let id = world.observe::<u32, Without<char>>(Observed::COME, |_, _| {})?;
    /// let observer = world.observers().next().unwrap();
    /// assert_eq!((observer.id, observer.observed), (id, Observed::COME));
    /// assert_eq!(observer.at.file(), file!());
    /// world.unobserve(id);
    /// assert_eq!(world.observers().count(), 0);
    /// # Ok::<(), QueryError>(())
    /// ```
    pub fn observers(&self) -> impl Iterator<Item = ObserverInfo<'_>> {
        let observers = self.known_watcher::<Observers>().into_iter();
        let all = observers.flat_map(|observers| &observers.all);
        let living = all.filter(|observer| !observer.is_dead());
        living.map(|observer| ObserverInfo {
            id: observer.id,
            observed: observer.observed,
            fragment: observer.fragment,
            requirements: &observer.requirements,
            at: observer.at,
            processor: observer.processor.as_deref(),
        })
    }

    /// Lets an observer go; `false` if it has gone already. O(observers), for each composition that has its fragment.
    pub fn unobserve(&mut self, observer: ObserverId) -> bool {
        let mut gone = None;
        self.with_watcher(|world, observers: &mut Observers| {
            observers.forget_dead(world);
            let at = observers.all.iter().position(|known| known.id == observer);
            let Some(at) = at else { return };
            let fragment = observers.all[at].fragment;
            gone = Some(observers.all.remove(at));
            observers.forget_seeing();
            world.watch_anew(observers, observers.kinds(), fragment);
        });
        gone.is_some()
    }
}

/// What an observer observes, and what it asks for beside it.
fn required<F: CompositionFilter>(
    registry: &FragmentRegistry,
    register: impl FnOnce(&FragmentRegistry) -> Result<&FragmentInfo, FragmentError>,
) -> Result<(FragmentId, Requirements), QueryError> {
    let mut requirements = Requirements::new();
    let fragment = register(registry)?.id();
    F::require(registry, &mut requirements)?;
    Ok((fragment, requirements))
}

/// Whether there can be an entity with both.
fn check(
    registry: &FragmentRegistry,
    fragment: FragmentId,
    requirements: &Requirements,
) -> Result<(), QueryError> {
    registry
        .get(fragment)
        .ok_or(FragmentError::Unknown { id: fragment })?;
    let mut together = requirements.clone();
    together.all(fragment, crate::query::Access::None);
    together.check(registry)
}

impl Observers {
    /// An observer, if it has not gone.
    pub(super) fn find(&mut self, id: ObserverId) -> Option<&mut Observer> {
        let mut living = self.all.iter_mut().filter(|observer| !observer.is_dead());
        living.find(|observer| observer.id == id)
    }

    fn kinds(&self) -> u8 {
        let all = self.all.iter();
        all.fold(0, |kinds, observer| kinds | observer.observed.bits())
    }
}

#[cfg(test)]
mod tests;
