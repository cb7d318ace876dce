//! `SharedValues`: the shared values of a world, each once.

use std::collections::HashMap;

use crate::archetype::SharedId;
use crate::fragment::{FragmentId, FragmentInfo, Value};

/// The values, found by fragment and content, kept as long as a group of chunks has them.
#[derive(Debug, Default)]
pub(crate) struct SharedValues {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Fragment and hash → the values with that hash: equality decides among them.
    by_hash: HashMap<(FragmentId, u64), Vec<SharedId>>,
}

#[derive(Debug)]
struct Slot {
    value: Value,
    hash: u64,
    /// Groups that have it.
    uses: u32,
}

impl SharedValues {
    /// The number of a value: of the equal one that is there (then `value` is dropped), or of this.
    /// Nobody uses it yet: see [`hold`](Self::hold) and [`release_unused`](Self::release_unused).
    pub(crate) fn intern(&mut self, info: &FragmentInfo, value: Value) -> SharedId {
        let Some(ops) = info.shared_ops() else {
            unreachable!("{} is not a shared fragment", info.name())
        };
        // SAFETY: the value is of this fragment.
        let hash = unsafe { (ops.hash)(value.as_ptr()) };
        let known = self.by_hash.get(&(info.id(), hash));
        for &id in known.into_iter().flatten() {
            // SAFETY: both are values of this fragment.
            if unsafe { (ops.equal)(self.get(id), value.as_ptr()) } {
                return id;
            }
        }
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
                SharedId(self.slots.len() as u32 - 1)
            }
        };
        self.by_hash.entry((info.id(), hash)).or_default().push(id);
        id
    }

    /// Where a value lies.
    #[inline]
    pub(crate) fn get(&self, id: SharedId) -> *const u8 {
        match &self.slots[id.0 as usize] {
            Some(slot) => slot.value.as_ptr(),
            None => unreachable!("a shared value is kept while it is used"),
        }
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

    /// Lets a value go that nobody uses.
    pub(crate) fn release_unused(&mut self, id: SharedId) {
        let slot = &mut self.slots[id.0 as usize];
        if slot.as_ref().is_none_or(|slot| slot.uses > 0) {
            return;
        }
        if let Some(gone) = slot.take() {
            let key = (gone.value.id(), gone.hash);
            if let Some(ids) = self.by_hash.get_mut(&key) {
                ids.retain(|&known| known != id);
                if ids.is_empty() {
                    self.by_hash.remove(&key);
                }
            }
            self.free.push(id.0);
        }
    }
}
