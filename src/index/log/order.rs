//! `Order`: entities in the order in which something was noted of them, those that are there and those that are gone.
//!
//! Must hold: a node that is not free is of one entity, no other is of it, and it stands in one of the two chains and in that
//! of its slot. In the chains the versions never fall. In that of a slot, which its head leads to, the handles' versions
//! fall: who comes to a slot is the newest of it but in worlds that went back. Who is there has a memo, who is gone has none.

use core::fmt;

use crate::entity::Entity;
use crate::index::by_slot::BySlot;
use crate::index::log::entities::LoggedEntities;
use crate::panics::{note, resume_alone};

/// "No node."
pub(super) const NONE: u32 = u32::MAX;

/// What is noted of entities.
pub(super) struct Order<K> {
    nodes: Vec<Node>,
    /// What the values were made into of those that are there, beside their nodes: who walks those does not pass by it.
    memos: Vec<Option<K>>,
    /// Nodes of nobody, each leads to the next by `after`.
    free: u32,
    slots: BySlot<Head>,
    there: Chain,
    gone: Chain,
    /// Counts the times at which all that are there were asked for anew.
    round: u32,
    /// How many of those that are there have been seen in this round.
    seen: usize,
}

/// What was noted of an entity last.
pub(super) struct Node {
    pub(super) entity: Entity,
    pub(super) version: u64,
    /// In its chain.
    pub(super) before: u32,
    after: u32,
    /// In its slot.
    newer: u32,
    older: u32,
    /// In which round it was seen.
    round: u32,
    is_gone: bool,
}

/// The first and the last node of a chain.
struct Chain {
    first: u32,
    last: u32,
    len: usize,
}

/// The newest node of a slot.
#[derive(Clone, Copy, Debug)]
struct Head(u32);

impl Default for Head {
    fn default() -> Self {
        Self(NONE)
    }
}

impl Chain {
    const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
        len: 0,
    };
}

impl<K> Order<K> {
    pub(super) const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            memos: Vec::new(),
            free: NONE,
            slots: BySlot::new(),
            there: Chain::EMPTY,
            gone: Chain::EMPTY,
            round: 0,
            seen: 0,
        }
    }

    /// How many are there.
    pub(super) fn len(&self) -> usize {
        self.there.len
    }

    /// How many are gone, and kept.
    pub(super) fn gone_len(&self) -> usize {
        self.gone.len
    }

    /// How many of those that are there were seen in this round.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// The version of an entity that is there.
    pub(super) fn version(&self, entity: Entity) -> Option<u64> {
        let node = &self.nodes[self.find(entity)? as usize];
        (!node.is_gone).then_some(node.version)
    }

    /// Who is there, or gone, with a later version than this.
    pub(super) fn since(&self, version: u64, is_gone: bool) -> LoggedEntities<'_> {
        let chain = if is_gone { &self.gone } else { &self.there };
        LoggedEntities::new(&self.nodes, chain.last, version)
    }

    /// From now on all are asked for anew.
    pub(super) fn begin_round(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.seen = 0;
    }

    /// Who was there, and has not been seen in this round, has gone. O(those who are there). Whether there was one.
    ///
    /// # Panics
    /// If memos do when they are dropped: all have gone then.
    pub(super) fn end_round(&mut self, version: u64) -> bool {
        let mut panicked = None;
        let (mut at, mut any) = (self.there.first, false);
        while let Some(node) = self.nodes.get(at as usize) {
            let after = node.after;
            if node.round != self.round {
                let memo = self.bury(at, version);
                note(&mut panicked, || drop(memo));
                any = true;
            }
            at = after;
        }
        crate::panics::resume(panicked);
        any
    }

    /// Notes that an entity is there, with this version if it is new, or what its value was made into is not the same. Whether
    /// that was so.
    ///
    /// # Panics
    /// If memos do when they are cloned, or dropped: all of it is as before then, or noted.
    pub(super) fn set(&mut self, entity: Entity, version: u64, memo: &K) -> bool
    where
        K: Clone + PartialEq,
    {
        let known = self.find(entity);
        if let Some(at) = known
            && self.memos[at as usize].as_ref() == Some(memo)
        {
            self.see(at);
            return false;
        }
        let memo = Some(memo.clone());
        let at = match known {
            Some(at) => {
                self.leave_chain(at);
                at
            }
            None => self.add(entity),
        };
        self.nodes[at as usize].is_gone = false;
        self.enter_chain(at, version);
        self.see(at);
        // The user's `drop` comes last.
        drop(core::mem::replace(&mut self.memos[at as usize], memo));
        true
    }

    /// Notes that an entity has gone, if it is there. Whether it was.
    ///
    /// # Panics
    /// If its memo does when it is dropped: it has gone.
    pub(super) fn remove(&mut self, entity: Entity, version: u64) -> bool {
        let Some(at) = self.find(entity) else {
            return false;
        };
        let node = &self.nodes[at as usize];
        if node.is_gone {
            return false;
        }
        if node.round == self.round {
            self.seen -= 1;
        }
        drop(self.bury(at, version));
        true
    }

    /// Forgets who has gone until this version. O(those).
    pub(super) fn forget_gone(&mut self, version: u64) {
        while let Some(node) = self.nodes.get(self.gone.first as usize)
            && node.version <= version
        {
            let at = self.gone.first;
            self.leave_chain(at);
            self.free_node(at);
        }
    }

    /// The node of an entity. O(1) for the newest of a slot and all that come, else O(those of the slot that are kept).
    fn find(&self, entity: Entity) -> Option<u32> {
        let mut at = self.slots.get(entity.index()).0;
        while let Some(node) = self.nodes.get(at as usize) {
            if node.entity.version() <= entity.version() {
                return (node.entity == entity).then_some(at);
            }
            at = node.older;
        }
        None
    }

    /// It is seen in this round.
    fn see(&mut self, at: u32) {
        let round = &mut self.nodes[at as usize].round;
        if core::mem::replace(round, self.round) != self.round {
            self.seen += 1;
        }
    }

    /// From who is there to who is gone; what its value was made into.
    fn bury(&mut self, at: u32, version: u64) -> Option<K> {
        self.leave_chain(at);
        let node = &mut self.nodes[at as usize];
        // Of no round: whoever comes again is counted again.
        (node.is_gone, node.round) = (true, self.round.wrapping_sub(1));
        self.enter_chain(at, version);
        self.memos[at as usize].take()
    }

    /// A node for an entity that has none, in its slot and in no chain.
    fn add(&mut self, entity: Entity) -> u32 {
        let (mut newer, mut older) = (NONE, self.slots.get(entity.index()).0);
        while let Some(node) = self.nodes.get(older as usize)
            && node.entity.version() > entity.version()
        {
            (newer, older) = (older, node.older);
        }
        let node = Node {
            entity,
            version: 0,
            before: NONE,
            after: NONE,
            newer,
            older,
            round: self.round.wrapping_sub(1),
            is_gone: false,
        };
        let at = self.free;
        let at = if let Some(free) = self.nodes.get_mut(at as usize) {
            self.free = free.after;
            *free = node;
            at
        } else {
            let at = self.nodes.len();
            assert!(at < NONE as usize, "four billion are not forgotten");
            self.memos.push(None);
            self.nodes.push(node);
            at as u32
        };
        self.lead(entity.index(), newer, at);
        if let Some(older) = self.nodes.get_mut(older as usize) {
            older.newer = at;
        }
        at
    }

    /// Lets a node, or the head of its slot, lead to an older one.
    fn lead(&mut self, slot: u32, newer: u32, older: u32) {
        match self.nodes.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => *self.slots.at(slot) = Head(older),
        }
    }

    /// A node that is in no chain is nobody's.
    fn free_node(&mut self, at: u32) {
        let node = &self.nodes[at as usize];
        let (slot, newer, older) = (node.entity.index(), node.newer, node.older);
        self.lead(slot, newer, older);
        if let Some(older) = self.nodes.get_mut(older as usize) {
            older.newer = newer;
        }
        self.nodes[at as usize].after = self.free;
        self.free = at;
    }

    fn chain(&mut self, is_gone: bool) -> &mut Chain {
        match is_gone {
            true => &mut self.gone,
            false => &mut self.there,
        }
    }

    fn leave_chain(&mut self, at: u32) {
        let node = &self.nodes[at as usize];
        let (before, after, is_gone) = (node.before, node.after, node.is_gone);
        match self.nodes.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => self.chain(is_gone).first = after,
        }
        match self.nodes.get_mut(after as usize) {
            Some(after) => after.before = before,
            None => self.chain(is_gone).last = before,
        }
        self.chain(is_gone).len -= 1;
    }

    /// To the end of the chain.
    fn enter_chain(&mut self, at: u32, version: u64) {
        let chain = self.chain(self.nodes[at as usize].is_gone);
        let before = core::mem::replace(&mut chain.last, at);
        chain.len += 1;
        if before == NONE {
            chain.first = at;
        }
        let node = &mut self.nodes[at as usize];
        (node.version, node.before, node.after) = (version, before, NONE);
        if let Some(before) = self.nodes.get_mut(before as usize) {
            before.after = at;
        }
    }
}

impl<K> fmt::Debug for Order<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("there", &self.there.len)
            .field("gone", &self.gone.len)
            .finish_non_exhaustive()
    }
}

impl<K> Drop for Order<K> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<K>() {
            // Memos are the user's, and their `drop` may panic.
            let mut panicked = None;
            crate::panics::end_all(&mut panicked, core::mem::take(&mut self.memos));
            resume_alone(panicked);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn entity(slot: u32, version: u32) -> Entity {
        Entity::new(slot, 2 * version + 1).unwrap()
    }

    /// Panics if a chain does not hold what it must.
    fn check<K>(order: &Order<K>) {
        let mut met = 0;
        for (chain, is_gone) in [(&order.there, false), (&order.gone, true)] {
            let (mut at, mut before, mut len, mut version) = (chain.first, NONE, 0, 0);
            while let Some(node) = order.nodes.get(at as usize) {
                assert_eq!((node.before, node.is_gone), (before, is_gone));
                assert_eq!(order.memos[at as usize].is_none(), is_gone);
                assert!(node.version >= version);
                assert_eq!(order.find(node.entity), Some(at));
                (before, len, version) = (at, len + 1, node.version);
                at = node.after;
            }
            assert_eq!((chain.last, chain.len), (before, len));
            met += len;
        }
        let (mut at, mut free) = (order.free, 0);
        while let Some(node) = order.nodes.get(at as usize) {
            (at, free) = (node.after, free + 1);
        }
        assert_eq!(met + free, order.nodes.len());
    }

    /// Handles come and go in any order, also that of a world that goes back.
    #[test]
    fn it_is_as_two_maps() {
        let mut state = 5_u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..60 {
            let mut order = Order::<u64>::new();
            let mut expected: BTreeMap<Entity, (u64, Option<u64>)> = BTreeMap::new();
            let (slots, versions) = (1 + random(12), 1 + random(9));
            for now in 1..400 {
                let who = entity(random(slots) as u32, random(versions) as u32);
                match random(8) {
                    0..4 => {
                        let value = random(3);
                        let known = expected.get(&who).copied();
                        let is_new = known.is_none_or(|(_, was)| was != Some(value));
                        assert_eq!(order.set(who, now, &value), is_new);
                        if is_new {
                            expected.insert(who, (now, Some(value)));
                        }
                    }
                    4..7 => {
                        let is_there = expected.get(&who).is_some_and(|(_, value)| value.is_some());
                        assert_eq!(order.remove(who, now), is_there);
                        if is_there {
                            expected.insert(who, (now, None));
                        }
                    }
                    _ => {
                        let until = now.saturating_sub(random(90));
                        order.forget_gone(until);
                        expected.retain(|_, &mut (at, value)| value.is_some() || at > until);
                    }
                }
                if now % 40 == 0 {
                    // All are asked for anew: those with even values are seen.
                    order.begin_round();
                    assert_eq!(order.seen(), 0);
                    for (&who, entry) in &mut expected {
                        if let (_, Some(value)) = *entry
                            && value % 2 == 0
                        {
                            assert!(!order.set(who, now, &value));
                        } else if entry.1.is_some() {
                            *entry = (now, None);
                        }
                    }
                    order.end_round(now);
                }
                check(&order);
                let there = expected.values().filter(|(_, value)| value.is_some());
                assert_eq!(order.seen(), there.count());
                assert_eq!(order.seen(), order.len());
                for since in [0, now / 2, now - 1, now, u64::MAX] {
                    for is_gone in [false, true] {
                        let mut said: Vec<Entity> = order.since(since, is_gone).collect();
                        said.sort();
                        let all = expected.iter();
                        let later = all
                            .filter(|(_, (at, value))| *at > since && value.is_none() == is_gone);
                        assert!(later.map(|(&who, _)| who).eq(said), "{since} {is_gone}");
                    }
                }
            }
        }
    }
}
