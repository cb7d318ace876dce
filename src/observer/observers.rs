//! `Observers`: those of a world.

use core::fmt;
use std::sync::Weak;

use smallvec::SmallVec;

use crate::archetype::Archetype;
use crate::command::{Commands, ParallelCommands};
use crate::fragment::{
    Fragment, FragmentError, FragmentId, FragmentInfo, FragmentRegistry, FragmentRole,
};
use crate::observer::{Observed, ObservedBatch};
use crate::panics::{Panicked, end_all, end_here, note, refused, resume_alone};
use crate::query::{QueryError, QueryFilter, Requirements, Span, masked};
use crate::world::watch::{NOWHERE, WatchedRows, Watcher};
use crate::world::{World, new_identity};

/// Names an observer, unique in the process, for [`World::unobserve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObserverId(u64);

/// What an observer calls.
pub(crate) type ObserverRun =
    Box<dyn FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync>;

pub(super) struct Observer {
    id: ObserverId,
    pub(super) observed: Observed,
    pub(super) fragment: FragmentId,
    /// What the entities must have beside it.
    requirements: Requirements,
    /// It is dead when this has ended: it is called no more, and forgotten when that is next looked at.
    life: Option<Weak<()>>,
    pub(super) run: ObserverRun,
}

/// The observers of a world, in the order in which they came: the order in which they are called.
#[derive(Debug, Default)]
pub(super) struct Observers {
    all: Vec<Observer>,
    seeing: Seeing,
}

/// So many observers are all asked about each change; of more, those are remembered that each archetype has.
const FEW: usize = 8;

/// Which observers see an archetype's entities, for those archetypes that were asked for.
#[derive(Debug, Default)]
struct Seeing {
    /// The world's archetypes when it was learned: numbers have meant the same as long as there are as many versions.
    data_version: u64,
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

    fn sees(&self, archetype: &Archetype) -> bool {
        archetype.set.contains(self.fragment) && self.requirements.met_by(archetype)
    }

    /// Which of the rows that change it observes.
    pub(super) fn spans(&self, world: &World, rows: &[WatchedRows], spans: &mut Vec<Span>) {
        spans.clear();
        let alike =
            |a: &WatchedRows, b: &WatchedRows| (a.archetype, a.other) == (b.archetype, b.other);
        for rows in rows.chunk_by(alike) {
            let archetype = &world.archetypes[rows[0].archetype as usize];
            // What is on both sides of a move has neither come nor gone.
            let stays =
                rows[0].other != NOWHERE && world.set_of(rows[0].other).contains(self.fragment);
            if stays || !self.sees(archetype) {
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

impl Observers {
    /// Those that may see rows, in order: O(those that see some of the rows' archetypes), once that is known.
    fn asked(&mut self, world: &World, rows: &[WatchedRows]) -> SmallVec<[u32; FEW]> {
        if self.all.len() <= FEW {
            return (0..self.all.len() as u32).collect();
        }
        if self.seeing.data_version != world.data_version {
            self.seeing.of.clear();
            self.seeing.data_version = world.data_version;
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
        end_here(panicked, "an observer whose schedule is gone");
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
        let mut spans = Vec::new();
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
            let recorders = recorders.get_or_insert_with(|| ParallelCommands::of_one(world));
            let mut commands = recorders.open();
            // SAFETY: the world tells of rows that hold values, each once, in order; spans are parts of them.
            let mut batch = unsafe { ObservedBatch::new(world, &spans, change) };
            note(&mut panicked, || (observer.run)(&mut batch, &mut commands));
        }
        if some_dead {
            self.forget_dead(world);
        }
        panicked
    }
}

impl World {
    /// Calls `run` with the entities that `F` matches whenever they are created or destroyed with a fragment or
    /// tag, or get or lose it, whichever of these is `observed`.
    ///
    /// *When:* what comes is shown when all its values are set, what goes before its values do; `F` is asked of
    /// the composition that the entities have then. A change of many is one call of an observer for each kind:
    /// all of a slice, a batch, a query, a `clear`; in a [flush](World::flush) all that is created in a round
    /// ([`CREATE`](Observed::CREATE)), and what the commands between two closures destroy, remove and add, in
    /// this order. Observers are called in the order in which they came, each kind with ranges of chunks in
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
    /// created there. Not: new values of fragments that are there, switching, other shared values,
    /// compaction, the end of the world; nor is anybody shown who was there before the observer, or
    /// in a world that was loaded, unless you [say so](Self::show_existing). A flush makes one
    /// change of all commands for an entity: a fragment that goes and comes in one flush was there
    /// before and is there after it, with a new value, and nobody hears of it. If memory runs out in the middle of a change of many, or
    /// users' code panics, or an observer switches off what the change asks for, what was shown as
    /// going and stays after all is shown as coming again.
    ///
    /// *Cost:* of this call O(compositions that have the fragment). Of changes, archetypes that
    /// nobody observes cost one predicted branch each; others ask the observers that may see them,
    /// and no more than 8 others. A composition that is new asks all observers. `F` decides by composition and by enabled bits;
    /// [`Changed`](crate::query::Changed) and [`Moved`](crate::query::Moved) do not compile.
    ///
    /// `T` is a fragment or tag; of a shared one, or of one a chunk: [`observe_role`](Self::observe_role).
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
    /// let logs: Vec<Entity> = logs.iter(&world).collect();
    /// let _ = world.add_slice(&logs, |_| (Burning(0.0),));
    /// assert_eq!(world.resources().get::<Fires>().unwrap().0, 1_000);
    /// assert_eq!(world.get::<Burning>(logs[7])?.0, 1.0);
    /// // One call for the whole slice: one cloud of smoke.
    /// assert_eq!(world.flush().created, 1);
    /// assert!(world.unobserve(fires));
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
    pub fn observe<T: Fragment, F: QueryFilter>(
        &mut self,
        observed: Observed,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        self.observe_registered::<F>(FragmentRegistry::register::<T>, observed, None, run)
    }

    /// Observes as long as `life` has not ended; then the observer is called no more. It is forgotten when a change is
    /// found that it would have been told of, or when another one comes or goes.
    pub(crate) fn observe_while<T: Fragment, F: QueryFilter>(
        &mut self,
        life: Weak<()>,
        observed: Observed,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        self.observe_registered::<F>(FragmentRegistry::register::<T>, observed, Some(life), run)
    }

    /// Observes a type in a [role](FragmentRole), as [`observe`](Self::observe) does a fragment: entities come and go
    /// that have a shared value, or a chunk fragment. An entity whose shared value is changed has one before and
    /// after: nothing comes or goes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(0_usize);
    /// world.observe_role::<Shared<&str>, ()>(Observed::COME, |batch, _| {
    ///     *batch.resources_mut().get_mut::<usize>().unwrap() += batch.len();
    /// })?;
    /// world.create((1_u32,).shared("red"))?;
    /// world.create((2_u32, "no team"))?;
    /// assert_eq!(world.resources().get::<usize>(), Some(&1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`observe`](Self::observe).
    pub fn observe_role<R: FragmentRole, F: QueryFilter>(
        &mut self,
        observed: Observed,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        self.observe_registered::<F>(R::register, observed, None, run)
    }

    fn observe_registered<F: QueryFilter>(
        &mut self,
        register: impl FnOnce(&FragmentRegistry) -> Result<&FragmentInfo, FragmentError>,
        observed: Observed,
        life: Option<Weak<()>>,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        const { assert!(F::SEES_ALL, "observers see changes, not versions") };
        let required = |registry: &FragmentRegistry| {
            let mut requirements = Requirements::new();
            let fragment = register(registry)?.id();
            F::require(registry, &mut requirements)?;
            Ok((fragment, requirements))
        };
        match required(self.registry()) {
            Ok((fragment, requirements)) => {
                self.observe_living(observed, fragment, requirements, life, run)
            }
            Err(error) => Err(refused(run, error)),
        }
    }

    /// Observes a fragment in whatever role, known by its number, as [`observe`](Self::observe) does, of entities that
    /// meet `requirements`.
    ///
    /// # Errors
    /// [`QueryError`]: the requirements exclude what they ask for;
    /// [`FragmentError::Unknown`].
    pub fn observe_dynamic(
        &mut self,
        observed: Observed,
        fragment: FragmentId,
        requirements: Requirements,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        self.observe_living(observed, fragment, requirements, None, run)
    }

    fn observe_living(
        &mut self,
        observed: Observed,
        fragment: FragmentId,
        requirements: Requirements,
        life: Option<Weak<()>>,
        run: impl FnMut(&mut ObservedBatch<'_>, &mut Commands<'_>) + Send + Sync + 'static,
    ) -> Result<ObserverId, QueryError> {
        let check = |registry: &FragmentRegistry| -> Result<(), QueryError> {
            registry
                .get(fragment)
                .ok_or(FragmentError::Unknown { id: fragment })?;
            let mut together = requirements.clone();
            together.all(fragment, crate::query::Access::None);
            together.check(registry)
        };
        if let Err(error) = check(self.registry()) {
            return Err(refused(run, error));
        }
        let observer = Observer {
            id: ObserverId(new_identity()),
            observed,
            fragment,
            requirements,
            life,
            run: Box::new(run),
        };
        let id = observer.id;
        // Whoever replaces schedules again and again adds observers again and again.
        self.with_watcher(|world, observers: &mut Observers| observers.forget_dead(world));
        self.watch_more(observed.bits(), fragment, |data| observer.sees(data));
        let observers = self.watcher::<Observers>();
        observers.all.push(observer);
        observers.forget_seeing();
        Ok(id)
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
mod tests {
    use super::*;
    use crate::fragment::{DynamicBundle, Value};
    use crate::query::Access;
    use core::alloc::Layout;
    use std::sync::Arc;

    #[test]
    fn archetypes_are_watched_as_their_observers_say_whichever_came_first() {
        let mut world = World::new();
        let ids: Vec<FragmentId> = (0..6)
            .map(|n| {
                let registry = world.registry();
                let id = registry.define_plain(&format!("{n}"), Layout::new::<u32>());
                id.unwrap().id()
            })
            .collect();
        let mut state = 1_u64;
        let mut number = move |limit| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize % limit
        };
        let mut observers = Vec::new();
        let mut lives = Vec::new();
        for round in 0..600 {
            match number(6) {
                0 => {
                    let mut bundle = DynamicBundle::new();
                    for &id in ids.iter().filter(|_| number(2) == 0) {
                        bundle =
                            bundle.with(Value::from_bytes(world.registry(), id, &[0; 4]).unwrap());
                    }
                    world.create_dynamic(bundle).unwrap();
                }
                1 | 2 => {
                    let (fragment, other) = (ids[number(6)], ids[number(6)]);
                    let mut requirements = Requirements::new();
                    match number(3) {
                        0 => requirements.all(other, Access::None),
                        1 if other != fragment => requirements.none(other),
                        _ => {}
                    }
                    let observed = Observed::from_bits(1 << number(4) | 1 << number(4));
                    let life = (number(2) == 0).then(|| Arc::new(()));
                    let weak = life.as_ref().map(Arc::downgrade);
                    let run = |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {};
                    let id = world.observe_living(observed, fragment, requirements, weak, run);
                    match life {
                        Some(life) => lives.push((id.unwrap(), life)),
                        None => observers.push(id.unwrap()),
                    }
                }
                3 if !lives.is_empty() => {
                    let (dead, life) = lives.swap_remove(number(lives.len()));
                    drop(life);
                    // Nobody has looked yet, or somebody asks for it.
                    assert!(number(2) == 0 || !world.unobserve(dead));
                }
                _ if !observers.is_empty() => {
                    let gone = observers.swap_remove(number(observers.len()));
                    assert!(world.unobserve(gone) && !world.unobserve(gone));
                }
                _ => {}
            }
            if round == 300 {
                world.collect_archetypes();
            }
            let kinds = world.watcher::<Observers>().kinds();
            for bit in [0, 1, 2, 3] {
                assert_eq!(world.is_watched(1 << bit), kinds & 1 << bit != 0);
            }
            for data in &world.archetypes {
                assert_eq!(data.watched, world.watched_kinds(data));
            }
        }
        assert!(world.archetypes.len() > 30);
    }

    #[test]
    fn the_dead_are_forgotten_when_they_would_be_told_and_when_another_comes() {
        let mut world = World::new();
        world.create((1_u8,)).unwrap();
        world.create((1_u8, 2_u16)).unwrap();
        let watched = |world: &World| [0, 1].map(|at| world.archetypes[at].watched);
        let heard = Arc::new(crate::sync::Mutex::new(Vec::new()));
        let observe = |world: &mut World, number, life: Option<&Arc<()>>| {
            let heard = Arc::clone(&heard);
            let run = move |_: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                heard.lock().push(number);
            };
            match life {
                Some(life) => {
                    world.observe_while::<u8, ()>(Arc::downgrade(life), Observed::COME, run)
                }
                None => world.observe::<u16, ()>(Observed::GO, run),
            }
        };
        // More than a few, and few.
        for count in [30, 3] {
            let lives: Vec<Arc<()>> = (0..count).map(|_| Arc::new(())).collect();
            let mut ids = Vec::new();
            for (number, life) in (0..).zip(&lives) {
                ids.push(observe(&mut world, number, Some(life)).unwrap());
            }
            let stays = observe(&mut world, 100, None).unwrap();
            let come = Observed::COME.bits();
            assert_eq!(watched(&world), [come, come | Observed::GO.bits()]);
            let mut lives: Vec<Option<Arc<()>>> = lives.into_iter().map(Some).collect();
            lives[1] = None;
            assert_eq!(world.show_existing(ids[1]), 0);
            assert_eq!(world.show_existing(ids[0]), 2);
            heard.lock().clear();
            // A change that it would not have been told of.
            let entity = world.create((2_u16,)).unwrap();
            world.destroy(entity).unwrap();
            assert_eq!(core::mem::take(&mut *heard.lock()), [100]);
            assert_eq!(world.watcher::<Observers>().all.len(), count + 1);
            let entity = world.create((1_u8,)).unwrap();
            assert_eq!(world.watcher::<Observers>().all.len(), count);
            world.destroy(entity).unwrap();
            let told = core::mem::take(&mut *heard.lock());
            let living = (0..count).filter(|&number| number != 1);
            assert_eq!(told, living.collect::<Vec<_>>());
            lives.clear();
            assert!(!world.unobserve(ids[0]) && !world.unobserve(ids[1]));
            assert_eq!(world.watcher::<Observers>().all.len(), 1);
            assert_eq!(watched(&world), [0, Observed::GO.bits()]);
            assert!(!world.is_watched(come));
            assert!(world.unobserve(stays));
            assert_eq!(watched(&world), [0, 0]);
        }
        for _ in 0..100 {
            observe(&mut world, 0, Some(&Arc::new(()))).unwrap();
            assert_eq!(world.watcher::<Observers>().all.len(), 1);
        }
        // The last one is met when it would be told.
        let last = Arc::strong_count(&heard);
        world.create((1_u8,)).unwrap();
        assert_eq!(Arc::strong_count(&heard), last - 1);
        assert_eq!(watched(&world), [0, 0]);
        assert!(!world.is_watched(u8::MAX) && heard.lock().is_empty());
        world.check().unwrap();
    }

    #[test]
    fn archetypes_are_unwatched_in_the_middle_of_each_kind_of_change() {
        let change: [fn(&mut World, &[crate::entity::Entity]); 8] = [
            |world, all| world.destroy(all[0]).unwrap(),
            |world, all| drop(world.destroy_slice(all)),
            |world, all| world.add(all[1], (3_u64,)).unwrap(),
            |world, all| drop(world.add_slice(all, |_| (3_u64,))),
            |world, all| assert!(world.remove::<(u16,)>(all[2]).unwrap()),
            |world, all| drop(world.remove_slice::<(u16,)>(all)),
            |world, _| assert_eq!(world.clear(), 5),
            |world, all| {
                let mut commands = world.commands();
                commands.destroy(all[0]);
                commands.add(all[1], (3_u64,)).unwrap();
                commands.remove::<(u16,)>(all[2]).unwrap();
                drop(commands);
                assert_eq!(world.flush().commands, 3);
            },
        ];
        for change in change {
            let mut counts = [true, false].map(|dies| {
                let mut world = World::new();
                world.resources_mut().insert(0_usize);
                let life = Arc::new(());
                let all = Observed::COME | Observed::GO;
                for weak in [
                    Some(Arc::downgrade(&life)),
                    None,
                    Some(Arc::downgrade(&life)),
                ] {
                    let living = weak.is_none();
                    let run = move |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                        let count = batch.len() * usize::from(living);
                        *batch.resources_mut().get_mut::<usize>().unwrap() += count;
                    };
                    let id = world.registry().register::<u16>().unwrap().id();
                    let observed = if living {
                        Observed::DESTROY | Observed::ADD
                    } else {
                        all
                    };
                    world
                        .observe_living(observed, id, Requirements::new(), weak, run)
                        .unwrap();
                }
                let entities: Vec<_> = (0..5).map(|n| world.create((n, 2_u16))).collect();
                let entities: Vec<_> = entities.into_iter().map(Result::unwrap).collect();
                let kept = (!dies).then_some(life);
                change(&mut world, &entities);
                world.check().unwrap();
                if dies {
                    assert_eq!(world.watcher::<Observers>().all.len(), 1);
                }
                let mut data = world.archetypes.iter();
                assert!(data.all(|data| data.watched == world.watched_kinds(data)));
                drop(kept);
                (*world.resources().get::<usize>().unwrap(), world.count())
            });
            counts.sort_unstable();
            assert_eq!(counts[0], counts[1]);
        }
    }
}
