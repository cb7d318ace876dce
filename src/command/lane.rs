//! `Lane`: what one thread has recorded at a time, kept until the next flush; its memory serves again and
//! again.
//!
//! A lane is lent to one recorder after the other. Each adds a *segment*: a range of commands, and *parts*,
//! one for each composition that it has created entities of.
//!
//! Must hold between recorders: every row below the `len` of a private chunk has a handle, a value in
//! every column, and is in exactly one span; the entity of that handle lives, and its place is that row.

use core::any::TypeId;
use core::hash::BuildHasherDefault;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::universe::{ROWS_PER_CHUNK, place};
use crate::archetype::{Chunk, Draft, Universe};
use crate::command::payload::{Payload, PayloadColumn};
use crate::command::stripes::Ids;
use crate::entity::{Entity, EntityFault};
use crate::fragment::panic::{Panicked, first, forget, note};
use crate::fragment::{Bundle, FragmentError, FragmentId, Value};
use crate::world::{TypeHasher, World, WorldError, columns};

/// "None", where a number is expected.
pub(super) const NONE: u32 = u32::MAX;

/// 16 KiB chunks that a private chunk has at most. Half of a last one, which is
/// not full, may have to be copied.
const LONGEST: u32 = crate::chunk::MEGACHUNK_CHUNKS as u32;

/// A recorded command. 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) entity: Entity,
    /// What is done: which of the lane's [`Op`]s.
    pub(super) op: u32,
    /// The row of the payload, if the op has one.
    pub(super) row: u32,
}

/// What a command does, but for its entity and its values.
#[derive(Debug)]
pub(super) enum Op {
    Destroy,
    /// Fragments go, others come with values.
    Change {
        /// Both in the order of their numbers.
        gone: Box<[FragmentId]>,
        come: Box<[FragmentId]>,
        /// The payload of those that come, and their shared values, or [`NONE`] each.
        payload: u32,
        combo: u32,
    },
    /// A closure runs: its payload, and how it is called.
    Call {
        payload: u32,
        call: Call,
    },
}

/// Calls the closure that lies at an address, and moves it out.
pub(super) type Call = unsafe fn(*mut u8, &mut World);

/// What an op is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OpKey {
    /// The tuple of the bundle that goes and the one that comes, or a closure.
    of: TypeId,
    combo: u32,
}

/// The op that was asked for last: most calls ask for the same again.
#[derive(Clone, Copy, Debug)]
struct LastOp {
    of: TypeId,
    op: u32,
    payload: u32,
}

/// Shared values that come together.
#[derive(Debug, Default)]
pub(super) struct Combo {
    /// In the order of their fragments' numbers.
    pub(super) values: Vec<Arc<Value>>,
}

/// What one recorder left.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) key: u64,
    pub(super) number: u64,
    pub(super) commands: Range<u32>,
    pub(super) parts: Range<u32>,
}

/// The entities of one composition that one recorder created.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) stream: u32,
    pub(super) rows: u32,
    pub(super) first_span: u32,
    last_span: u32,
}

/// Rows of a part in a private chunk.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) private: u32,
    pub(super) first: u32,
    pub(super) count: u32,
    /// The part's next span, or [`NONE`].
    pub(super) next: u32,
}

/// A chunk that only this lane knows.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) chunk: Chunk,
    pub(super) stream: u32,
    /// It is one part's own, which fills it from the first row on; else one recorder after the other
    /// puts its first rows there.
    pub(super) own: bool,
}

/// The entities of one composition, with the same shared values, that this lane creates.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) ids: Box<[FragmentId]>,
    pub(super) draft: Draft,
    /// The shared values, or [`NONE`].
    pub(super) combo: u32,
    /// How many 16 KiB chunks its chunks were to have at least.
    chunks: usize,
    /// Where the next entity goes, or [`NONE`]; up to which row.
    current: u32,
    limit: u32,
    /// The chunk for the first rows of every recorder.
    pub(super) nursery: u32,
    /// The part of the recorder that is open.
    part: u32,
}

/// How a bundle type's values get into a stream.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) stream: u32,
    pub(super) offsets: Box<[u32]>,
}

type ByType<K, V> = HashMap<K, V, BuildHasherDefault<TypeHasher>>;

/// Commands and new entities of one thread at a time.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(super) universe: Arc<Universe>,
    pub(super) world: u16,
    /// 16 KiB chunks that a chunk has at least, and whether later ones are longer.
    chunks: usize,
    grow: bool,

    pub(super) commands: Vec<Command>,
    pub(super) ops: Vec<Op>,
    pub(super) payloads: Vec<Payload>,
    pub(super) combos: Vec<Combo>,
    /// What chunk fragments begin with, and the segment where that was said.
    pub(super) templates: Vec<(u32, Value)>,
    pub(super) segments: Vec<Segment>,
    pub(super) parts: Vec<Part>,
    pub(super) spans: Vec<Span>,
    pub(super) privates: Vec<Private>,
    pub(super) streams: Vec<Stream>,
    ways: Vec<Way>,

    op_of: HashMap<OpKey, u32>,
    last_op: Option<LastOp>,
    payload_of: ByType<TypeId, u32>,
    stream_of: HashMap<(Box<[FragmentId]>, u32), u32>,
    way_of: HashMap<(TypeId, u32), u32>,
    last_way: Option<(TypeId, u32)>,
    /// First 16 KiB chunk of a run → the private chunk that it is of.
    pub(super) private_of: HashMap<u32, u32>,
    /// Where the recorder that is open began.
    began: (u32, u32),
    /// Ids that depend on which thread was quicker, although they were not to.
    pub(super) by_chance: usize,
    /// Some streams are for chunks of another length than new ones get.
    outdated: bool,
}

impl Lane {
    pub(super) fn new(universe: &Arc<Universe>, world: u16) -> Self {
        Self {
            universe: Arc::clone(universe),
            world,
            chunks: 1,
            grow: true,
            commands: Vec::new(),
            ops: vec![Op::Destroy],
            payloads: Vec::new(),
            combos: Vec::new(),
            templates: Vec::new(),
            segments: Vec::new(),
            parts: Vec::new(),
            spans: Vec::new(),
            privates: Vec::new(),
            streams: Vec::new(),
            ways: Vec::new(),
            op_of: HashMap::new(),
            last_op: None,
            payload_of: HashMap::default(),
            stream_of: HashMap::new(),
            way_of: HashMap::new(),
            last_way: None,
            private_of: HashMap::new(),
            began: (0, 0),
            by_chance: 0,
            outdated: false,
        }
    }

    /// A recorder opens. New compositions get chunks of `chunks` times 16 KiB at least.
    pub(super) fn open(&mut self, chunks: usize, grow: bool) {
        if chunks != self.chunks {
            // What was cut out for other chunks serves no more: all lanes must do the same.
            self.stream_of.clear();
            self.way_of.clear();
            self.last_way = None;
            self.outdated = true;
        }
        (self.chunks, self.grow) = (chunks, grow);
        self.began = (self.commands.len() as u32, self.parts.len() as u32);
    }

    /// The recorder closes: what it has recorded becomes a segment.
    pub(super) fn close(&mut self, key: u64, number: u64) {
        let (commands, parts) = self.began;
        for part in parts..self.parts.len() as u32 {
            let stream = self.parts[part as usize].stream;
            self.end_span(stream);
            let stream = &mut self.streams[stream as usize];
            (stream.part, stream.current, stream.limit) = (NONE, NONE, 0);
        }
        let (commands, parts) = (
            commands..self.commands.len() as u32,
            parts..self.parts.len() as u32,
        );
        let segment = self.segments.len() as u32;
        let templates = self.templates.last().is_some_and(|(of, _)| *of == segment);
        if !commands.is_empty() || !parts.is_empty() || templates {
            self.segments.push(Segment {
                key,
                number,
                commands,
                parts,
            });
        }
    }

    /// Commands of the recorder that is open.
    pub(super) fn recorded(&self) -> usize {
        self.commands.len() - self.began.0 as usize
    }

    /// Whether nothing is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    // --- Entities ----------------------------------------------------------------------------------

    /// The way of a bundle type, whose shared values are taken out already.
    #[inline(always)]
    fn way<B: Bundle>(&mut self, combo: u32) -> Result<u32, WorldError> {
        let id = TypeId::of::<B>();
        match self.last_way {
            Some((last, way)) if last == id && combo == NONE => Ok(way),
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
                let stream = self.stream(&ids, combo)?;
                let offsets = self.streams[stream as usize].draft.offsets(&ids);
                self.ways.push(Way { stream, offsets });
                let way = self.ways.len() as u32 - 1;
                self.way_of.insert(key, way);
                way
            }
        };
        if combo == NONE {
            self.last_way = Some((key.0, way));
        }
        Ok(way)
    }

    /// The stream of these fragments with these shared values.
    fn stream(&mut self, ids: &[FragmentId], combo: u32) -> Result<u32, WorldError> {
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        self.refuse_twice(&sorted)?;
        let key = (sorted.into_boxed_slice(), combo);
        if let Some(&stream) = self.stream_of.get(&key) {
            return Ok(stream);
        }
        let draft = Draft::new(self.universe.registry(), &key.0, self.chunks)?;
        let stream = self.streams.len() as u32;
        self.streams.push(Stream {
            ids: key.0.clone(),
            draft,
            combo,
            chunks: self.chunks,
            current: NONE,
            limit: 0,
            nursery: NONE,
            part: NONE,
        });
        self.stream_of.insert(key, stream);
        Ok(stream)
    }

    fn refuse_twice(&self, sorted: &[FragmentId]) -> Result<(), FragmentError> {
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let info = self.universe.registry().get(pair[0]);
                let name = info.map_or("", |info| info.name()).into();
                Err(FragmentError::Twice { name })
            }
            None => Ok(()),
        }
    }

    /// Creates an entity, or builds one that is reserved, in a private chunk.
    #[inline]
    pub(super) fn create<B: Bundle>(
        &mut self,
        mut bundle: B,
        reserved: Option<Entity>,
        ids: &mut Ids<'_>,
    ) -> Result<Entity, WorldError> {
        let combo = if B::HAS_VALUES {
            self.take_values(&mut bundle)?
        } else {
            NONE
        };
        let way = self.way::<B>(combo)?;
        let stream = self.ways[way as usize].stream;
        let (private, row) = self.room(stream)?;
        let chunk = &mut self.privates[private as usize].chunk;
        let entity = match reserved {
            None => ids.create(&self.universe, Some(place(chunk.run, row)))?,
            Some(entity) => {
                // Another thread may build it at this moment.
                let place = place(chunk.run, row);
                match self.universe.index().build(entity, place) {
                    Ok(()) => entity,
                    Err(error) if error.fault == EntityFault::AlreadyBuilt => {
                        return Err(WorldError::AlreadyBuilt { entity });
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let columns = columns::<B>(chunk, &self.ways[way as usize].offsets);
        // SAFETY: the columns have such a row, which is empty.
        unsafe {
            bundle.write(columns.as_ptr(), row as usize);
            chunk.handles().add(row as usize).write(entity);
        }
        chunk.len = row + 1;
        Ok(entity)
    }

    /// Creates an entity for each bundle, and notes in `out` where: private chunk, row, count. When ids or memory run out, or the iterator
    /// panics, those before are created.
    pub(super) fn create_batch<B: Bundle>(
        &mut self,
        bundles: &mut impl Iterator<Item = B>,
        out: &mut Vec<(u32, u32, u32)>,
        ids: &mut Ids<'_>,
    ) -> Result<(), WorldError> {
        if B::HAS_VALUES {
            for bundle in bundles {
                let entity = self.create(bundle, None, ids)?;
                out.extend(self.find(entity).map(|(private, row)| (private, row, 1)));
            }
            return Ok(());
        }
        let way = self.way::<B>(NONE)?;
        let stream = self.ways[way as usize].stream;
        while let Some(bundle) = bundles.next() {
            let (private, row) = self.room(stream)?;
            let room = self.streams[stream as usize].limit - row;
            let columns = {
                let chunk = &self.privates[private as usize].chunk;
                columns::<B>(chunk, &self.ways[way as usize].offsets)
            };
            let mut rows = BatchRows {
                lane: self,
                private,
                first: row,
                count: 0,
            };
            // SAFETY: the columns have rows up to the limit, empty from `row` on.
            unsafe { bundle.write(columns.as_ptr(), row as usize) };
            rows.count = 1;
            while rows.count < room {
                let Some(bundle) = bundles.next() else { break };
                // SAFETY: as above.
                unsafe { bundle.write(columns.as_ptr(), (row + rows.count) as usize) };
                rows.count += 1;
            }
            rows.commit(out, ids)?;
        }
        Ok(())
    }

    /// Room for an entity of a stream: which private chunk, and which row.
    #[inline(always)]
    fn room(&mut self, stream: u32) -> Result<(u32, u32), WorldError> {
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
    fn end_span(&mut self, stream: u32) {
        let part = &mut self.parts[self.streams[stream as usize].part as usize];
        let span = &mut self.spans[part.last_span as usize];
        let count = self.privates[span.private as usize].chunk.len - span.first;
        part.rows += count - span.count;
        span.count = count;
    }

    fn take_private(&mut self, stream: u32, shift: u32, own: bool) -> Result<u32, WorldError> {
        let draft = &self.streams[stream as usize].draft;
        self.privates.reserve(1);
        self.private_of.reserve(1);
        let chunk = draft.take_chunk(&self.universe, shift)?;
        self.universe.enter_private(chunk.run, self.world);
        let private = self.privates.len() as u32;
        self.private_of.insert(chunk.run.first(), private);
        self.privates.push(Private { chunk, stream, own });
        Ok(private)
    }

    /// Where an entity lies that the open recorder has created: which private chunk, and which row.
    pub(super) fn find(&self, entity: Entity) -> Option<(u32, u32)> {
        let place = self.universe.index().place_of(entity)?;
        let owner = self.universe.owner(place);
        if owner.private_of() != Some(self.world) {
            return None;
        }
        let sub = owner.sub();
        let private = *self.private_of.get(&place.chunk().checked_sub(sub)?)?;
        let row = sub * ROWS_PER_CHUNK + place.row();
        let data = &self.privates[private as usize];
        // Created by the open recorder, not by one before.
        let part = self.streams[data.stream as usize].part;
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

    // --- Commands ----------------------------------------------------------------------------------

    /// Records that an entity dies.
    #[inline(always)]
    pub(super) fn destroy(&mut self, entity: Entity) {
        self.commands.push(Command {
            entity,
            op: 0,
            row: NONE,
        });
    }

    /// Records that fragments go and others come.
    #[inline(always)]
    pub(super) fn change<Gone: Bundle, Come: Bundle>(
        &mut self,
        entity: Entity,
        mut come: Come,
    ) -> Result<(), WorldError> {
        let combo = if Come::HAS_VALUES {
            self.take_values(&mut come)?
        } else {
            NONE
        };
        let of = TypeId::of::<(Gone, Come)>();
        let last = match self.last_op {
            Some(last) if last.of == of && !Come::HAS_VALUES => last,
            _ => self.find_op::<Gone, Come>(OpKey { of, combo })?,
        };
        let (op, mut row) = (last.op, NONE);
        if Come::LEN > 0 {
            row = self.payloads[last.payload as usize].add(come);
        }
        self.commands.push(Command { entity, op, row });
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn find_op<Gone: Bundle, Come: Bundle>(&mut self, key: OpKey) -> Result<LastOp, WorldError> {
        let op = match self.op_of.get(&key) {
            Some(&op) => op,
            None => {
                let registry = self.universe.registry();
                let mut gone = Vec::new();
                Gone::ids(registry, &mut gone)?;
                let mut ids = Vec::new();
                Come::ids(registry, &mut ids)?;
                let mut sorted = ids.clone();
                sorted.sort_unstable();
                self.refuse_twice(&sorted)?;
                // Too large for any chunk: said here, not by the flush.
                Draft::new(registry, &sorted, 1)?;
                let payload = if Come::LEN > 0 {
                    self.payload::<Come>(&ids)
                } else {
                    NONE
                };
                gone.sort_unstable();
                self.ops.push(Op::Change {
                    gone: gone.into(),
                    come: sorted.into(),
                    payload,
                    combo: key.combo,
                });
                let op = self.ops.len() as u32 - 1;
                self.op_of.insert(key, op);
                op
            }
        };
        Ok(self.remember(key, op))
    }

    /// The payload of a bundle type with these fragments.
    fn payload<B: Bundle>(&mut self, ids: &[FragmentId]) -> u32 {
        if let Some(&payload) = self.payload_of.get(&TypeId::of::<B>()) {
            return payload;
        }
        let registry = self.universe.registry();
        let columns = ids[..B::LEN].iter().map(|&id| match registry.get(id) {
            Some(info) => PayloadColumn::new(id, info.layout(), info.drop_values()),
            None => unreachable!("a bundle registers its fragments"),
        });
        self.add_payload(TypeId::of::<B>(), Payload::new(columns.collect()))
    }

    fn add_payload(&mut self, of: TypeId, payload: Payload) -> u32 {
        self.payloads.push(payload);
        let number = self.payloads.len() as u32 - 1;
        self.payload_of.insert(of, number);
        number
    }

    /// Records that a closure runs.
    pub(super) fn call<F: FnOnce(&mut World) + Send + 'static>(&mut self, run: F) {
        let of = TypeId::of::<F>();
        let last = match self.last_op {
            Some(last) if last.of == of => last,
            _ => self.find_call::<F>(OpKey { of, combo: NONE }),
        };
        let op = last.op;
        let payload = &mut self.payloads[last.payload as usize];
        let row = payload.next();
        // SAFETY: room for one more closure.
        unsafe { payload.columns[0].row(row).cast::<F>().write(run) };
        payload.push();
        self.commands.push(Command {
            entity: Entity::PLACEHOLDER,
            op,
            row,
        });
    }

    #[cold]
    #[inline(never)]
    fn find_call<F: FnOnce(&mut World) + Send + 'static>(&mut self, key: OpKey) -> LastOp {
        /// # Safety
        /// `from` holds an `F`, which nobody uses again.
        unsafe fn call<F: FnOnce(&mut World)>(from: *mut u8, world: &mut World) {
            // SAFETY: the caller's.
            let run = unsafe { from.cast::<F>().read() };
            run(world);
        }
        /// # Safety
        /// `count` values of `F` from `values` on, which nobody uses again.
        unsafe fn drop_closures<F>(values: *mut u8, count: usize) {
            // SAFETY: the caller's.
            unsafe {
                core::ptr::slice_from_raw_parts_mut(values.cast::<F>(), count).drop_in_place()
            };
        }
        let op = match self.op_of.get(&key) {
            Some(&op) => op,
            None => {
                let column = PayloadColumn::new(
                    // A closure is no fragment, and nobody asks.
                    FragmentId::from_number(u16::MAX),
                    core::alloc::Layout::new::<F>(),
                    Some(drop_closures::<F>),
                );
                let payload = self.add_payload(TypeId::of::<F>(), Payload::new(vec![column]));
                self.ops.push(Op::Call {
                    payload,
                    call: call::<F>,
                });
                let op = self.ops.len() as u32 - 1;
                self.op_of.insert(key, op);
                op
            }
        };
        self.remember(key, op)
    }

    fn remember(&mut self, key: OpKey, op: u32) -> LastOp {
        let (Op::Change { payload, .. } | Op::Call { payload, .. }) = self.ops[op as usize] else {
            unreachable!("it is asked for by type")
        };
        let last = LastOp {
            of: key.of,
            op,
            payload,
        };
        if key.combo == NONE {
            self.last_op = Some(last);
        }
        last
    }

    /// Takes the values out of a bundle that are not for columns: the combination of its shared ones.
    #[cold]
    fn take_values<B: Bundle>(&mut self, bundle: &mut B) -> Result<u32, WorldError> {
        let mut values: Vec<Value> = Vec::new();
        let universe = Arc::clone(&self.universe);
        let registry = universe.registry();
        bundle.take_values(registry, &mut |_, value| values.push(value))?;
        let is_shared = |value: &Value| {
            registry
                .get(value.id())
                .is_some_and(|i| i.shared_ops().is_some())
        };
        let (mut shared, templates): (Vec<Value>, Vec<Value>) =
            values.into_iter().partition(is_shared);
        let segment = self.segments.len() as u32;
        for template in templates {
            // The first one stays.
            let known = |known: &(u32, Value)| known.0 == segment && known.1.id() == template.id();
            if !self.templates.iter().any(known) {
                self.templates.push((segment, template));
            }
        }
        if shared.is_empty() {
            return Ok(NONE);
        }
        shared.sort_by_key(Value::id);
        let known = self.combos.iter().rposition(|combo| {
            combo.values.len() == shared.len()
                && combo.values.iter().zip(&shared).all(|(a, b)| {
                    let ops = registry.get(a.id()).and_then(|info| info.shared_ops());
                    // SAFETY: values of the same shared fragment.
                    a.id() == b.id()
                        && ops.is_some_and(|ops| unsafe { (ops.equal)(a.as_ptr(), b.as_ptr()) })
                })
        });
        Ok(match known {
            Some(known) => known as u32,
            None => {
                let values = shared.into_iter().map(Arc::new).collect();
                self.combos.push(Combo { values });
                self.combos.len() as u32 - 1
            }
        })
    }

    // --- The end -----------------------------------------------------------------------------------

    /// After a flush, which has moved out what it wanted, and left these private chunks, all empty: drops the
    /// rest, and is as new, but for its room.
    pub(super) fn reset(&mut self, mut left: Vec<Option<Private>>) -> Panicked {
        let mut panicked = None;
        for payload in &mut self.payloads {
            panicked = first(panicked, payload.clear());
        }
        self.by_chance = 0;
        self.commands.clear();
        self.segments.clear();
        self.parts.clear();
        self.spans.clear();
        if self.outdated || !self.combos.is_empty() {
            // Ops, streams and ways name combinations by number.
            self.forget_combos(&mut left);
            self.outdated = false;
            let combos = core::mem::take(&mut self.combos);
            note(&mut panicked, || drop(combos));
        }
        let templates = core::mem::take(&mut self.templates);
        note(&mut panicked, || drop(templates));
        self.keep_nurseries(left);
        panicked
    }

    /// Forgets all ops, ways and streams with shared values, and those for other chunks; what stays is
    /// numbered anew.
    fn forget_combos(&mut self, left: &mut [Option<Private>]) {
        (self.last_op, self.last_way) = (None, None);
        let numbers = keep(
            &mut self.ops,
            |op| !matches!(op, Op::Change { combo, .. } if *combo != NONE),
        );
        self.op_of.retain(|key, _| key.combo == NONE);
        renumber(self.op_of.values_mut(), &numbers);
        let chunks = self.chunks;
        let numbers = keep(&mut self.streams, |stream| {
            stream.combo == NONE && stream.chunks == chunks
        });
        self.stream_of.retain(|key, _| key.1 == NONE);
        renumber(self.stream_of.values_mut(), &numbers);
        renumber(
            left.iter_mut().flatten().map(|private| &mut private.stream),
            &numbers,
        );
        renumber(self.ways.iter_mut().map(|way| &mut way.stream), &numbers);
        let numbers = keep(&mut self.ways, |way| way.stream != NONE);
        self.way_of.retain(|key, _| key.1 == NONE);
        renumber(self.way_of.values_mut(), &numbers);
    }

    /// Keeps the nurseries, and gives other chunks back that were not handed over.
    fn keep_nurseries(&mut self, left: Vec<Option<Private>>) {
        self.private_of.clear();
        let mut nurseries = vec![NONE; self.streams.len()];
        for (at, private) in left.into_iter().enumerate() {
            let Some(private) = private else { continue };
            debug_assert!(private.chunk.len == 0);
            let stream = self.streams.get(private.stream as usize);
            if stream.is_some_and(|stream| stream.nursery == at as u32) {
                let number = self.privates.len() as u32;
                nurseries[private.stream as usize] = number;
                self.private_of.insert(private.chunk.run.first(), number);
                self.privates.push(private);
            } else {
                give_back(&self.universe, &private.chunk);
            }
        }
        for (stream, nursery) in self.streams.iter_mut().zip(nurseries) {
            stream.nursery = nursery;
        }
    }

    /// Destroys the entities that no flush has taken, and drops all values.
    fn discard(&mut self) -> Panicked {
        let mut panicked = None;
        for private in core::mem::take(&mut self.privates) {
            let draft = &self.streams[private.stream as usize].draft;
            let chunk = &private.chunk;
            for column in &draft.columns {
                let Some(drop) = column.drop else { continue };
                for row in 0..chunk.len as usize {
                    let value = chunk
                        .array(column.offset)
                        .wrapping_add(row * column.size as usize);
                    // SAFETY: a value of a row that no world knows, whose entity ends here.
                    note(&mut panicked, || unsafe { drop(value, 1) });
                }
            }
            self.universe.kill_slice(chunk.entities());
            give_back(&self.universe, chunk);
        }
        for payload in &mut self.payloads {
            panicked = first(panicked, payload.clear());
        }
        panicked
    }
}

/// Keeps some of a list; the new number of each that was there, or [`NONE`].
fn keep<T>(list: &mut Vec<T>, keeps: impl Fn(&T) -> bool) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(list.len());
    let mut next = 0;
    list.retain(|item| {
        let kept = keeps(item);
        numbers.push(if kept { next } else { NONE });
        next += u32::from(kept);
        kept
    });
    numbers
}

/// Gives everything its new number.
fn renumber<'a>(all: impl Iterator<Item = &'a mut u32>, numbers: &[u32]) {
    all.for_each(|number| *number = numbers[*number as usize]);
}

/// Gives a chunk back that holds nothing.
fn give_back(universe: &Universe, chunk: &Chunk) {
    universe.leave(chunk.run);
    // SAFETY: the lane's own, which it forgets.
    unsafe { universe.give_chunk(chunk.run) };
}

impl Drop for Lane {
    fn drop(&mut self) {
        // There is nobody to give a panic to.
        forget(self.discard());
    }
}

/// Rows of a private chunk that hold values and have no entities yet; if it is dropped, they become
/// entities all the same, or their values go.
struct BatchRows<'a> {
    lane: &'a mut Lane,
    private: u32,
    first: u32,
    count: u32,
}

impl BatchRows<'_> {
    /// Makes an entity of each row.
    fn commit(self, out: &mut Vec<(u32, u32, u32)>, ids: &mut Ids<'_>) -> Result<(), WorldError> {
        let mut rows = core::mem::ManuallyDrop::new(self);
        let (private, first, count) = (rows.private, rows.first, rows.count);
        let lane = &mut *rows.lane;
        let chunk = &mut lane.privates[private as usize].chunk;
        // SAFETY: rows of the chunk.
        let handles = unsafe { chunk.handles().add(first as usize) };
        let made = if ids.stripe.is_none() {
            // SAFETY: so many rows, which are this lane's.
            unsafe { lane.universe.create_rows(handles, chunk.run, first, count) }
        } else {
            let mut done = 0;
            let all = (0..count).try_for_each(|row| {
                let place = place(chunk.run, first + row);
                let entity = ids.create(&lane.universe, Some(place))?;
                // SAFETY: as above.
                unsafe { handles.add(row as usize).write(entity) };
                done = row + 1;
                Ok(())
            });
            if all.is_err() {
                // SAFETY: so many handles were written.
                let made = unsafe { core::slice::from_raw_parts(handles, done as usize) };
                lane.universe.kill_slice(made);
            }
            all
        };
        match made {
            Ok(()) => {
                chunk.len = first + count;
                out.push((private, first, count));
                Ok(())
            }
            Err(full) => {
                core::mem::ManuallyDrop::into_inner(rows);
                Err(full.into())
            }
        }
    }
}

impl Drop for BatchRows<'_> {
    fn drop(&mut self) {
        let private = &self.lane.privates[self.private as usize];
        let draft = &self.lane.streams[private.stream as usize].draft;
        let mut panicked = None;
        for column in &draft.columns {
            let Some(drop) = column.drop else { continue };
            for row in self.first..self.first + self.count {
                let value = private
                    .chunk
                    .array(column.offset)
                    .wrapping_add(row as usize * column.size as usize);
                // SAFETY: a value without an entity, which nobody has seen.
                note(&mut panicked, || unsafe { drop(value, 1) });
            }
        }
        forget(panicked);
    }
}
