//! Why a world is not kept, or does not go back.

use crate::fragment::FragmentError;
use crate::world::{Pending, WorldError};

/// A checkpoint was not taken, or a world did not go back: nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The universe is not [ordered](crate::world::Universe::ordered): which ids come again would be chance.
    #[error("the world's universe is not ordered (`Universe::ordered`)")]
    NotOrdered,
    /// Ids of the universe are others': of another world, reserved, recorded and not flushed, or a thread is about to give or
    /// take one; or a slot that was in use has retired since.
    #[error(
        "the world is not alone in its universe: ids are another world's, reserved, recorded and not flushed, or have retired"
    )]
    NotAlone,
    /// Values of a fragment or tag can be neither copied nor cloned: it is not
    /// [plain](crate::fragment::FragmentRegistry::register_plain), and
    /// [`register_clone`](crate::fragment::FragmentRegistry::register_clone) was not called.
    #[error(
        "{name} can be neither copied nor cloned: `register_plain` or `register_clone` says how it is done"
    )]
    #[non_exhaustive]
    NotCloneable {
        /// The fragment's name.
        name: Box<str>,
    },
    /// Something was recorded, and not [flushed](crate::world::World::flush).
    #[error("recorders hold something that was not flushed: {0}")]
    Pending(Pending),
    /// A [recorder](crate::command::Commands) is open, be it on another thread, or is being opened or dropped there: what it
    /// holds, and [holds back](crate::command::Commands), is not flushed, and would be for who gets the same handle. One that was
    /// [forgotten](core::mem::forget) is open for ever.
    #[error("a recorder is open, which may hold something that was not flushed")]
    RecorderOpen,
    /// A flush is under way, which a closure of it has in its hands.
    #[error("a flush of the world is under way")]
    Flushing,
    /// It is a checkpoint of another world.
    #[error("it is a checkpoint of another world")]
    OtherWorld,
    /// It is not kept any more: others were taken since, the world went back to an earlier one, or it was never taken here.
    #[error("the checkpoint is not kept any more")]
    Gone,
    /// Compositions that the checkpoint has were [collected](crate::world::World::collect_archetypes) since, or the world
    /// went back by other [`Checkpoints`](crate::world::Checkpoints) to before they came. (They may have come again: they are
    /// others then.)
    #[error(
        "compositions that the checkpoint has were collected since, or the world went back by other `Checkpoints` to before they came"
    )]
    Collected,
    /// Shared values that differed are equal now: what their `Eq` or `Hash` says has changed, which
    /// [must not be](crate::fragment::SharedFragment).
    #[error("shared values of {name} that differed are equal now")]
    #[non_exhaustive]
    EqualNow {
        /// The name of the shared fragment.
        name: Box<str>,
    },
    /// A resource that is part of the state, or what a delayed signal carries, was refused by who
    /// [writes or reads it](crate::fragment::FragmentRegistry::register_state_with).
    #[error("{name}, which is part of the state: {reason}")]
    #[non_exhaustive]
    State {
        /// The name that it was registered by.
        name: Box<str>,
        /// Why.
        reason: Box<str>,
    },
    /// A resource that is part of the state is [lent](crate::world::World::with_resource): the world has not got it now.
    #[error("{name}, which is part of the state, is lent (`World::with_resource`)")]
    #[non_exhaustive]
    Lent {
        /// The name that it was registered by.
        name: Box<str>,
    },
    /// The world refuses: no memory for chunks is left.
    #[error(transparent)]
    World(#[from] WorldError),
}

impl From<FragmentError> for CheckpointError {
    fn from(error: FragmentError) -> Self {
        Self::World(error.into())
    }
}
