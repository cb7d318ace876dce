//! `EntityAllocator`: the seam between the product and the references it is measured against.

use std::io;

use crate::entity::{DestroyReport, Entity, EntityError, Full, Place};

/// What every entity allocator of this crate can do, the product and the references alike. Open, for an allocator of
/// your own beside ours; it [may change in any version](crate#what-stays).
///
/// Tests, benchmarks and traces are written against this trait, so that all contenders do the
/// same work. All methods take `&self` and may be called from any thread at any time.
pub trait EntityAllocator: Send + Sync {
    /// The name in tables: `naive`, `busy_block`, `bitmask`.
    const NAME: &'static str;

    /// A fresh allocator with nothing created.
    fn fresh() -> Self
    where
        Self: Sized;

    /// [`fresh`](Self::fresh), where an allocator needs much of the system at once: without a panic.
    ///
    /// # Errors
    /// What the system said, if it has no room.
    fn try_fresh() -> io::Result<Self>
    where
        Self: Sized,
    {
        Ok(Self::fresh())
    }

    /// How many entities can live at once.
    fn capacity(&self) -> usize;

    /// Creates one entity, without a place.
    ///
    /// # Errors
    /// [`Full`] when no id is left.
    fn create(&self) -> Result<Entity, Full>;

    /// Creates `out.len()` entities; all or none.
    ///
    /// # Errors
    /// [`Full`] when so many ids are not left; then none stays created, and `out` holds
    /// unspecified handles.
    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full>;

    /// Destroys one entity.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive.
    fn destroy(&self, entity: Entity) -> Result<(), EntityError>;

    /// Destroys each of `entities`; refused handles are reported, the rest is destroyed.
    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport;

    /// Whether `entity` is alive.
    fn exists(&self, entity: Entity) -> bool;

    /// Where `entity` lies; `None` while it has no place.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive.
    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError>;

    /// Sets where `entity` lies.
    ///
    /// # Errors
    /// [`EntityError`] when `entity` is not alive.
    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError>;

    /// How many entities live: exact while no other thread creates or destroys.
    fn count(&self) -> usize;

    /// Returns the ids that this thread keeps for itself, so that any thread can have them.
    fn flush(&self) {}
}
