//! Further calls of recorders: clones, copies to reserved ids, reservations, swaps known at run time, roles that go.

use megachunk::fragment::FragmentId;
use megachunk::prelude::*;

use crate::world_bulk::id;
use crate::world_fragments::{Kind, Species, Team, Weather};
use crate::world_naive::Refusal;
use crate::world_recorded::{Act, Replay, Tally};
use crate::world_recorder::{Desk, Done, Recorder, all_kinds_in};

/// As [`CommandOp`](crate::world_commands::CommandOp), for its arguments too.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MoreCommand {
    Clone {
        pick: u16,
    },
    /// Of a prototype that all recorders of a round have in common.
    BuildCopy {
        pick: u16,
        kinds: u16,
        payload: u32,
    },
    /// One, or a slice.
    Reserve {
        len: u8,
    },
    SwapDynamic {
        pick: u16,
        gone: u16,
        come: u16,
        payload: u32,
    },
    RemoveRole {
        pick: u16,
        which: u8,
    },
    /// Of a template that all recorders of a round have in common.
    OfTemplate {
        kinds: u16,
        payload: u32,
    },
}

impl MoreCommand {
    /// What is to be copied, if something is.
    pub(crate) fn prototype(self) -> Option<(u16, u32)> {
        match self {
            Self::BuildCopy { kinds, payload, .. } => Some((kinds, payload)),
            _ => None,
        }
    }

    /// Of which template there is to be an entity, if there is.
    pub(crate) fn template(self) -> Option<(u16, u32)> {
        match self {
            Self::OfTemplate { kinds, payload } => Some((kinds, payload)),
            _ => None,
        }
    }
}

impl Recorder<'_> {
    pub(crate) fn record_more(&mut self, desk: &Desk, op: MoreCommand) {
        match op {
            MoreCommand::Clone { pick } => {
                let Some(of) = self.resolve(desk, pick) else {
                    return;
                };
                let new = self.commands.clone_entity(of).unwrap();
                self.own.push(new);
                self.done.push(Done::Cloned(new, of));
            }
            MoreCommand::BuildCopy {
                pick,
                kinds,
                payload,
            } => {
                let prototype = self.prototypes.get(&(kinds, payload));
                let (Some(entity), Some((prototype, _))) = (self.resolve(desk, pick), prototype)
                else {
                    return;
                };
                if !self.may_build(entity) {
                    return;
                }
                let built = self.commands.build_copy(entity, prototype);
                let kinds = all_kinds_in(kinds);
                self.done.push(match built {
                    Ok(()) => {
                        self.own.push(entity);
                        Done::Built(entity, kinds, payload, Ok(()))
                    }
                    Err(error) => Done::NotBuilt(entity, kinds, payload, Refusal::of(&error)),
                });
            }
            MoreCommand::Reserve { len: 0 } => {
                let entity = self.commands.reserve().unwrap();
                self.own.push(entity);
                self.done.push(Done::Reserved(vec![entity]));
            }
            MoreCommand::Reserve { len } => {
                let mut entities = vec![Entity::PLACEHOLDER; len.into()];
                self.commands.reserve_slice(&mut entities).unwrap();
                self.own.extend(&entities);
                self.done.push(Done::Reserved(entities));
            }
            MoreCommand::SwapDynamic {
                pick,
                gone,
                come,
                payload,
            } => {
                let Some(entity) = self.resolve(desk, pick) else {
                    return;
                };
                let (gone, come) = (all_kinds_in(gone), all_kinds_in(come));
                let ids = gone.iter().map(|&kind| id(kind, self.registry));
                let ids: Vec<FragmentId> = ids.collect();
                let bundle = self.bundle(desk, come, payload);
                let swapped = self.commands.swap_dynamic(entity, &ids, bundle);
                self.done.push(match swapped {
                    Ok(()) => Done::Recorded(
                        entity,
                        Act::Change {
                            gone,
                            come,
                            payload,
                        },
                    ),
                    Err(error) => Done::Refused(gone, come, Refusal::of(&error)),
                });
            }
            MoreCommand::RemoveRole { pick, which } => {
                let Some(entity) = self.resolve(desk, pick) else {
                    return;
                };
                let commands = &mut self.commands;
                let (removed, gone): (_, &'static [Kind]) = match which % 4 {
                    0 => (commands.remove::<Shared<Team>>(entity), &[Kind::Team]),
                    1 => (commands.remove::<Shared<Team>>(entity), &[Kind::Team]),
                    2 => (
                        commands.remove::<ConstShared<Species>>(entity),
                        &[Kind::Species],
                    ),
                    _ => (
                        commands.remove::<PerChunk<Weather>>(entity),
                        &[Kind::Weather],
                    ),
                };
                removed.unwrap();
                let act = Act::Change {
                    gone,
                    come: &[],
                    payload: 0,
                };
                self.done.push(Done::Recorded(entity, act));
            }
            MoreCommand::OfTemplate { kinds, payload } => {
                let (template, given) = &self.templates[&(kinds, payload)];
                let entity = template.record(&mut self.commands).unwrap();
                self.own.push(entity);
                let copied = Done::Copied(given.clone(), payload, None, vec![entity]);
                self.done.push(copied);
            }
        }
    }
}

impl Replay<'_> {
    /// A clone is made whose id was promised. If it cannot be, the id is free.
    pub(crate) fn keep_promise(&mut self, new: Entity, of: Entity, tally: &mut Tally) {
        if self.model.row(self.world, new) == Err(Refusal::Destroyed) {
            tally.dead += 1;
            return;
        }
        match self.model.build_clone(self.world, new, of) {
            Ok(()) => {
                tally.created += 1;
                self.note_created(new);
            }
            Err(refusal) => {
                tally.refused.push((new, refusal));
                let _ = self.model.release(self.world, new);
            }
        }
    }
}
