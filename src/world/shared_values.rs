//! `SharedValues`: the shared values of a world, each once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::archetype::{Archetype, SharedId};
use crate::fragment::{FragmentId, FragmentInfo, Value};
use crate::panics::{Panicked, end_all, end_here, note, resume};
use crate::world::check::{FlawPlace, Found};

/// The values, found by fragment and content, kept as long as a group of chunks has them.
#[derive(Debug, Default)]
pub(crate) struct SharedValues {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Fragment and hash → the values with that hash: equality decides among them. By a hasher with a secret: the hash has
    /// none, and whoever chooses values could choose such as meet in the table.
    by_hash: HashMap<(FragmentId, u64), Vec<SharedId>>,
    /// Uses that are no group's: those of flushes.
    flushed: usize,
    /// Flushes that have begun to use values, and are not done with them.
    flushes: u32,
}

/// What flushes have held that ended without their world, because somebody put another one in its place. Left with the
/// world's seat, as the world itself may be anywhere, and taken by the next call that has it and looks.
#[derive(Debug, Default)]
pub(crate) struct LeftValues {
    held: Vec<SharedId>,
    flushes: u32,
}

impl LeftValues {
    /// A flush is over: what it held.
    pub(crate) fn leave(&mut self, held: impl Iterator<Item = SharedId>) {
        self.held.extend(held);
        self.flushes += 1;
    }
}

#[derive(Debug)]
struct Slot {
    /// Of this world, and of others that entities with it went to.
    value: Arc<Value>,
    hash: u64,
    /// Groups that have it.
    uses: usize,
}

impl SharedValues {
    /// The number of a value: of the equal one that is there (then `value` is dropped), or of this.
    /// Nobody uses it yet: see [`hold`](Self::hold) and [`release_unused`](Self::release_unused). If users' `hash` or
    /// `eq` panics, `value` is dropped.
    pub(crate) fn intern(&mut self, info: &FragmentInfo, value: Value) -> SharedId {
        let (mut found, mut panicked) = (None, None);
        note(&mut panicked, || found = Some(self.find(info, &value)));
        match found {
            Some(Ok(known)) => {
                end_shared(value);
                known
            }
            Some(Err(hash)) => self.add(Arc::new(value), hash),
            None => {
                // By itself: its drop may panic, too.
                note(&mut panicked, || drop(value));
                resume(panicked);
                unreachable!("a panic goes on")
            }
        }
    }

    /// The same for a value of another world, which the two then keep together.
    pub(crate) fn intern_shared(&mut self, info: &FragmentInfo, value: &Arc<Value>) -> SharedId {
        match self.find(info, value) {
            Ok(known) => known,
            Err(hash) => self.add(Arc::clone(value), hash),
        }
    }

    /// The same, but if this very value is there, it is that one, whichever others are equal to it.
    pub(super) fn intern_same(&mut self, info: &FragmentInfo, value: &Arc<Value>) -> SharedId {
        let hash = hash_of(info, value);
        let is_same = |&id: &SharedId| Arc::ptr_eq(self.value(id), value);
        let same = self.hashed(info, hash).find(is_same);
        match same.or_else(|| self.find_hashed(info, value, hash)) {
            Some(known) => known,
            None => self.add(Arc::clone(value), hash),
        }
    }

    /// The number of the equal value that is there, or the hash of this one.
    fn find(&self, info: &FragmentInfo, value: &Value) -> Result<SharedId, u64> {
        let hash = hash_of(info, value);
        self.find_hashed(info, value, hash).ok_or(hash)
    }

    fn find_hashed(&self, info: &FragmentInfo, value: &Value, hash: u64) -> Option<SharedId> {
        let ops = info.shared_ops()?;
        // SAFETY: both are values of this fragment.
        let is_equal = |&id: &SharedId| unsafe { (ops.equal)(self.get(id), value.as_ptr()) };
        self.hashed(info, hash).find(is_equal)
    }

    /// The values of a fragment that have this hash.
    fn hashed(&self, info: &FragmentInfo, hash: u64) -> impl Iterator<Item = SharedId> {
        let known = self.by_hash.get(&(info.id(), hash));
        known.into_iter().flatten().copied()
    }

    fn add(&mut self, value: Arc<Value>, hash: u64) -> SharedId {
        let key = (value.id(), hash);
        let slot = Slot {
            value,
            hash,
            uses: 0,
        };
        let id = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = Some(slot);
                SharedId(at)
            }
            None => {
                self.slots.push(Some(slot));
                SharedId(
                    u32::try_from(self.slots.len() - 1).expect("fewer than four billion values"),
                )
            }
        };
        self.by_hash.entry(key).or_default().push(id);
        id
    }

    /// Where a value lies.
    #[inline]
    pub(crate) fn get(&self, id: SharedId) -> *const u8 {
        self.value(id).as_ptr()
    }

    /// A value.
    #[inline]
    pub(crate) fn value(&self, id: SharedId) -> &Arc<Value> {
        match &self.slots[id.0 as usize] {
            Some(slot) => &slot.value,
            None => unreachable!("a shared value is kept while it is used"),
        }
    }

    /// Puts an equal value in the place of one that is used, for all who use it; the one that was there.
    pub(super) fn replace(&mut self, id: SharedId, value: Arc<Value>) -> Option<Arc<Value>> {
        let slot = self.slots[id.0 as usize].as_mut()?;
        Some(core::mem::replace(&mut slot.value, value))
    }

    /// A group has come that has this value.
    pub(crate) fn hold(&mut self, id: SharedId) {
        if let Some(slot) = &mut self.slots[id.0 as usize] {
            slot.uses += 1;
        }
    }

    /// A group has gone that had this value; its last user lets it go.
    pub(crate) fn release(&mut self, id: SharedId) {
        if let Some(slot) = &mut self.slots[id.0 as usize] {
            slot.uses -= 1;
        }
        self.release_unused(id);
    }

    /// Gives back the room for values that are gone: as much as there is behind the last value that stays, whose number
    /// others keep. O(values).
    pub(crate) fn shrink(&mut self) {
        let last = self.slots.iter().rposition(Option::is_some);
        let len = last.map_or(0, |last| last + 1);
        self.slots.truncate(len);
        self.free.retain(|&number| (number as usize) < len);
        self.slots.shrink_to_fit();
        self.free.shrink_to_fit();
        self.by_hash.shrink_to_fit();
    }

    /// A flush may use values, until it is [done](Self::flush_ends) with all.
    pub(crate) fn flush_begins(&mut self) {
        self.flushes += 1;
    }

    /// A flush is done with the values that it held.
    pub(crate) fn flush_ends(&mut self, held: impl Iterator<Item = SharedId>) {
        self.flushes -= 1;
        held.for_each(|id| self.release_flushed(id));
    }

    /// Whether a flush is under way, or one has left what it held.
    #[inline]
    pub(crate) fn has_flushes(&self) -> bool {
        self.flushes > 0
    }

    /// Lets go what flushes have left.
    #[cold]
    pub(crate) fn take_left(&mut self, left: LeftValues) {
        self.flushes -= left.flushes;
        left.held
            .into_iter()
            .for_each(|id| self.release_flushed(id));
    }

    /// A flush uses a value until it is done.
    pub(crate) fn hold_flushed(&mut self, id: SharedId) {
        self.flushed += 1;
        self.hold(id);
    }

    fn release_flushed(&mut self, id: SharedId) {
        self.flushed -= 1;
        self.release(id);
    }

    /// The fragment of a value; `None` if there is none of this number.
    pub(crate) fn id_of(&self, id: SharedId) -> Option<FragmentId> {
        let slot = self.slots.get(id.0 as usize)?.as_ref();
        slot.map(|slot| slot.value.id())
    }

    /// How often each number is free.
    fn times_free(&self) -> Vec<usize> {
        let mut times = vec![0; self.slots.len()];
        for &number in &self.free {
            if let Some(times) = times.get_mut(number as usize) {
                *times += 1;
            }
        }
        times
    }

    /// How often each value is found by its fragment and its hash.
    fn times_listed(&self) -> Vec<usize> {
        let mut times = vec![0; self.slots.len()];
        for (key, ids) in &self.by_hash {
            for &SharedId(number) in ids {
                let slot = self.slots.get(number as usize).and_then(Option::as_ref);
                if slot.is_some_and(|slot| (slot.value.id(), slot.hash) == *key) {
                    times[number as usize] += 1;
                }
            }
        }
        times
    }

    /// Notes whether values are not used as often as they say, or not found; flushes have `left` some. Values are not
    /// compared: that would run users' code. O(values + groups × shared fragments).
    pub(crate) fn check(&self, archetypes: &[Archetype], left: &LeftValues, found: &mut Found) {
        let mut uses = vec![0; self.slots.len()];
        for data in archetypes {
            let keys = data.group_of.keys().chain(&data.retired_keys);
            for value in keys.flat_map(|key| key.iter()) {
                if let Some(uses) = uses.get_mut(value.0 as usize) {
                    *uses += 1;
                }
            }
        }
        let (free, listed) = (self.times_free(), self.times_listed());
        let mut flushed = 0;
        for (number, slot) in (0..).zip(&self.slots) {
            let at = FlawPlace::SharedValue(number);
            let uses = uses[number as usize];
            let Some(slot) = slot else {
                found.expect(uses == 0, at, || {
                    format!("{uses} groups have it, and it is gone")
                });
                let free = free[number as usize];
                found.expect(free == 1, at, || format!("its number is free {free} times"));
                continue;
            };
            found.expect(slot.uses >= uses && slot.uses > 0, at, || {
                format!("it counts {} uses, and {uses} groups have it", slot.uses)
            });
            flushed += slot.uses.saturating_sub(uses);
            let listed = listed[number as usize];
            found.expect(listed == 1, at, || format!("it is found {listed} times"));
        }
        found.expect(flushed == self.flushed, FlawPlace::World, || {
            format!(
                "shared values count {flushed} uses more than groups have, of which flushes have {}",
                self.flushed
            )
        });
        let left = (self.flushes == left.flushes).then_some(left.held.len());
        found.expect(
            left.is_none_or(|left| left == self.flushed),
            FlawPlace::World,
            || {
                format!(
                    "no flush is under way, and flushes use shared values {} times",
                    self.flushed
                )
            },
        );
        let listed: usize = self.by_hash.values().map(Vec::len).sum();
        let there = self.slots.len() - self.free.len();
        found.expect(listed == there, FlawPlace::World, || {
            format!("{listed} shared values are found by hash, and there are {there}")
        });
    }

    /// Numbers that are given or free, for tests.
    #[cfg(test)]
    pub(crate) fn numbers(&self) -> usize {
        self.slots.len()
    }

    /// Breaks the count of a flush that is over, for tests of the check.
    #[cfg(test)]
    pub(crate) fn hold_for_nobody(&mut self) {
        let held = self.slots.iter().position(Option::is_some);
        held.into_iter()
            .for_each(|number| self.hold_flushed(SharedId(number as u32)));
    }

    /// Breaks the list of free numbers, for tests of the check.
    #[cfg(test)]
    pub(crate) fn free_twice(&mut self) {
        self.free.push(self.free[0]);
    }

    /// Lets all values go: the world ends.
    pub(crate) fn end(&mut self, panicked: &mut Panicked) {
        let slots = core::mem::take(self).slots;
        end_all(panicked, slots);
    }

    /// Lets a value go that nobody uses.
    pub(crate) fn release_unused(&mut self, id: SharedId) {
        let slot = &mut self.slots[id.0 as usize];
        if slot.as_ref().is_none_or(|slot| slot.uses > 0) {
            return;
        }
        if let Some(Slot { value, hash, .. }) = slot.take() {
            let key = (value.id(), hash);
            if let Some(ids) = self.by_hash.get_mut(&key) {
                ids.retain(|&known| known != id);
                if ids.is_empty() {
                    self.by_hash.remove(&key);
                }
            }
            self.free.push(id.0);
            end_shared(value);
        }
    }
}

/// What users' `hash` says of a value of this fragment.
fn hash_of(info: &FragmentInfo, value: &Value) -> u64 {
    let Some(ops) = info.shared_ops() else {
        unreachable!("{} is not a shared fragment", info.name())
    };
    // SAFETY: the value is of this fragment.
    unsafe { (ops.hash)(value.as_ptr()) }
}

/// Drops a shared value in the middle of a change, where there is nobody to give a panic of its `drop` to.
pub(crate) fn end_shared<T>(value: T) {
    let mut panicked = None;
    note(&mut panicked, || drop(value));
    end_here(panicked, "a shared value", None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::Bundle;
    use crate::world::World;

    #[test]
    fn values_that_are_counted_or_listed_wrongly_are_found() {
        let at = FlawPlace::SharedValue(0);
        type Break = (fn(&mut SharedValues), FlawPlace, &'static str);
        let broken: [Break; 6] = [
            (
                |values| values.slots[0] = None,
                at,
                "1 groups have it, and it is gone",
            ),
            (
                |values| values.slots[0].as_mut().unwrap().uses = 0,
                at,
                "it counts 0 uses, and 1 groups have it",
            ),
            (
                |values| {
                    let list = values.by_hash.values_mut().next().unwrap();
                    list.push(list[0]);
                },
                at,
                "it is found 2 times",
            ),
            (
                |values| values.by_hash.clear(),
                FlawPlace::World,
                "0 shared values are found by hash, and there are 1",
            ),
            (
                |values| values.slots.push(None),
                FlawPlace::SharedValue(1),
                "its number is free 0 times",
            ),
            (
                |values| values.flushed += 1,
                FlawPlace::World,
                "count 0 uses more than groups have, of which flushes have 1",
            ),
        ];
        for (how, place, what) in broken {
            let mut world = World::new();
            world.create((1_u8,).shared("red")).unwrap();
            world.check().unwrap();
            how(&mut world.shared);
            let error = world.check().expect_err(what);
            let mut flaws = error.flaws().iter();
            let found = flaws.any(|flaw| flaw.place() == place && flaw.what().contains(what));
            assert!(found, "{what}, not:\n{error}");
            // What contradicts itself cannot end.
            core::mem::forget(world);
        }
    }
}
