//! `ProcessorOutput`: what a processor gives back, nothing or an error.

use core::error::Error;
use core::fmt;
use std::sync::Arc;

use sealed::Sealed;

mod sealed {
    pub trait Sealed {}
}

/// What a [`Processor`](super::Processor) gives back, or the closure of a [`processor`](super::processor()) or
/// [`exclusive_processor`](super::exclusive_processor): nothing, or a `Result` that says whether it could do what it is
/// there for. An error ends the run of the schedule as
/// [`ScheduleError::Failed`](super::ScheduleError::Failed), with the processor's name.
///
/// Any error will do that can go from thread to thread, and so do `Box<dyn Error + Send + Sync>` and text. Where there are
/// several, [`ProcessorResult`] takes all. Nothing is taken back: what it has changed and recorded before stays.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut schedule = Schedule::new();
/// schedule.add(processor("raise", |mut walls: QueryRun<&u32>, mut commands: Commands| -> ProcessorResult {
///     if walls.count() > 2 {
///         return Err("there is no room for more walls".into());
///     }
///     let wall = commands.create((1_u32,))?;
///     commands.add(wall, ("a door",))?;
///     Ok(())
/// }));
/// let mut world = World::new();
/// for _ in 0..3 {
///     schedule.run(&mut world)?;
/// }
/// let error = schedule.run(&mut world).unwrap_err();
/// assert_eq!(error.to_string(), "processor `raise`: there is no room for more walls");
/// # Ok::<(), ScheduleError>(())
/// ```
///
/// Sealed: there are no others.
#[diagnostic::on_unimplemented(
    message = "a processor gives back nothing, or a `Result<(), E>`, and not `{Self}`",
    label = "`E` is an error that is `Send + Sync + 'static`, a `Box<dyn Error + Send + Sync>`, or text",
    note = "`ProcessorResult` is a `Result` of errors of any type"
)]
pub trait ProcessorOutput: Sealed {
    /// Whether it could do what it is there for.
    #[doc(hidden)]
    fn into_result(self) -> Result<(), ProcessorError>;
}

/// What a processor may give back that meets errors of several types: `|…| -> ProcessorResult { …; Ok(()) }`.
pub type ProcessorResult = Result<(), Box<dyn Error + Send + Sync>>;

impl Sealed for () {}

impl ProcessorOutput for () {
    #[inline(always)]
    fn into_result(self) -> Result<(), ProcessorError> {
        Ok(())
    }
}

impl<E> Sealed for Result<(), E> {}

// What is missing of `E` is for the message of the trait to say: else three errors speak of `Box`.
#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>>> ProcessorOutput for Result<(), E> {
    #[inline]
    fn into_result(self) -> Result<(), ProcessorError> {
        self.map_err(|error| ProcessorError::new(error.into()))
    }
}

/// What a closure gives back that never comes to its end, as `|_: &u32| panic!()`.
type Never = <fn() -> ! as Gives>::Output;

/// What a function gives back: so the type that has no name has one.
pub trait Gives {
    /// That.
    type Output;
}

impl<T> Gives for fn() -> T {
    type Output = T;
}

impl Sealed for Never {}

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl ProcessorOutput for Never {
    fn into_result(self) -> Result<(), ProcessorError> {
        self
    }
}

/// What a processor said when it could not do what it is there for: it shows itself as the error does that was given back,
/// and stands for it, so that its source is that one's source. A clone is the same error: two are equal if one is the
/// other's.
#[derive(Clone)]
pub struct ProcessorError(Arc<dyn Error + Send + Sync>);

impl ProcessorError {
    /// What was given back.
    pub(super) fn new(error: Box<dyn Error + Send + Sync>) -> Self {
        Self(Arc::from(error))
    }

    /// The error that was given back. (Text has become an error of a type without a name.)
    #[must_use]
    pub fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }

    /// The error, if it is of this type. (One that was given back in a box, `Result<(), Box<E>>`, is of the box's type.)
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl PartialEq for ProcessorError {
    fn eq(&self, other: &Self) -> bool {
        Arc::as_ptr(&self.0).addr() == Arc::as_ptr(&other.0).addr()
    }
}

impl Eq for ProcessorError {}

impl fmt::Debug for ProcessorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ProcessorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ProcessorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
