//! `ObservedBatch`: the rows of one change, as an observer sees them.

use core::fmt;
use std::sync::Arc;

use crate::entity::Entity;
use crate::fragment::{FragmentId, Values, ValuesMut};
use crate::observer::Observed;
use crate::panics::after;
use crate::query::{
    QueryData, QueryError, Span, entities_of, lend, lend_slices, lend_values, lend_values_mut,
};
use crate::world::{Resources, Seat, World, with_lifted};

/// The entities of one change, as ranges of rows in chunks: in the order of archetypes, chunks and rows,
/// whatever order they changed in and however many threads changed them.
///
/// It lends their fragments, not the rest of the world, which is in the middle of the change: what needs
/// other entities is [recorded](crate::command::Commands::defer).
pub struct ObservedBatch<'w> {
    world: &'w mut World,
    /// Rows that hold values; no two spans have one in common.
    spans: &'w [Span],
    change: Observed,
}

/// What has changed, and how many entities in how many ranges of rows, not which.
impl fmt::Debug for ObservedBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedBatch")
            .field("change", &self.change)
            .field("entities", &self.len())
            .field("ranges", &self.spans.len())
            .finish_non_exhaustive()
    }
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

    /// Its world's.
    pub(super) fn seat(&self) -> Arc<Seat> {
        Arc::clone(&self.world.seat)
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
    /// at. O(entities), and as with [`World::query`](crate::world::World::query), whose memory of what `D` asks for this uses,
    /// O(archetypes that came since).
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

    /// Lends the values of a fragment of each range whose entities have it, in whatever role, known by its number: one
    /// a row, or one for all rows if it is shared or the chunk's. How many entities that are. Enabled bits are not
    /// looked at.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::fragment::Values;
    /// use megachunk::prelude::*;
    /// use megachunk::query::DynamicFilter;
    ///
    /// struct Lost(u32);
    ///
    /// let mut world = World::new();
    /// let gold = world.registry().define_plain("gold", Layout::new::<u32>())?.id();
    /// world.resources_mut().insert(Lost(0));
    /// world.observe_dynamic(Observed::GO, gold, DynamicFilter::new(), move |batch, _| {
    ///     let mut sum = 0;
    ///     let add = |_: &[Entity], golds: Values<'_>| sum += golds.plain::<u32>().unwrap().iter().sum::<u32>();
    ///     batch.for_each_range_dynamic(gold, add).unwrap();
    ///     batch.resources_mut().get_mut::<Lost>().unwrap().0 += sum;
    /// })?;
    /// for n in 1..=4_u32 {
    ///     let value = Value::from_bytes(world.registry(), gold, &n.to_ne_bytes())?;
    ///     let dwarf = world.create_dynamic(DynamicBundle::new().with(value))?;
    ///     match n % 2 {
    ///         0 => world.destroy(dwarf)?,
    ///         _ => assert!(world.remove_dynamic(dwarf, &[gold])?),
    ///     }
    /// }
    /// assert_eq!(world.resources().get::<Lost>().unwrap().0, 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown); [`QueryError::NoValues`] for a tag.
    pub fn for_each_range_dynamic(
        &mut self,
        id: FragmentId,
        mut each: impl FnMut(&[Entity], Values<'_>),
    ) -> Result<usize, QueryError> {
        // SAFETY: `new`'s.
        let lent = unsafe { lend_values(self.world, self.spans, id, &mut each) };
        after(each, lent)
    }

    /// Lends values as [`for_each_range_dynamic`](Self::for_each_range_dynamic) does, to be written, as
    /// [`for_each`](Self::for_each) says. Marks them as changed. Of a chunk's value a chunk's ranges get the same one,
    /// one after the other.
    ///
    /// # Errors
    /// As for [`for_each_range_dynamic`](Self::for_each_range_dynamic); [`QueryError::ReadOnly`] for a shared fragment.
    pub fn for_each_range_dynamic_mut(
        &mut self,
        id: FragmentId,
        mut each: impl FnMut(&[Entity], ValuesMut<'_>),
    ) -> Result<usize, QueryError> {
        // SAFETY: `new`'s.
        let lent = unsafe { lend_values_mut(self.world, self.spans, id, &mut each) };
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

    /// Lends a resource and the batch, both to change; `None` if the resource is not there. Meanwhile the world does not
    /// have it; one that is put in its place ends when it comes back. See
    /// [`World::with_resource`](crate::world::World::with_resource).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Number(u32);
    /// struct Given(u32);
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(Given(0));
    /// world.observe::<Number, ()>(Observed::CREATE, |batch, _| {
    ///     batch.with_resource(|batch, given: &mut Given| {
    ///         let lent = batch.for_each::<&mut Number>(|number| {
    ///             given.0 += 1;
    ///             number.0 = given.0;
    ///         });
    ///         lent.expect("it asks for what is observed");
    ///     });
    /// })?;
    /// let _ = world.create_batch((0..3).map(|_| (Number(0),)))?;
    /// let ant = world.create((Number(0),))?;
    /// assert_eq!(world.get::<Number>(ant)?.0, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `with` panics; the resource is there again then.
    #[doc(alias = "resource_scope")]
    pub fn with_resource<T: Send + Sync + 'static, R>(
        &mut self,
        with: impl FnOnce(&mut Self, &mut T) -> R,
    ) -> Option<R> {
        with_lifted(self, |batch| batch.world.resources_mut(), with)
    }
}
