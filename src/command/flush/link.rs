//! Created entities join the world: whole chunks are taken over as they are, the rest tops up what has room.

use core::iter::successors;

use crate::archetype::{Archetype, Carry, Chunk, Draft, Edge, Row, SharedId, copy_rows, set_bits};
use crate::command::flush::Flush;
use crate::command::lane::{Lane, NONE, Part, Private, Span, Template};
use crate::fragment::panic::{Panicked, first, note, resume};
use crate::fragment::{FragmentError, Value};
use crate::memory::prefetch;
use crate::world::{World, WorldError};

/// A chunk that is less than half full joins as it is, if what is empty in it is no more than one in so many of the
/// rows that its part has in all: little is lost then, and half a long chunk takes long to copy. For the same reason
/// the first rows of so long a part, which the recorder put into the nursery, have a chunk to themselves: the nursery,
/// if it holds nothing else.
const LITTLE: u32 = 16;

/// For so many chunks memory is asked at a time: for the directory's entries of these, and for the records of as many
/// behind them. One walk over page tables after the other would be waited for, where a loop has several under way.
const TOGETHER: usize = 64;

/// Rows of a private chunk.
struct Rows<'a> {
    chunk: &'a mut Chunk,
    first: u32,
    count: u32,
}

/// The way of a part into the world.
struct Joining {
    archetype: u32,
    group: u32,
    edge: Edge,
    /// The world lays its chunks out as the recorder did.
    same_layout: bool,
}

/// Where the rows go that a part has in nurseries. Which of the last two it is depends on who shared the lane, and
/// must not be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstRows {
    /// Where there is room.
    Anywhere,
    /// Into a chunk of their own.
    Apart,
    /// Nowhere: this private chunk holds them, and nothing else.
    Alone(u32),
}

impl FirstRows {
    fn of(part: &Part, lane: &Lane, privates: &[Option<Private>]) -> Self {
        let least = lane.streams[part.stream as usize].draft.least_capacity;
        if part.rows / LITTLE < least.div_ceil(2) {
            return Self::Anywhere;
        }
        let spans = successors(lane.spans.get(part.first_span as usize), |span| {
            lane.spans.get(span.next as usize)
        });
        let in_nurseries = |span: &&Span| {
            let private = privates[span.private as usize].as_ref();
            private.is_some_and(|private| !private.is_own())
        };
        let mut spans = spans.filter(|span| span.count > 0).take_while(in_nurseries);
        match (spans.next(), spans.next()) {
            (None, _) => Self::Anywhere,
            (Some(span), None)
                if privates[span.private as usize]
                    .as_ref()
                    .is_some_and(|nursery| nursery.chunk.len == span.count) =>
            {
                Self::Alone(span.private)
            }
            _ => Self::Apart,
        }
    }
}

impl Flush<'_> {
    /// Lets all that one recorder has created join.
    pub(super) fn link(&mut self, world: &mut World, lane: usize, segment: usize) {
        let (data, privates) = &mut self.lanes[lane];
        let parts = data.segments[segment].parts.clone();
        let templates = data.templates.iter();
        let templates = templates.filter(|template| template.segment as usize == segment);
        for template in templates.clone().filter(|template| template.stream == NONE) {
            // The template's `clone` may panic, or the `drop` of the one before.
            note(&mut self.panicked, || world.take_template(template));
        }
        for part in parts {
            let part = &data.parts[part as usize];
            let mut first_rows = FirstRows::of(part, data, privates);
            // Why some of these were refused; `None` inside: users' code panicked. What the part has in its next nursery
            // is refused with them, as it would be if it lay in the same one.
            let mut lost: Option<Option<WorldError>> = None;
            let mut joining = None;
            let mut span = part.first_span;
            let mut to_come = part.rows;
            let mut asked = 0;
            while let Some(rows) = data.spans.get(span as usize) {
                span = rows.next;
                if rows.count == 0 {
                    continue;
                }
                let at = rows.private as usize;
                if at >= asked {
                    asked = at + TOGETHER;
                    // No chunk is shorter.
                    let least = data.streams[part.stream as usize].draft.least_capacity;
                    let end = at + to_come.div_ceil(least) as usize;
                    expect(world, &privates[..end.min(privates.len())], at);
                }
                to_come = to_come.saturating_sub(rows.count);
                let chunks_to_come = privates.len() - at;
                let private = &mut privates[at];
                let Some(there) = private else { continue };
                let is_lost = lost.is_some() && !there.is_own();
                if joining.is_none() && !is_lost {
                    // They are of this composition alone: what was said of the others stands again afterwards.
                    let mut before = Vec::new();
                    for template in templates.clone().filter(|own| own.stream == part.stream) {
                        before.extend(world.templates.remove(&template.value.id()));
                        note(&mut self.panicked, || world.take_template(template));
                    }
                    // Users' `eq` and `hash` may panic, and the `clone` of a template.
                    note(&mut self.panicked, || {
                        joining = Some(world.joining(data, part.stream));
                    });
                    for value in before {
                        let own = world.templates.insert(value.id(), value);
                        note(&mut self.panicked, || drop(own));
                    }
                }
                let (mut done, mut refused) = (0, None);
                let mut left = rows.first..rows.first + rows.count;
                if let Some(Ok(joining)) = &joining
                    && !is_lost
                {
                    let whole = joining.same_layout
                        && (there.is_own() || first_rows == FirstRows::Alone(rows.private));
                    let result = if whole {
                        let chunks = &mut world.archetypes[joining.archetype as usize].chunks;
                        if chunks.len() == chunks.capacity() {
                            // Chunks are no shorter than those before them.
                            let later = to_come.div_ceil(there.chunk.capacity) as usize;
                            chunks.reserve(1 + later.min(chunks_to_come - 1));
                        }
                        // A nursery as it is, however little is in it: elsewhere these rows would be alone as well.
                        let of = if there.is_own() { part.rows } else { u32::MAX };
                        world.take_over(private, of, joining, &mut self.panicked)
                    } else {
                        let rows = Rows {
                            chunk: &mut there.chunk,
                            first: rows.first,
                            count: rows.count,
                        };
                        let apart = first_rows == FirstRows::Apart && joining.same_layout;
                        if apart {
                            first_rows = FirstRows::Anywhere;
                        }
                        if apart && !world.begin_chunk(joining, &mut self.panicked) {
                            Ok(0)
                        } else {
                            world.pour(rows, joining, &mut self.panicked)
                        }
                    };
                    match result {
                        Ok(count) => done = count,
                        Err((count, error)) => {
                            done = count;
                            refused = Some(error);
                        }
                    }
                    // A chunk that is taken over loses its last rows first.
                    left = match private {
                        Some(there) if whole => 0..there.chunk.len,
                        _ => rows.first + done..rows.first + rows.count,
                    };
                    self.report.created += done as usize;
                }
                if done < rows.count
                    && let Some(there) = private
                {
                    if !there.is_own() {
                        refused = lost.take().unwrap_or(refused);
                    }
                    let why = || match (&joining, &refused) {
                        (Some(Err(error)), _) => Some(error),
                        (_, why) => why.as_ref(),
                    };
                    let draft = &data.streams[part.stream as usize].draft;
                    for row in left.clone() {
                        // SAFETY: a row of the chunk.
                        let entity = unsafe { *there.chunk.handles().add(row as usize) };
                        let error = why()
                            .map_or(WorldError::Interrupted, |error| error.for_another(entity));
                        self.report.refused.push((entity, error));
                    }
                    if !there.is_own() {
                        lost = Some(refused);
                    }
                    let more = end_rows(world, draft, &there.chunk, left);
                    self.panicked = first(self.panicked.take(), more);
                    if let Some(Ok(gone)) = &joining {
                        // The next rows ask again: a group without chunks goes.
                        world.let_go(gone.archetype, gone.group);
                        joining = None;
                    }
                }
                if let Some(there) = private
                    && there.is_own()
                {
                    there.chunk.len = 0;
                }
            }
        }
    }

    /// After all parts: the nurseries are empty.
    pub(super) fn empty_nurseries(&mut self) {
        for (_, privates) in &mut self.lanes {
            for private in privates.iter_mut().flatten() {
                private.chunk.len = 0;
            }
        }
    }
}

/// Asks the processor for what it takes to take over the chunks from `at` on, which are likely to be all one part's.
#[inline(never)]
fn expect(world: &World, privates: &[Option<Private>], at: usize) {
    let directory = world.universe.directory();
    for private in privates.iter().skip(at).take(TOGETHER).flatten() {
        directory.expect(&private.chunk);
    }
    for private in privates.iter().skip(at + TOGETHER).take(TOGETHER) {
        prefetch(private);
    }
}

/// Ends rows that do not join: their values and their entities.
fn end_rows(world: &World, draft: &Draft, chunk: &Chunk, rows: core::ops::Range<u32>) -> Panicked {
    let mut panicked = None;
    for column in &draft.columns {
        let Some(drop) = column.drop else { continue };
        for row in rows.clone() {
            let value = chunk
                .array(column.offset)
                .wrapping_add(row as usize * column.size as usize);
            // SAFETY: a value of a row that ends here.
            note(&mut panicked, || unsafe { drop(value, 1) });
        }
    }
    // SAFETY: rows of the chunk.
    let entities = unsafe {
        core::slice::from_raw_parts(chunk.handles().add(rows.start as usize), rows.len())
    };
    world.universe.kill_slice(entities);
    panicked
}

impl World {
    /// New archetypes begin with a copy of this.
    fn take_template(&mut self, template: &Template) {
        let value = &template.value;
        self.templates.insert(value.id(), value.duplicate());
    }

    /// The way of a stream's entities.
    fn joining(&mut self, lane: &Lane, stream: u32) -> Result<Joining, WorldError> {
        let stream = &lane.streams[stream as usize];
        let archetype = self.archetype_of(&stream.ids)?;
        let group = match lane.combos.get(stream.combo as usize) {
            None => 0,
            Some(combo) => {
                let mut key: Vec<SharedId> = Vec::with_capacity(combo.values.len());
                let mut result = Ok(());
                let mut panicked = None;
                note(&mut panicked, || {
                    let mut values = combo.values.iter();
                    result = values.try_for_each(|value| {
                        key.push(self.intern(value)?);
                        Ok::<(), WorldError>(())
                    });
                });
                if panicked.is_some() || result.is_err() {
                    key.iter().for_each(|&id| self.shared.release_unused(id));
                    resume(panicked);
                    result?;
                }
                self.group_of(archetype, &key)
            }
        };
        let data = &self.archetypes[archetype as usize];
        let pairs = stream.draft.columns.iter().zip(&data.columns);
        let carried = pairs.map(|(from, to)| Carry {
            from: from.offset,
            to: to.offset,
            size: from.size,
        });
        Ok(Joining {
            archetype,
            group,
            same_layout: data.is_laid_out_as(&stream.draft),
            edge: Edge {
                target: archetype,
                carried: carried.collect(),
                carriers: Box::default(),
                ended: Box::default(),
                offsets: Box::default(),
                bits: Box::default(),
                ends_drop: false,
                is_plain: false,
            },
        })
    }

    /// The number of a recorded shared value.
    pub(super) fn intern(&mut self, value: &std::sync::Arc<Value>) -> Result<SharedId, WorldError> {
        let info = self.universe.registry().get(value.id());
        let info = info.ok_or(FragmentError::Unknown { id: value.id() })?;
        Ok(self.shared.intern_shared(info, value))
    }

    /// Takes a private chunk over, of a part with so many rows. One that is less than half full, and large among
    /// them, first tops up the chunk that has room; if all of it finds room there, it stays behind, empty. How
    /// many rows joined.
    fn take_over(
        &mut self,
        private: &mut Option<Private>,
        of: u32,
        joining: &Joining,
        panicked: &mut Panicked,
    ) -> Result<u32, (u32, WorldError)> {
        let Some(there) = private else { return Ok(0) };
        let count = there.chunk.len;
        let data = &self.archetypes[joining.archetype as usize];
        let open = data.groups[joining.group as usize].open.last();
        // One that is half full, or meets none with room, becomes an open chunk itself.
        let empty = there.chunk.capacity - count;
        let poured = count < empty && empty > of / LITTLE;
        if poured && let Some(&open) = open {
            let open = &data.chunks[open as usize];
            let moving = count.min(open.capacity - open.len);
            let rows = Rows {
                chunk: &mut there.chunk,
                first: count - moving,
                count: moving,
            };
            // It has the room.
            let poured = self.pour(rows, joining, panicked)?;
            debug_assert_eq!(poured, moving);
            there.chunk.len -= moving;
        }
        if there.chunk.len == 0 {
            return Ok(count);
        }
        let version = self.version();
        let data = &mut self.archetypes[joining.archetype as usize];
        if let Err(panic) = data.fill_values(&there.chunk) {
            *panicked = first(panicked.take(), Some(panic));
            return Ok(count - there.chunk.len);
        }
        for bits in &data.enabled {
            // SAFETY: rows of the chunk.
            unsafe { set_bits(there.chunk.array(bits.offset), 0, there.chunk.len) };
        }
        if let Some(private) = private.take() {
            let mut chunk = private.into_chunk();
            chunk.begin_at(version);
            let all = chunk.len;
            data.adopt(&self.universe, self.number, chunk, joining.group, version);
            let chunk = data.chunks.len() as u32 - 1;
            self.gather_created(joining.archetype, Row { chunk, row: 0 }, all);
        }
        Ok(count)
    }

    /// Adds a chunk, as short as a nursery, for the rows that are poured next; if there is no memory, they go where there
    /// is room. `false` if a template's `clone` panicked: they are not to go anywhere then, as if the chunk were theirs.
    fn begin_chunk(&mut self, joining: &Joining, panicked: &mut Panicked) -> bool {
        let version = self.version();
        let data = &mut self.archetypes[joining.archetype as usize];
        let before = panicked.take();
        let mut added = None;
        note(panicked, || {
            added = Some(data.add_chunk_of(&self.universe, self.number, joining.group, 0));
        });
        let whole = panicked.is_none();
        *panicked = first(before, panicked.take());
        if let Some(Ok(position)) = added {
            data.chunks[position as usize].begin_at(version);
        }
        whole
    }

    /// Copies rows of a private chunk to where there is room. How many joined, and why not all.
    fn pour(
        &mut self,
        rows: Rows<'_>,
        joining: &Joining,
        panicked: &mut Panicked,
    ) -> Result<u32, (u32, WorldError)> {
        let version = self.version();
        let mut done = 0;
        while done < rows.count {
            let mut room = None;
            // The `clone` of a chunk fragment's template may panic.
            note(panicked, || {
                // Not for so many: where a nursery ends and the next begins says which recorders shared a lane.
                room = Some(self.room(joining.archetype, joining.group));
            });
            let to = match room {
                Some(Ok(to)) => to,
                Some(Err(error)) => return Err((done, error)),
                None => return Ok(done),
            };
            let data = &mut self.archetypes[joining.archetype as usize];
            let chunk = &data.chunks[to.chunk as usize];
            let count = (rows.count - done).min(chunk.capacity - to.row);
            // SAFETY: rows of a private chunk, and as many empty ones behind the last of another.
            let entities = unsafe {
                copy_rows(
                    &joining.edge,
                    rows.chunk,
                    rows.first + done,
                    chunk,
                    to.row,
                    count,
                )
            };
            self.universe.place_rows(entities, chunk.run, to.row);
            data.grown(to.chunk, count, version);
            self.gather_created(joining.archetype, to, count);
            done += count;
        }
        Ok(done)
    }
}

impl Archetype {
    /// Whether its chunks are laid out as in a draft.
    fn is_laid_out_as(&self, draft: &Draft) -> bool {
        self.run == draft.run
            && self.least_capacity == draft.least_capacity
            && self.staggered == draft.staggered
            && self.enabled.len() == draft.enabled.len()
            && self.chunk_values.len() == draft.once.len()
            && (self.columns.iter().zip(&draft.columns)).all(|(a, b)| a.offset == b.offset)
            && (self.enabled.iter().zip(&draft.enabled)).all(|(a, b)| a.offset == b.offset)
            && (self.chunk_values.iter().zip(&draft.once)).all(|(a, b)| a.offset == b.1)
    }
}
