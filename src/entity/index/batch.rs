//! Many at once: a word of slots a claim, a group of slots a death.

use core::mem::MaybeUninit;

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::{Core, Threads};
use crate::entity::index::span::{self, SPAN_WORDS};
use crate::entity::index::wide::{self, Expected};
use crate::entity::index::{group, scatter, slot, thinly};
use crate::entity::{DestroyReport, Entity, Full, Place};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{FULL, GROUP_SLOTS, WORD_BITS};
use crate::sync::{mutant, probe};

/// After this many groups of a batch it shows whether neighbours stand side by side.
const SAMPLE: usize = 8;
/// Handles that are looked at then.
const LOOK: usize = 64;
/// With fewer than so many of a group side by side, to gather them costs more than it saves.
const FEW: usize = 6;
/// So many handles have to be left for another way.
pub(super) const FEWEST: usize = 8;
/// So many go singly before it is looked at once more.
const STRETCH: usize = 512;

/// Creates `out.len()` entities, or none. With `first` they have places from the beginning: those of as many
/// neighbouring rows of one chunk number, in order.
#[inline]
pub(crate) fn create(
    core: &Core,
    threads: &Threads,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    first: Option<Place>,
) -> Result<(), Full> {
    wide::expect(out);
    if !create_at_hand(core, cache, out, first) {
        create_all(core, threads, cache, tally, out, first)?;
    }
    tally.add_created(out.len());
    Ok(())
}

/// Creates a small batch that the next slots of the cache's word are enough for, side by side; else does nothing, and
/// says `false`.
#[inline(always)]
fn create_at_hand(
    core: &Core,
    cache: &mut Cache,
    out: &mut [MaybeUninit<Entity>],
    first: Option<Place>,
) -> bool {
    let lane = cache.mask.trailing_zeros() % WORD_BITS;
    let run = (cache.mask >> lane).trailing_ones() as usize;
    if out.is_empty() || out.len() > run {
        return false;
    }
    wide::create_run(core, cache.word * WORD_BITS + lane, out, first);
    cache.mask &= !(u64::MAX >> (64 - out.len()) << lane);
    if mutant::active("batch_forgets_surplus") {
        cache.mask = 0;
    }
    true
}

/// [`create`], but for the counting.
#[inline(never)]
fn create_all(
    core: &Core,
    threads: &Threads,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    first: Option<Place>,
) -> Result<(), Full> {
    let mut filled = 0;
    while filled < out.len() {
        let missing = out.len() - filled;
        let place = further(first, filled);
        // What the thread has left of a word is for what does not fill words: a batch that begins
        // with a word is cheaper to make, and to destroy.
        let odd = if cache.mask == FULL {
            missing
        } else {
            missing % WORD_BITS as usize
        };
        if cache.mask != 0 && odd > 0 {
            filled += create_from_mask(core, cache, &mut out[filled..][..odd], place);
            continue;
        }
        if missing >= WORD_BITS as usize {
            let created = create_in_words(core, cache, tally, &mut out[filled..], place);
            if created > 0 {
                filled += created;
                continue;
            }
        }
        if cache.mask == 0
            && let Err(full) = core.refill(threads, cache, tally)
        {
            filled += create_from_magazine(core, cache, tally, &mut out[filled..], place);
            if filled == out.len() {
                break;
            }
            // SAFETY: so many were created, and their handles written.
            let created = unsafe { core::slice::from_raw_parts(out.as_ptr().cast(), filled) };
            give_back(core, cache, tally, created, first.is_some());
            return Err(full);
        }
        filled += create_from_mask(core, cache, &mut out[filled..], place);
    }
    Ok(())
}

/// Handles that are overwritten without being read.
///
/// # Safety
/// Nothing but handles is written.
#[inline(always)]
pub(crate) unsafe fn overwritten(handles: &mut [Entity]) -> &mut [MaybeUninit<Entity>] {
    let start = handles.as_mut_ptr().cast();
    // SAFETY: the same memory, borrowed as long; the caller sees to it that it holds handles afterwards.
    unsafe { core::slice::from_raw_parts_mut(start, handles.len()) }
}

/// The place that many rows further on.
#[inline(always)]
pub(crate) fn further(place: Option<Place>, rows: usize) -> Option<Place> {
    place.map(|place| place.further(rows as u32))
}

/// Creates as many as there are slots in the cache's word.
#[inline(always)]
fn create_from_mask(
    core: &Core,
    cache: &mut Cache,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let (filled, left) = create_in_word(core, cache.word, cache.mask, out, place);
    cache.mask = left;
    if mutant::active("batch_forgets_surplus") {
        cache.mask = 0;
    }
    filled
}

/// Takes words of one span that stand side by side, as many as `out` fills; how many entities were
/// made. None if the hints know of no free slot. The cache holds nothing that `out` could be made from.
///
/// All claims before all stores: a read-modify-write waits until the stores before it are done.
fn create_in_words(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let Some(first) = core.candidate(cache, tally) else {
        return 0;
    };
    // One more than needed is for the next calls, if the thread has nothing in hand.
    let wanted = out.len() / WORD_BITS as usize + usize::from(cache.mask == 0);
    let claimed = core.claim_whole(tally, span::of(first), |seen| {
        span::run(span::whole(seen), span::lane(first), wanted)
    });
    if claimed == 0 {
        return create_in_broken_words(core, cache, tally, first, out, place);
    }
    let words = (claimed / span::lane(first)).trailing_ones();
    let slots = (words * WORD_BITS) as usize;
    let created = slots.min(out.len());
    wide::create_run(core, first * WORD_BITS, &mut out[..created], place);
    if created < slots {
        cache.word = first + created as u32 / WORD_BITS;
        cache.mask = FULL << (created as u32 % WORD_BITS) & FULL;
        if mutant::active("batch_forgets_surplus") {
            cache.mask = 0;
        }
    }
    created
}

/// `create_in_words` from `word` on, where slots are free singly.
#[inline(never)]
fn create_in_broken_words(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    word: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let number = span::of(word);
    let mut slots = [0; SPAN_WORDS as usize];
    let mut claimed = 0;
    let mut room = out.len();
    for word in word..(number + 1) * SPAN_WORDS {
        if room < WORD_BITS as usize {
            break;
        }
        probe::probed(1);
        let won = core.claim_word(word);
        if won != 0 {
            slots[(word % SPAN_WORDS) as usize] = won;
            room -= won.count_ones() as usize;
            claimed |= span::lane(word);
        }
    }
    // At least the first, so that a wrong hint is set right.
    core.mark_later(cache, tally, number, claimed | span::lane(word));
    let mut filled = 0;
    for (word, slots) in (number * SPAN_WORDS..).zip(slots) {
        let place = further(place, filled);
        let (created, left) = create_in_word(core, word, slots, &mut out[filled..], place);
        debug_assert!(left == 0, "no more was claimed than there is room for");
        filled += created;
    }
    filled
}

/// The magazine's slots come last: they are for single creations.
fn create_from_magazine(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> usize {
    let mut filled = 0;
    for entity in out {
        let Some(index) = cache.take_kept(tally) else {
            break;
        };
        // SAFETY: the cache holds indices of slots.
        entity.write(unsafe { core.create_at(index, further(place, filled)) });
        filled += 1;
    }
    filled
}

/// The ids of a call that failed die at once. Another thread cannot have been told of them, but it may have
/// guessed a handle. If it destroyed the entity, that is no less dead. If it built one that had no place, it
/// is welcome to it: whoever builds an entity relies on it.
#[cold]
fn give_back(core: &Core, cache: &mut Cache, tally: &Tally, created: &[Entity], placed: bool) {
    tally.add_created(created.len());
    if mutant::active("failed_batch_keeps_ids") {
        return;
    }
    // Nobody builds what has a place.
    let lost = |&entity: &Entity| {
        !placed
            && !mutant::active("failed_batch_takes_built")
            && core.relocate(entity, None, Some(Place::LEAVING)) != Ok(Ok(()))
    };
    for run in created.split(lost) {
        let _ = destroy(core, cache, tally, run);
    }
}

/// Makes entities in the lowest of the claimed `slots` of a word, in index order, as many as `out` holds; how many,
/// and the slots that are left.
#[inline(always)]
fn create_in_word(
    core: &Core,
    word: u32,
    slots: u64,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) -> (usize, u64) {
    let mut left = slots;
    let mut filled = 0;
    while left != 0 && filled < out.len() {
        let lane = left.trailing_zeros();
        let run = ((left >> lane).trailing_ones() as usize).min(out.len() - filled);
        wide::create_run(
            core,
            word * WORD_BITS + lane,
            &mut out[filled..filled + run],
            further(place, filled),
        );
        filled += run;
        left &= !((u64::MAX >> (64 - run)) << lane);
    }
    (filled, left)
}

/// Destroys each of `entities` that is alive; the others are reported.
pub(crate) fn destroy(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
) -> DestroyReport {
    let mut report = DestroyReport::default();
    let (mut at, mut singly) = (0, 0);
    let mut may_lay_out = true;
    while at < entities.len() {
        (at, may_lay_out) =
            destroy_gathered(core, cache, tally, entities, at, may_lay_out, &mut report);
        if at < entities.len() {
            // What comes behind those may stand side by side again.
            let end = entities.len().min(at + STRETCH);
            let before = report.destroyed;
            thinly::destroy(core, cache, tally, &entities[..end], at, &mut report);
            singly += report.destroyed - before;
            at = end;
        }
    }
    // Those that went singly are counted.
    tally.add_destroyed(report.destroyed - singly);
    report
        .refused
        .sort_unstable_by_key(|&(position, _)| position);
    report
}

/// Destroys the entities of a slice from a position on, those side by side together: the position that it has come to,
/// the end, unless those that follow lie far apart; and whether what is left is still to be laid out in a table.
fn destroy_gathered(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
    from: usize,
    may_lay_out: bool,
    report: &mut DestroyReport,
) -> (usize, bool) {
    // From the first slot given back to the last hint.
    let _lag = (!mutant::active("batch_lag_not_said")).then(|| tally.lag.begin());
    let mut freed = Freed::new(core, cache);
    let mut groups = 0;
    let (mut at, mut may_lay_out) = (from, may_lay_out);
    while at < entities.len() {
        let left = &entities[at..];
        let died = destroy_groups(core, &mut freed, left);
        if died > 0 {
            report.destroyed += died;
            at += died;
            continue;
        }
        // Neighbours usually stand side by side. If they turn out not to, sort them by slot, or do without them.
        if groups == 0 && begins_in_no_order(left) || groups == SAMPLE {
            let mut order = Order::of(left);
            if !order.is_neat() && left.len() >= 4 * LOOK {
                // A few that stand elsewhere may come first.
                let middle = Order::of(&left[left.len() / 2..]);
                if middle.is_neat() {
                    order = middle;
                }
            }
            if may_lay_out && !order.ascends {
                let laid_out = scatter::destroy(core, &mut freed, tally, entities, at, report);
                if laid_out > 0 {
                    at += laid_out;
                    break;
                }
                // To ask once more would take as long as there are handles.
                may_lay_out = false;
            }
            if order.side_by_side < FEW && left.len() >= FEWEST {
                break;
            }
        }
        groups += 1;
        at += destroy_neighbours(core, &mut freed, tally, left, at, report);
    }
    freed.finish();
    (at, may_lay_out)
}

/// Whether the first three handles of a slice are no neighbours.
#[inline(always)]
fn begins_in_no_order(entities: &[Entity]) -> bool {
    let is_next = |a: &Entity, b: &Entity| b.index().wrapping_sub(a.index()) == 1;
    match entities {
        [a, b, c, ..] => !is_next(a, b) || !is_next(b, c),
        _ => false,
    }
}

/// How the first handles of a slice stand.
struct Order {
    /// How many of a group side by side, on average.
    side_by_side: usize,
    /// Whether groups follow each other from the lowest up.
    ascends: bool,
}

impl Order {
    /// Whether they are best taken as they come.
    fn is_neat(&self) -> bool {
        self.ascends && self.side_by_side >= FEW
    }

    fn of(entities: &[Entity]) -> Self {
        let first = &entities[..entities.len().min(LOOK)];
        let group = |entity: &Entity| entity.index() / GROUP_SLOTS;
        let (mut groups, mut ascends) = (1, true);
        for two in first.windows(2) {
            let (a, b) = (group(&two[0]), group(&two[1]));
            groups += usize::from(a != b);
            ascends &= a <= b;
        }
        Self {
            side_by_side: first.len() / groups,
            ascends,
        }
    }
}

/// Slots of a group.
const GROUP_LEN: usize = GROUP_SLOTS as usize;
/// Groups of a claim word.
const WORD_GROUPS: usize = (WORD_BITS / GROUP_SLOTS) as usize;
/// All lanes of a group.
const ALL_LANES: u64 = u64::MAX >> (64 - GROUP_SLOTS);

/// Destroys the first handles of a slice if they are those of whole groups in order, and all alive;
/// at most a claim word's at a time; how many it destroyed. All looks, then all compare-and-swaps, then
/// all stores: a read-modify-write holds up the loads that follow, and waits for the stores before it.
#[inline]
fn destroy_groups(core: &Core, freed: &mut Freed<'_>, entities: &[Entity]) -> usize {
    let Some((first, wanted)) = whole_groups(core, entities) else {
        return 0;
    };
    // SAFETY: the caller's slice begins with handles of so many groups, which exist.
    let group = |at: usize| unsafe { core.group((first + at as u32) * GROUP_SLOTS) };
    let mut words = [0; WORD_GROUPS];
    for (at, word) in words.iter_mut().enumerate().take(wanted) {
        // Ordering: as in `Core::kill`; before the slots are looked at.
        *word = group(at).load(mutant::ordering("word_relaxed", Ordering::Acquire));
    }
    let (looked_at, phases) = wide::look_at_groups(core, &entities[..wanted * GROUP_LEN]);
    let mut condemned = 0;
    for (at, &word) in words.iter().enumerate().take(looked_at) {
        let expected = phases >> (at as u32 * GROUP_SLOTS) & ALL_LANES;
        if group::phases(word) != expected && !mutant::active("word_ignores_phase") {
            break;
        }
        let dead = group::after_death(word, ALL_LANES);
        // Ordering: as in `Core::kill`.
        let order = mutant::ordering("word_release", Ordering::AcqRel);
        if group(at)
            .compare_exchange(word, dead, order, Ordering::Relaxed)
            .is_err()
        {
            // Somebody destroys there too. The rest is for the slower path.
            probe::failed_claim();
            break;
        }
        condemned += 1;
    }
    let handles = entities.chunks(GROUP_LEN);
    for (number, handles) in (first..).zip(handles).take(condemned) {
        if mutant::active("word_passed_on_unburied") {
            freed.add(number, ALL_LANES);
            freed.pass_on_word();
            freed.pass_on_lanes();
            wide::bury_handles(core, handles);
            continue;
        }
        wide::bury_handles(core, handles);
        freed.add(number, ALL_LANES);
    }
    condemned * GROUP_LEN
}

/// The first group, and how many, if a slice may begin with the handles of whole groups in order.
#[inline]
fn whole_groups(core: &Core, entities: &[Entity]) -> Option<(u32, usize)> {
    let first = entities.first()?.index();
    let last = entities.get(GROUP_LEN - 1)?.index();
    if !core.wide() || !first.is_multiple_of(GROUP_SLOTS) || last != first + (GROUP_SLOTS - 1) {
        return None;
    }
    let first = first / GROUP_SLOTS;
    let behind = ((core.slots_there() / GROUP_SLOTS).checked_sub(first)?) as usize;
    let wanted = (entities.len() / GROUP_LEN).min(WORD_GROUPS).min(behind);
    (wanted > 0).then_some((first, wanted))
}

/// Destroys the first handles of a slice, as many as lie in one group and differ; how many those
/// are.
#[inline]
fn destroy_neighbours(
    core: &Core,
    freed: &mut Freed<'_>,
    tally: &Tally,
    entities: &[Entity],
    position: usize,
    report: &mut DestroyReport,
) -> usize {
    let Some(&first) = entities.first() else {
        return 0;
    };
    if !core.has_slot(first.index()) {
        destroy_one(core, freed, tally, first, position, report);
        return 1;
    }
    let number = first.index() / GROUP_SLOTS;
    let mut expected = Expected::default();
    let mut count = 0;
    for entity in entities {
        let lane = (entity.index() % GROUP_SLOTS) as usize;
        if entity.index() / GROUP_SLOTS != number || expected[lane] != 0 {
            break;
        }
        expected[lane] = entity.version();
        count += 1;
    }
    let died = kill_expected(core, number, &expected);
    settle(freed, tally, number, &died);
    if died.refused == 0 {
        report.destroyed += count;
    } else {
        report.destroyed += died.killed.count_ones() as usize;
        for (at, &entity) in entities[..count].iter().enumerate() {
            if died.refused >> (entity.index() % GROUP_SLOTS) & 1 == 1 {
                destroy_one(core, freed, tally, entity, position + at, report);
            }
        }
    }
    count
}

/// Destroys one handle of a batch, or reports it.
pub(crate) fn destroy_one(
    core: &Core,
    freed: &mut Freed<'_>,
    tally: &Tally,
    entity: Entity,
    position: usize,
    report: &mut DestroyReport,
) {
    match core.kill(entity) {
        Ok(()) => {
            report.destroyed += 1;
            freed.add_one(entity, tally);
        }
        Err(error) => report.refused.push((position, error)),
    }
}

/// What became of the slots of a group; bit `n` is lane `n`.
pub(crate) struct Died {
    pub(crate) killed: u64,
    /// Not alive as it seems: [`destroy_one`] says for certain.
    pub(crate) refused: u64,
    /// Those of `killed` that have retired.
    last: u64,
}

/// Destroys what is alive of the versions expected in a group: one compare-and-swap, so they die
/// together.
///
/// Lock-free: a retry means that another entity of the group died.
#[inline]
pub(crate) fn kill_expected(core: &Core, number: u32, expected: &Expected) -> Died {
    // SAFETY: callers pass groups that exist.
    let group = unsafe { core.group(number * GROUP_SLOTS) };
    // Ordering: as in `Core::kill`.
    let mut phases = group.load(mutant::ordering("batch_relaxed", Ordering::Acquire));
    loop {
        let seen = wide::look(core, number, expected);
        let alive = seen.wanted & seen.equal & !(phases ^ seen.phases);
        let died = Died {
            killed: alive,
            refused: seen.wanted & !alive,
            last: seen.last & alive,
        };
        if alive == 0 {
            return died;
        }
        let dead = if mutant::active("batch_no_generation") {
            phases ^ alive
        } else {
            group::after_death(phases, alive)
        };
        // Ordering: as in `Core::kill`.
        let order = mutant::ordering("batch_release", Ordering::AcqRel);
        match group.compare_exchange_weak(phases, dead, order, Ordering::Acquire) {
            Ok(_) => {
                bury(core, number, expected, alive);
                return died;
            }
            Err(now) => {
                probe::failed_claim();
                phases = now;
            }
        }
    }
}

/// Makes slot words of a group even whose entities the caller has condemned.
#[inline]
fn bury(core: &Core, number: u32, versions: &Expected, lanes: u64) {
    if lanes == ALL_LANES {
        wide::bury_group(core, number, versions);
        return;
    }
    let mut left = lanes;
    while left != 0 {
        let lane = left.trailing_zeros();
        core.bury(number * GROUP_SLOTS + lane, versions[lane as usize]);
        left &= left - 1;
    }
}

/// Passes freed slots on; retired ones stay claimed for ever.
#[inline]
pub(crate) fn settle(freed: &mut Freed<'_>, tally: &Tally, number: u32, died: &Died) {
    if died.last != 0 {
        tally.add_retired(died.last.count_ones().into());
    }
    let last = if mutant::active("batch_no_retire") {
        0
    } else {
        died.last
    };
    freed.add(number, died.killed & !last);
}

/// Freed slots on their way back: gathered by claim word, and these by span.
#[derive(Debug)]
pub(crate) struct Freed<'a> {
    core: &'a Core,
    cache: &'a mut Cache,
    word: u32,
    slots: u64,
    span: u32,
    /// Lanes of the span all of whose slots were freed.
    whole: u64,
    /// Lanes of the span whose claim words were opened.
    opened: u64,
}

impl<'a> Freed<'a> {
    pub(super) fn new(core: &'a Core, cache: &'a mut Cache) -> Self {
        Self {
            core,
            cache,
            word: 0,
            slots: 0,
            span: 0,
            whole: 0,
            opened: 0,
        }
    }

    /// The number of the thread's node, from 1.
    pub(super) fn ordinal(&self) -> u32 {
        self.cache.ordinal
    }

    /// Adds slots of group `number`, all owned by the caller.
    #[inline]
    pub(crate) fn add(&mut self, number: u32, lanes: u64) {
        let word = number / (WORD_BITS / GROUP_SLOTS);
        if word != self.word {
            self.pass_on_word();
            self.word = word;
        }
        self.slots |= lanes << (number * GROUP_SLOTS % WORD_BITS);
    }

    /// Adds slots of a claim word, all owned by the caller; those of one word are gathered if they come together.
    #[inline]
    pub(crate) fn add_word(&mut self, word: u32, slots: u64) {
        self.pass_on_word();
        self.word = word;
        self.slots = slots;
    }

    /// Adds the slot of an entity that the caller has destroyed, unless it has retired.
    pub(crate) fn add_one(&mut self, entity: Entity, tally: &Tally) {
        if entity.version() == slot::LAST_VERSION {
            tally.add_retired(1);
        } else {
            self.add(
                entity.index() / GROUP_SLOTS,
                1 << (entity.index() % GROUP_SLOTS),
            );
        }
    }

    fn pass_on_word(&mut self) {
        let slots = core::mem::take(&mut self.slots);
        if slots == 0 || self.cache.stow(self.word, slots) {
            return;
        }
        if span::of(self.word) != self.span {
            self.pass_on_lanes();
            self.span = span::of(self.word);
        }
        let lane = span::lane(self.word);
        if slots == FULL || mutant::active("part_given_back_whole") {
            self.whole |= lane;
        } else if self.core.release_slots(self.word, slots) {
            self.opened |= lane;
        }
    }

    fn pass_on_lanes(&mut self) {
        if self.whole | self.opened != 0 {
            self.core.open_lanes(self.span, self.whole, self.opened);
            (self.whole, self.opened) = (0, 0);
        }
    }

    pub(super) fn finish(mut self) {
        self.pass_on_word();
        self.pass_on_lanes();
    }
}
