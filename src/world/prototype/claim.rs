//! Rows and ids that a call has taken for entities whose values are still to be written.

use crate::archetype::Rows;
use crate::panics::{Panicked, end_here};
use crate::world::taken::TakenIn;
use crate::world::{World, WorldError};

/// Neighbouring rows at the end of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// For which of the call's orders.
    pub(super) order: usize,
    pub(super) archetype: u32,
    pub(super) rows: Rows,
    /// Which of the order's entities is the first.
    pub(super) number: usize,
}

/// Claims of one call. They count as rows of their chunks already; dropped, they are given back: the entities are then
/// those that there were before.
#[derive(Debug)]
pub(super) struct Claims<'w> {
    pub(super) world: &'w mut World,
    /// In the order of the orders, and of the entities of each.
    pub(super) all: Vec<Claim>,
    /// What the orders bring that does not lie in columns.
    pub(super) taken: Vec<TakenIn>,
}

/// The claims of each of so many orders, which stand in the order of these; none for one without entities. O(orders +
/// claims) for all.
pub(super) fn by_order(claims: &[Claim], orders: usize) -> impl Iterator<Item = &[Claim]> {
    let mut rest = claims;
    (0..orders).map(move |order| {
        let others = rest.iter().position(|claim| claim.order != order);
        let (own, later) = rest.split_at(others.unwrap_or(rest.len()));
        rest = later;
        own
    })
}

impl Claims<'_> {
    /// Takes rows of a group for `count` entities, and their ids. What was taken before an error stays taken.
    pub(super) fn take(
        world: &mut World,
        all: &mut Vec<Claim>,
        order: usize,
        (archetype, group): (u32, u32),
        count: usize,
    ) -> Result<(), WorldError> {
        let version = world.stamp();
        let mut number = 0;
        while number < count {
            let at = world.room_for(archetype, group, count - number)?;
            let chunk = &world.archetypes[archetype as usize].chunks[at.chunk as usize];
            let room = chunk.capacity - at.row;
            let some = u32::try_from(count - number).map_or(room, |left| left.min(room));
            // SAFETY: empty rows behind the last of a chunk of this world.
            let created = unsafe {
                let handles = chunk.handles().add(at.row as usize);
                world.universe.create_rows(handles, chunk.run, at.row, some)
            };
            let claim = |count| Claim {
                order,
                archetype,
                rows: Rows {
                    chunk: at.chunk,
                    first: at.row,
                    count,
                },
                number,
            };
            if let Err(full) = created {
                // Of no rows: the chunk goes with the others, if it is empty.
                all.push(claim(0));
                return Err(full.into());
            }
            world.archetypes[archetype as usize].grown(at.chunk, some, version);
            all.push(claim(some));
            number += some as usize;
        }
        Ok(())
    }

    /// The claims are entities with values now; and what the `drop`s have panicked with of what was there before.
    pub(super) fn settle(mut self) -> (Vec<Claim>, Panicked) {
        let mut panicked = None;
        for taken in self.taken.drain(..) {
            self.world.keep(taken, &mut panicked);
        }
        (core::mem::take(&mut self.all), panicked)
    }

    /// Drops the values of a claim, which are all written.
    pub(super) fn drop_values(&self, claim: &Claim) -> Panicked {
        let data = &self.world.archetypes[claim.archetype as usize];
        let Rows {
            chunk,
            first,
            count,
        } = claim.rows;
        // SAFETY: the values are there, and nobody has seen them.
        unsafe { data.drop_rows(chunk, first, count) }
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        let all = self.all.drain(..);
        let all = all.map(|claim| (claim.archetype, claim.rows)).collect();
        self.world.take_back(all);
        let mut panicked = None;
        for taken in self.taken.drain(..).rev() {
            self.world.put_out(taken, &mut panicked);
        }
        end_here(
            panicked,
            "a value of a copy that could not be made",
            Some(&self.world.seat),
        );
    }
}
