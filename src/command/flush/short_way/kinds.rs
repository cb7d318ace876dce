//! `Kinds`: what few commands do to an entity, but for their values, under numbers.

use smallvec::SmallVec;

use crate::command::flush::net::{Net, matters};
use crate::command::lane::{Lane, NONE, Op};
use crate::fragment::{FragmentId, FragmentRegistry};

/// Ops that are few: each is looked for among those before it.
pub(super) const OPS: usize = 16;

/// What is done to an entity: ops of several lanes may do the same, and several ops what one does.
pub(super) struct Kinds<'l> {
    pub(super) lanes: &'l [&'l Lane],
    /// Each op that was met: its lane, its number there, its kind.
    ops: SmallVec<[(u32, u32, u32); OPS]>,
    all: SmallVec<[Kind<'l>; OPS]>,
    /// Of those that are of several ops.
    nets: SmallVec<[Net; 2]>,
}

/// What is known of a kind.
#[derive(Clone, Copy)]
enum Kind<'l> {
    Op(&'l Op),
    /// One of the nets.
    Net(u32),
}

/// What goes and what comes, in the order of the fragments' numbers.
#[derive(Clone, Copy)]
pub(super) struct Lists<'k> {
    pub(super) gone: &'k [FragmentId],
    pub(super) come: &'k [FragmentId],
}

impl<'l> Kinds<'l> {
    #[inline(always)]
    pub(super) fn new(lanes: &'l [&'l Lane]) -> Self {
        Self {
            lanes,
            ops: SmallVec::new(),
            all: SmallVec::new(),
            nets: SmallVec::new(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The kind of an op; `None` if there are too many, or it is none of a single entity without shared values, or with
    /// what comes by default.
    pub(super) fn of(&mut self, lane: u32, op: u32) -> Option<u32> {
        let known = (self.ops.iter()).find(|&&(of, known, _)| (of, known) == (lane, op));
        if let Some(&(_, _, kind)) = known {
            return Some(kind);
        }
        let this = &self.lanes[lane as usize].ops[op as usize];
        let is_simple = match this {
            Op::Destroy => true,
            // What comes by default is the general way's.
            Op::Change { combo, needs, .. } => *combo == NONE && needs.is_empty(),
            Op::Switch { .. } | Op::Call { .. } => false,
        };
        if !is_simple || self.ops.len() == OPS {
            return None;
        }
        let kind = match self.find(lists_of(this)) {
            Some(kind) => kind,
            None => self.add(Kind::Op(this)),
        };
        self.ops.push((lane, op, kind));
        Some(kind)
    }

    /// What several ops do, one after the other; `None` if something comes that went before, and that [`matters`].
    pub(super) fn of_all(
        &mut self,
        ops: impl Iterator<Item = (u32, u32)>,
        registry: &FragmentRegistry,
    ) -> Option<u32> {
        let mut net = Net::default();
        for (lane, op) in ops {
            let this = &self.lanes[lane as usize].ops[op as usize];
            let Some(Lists { gone, come }) = lists_of(this) else {
                net.destroy();
                continue;
            };
            let mut again = come.iter().filter(|id| net.gone.contains(id));
            if again.any(|&id| registry.get(id).is_some_and(matters)) {
                return None;
            }
            net.change(gone, come, &[]);
        }
        let lists = lists_of_net(&net);
        Some(match self.find(lists) {
            Some(kind) => kind,
            None => {
                self.nets.push(net);
                self.add(Kind::Net(self.nets.len() as u32 - 1))
            }
        })
    }

    /// What goes and comes; `None` if the entities die.
    pub(super) fn lists(&self, kind: u32) -> Option<Lists<'_>> {
        match self.all[kind as usize] {
            Kind::Op(op) => lists_of(op),
            Kind::Net(net) => lists_of_net(&self.nets[net as usize]),
        }
    }

    /// The kind that does the same.
    fn find(&self, lists: Option<Lists<'_>>) -> Option<u32> {
        (0..self.all.len() as u32).find(|&kind| do_the_same(self.lists(kind), lists))
    }

    fn add(&mut self, kind: Kind<'l>) -> u32 {
        self.all.push(kind);
        self.all.len() as u32 - 1
    }
}

fn lists_of(op: &Op) -> Option<Lists<'_>> {
    match op {
        Op::Change { gone, come, .. } => Some(Lists { gone, come }),
        _ => None,
    }
}

fn lists_of_net(net: &Net) -> Option<Lists<'_>> {
    (!net.destroyed).then_some(Lists {
        gone: &net.gone,
        come: &net.come,
    })
}

/// Whether both lead entities of one composition to the same one.
fn do_the_same(one: Option<Lists<'_>>, other: Option<Lists<'_>>) -> bool {
    /// What goes and does not come in the same move.
    fn gone(lists: Lists<'_>) -> impl Iterator<Item = &FragmentId> {
        let stays = |id: &&FragmentId| lists.come.binary_search(id).is_err();
        lists.gone.iter().filter(stays)
    }
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.come == other.come && gone(one).eq(gone(other)),
        _ => false,
    }
}
