//! Chunks that go as they are, all of whose entities change alike.

use std::collections::HashMap;

use crate::archetype::Refitting;
use crate::command::flush::Flush;
use crate::command::flush::net::Net;
use crate::command::flush::plan::Plan;
use crate::command::flush::plan::way::{Known, Way, way};
use crate::command::flush::work::{Handed, Work};
use crate::hashers::ByNumbers;
use crate::world::{World, WorldError};

impl Flush<'_> {
    /// Keeps a chunk for going as it is, if it may: all of its entities change alike, and either nothing of theirs
    /// ends and what comes has no columns, or little enough comes and ends for a [`Refitting`]; nothing that lies in rows comes
    /// by default. Which way, and where.
    pub(super) fn withhold(
        &mut self,
        world: &mut World,
        plan: &mut Plan,
        known: &mut Known,
        work: &Work,
    ) -> Option<(u32, Handed)> {
        let [group] = work.groups.as_slice() else {
            return None;
        };
        let chunk = &world.archetypes[work.archetype as usize].chunks[work.chunk as usize];
        if group.net.destroyed || group.count != chunk.len {
            return None;
        }
        let found = way(
            &mut self.panicked,
            world,
            plan,
            known,
            work.archetype,
            &group.net,
        );
        let found = found.ok()?;
        let refused = world.refuses_const(work.archetype, work.chunk, &group.net);
        if refused.is_some() {
            return None;
        }
        let handed = world.handed(work, &group.net, (found, &plan.ways[found as usize]))?;
        // Nothing else may come into it.
        let data = &mut world.archetypes[work.archetype as usize];
        data.close_if_open(work.chunk);
        data.chunks[work.chunk as usize].withhold();
        // Counted at once, so that the group stays although its other chunks go before this one comes.
        let data = &mut world.archetypes[handed.target as usize];
        data.groups[handed.group as usize].chunks += 1;
        Some((found, handed))
    }

    /// Decides of chunks that are [withheld](Self::withhold) which go as they are, and whose entities are copied, as there
    /// is [much room](crate::archetype::Archetype::is_to_be_filled) where they come to, whatever else comes there. What
    /// comes by default to those that go is made.
    pub(super) fn hand_over(
        &mut self,
        world: &mut World,
        plan: &mut Plan,
        works: &mut [Work],
        whole: &[(usize, u32)],
        rows: &[u32],
    ) {
        let Some(mut filling) = Filling::besides(world, works, whole.len()) else {
            return;
        };
        for &(number, found) in whole {
            let work = &mut works[number];
            if filling.fills(world, work) {
                world.keep_whole(work);
                continue;
            }
            let count = work.groups[0].count;
            // Users' code, before anything goes. It lies nowhere: no task has to move it.
            if plan.stock(found, count, &mut self.panicked).is_none() {
                self.refuse_whole(world, work, rows);
                continue;
            }
            let way = &plan.ways[found as usize];
            self.report.moved += count as usize;
            self.refuse_switches(world, work, 0, count, way, rows);
            if !way.come.is_empty() || way.edge.ends_drop {
                plan.stay(number as u32, 0, count, found);
            }
        }
    }

    /// Reports that a chunk that was to go stays as it is: what was to come by default could not be made, and is not
    /// to be tried again.
    #[cold]
    fn refuse_whole(&mut self, world: &mut World, work: &mut Work, rows: &[u32]) {
        let Some((target, group)) = world.keep_whole(work) else {
            return;
        };
        let error = WorldError::Interrupted;
        self.refuse(world, work, 0, 0..work.groups[0].count, &error, rows);
        work.groups.clear();
        world.let_go(target, group);
    }
}

/// Rows that are free, and not to be filled by the entities of whole chunks.
struct Filling {
    /// Of any group: as many as other entities may come to it. Where these go is not known yet.
    others: usize,
    /// Of groups of archetypes, by both numbers: in chunks that are withheld, if those are counted, or filled by those
    /// before.
    taken: HashMap<(u32, u32), usize, ByNumbers>,
    /// Of groups that chunks may fill: all rows that were free.
    free: HashMap<(u32, u32), usize, ByNumbers>,
}

impl Filling {
    /// Where so many chunks are withheld; `None` if none is.
    fn besides(world: &World, works: &[Work], withheld: usize) -> Option<Self> {
        if withheld == 0 {
            return None;
        }
        let mut filling = Self {
            others: 0,
            taken: HashMap::default(),
            free: HashMap::default(),
        };
        for work in works {
            if work.handed.is_some() {
                let data = &world.archetypes[work.archetype as usize];
                let chunk = &data.chunks[work.chunk as usize];
                let free = data.unfolded_capacity(chunk) - chunk.len;
                // Where there may be several groups, only chunks in lists are counted: none that is withheld.
                if free > 0 && data.shared.is_empty() {
                    let taken = filling.taken.entry((work.archetype, chunk.group));
                    *taken.or_default() += free as usize;
                }
                continue;
            }
            let set = &world.archetypes[work.archetype as usize].set;
            let going = work.groups.iter().filter(|group| {
                let net = &group.net;
                let stays = !net.gone.iter().any(|&id| set.contains(id))
                    && net.come.iter().all(|&id| set.contains(id))
                    && net.needs.iter().all(|need| set.contains(need.id))
                    && net.shared.is_empty();
                !net.destroyed && !stays
            });
            filling.others += going.map(|group| group.count as usize).sum::<usize>();
        }
        Some(filling)
    }

    /// Whether the entities of a chunk that is withheld are copied.
    fn fills(&mut self, world: &World, work: &Work) -> bool {
        let Some(Handed { target, group, .. }) = work.handed else {
            return false;
        };
        let count = work.groups[0].count;
        let taken = self.taken.get(&(target, group)).copied().unwrap_or(0);
        let to = &world.archetypes[target as usize];
        if !to.is_filled_besides(self.others + taken, group, count, count) {
            return false;
        }
        // That was an estimate, if the group has many chunks, and now it matters.
        let free = self.free.entry((target, group));
        let free = *free.or_insert_with(|| to.free_rows(group));
        if free < self.others + taken + count as usize {
            return false;
        }
        self.taken.insert((target, group), taken + count as usize);
        true
    }
}

impl World {
    /// How a chunk goes along a way, whose entities all do: `None` if they are better copied. What comes lies
    /// nowhere yet.
    fn handed(&mut self, work: &Work, net: &Net, (number, way): (u32, &Way)) -> Option<Handed> {
        let target = way.target;
        let data = &self.archetypes[work.archetype as usize];
        let is_same = way.come.is_empty()
            && way.edge.ended.is_empty()
            && way.switched.is_empty()
            && !way.edge.fills.takes_room()
            && data.hands_chunks_to(&self.archetypes[target as usize]);
        let is_other = target != work.archetype;
        // What comes by default and lies in rows is made beside them, and copied to where there is room for all.
        let refits = is_other && self.refits() && !way.edge.fills.takes_room();
        if !is_same && !refits {
            return None;
        }
        let group = self.target_group(work.archetype, work.chunk, target, net);
        let source = &self.archetypes[work.archetype as usize];
        let to = &self.archetypes[target as usize];
        let chunk = &source.chunks[work.chunk as usize];
        // The end of many that go, less than half full, goes with them.
        let goes = to.wants_chunk(group, chunk)
            && (is_same || chunk.len >= chunk.capacity / 2 || to.groups[group as usize].chunks > 0);
        if !goes || (!is_other && group == chunk.group) {
            return None;
        }
        let refitting = match is_same {
            true => None,
            false => Some(Refitting::plan(source, chunk, to, &way.edge)?),
        };
        Some(Handed {
            way: number,
            target,
            group,
            refitting,
        })
    }

    /// Withholds a chunk no more, which goes nowhere as it is; where it was to go.
    fn keep_whole(&mut self, work: &mut Work) -> Option<(u32, u32)> {
        let Handed { target, group, .. } = work.handed.take()?;
        self.archetypes[target as usize].groups[group as usize].chunks -= 1;
        let data = &mut self.archetypes[work.archetype as usize];
        let chunk = &mut data.chunks[work.chunk as usize];
        chunk.hand_over();
        if !chunk.is_full() {
            data.open(work.chunk);
        }
        Some((target, group))
    }
}
