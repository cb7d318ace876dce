//! Many die at once: a group of slots a death, if they stand side by side.
//!
//! Handles that stand in no order are laid out by slot first (`scatter`); those that lie far apart die one by one
//! (`thinly`; so do a few, but without its frame: `few`). Which way a batch goes is a matter of speed: each handle dies by its group word, once.
//!
//! All ways in which entities die. Of a slice [`destroy`] asks from the top down; a few ([`few`]) end at the first handle that
//! does not die so (it is dead, its slot's last, or somebody destroys in its group, too), and what is left of them goes on below:
//!
//! | who dies | way |
//! |---|---|
//! | one, by itself | `Core::try_kill`, and if that fails `kill_slowly` (`one`) |
//! | of a slice: up to `few::MOST`, the first and the last less than two slots apart for each (of more than `few::MOST_IN_NO_ORDER` the first two are neighbours, too), not begun by a whole group in order | `few::destroy` |
//! | up to `few::MOST` in ascending order, from one to the next at most `few::WIDEST` slots on average | `few::destroy` |
//! | fewer than [`FEWEST`], or up to `few::MOST_APART` of which the first [`FEWEST`] are, any three one after the other, of three claim words | `few::destroy_apart` |
//! | fewer than [`FEWEST`] that are left | `thinly::destroy` |
//! | whole groups in order, where slots are looked at several at once: a claim word's at a time | `destroy_groups` |
//! | in no ascending order, and at least one of `scatter::SPARSEST` slots between the lowest and the highest: all that are left, by a table | `scatter::destroy` |
//! | hardly [`FEW`] of a group side by side: [`STRETCH`] of them, then it is looked at once more | `thinly::destroy` |
//! | all others: those of one group that stand side by side | `destroy_neighbours` |
//! | a world's own, which nobody else destroys: one, or a slice in order | `destroy_owned`, `destroy_owned_slice` (`placed`) |
//! | a world's own in no order: buried one by one, and their slots given back together | `bury_owned`, then `free_owned` (`owned`) |
//! | a world's own in an ordered universe | the same three, `…_at_once`: the thread keeps no slot (`ordered`, `placed`, `owned`) |
//! | a world's own of the last versions of their slots | as one by itself |

pub(super) mod few;
#[cfg(all(test, not(loom)))]
pub(crate) mod last_versions;
mod one;
mod scatter;
mod thinly;

use few::Siblings;

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::index::freed::Freed;
use crate::entity::index::group;
use crate::entity::index::wide::{self, Expected};
use crate::entity::{DestroyReport, Entity};
use crate::sync::atomic::Ordering;
use crate::sync::geometry::{GROUP_SLOTS, WORD_BITS};
use crate::sync::{mutant, probe};

/// After this many groups of a batch it shows whether neighbours stand side by side.
const SAMPLE: usize = 8;
/// Handles that are looked at then.
const LOOK: usize = 64;
/// With fewer than so many of a group side by side, to gather them costs more than it saves.
const FEW: usize = 2;
/// So many handles have to be left for another way.
pub(super) const FEWEST: usize = 8;
/// With fewer than so many of a group side by side, what they need is asked for ahead.
const MANY: usize = 6;
/// So many handles ahead.
const AHEAD: usize = 16;
/// So many go singly, or a few of a group at a time, before it is looked at once more.
const STRETCH: usize = 512;

/// Destroys each of `entities` that is alive; the others are reported.
#[inline]
pub(crate) fn destroy(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
) -> DestroyReport {
    let died = if !few::are_some(entities) {
        return destroy_more(core, cache, tally, entities);
    } else if whole_groups(core, entities).is_none() {
        few::destroy(core, cache, tally, entities)
    } else {
        0
    };
    destroy_rest(core, cache, tally, entities, died)
}

/// [`destroy`] of many, or of a few that are not close to each other.
#[inline(never)]
fn destroy_more(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
) -> DestroyReport {
    let died = if few::are_in_order(entities) {
        few::destroy(core, cache, tally, entities)
    } else if few::lie_apart(entities) {
        few::destroy_apart(core, cache, tally, entities)
    } else {
        0
    };
    destroy_rest(core, cache, tally, entities, died)
}

/// [`destroy`] of those behind the first ones, which are dead and counted, if there are others.
#[inline(always)]
fn destroy_rest(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
    died: usize,
) -> DestroyReport {
    if died == entities.len() {
        return DestroyReport {
            destroyed: died,
            refused: Vec::new(),
        };
    }
    destroy_from(core, cache, tally, entities, died)
}

/// [`destroy_rest`], by the ways of many.
#[inline(never)]
fn destroy_from(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
    died: usize,
) -> DestroyReport {
    let mut report = DestroyReport {
        destroyed: died,
        refused: Vec::new(),
    };
    let (mut at, mut singly) = (died, died);
    let mut may_lay_out = true;
    if entities.len() - died < FEWEST && !cfg!(loom) {
        // Too few for another way than one by one.
        thinly::destroy(core, cache, tally, entities, died, &mut report);
        return report;
    }
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
    // Where it is looked at once more, and whether what follows is asked for ahead.
    let (mut look_at, mut ahead) = (None, false);
    while at < entities.len() {
        let left = &entities[at..];
        let died = destroy_groups(core, &mut freed, left);
        if died > 0 {
            report.destroyed += died;
            at += died;
            continue;
        }
        // Neighbours usually stand side by side. If they turn out not to, sort them by slot, or do without them.
        let is_to_look = match look_at {
            None => groups == 0 && begins_in_no_order(left) || groups == SAMPLE,
            Some(end) => at >= end,
        };
        if is_to_look {
            let mut order = Order::of(left);
            ahead = order.side_by_side < MANY;
            if look_at.is_none() && !order.is_neat() && left.len() >= 4 * LOOK {
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
            look_at = Some(at + STRETCH);
        }
        if ahead && let Some(&next) = left.get(AHEAD) {
            core.expect(next);
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
    /// How many of a group side by side, on average, rounded.
    side_by_side: usize,
    /// Whether groups follow each other from the lowest up.
    ascends: bool,
}

impl Order {
    /// Whether they are best taken as they come.
    fn is_neat(&self) -> bool {
        self.ascends && self.side_by_side >= MANY
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
            side_by_side: (first.len() + groups / 2) / groups,
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
            freed.pass_on();
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
    // (Models take the way of those who lose.)
    if !cfg!(loom)
        && let Some(siblings) = Siblings::first_of(core, entities)
        && siblings.die()
    {
        freed.add(siblings.number, siblings.lanes);
        report.destroyed += siblings.handles.len();
        return siblings.handles.len();
    }
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
