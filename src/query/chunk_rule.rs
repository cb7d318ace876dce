//! `World::set_chunk_rule`: what new chunks begin with, also those of compositions that are still to come.

use core::any::TypeId;

use crate::archetype::EnabledBits;
use crate::entity::Entity;
use crate::fragment::{Fragment, FragmentId, FragmentSet, PerChunk, Value};
use crate::panics::{Panicked, end_all, note, resume};
use crate::query::{Query, QueryError, QueryFilter, Requirements, With};
use crate::world::World;

/// What chunks of some compositions begin with, whoever makes these: asked when one is made.
///
/// Invariant: no two are of one filter and one fragment; the one that was set last stands last.
#[derive(Debug, Default)]
pub(crate) struct ChunkRules(Vec<ChunkRule>);

#[derive(Debug)]
struct ChunkRule {
    /// The filter.
    of: TypeId,
    /// What the filter asks of a composition, the chunk fragment included.
    requirements: Requirements,
    value: Value,
}

impl ChunkRules {
    /// What chunks of a composition with these fragments, some of which can be switched off, begin with by the last rule
    /// that is for it. O(rules).
    pub(crate) fn value(
        &self,
        id: FragmentId,
        set: &FragmentSet,
        switched: &[EnabledBits],
    ) -> Option<&Value> {
        let rules = self.0.iter().rev().filter(|rule| rule.value.id() == id);
        let mut met = rules.filter(|rule| rule.requirements.met_by_set(set, switched));
        met.next().map(|rule| &rule.value)
    }

    /// Takes a rule out.
    fn take(&mut self, of: TypeId, id: FragmentId) -> Option<Value> {
        let mut rules = self.0.iter();
        let at = rules.position(|rule| rule.of == of && rule.value.id() == id)?;
        Some(self.0.remove(at).value)
    }

    /// The values of all.
    pub(crate) fn into_values(self) -> impl Iterator<Item = Value> {
        self.0.into_iter().map(|rule| rule.value)
    }
}

impl World {
    /// Sets what new chunks begin with in all compositions that have this chunk fragment and that `F` matches: those that
    /// there are, how many is said, and those that are still to come, whatever brings them. Chunks that are there keep
    /// their values.
    ///
    /// A composition is made when the first entity comes to it, and asks the rules then, beginning with the one that was
    /// set last: the first that matches decides. So a rule comes before what a [bundle
    /// brings](crate::fragment::Bundle::per_chunk) in the call that makes the composition, and before what the composition
    /// has that its first entity comes from, which is what begins its chunks where no rule matches. The same `T` and `F`
    /// set again replace their rule, which is the last one then. What is to hold for the compositions that there are, and for
    /// none that comes, is a rule that is [taken back](Self::remove_chunk_rule) at once. Where a rule of the same `T` and `F`
    /// is to stay, it must be another one, or that one is gone as well: of the filter `(F,)`, which asks what `F` asks and is
    /// another type.
    ///
    /// A rule is the world's: an entity that is moved to another world comes to chunks that begin by the rules there, but
    /// for whole chunks that change hands, which take their values along. It is not saved, and a load makes a world of its
    /// own, whose compositions begin as they did in the world that was saved: set the rules for it anew, and they hold for
    /// all of these, too. It stays when the world is [cleared](Self::clear), or
    /// [forgets](Self::collect_archetypes) compositions. It stays, too, where the world
    /// [goes back](crate::world::Checkpoints), though what it made chunks begin with goes back: set rules before the first
    /// checkpoint, and not in ticks.
    ///
    /// `F` is asked of compositions alone: filters of changes and of bits let all pass. O(archetypes + rules); to make a
    /// composition takes O(rules) more for each of its chunk fragments, and nothing else takes longer.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Debug, PartialEq)]
    /// struct Pulse(u32);
    /// struct Near;
    /// struct Far;
    /// struct Named(&'static str);
    ///
    /// let mut world = World::new();
    /// world.set_chunk_rule::<Pulse, With<Near>>(Pulse(1))?;
    /// world.set_chunk_rule::<Pulse, With<Far>>(Pulse(16))?;
    /// let ant = world.create((0_u32, Far).per_chunk(Pulse(16)))?;
    /// // A composition that nobody has thought of, and another that the ant comes to from there.
    /// world.add(ant, (Named("ant"),))?;
    /// assert_eq!(world.chunk_fragment::<Pulse>(ant)?, &Pulse(16));
    /// world.swap::<(Far,), _>(ant, (Near,))?;
    /// assert_eq!(world.chunk_fragment::<Pulse>(ant)?, &Pulse(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// For those that there are, beside a rule that stays:
    ///
    /// ```
    /// # use megachunk::prelude::*;
    /// # #[derive(Clone, Debug, PartialEq)]
    /// # struct Pulse(u32);
    /// # struct Far;
    /// # let mut world = World::new();
    /// world.set_chunk_rule::<Pulse, With<Far>>(Pulse(4))?;
    /// let ant = world.create((0_u32, Far).per_chunk(Pulse(1)))?;
    /// assert_eq!(world.set_chunk_rule::<Pulse, (With<Far>,)>(Pulse(8))?, 1);
    /// assert!(world.remove_chunk_rule::<Pulse, (With<Far>,)>()?);
    /// let bee = world.create((0_u64, Far).per_chunk(Pulse(1)))?;
    /// assert_eq!(world.chunk_fragment::<Pulse>(bee)?, &Pulse(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`](crate::query::Query::new).
    ///
    /// # Panics
    /// If the value's `clone` panics: then nothing has changed; or its `drop`: then all is done. A `clone` that panics when
    /// a composition is made refuses the call that makes it.
    pub fn set_chunk_rule<T: Fragment + Clone, F: QueryFilter + 'static>(
        &mut self,
        value: T,
    ) -> Result<usize, QueryError> {
        let value = Value::per_chunk(self.registry(), value)?;
        let (requirements, mut before, mut panicked) = self.begin_chunks::<T, F>(&value)?;
        let (count, of) = (before.len(), TypeId::of::<F>());
        if panicked.is_none() {
            before.extend(self.chunk_rules.take(of, value.id()));
            self.chunk_rules.0.push(ChunkRule {
                of,
                requirements,
                value,
            });
        } else {
            before.push(value);
        }
        // Each by itself: a `drop` may panic.
        end_all(&mut panicked, before);
        resume(panicked);
        Ok(count)
    }

    /// Takes back the [rule](Self::set_chunk_rule) of a chunk fragment and a filter, by its type, for compositions that come;
    /// whether there was one. Chunks of those that there are begin with what it said still. O(rules).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.set_chunk_rule::<u64, With<char>>(5)?;
    /// assert!(world.remove_chunk_rule::<u64, With<char>>()?);
    /// assert!(!world.remove_chunk_rule::<u64, With<char>>()?);
    /// let ant = world.create(('a',).per_chunk(1_u64))?;
    /// assert_eq!(world.chunk_fragment::<u64>(ant)?, &1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The fragment cannot be registered: [`FragmentError::TooMany`](crate::fragment::FragmentError::TooMany).
    ///
    /// # Panics
    /// If the value's `drop` panics: then the rule is gone.
    pub fn remove_chunk_rule<T: Fragment + Clone, F: QueryFilter + 'static>(
        &mut self,
    ) -> Result<bool, QueryError> {
        let id = self.registry().register::<PerChunk<T>>()?.id();
        Ok(self.chunk_rules.take(TypeId::of::<F>(), id).is_some())
    }

    /// Lets new chunks of the compositions that match begin with clones of this value. What is asked of compositions, and
    /// what these began with before; if a `clone` panics, nothing has changed, and the clones come back instead.
    fn begin_chunks<T: Fragment + Clone, F: QueryFilter>(
        &mut self,
        template: &Value,
    ) -> Result<(Requirements, Vec<Value>, Panicked), QueryError> {
        let mut query = Query::<Entity, (With<PerChunk<T>>, F)>::new(self)?;
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
