//! What must hold for a lane that nobody has, in the [integrity check](crate::world::World::check).

use crate::FlawPlace;
use crate::archetype::place;
use crate::command::lane::{Lane, NONE};
use crate::world::check::{Found, Held};

impl Lane {
    /// Notes what is wrong with the private chunks; what the lane has of the universe.
    pub(super) fn check(&self, found: &mut Found) -> Held {
        let mut held = Held::default();
        let mut spans = vec![0; self.privates.len()];
        for part in &self.parts {
            let mut next = part.first_span;
            while let Some(span) = self.spans.get(next as usize) {
                spans[span.private as usize] += span.count;
                next = span.next;
            }
        }
        for (number, private) in (0..).zip(&self.privates) {
            let at = FlawPlace::Recorded { chunk: number };
            let chunk = &private.chunk;
            held.entities += chunk.len as usize;
            held.chunks += chunk.run.len() as usize;
            let count = spans[number as usize];
            found.expect(count == chunk.len && count <= chunk.capacity, at, || {
                format!(
                    "its {} rows of {} are in spans of {count}",
                    chunk.len, chunk.capacity
                )
            });
            let stream = self.streams.get(private.stream() as usize);
            found.expect(stream.is_some(), at, || {
                "nobody knows what it is for".into()
            });
            for sub in 0..chunk.named() {
                let owner = self.universe.directory().owner_of(chunk.run.first() + sub);
                let mine = owner.private_of() == Some((self.world, number)) && owner.sub() == sub;
                found.expect(mine, at, || {
                    format!("the directory says of its part {sub}: {owner:?}")
                });
            }
            for (row, &entity) in (0..).zip(chunk.entities()) {
                let there = self.universe.index().place_of(entity);
                let here = place(chunk.run, row);
                found.expect(there == Some(here), at, || {
                    format!("{entity} lies at {here:?}, and its place is {there:?}")
                });
            }
        }
        for (number, stream) in (0..).zip(&self.streams) {
            let nursery = self.privates.get(stream.nursery as usize);
            let right = match nursery {
                Some(nursery) => nursery.stream() == number && !nursery.is_own(),
                None => stream.nursery == NONE,
            };
            let at = FlawPlace::Recorded {
                chunk: stream.nursery,
            };
            found.expect(right, at, || {
                "it is not for the first rows of a stream".into()
            });
        }
        held
    }
}
