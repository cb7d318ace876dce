//! Entities come into private chunks.

use core::any::TypeId;

use super::{Cut, LONGEST, Lane, NONE, Part, Private, Span, Stream, Way};
use crate::archetype::{Draft, Fills, ROWS_PER_CHUNK, Universe, place};
use crate::command::stripes::Ids;
use crate::entity::{Entity, EntityFault, Place};
use crate::fragment::{
    Bundle, FragmentError, FragmentId, Given, Pile, Value, refused_bundle, with_needs,
};
use crate::panics::{Panicked, refused, resume};
use crate::world::{WorldError, columns};

/// What came of the creation of one entity.
pub(super) struct Noted {
    pub(super) entity: Entity,
    /// Where it lies: which private chunk, and which row.
    pub(super) at: (u32, u32),
    /// What the drops of its bundle's templates panicked with.
    pub(super) panicked: Panicked,
}

impl Lane {
    /// The way of a bundle type, whose shared values are taken out already.
    #[inline(always)]
    pub(super) fn way<B: Bundle>(&mut self, combo: u32) -> Result<u32, WorldError> {
        match self.cursors.way::<B>() {
            Some(way) if combo == NONE => Ok(way),
            _ => self.find_way::<B>(combo),
        }
    }

    #[cold]
    #[inline(never)]
    fn find_way<B: Bundle>(&mut self, combo: u32) -> Result<u32, WorldError> {
        let key = (TypeId::of::<B>(), combo);
        let way = match self.way_of.get(&key) {
            Some(&way) => way,
            None => {
                let mut ids = Vec::with_capacity(B::LEN);
                B::ids(self.universe.registry(), &mut ids)?;
                let way = self.push_way(&ids, &ids, combo)?;
                self.way_of.insert(key, way);
                way
            }
        };
        if combo == NONE {
            self.cursors.keep_way::<B>(way);
        }
        Ok(way)
    }

    /// A new way: how `columns`, those of the fragments that have values in columns, get into the stream of all with these
    /// shared values.
    pub(super) fn push_way(
        &mut self,
        ids: &[FragmentId],
        columns: &[FragmentId],
        combo: u32,
    ) -> Result<u32, WorldError> {
        let (stream, fills) = self.stream_with_needs(ids, combo)?;
        let offsets = self.streams[stream as usize].draft.offsets(columns);
        self.ways.push(Way {
            stream,
            offsets,
            fills,
        });
        Ok(self.ways.len() as u32 - 1)
    }

    /// The stream of these fragments, and what comes with them, with these shared values; and what comes by default.
    pub(super) fn stream_with_needs(
        &mut self,
        ids: &[FragmentId],
        combo: u32,
    ) -> Result<(u32, Fills), WorldError> {
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        let needs = self.universe.registry().needs(&sorted);
        if needs.is_empty() {
            return Ok((self.stream(&sorted, combo)?, Fills::default()));
        }
        self.refuse_twice(&sorted)?;
        let stream = self.stream(&with_needs(&sorted, &needs), combo)?;
        let columns = &self.streams[stream as usize].draft.columns;
        let fills = Fills::new(self.universe.registry(), &needs, columns);
        Ok((stream, fills))
    }

    /// The stream of these fragments with these shared values.
    pub(super) fn stream(&mut self, ids: &[FragmentId], combo: u32) -> Result<u32, WorldError> {
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        self.refuse_twice(&sorted)?;
        let key = (sorted.into_boxed_slice(), combo);
        if let Some(&stream) = self.stream_of.get(&key) {
            return Ok(stream);
        }
        let Cut { chunks, enableable } = self.cut;
        let draft = Draft::new(self.universe.registry(), &key.0, chunks, enableable)?;
        let stream = self.streams.len() as u32;
        self.streams.push(Stream {
            ids: key.0.clone(),
            draft,
            combo,
            cut: self.cut,
            current: NONE,
            limit: 0,
            nursery: NONE,
            part: NONE,
            joined: None,
        });
        self.stream_of.insert(key, stream);
        Ok(stream)
    }

    pub(super) fn refuse_twice(&self, sorted: &[FragmentId]) -> Result<(), FragmentError> {
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let info = self.universe.registry().get(pair[0]);
                let name = info.map_or("", |info| info.name()).into();
                Err(FragmentError::Twice { name })
            }
            None => Ok(()),
        }
    }

    /// Creates an entity in a private chunk.
    #[inline(always)]
    pub(in crate::command) fn create<B: Bundle>(
        &mut self,
        bundle: B,
        ids: &mut Ids<'_>,
    ) -> Result<Entity, WorldError> {
        if B::HAS_VALUES {
            return self.create_in_stream(bundle, None, ids);
        }

        debug_assert!(self.leads_right::<B>());
        if let Some(next) = self.cursors.next::<B>(&mut self.privates) {
            let row = next.chunk.len;
            let place = place(next.chunk.run, row);
            let entity = if self.universe.is_ordered() {
                match ids.create_apart(&self.universe, place) {
                    Ok(entity) => Some(entity),
                    // Not `?`: its values end one by one.
                    Err(full) => return Err(refused_bundle(bundle, full.into())),
                }
            } else {
                self.universe.index().create_cached(place)
            };
            if let Some(entity) = entity {
                // SAFETY: the columns have such a row, which is empty.
                unsafe {
                    bundle.write(next.columns::<B>().as_ptr(), row as usize);
                    next.chunk.handles().add(row as usize).write(entity);
                }
                next.chunk.len = row + 1;
                return Ok(entity);
            }
        }
        self.create_anywhere(bundle, ids)
    }

    /// Whether the cursor of a bundle type, if there is one, leads to where its stream says.
    fn leads_right<B: Bundle>(&self) -> bool {
        self.cursors.target::<B>().is_none_or(|(way, target)| {
            let stream = &self.streams[self.ways[way as usize].stream as usize];
            target == (stream.current, stream.limit)
        })
    }

    /// `create`, where the row or the id has to be looked for.
    #[cold]
    #[inline(never)]
    fn create_anywhere<B: Bundle>(
        &mut self,
        bundle: B,
        ids: &mut Ids<'_>,
    ) -> Result<Entity, WorldError> {
        self.create_in_stream(bundle, None, ids)
    }

    /// Creates an entity, or builds one that is reserved, in a private chunk.
    #[inline(always)]
    pub(in crate::command) fn create_in_stream<B: Bundle>(
        &mut self,
        bundle: B,
        reserved: Option<Entity>,
        ids: &mut Ids<'_>,
    ) -> Result<Entity, WorldError> {
        let noted = self.create_noting(bundle, reserved, ids)?;
        resume(noted.panicked);
        Ok(noted.entity)
    }

    /// The same, and what the drops of the bundle's templates panicked with.
    #[inline(always)]
    pub(super) fn create_noting<B: Bundle>(
        &mut self,
        mut bundle: B,
        reserved: Option<Entity>,
        ids: &mut Ids<'_>,
    ) -> Result<Noted, WorldError> {
        let mut templates = Pile::new();
        let mut combo = NONE;
        if B::HAS_VALUES {
            (bundle, combo, templates) = self.part(bundle)?;
        }
        let way = match self.way::<B>(combo) {
            Ok(way) => way,
            Err(error) => return Err(refused((Given::new(bundle), templates), error)),
        };
        // Users' code: before anything is there.
        let fills = &self.ways[way as usize].fills;
        let (bundle, templates, stock) = fills.stock_beside(bundle, templates);
        let (entity, private, row) = match self.row_for::<B>(way, reserved, ids) {
            Ok(found) => found,
            Err(error) => return Err(refused((Given::new(bundle), templates, stock), error)),
        };
        let Way {
            stream, offsets, ..
        } = &self.ways[way as usize];
        let stream = *stream;
        let chunk = &mut self.privates[private as usize].chunk;
        let columns = columns::<B>(chunk, offsets);
        // SAFETY: the columns have such a row, which is empty.
        unsafe {
            stock.put(|offset| chunk.array(offset), row);
            bundle.write(columns.as_ptr(), row as usize);
            chunk.handles().add(row as usize).write(entity);
        }
        chunk.len = row + 1;
        let panicked = match B::HAS_VALUES {
            true => self.take_templates(stream, templates),
            false => None,
        };
        Ok(Noted {
            entity,
            at: (private, row),
            panicked,
        })
    }

    /// A bundle without the values that are not for columns, the combination of those that are shared, and the others.
    #[cold]
    #[inline(never)]
    fn part<B: Bundle>(&mut self, bundle: B) -> Result<(B, u32, Pile<Value>), WorldError> {
        let (mut bundle, mut templates) = (Given::new(bundle), Pile::new());
        match self.take_values(&mut *bundle, &mut templates) {
            Ok(combo) => Ok((bundle.into_bundle(), combo, templates)),
            Err(error) => Err(refused((bundle, templates), error)),
        }
    }

    /// The entity of a bundle, and where it comes by its way: to which private chunk, and to which row.
    #[inline(always)]
    fn row_for<B: Bundle>(
        &mut self,
        way: u32,
        reserved: Option<Entity>,
        ids: &mut Ids<'_>,
    ) -> Result<(Entity, u32, u32), WorldError> {
        let stream = self.ways[way as usize].stream;
        let (private, row) = self.room(stream)?;
        let offsets = &self.ways[way as usize].offsets;
        let chunk = &self.privates[private as usize].chunk;
        if !B::HAS_VALUES && self.ways[way as usize].fills.is_empty() {
            let limit = self.streams[stream as usize].limit;
            self.cursors.aim::<B>(private, limit, chunk, offsets);
        }
        let place = place(chunk.run, row);
        let entity = entity_at(&self.universe, place, reserved, ids)?;
        Ok((entity, private, row))
    }

    /// Room for an entity of a stream: which private chunk, and which row.
    #[inline(always)]
    pub(super) fn room(&mut self, stream: u32) -> Result<(u32, u32), WorldError> {
        let current = self.streams[stream as usize].current;
        if let Some(private) = self.privates.get(current as usize)
            && private.chunk.len < self.streams[stream as usize].limit
        {
            return Ok((current, private.chunk.len));
        }
        self.make_room(stream)
    }

    /// Gives the part of a stream its next rows. The first half of a chunk's worth goes where other
    /// recorders put theirs, and is copied by the flush; what is more goes into chunks of its own, which the
    /// flush takes as they are. All that depends on the part alone, so that the flush does the same
    /// whatever thread had which recorder.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, stream: u32) -> Result<(u32, u32), WorldError> {
        let data = &self.streams[stream as usize];
        let least = data.draft.least_capacity;
        let rows = if data.part == NONE {
            0
        } else {
            self.end_span(stream);
            self.parts[self.streams[stream as usize].part as usize].rows
        };
        let data = &self.streams[stream as usize];
        let shared_rows = least.div_ceil(2);
        let (private, limit) = if rows < shared_rows {
            let known = self.privates.get(data.nursery as usize);
            let nursery = match known.filter(|nursery| !nursery.chunk.is_full()) {
                Some(_) => data.nursery,
                None => {
                    let nursery = self.take_private(stream, 0, false)?;
                    self.streams[stream as usize].nursery = nursery;
                    nursery
                }
            };
            let chunk = &self.privates[nursery as usize].chunk;
            (nursery, chunk.capacity.min(chunk.len + shared_rows - rows))
        } else {
            let longest = (LONGEST / data.draft.run).max(1);
            let shift = if self.grow {
                (rows / least / 4).max(1).ilog2().min(longest.ilog2())
            } else {
                0
            };
            let own = self.take_private(stream, shift, true)?;
            (own, self.privates[own as usize].chunk.capacity)
        };
        let first = self.privates[private as usize].chunk.len;
        let span = self.spans.len() as u32;
        self.spans.push(Span {
            private,
            first,
            count: 0,
            next: NONE,
        });
        let data = &mut self.streams[stream as usize];
        (data.current, data.limit) = (private, limit);
        self.cursors.turn();
        if data.part == NONE {
            data.part = self.parts.len() as u32;
            self.parts.push(Part {
                stream,
                rows: 0,
                first_span: span,
                last_span: span,
            });
        } else {
            let part = &mut self.parts[data.part as usize];
            self.spans[part.last_span as usize].next = span;
            part.last_span = span;
        }
        Ok((private, first))
    }

    /// Counts the rows of a stream's open span.
    pub(super) fn end_span(&mut self, stream: u32) {
        let part = &mut self.parts[self.streams[stream as usize].part as usize];
        let span = &mut self.spans[part.last_span as usize];
        let count = self.privates[span.private as usize].chunk.len - span.first;
        // It may have ended before, when there was no memory for the next one, and lost rows since.
        part.rows = part.rows + count - span.count;
        span.count = count;
    }

    fn take_private(&mut self, stream: u32, shift: u32, own: bool) -> Result<u32, WorldError> {
        let draft = &self.streams[stream as usize].draft;
        self.privates.reserve(1);
        let chunk = draft.take_chunk(&self.universe, shift)?;
        let private = self.privates.len() as u32;
        let directory = self.universe.directory();
        directory.enter_private(&chunk, self.world, private);
        self.privates.push(Private::new(chunk, stream, own));
        Ok(private)
    }

    /// Where an entity lies that the open recorder has created: which private chunk, and which row.
    pub(in crate::command) fn find(&self, entity: Entity) -> Option<(u32, u32)> {
        let place = self.universe.index().place_of(entity)?;
        let owner = self.universe.directory().owner(place);
        let (world, private) = owner.private_of()?;
        let data = self.privates.get(private as usize)?;
        // Another recorder's chunk may have this number too.
        let sub = owner.sub();
        if world != self.world || data.chunk.run.first() + sub != place.chunk() {
            return None;
        }
        let row = sub * ROWS_PER_CHUNK + place.row();
        // Created by the open recorder, not by one before.
        let part = self.streams[data.stream() as usize].part;
        let mut span = self.parts.get(part as usize)?.first_span;
        while let Some(rows) = self.spans.get(span as usize) {
            let open = span == self.parts[part as usize].last_span;
            let behind = if open {
                data.chunk.len
            } else {
                rows.first + rows.count
            };
            if rows.private == private && (rows.first..behind).contains(&row) {
                return Some((private, row));
            }
            span = rows.next;
        }
        None
    }
}

/// The entity of a place: a new one, or one that is reserved, if nobody has built it.
#[inline(always)]
pub(super) fn entity_at(
    universe: &Universe,
    place: Place,
    reserved: Option<Entity>,
    ids: &mut Ids<'_>,
) -> Result<Entity, WorldError> {
    let Some(entity) = reserved else {
        return ids.create(universe, Some(place)).map_err(Into::into);
    };
    // Another thread may build it at this moment.
    match universe.index().build(entity, place) {
        Ok(()) => Ok(entity),
        Err(error) if error.fault == EntityFault::AlreadyBuilt => {
            Err(WorldError::AlreadyBuilt { entity })
        }
        Err(error) => Err(error.into()),
    }
}
