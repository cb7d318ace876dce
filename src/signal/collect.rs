//! What senders have left is put into the logs of its signals, in an order that no thread decides.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::command::Precedence;
use crate::entity::Entity;
use crate::fragment::{StateForm, StateValue};
use crate::panics::{Panicked, note, tell};
use crate::shown::{listed, shown_quoted};
use crate::signal::EVERYBODY;
use crate::signal::log::Log;
use crate::signal::mailbag::{CANCELS, CANCELS_AT, Letter, Mailbag};
use crate::signal::post::Post;
use crate::span;
use crate::sync::atomic::Ordering;
use crate::sync::pool::Lent;
use crate::world::check::{Found, Held};
use crate::world::waiting::{ComeSignals, SignalName, Told, ToldSignal, Unheard, Waits};
use crate::world::{Attachment, Pending, World, WorldError};

/// How many letters ahead their entities' slots are asked for.
const AHEAD: usize = 24;

/// Of the signals for entities that are not built, so many are looked at where nothing was built,
/// in turn: those that died, or were built elsewhere, are found by and by.
const SWEEP: usize = 64;

/// A signal that waits for its time, or for its entity to be built. In the order of times, then of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    time: u64,
    sequence: u64,
    signal: u32,
    /// Where its log keeps the payload.
    slot: u32,
    entity: Entity,
}

/// What takes back what waits for its time: when it was sent, by signal, entity and time, or none for any. (The last one of
/// several takes back all that they do.)
#[derive(Debug, Default)]
struct Cancelled {
    sent: BTreeMap<(u32, Entity, Option<u64>), u64>,
    /// Some are taken back at a time.
    at_times: bool,
}

impl Cancelled {
    /// Adds a letter, which comes after the others.
    #[cold]
    fn add(&mut self, letter: Letter, time: u64, sequence: u64) {
        let time = (letter.row == CANCELS_AT).then_some(time);
        let key = (letter.signal, letter.entity, time);
        self.at_times |= time.is_some();
        self.sent.insert(key, sequence);
    }

    /// Whether it takes this one back, which was sent before.
    fn has(&self, waiting: &Waiting) -> bool {
        let times = [None, Some(waiting.time)];
        // Mostly nothing is taken back at a time alone.
        let times = &times[..1 + usize::from(self.at_times)];
        times.iter().any(|&time| {
            let sent = self.sent.get(&(waiting.signal, waiting.entity, time));
            sent.is_some_and(|&sent| sent > waiting.sequence)
        })
    }
}

/// The logs of a world's signals, and what is not in them yet. Who has the world to itself changes it.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// By the signals' numbers.
    pub(super) logs: Vec<Log>,
    /// Signals that were collected.
    sequence: u64,
    later: BinaryHeap<Reverse<Waiting>>,
    /// Those that have come out of a file, or from another world.
    pub(super) come: ComeSignals,
    /// Of the first so many signals none have come that are still to be taken in.
    pub(super) adopted: usize,
    /// For entities that are not built yet: until they are, or die, or the world ends.
    early: Vec<Waiting>,
    /// The world's births when all of them were looked at.
    births: u64,
    /// Those before this one were looked at since.
    swept: usize,
    /// How often room was given back: readers give theirs back after that.
    pub(super) trims: u32,
}

impl Attachment for Board {
    fn world_ends(&mut self) {}

    fn trim(&mut self) -> usize {
        self.logs.iter_mut().for_each(Log::shrink);
        self.later.shrink_to_fit();
        self.early.shrink_to_fit();
        self.trims = self.trims.wrapping_add(1);
        0
    }

    fn count_pending(&self, pending: &mut Pending) -> usize {
        pending.signals += self.early.len() + self.logs.iter().map(Log::unread).sum::<usize>();
        pending.delayed_signals += self.later.len() + self.come.len();
        0
    }

    fn go_back(&mut self, _: u64, panicked: &mut Panicked) {
        let later = core::mem::take(&mut self.later).into_iter();
        let later = later.map(|Reverse(waiting)| waiting);
        for waiting in later.chain(core::mem::take(&mut self.early)) {
            let log = &mut self.logs[waiting.signal as usize];
            note(panicked, || log.payloads.drop_kept(waiting.slot));
        }
        for log in &mut self.logs {
            log.pass_by(panicked);
        }
        note(panicked, || drop(core::mem::take(&mut self.come)));
        // What comes back may be of any signal.
        self.adopted = 0;
    }

    fn tell_waiting<'w>(&'w self, world: &'w World, told: &mut Told<'w>) {
        self.come.tell(told);
        if self.later.is_empty() {
            return;
        }
        let kinds = Post::of(world).kinds_by_number();
        let waiting = self.later.iter().filter_map(|Reverse(waiting)| {
            let log = &self.logs[waiting.signal as usize];
            Some(ToldSignal {
                signal: kinds.get(waiting.signal as usize)?.signal(),
                waiting: Waits {
                    time: waiting.time,
                    sequence: waiting.sequence,
                    entity: waiting.entity,
                    payload: log.payloads.kept(waiting.slot)?,
                },
            })
        });
        told.signals.extend(waiting);
    }

    fn check(&self, _: &mut Found) -> Held {
        Held::default()
    }
}

/// Puts what senders have left into the logs, and what has waited long enough; what the `drop`s of payloads
/// panicked with.
#[inline]
pub(super) fn collect(world: &mut World) -> Panicked {
    if span::is_collect_heard() {
        return collect_heard(world);
    }
    collect_now(world)
}

#[cold]
fn collect_heard(world: &mut World) -> Panicked {
    span::collect(world, |world| {
        let before = board(world).sequence;
        let panicked = collect_now(world);
        let signals = board(world).sequence.saturating_sub(before);
        (panicked, signals)
    })
}

fn collect_now(world: &mut World) -> Panicked {
    let post = Arc::clone(Post::of(world));
    let mut board = core::mem::take(board(world));
    let mut panicked = None;
    let found = post.senders.collect(&post.bags, Mailbag::is_empty);
    let mut bags = found.things;
    bags.retain(|bag| !bag.segments.is_empty());
    // After the bags: a signal was known before it was sent.
    board.add_logs(&post);
    if let Some(since) = post.went_back() {
        board.let_go(&mut bags, since, &mut panicked);
        if found.settles.is_some() {
            // None of those senders is open any more.
            post.forget_went_back();
        }
    }
    board.adopt(&post);
    for (number, log) in (0..).zip(&mut board.logs) {
        log.trim(&mut panicked);
        if let Some(waiting) = log.heaps_up() {
            tell_of_heap(world, &post, number, waiting);
        }
    }
    board.rouse(world, &mut panicked);
    // Ordering: Relaxed: time moves under `&mut` of the world.
    let now = post.now.load(Ordering::Relaxed);
    board.sort_in(world, &mut bags, now, &mut panicked);
    // Nothing is left in them.
    bags.iter().for_each(Lent::leave);
    post.senders.settle(found.settles);
    board.ring(world, now, &mut panicked);
    // Ordering: Relaxed, here and where it is asked for: collections and who asks have the world.
    let waits = !board.early.is_empty();
    post.waits.store(waits.into(), Ordering::Relaxed);
    *self::board(world) = board;
    panicked
}

/// Says that so much of a signal waits for a reader.
#[cold]
fn tell_of_heap(world: &World, post: &Post, number: u32, waiting: usize) {
    let signal = post.kinds.get(number).map_or("", |kind| kind.name());
    tell(|| {
        tracing::warn!(
            name: "signals_heap_up",
            target: "megachunk::signal",
            world = %world.seat,
            signal,
            waiting,
            "signals heap up for a reader that has not got them: let it run, discard them, unsubscribe or drop it"
        );
    });
}

/// Says that signals have ended that came with a world, or to it, and that nobody has asked it for.
#[cold]
fn tell_of_unheard(world: &World, unheard: &Unheard) {
    let registry = world.registry();
    let name = |signal: &SignalName<Box<str>>| match &signal.name {
        Some(name) => shown_quoted(name),
        None => {
            let form = registry.state_form(|form| form.type_id() == signal.carries);
            format!("that of {}", form.map_or("a type", StateForm::type_name))
        }
    };
    tell(|| {
        tracing::warn!(
            name: "signals_unheard",
            target: "megachunk::signal",
            world = %world.seat,
            signals = listed(unheard.signals.iter().map(name), ", "),
            count = unheard.count,
            "delayed signals that came out of a file, or from another world, have ended unheard, because nobody had asked \
             this world for the signal when their time came: subscribe to it before time passes; of others nothing is said \
             any more"
        );
    });
}

/// Whether a collection has nothing to do: nothing was sent since the last one, and nothing waits for entities to be
/// built. Wait-free.
#[inline]
pub(crate) fn is_collected(world: &World) -> bool {
    let post = world.attached.get::<Arc<Post>>();
    post.is_none_or(|post| post.senders.is_settled() && post.waits.load(Ordering::Relaxed) == 0)
}

/// The world's board.
pub(super) fn board(world: &mut World) -> &mut Board {
    world.attached.get_or_attach(Board::default);
    // Mostly none have.
    let come = match world.come.signals.len() {
        0 => None,
        _ => Some(core::mem::take(&mut world.come.signals)),
    };
    let board: &mut Board = match world.attached.get_mut() {
        Some(board) => board,
        None => unreachable!("it was just attached"),
    };
    if let Some(come) = come {
        // What is sent from now on comes after them.
        board.sequence = board.sequence.max(come.len() as u64);
        board.come = come;
    }
    board
}

/// Whether an entity will be built in this world, perhaps.
fn is_unbuilt(world: &World, entity: Entity) -> bool {
    // First what costs nothing.
    entity != EVERYBODY
        && world.locate(entity).is_none()
        && matches!(
            world.refuse(entity),
            WorldError::NotBuilt { .. } | WorldError::Pending { .. }
        )
}

impl Board {
    /// What comes next in the order of what was sent.
    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Takes what waits for its time out whose entity `goes`, in no order.
    pub(super) fn take_waiting(
        &mut self,
        post: &Post,
        goes: impl Fn(Entity) -> bool,
    ) -> Vec<(SignalName<Box<str>>, Waits<StateValue>)> {
        let mut going = Vec::new();
        for (signal, waits) in self.come.take_all() {
            match goes(waits.entity) {
                true => going.push((signal, waits)),
                false => self.come.push(signal, waits),
            }
        }
        let later = core::mem::take(&mut self.later).into_vec();
        let all = later.into_iter().map(|Reverse(waiting)| waiting);
        let (leaving, staying): (Vec<_>, Vec<_>) = all.partition(|one| goes(one.entity));
        self.later = staying.into_iter().map(Reverse).collect();
        self.take_out(post, leaving, &mut going);
        going
    }

    /// Takes what waits for its entity out that `goes`.
    pub(super) fn take_early(
        &mut self,
        post: &Post,
        goes: impl Fn(Entity) -> bool,
    ) -> Vec<(SignalName<Box<str>>, Waits<StateValue>)> {
        let early = core::mem::take(&mut self.early).into_iter();
        let (leaving, staying) = early.partition(|waiting| goes(waiting.entity));
        self.early = staying;
        let mut going = Vec::new();
        self.take_out(post, leaving, &mut going);
        going
    }

    /// Takes the payloads of some out. O(these + signals that the world knows), O(1) for none.
    fn take_out(
        &mut self,
        post: &Post,
        waiting: Vec<Waiting>,
        going: &mut Vec<(SignalName<Box<str>>, Waits<StateValue>)>,
    ) {
        if waiting.is_empty() {
            return;
        }
        let kinds = post.kinds_by_number();
        going.extend(waiting.into_iter().filter_map(|waiting| {
            let log = &mut self.logs[waiting.signal as usize];
            let waits = Waits {
                time: waiting.time,
                sequence: waiting.sequence,
                entity: waiting.entity,
                payload: log.payloads.take_value(waiting.slot)?,
            };
            let kind = kinds.get(waiting.signal as usize)?;
            Some((kind.signal().to_owned(), waits))
        }));
    }

    /// A log for each signal that there is.
    fn add_logs(&mut self, post: &Post) {
        if self.logs.len() < post.kinds.len() {
            let kinds = post.kinds_by_number();
            let new = kinds[self.logs.len()..].iter();
            self.logs.extend(new.map(|kind| Log::new((kind.new_log)())));
        }
    }

    /// Takes what has come in among what waits, of signals that are known now. O(signals that the world knows) if some
    /// have come to be known, and what is taken.
    fn adopt(&mut self, post: &Post) {
        let known = self.logs.len();
        let new = core::mem::replace(&mut self.adopted, known)..known;
        if self.come.len() == 0 || new.is_empty() {
            return;
        }
        let kinds = post.kinds_by_number();
        for number in new {
            let Some(kind) = kinds.get(number) else {
                continue;
            };
            for come in self.come.take(&kind.signal()) {
                let Some(slot) = self.logs[number].payloads.keep_value(come.payload) else {
                    unreachable!("a signal carries one type")
                };
                self.later.push(Reverse(Waiting {
                    time: come.time,
                    sequence: come.sequence,
                    signal: number as u32,
                    slot,
                    entity: come.entity,
                }));
            }
        }
    }

    /// Posts what has waited for entities that are built now, or dead: readers count those. O(those that wait) if
    /// something was built; else O(1), until one is found that waits no more.
    fn rouse(&mut self, world: &World, panicked: &mut Panicked) {
        let births = core::mem::replace(&mut self.births, world.births);
        if births == world.births && !self.sweep(world) {
            return;
        }
        let mut early = core::mem::take(&mut self.early);
        let finder = world.finder();
        let mut kept = 0;
        for at in 0..early.len() {
            if let Some(later) = early.get(at + AHEAD) {
                finder.expect(later.entity);
            }
            let waiting = early[at];
            if is_unbuilt(world, waiting.entity) {
                early[kept] = waiting;
                kept += 1;
            } else {
                self.post_kept(waiting, panicked);
            }
        }
        early.truncate(kept);
        self.early = early;
    }

    /// Looks at the next few that wait for their entities; whether one waits no more.
    fn sweep(&mut self, world: &World) -> bool {
        if self.swept >= self.early.len() {
            self.swept = 0;
        }
        let mut next = self.early[self.swept..].iter().take(SWEEP);
        self.swept += next.len();
        next.any(|waiting| !is_unbuilt(world, waiting.entity))
    }

    /// Drops what senders have sent that were opened before this number.
    #[cold]
    fn let_go(&self, bags: &mut [Lent<'_, Mailbag>], since: u64, panicked: &mut Panicked) {
        for bag in bags {
            for segment in bag.take_before(since) {
                for at in segment.letters {
                    let letter = bag.letters[at as usize];
                    if !matches!(letter.row, CANCELS | CANCELS_AT) {
                        let payloads = &self.logs[letter.signal as usize].payloads;
                        let rows = letter.row..letter.row + 1;
                        payloads.drop_sent(bag.column(letter.signal), rows, panicked);
                    }
                }
            }
        }
    }

    /// Takes the letters out of the bags, in order.
    fn sort_in(
        &mut self,
        world: &World,
        bags: &mut [Lent<'_, Mailbag>],
        now: u64,
        panicked: &mut Panicked,
    ) {
        let mut order: SmallVec<[(Precedence, usize, usize); 4]> = SmallVec::new();
        for (at, bag) in bags.iter().enumerate() {
            let segments = bag.segments.iter().enumerate();
            order.extend(segments.map(|(segment, s)| (s.precedence, at, segment)));
        }
        order.sort_unstable();
        let finder = world.finder();
        let mut cancelled = Cancelled::default();
        for (_, at, segment) in order {
            let bag = &mut *bags[at];
            let mut rest = bag.segments[segment].letters.clone();
            let mut next = bag.times.partition_point(|(at, _)| *at < rest.start);
            while !rest.is_empty() {
                let at = rest.start;
                let letter = bag.letters[at as usize];
                if let Some(later) = bag.letters.get(at as usize + AHEAD) {
                    finder.expect(later.entity);
                }
                let timed = bag.times.get(next).copied();
                // One that is for a time stands alone.
                let end = timed.map_or(rest.end, |(of, _)| of.clamp(at + 1, rest.end));
                let count = bag.alike(at..end);
                rest.start += count;
                let time = match timed {
                    Some((of, time)) if of == at => {
                        next += 1;
                        if matches!(letter.row, CANCELS | CANCELS_AT) {
                            self.sequence += 1;
                            cancelled.add(letter, time, self.sequence);
                            continue;
                        }
                        time
                    }
                    _ => 0,
                };
                let rows = letter.row..letter.row + count;
                let log = &mut self.logs[letter.signal as usize];
                let column = bag.column(letter.signal);
                let sequence = self.sequence + 1;
                self.sequence += u64::from(count);
                let mut waiting = Waiting {
                    time,
                    sequence,
                    signal: letter.signal,
                    slot: 0,
                    entity: letter.entity,
                };
                if waiting.time > now {
                    waiting.slot = log.payloads.keep(column, letter.row);
                    self.later.push(Reverse(waiting));
                } else if is_unbuilt(world, letter.entity) {
                    // Also if nobody listens: who will by then does not depend on who does now.
                    waiting.slot = log.payloads.keep(column, letter.row);
                    self.early.push(waiting);
                } else if log.is_idle() {
                    log.payloads.drop_sent(column, rows, panicked);
                } else {
                    log.payloads.post(column, rows);
                    log.note_alike(sequence, count, letter.entity);
                }
            }
        }
        bags.iter_mut().for_each(|bag| bag.reset());
        if !cancelled.sent.is_empty() && !self.later.is_empty() {
            self.take_back(&cancelled, panicked);
        }
    }

    /// Drops what waits for its time and was cancelled. O(what waits · log of what cancels).
    #[cold]
    fn take_back(&mut self, cancelled: &Cancelled, panicked: &mut Panicked) {
        let mut gone = Vec::new();
        self.later.retain(|Reverse(waiting)| {
            let goes = cancelled.has(waiting);
            if goes {
                gone.push(*waiting);
            }
            !goes
        });
        gone.sort_unstable();
        for waiting in gone {
            let payloads = &mut self.logs[waiting.signal as usize].payloads;
            note(panicked, || payloads.drop_kept(waiting.slot));
        }
    }

    /// Posts what has waited for its time.
    fn ring(&mut self, world: &World, now: u64, panicked: &mut Panicked) {
        while let Some(Reverse(next)) = self.later.peek()
            && next.time <= now
        {
            let Some(Reverse(mut waiting)) = self.later.pop() else {
                unreachable!("it was just seen")
            };
            // It is sent now.
            self.sequence += 1;
            waiting.sequence = self.sequence;
            if is_unbuilt(world, waiting.entity) {
                self.early.push(waiting);
            } else {
                self.post_kept(waiting, panicked);
            }
        }
        if let Some(unheard) = self.come.drop_due(now, panicked) {
            tell_of_unheard(world, &unheard);
        }
    }

    fn post_kept(&mut self, waiting: Waiting, panicked: &mut Panicked) {
        let log = &mut self.logs[waiting.signal as usize];
        if log.is_idle() {
            note(panicked, || log.payloads.drop_kept(waiting.slot));
        } else {
            log.payloads.post_kept(waiting.slot);
            log.note(waiting.sequence, waiting.entity);
        }
    }
}
