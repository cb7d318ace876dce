//! Level of detail: by their distance to the camera agents are near, far or hidden, and moved as often as that
//! asks for.

use megachunk::prelude::*;

use super::super::agent::{Car, Far, Hidden, Near, Person, Position};
use super::Camera;

/// Up to here agents are near, in metres.
pub(crate) const NEAR: f32 = 120.0;
/// Up to here they are seen.
pub(crate) const FAR: f32 = 450.0;
/// Whoever has got into a level is let out of it only so much farther away.
const HOLD: f32 = 1.15;
/// Every so many frames a chunk is looked at.
const EVERY: u64 = 16;

const fn square(metres: f32) -> f32 {
    metres * metres
}

type Seen = (Entity, &'static Position);
/// What has a level at all.
type Agent = Any<(Car, Person)>;

pub(super) fn detail() -> ProcessorBuilder {
    processor(
        "detail",
        |near: QueryRun<'_, Seen, (With<Near>, Agent)>,
         far: QueryRun<'_, Seen, (With<Far>, Agent)>,
         hidden: QueryRun<'_, Seen, (With<Hidden>, Agent)>,
         commands: ParallelCommands,
         camera: &Camera,
         time: &Time|
         -> Result<(), WorldError> {
            let tick = time.tick;
            let due = move |chunk: &ChunkView<'_>| (tick + chunk.sort_key()).is_multiple_of(EVERY);
            near.filter_chunks(due)
                .par_try_for_each_chunk(|chunk, (entities, positions)| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, position) in entities.iter().zip(positions) {
                        let distance = camera.distance_squared(position.0);
                        if distance > square(FAR * HOLD) {
                            commands.swap::<(Near,), _>(entity, (Hidden,))?;
                        } else if distance > square(NEAR * HOLD) {
                            commands.swap::<(Near,), _>(entity, (Far,))?;
                        }
                    }
                    Ok::<(), WorldError>(())
                })?;
            far.filter_chunks(due)
                .par_try_for_each_chunk(|chunk, (entities, positions)| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, position) in entities.iter().zip(positions) {
                        let distance = camera.distance_squared(position.0);
                        if distance > square(FAR * HOLD) {
                            commands.swap::<(Far,), _>(entity, (Hidden,))?;
                        } else if distance < square(NEAR) {
                            commands.swap::<(Far,), _>(entity, (Near,))?;
                        }
                    }
                    Ok::<(), WorldError>(())
                })?;
            hidden
                .filter_chunks(due)
                .par_try_for_each_chunk(|chunk, (entities, positions)| {
                    let mut commands = commands.open_at(chunk.sort_key());
                    for (&entity, position) in entities.iter().zip(positions) {
                        let distance = camera.distance_squared(position.0);
                        if distance < square(NEAR) {
                            commands.swap::<(Hidden,), _>(entity, (Near,))?;
                        } else if distance < square(FAR) {
                            commands.swap::<(Hidden,), _>(entity, (Far,))?;
                        }
                    }
                    Ok(())
                })
        },
    )
    .phase(Phase::PostPhysics)
    .run_if_any_match()
}
