//! Chunk fragments of the worlds of a run: which chunk has which value, and may have it.
//!
//! A chunk is known by its address. One that stays keeps its value, also in the other world; one that is new begins with
//! the template of its composition. Which template that is, is seen when the first chunk of a composition comes: from
//! then on it is that, until another one is set or the composition is collected. A single call that makes a composition
//! says itself what that must be: what it brings, or what the composition has that its entity comes from.

use std::collections::{BTreeMap, BTreeSet};

use megachunk::prelude::*;
use megachunk::query::QueryFilter;

use crate::world_bulk::{WithFilter, kinds_in, with_filter};
use crate::world_fragments::{Kind, Species, Team, Weather, kinds_of};
use crate::world_machine::{Machine, WORLDS};
use crate::world_more::MoreOp;
use crate::world_ops::WorldOp;

type Composition = Vec<Kind>;

/// A chunk with a weather.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    world: usize,
    kinds: Composition,
    shared: [Option<u32>; 2],
    entities: BTreeSet<Entity>,
    value: u32,
}

/// By their addresses.
type Spots = BTreeMap<usize, Spot>;

/// How chunks stood before a step.
#[derive(Debug)]
pub(crate) struct Sky {
    spots: Spots,
    compositions: [usize; WORLDS],
    given: usize,
}

/// What new chunks begin with, by world and composition, as far as some have been seen.
pub(crate) type Templates = BTreeMap<(usize, Composition), u32>;

impl Machine {
    fn spots(&self) -> Spots {
        let mut spots = Spots::new();
        for (at, world) in self.worlds.iter().enumerate() {
            let mut all = world.read::<Entity, With<PerChunk<Weather>>>().unwrap();
            all.for_each_chunk(|chunk, entities| {
                let row = self.model.row(at, entities[0]);
                let row = row.unwrap_or_else(|refusal| panic!("{}: {refusal:?}", entities[0]));
                let spot = Spot {
                    world: at,
                    kinds: row.kinds().collect(),
                    shared: [
                        chunk.shared::<Team>().map(|team| team.number),
                        chunk.const_shared::<Species>().map(|species| species.0),
                    ],
                    entities: entities.iter().copied().collect(),
                    value: chunk.chunk_fragment::<Weather>().unwrap().value,
                };
                let before = spots.insert(entities.as_ptr().addr(), spot);
                assert!(before.is_none(), "two chunks lie in one place");
            });
        }
        spots
    }

    pub(crate) fn sky(&self) -> Sky {
        self.sky_of(self.spots())
    }

    fn sky_of(&self, spots: Spots) -> Sky {
        Sky {
            spots,
            compositions: [0, 1].map(|at| self.worlds[at].archetypes().len()),
            given: self.model.given.len(),
        }
    }

    /// Compares the chunks with those before a step; how they stand now.
    pub(crate) fn look_up(&mut self, before: &Sky, op: WorldOp) -> Sky {
        let spots = self.spots();
        self.forget_templates(op);
        if matches!(op, WorldOp::More(MoreOp::RollBack { .. })) {
            // Perhaps in other memory.
            let all = |spots: &Spots| spots.values().cloned().collect::<BTreeSet<_>>();
            assert_eq!(all(&spots), all(&before.spots), "chunks that went back");
            return self.sky_of(spots);
        }
        let set = match op {
            WorldOp::SetChunkFragment { pick, payload } if before.given > 0 => {
                Some((self.model.given[usize::from(pick) % before.given], payload))
            }
            _ => None,
        };
        for (address, spot) in &spots {
            let same = before
                .spots
                .get(address)
                .filter(|was| was.kinds == spot.kinds && was.shared == spot.shared);
            let stayed = same.filter(|was| !was.entities.is_disjoint(&spot.entities));
            let what = || format!("{op:?}: the chunk of {:?} in {}", spot.kinds, spot.world);
            if let Some(was) = stayed {
                let set = set
                    .filter(|(entity, _)| spot.world == self.at && spot.entities.contains(entity));
                let value = set.map_or(was.value, |(_, payload)| payload);
                // Who was there may have left, and come back to a new one: between two closures, or clones, of a flush, or
                // where a slice names him twice, with another shared value in between.
                if returns(op, before.given) && spot.value != value {
                    let key = (spot.world, spot.kinds.clone());
                    let template = *self.templates.entry(key).or_insert(spot.value);
                    assert_eq!(spot.value, template, "{}, a new one", what());
                    continue;
                }
                assert_eq!(spot.value, value, "{}, which stayed", what());
                continue;
            }
            // It has been emptied and filled again, perhaps without having gone.
            if same.is_some_and(|was| was.world == spot.world && was.value == spot.value) {
                continue;
            }
            let key = (spot.world, spot.kinds.clone());
            match self.templates.get(&key) {
                Some(template) => assert_eq!(&spot.value, template, "{}, a new one", what()),
                None => {
                    if let Some(template) = self.template_of(before, spot, op) {
                        assert_eq!(spot.value, template, "{}, a new composition", what());
                    }
                    self.templates.insert(key, spot.value);
                }
            }
        }
        self.sky_of(spots)
    }

    /// Compositions go, and what was known of them.
    fn forget_templates(&mut self, op: WorldOp) {
        let at = self.at;
        match op {
            WorldOp::Renew { .. } => self.templates.retain(|(world, _), _| *world != at),
            // A weather is not saved.
            WorldOp::Reload { .. }
            | WorldOp::More(MoreOp::Require { .. } | MoreOp::Load { .. }) => {
                self.templates.clear();
            }
            WorldOp::Collect => {
                let rows = self.model.rows(at);
                let there: BTreeSet<Composition> =
                    rows.map(|(_, row)| row.kinds().collect()).collect();
                let stays =
                    |world: usize, kinds: &Composition| world != at || there.contains(kinds);
                self.templates
                    .retain(|(world, kinds), _| stays(*world, kinds));
            }
            WorldOp::More(MoreOp::Template { which, payload }) => {
                let rows = self.model.rows(at);
                let there = rows.map(|(_, row)| row.kinds().collect());
                let there = there.filter(|kinds: &Composition| kinds.contains(&Kind::Weather));
                let there: BTreeSet<Composition> = there.collect();
                let known = there.into_iter().map(|kinds| (at, kinds));
                let mut known: Vec<_> = known.collect();
                known.extend(self.templates.keys().cloned());
                for (world, kinds) in known {
                    if world == at && may_let_through(which, &kinds) {
                        self.templates.insert((world, kinds), payload);
                    }
                }
            }
            _ => {}
        }
    }

    /// What a call on one entity that has made one composition must have given it, if that is told here.
    fn template_of(&self, before: &Sky, spot: &Spot, op: WorldOp) -> Option<u32> {
        let at = self.at;
        let made = self.worlds[at]
            .archetypes()
            .len()
            .checked_sub(before.compositions[at]);
        if made != Some(1) || spot.world != at {
            return None;
        }
        let (come, payload): (Vec<Kind>, u32) = match op {
            WorldOp::Create { shape, payload, .. }
            | WorldOp::CreateBatch { shape, payload, .. }
            | WorldOp::Build { shape, payload, .. }
            | WorldOp::Add { shape, payload, .. }
            | WorldOp::Swap {
                come: shape,
                payload,
                ..
            } => (kinds_of(shape).to_vec(), payload),
            WorldOp::CreateDynamic { kinds, payload, .. }
            | WorldOp::CreateCopies { kinds, payload, .. }
            | WorldOp::BuildDynamic { kinds, payload, .. }
            | WorldOp::AddDynamic { kinds, payload, .. } => (kinds_in(kinds), payload),
            WorldOp::Remove { .. }
            | WorldOp::Take { .. }
            | WorldOp::RemoveDynamic { .. }
            | WorldOp::SetShared { .. } => (Vec::new(), 0),
            _ => return None,
        };
        if come.contains(&Kind::Weather) {
            return Some(payload);
        }
        let entity = spot.entities.first()?;
        let mut all = before.spots.values();
        let source = all.find(|was| was.world == at && was.entities.contains(entity))?;
        self.templates.get(&(at, source.kinds.clone())).copied()
    }

    /// Sets what new chunks begin with.
    pub(crate) fn set_template(&mut self, which: u8, payload: u32) {
        struct Set<'a>(&'a mut World, Weather);
        impl WithFilter for Set<'_> {
            type Out = Result<usize, QueryError>;
            fn with<F: QueryFilter + 'static>(self) -> Self::Out {
                // For the compositions that there are.
                let count = self.0.set_chunk_rule::<Weather, F>(self.1)?;
                assert!(self.0.remove_chunk_rule::<Weather, F>()?);
                Ok(count)
            }
        }
        let rows = self.model.rows(self.at);
        let there = rows.map(|(_, row)| row.kinds().collect());
        let there: BTreeSet<Composition> = there
            .filter(|kinds: &Composition| {
                kinds.contains(&Kind::Weather) && may_let_through(which, kinds)
            })
            .collect();
        let value = Weather::new(payload, &self.ledger);
        self.weathers.insert(payload);
        let count = with_filter(which, Set(&mut self.worlds[self.at], value)).unwrap();
        assert!(
            count >= there.len(),
            "{count} compositions, not {}",
            there.len()
        );
    }
}

/// Whether a filter, asked of a composition, may let some of its entities through.
fn may_let_through(which: u8, kinds: &[Kind]) -> bool {
    let has = |kind| kinds.contains(&kind);
    match which % 6 {
        0 => has(Kind::Small),
        1 => !has(Kind::Tag),
        2 => has(Kind::Text) || has(Kind::Guard),
        // What can be switched off may be.
        3 => has(Kind::Switch),
        4 => has(Kind::Counted),
        _ => true,
    }
}

/// Whether who was in a chunk may have left, and come back to another one in its place.
fn returns(op: WorldOp, given: usize) -> bool {
    let (pick, len, stride) = match op {
        WorldOp::Flush { .. } => return true,
        WorldOp::AddSlice {
            pick, len, stride, ..
        }
        | WorldOp::More(MoreOp::SwapSlice {
            pick, len, stride, ..
        }) => (pick, len, stride),
        _ => return false,
    };
    let named = (0..usize::from(len))
        .filter_map(|n| (usize::from(pick) + n * usize::from(stride)).checked_rem(given));
    named.collect::<BTreeSet<_>>().len() < usize::from(len)
}
