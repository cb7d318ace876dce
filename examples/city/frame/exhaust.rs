//! Clouds of exhaust: they drift, and are gone.

use megachunk::prelude::*;

use super::super::agent::{Exhaust, Position};

/// For how long a cloud is seen, in seconds.
pub(super) const LIFE: f32 = 1.5;
/// The wind, in metres a second.
const WIND: [f32; 2] = [0.7, 0.3];

pub(super) fn fade() -> ProcessorBuilder {
    processor(
        "fade",
        |mut clouds: QueryRun<'_, (Entity, &mut Position, &mut Exhaust)>,
         commands: ParallelCommands,
         time: &Time| {
            let step = time.seconds();
            // All rows of a chunk: nothing of a cloud can be switched off.
            clouds.par_for_each_chunk(|chunk, (entities, positions, clouds)| {
                let mut commands = commands.open_at(chunk.sort_key());
                for ((&entity, position), cloud) in entities.iter().zip(positions).zip(clouds) {
                    position.0[0] += WIND[0] * step;
                    position.0[1] += WIND[1] * step;
                    cloud.0 -= step;
                    if cloud.0 <= 0.0 {
                        commands.destroy(entity);
                    }
                }
            });
        },
    )
    .phase(Phase::EndPhysics)
}
