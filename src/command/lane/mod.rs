//! `Lane`: what one thread has recorded at a time, kept until the next flush; its memory serves again and
//! again.
//!
//! A lane is lent to one recorder after the other. Each adds a *segment*: a range of commands, and *parts*,
//! one for each composition that it has created entities of.
//!
//! Must hold between recorders: every row below the `len` of a private chunk has a handle, a value in
//! every column, and is in exactly one span; the entity of that handle lives, and its place is that row.

mod batch;
mod copies;
mod create;
mod cursor;
mod dynamic;
pub(in crate::command) mod end;
mod recent;
mod record;

use core::any::TypeId;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::{Chunk, Draft, Fills, NOT_OPEN, Universe};
use crate::command::log::Log;
use crate::command::payload::Payload;
use crate::command::precedence::Precedence;
use crate::entity::Entity;
use crate::fragment::{FragmentId, Need, Value};
use crate::hashers::{ByNumbers, ByTypes};
use crate::sync::openings::opened_before;
use crate::world::{World, WorldError};

pub(in crate::command) use batch::AllMade;
use copies::{CopyKey, CopyWay};
use cursor::Cursors;
use dynamic::{DynamicOps, Ids8};
use recent::Recent;

/// "None", where a number is expected.
pub(in crate::command) const NONE: u32 = u32::MAX;

/// 16 KiB chunks that a private chunk has at most. Less than half of a last one, which is not full, may have to be
/// copied, if its part is not large.
const LONGEST: u32 = crate::chunk::MEGACHUNK_CHUNKS as u32;

/// The number of the op that destroys: every lane's first one.
pub(in crate::command) const DESTROY: u32 = 0;

/// What a command does, but for its entity and its values.
#[derive(Debug)]
pub(in crate::command) enum Op {
    Destroy,
    /// Fragments go, others come with values.
    Change {
        /// Both in the order of their numbers.
        gone: Box<[FragmentId]>,
        come: Box<[FragmentId]>,
        /// What comes with those by default, if it is not there.
        needs: Box<[Need]>,
        /// The payload of those that come, and their shared values, or [`NONE`] each.
        payload: u32,
        combo: u32,
    },
    /// A fragment is switched on or off.
    Switch {
        id: FragmentId,
        on: bool,
    },
    /// A closure runs: its payload, and how it is called.
    Call {
        payload: u32,
        call: Call,
    },
}

/// Calls the closure that lies at an address, and moves it out.
pub(in crate::command) type Call = unsafe fn(*mut u8, &mut World) -> Called;

/// What the call of a closure has come to.
pub(in crate::command) enum Called {
    /// A user's ran.
    Closure,
    /// An entity was created.
    Created,
    /// So many were destroyed.
    Destroyed(usize),
    /// The entity that it was for had died before.
    Dead(Entity),
    /// What it was to do for an entity was refused.
    Refused(Entity, WorldError),
}

/// What an op is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OpKey {
    /// The tuple of the bundle that goes and the one that comes, a closure, or a [switch](record::Turned).
    of: TypeId,
    combo: u32,
}

/// An op, and its payload if it has one.
#[derive(Clone, Copy, Debug)]
struct FoundOp {
    op: u32,
    payload: u32,
}

/// Shared values that come together.
#[derive(Debug, Default)]
pub(in crate::command) struct Combo {
    /// In the order of their fragments' numbers.
    pub(in crate::command) values: Vec<Arc<Value>>,
    /// The last one before it with the same hash, or [`NONE`].
    before: u32,
}

/// What the chunks of a new archetype begin with.
#[derive(Debug)]
pub(in crate::command) struct Template {
    /// Where that was said.
    pub(in crate::command) segment: u32,
    /// Of which stream's entities; [`NONE`] for those that the segment's commands change.
    pub(in crate::command) stream: u32,
    /// How many commands there were when that was said last, its own among them.
    pub(in crate::command) said: u32,
    pub(in crate::command) value: Arc<Value>,
}

/// What one recorder left.
#[derive(Debug)]
pub(in crate::command) struct Segment {
    pub(in crate::command) precedence: Precedence,
    pub(in crate::command) commands: Range<u32>,
    pub(in crate::command) parts: Range<u32>,
}

/// The entities of one composition that one recorder created.
#[derive(Clone, Debug)]
pub(in crate::command) struct Part {
    pub(in crate::command) stream: u32,
    pub(in crate::command) rows: u32,
    pub(in crate::command) first_span: u32,
    last_span: u32,
}

/// Rows of a part in a private chunk.
#[derive(Debug)]
pub(in crate::command) struct Span {
    pub(in crate::command) private: u32,
    pub(in crate::command) first: u32,
    pub(in crate::command) count: u32,
    /// The part's next span, or [`NONE`].
    pub(in crate::command) next: u32,
}

/// A chunk that only this lane knows, with a record of 64 bytes: a flush reads them all, long after they were written.
/// What the record says of a world has another meaning before it joins one: its group is the stream, and its own it is
/// if it has a place among the open ones. Who [takes it in](crate::archetype::Archetype::take_in) says both anew.
#[derive(Debug)]
pub(in crate::command) struct Private {
    pub(in crate::command) chunk: Chunk,
}

impl Private {
    pub(in crate::command) fn new(mut chunk: Chunk, stream: u32, is_own: bool) -> Self {
        chunk.group = stream;
        chunk.open_at = if is_own { 0 } else { NOT_OPEN };
        Self { chunk }
    }

    /// The stream's number.
    #[inline(always)]
    pub(in crate::command) fn stream(&self) -> u32 {
        self.chunk.group
    }

    /// Whether it is one part's own, which fills it from the first row on; else one recorder after the other
    /// puts its first rows there.
    #[inline(always)]
    pub(in crate::command) fn is_own(&self) -> bool {
        self.chunk.open_at != NOT_OPEN
    }
}

/// The entities of one composition, with the same shared values, that this lane creates.
#[derive(Debug)]
pub(in crate::command) struct Stream {
    pub(in crate::command) ids: Box<[FragmentId]>,
    pub(in crate::command) draft: Draft,
    /// The shared values, or [`NONE`].
    pub(in crate::command) combo: u32,
    cut: Cut,
    /// Where the next entity goes, or [`NONE`]; up to which row.
    current: u32,
    limit: u32,
    /// The chunk for the first rows of every recorder.
    pub(in crate::command) nursery: u32,
    /// The part of the recorder that is open.
    part: u32,
    /// What of these entities joined last: by what the world is remembered, and its archetype.
    pub(in crate::command) joined: Option<(u64, u32)>,
}

/// How a bundle type's values get into a stream.
#[derive(Debug)]
pub(in crate::command) struct Way {
    pub(in crate::command) stream: u32,
    pub(in crate::command) offsets: Box<[u32]>,
    /// What comes with them by default: no cursor leads there then.
    pub(in crate::command) fills: Fills,
}

type ByType<K, V> = HashMap<K, V, ByTypes>;

/// What chunks are cut out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) struct Cut {
    /// 16 KiB chunks that one has at least.
    pub(in crate::command) chunks: usize,
    /// Fragments of the registry that can be switched off.
    pub(in crate::command) enableable: u32,
}

/// Commands and new entities of one thread at a time.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(in crate::command) universe: Arc<Universe>,
    pub(in crate::command) world: u16,
    /// Of new compositions.
    cut: Cut,
    /// Later chunks of a composition are longer.
    grow: bool,

    pub(in crate::command) log: Log,
    pub(in crate::command) ops: Vec<Op>,
    pub(in crate::command) payloads: Vec<Payload>,
    pub(in crate::command) combos: Vec<Combo>,
    /// The last combination of each hash.
    combo_of: HashMap<u64, u32>,
    /// In the order of their segments; of a segment that is closed, in that of their streams.
    pub(in crate::command) templates: Vec<Template>,
    /// Which of them is the open recorder's, for a stream and a fragment.
    template_of: HashMap<(u32, FragmentId), u32>,
    pub(in crate::command) segments: Vec<Segment>,
    pub(in crate::command) parts: Vec<Part>,
    pub(in crate::command) spans: Vec<Span>,
    pub(in crate::command) privates: Vec<Private>,
    /// The private chunks while a flush is at work; those are missing that were handed over, or given back.
    pub(in crate::command) left: Vec<Option<Private>>,
    pub(in crate::command) streams: Vec<Stream>,
    ways: Vec<Way>,

    op_of: ByType<OpKey, u32>,
    /// Ops without shared values.
    recent_ops: Recent<TypeId, FoundOp>,
    payload_of: ByType<TypeId, u32>,
    dynamic: DynamicOps,
    stream_of: HashMap<(Box<[FragmentId]>, u32), u32>,
    way_of: ByType<(TypeId, u32), u32>,
    /// The same of bundles whose fragments are known at run time only: by these, in the order of their numbers.
    dynamic_way_of: HashMap<(Ids8, u32), u32, ByNumbers>,
    /// To streams without shared values.
    cursors: Cursors,
    copy_ways: Vec<CopyWay>,
    copy_way_of: ByType<CopyKey, u32>,
    recent_copies: Recent<CopyKey, u32>,
    /// Where the recorder that is open began.
    began: (u32, u32),
    /// Ids that depend on which thread was quicker, although they were not to.
    pub(in crate::command) by_chance: usize,
    /// Some streams are for chunks that are cut out otherwise than new ones.
    outdated: bool,
}

impl Lane {
    pub(in crate::command) fn new(universe: &Arc<Universe>, world: u16) -> Self {
        Self {
            universe: Arc::clone(universe),
            world,
            cut: Cut {
                chunks: 1,
                enableable: 0,
            },
            grow: true,
            log: Log::default(),
            ops: vec![Op::Destroy],
            payloads: Vec::new(),
            combos: Vec::new(),
            combo_of: HashMap::new(),
            templates: Vec::new(),
            template_of: HashMap::new(),
            segments: Vec::new(),
            parts: Vec::new(),
            spans: Vec::new(),
            privates: Vec::new(),
            left: Vec::new(),
            streams: Vec::new(),
            ways: Vec::new(),
            op_of: HashMap::default(),
            recent_ops: Recent::new(),
            payload_of: HashMap::default(),
            dynamic: DynamicOps::default(),
            stream_of: HashMap::new(),
            way_of: HashMap::default(),
            dynamic_way_of: HashMap::default(),
            cursors: Cursors::new(),
            copy_ways: Vec::new(),
            copy_way_of: HashMap::default(),
            recent_copies: Recent::new(),
            began: (0, 0),
            by_chance: 0,
            outdated: false,
        }
    }

    /// A recorder opens.
    pub(in crate::command) fn open(&mut self, cut: Cut, grow: bool) {
        if cut != self.cut {
            // What was cut out for other chunks serves no more: all lanes must do the same.
            self.forget_streams();
        }
        (self.cut, self.grow) = (cut, grow);
        self.log.begin();
        self.began = (self.log.len() as u32, self.parts.len() as u32);
    }

    /// From now on what is created finds its stream anew; those that there are go when the next flush is over.
    fn forget_streams(&mut self) {
        self.stream_of.clear();
        self.way_of.clear();
        self.dynamic_way_of.clear();
        self.cursors.clear();
        self.copy_way_of.clear();
        self.recent_copies.clear();
        self.outdated = true;
    }

    /// The recorder closes: what it has recorded becomes a segment.
    pub(in crate::command) fn close(&mut self, precedence: Precedence) {
        let (commands, parts) = self.began;
        self.cursors.turn();
        for part in parts..self.parts.len() as u32 {
            let stream = self.parts[part as usize].stream;
            self.end_span(stream);
            let stream = &mut self.streams[stream as usize];
            (stream.part, stream.current, stream.limit) = (NONE, NONE, 0);
        }
        let (commands, parts) = (
            commands..self.log.len() as u32,
            parts..self.parts.len() as u32,
        );
        let templates = !self.templates.is_empty() && self.close_templates();
        if !commands.is_empty() || !parts.is_empty() || templates {
            self.segments.push(Segment {
                precedence,
                commands,
                parts,
            });
        }
    }

    /// Puts the open recorder's templates in order; whether there are any.
    #[cold]
    fn close_templates(&mut self) -> bool {
        let first = self.templates_of(self.segments.len(), None).start;
        let own = &mut self.templates[first..];
        own.sort_by_key(|template| template.stream);
        let some = !own.is_empty();
        self.template_of.clear();
        some
    }

    /// Which templates a segment said, all of them or those of one stream. The latter of a segment that is closed.
    pub(in crate::command) fn templates_of(
        &self,
        segment: usize,
        stream: Option<u32>,
    ) -> Range<usize> {
        let at = |template: &Template| (template.segment as usize, template.stream);
        let (first, last) = match stream {
            Some(stream) => ((segment, stream), (segment, stream)),
            None => ((segment, 0), (segment, NONE)),
        };
        let begin = self
            .templates
            .partition_point(|template| at(template) < first);
        let behind = self
            .templates
            .partition_point(|template| at(template) <= last);
        begin..behind
    }

    /// Commands of the recorder that is open.
    pub(in crate::command) fn recorded(&self) -> usize {
        self.log.len() - self.began.0 as usize
    }

    /// Entities and commands that wait for a flush.
    pub(in crate::command) fn pending(&self) -> (usize, usize) {
        let parts = self.segments.iter().flat_map(|segment| {
            let parts = segment.parts.start as usize..segment.parts.end as usize;
            &self.parts[parts]
        });
        let commands = self.segments.iter().map(|segment| segment.commands.len());
        (parts.map(|part| part.rows as usize).sum(), commands.sum())
    }

    /// Whether nothing is recorded.
    pub(in crate::command) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether what is recorded is of recorders that were opened before this number, that of a round of a flush, or of another
    /// cut: nobody goes on behind one with what was recorded before it, so that is so of all or of none.
    pub(in crate::command) fn is_before(&self, number: u64) -> bool {
        let is_before = |one: &Segment| opened_before(one.precedence.number, number);
        let first = self.segments.first().is_some_and(is_before);
        debug_assert!(self.segments.iter().all(|one| is_before(one) == first));
        first
    }

    /// Whether a flush would find nothing to do, and nothing to tell.
    pub(in crate::command) fn is_idle(&self) -> bool {
        self.is_empty()
            && self.combos.is_empty()
            && self.templates.is_empty()
            && self.by_chance == 0
    }

    /// Whether a flush would not even forget anything of it.
    pub(in crate::command) fn is_settled(&self) -> bool {
        self.is_idle() && !self.forgets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_chunks_record_is_one_cache_line_though_it_may_be_missing() {
        assert_eq!(size_of::<Option<Private>>(), 64);
    }

    #[test]
    fn a_private_chunk_says_what_it_is_to_its_lane() {
        let universe = Universe::new();
        let draft = Draft::new(universe.registry(), &[], 1, 0).unwrap();
        for (stream, is_own) in [(0, false), (7, true), (NONE - 1, true)] {
            let chunk = draft.take_chunk(&universe, 0).unwrap();
            let private = Private::new(chunk, stream, is_own);
            assert_eq!((private.stream(), private.is_own()), (stream, is_own));
            // SAFETY: taken above, and used no more.
            unsafe { universe.give_chunk(private.chunk.run) };
        }
    }
}
