//! Conditions: whether a processor runs this time.

use core::any::type_name;
use core::marker::PhantomData;

use crate::exactly::Exactly;
use crate::fragment::{Lone, Pile};
use crate::panics::Panicked;
use crate::processor::needs::{Needs, sees};
use crate::processor::param::Plea;
use crate::processor::runner::{Refusal, Runner};
use crate::processor::{ScheduleError, Seen, Subscriptions, Turn};
use crate::query::{QueryError, QueryResources, ReadOnlyResources, Requirements, ResourceAccess};
use crate::world::{ResourceState, World};
use sealed::Sealed;

mod sealed {
    pub trait Sealed<R> {}
}

/// A closure with parameters of these types, whatever they are, that says yes or no: `R` is the tuple of them, up to 6.
///
/// [`run_if`](crate::processor::ProcessorBuilder::run_if) asks for this first, and of the parameters then whether they are
/// resources that are read: so the compiler names the one that is none.
///
/// Sealed: it is for closures.
///
/// ```compile_fail,E0277
/// # use megachunk::processor::Asks;
/// struct Mine;
/// impl Asks<()> for Mine {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no closure that a condition can be",
    label = "not a closure of up to 6 parameters whose types are written out, that returns a `bool`",
    note = "a condition takes up to 6 resources as `&T` or `Option<&T>`, their types written out, lifetimes left out, and returns a \
            `bool`: `|game: &Game| *game == Game::Playing`"
)]
pub trait Asks<R>: Sealed<R> {}

/// A closure that can be a [condition](crate::processor::ProcessorBuilder::run_if). Up to 6 parameters, each `&T` or
/// `Option<&T>`: resources.
///
/// Sealed: it is for closures.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no closure that a condition can be",
    label = "not a closure of up to 6 parameters whose types are written out, that returns a `bool`",
    note = "it takes resources as `&T` or `Option<&T>`, with their types written out, lifetimes left out, and returns a `bool`"
)]
pub trait ConditionFn<R: ReadOnlyResources>: Asks<R> + Send + 'static {
    /// Asks it.
    #[doc(hidden)]
    fn call(&mut self, resources: R::Item<'_>) -> bool;
}

/// A condition, whatever its type.
pub(super) trait Condition: Send {
    /// Is told what its processor touches, on a world that is not known yet.
    fn prepare(&mut self, _: &Needs) {}

    /// Says what it reads.
    fn require(&self, access: &mut ResourceAccess);

    /// Whether it holds now.
    ///
    /// # Safety
    /// Nobody writes what it reads meanwhile, and no resource comes or goes.
    unsafe fn holds(&mut self, world: &World) -> Result<bool, QueryError>;

    /// The processor has run.
    ///
    /// # Safety
    /// As for [`holds`](Self::holds).
    unsafe fn ran(&mut self, _: &World) {}
}

/// A closure as a condition.
struct Asked<R, F> {
    ask: F,
    resources: Exactly<R>,
}

impl<R: ReadOnlyResources, F: ConditionFn<R>> Condition for Asked<R, F> {
    fn require(&self, access: &mut ResourceAccess) {
        R::require(access);
    }

    unsafe fn holds(&mut self, world: &World) -> Result<bool, QueryError> {
        // SAFETY: the caller's.
        let resources = unsafe { R::lend(world.resources()) }?;
        Ok(self.ask.call(resources))
    }
}

/// The condition that a closure is.
pub(super) fn condition<R: ReadOnlyResources + 'static>(
    ask: impl ConditionFn<R>,
) -> Box<dyn Condition> {
    Box::new(Asked {
        ask,
        resources: PhantomData,
    })
}

/// The condition that there is an entity which the processor's queries could walk.
#[derive(Default)]
struct Inhabited {
    /// The queries that it walks, if it has some.
    queries: Vec<Requirements>,
    /// The archetypes that match one of them, of those that were looked at.
    matching: Vec<u32>,
    seen: usize,
    /// The world's identity.
    world: u64,
}

impl Inhabited {
    /// Looks at the archetypes that have come.
    #[cold]
    fn look(&mut self, world: &World) {
        if self.world != world.identity() {
            (self.world, self.seen) = (world.identity(), 0);
            self.matching.clear();
        }
        let new = world.archetypes[self.seen..].iter();
        let queries = &self.queries;
        let matching = new.filter(|data| queries.iter().any(|query| sees(query, data)));
        self.matching.extend(matching.map(|data| data.number));
        self.seen = world.archetypes.len();
    }
}

impl Condition for Inhabited {
    fn prepare(&mut self, needs: &Needs) {
        *self = Self {
            queries: needs.walked().cloned().collect(),
            ..Self::default()
        };
    }

    fn require(&self, _: &mut ResourceAccess) {}

    unsafe fn holds(&mut self, world: &World) -> Result<bool, QueryError> {
        if self.queries.is_empty() {
            return Ok(true);
        }
        if self.world != world.identity() || self.seen != world.archetypes.len() {
            self.look(world);
        }
        let lived_in = |&number: &u32| world.archetypes[number as usize].entities > 0;
        Ok(self.matching.iter().any(lived_in))
    }
}

/// The condition that a resource has been lent to be written since the processor ran, or is another.
struct Rewritten<T> {
    /// What it was then, if it has run; and the world's past, which another one has that has gone back.
    seen: Option<(ResourceState, u64)>,
    of: Exactly<T>,
}

impl<T: Send + Sync + 'static> Condition for Rewritten<T> {
    fn prepare(&mut self, _: &Needs) {
        self.seen = None;
    }

    fn require(&self, access: &mut ResourceAccess) {
        <&T>::require(access);
    }

    unsafe fn holds(&mut self, world: &World) -> Result<bool, QueryError> {
        match world.resources().state_of::<T>() {
            Some(state) => Ok(self.seen != Some((state, world.past()))),
            None => Err(QueryError::NoResource {
                name: type_name::<T>().into(),
            }),
        }
    }

    unsafe fn ran(&mut self, world: &World) {
        let state = world.resources().state_of::<T>();
        self.seen = state.map(|state| (state, world.past()));
    }
}

/// The condition that a resource has been lent to be written since the processor ran, or is another.
pub(super) fn rewritten<T: Send + Sync + 'static>() -> Box<dyn Condition> {
    Box::new(Rewritten::<T> {
        seen: None,
        of: PhantomData,
    })
}

/// The condition that there is an entity which the processor's queries could walk.
pub(super) fn inhabited() -> Box<dyn Condition> {
    Box::new(Inhabited::default())
}

/// A processor that runs when all of its conditions hold.
pub(super) struct Conditional {
    pub(super) conditions: Pile<Box<dyn Condition>>,
    pub(super) runner: Lone<Box<dyn Runner>>,
    /// The first that did not hold, when there was one.
    pub(super) held: usize,
}

impl Conditional {
    /// Whether all hold; those behind the first that does not are not asked.
    ///
    /// # Safety
    /// As for [`Condition::holds`].
    unsafe fn hold(&mut self, world: &World) -> Result<bool, Box<Refusal>> {
        for (at, condition) in self.conditions.iter_mut().enumerate() {
            // SAFETY: the caller's.
            match unsafe { condition.holds(world) } {
                Ok(true) => {}
                Ok(false) => {
                    self.held = at;
                    return Ok(false);
                }
                Err(error) => return Err(Box::new(Refusal::Query(error))),
            }
        }
        Ok(true)
    }

    /// The processor has run, if what it asks for was there; also if it has failed then.
    ///
    /// # Safety
    /// As for [`Condition::holds`].
    unsafe fn note(&mut self, world: &World, ran: &Result<bool, Box<Refusal>>) {
        let begun = match ran {
            Ok(ran) => *ran,
            Err(refusal) => !matches!(**refusal, Refusal::Query(_)),
        };
        if begun {
            for condition in self.conditions.iter_mut() {
                // SAFETY: the caller's.
                unsafe { condition.ran(world) };
            }
        }
    }
}

impl Runner for Conditional {
    fn prepare(&mut self, world: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        if !self.runner.has_turns() {
            return Err(ScheduleError::NoTurn {
                processor: plea.processor.into(),
            });
        }
        self.runner.prepare(world, plea)?;
        for condition in self.conditions.iter_mut() {
            condition.prepare(plea.needs);
        }
        let mut asked = ResourceAccess::default();
        self.conditions
            .iter()
            .for_each(|condition| condition.require(&mut asked));
        let known = &mut plea.needs.resources;
        for &resource in asked.reads() {
            // Who writes it has it anyhow: the condition is asked before it is lent.
            if !known.writes().contains(&resource) && !known.reads().contains(&resource) {
                known.read(resource);
            }
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.runner.forget();
    }

    fn hear(
        &mut self,
        world: &mut World,
        subscriptions: Option<&Subscriptions>,
        processor: &str,
        panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        self.runner.hear(world, subscriptions, processor, panicked)
    }

    fn discard(&mut self, world: &mut World, panicked: &mut Panicked) -> usize {
        self.runner.discard(world, panicked)
    }

    fn start(&mut self, world: &mut World) -> bool {
        self.runner.start(world)
    }

    fn stop(&mut self, world: &mut World) {
        self.runner.stop(world);
    }

    fn leave(&mut self, world: &mut World) {
        self.runner.leave(world);
    }

    fn go_on(&mut self, world: &mut World) -> bool {
        self.runner.go_on(world)
    }

    fn keeps(&self) -> bool {
        self.runner.keeps()
    }

    unsafe fn run(&mut self, world: &World, turn: Turn<'_>) -> Result<bool, Box<Refusal>> {
        // SAFETY: the caller's, for all of it: `prepare` has said what conditions read.
        unsafe {
            if !self.hold(world)? {
                return Ok(false);
            }
            let ran = self.runner.run(world, turn);
            self.note(world, &ran);
            ran
        }
    }

    fn count(&mut self, world: &World) -> Seen {
        self.runner.count(world)
    }

    fn held_by(&self) -> Option<usize> {
        Some(self.held)
    }

    fn run_alone(&mut self, world: &mut World) -> Result<bool, Box<Refusal>> {
        // SAFETY: nobody else has the world.
        if !unsafe { self.hold(world) }? {
            return Ok(false);
        }
        let ran = self.runner.run_alone(world);
        // SAFETY: as above.
        unsafe { self.note(world, &ran) };
        ran
    }
}

/// What a condition gets of a resource.
type Item<'w, R> = <R as QueryResources>::Item<'w>;

macro_rules! condition {
    ($($part:ident $at:ident)*) => {
        impl<F, $($part),*> Sealed<($($part,)*)> for F where
            for<'f> &'f mut F: FnMut($($part),*) -> bool
        {
        }

        impl<F, $($part),*> Asks<($($part,)*)> for F where
            for<'f> &'f mut F: FnMut($($part),*) -> bool
        {
        }

        // As for `ProcessorFn`.
        impl<F: Send + 'static, $($part: ReadOnlyResources),*> ConditionFn<($($part,)*)> for F
        where
            for<'f> &'f mut F: FnMut($($part),*) -> bool + FnMut($(Item<'_, $part>),*) -> bool,
        {
            #[inline]
            fn call(&mut self, ($($at,)*): ($(Item<'_, $part>,)*)) -> bool {
                #[inline]
                fn call<$($part),*>(
                    mut ask: impl FnMut($($part),*) -> bool,
                    ($($at,)*): ($($part,)*),
                ) -> bool {
                    ask($($at),*)
                }
                call(self, ($($at,)*))
            }
        }
    };
}

condition!();
condition!(A a);
condition!(A a B b);
condition!(A a B b C c);
condition!(A a B b C c D d);
condition!(A a B b C c D d E e);
condition!(A a B b C c D d E e G g);
