//! What the components of every contender hold: the same numbers in the same places.
//!
//! The components are those of `ecs_bench_suite`: a matrix of 64 bytes and three vectors of 12.
//! Each contender has types of its own around these arrays, because some want a trait implemented.

/// The matrix: the same for all entities.
#[must_use]
#[inline(always)]
pub const fn transform() -> [f32; 16] {
    let mut matrix = [0.0; 16];
    matrix[0] = 1.0;
    matrix[5] = 1.0;
    matrix[10] = 1.0;
    matrix[15] = 1.0;
    matrix
}

/// The position of entity `number`: it gives away a value that lies in the wrong place. Exact for
/// 16 million entities and steps together.
#[must_use]
#[inline(always)]
pub const fn position(number: u32) -> [f32; 3] {
    [number as f32, 0.0, 0.0]
}

/// The rotation: the same for all entities.
#[must_use]
#[inline(always)]
pub const fn rotation() -> [f32; 3] {
    [1.0, 0.0, 0.0]
}

/// The velocity: one step along the first axis.
#[must_use]
#[inline(always)]
pub const fn velocity() -> [f32; 3] {
    [1.0, 0.0, 0.0]
}

/// The component that is added and removed.
pub const EXTRA: f32 = 3.0;

/// The component of all entities of `fragmented_iter`, doubled in each round.
pub const DATA: f32 = 1.0;

/// A component that is only there to make an archetype.
pub const KIND: f32 = 0.0;

/// One step: what every contender's iteration does to an entity.
#[inline(always)]
pub fn step(position: &mut [f32; 3], velocity: &[f32; 3]) {
    position[0] += velocity[0];
    position[1] += velocity[1];
    position[2] += velocity[2];
}
