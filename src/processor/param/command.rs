//! Recorders as parameters.

use super::sealed::Sealed;
use super::{Param, Plea};
use crate::command::{Commands, ParallelCommands};
use crate::processor::{ScheduleError, Turn};
use crate::query::QueryError;
use crate::world::World;

impl Sealed for Commands<'_> {}

// SAFETY: recorders do not touch what the world lends.
unsafe impl Param for Commands<'_> {
    type State = ();
    type Item<'w> = Commands<'w>;

    fn prepare_param(_: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        plea.needs.commands = true;
        Ok(())
    }

    #[inline]
    unsafe fn lend_param<'w>(
        (): &'w mut (),
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<Commands<'w>, QueryError> {
        Ok(Commands::of_turn(world, turn))
    }
}

impl Sealed for ParallelCommands {}

// SAFETY: as above.
unsafe impl Param for ParallelCommands {
    type State = ();
    type Item<'w> = ParallelCommands;

    fn prepare_param(_: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
        plea.needs.parallel_commands = true;
        Ok(())
    }

    #[inline]
    unsafe fn lend_param<'w>(
        (): &'w mut (),
        world: &'w World,
        turn: Turn<'w>,
    ) -> Result<ParallelCommands, QueryError> {
        Ok(ParallelCommands::of_turn(world, turn))
    }
}
