//! `Plan`: all that it takes to go back and that can fail, done before anything changes: memory is taken, and users' code makes
//! the values that come back.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::archetype::{Archetype, Chunk, SharedId, Universe, place};
use crate::chunk::Run;
use crate::entity::{Entity, Rewind};
use crate::fragment::Value;
use crate::panics::{Panicked, end_all};
use crate::world::checkpoint::besides::Coming;
use crate::world::checkpoint::part::{Part, SpareParts};
use crate::world::checkpoint::places::Places;
use crate::world::checkpoint::saved::{Saved, SavedArchetype, SavedChunk, Since};
use crate::world::{CheckpointError, World, WorldError};

/// How a world goes back.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) archetypes: Vec<PlannedArchetype>,
    pub(super) rewind: Rewind,
    pub(super) coming: Coming,
    /// Shared values that come, by the numbers that they will have: these very ones, also where one that is equal is there
    /// now.
    pub(super) shared: BTreeMap<SharedId, Arc<Value>>,
}

#[derive(Default)]
pub(super) struct PlannedArchetype {
    pub(super) chunks: Vec<PlannedChunk>,
    /// The keys of groups that have some, held; in the order of groups.
    pub(super) keys: Vec<Box<[SharedId]>>,
    pub(super) templates: Vec<Value>,
}

pub(super) struct PlannedChunk {
    pub(super) from: From,
    /// The forms whose arrays are to be written.
    pub(super) written: SmallVec<[u32; 8]>,
    /// Clones for those of them that are cloned, in their order.
    pub(super) clones: Vec<Arc<Part>>,
}

/// Where the memory of a chunk comes from that is to be as it was.
#[derive(Clone, Copy)]
pub(super) enum From {
    /// It has it still; it is the chunk at this position now.
    There(u32),
    /// It has gone meanwhile: this was taken.
    New(Run),
}

impl Plan {
    /// Makes a plan, but for what is to be [claimed](Self::claim). If that fails, it is to be [abandoned](Self::abandon).
    pub(super) fn make(
        &mut self,
        world: &mut World,
        saved: &Saved,
        since: Since<'_>,
        spare: &mut SpareParts,
    ) -> Result<(), CheckpointError> {
        let there = world.archetypes.iter();
        let same = saved.archetypes().iter().zip(there);
        let is_there = |(saved, data): (&SavedArchetype, &Archetype)| saved.born == data.born;
        if saved.count > world.archetypes.len() || !same.into_iter().all(is_there) {
            return Err(CheckpointError::Collected);
        }
        for (at, saved) in saved.archetypes().iter().enumerate() {
            self.archetypes.push(PlannedArchetype::default());
            let planned = &mut self.archetypes[at];
            planned.plan_keys(world, saved, &mut self.shared)?;
            let (data, universe) = (&world.archetypes[at], &*world.universe);
            let before = since.saved.archetypes().get(at);
            let before = before.filter(|before| before.born == saved.born);
            let before = before.map(|before| (before, since.version));
            planned.plan_chunks(data, saved, before, universe, spare)?;
            let templates = saved.templates.iter().map(Value::duplicate);
            planned.templates.extend(templates);
        }
        saved
            .besides
            .read(world.universe.registry(), &mut self.coming)
    }

    /// Claims all ids that differ: last of all, as nobody else can have them meanwhile. Chunks whose memory has gone lie where
    /// the plan has it from now on, also as far as the checkpoint says.
    pub(super) fn claim(
        &mut self,
        world: &World,
        saved: &mut Saved,
    ) -> Result<(), CheckpointError> {
        for (archetype, planned) in saved.archetypes.iter_mut().zip(&self.archetypes) {
            for (chunk, planned) in archetype.chunks.iter_mut().zip(&planned.chunks) {
                let From::New(run) = planned.from else {
                    continue;
                };
                chunk.record = chunk.record.within(run);
                for (row, &entity) in (0..).zip(chunk.handles()) {
                    saved.slots.set_place(entity, place(run, row));
                }
            }
        }
        match world
            .universe
            .begin_rewind(&saved.slots, &mut self.rewind, world.number)
        {
            true => Ok(()),
            false => Err(CheckpointError::NotAlone),
        }
    }

    /// Gives back what was taken. Panics of users' `drop`s are noted.
    pub(super) fn abandon(
        self,
        world: &mut World,
        spare: &mut SpareParts,
        panicked: &mut Panicked,
    ) {
        for planned in self.archetypes {
            for chunk in planned.chunks {
                if let From::New(run) = chunk.from {
                    // SAFETY: taken for the plan, and never used.
                    unsafe { world.universe.give_chunk(run) };
                }
                chunk
                    .clones
                    .into_iter()
                    .for_each(|part| spare.give(part, panicked));
            }
            for &value in planned.keys.iter().flatten() {
                world.shared.release(value);
            }
            end_all(panicked, planned.templates);
        }
        end_all(panicked, self.shared.into_values());
        self.coming.end(panicked);
    }
}

impl PlannedArchetype {
    /// Holds the shared values of all groups, and says which they are to be.
    fn plan_keys(
        &mut self,
        world: &mut World,
        saved: &SavedArchetype,
        shared: &mut BTreeMap<SharedId, Arc<Value>>,
    ) -> Result<(), CheckpointError> {
        let universe = Arc::clone(&world.universe);
        for group in &saved.groups {
            if group.values.is_empty() {
                continue;
            }
            let mut key: SmallVec<[SharedId; 4]> = SmallVec::new();
            for value in &group.values {
                let Some(info) = universe.registry().get(value.id()) else {
                    unreachable!("a fragment that was registered stays")
                };
                // Users' `hash` and `eq`: those that are held already are noted below each time.
                let id = world.shared.intern_same(info, value);
                world.shared.hold(id);
                key.push(id);
                match self.keys.last_mut() {
                    Some(last) if key.len() > 1 => *last = (&*key).into(),
                    _ => self.keys.push((&*key).into()),
                }
                // Two that differed are not to become one, here or in another archetype. (The very same value under two
                // numbers may.)
                let of = shared.entry(id).or_insert_with(|| Arc::clone(value));
                if !Arc::ptr_eq(of, value) {
                    return Err(CheckpointError::EqualNow {
                        name: info.name().into(),
                    });
                }
            }
        }
        // (One that is not even equal to itself has had several numbers.)
        let mut sorted: Vec<&[SharedId]> = self.keys.iter().map(|key| &**key).collect();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
        let of = twice.and_then(|pair| pair[0].first());
        match of.and_then(|&value| universe.registry().get(world.shared.value(value).id())) {
            Some(info) => Err(CheckpointError::EqualNow {
                name: info.name().into(),
            }),
            None => Ok(()),
        }
    }

    /// Finds out what is to be written, and makes what can fail.
    fn plan_chunks(
        &mut self,
        data: &Archetype,
        saved: &SavedArchetype,
        before: Option<(&SavedArchetype, u32)>,
        universe: &Universe,
        spare: &mut SpareParts,
    ) -> Result<(), CheckpointError> {
        let (mut places, mut places_before) = (Places::default(), Places::default());
        for (position, chunk) in saved.chunks.iter().enumerate() {
            let all = (data.chunks.len(), |at: usize| data.chunks[at].run);
            let there = places.find(chunk.record.run, position, all);
            let from = match there {
                Some(at) => From::There(at as u32),
                None => {
                    let run = universe.take_chunk(chunk.record.run.len());
                    let run = run.map_err(WorldError::from)?;
                    From::New(run)
                }
            };
            let now = there.map(|at| &data.chunks[at]);
            // Into one that entities have come to or left all is written: it is not looked for.
            let known = now
                .zip(before)
                .filter(|(now, (_, version))| !now.is_moved_since(*version));
            let known = known.and_then(|(now, (archetype, version))| {
                let before = archetype.chunk_of(chunk.record, position, &mut places_before)?;
                Some((now, before, version))
            });
            self.chunks.push(PlannedChunk {
                from,
                written: chunk.written(saved, known),
                clones: Vec::new(),
            });
            let planned = &mut self.chunks[position];
            for &at in &planned.written {
                let form = &saved.forms.all[at as usize];
                let Some(clone) = form.clone else {
                    continue;
                };
                let rows = chunk.record.len;
                planned
                    .clones
                    .push(spare.take(form.bytes(rows), form.align));
                let Some(part) = planned.clones.last_mut().and_then(Arc::get_mut) else {
                    unreachable!("a spare part is nobody else's")
                };
                let from = chunk.parts[at as usize].first();
                let values = (form.size, form.count(rows));
                // SAFETY: the part has as many values, which are cloned and dropped like this.
                unsafe { part.clone_values(from, values, clone, form.drop) };
            }
        }
        Ok(())
    }
}

impl SavedChunk {
    /// The entities that it had.
    fn handles(&self) -> &[Entity] {
        let handles = self
            .parts
            .first()
            .map(|part| part.first().cast_const().cast());
        match handles {
            // SAFETY: the first part has the handles of all rows; they lie at the begin of a line.
            Some(handles) => unsafe {
                core::slice::from_raw_parts(handles, self.record.len as usize)
            },
            None => &[],
        }
    }

    /// The forms whose arrays are not, for all that is known, what they were; if the chunk was there when the world was last
    /// known, and no entity has come or gone since, what it was then, and at which version.
    fn written(
        &self,
        archetype: &SavedArchetype,
        known: Option<(&Chunk, &Self, u32)>,
    ) -> SmallVec<[u32; 8]> {
        let known = known.filter(|(chunk, ..)| {
            let record = chunk.record();
            record.is_some_and(|record| record.is_laid_out_as(&self.record))
        });
        // It is that still where nothing was written since.
        let is_same = |at: usize| {
            known.is_some_and(|(chunk, known, version)| {
                !archetype.forms.all[at].is_written_since(chunk, version)
                    && Arc::ptr_eq(&known.parts[at], &self.parts[at])
            })
        };
        let all = 0..archetype.forms.all.len();
        all.filter(|&at| !is_same(at)).map(|at| at as u32).collect()
    }
}
