//! What the runs of a chunk are together.

use core::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::command::flush::net::Nets;
use crate::command::flush::ops::FlushOp;
use crate::command::flush::sweep::Run;
use crate::command::flush::work::{Along, Group, Values, Work};
use crate::fragment::FragmentId;

/// Neighbouring rows of a chunk that got the same commands.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) rows: Range<u32>,
    /// Which of the work's groups is theirs.
    pub(super) group: u32,
    /// The runs whose values arrive, in the order of commands; none if the group says where the values are.
    pub(super) live: SmallVec<[Run; 1]>,
}

/// A chunk's net changes, and what is to be written of them.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) work: Work,
    pub(super) stretches: Vec<Stretch>,
    pub(super) rows: usize,
    pub(super) items: usize,
    /// Some rows are to say where their values are.
    pub(super) listed: bool,
}

/// What the runs of a chunk are together; its rows come at `first` in the list of all. `None` if they come to so
/// many different changes that single commands are quicker.
pub(super) fn plan(
    nets: &mut Nets,
    ops: &[FlushOp<'_>],
    runs: &[Run],
    first: u32,
) -> Option<Planned> {
    let commands: usize = runs.iter().map(|run| run.count as usize).sum();
    let borders = runs.iter().flat_map(|run| [run.first, run.end()]);
    let mut borders: SmallVec<[u32; 32]> = borders.collect();
    borders.sort_unstable();
    borders.dedup();
    let mut planned = Planned {
        work: Work {
            archetype: runs[0].archetype,
            chunk: runs[0].chunk,
            groups: SmallVec::new(),
            handed: None,
        },
        stretches: Vec::with_capacity(borders.len() - 1),
        rows: 0,
        items: 0,
        listed: false,
    };
    // Of each group the number of its net change.
    let mut groups: SmallVec<[u32; 4]> = SmallVec::new();
    let mut by_first: SmallVec<[usize; 16]> = (0..runs.len()).collect();
    by_first.sort_by_key(|&run| runs[run].first);
    let mut coming = by_first.into_iter().peekable();
    // The runs that name the rows at hand, in their order.
    let mut active: SmallVec<[usize; 16]> = SmallVec::new();
    let mut looks = 0;
    for border in borders.windows(2) {
        let rows = border[0]..border[1];
        active.retain(|run| rows.start < runs[*run].end());
        while let Some(run) = coming.next_if(|&run| runs[run].first == rows.start) {
            active.insert(active.partition_point(|&other| other < run), run);
        }
        if active.is_empty() {
            continue;
        }
        // Each that is active has a command here. Only groups may be many.
        looks += groups.len();
        if looks > 64 + commands {
            return None;
        }
        let here = || active.iter().map(|&run| &runs[run]);
        let net = here().fold(0, |net, run| nets.step(net, run.op, ops));
        let live = live(&nets.all[net as usize].come, here().rev(), ops);
        let along = match live.as_slice() {
            [only] => Some(Along {
                op: only.op,
                at: only.values_of(rows.start),
                step: only.step,
            }),
            _ => None,
        };
        let group = groups.iter().position(|&known| known == net);
        let group = group.unwrap_or_else(|| {
            groups.push(net);
            planned.work.groups.push(Group {
                net: Arc::clone(&nets.all[net as usize]),
                first: 0,
                count: 0,
                leaving: 0,
                values: along.map_or(Values::Commands, Values::Along),
            });
            groups.len() - 1
        });
        let to = &mut planned.work.groups[group];
        // Those of the stretches before go on here, or each row is to say where its own are.
        to.values = match (to.values, along) {
            (Values::Along(before), Some(now)) if before.skip(to.count) == now => to.values,
            (Values::Along(Along { op, .. }) | Values::Each { op }, Some(now)) if op == now.op => {
                Values::Each { op }
            }
            _ => Values::Commands,
        };
        to.count += rows.len() as u32;
        planned.rows += rows.len();
        planned.stretches.push(Stretch {
            rows,
            group: group as u32,
            live,
        });
    }
    let mut next = first;
    for group in &mut planned.work.groups {
        group.first = next;
        next += group.count;
    }
    for stretch in &mut planned.stretches {
        let values = planned.work.groups[stretch.group as usize].values;
        if matches!(values, Values::Along(_)) {
            stretch.live.clear();
        }
        planned.listed |= !stretch.live.is_empty();
        if matches!(values, Values::Commands) {
            planned.items += stretch.rows.len() * stretch.live.len();
        }
    }
    Some(planned)
}

/// Those of some runs, the last one first, whose values arrive: for each fragment that comes the last one that has it.
/// In the order of commands.
fn live<'r>(
    come: &[FragmentId],
    runs: impl Iterator<Item = &'r Run> + Clone,
    ops: &[FlushOp<'_>],
) -> SmallVec<[Run; 1]> {
    let mut found: SmallVec<[(usize, Run); 2]> = SmallVec::new();
    for &id in come {
        let mut runs = runs.clone().enumerate();
        let last = runs.find(|(_, run)| ops[run.op as usize].column(id).is_some());
        if let Some((at, run)) = last
            && !found.iter().any(|&(known, _)| known == at)
        {
            found.push((at, *run));
        }
    }
    found.sort_unstable_by_key(|&(at, _)| core::cmp::Reverse(at));
    found.into_iter().map(|(_, run)| run).collect()
}
