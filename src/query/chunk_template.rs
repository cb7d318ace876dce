//! `World::set_chunk_template`: what new chunks of some compositions begin with.

use crate::entity::Entity;
use crate::fragment::{Fragment, PerChunk, Value};
use crate::panics::{end_all, note, resume};
use crate::query::{Query, QueryError, QueryFilter, WithRole};
use crate::world::World;

impl World {
    /// Sets what new chunks begin with, in all compositions that have this chunk fragment and that
    /// `F` matches; how many these are. Chunks that are there keep their values. A composition met
    /// later begins with what its [bundle brings](crate::fragment::Bundle::per_chunk), or else with
    /// what its source composition's chunks begin with.
    ///
    /// `F` is asked of compositions alone: filters of changes and of bits let all pass. O(archetypes).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Pulse(u32);
    /// struct Near;
    /// struct Far;
    ///
    /// let mut world = World::new();
    /// world.create((0_u32, Near).per_chunk(Pulse(1)))?;
    /// let far = world.create((0_u32, Far).per_chunk(Pulse(4)))?;
    /// assert_eq!(world.set_chunk_template::<Pulse, With<Far>>(Pulse(8))?, 1);
    /// assert_eq!(world.chunk_fragment::<Pulse>(far)?, &Pulse(4), "its chunk was there before");
    /// world.destroy(far)?;
    /// let far = world.create((0_u32, Far).per_chunk(Pulse(4)))?;
    /// assert_eq!(world.chunk_fragment::<Pulse>(far)?, &Pulse(8), "a composition keeps its template");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`].
    ///
    /// # Panics
    /// If the value's `clone` panics: then nothing has changed; or its `drop`: then all is done.
    pub fn set_chunk_template<T: Fragment + Clone, F: QueryFilter>(
        &mut self,
        template: T,
    ) -> Result<usize, QueryError> {
        let template = Value::per_chunk(self.registry(), template)?;
        let mut query = Query::<Entity, (WithRole<PerChunk<T>>, F)>::new(self)?;
        query.update(self);
        let (mut values, mut panicked) = (Vec::with_capacity(query.matches.len()), None);
        note(&mut panicked, || {
            for known in &*query.matches {
                values.push((known.archetype, template.duplicate()));
            }
        });
        let count = values.len();
        if panicked.is_none() {
            for (archetype, value) in &mut values {
                let once = &mut self.archetypes[*archetype as usize].chunk_values;
                let mut once = once.iter_mut();
                if let Some(there) = once.find(|there| there.id == value.id()) {
                    core::mem::swap(&mut there.template, value);
                }
            }
        }
        // Each by itself: a `drop` may panic.
        let before = values.into_iter().map(|(_, value)| value);
        end_all(&mut panicked, before.chain([template]));
        resume(panicked);
        Ok(count)
    }
}
