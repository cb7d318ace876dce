//! `ObservedBatch`: the rows of one change, as an observer sees them.

use crate::entity::Entity;
use crate::observer::Observed;
use crate::panics::after;
use crate::query::{QueryData, QueryError, Span, entities_of, lend, lend_slices};
use crate::world::{Resources, World};

/// The entities of one change, as ranges of rows in chunks: in the order of archetypes, chunks and rows,
/// whatever order they changed in and however many threads changed them.
///
/// It lends their fragments, not the rest of the world, which is in the middle of the change: what needs
/// other entities is [recorded](crate::command::Commands::defer).
#[derive(Debug)]
pub struct ObservedBatch<'w> {
    world: &'w mut World,
    /// Rows that hold values; no two spans have one in common.
    spans: &'w [Span],
    change: Observed,
}

impl<'w> ObservedBatch<'w> {
    /// # Safety
    /// The rows hold values, no two spans have a row in common, and they are in the order of their archetypes.
    pub(super) unsafe fn new(world: &'w mut World, spans: &'w [Span], change: Observed) -> Self {
        Self {
            world,
            spans,
            change,
        }
    }

    /// Which one kind of change it is.
    #[must_use]
    pub fn change(&self) -> Observed {
        self.change
    }

    /// Whether they go to another world of the universe, or have come from one: then they live on, and keep their handles.
    /// (Who was to go and could not, because there was no room, comes again, in a batch of which this is true as well.)
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// struct Player;
    /// struct Dead(u32);
    ///
    /// let universe = Arc::new(Universe::new());
    /// let (mut town, mut cave) = (World::of(&universe)?, World::of(&universe)?);
    /// town.resources_mut().insert(Dead(0));
    /// town.observe::<Player, ()>(Observed::DESTROY, |batch, _| {
    ///     if !batch.is_move() {
    ///         let dead = batch.len() as u32;
    ///         batch.resources_mut().get_mut::<Dead>().expect("it was put there").0 += dead;
    ///     }
    /// })?;
    /// let (anna, bert) = (town.create((Player,))?, town.create((Player,))?);
    /// town.move_to(&mut cave, anna)?;
    /// town.destroy(bert)?;
    /// assert_eq!(town.resources().get::<Dead>().expect("it was put there").0, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_move(&self) -> bool {
        self.world.moves()
    }

    /// How many entities; one at least. O(ranges).
    #[expect(
        clippy::len_without_is_empty,
        reason = "an observer is not called for nothing"
    )]
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.iter().map(|span| span.count as usize).sum()
    }

    /// The handles of each range.
    pub fn ranges(&self) -> impl Iterator<Item = &[Entity]> {
        // SAFETY: `new`'s.
        self.spans
            .iter()
            .map(|span| unsafe { entities_of(self.world, span) })
    }

    /// The handles of all, in order.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.ranges().flatten().copied()
    }

    /// Lends data of each entity that has what `D` lends, in order; how many have. Enabled bits are not looked
    /// at.
    ///
    /// Data that was created or added may be written: it is what the entity has then. What is written before
    /// data goes is seen by later observers, and goes with it.
    ///
    /// # Errors
    /// As for [`Query::new`](crate::query::Query::new).
    pub fn for_each<D: QueryData>(
        &mut self,
        mut each: impl FnMut(D::Item<'_>),
    ) -> Result<usize, QueryError> {
        // SAFETY: `new`'s.
        let lent = unsafe { lend::<D>(self.world, self.spans, &mut each) };
        after(each, lent)
    }

    /// Lends data of each range whose entities have what `D` lends, as slices; how many entities that are. Enabled bits
    /// are not looked at.
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn for_each_range<D: QueryData>(
        &mut self,
        mut each: impl FnMut(D::Slices<'_>),
    ) -> Result<usize, QueryError> {
        // SAFETY: `new`'s.
        let lent = unsafe { lend_slices::<D>(self.world, self.spans, &mut each) };
        after(each, lent)
    }

    /// The values that the world has once.
    #[must_use]
    pub fn resources(&self) -> &Resources {
        self.world.resources()
    }

    /// The values that the world has once, to change: where an observer keeps what it finds out.
    #[must_use]
    pub fn resources_mut(&mut self) -> &mut Resources {
        self.world.resources_mut()
    }
}
