//! What several commands do to one entity, taken together.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::archetype::SharedId;
use crate::command::flush::ops::FlushOp;
use crate::fragment::{FragmentId, FragmentInfo, FragmentKind, FragmentSet, Need};
use crate::hashers::ByNumbers;

/// The net change of an entity. All lists are in the order of the fragments' numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Net {
    pub(super) destroyed: bool,
    pub(super) gone: SmallVec<[FragmentId; 4]>,
    pub(super) come: SmallVec<[FragmentId; 4]>,
    /// What comes by default with those that come: if it is not there, or if it is one of `gone`, which went before.
    pub(super) needs: SmallVec<[Need; 1]>,
    /// Those of `come` and `needs` that went before they came, if it [`matters`].
    pub(super) again: SmallVec<[FragmentId; 1]>,
    /// The shared values of those that come.
    pub(super) shared: SmallVec<[(FragmentId, SharedId); 1]>,
    /// What is switched, each fragment once; none of those that are gone.
    pub(super) switched: SmallVec<[Switched; 1]>,
}

/// A fragment is switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Switched {
    pub(super) id: FragmentId,
    pub(super) on: bool,
    /// Before it came, if it came: of those entities only that had it.
    pub(super) before: bool,
}

impl Net {
    /// This, and then one op more.
    fn then(&self, op: &FlushOp<'_>) -> Self {
        let mut net = self.clone();
        match op {
            _ if net.destroyed => {}
            FlushOp::Destroy => net.destroy(),
            FlushOp::Change(change) => {
                net.change(change.gone, change.come, &change.anew);
                net.need(change.needs, &change.anew);
                net.share(&change.shared);
            }
            FlushOp::Switch { id, on } => net.switch(*id, *on),
            FlushOp::Call { .. } | FlushOp::Refused => {}
        }
        net
    }

    /// The entity dies.
    pub(super) fn destroy(&mut self) {
        *self = Self {
            destroyed: true,
            ..Self::default()
        };
    }

    /// Fragments go, others come; it matters of those in `anew` whether they went before. Of the dead nothing comes.
    pub(super) fn change(&mut self, gone: &[FragmentId], come: &[FragmentId], anew: &[FragmentId]) {
        if self.destroyed {
            return;
        }
        for &id in gone {
            if come.binary_search(&id).is_ok() {
                // In one move it stays, and gets another value.
                continue;
            }
            remove(&mut self.come, id);
            remove(&mut self.again, id);
            self.needs.retain(|need| need.id != id);
            insert(&mut self.gone, id);
            self.shared.retain(|(known, _)| *known != id);
            self.switched.retain(|known| known.id != id);
        }
        for &id in come {
            if remove(&mut self.gone, id) && anew.contains(&id) {
                insert(&mut self.again, id);
            }
            insert(&mut self.come, id);
            self.needs.retain(|need| need.id != id);
        }
    }

    /// Fragments come by default, unless they are there by then.
    fn need(&mut self, needs: &[Need], anew: &[FragmentId]) {
        for &need in needs {
            let at = self.needs.binary_search_by_key(&need.id, |known| known.id);
            let (Err(at), Err(_)) = (at, self.come.binary_search(&need.id)) else {
                continue;
            };
            self.needs.insert(at, need);
            if self.gone.binary_search(&need.id).is_ok() && anew.contains(&need.id) {
                insert(&mut self.again, need.id);
            }
        }
    }

    /// Whether a fragment is there after this, whatever was there before.
    fn brings(&self, id: FragmentId) -> bool {
        let by_default = self.needs.binary_search_by_key(&id, |need| need.id);
        by_default.is_ok() || self.come.binary_search(&id).is_ok()
    }

    fn share(&mut self, values: &[(FragmentId, SharedId)]) {
        for &(id, value) in values {
            match self.shared.iter_mut().find(|(known, _)| *known == id) {
                Some((_, known)) => *known = value,
                None => {
                    let at = self.shared.partition_point(|(known, _)| *known < id);
                    self.shared.insert(at, (id, value));
                }
            }
        }
    }

    /// What is switched of entities that had these fragments, and whether on.
    pub(super) fn switched_among<'n>(
        &'n self,
        had: &'n FragmentSet,
    ) -> impl Iterator<Item = (FragmentId, bool)> + 'n {
        // The last switch counts.
        let is_later = |id: FragmentId| self.switched.iter().any(|later| later.id == id);
        let again = self.again.iter().filter(move |id| !is_later(**id));
        let switched = self.switched.iter();
        let switched = switched.filter(|switched| !switched.before || had.contains(switched.id));
        again
            .map(|&id| (id, true))
            .chain(switched.map(|switched| (switched.id, switched.on)))
    }

    /// Whether a fragment is to be switched, by a command that says so.
    pub(super) fn switches(&self, id: FragmentId) -> bool {
        self.switched.iter().any(|switched| switched.id == id)
    }

    fn switch(&mut self, id: FragmentId, on: bool) {
        let before = !self.brings(id);
        if before && self.gone.binary_search(&id).is_ok() {
            return;
        }
        self.switched.retain(|known| known.id != id);
        let at = self.switched.partition_point(|known| known.id < id);
        self.switched.insert(at, Switched { id, on, before });
    }
}

/// Whether it matters of a fragment that comes whether it went before: what can be switched off is on again, what is
/// const may have another value.
pub(super) fn matters(info: &FragmentInfo) -> bool {
    info.is_enableable() || info.kind() == FragmentKind::ConstShared
}

fn insert<const N: usize>(ids: &mut SmallVec<[FragmentId; N]>, id: FragmentId)
where
    [FragmentId; N]: smallvec::Array<Item = FragmentId>,
{
    if let Err(at) = ids.binary_search(&id) {
        ids.insert(at, id);
    }
}

/// Whether it was there.
fn remove<const N: usize>(ids: &mut SmallVec<[FragmentId; N]>, id: FragmentId) -> bool
where
    [FragmentId; N]: smallvec::Array<Item = FragmentId>,
{
    let found = ids.binary_search(&id);
    if let Ok(at) = found {
        ids.remove(at);
    }
    found.is_ok()
}

/// Net changes under numbers: an automaton that grows as sequences of ops are met. Equal net changes have
/// equal numbers, so that there are few, however long the sequences.
#[derive(Debug)]
pub(super) struct Nets {
    pub(super) all: Vec<Arc<Net>>,
    numbers: HashMap<Arc<Net>, u32, ByNumbers>,
    steps: HashMap<u64, u32, ByNumbers>,
    /// The step that was asked for last.
    last: (u64, u32),
}

impl Nets {
    pub(super) fn new() -> Self {
        let mut nets = Self {
            all: Vec::new(),
            numbers: HashMap::default(),
            steps: HashMap::default(),
            last: (u64::MAX, 0),
        };
        // Number 0: nothing.
        nets.number(Net::default());
        nets
    }

    fn number(&mut self, net: Net) -> u32 {
        if let Some(&number) = self.numbers.get(&net) {
            return number;
        }
        let number = self.all.len() as u32;
        let net = Arc::new(net);
        self.all.push(Arc::clone(&net));
        self.numbers.insert(net, number);
        number
    }

    /// What a net change becomes by one op more.
    #[inline(always)]
    pub(super) fn step(&mut self, from: u32, number: u32, ops: &[FlushOp<'_>]) -> u32 {
        let key = u64::from(from) << 32 | u64::from(number);
        if self.last.0 == key {
            return self.last.1;
        }
        let to = match self.steps.get(&key) {
            Some(&to) => to,
            None => self.learn(key, from, &ops[number as usize]),
        };
        self.last = (key, to);
        to
    }

    #[cold]
    fn learn(&mut self, key: u64, from: u32, op: &FlushOp<'_>) -> u32 {
        let net = self.all[from as usize].then(op);
        let to = self.number(net);
        self.steps.insert(key, to);
        to
    }
}
