//! The ops of all lanes of a flush, under common numbers.

use std::collections::HashMap;

use crate::archetype::SharedId;
use crate::command::flush::net::matters;
use crate::command::lane::{Call, Lane, NONE, Op};
use crate::command::payload::{Payload, PayloadColumn};
use crate::fragment::{FragmentId, Need};
use crate::panics::{Panicked, note};
use crate::world::{Seat, World, WorldError};

/// What a command does.
#[derive(Debug)]
pub(super) enum FlushOp<'l> {
    Destroy,
    Change(ChangeOp<'l>),
    Switch {
        id: FragmentId,
        on: bool,
    },
    Call {
        payload: &'l Payload,
        call: Call,
    },
    /// It cannot be done.
    Refused,
}

/// Fragments go, others come.
#[derive(Debug)]
pub(super) struct ChangeOp<'l> {
    pub(super) gone: &'l [FragmentId],
    pub(super) come: &'l [FragmentId],
    /// What comes with those by default, if it is not there.
    pub(super) needs: &'l [Need],
    pub(super) shared: Vec<(FragmentId, SharedId)>,
    /// Those that come, also by default, and of which it [`matters`] whether they went before.
    pub(super) anew: Vec<FragmentId>,
    payload: Option<&'l Payload>,
}

/// What an op does, without its values.
#[derive(PartialEq, Eq, Hash)]
enum Does<'o> {
    Destroy,
    Change(
        &'o [FragmentId],
        &'o [FragmentId],
        &'o [(FragmentId, SharedId)],
    ),
    Switch(FragmentId, bool),
}

impl<'l> FlushOp<'l> {
    /// The recorded values of a fragment.
    #[inline]
    pub(super) fn column(&self, id: FragmentId) -> Option<&'l PayloadColumn> {
        match self {
            Self::Change(change) => change.column(id),
            _ => None,
        }
    }

    /// The recorded values, if each of its commands has one only.
    pub(super) fn payload_of_one(&self) -> Option<&'l Payload> {
        match self {
            Self::Change(change) => change.payload.filter(|payload| payload.columns.len() == 1),
            _ => None,
        }
    }

    /// Whether each of its commands has values.
    pub(super) fn has_values(&self) -> bool {
        matches!(self, Self::Change(change) if change.payload.is_some())
    }
}

impl<'l> ChangeOp<'l> {
    /// The recorded values of a fragment.
    #[inline]
    pub(super) fn column(&self, id: FragmentId) -> Option<&'l PayloadColumn> {
        let columns = &self.payload?.columns;
        columns.iter().find(|column| column.id == id)
    }
}

/// The numbers of each lane's ops begin where this says; the values that it holds are held until [`end`](Ops::end).
#[derive(Debug)]
pub(super) struct Ops<'l> {
    pub(super) all: Vec<FlushOp<'l>>,
    /// The number of each op's payload in its lane; one more than the last for those that have none.
    pub(super) payload_of: Vec<u32>,
    /// The first op that does the same as each, if with other values: of recorders in other lanes.
    pub(super) same_as: Vec<u32>,
    pub(super) first_of: Vec<u32>,
    held: Vec<SharedId>,
    /// Some op is a closure.
    pub(super) has_calls: bool,
}

impl<'l> Ops<'l> {
    pub(super) fn new<'a: 'l>(
        world: &mut World,
        lanes: impl Iterator<Item = &'a Lane>,
        panicked: &mut Panicked,
    ) -> Self {
        world.shared.flush_begins();
        let mut ops = Self {
            all: Vec::new(),
            payload_of: Vec::new(),
            same_as: Vec::new(),
            first_of: Vec::new(),
            held: Vec::new(),
            has_calls: false,
        };
        for lane in lanes {
            ops.first_of.push(ops.all.len() as u32);
            if lane.log.is_empty() {
                continue;
            }
            for op in &lane.ops {
                let payloads = lane.payloads.len() as u32;
                ops.payload_of.push(match op {
                    Op::Destroy | Op::Switch { .. } => payloads,
                    Op::Change { payload, .. } | Op::Call { payload, .. } => payloads.min(*payload),
                });
                let op = match op {
                    Op::Destroy => FlushOp::Destroy,
                    &Op::Switch { id, on } => FlushOp::Switch { id, on },
                    Op::Call { payload, call } => {
                        ops.has_calls = true;
                        FlushOp::Call {
                            payload: &lane.payloads[*payload as usize],
                            call: *call,
                        }
                    }
                    Op::Change {
                        gone,
                        come,
                        needs,
                        payload,
                        combo,
                    } => {
                        let registry = world.universe.registry();
                        let is_anew = |id: &&FragmentId| registry.get(**id).is_some_and(matters);
                        let needed = needs.iter().map(|need| &need.id);
                        let anew = come.iter().chain(needed).filter(is_anew);
                        let anew = anew.copied().collect();
                        let mut shared = None;
                        note(panicked, || shared = Some(ops.intern(world, lane, *combo)));
                        match shared {
                            Some(Ok(shared)) => FlushOp::Change(ChangeOp {
                                gone,
                                come,
                                needs,
                                shared,
                                anew,
                                payload: lane.payloads.get(*payload as usize),
                            }),
                            _ => FlushOp::Refused,
                        }
                    }
                };
                ops.all.push(op);
            }
        }
        ops.compare();
        ops
    }

    /// Finds out which ops do the same.
    fn compare(&mut self) {
        self.same_as = (0..self.all.len() as u32).collect();
        let (first, last) = (self.first_of.first(), self.first_of.last());
        if first == last {
            // One lane's ops are different.
            return;
        }
        let mut known = HashMap::new();
        for (op, same) in self.all.iter().zip(&mut self.same_as) {
            let does = match op {
                FlushOp::Destroy => Does::Destroy,
                FlushOp::Change(op) => Does::Change(op.gone, op.come, &op.shared),
                FlushOp::Switch { id, on } => Does::Switch(*id, *on),
                FlushOp::Call { .. } | FlushOp::Refused => continue,
            };
            *same = *known.entry(does).or_insert(*same);
        }
    }

    /// The world's numbers of the shared values that an op gives.
    fn intern(
        &mut self,
        world: &mut World,
        lane: &Lane,
        combo: u32,
    ) -> Result<Vec<(FragmentId, SharedId)>, WorldError> {
        let mut shared = Vec::new();
        if combo != NONE {
            for value in &lane.combos[combo as usize].values {
                let id = world.intern(value)?;
                world.shared.hold_flushed(id);
                self.held.push(id);
                shared.push((value.id(), id));
            }
        }
        Ok(shared)
    }

    /// Lets the shared values go that no entity has got. If another world is there than the flush began with, they are left
    /// with that one's seat, until it is flushed, or trimmed.
    pub(super) fn end(self, world: &mut World, seat: &Seat) {
        if core::ptr::eq(&raw const *world.seat, seat) {
            world.shared.flush_ends(self.held.into_iter());
        } else {
            seat.left.lock().leave(self.held.into_iter());
        }
    }
}
