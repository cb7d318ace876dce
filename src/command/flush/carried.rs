//! `Carried`: commands that came before what they are for.
//!
//! A handle can be given to another thread before the recorder that created its entity is closed, or just after a
//! flush has missed that. What the other thread records may then lie in a flush to which the entity has not come. Such
//! commands wait for the next one: there they come before all that was recorded since, in the order in which they
//! were met.

use crate::command::Commands;
use crate::command::author::Author;
use crate::command::flush::Refused;
use crate::command::flush::ops::{ChangeOp, FlushOp};
use crate::command::queue::Queue;
use crate::entity::Entity;
use crate::fragment::{DynamicBundle, FragmentId, FragmentRegistry, Value};
use crate::panics::{Panicked, note};
use crate::world::WorldError;

/// Commands that wait for their entities, in order.
#[derive(Debug, Default)]
pub(super) struct Carried(Vec<(Entity, Step, Author)>);

/// What is to be done with an entity.
#[derive(Debug)]
enum Step {
    Destroy,
    Change {
        gone: Box<[FragmentId]>,
        come: DynamicBundle,
    },
    Switch {
        id: FragmentId,
        on: bool,
    },
}

impl Step {
    /// A command, with its values, which are in this row of its payload; `None`, and nothing is moved, if it cannot
    /// wait: it brings what does not lie in columns.
    ///
    /// # Safety
    /// Nobody else moves the row's values out, and the payload is sealed.
    unsafe fn of(registry: &FragmentRegistry, op: &FlushOp<'_>, row: u32) -> Option<Self> {
        match op {
            FlushOp::Destroy => Some(Self::Destroy),
            &FlushOp::Switch { id, on } => Some(Self::Switch { id, on }),
            FlushOp::Change(change) => {
                // SAFETY: the caller's.
                let come = unsafe { values(registry, change, row) }?;
                let gone = change.gone.into();
                Some(Self::Change { gone, come })
            }
            FlushOp::Call { .. } | FlushOp::Refused => None,
        }
    }
}

/// Moves the values of a change out; `None`, and nothing is moved, if it has others than those of columns.
///
/// # Safety
/// As for [`Step::of`].
unsafe fn values(
    registry: &FragmentRegistry,
    change: &ChangeOp<'_>,
    row: u32,
) -> Option<DynamicBundle> {
    let columns = change.come.iter().map(|&id| {
        let info = registry.get(id)?;
        Some((info, change.column(id)?))
    });
    let columns: Vec<_> = columns.collect::<Option<_>>()?;
    let values = columns.into_iter().map(|(info, column)| {
        // SAFETY: the caller's; each column has a value of the fragment in the row, which is moved out once.
        unsafe {
            column.moved_out(row);
            Value::take(info, column.row(row))
        }
    });
    Some(values.collect())
}

impl Carried {
    /// Takes a command over, if it can wait.
    ///
    /// # Safety
    /// As for [`Step::of`], of the payload of this op.
    #[cold]
    pub(super) unsafe fn take(
        &mut self,
        registry: &FragmentRegistry,
        op: &FlushOp<'_>,
        row: u32,
        entity: Entity,
        by: &Author,
    ) -> bool {
        // SAFETY: the caller's.
        let step = unsafe { Step::of(registry, op, row) };
        let waits = step.is_some();
        self.0.extend(step.map(|step| (entity, step, by.clone())));
        waits
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Leaves them to the next flush; what of them is refused.
    #[cold]
    pub(super) fn record(self, queue: &Queue, panicked: &mut Panicked) -> Vec<Refused> {
        let mut refused = Vec::new();
        let mut recorder = queue.open_early();
        for (entity, step, by) in self.0 {
            // A bundle that is refused is dropped.
            note(panicked, || {
                if let Err(error) = step.record(&mut recorder, entity) {
                    refused.push(Refused { entity, error, by });
                }
            });
        }
        // Of a world that has ended nothing is kept.
        note(panicked, || drop(recorder));
        refused
    }
}

impl Step {
    fn record(self, recorder: &mut Commands<'_>, entity: Entity) -> Result<(), WorldError> {
        match self {
            Self::Destroy => recorder.destroy(entity),
            Self::Switch { id, on } => recorder.set_enabled_dynamic(entity, id, on)?,
            Self::Change { gone, come } => recorder.change_dynamic(entity, &gone, come)?,
        }
        Ok(())
    }
}
