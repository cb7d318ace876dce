//! What can go wrong with an id, as types.

use core::fmt;

use crate::entity::{Entity, Place};
use crate::first_few::{FirstFew, write_first};

/// No id is left to give, or not as many as were asked for: every other slot is taken, retired, or kept by another
/// thread; or the system has no memory for more slots, on Windows, where memory is asked for (elsewhere it comes or
/// does not when it is touched).
///
/// What "taken" means exactly is each allocator's contract; see there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error(
    "too few entity ids are left: of {capacity} slots, the others are taken, retired, kept by other threads, or without memory"
)]
pub struct Full {
    /// The slots that there are in all.
    pub capacity: usize,
}

/// Why a handle was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EntityFault {
    /// The entity lived once and was destroyed.
    #[error("it is destroyed")]
    Destroyed,
    /// The handle names a version that its slot has not reached: it was never given out.
    #[error("it was never created")]
    NeverCreated,
    /// The index lies beyond the last slot.
    #[error("its index is out of range")]
    OutOfRange,
    /// The entity has a place, where one without was asked for.
    #[error("it is built already")]
    AlreadyBuilt,
}

/// A number is no [`Entity`]: it has no version, or an even one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{0:#x} is no entity: its version is even")]
pub struct NoEntity(pub u64);

/// Why an entity was not [relocated](crate::entity::EntityIndex::relocate); no place has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RelocateError {
    /// The handle was refused.
    #[error(transparent)]
    Entity(#[from] EntityError),
    /// The entity does not lie where it was to be taken from.
    #[error("entity {entity}: {}", lies(*place))]
    Elsewhere {
        /// The handle.
        entity: Entity,
        /// Where it lies.
        place: Option<Place>,
    },
}

/// Where an entity lies that does not lie where it was to be taken from.
fn lies(place: Option<Place>) -> String {
    place.map_or("it has no place".into(), |place| {
        format!("it lies elsewhere, in {place}")
    })
}

/// A handle was refused: which, and why. Of [`Entity::PLACEHOLDER`] it says that nobody is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("entity {entity}: {}", refused(*entity, *fault))]
pub struct EntityError {
    /// The handle as it was passed.
    pub entity: Entity,
    /// What is wrong with it.
    pub fault: EntityFault,
}

/// What is wrong with a handle. The placeholder's index is out of range, which says nothing to who meant nobody.
fn refused(entity: Entity, fault: EntityFault) -> String {
    match (entity, fault) {
        (Entity::PLACEHOLDER, EntityFault::OutOfRange) => {
            "it is `Entity::PLACEHOLDER`, which is nobody".into()
        }
        _ => fault.to_string(),
    }
}

impl EntityError {
    /// `entity` was refused because of `fault`.
    #[must_use]
    pub const fn new(entity: Entity, fault: EntityFault) -> Self {
        Self { entity, fault }
    }
}

/// What became of each handle of a batch that was to be destroyed.
///
/// `refused` is sorted by position, and takes no memory while every handle is live.
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use = "a batch may hold stale handles; the report says which"]
pub struct DestroyReport {
    /// How many entities this call destroyed.
    pub destroyed: usize,
    /// The handles that were refused, each with its position in the slice.
    pub refused: Vec<(usize, EntityError)>,
}

impl DestroyReport {
    /// Whether every handle of the batch was live and is now destroyed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.refused.is_empty()
    }

    /// The first refusal as an error, or the number destroyed.
    ///
    /// # Errors
    /// The first handle that was refused.
    pub fn into_result(self) -> Result<usize, EntityError> {
        match self.refused.first() {
            Some(&(_, error)) => Err(error),
            None => Ok(self.destroyed),
        }
    }
}

/// How many were destroyed and refused; of these, why the first was.
impl fmt::Display for DestroyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { destroyed, refused } = self;
        write!(f, "{destroyed} destroyed, {} refused", refused.len())?;
        write_first(f, refused)
    }
}

/// How many were destroyed, and of those that were refused the first five.
impl fmt::Debug for DestroyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { destroyed, refused } = self;
        f.debug_struct("DestroyReport")
            .field("destroyed", destroyed)
            .field("refused", &FirstFew(refused))
            .finish()
    }
}
