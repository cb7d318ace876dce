//! `Params`: what a processor's parameters lend, where no schedule runs.
//!
//! Must hold: as in a schedule, `on` lends what was asked for by [`prepare_param`](Param::prepare_param) alone, on the world
//! that was asked; of two parameters that would lend the same, the second is refused by then, and where both see an
//! archetype in spite of what they exclude, by the look at it that comes before all is lent.

use core::any::type_name;
use core::fmt;
use std::sync::{Arc, Weak};

use crate::command::{Precedence, Stripes, Turn};
use crate::panics::resume;
use crate::processor::alias::Pair;
use crate::processor::needs::Needs;
use crate::processor::param::Plea;
use crate::processor::run::refused;
use crate::processor::{Param, ProcessorFn, ScheduleError, Subscriptions, Takes};
use crate::world::{Presence, World};

/// Parameters of a processor to keep and to use without a schedule: several queries and resources at once, recorders, what
/// is [kept](super::Local). `P` is a [parameter](super::param), or a tuple of some; for once:
/// [`World::with_params`].
///
/// What [`on`](Self::on) lends is what a processor gets, and as a run of one it counts: what its queries look for changes
/// [since](crate::query::Changed) is what has changed since the last `on`; a [`Local`](super::Local) is as it was left.
/// What is recorded waits for the next [flush](World::flush), and what is sent for who reads it, also where who has
/// recorded it panics then. It belongs to the world that it was made for. Not for loops over entities: `on` costs what the
/// run of a processor costs, some ten nanoseconds, and O(archetypes that have come). (With [`ParallelCommands`](crate::command::ParallelCommands) in an
/// [ordered](crate::world::Universe::ordered) universe it costs what [`World::parallel_commands`] costs there.)
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::processor::Params;
///
/// struct Height(f32);
/// struct Gravity(f32);
///
/// /// A host's own: no processor.
/// struct Window {
///     shown: Params<(
///         QueryRun<'static, (Entity, &'static Height), Changed<Height>>,
///         &'static Gravity,
///         Commands<'static>,
///         Local<'static, usize>,
///     )>,
/// }
///
/// let mut world = World::new();
/// world.resources_mut().insert(Gravity(9.8));
/// world.create((Height(3.0),))?;
/// let mut window = Window { shown: Params::new(&mut world)? };
/// for _ in 0..3 {
///     let (mut heights, gravity, mut commands, mut shown) = window.shown.on(&mut world)?;
///     heights.for_each(|(entity, height)| {
///         *shown += 1;
///         if height.0 < gravity.0 {
///             commands.destroy(entity);
///         }
///     });
///     assert_eq!(*shown, 1, "nothing has changed since");
/// }
/// assert_eq!(world.flush().destroyed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Bevy's `SystemState`.
#[doc(alias = "SystemState")]
pub struct Params<P: Param + 'static> {
    state: P::State,
    /// What errors call it.
    name: &'static str,
    needs: Needs,
    /// Queries that must not see one archetype.
    pairs: Vec<Pair>,
    /// The world.
    of: Weak<Presence>,
    /// Its identity, and its archetypes that were looked at.
    world: u64,
    archetypes: usize,
    /// The stamp of the world's resources when none was missing.
    found: Option<u64>,
    /// In an ordered universe: whence ids come that are given in parallel.
    stripes: Option<Arc<Stripes>>,
    /// It hears something.
    subscribed: bool,
}

impl<P: Param + 'static> Params<P> {
    /// Parameters of this world.
    ///
    /// # Errors
    /// [`ScheduleError::Query`], [`Aliased`](ScheduleError::Aliased): what a processor with such parameters is refused, said
    /// in the same words; its name there is `P`'s.
    ///
    /// # Panics
    /// If what a [`Local`](super::Local) begins with is made, and that panics; if signals are heard, and the `drop` of what one
    /// carried panics that nobody wants.
    pub fn new(world: &mut World) -> Result<Self, ScheduleError> {
        Self::named(world, type_name::<P>())
    }

    fn named(world: &mut World, name: &'static str) -> Result<Self, ScheduleError> {
        let mut needs = Needs::default();
        let mut plea = Plea {
            processor: name,
            needs: &mut needs,
            subscriptions: None,
        };
        let mut state = P::prepare_param(world, &mut plea)?;
        let mut panicked = None;
        let none_named = Some(&Subscriptions::default());
        let heard = match needs.hears {
            true => P::hear_param(&mut state, world, none_named, name, &mut panicked),
            false => Ok(()),
        };
        resume(panicked);
        heard?;
        Ok(Self {
            state,
            name,
            // Who takes what is broadcast hears it by its type.
            subscribed: !needs.takes_named,
            pairs: Pair::all(&needs),
            needs,
            of: world.seat.presence(),
            world: world.identity(),
            archetypes: 0,
            found: None,
            stripes: None,
        })
    }

    /// Its [`Signalled`](crate::signal::Signalled) parameters get the signal of this name from now on: what is sent waits
    /// for [`on`](Self::on), as it does for a processor that [hears](super::ProcessorBuilder::hears) it. So do those of its
    /// [`Heard`](crate::signal::Heard) that hear such a payload, beside the signal that is known by its type, which they hear
    /// from the beginning.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::processor::Params;
    ///
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// let boar = world.create((Health(10),))?;
    /// let hit = world.signal::<u32>("hit")?;
    /// let mut wounded = Params::<(Signalled<&mut Health>,)>::new(&mut world)?.hears::<u32>(&mut world, "hit")?;
    /// world.signals().send(hit, boar, 3);
    /// let (mut signalled,) = wounded.on(&mut world)?;
    /// let delivery = signalled.deliver(|health, received| health.0 -= received.of(hit).sum::<u32>());
    /// assert_eq!(delivery.entities, 1);
    /// assert_eq!(world.get::<Health>(boar)?.0, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::Signal`]; [`HearsInVain`](ScheduleError::HearsInVain);
    /// [`OtherParamsWorld`](ScheduleError::OtherParamsWorld). Then the parameters are gone.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics that nobody wants; then too.
    pub fn hears<Payload: Send + Sync + 'static>(
        self,
        world: &mut World,
        signal: impl Into<String>,
    ) -> Result<Self, ScheduleError> {
        let mut subscriptions = Subscriptions::default();
        subscriptions.named::<Payload>(signal.into());
        self.subscribe(world, &subscriptions)
    }

    /// Its [`Signalled`](crate::signal::Signalled) parameters get the signal that is known by what it carries; else as
    /// [`hears`](Self::hears).
    ///
    /// # Errors
    /// As for [`hears`](Self::hears).
    ///
    /// # Panics
    /// As for [`hears`](Self::hears).
    pub fn hears_type<Payload: Send + Sync + 'static>(
        self,
        world: &mut World,
    ) -> Result<Self, ScheduleError> {
        let mut subscriptions = Subscriptions::default();
        subscriptions.typed::<Payload>();
        self.subscribe(world, &subscriptions)
    }

    fn subscribe(
        mut self,
        world: &mut World,
        subscriptions: &Subscriptions,
    ) -> Result<Self, ScheduleError> {
        let mut panicked = None;
        let heard = match () {
            () if !self.is_of(world) => Err(self.elsewhere()),
            () if subscriptions.are_in_vain(&self.needs) => Err(ScheduleError::HearsInVain {
                processor: self.name.into(),
            }),
            () => P::hear_param(
                &mut self.state,
                world,
                Some(subscriptions),
                self.name,
                &mut panicked,
            ),
        };
        resume(panicked);
        if let Err(error) = heard {
            // Before the error is on its way: see `all_or_none` of parameters.
            drop(self);
            return Err(error);
        }
        self.subscribed = true;
        Ok(self)
    }

    /// Lends what was asked for. As a processor's run it has a [version](World::version) of its own, which what it changes
    /// gets; but no [schedule](super::Schedule::ran_at) knows it, and what is recorded is recorded [outside of a
    /// run](crate::command::Author::Outside), or by the exclusive processor that has the world. What was recorded before
    /// is not flushed. What was sent before is collected, if anything here hears signals.
    ///
    /// # Errors
    /// [`ScheduleError::OtherParamsWorld`]; [`NoResource`](ScheduleError::NoResource); [`Aliased`](ScheduleError::Aliased):
    /// of two queries that exclude each other by what can be [switched off](crate::query::Enabled) both see an archetype;
    /// [`HearsNothing`](ScheduleError::HearsNothing). None of these counts as a run.
    ///
    /// # Panics
    /// If signals are collected, and the `drop` of what one carried panics that nobody wants.
    pub fn on<'w>(&'w mut self, world: &'w mut World) -> Result<P::Item<'w>, ScheduleError> {
        self.check(world)?;
        if self.needs.hears {
            world.collect_signals();
        }
        let ordered = self.needs.parallel_commands && world.universe.is_ordered();
        self.stripes = ordered.then(|| Arc::new(Stripes::of(world, None)));
        let version = world.begin_versions(1);
        let world = &*world;
        let turn = Turn {
            version,
            rank: Precedence::OUTSIDE,
            source: world.ranks.alone(),
            stripes: self.stripes.as_ref(),
            first_piece: 0,
            end_piece: u32::MAX,
        };
        // SAFETY: `check` has seen that this is the world that the state is of, which is this call's alone for `'w`; what the
        // parameters lend they have told in `named`, which has refused two that lend the same, but for those of which
        // `check` has looked at each archetype.
        let lent = unsafe { P::lend_param(&mut self.state, world, turn) };
        lent.map_err(|error| *refused(self.name, error, world))
    }

    fn is_of(&self, world: &World) -> bool {
        world.seat.is_present(&self.of)
    }

    #[cold]
    fn elsewhere(&self) -> ScheduleError {
        ScheduleError::OtherParamsWorld {
            params: self.name.into(),
        }
    }

    /// Sees to it that all can be lent.
    fn check(&mut self, world: &mut World) -> Result<(), ScheduleError> {
        if !self.is_of(world) {
            return Err(self.elsewhere());
        }
        if self.needs.hears && !self.subscribed {
            return Err(ScheduleError::HearsNothing {
                processor: self.name.into(),
            });
        }
        if !self.pairs.is_empty() {
            self.look(world)?;
        }
        let stamp = Some(world.resources().stamp());
        if self.found != stamp {
            if let Some(error) = P::missing_param(world) {
                return Err(*refused(self.name, error, world));
            }
            self.found = stamp;
        }
        Ok(())
    }

    /// Looks at the archetypes that have come.
    fn look(&mut self, world: &World) -> Result<(), ScheduleError> {
        if self.world != world.identity() {
            (self.world, self.archetypes) = (world.identity(), 0);
        }
        for archetype in &world.archetypes[self.archetypes..] {
            let mut clashes = self.pairs.iter();
            if let Some(clash) = clashes.find_map(|pair| pair.clash(&self.needs, archetype)) {
                return Err(clash.refuse(self.name, world));
            }
            self.archetypes += 1;
        }
        Ok(())
    }
}

impl<P: Param + 'static> fmt::Debug for Params<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("of", &format_args!("{}", type_name::<P>()))
            .field("queries", &self.needs.types)
            .finish_non_exhaustive()
    }
}

impl World {
    /// Lends parameters of a processor, once, to a closure, which may use what lies around it; what that returns. Several
    /// queries and resources at once, and recorders: else as [`Params`], which are to be kept where this is done again and
    /// again. O(archetypes that match). What is recorded waits for the next [flush](Self::flush).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Height(f32);
    /// struct Gravity(f32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Gravity(9.8));
    /// world.create((Height(3.0),))?;
    /// let mut names = vec!["apple"];
    /// let fallen = world.with_params::<(QueryRun<(Entity, &Height)>, &Gravity, Commands), _>(
    ///     |(mut heights, gravity, mut commands)| {
    ///         let mut fallen = 0;
    ///         heights.for_each(|(entity, height)| {
    ///             if height.0 < gravity.0 {
    ///                 fallen += 1;
    ///                 names.clear();
    ///                 commands.destroy(entity);
    ///             }
    ///         });
    ///         fallen
    ///     },
    /// )?;
    /// assert_eq!((fallen, names.len(), world.flush().destroyed), (1, 0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Params::new`] and [`Params::on`]; the closure is not called then. A parameter that gets
    /// [signals](crate::signal::Signalled) has none here: [`Params::hears`].
    ///
    /// # Panics
    /// If the closure does. What it had recorded is kept.
    pub fn with_params<P: Param + 'static, R>(
        &mut self,
        run: impl FnOnce(P::Item<'_>) -> R,
    ) -> Result<R, ScheduleError> {
        self.with_named(type_name::<P>(), run)
    }

    /// Runs a closure that could be a [processor](super::processor()), once; what it returns. So is a processor's function
    /// tested, without a schedule: its parameters are lent as by [`with_params`](Self::with_params), and what it records
    /// waits for the next [flush](Self::flush).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Height(f32);
    /// struct Gravity(f32);
    ///
    /// fn fall(mut falling: QueryRun<&mut Height>, gravity: &Gravity) -> usize {
    ///     falling.for_each(|height| height.0 -= gravity.0);
    ///     falling.count()
    /// }
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Gravity(9.8));
    /// let apple = world.create((Height(10.0),))?;
    /// assert_eq!(world.run_once(fall)?, 1);
    /// assert!(world.get::<Height>(apple)?.0 < 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`with_params`](Self::with_params); the processor's name is the closure's there. (A `Result` that it returns
    /// is in the `Ok` of this one.)
    ///
    /// # Panics
    /// If the closure does. What it had recorded is kept.
    #[doc(alias = "run_system_once")]
    pub fn run_once<P, R, F>(&mut self, mut run: F) -> Result<R, ScheduleError>
    where
        // In this order, as for `processor`.
        F: Takes<P, R>,
        P: Param + 'static,
        F: ProcessorFn<P, R>,
    {
        let name = type_name::<F>();
        self.with_named::<P, R>(name, |params| run.call(params))
    }

    fn with_named<P: Param + 'static, R>(
        &mut self,
        name: &'static str,
        run: impl FnOnce(P::Item<'_>) -> R,
    ) -> Result<R, ScheduleError> {
        let mut params = Params::<P>::named(self, name)?;
        let ran = params.on(self).map(run);
        // Before what is returned is on its way: see `all_or_none` of parameters.
        drop(params);
        ran
    }
}
