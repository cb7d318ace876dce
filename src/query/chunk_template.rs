//! `World::set_chunk_template`: what new chunks of some compositions begin with.

use crate::entity::Entity;
use crate::fragment::{Fragment, PerChunk, Value};
use crate::panics::{Panicked, end_all, note, resume};
use crate::query::{Query, QueryError, QueryFilter, Requirements, WithRole};
use crate::world::World;

impl World {
    /// Sets what new chunks begin with, in all compositions that have this chunk fragment and that
    /// `F` matches; how many these are. Chunks that are there keep their values. A composition met
    /// later begins with what its [bundle brings](crate::fragment::Bundle::per_chunk), or else with
    /// what its source composition's chunks begin with: what holds for those that come, too, is a
    /// [rule](Self::set_chunk_rule).
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
        let (_, before, mut panicked) = self.begin_chunks::<T, F>(&template)?;
        let count = before.len();
        // Each by itself: a `drop` may panic.
        end_all(&mut panicked, before.into_iter().chain([template]));
        resume(panicked);
        Ok(count)
    }

    /// Lets new chunks of the compositions that match begin with clones of this value. What is asked of compositions, and
    /// what these began with before; if a `clone` panics, nothing has changed, and the clones come back instead.
    pub(super) fn begin_chunks<T: Fragment + Clone, F: QueryFilter>(
        &mut self,
        template: &Value,
    ) -> Result<(Requirements, Vec<Value>, Panicked), QueryError> {
        let mut query = Query::<Entity, (WithRole<PerChunk<T>>, F)>::new(self)?;
        query.update(self);
        let (mut values, mut panicked) = (Vec::with_capacity(query.matches.len()), None);
        note(&mut panicked, || {
            for _ in &*query.matches {
                values.push(template.duplicate());
            }
        });
        if panicked.is_none() {
            for (known, value) in query.matches.iter().zip(&mut values) {
                let once = &mut self.archetypes[known.archetype as usize].chunk_values;
                let mut once = once.iter_mut();
                if let Some(there) = once.find(|there| there.id == value.id()) {
                    core::mem::swap(&mut there.template, value);
                }
            }
        }
        Ok((query.requirements().clone(), values, panicked))
    }
}
