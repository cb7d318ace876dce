//! Closures as processors.

use core::marker::PhantomData;

use crate::exactly::Exactly;
use crate::processor::{Param, Processor, ProcessorOutput};
use sealed::Sealed;

mod sealed {
    pub trait Sealed<P, R> {}
}

/// A closure with parameters of these types, whatever they are: `P` is the tuple of them, up to 12, and `R` what it gives
/// back.
///
/// [`processor`](super::processor()) asks for this first, and of each parameter then whether it is a [`Param`]: so the
/// compiler names the one that is none.
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// // `Vec<u32>` is no parameter of a processor: a resource is taken as `&Vec<u32>`.
/// processor("sum", |numbers: Vec<u32>| {});
/// ```
///
/// Sealed: it is for closures. Open is [`Processor`].
///
/// ```compile_fail,E0277
/// # use megachunk::processor::Takes;
/// struct Mine;
/// impl Takes<(), ()> for Mine {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no closure that a processor can be",
    label = "not a closure of up to 12 parameters whose types are written out",
    note = "up to 12 parameters, types written out, lifetimes left out: `|mut bodies: QueryRun<(&mut Position, &Velocity)>, gravity: \
            &Gravity| …`",
    note = "a struct that implements `Processor` is one by `ProcessorBuilder::of(name, it)`"
)]
pub trait Takes<P, R>: Sealed<P, R> {}

/// A closure whose parameters a processor can have. Up to 12, each a [`Param`].
///
/// Sealed: it is for closures. Open is [`Processor`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no closure that a processor can be",
    label = "not a closure of up to 12 parameters whose types are written out",
    note = "it takes parameters of processors, all with their types written out, lifetimes left out: queries as `QueryRun<…>` (not \
            `Query`), resources as `&T` or `&mut T`, `Commands`, `ParallelCommands`, `Local<T>`, `Signals`, `ParallelSignals` and \
            `Signalled<…>`; up to 12, of which tuples count as one",
    note = "a struct that implements `Processor` is one by `ProcessorBuilder::of(name, it)`"
)]
pub trait ProcessorFn<P: Param, R = ()>: Takes<P, R> + Send + 'static {
    /// Calls it.
    #[doc(hidden)]
    fn call(&mut self, params: P::Item<'_>) -> R;
}

/// A closure as a processor.
pub(super) struct Function<P, R, F> {
    run: F,
    /// Its parameters, and what it gives back.
    of: Exactly<(P, R)>,
}

impl<P, R, F> Function<P, R, F> {
    pub(super) fn new(run: F) -> Self {
        Self {
            run,
            of: PhantomData,
        }
    }
}

impl<P, R, F> Processor for Function<P, R, F>
where
    P: Param + 'static,
    R: ProcessorOutput + 'static,
    F: ProcessorFn<P, R>,
{
    type Params = P;
    type Output = R;

    #[inline(always)]
    fn execute(&mut self, params: P::Item<'_>) -> R {
        self.run.call(params)
    }
}

/// What a run gets of a parameter.
type Item<'w, P> = <P as Param>::Item<'w>;

macro_rules! function {
    ($($part:ident $at:ident)*) => {
        impl<R, F, $($part),*> Sealed<($($part,)*), R> for F where
            for<'f> &'f mut F: FnMut($($part),*) -> R
        {
        }

        impl<R, F, $($part),*> Takes<($($part,)*), R> for F where
            for<'f> &'f mut F: FnMut($($part),*) -> R
        {
        }

        // The closure is asked for with the types that it names, so that they are known, and with those that a
        // run gets.
        impl<R, F: Send + 'static, $($part: Param),*> ProcessorFn<($($part,)*), R> for F
        where
            for<'f> &'f mut F: FnMut($($part),*) -> R + FnMut($(Item<'_, $part>),*) -> R,
        {
            #[inline(always)]
            fn call(&mut self, ($($at,)*): ($(Item<'_, $part>,)*)) -> R {
                #[inline(always)]
                fn call<R, $($part),*>(
                    mut run: impl FnMut($($part),*) -> R,
                    ($($at,)*): ($($part,)*),
                ) -> R {
                    run($($at),*)
                }
                call(self, ($($at,)*))
            }
        }
    };
}

function!();
function!(A a);
function!(A a B b);
function!(A a B b C c);
function!(A a B b C c D d);
function!(A a B b C c D d E e);
function!(A a B b C c D d E e G g);
function!(A a B b C c D d E e G g H h);
function!(A a B b C c D d E e G g H h I i);
function!(A a B b C c D d E e G g H h I i J j);
function!(A a B b C c D d E e G g H h I i J j K k);
function!(A a B b C c D d E e G g H h I i J j K k L l);
function!(A a B b C c D d E e G g H h I i J j K k L l M m);
