//! `Local`: what a processor keeps for itself.

use core::ops::{Deref, DerefMut};

use super::sealed::Sealed;
use super::{Param, Plea};
use crate::fragment::Lone;
use crate::processor::{ScheduleError, Turn};
use crate::query::QueryError;
use crate::world::World;

/// A value that a processor keeps from run to run, and nobody else sees: `T::default()` at first. (A closure can
/// as well keep what it captures.)
///
/// It belongs to the schedule, and to no world: no [snapshot](World::save) has it, and it begins anew with each world on which
/// the schedule runs. So a game that goes back to a snapshot and comes on again keeps nothing here that decides something,
/// but in a resource of a type of its own that is [part of the
/// state](crate::fragment::FragmentRegistry::register_state): [`Schedule::unsaved`](crate::processor::Schedule::unsaved)
/// names those that do.
#[derive(Debug)]
pub struct Local<'w, T: Default + Send + 'static>(&'w mut T);

impl<T: Default + Send + 'static> Deref for Local<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: Default + Send + 'static> DerefMut for Local<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0
    }
}

impl<T: Default + Send + 'static> Sealed for Local<'_, T> {}

// SAFETY: lends nothing of the world.
unsafe impl<T: Default + Send + 'static> Param for Local<'_, T> {
    type State = Lone<T>;
    type Item<'w> = Local<'w, T>;
    const KEEPS_PARAM: bool = size_of::<T>() > 0;

    fn prepare_param(_: &mut World, _: &mut Plea<'_>) -> Result<Lone<T>, ScheduleError> {
        Ok(Lone::new(T::default()))
    }

    #[inline(always)]
    unsafe fn lend_param<'w>(
        state: &'w mut Lone<T>,
        _: &'w World,
        _: Turn<'w>,
    ) -> Result<Local<'w, T>, QueryError> {
        Ok(Local(state))
    }
}
