//! Created entities join the world, recorder by recorder, part by part. How rows join says `join.rs`; in what order, and
//! what becomes of those that do not, is said here.

use core::iter::successors;
use core::ops::Range;

use crate::archetype::{Chunk, ChunkList, Draft};
use crate::command::author::Author;
use crate::command::flush::join::{Joining, LITTLE, Rows};
use crate::command::flush::{Flush, FlushReport};
use crate::command::lane::end::give_back;
use crate::command::lane::{Lane, NONE, Part, Private, Span, Stream};
use crate::memory::prefetch;
use crate::panics::{Panicked, first, note};
use crate::world::{World, WorldError};

/// For so many chunks memory is asked at a time: for the directory's entries of these, and for the records of as many
/// behind them. One walk over page tables after the other would be waited for, where a loop has several under way.
const TOGETHER: usize = 64;

/// Where the rows go that a part has in nurseries. Which of the last two it is depends on who shared the lane, and
/// must not be seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstRows {
    /// Where there is room.
    Anywhere,
    /// Into a chunk of their own.
    Apart,
    /// Nowhere: this private chunk holds them, and nothing else.
    Alone(u32),
}

impl FirstRows {
    /// Whether a part is too short for its first rows to have a chunk of their own.
    pub(super) fn are_anywhere(part: &Part, stream: &Stream) -> bool {
        part.rows / LITTLE < stream.draft.least_capacity.div_ceil(2)
    }

    fn of(part: &Part, lane: &Lane, privates: &[Option<Private>]) -> Self {
        if Self::are_anywhere(part, &lane.streams[part.stream as usize]) {
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
        let lane = &mut *self.lanes[lane];
        let mut left = core::mem::take(&mut lane.left);
        let privates = left.as_mut_slice();
        let refused = self.report.refused.len();
        for part in lane.segments[segment].parts.clone() {
            let part = lane.parts[part as usize].clone();
            let linking = Linking {
                first_rows: FirstRows::of(&part, lane, privates),
                first_fill: None,
                world: &mut *world,
                lane,
                segment,
                part: &part,
                privates,
                report: self.report,
                panicked: &mut self.panicked,
                joining: None,
                lost: None,
                to_come: part.rows,
                asked: 0,
            };
            if let Some(archetype) = linking.run() {
                lane.streams[part.stream as usize].joined = Some((world.identity(), archetype));
            }
        }
        lane.left = left;
        if self.report.refused.len() > refused {
            let precedence = lane.segments[segment].precedence;
            let by = world.ranks.author(precedence, self.began);
            for entry in &mut self.report.refused[refused..] {
                entry.by = by.clone();
            }
        }
    }

    /// Takes over what the chunks of archetypes begin with which one recorder's commands are the first to need: what was
    /// said from this command on.
    pub(super) fn take_templates(
        panicked: &mut Panicked,
        world: &mut World,
        lane: &Lane,
        segment: usize,
        from: u32,
    ) {
        let all = &lane.templates[lane.templates_of(segment, Some(NONE))];
        for template in all.iter().filter(|template| template.said > from) {
            // The `drop` of the one before may panic.
            note(panicked, || world.take_template(template));
        }
    }

    /// After all parts: the nurseries are empty.
    pub(super) fn empty_nurseries(&mut self) {
        for lane in &mut self.lanes {
            for private in lane.left.iter_mut().flatten() {
                private.chunk.len = 0;
            }
        }
    }
}

/// A part that joins.
struct Linking<'a> {
    world: &'a mut World,
    lane: &'a Lane,
    segment: usize,
    part: &'a Part,
    privates: &'a mut [Option<Private>],
    report: &'a mut FlushReport,
    panicked: &'a mut Panicked,
    /// Where its rows go, or why nowhere. `None`: not asked yet, or not since some were refused, or users' code panicked.
    joining: Option<Result<Joining, WorldError>>,
    first_rows: FirstRows,
    /// Whether its rows in nurseries fill what has room, whatever else is said of them.
    first_fill: Option<bool>,
    /// Why rows in a nursery were refused; `None` inside: users' code panicked. What the part has in its next nursery
    /// is refused with them, as it would be if it lay in the same one.
    lost: Option<Option<WorldError>>,
    /// Rows behind those that join now.
    to_come: u32,
    /// Up to which private chunk the processor was asked for memory.
    asked: usize,
}

/// Rows of a private chunk that do not join, and why, if a panic or what [`Linking::joining`] says is not why.
struct Left {
    rows: Range<u32>,
    why: Option<WorldError>,
}

impl Linking<'_> {
    /// Lets all of the part join; the archetype, if that is known afterwards.
    fn run(mut self) -> Option<u32> {
        let mut next = self.part.first_span;
        while let Some(span) = self.lane.spans.get(next as usize) {
            next = span.next;
            if span.count > 0 {
                self.link(span);
                next = self.link_full(next);
            }
        }
        let joining = self.joining?.ok()?;
        Some(joining.archetype)
    }

    /// Lets full chunks join, from a span on, as far as one follows the other and there is nothing to be asked or told of
    /// any of them; the span behind them.
    fn link_full(&mut self, mut next: u32) -> u32 {
        let (archetype, group) = match &self.joining {
            Some(Ok(joining)) if joining.same_layout => (joining.archetype, joining.group),
            _ => return next,
        };
        if self.lost.is_some() || !self.world.adopts_quietly(archetype) {
            return next;
        }
        while let Some(span) = self.lane.spans.get(next as usize) {
            let at = span.private as usize;
            let private = self.privates[at].as_ref();
            let Some(full) = private.filter(|private| is_full(private)) else {
                break;
            };
            // If this one is not for filling others, nor are those behind it: they are no shorter, and leave as much free.
            let data = &self.world.archetypes[archetype as usize];
            if data.is_to_be_filled(group, full.chunk.len, self.part.rows) {
                break;
            }
            self.expect(at);
            next = self.link_expected(next, archetype, group);
        }
        next
    }

    /// The same with those that were [expected](Self::expect), of which one is there.
    fn link_expected(&mut self, mut next: u32, archetype: u32, group: u32) -> u32 {
        let world = &mut *self.world;
        let version = world.stamp();
        let data = &mut world.archetypes[archetype as usize];
        let (lane, privates, asked) = (self.lane, &mut *self.privates, self.asked);
        let span = &lane.spans[next as usize];
        if let Some(first) = &privates[span.private as usize] {
            let left = privates.len() - span.private as usize;
            let to_come = self.to_come.saturating_sub(span.count);
            make_room(&mut data.chunks, &first.chunk, to_come, left);
        }
        let mut rows = 0;
        while let Some(span) = lane.spans.get(next as usize) {
            let at = span.private as usize;
            let private = &mut privates[at];
            let Some(full) = private
                .as_ref()
                .filter(|private| at < asked && is_full(private))
            else {
                break;
            };
            debug_assert_eq!(span.count, full.chunk.len);
            rows += span.count;
            next = span.next;
            // The record is a cache line, and moves as one: taken out of the option field by field, it would be waited
            // for where it is put together again.
            //
            // SAFETY: the value is moved, and what is left behind is written over without a look at it.
            let Private { chunk } = unsafe {
                let full = core::ptr::read(full);
                core::ptr::write(private, None);
                full
            };
            data.take_in(&world.universe, world.number, chunk, group, version);
        }
        self.report.created += rows as usize;
        self.to_come = self.to_come.saturating_sub(rows);
        next
    }

    /// Lets the rows of a span join, or ends them.
    fn link(&mut self, span: &Span) {
        let at = span.private as usize;
        self.expect(at);
        self.to_come = self.to_come.saturating_sub(span.count);
        let Some(private) = &self.privates[at] else {
            return;
        };
        let in_nursery = !private.is_own();
        let joined = match self.lost.take() {
            Some(why) if in_nursery => {
                let rows = span.first..span.first + span.count;
                Err(Left { rows, why })
            }
            lost => {
                self.lost = lost;
                self.find_way();
                self.join(span)
            }
        };
        if let Err(Left { rows, why }) = joined {
            self.refuse(at, rows, why.as_ref());
            if in_nursery {
                self.lost = Some(why);
            }
        }
        // Its rows are elsewhere, or gone: who links next may need the memory.
        if let Some(own) = self.privates[at].take_if(|private| private.is_own()) {
            give_back(&self.world.universe, &own.chunk);
        }
    }

    /// Asks the processor for what it takes to take over the chunks from `at` on, which are likely to be all this
    /// part's.
    fn expect(&mut self, at: usize) {
        if at < self.asked {
            return;
        }
        self.asked = at + TOGETHER;
        // No chunk is shorter.
        let least = self.draft().least_capacity;
        let end = at + self.to_come.div_ceil(least) as usize;
        let end = end.min(self.privates.len());
        expect(self.world, &self.privates[..end], at);
    }

    fn draft(&self) -> &Draft {
        &self.lane.streams[self.part.stream as usize].draft
    }

    /// Asks where the rows go, unless it is known.
    fn find_way(&mut self) {
        if self.joining.is_some() {
            return;
        }
        let (lane, stream) = (self.lane, self.part.stream);
        let world = &mut *self.world;
        for template in &lane.templates[lane.templates_of(self.segment, Some(stream))] {
            note(self.panicked, || world.take_template(template));
        }
        // Users' `eq` and `hash` may panic, and the `clone` of a template.
        note(self.panicked, || {
            self.joining = Some(world.joining(lane, stream));
        });
    }

    /// Lets the rows of a span join, as far as they can.
    fn join(&mut self, span: &Span) -> Result<(), Left> {
        let at = span.private as usize;
        let left = self.privates.len() - at;
        let private = &mut self.privates[at];
        let Some(there) = private else { return Ok(()) };
        let Some(Ok(joining)) = &self.joining else {
            let rows = span.first..span.first + span.count;
            return Err(Left { rows, why: None });
        };
        let (whole, apart) = match self.first_rows {
            _ if there.is_own() => (true, false),
            FirstRows::Alone(alone) => (alone == span.private, false),
            first_rows => (false, first_rows == FirstRows::Apart),
        };
        // Where much is free, rows fill that: else entities that come and go with each flush would all come in chunks of
        // their own, and these would decay, row by row, until each has lost its last one.
        let keeps = (whole || apart) && joining.same_layout && {
            let data = &self.world.archetypes[joining.archetype as usize];
            let fills = |count| data.is_to_be_filled(joining.group, count, self.part.rows);
            match there.is_own() {
                true => !fills(span.count),
                // Once for all: in how many nurseries they are must not be seen.
                false => {
                    let first = || fills(data.least_capacity.div_ceil(2));
                    !*self.first_fill.get_or_insert_with(first)
                }
            }
        };
        let (whole, apart) = (whole && keeps, apart && keeps);
        let draft = &self.lane.streams[self.part.stream as usize].draft;
        let joined = if whole {
            let chunks = &mut self.world.archetypes[joining.archetype as usize].chunks;
            make_room(chunks, &there.chunk, self.to_come, left);
            // A nursery as it is, however little is in it: elsewhere these rows would be alone as well.
            let of = if there.is_own() {
                self.part.rows
            } else {
                u32::MAX
            };
            self.world
                .take_over(private, of, draft, joining, self.panicked)
        } else {
            let rows = Rows {
                chunk: &mut there.chunk,
                first: span.first,
                count: span.count,
            };
            if apart {
                self.first_rows = FirstRows::Anywhere;
            }
            if apart && !self.world.begin_chunk(joining, self.panicked) {
                Ok(0)
            } else {
                self.world.pour(rows, draft, joining, self.panicked)
            }
        };
        let (done, why) = match joined {
            Ok(done) => (done, None),
            Err((done, error)) => (done, Some(error)),
        };
        self.report.created += done as usize;
        match &self.privates[at] {
            Some(there) if done < span.count => {
                // A chunk that is taken over loses its last rows first.
                let rows = if whole {
                    0..there.chunk.len
                } else {
                    span.first + done..span.first + span.count
                };
                Err(Left { rows, why })
            }
            _ => Ok(()),
        }
    }

    /// Ends rows of a private chunk, and says so.
    #[cold]
    fn refuse(&mut self, at: usize, rows: Range<u32>, why: Option<&WorldError>) {
        let Some(there) = &self.privates[at] else {
            return;
        };
        let why = match &self.joining {
            Some(Err(error)) => Some(error),
            _ => why,
        };
        for row in rows.clone() {
            // SAFETY: a row of the chunk.
            let entity = unsafe { *there.chunk.handles().add(row as usize) };
            let error = why.map_or(WorldError::Interrupted, |error| error.for_another(entity));
            self.report.refuse(entity, error, Author::default());
        }
        let more = end_rows(self.world, self.draft(), &there.chunk, rows);
        *self.panicked = first(self.panicked.take(), more);
        if let Some(Ok(gone)) = &self.joining {
            // The next rows ask again: a group without chunks goes.
            self.world.let_go(gone.archetype, gone.group);
            self.joining = None;
        }
    }
}

/// Whether a private chunk is a part's own, and full.
fn is_full(private: &Private) -> bool {
    private.is_own() && private.chunk.is_full()
}

/// Makes room for the record of a chunk, and, if there is none, for those of the chunks that `to_come` more rows are
/// likely to be in, at most `left`.
fn make_room(chunks: &mut ChunkList, chunk: &Chunk, to_come: u32, left: usize) {
    if chunks.len() < chunks.capacity() {
        return;
    }
    // Chunks are no shorter than those before them. Of several, one stays empty when all have gone: as many are to find
    // room again.
    let later = to_come.div_ceil(chunk.capacity) as usize;
    let later = later.min(left - 1);
    chunks.reserve(1 + later + usize::from(later > 0));
}

/// Asks the processor for what it takes to take over some chunks from `at` on, and for the records of as many behind
/// them.
#[inline(never)]
fn expect(world: &World, privates: &[Option<Private>], at: usize) {
    let directory = world.universe.directory();
    for near in at..at + TOGETHER {
        let Some(private) = privates.get(near) else {
            break;
        };
        if let Some(private) = private {
            directory.expect(&private.chunk);
        }
        prefetch(privates.as_ptr().wrapping_add(near + TOGETHER));
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
