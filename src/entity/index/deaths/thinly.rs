//! Destroying entities that lie far apart.
//!
//! Where a group of slots has one that dies there is nothing to gather: what costs is to wait for the lines of the
//! slot and of its group, one handle after the other. So they are asked for some handles ahead. The slots go by
//! way of the thread's magazine, as those of single deaths do.

use crate::entity::index::cache::{Cache, Tally};
use crate::entity::index::core::Core;
use crate::entity::{DestroyReport, Entity};

/// Handles that are asked for ahead.
const AHEAD: usize = 16;

/// Destroys the entities from position `at` on, one by one. Lock-free.
#[cold]
#[inline(never)]
pub(crate) fn destroy(
    core: &Core,
    cache: &mut Cache,
    tally: &Tally,
    entities: &[Entity],
    at: usize,
    report: &mut DestroyReport,
) {
    let handles = &entities[at..];
    let early = handles.len().min(AHEAD);
    handles[..early]
        .iter()
        .for_each(|&entity| core.expect(entity));
    for (position, &entity) in handles.iter().enumerate() {
        if let Some(&next) = handles.get(position + AHEAD) {
            core.expect(next);
        }
        match core.kill(entity) {
            Ok(()) => {
                report.destroyed += 1;
                core.pass_on(cache, tally, entity);
            }
            Err(error) => report.refused.push((at + position, error)),
        }
    }
}
