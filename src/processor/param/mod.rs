//! Parameters of processors: what their closures take, by type.
//!
//! | parameter | what it lends |
//! |---|---|
//! | [`QueryRun<D, F>`](crate::query::QueryRun) | the entities that match, once a run |
//! | [`QueryLookup<D, F>`](crate::query::QueryLookup) | entities by their handles |
//! | `&T`, `&mut T`, `Option` of these | resources |
//! | [`Commands`](crate::command::Commands), [`ParallelCommands`](crate::command::ParallelCommands) | recorders; flushed after the phase |
//! | [`Signals`](crate::signal::Signals), [`ParallelSignals`](crate::signal::ParallelSignals) | senders of signals |
//! | [`Signalled<D, F>`](crate::signal::Signalled) | entities that got signals |
//! | [`Heard<P>`](crate::signal::Heard) | what was broadcast |
//! | [`Local<T>`] | a value that the processor keeps from run to run |
//! | tuples of up to 12 of these, tuples too | all of them |
//!
//! Where no schedule runs [`World::with_params`] lends them, and [`Params`](super::Params).
//!
//! Processors that record or send in parallel loops open a recorder or sender by the chunk's [sort
//! key](crate::query::ChunkView::sort_key): in [`par_for_each_init`](crate::query::QueryRun::par_for_each_init), or in
//! [`par_for_each_slice`](crate::query::QueryRun::par_for_each_slice).
//! [`par_for_each_chunk`](crate::query::QueryRun::par_for_each_chunk) lends rows, too, whose fragments are switched off.

mod command;
mod local;
mod query;
mod resource;
mod signal;

use core::error::Error;

pub use local::Local;
use sealed::Sealed;

use crate::panics::Panicked;
use crate::processor::needs::Needs;
use crate::processor::{ProcessorError, ScheduleError, Subscriptions, Turn};
use crate::query::{QueryError, Requirements};
use crate::world::World;

/// Schedules decide once, by what parameters say that they lend, who may run side by side.
mod sealed {
    pub trait Sealed {}
}

/// A parameter of a processor: see the [list](self).
///
/// Sealed: there are no others. What several processors take is a tuple that has a name, `type Sky<'w> = (&'w Sun, &'w Clouds);`,
/// or a function of what is lent.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # use megachunk::processor::param::Param;
/// struct Mine;
/// // SAFETY: none, as nobody can say so: `Mine` is not among the parameters.
/// unsafe impl Param for Mine {
///     type State = ();
///     type Item<'w> = Mine;
/// #   fn prepare_param(_: &mut World, _: &mut megachunk::processor::param::Plea<'_>) -> Result<(), ScheduleError> { Ok(()) }
/// #   unsafe fn lend_param<'w>(
/// #       _: &'w mut (), _: &'w World, _: megachunk::command::Turn<'w>,
/// #   ) -> Result<Mine, QueryError> { Ok(Mine) }
/// }
/// ```
///
/// # Safety
/// `prepare_param` says all that `lend_param` lends.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a processor",
    label = "not what a processor can take",
    note = "queries are taken as `QueryRun<…>`, resources as `&T` or `&mut T`",
    note = "resources are `Send + Sync + 'static`; all else is taken by value, not by reference"
)]
pub unsafe trait Param: Sealed {
    // The prelude has this trait, and where a user's call has a wrong name the compiler looks at the names of all functions
    // in scope: so these are names that nobody's method has.

    /// What is kept from run to run. It lies beside that of others and the processor: of users it has nothing whose `drop`
    /// panics while another panic is under way.
    #[doc(hidden)]
    type State: Send + 'static;
    /// What a run gets.
    type Item<'w>;
    /// Whether it keeps a value that lies in no world.
    #[doc(hidden)]
    const KEEPS_PARAM: bool = false;

    /// Says what is lent.
    ///
    /// # Errors
    /// A query, a signal, or two parameters together are refused.
    #[doc(hidden)]
    fn prepare_param(world: &mut World, plea: &mut Plea<'_>) -> Result<Self::State, ScheduleError>;

    /// Lends it.
    ///
    /// # Errors
    /// [`QueryError::NoResource`].
    ///
    /// # Safety
    /// The state is of this world. For `'w` nobody else has what `prepare_param` has said, in a way that
    /// conflicts; no entity moves, and no resource comes or goes.
    #[doc(hidden)]
    unsafe fn lend_param<'w>(
        state: &'w mut Self::State,
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<Self::Item<'w>, QueryError>;

    /// What is not there of what would be lent.
    #[doc(hidden)]
    fn missing_param(_: &mut World) -> Option<QueryError> {
        None
    }

    /// It was lent for a run of this version, which did not take place: another parameter could not be lent.
    #[doc(hidden)]
    fn take_back_param(_: &mut Self::State, _: u32) {}

    /// From now on hears the signals of these subscriptions, too; none with `None`. What the `drop`s of payloads panic with
    /// that nobody wants is noted: it hears the signals all the same.
    ///
    /// # Errors
    /// A signal is refused: then it hears none.
    #[doc(hidden)]
    fn hear_param(
        _: &mut Self::State,
        _: &mut World,
        _: Option<&Subscriptions>,
        _processor: &str,
        _panicked: &mut Panicked,
    ) -> Result<(), ScheduleError> {
        Ok(())
    }

    /// Lets the signals go that were collected and wait for it; how many. What the `drop`s of payloads panic with is noted.
    #[doc(hidden)]
    fn discard_param(_: &mut Self::State, _: &mut World, _: &mut Panicked) -> usize {
        0
    }

    /// Adds what a run would see now.
    #[doc(hidden)]
    fn count_param(_: &mut Self::State, _: &World, _: &mut Seen) {}
}

/// A processor asks for what it needs.
#[derive(Debug)]
#[doc(hidden)]
pub struct Plea<'a> {
    pub(crate) processor: &'a str,
    pub(crate) needs: &'a mut Needs,
    /// What it hears; `None` where that is said later.
    pub(crate) subscriptions: Option<&'a Subscriptions>,
}

impl Plea<'_> {
    /// A query was refused.
    pub(crate) fn refuse(&self, error: QueryError) -> ScheduleError {
        ScheduleError::Query {
            processor: self.processor.into(),
            error,
        }
    }

    /// It cannot say what it needs.
    pub(crate) fn failed(&self, error: Box<dyn Error + Send + Sync>) -> ScheduleError {
        ScheduleError::Failed {
            processor: self.processor.into(),
            error: ProcessorError::new(error),
        }
    }

    /// A query is asked for.
    pub(crate) fn query(
        &mut self,
        world: &World,
        requirements: &Requirements,
        of_type: &'static str,
    ) -> Result<(), ScheduleError> {
        for earlier in &self.needs.queries {
            if let Some(&id) = earlier.conflicts_with(requirements).first()
                && !earlier.excludes(requirements)
            {
                let info = world.registry().get(id);
                return Err(self.aliased(info.map_or("", |info| info.name()), false));
            }
        }
        self.needs.queries.push(requirements.clone());
        self.needs.types.push(of_type);
        Ok(())
    }

    pub(crate) fn aliased(&self, name: &str, resource: bool) -> ScheduleError {
        ScheduleError::Aliased {
            processor: self.processor.into(),
            name: name.into(),
            resource,
            apart_by: None,
        }
    }
}

/// What a processor's [queries](crate::query::QueryRun) see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Entities in the chunks that are seen, also those whose fragments are [switched
    /// off](crate::world::World::set_enabled).
    pub entities: usize,
    /// Chunks that are seen.
    pub chunks: usize,
    /// Chunks of archetypes that match, which filters pass by, or which are empty.
    pub skipped: usize,
}

/// Prepares the parts of a tuple: those that came before one that is refused end, and then it is said why. (On its way
/// out the error would leak if a `drop` of theirs panics: rust-lang/rust#47949.)
fn all_or_none<S>(
    prepare: impl FnOnce(&mut Option<ScheduleError>) -> Option<S>,
) -> Result<S, ScheduleError> {
    let mut why = None;
    let prepared = prepare(&mut why);
    match (prepared, why) {
        (Some(state), _) => Ok(state),
        (None, Some(error)) => Err(error),
        (None, None) => unreachable!("who is refused says why"),
    }
}

/// Lays an error aside.
fn aside<S>(prepared: Result<S, ScheduleError>, why: &mut Option<ScheduleError>) -> Option<S> {
    prepared.map_err(|error| *why = Some(error)).ok()
}

macro_rules! tuple {
    ($($part:ident $at:ident)*) => {
        impl<$($part: Param),*> Sealed for ($($part,)*) {}

        // SAFETY: says what its parts say, and lends that.
        unsafe impl<$($part: Param),*> Param for ($($part,)*) {
            type State = ($($part::State,)*);
            type Item<'w> = ($($part::Item<'w>,)*);
            const KEEPS_PARAM: bool = false $(|| $part::KEEPS_PARAM)*;

            fn prepare_param(
                world: &mut World,
                plea: &mut Plea<'_>,
            ) -> Result<Self::State, ScheduleError> {
                let _ = (&world, &plea);
                all_or_none(|why| {
                    let _ = &why;
                    Some(($(aside($part::prepare_param(world, plea), why)?,)*))
                })
            }

            #[inline(always)]
            unsafe fn lend_param<'w>(
                state: &'w mut Self::State,
                world: &'w World,
                turn: Turn<'w>,
            ) -> Result<Self::Item<'w>, QueryError> {
                let _ = (world, turn);
                let ($($at,)*) = state;
                // SAFETY: the caller's; `Plea` has seen to it that no two lend the same.
                Ok(($(unsafe { $part::lend_param($at, world, turn)? },)*))
            }

            fn missing_param(world: &mut World) -> Option<QueryError> {
                let _ = &world;
                let missing = None;
                $(let missing = missing.or_else(|| $part::missing_param(world));)*
                missing
            }

            #[cold]
            fn take_back_param(state: &mut Self::State, version: u32) {
                let _ = version;
                let ($($at,)*) = state;
                $($part::take_back_param($at, version);)*
            }

            fn hear_param(
                state: &mut Self::State,
                world: &mut World,
                subscriptions: Option<&Subscriptions>,
                processor: &str,
                panicked: &mut Panicked,
            ) -> Result<(), ScheduleError> {
                let _ = (&world, subscriptions, processor, &panicked);
                let ($($at,)*) = state;
                $($part::hear_param($at, world, subscriptions, processor, panicked)?;)*
                Ok(())
            }

            fn discard_param(
                state: &mut Self::State,
                world: &mut World,
                panicked: &mut Panicked,
            ) -> usize {
                let _ = (&world, &panicked);
                let ($($at,)*) = state;
                0 $(+ $part::discard_param($at, world, panicked))*
            }

            fn count_param(state: &mut Self::State, world: &World, seen: &mut Seen) {
                let _ = (world, &seen);
                let ($($at,)*) = state;
                $($part::count_param($at, world, seen);)*
            }
        }
    };
}

tuple!();
tuple!(A a);
tuple!(A a B b);
tuple!(A a B b C c);
tuple!(A a B b C c D d);
tuple!(A a B b C c D d E e);
tuple!(A a B b C c D d E e F f);
tuple!(A a B b C c D d E e F f G g);
tuple!(A a B b C c D d E e F f G g H h);
tuple!(A a B b C c D d E e F f G g H h I i);
tuple!(A a B b C c D d E e F f G g H h I i J j);
tuple!(A a B b C c D d E e F f G g H h I i J j K k);
tuple!(A a B b C c D d E e F f G g H h I i J j K k L l);
