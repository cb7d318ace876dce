//! The call that creates copies of groups.

use super::{Group, Lead};
use crate::archetype::Chunk;
use crate::entity::{Entity, EntityMap};
use crate::panics::{first, resume};
use crate::workers::fork_join;
use crate::world::prototype::claim::{Claim, Claims, by_order};
use crate::world::prototype::copies::Order;
use crate::world::{World, WorldError};

/// Values that are led over in a task of a thread.
const TOGETHER: usize = 1 << 10;

impl World {
    /// Creates `count` copies of a group, in which handles of members are those of the copy's: see [`Group`]. The members of
    /// the first copy, in their order, then those of the second, and so on: `chunks(group.len())` are the copies.
    ///
    /// As [`create_copies`](Self::create_copies) for each member in turn, in one call: O(values), a chunk at a time, on all
    /// threads of the current rayon pool if there are many; and for each copy O(members), and O(values that name members), which are
    /// led over when all are written. Handles, and everything, are the same for any number of threads.
    ///
    /// All or none: if ids or memory run out, or if a `clone`, or what leads a value over, panics, there is no new entity,
    /// and every clone is dropped. Then observers see one batch for each composition, in the order of the members that are
    /// first of one, each with its values as they stay.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::world::Group;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(transparent)]
    /// struct Twin(Entity);
    /// megachunk::plain!(Twin { 0 });
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<Twin>()?;
    /// let (ant, bee) = (world.reserve()?, world.reserve()?);
    /// world.build(ant, (Twin(bee),))?;
    /// world.build(bee, (Twin(ant),))?;
    /// let twins = Group::of(&world, &[ant, bee])?;
    /// let all = world.create_groups(&twins, 10)?;
    /// assert_eq!(world.get::<Twin>(all[18])?.0, all[19]);
    /// assert_eq!(world.get::<Twin>(all[19])?.0, all[18]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`create_copies`](Self::create_copies).
    ///
    /// # Panics
    /// If a `clone`, what leads a value over (of several of these that panic on several threads, any comes back), or, after all
    /// is created, an observer does.
    #[doc(alias = "instantiate")]
    #[doc(alias = "spawn_scene")]
    pub fn create_groups(
        &mut self,
        group: &Group,
        count: usize,
    ) -> Result<Vec<Entity>, WorldError> {
        let orders = group.prototypes().iter().map(|prototype| Order {
            prototype,
            count,
            writers: &[],
        });
        let orders: Vec<Order<'_>> = orders.collect();
        let mut created = Vec::new();
        let filled = self.fill_orders(&orders, |claims| {
            created = claims.copies(group.len(), count);
            claims.lead(group, &created);
        })?;
        let told = self.tell_compositions(&filled.claims);
        resume(first(filled.panicked, told));
        Ok(created)
    }
}

impl Claims<'_> {
    /// The entities of `count` copies of so many members, copy by copy.
    fn copies(&self, members: usize, count: usize) -> Vec<Entity> {
        let mut all = vec![Entity::PLACEHOLDER; members * count];
        for claim in &self.all {
            let chunk = self.chunk(claim);
            for row in 0..claim.rows.count as usize {
                // SAFETY: a row of the claim, whose handle was written when it got its id.
                let entity = unsafe { *chunk.handles().add(claim.rows.first as usize + row) };
                all[(claim.number + row) * members + claim.order] = entity;
            }
        }
        all
    }

    /// Leads what names members over to those of each copy.
    fn lead(&self, group: &Group, created: &[Entity]) {
        if group.leads().is_empty() {
            return;
        }
        let claims: Vec<&[Claim]> = by_order(&self.all, group.len()).collect();
        let meant = group.meant();
        let some = (TOGETHER / group.leads().len()).max(1) * group.len();
        let pieces: Vec<(usize, &[Entity])> = created.chunks(some).enumerate().collect();
        fork_join::map_with(
            pieces,
            || meant.clone(),
            |entities: &mut EntityMap, (piece, created)| {
                let copies = created.chunks(group.len()).enumerate();
                for (copy, members) in copies {
                    for (&old, &new) in group.entities().iter().zip(members) {
                        entities.insert(old, new);
                    }
                    let copy = piece * (some / group.len()) + copy;
                    for lead in group.leads() {
                        let value = self.value(claims[lead.member], copy, lead);
                        // SAFETY: a value of a row that was claimed and filled, which nobody sees; each is of one lead of
                        // one copy. If this panics, all are dropped.
                        unsafe { lead.apply(value, entities) };
                    }
                }
            },
        );
    }

    /// Where a value of a copy lies, whose member's claims these are.
    fn value(&self, claims: &[Claim], copy: usize, lead: &Lead) -> *mut u8 {
        let at = claims.partition_point(|claim| claim.number <= copy) - 1;
        let claim = &claims[at];
        let data = &self.world.archetypes[claim.archetype as usize];
        let Some(column) = data.seek_column(lead.fragment) else {
            unreachable!("a value in a column has a column");
        };
        let column = &data.columns[column];
        let row = claim.rows.first as usize + (copy - claim.number);
        let array = self.chunk(claim).array(column.offset);
        array.wrapping_add(row * column.size as usize)
    }

    fn chunk(&self, claim: &Claim) -> &Chunk {
        &self.world.archetypes[claim.archetype as usize].chunks[claim.rows.chunk as usize]
    }
}
