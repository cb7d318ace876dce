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

/// What the components of `schedule` begin with: `'A'` to `'E'`.
#[must_use]
pub const fn letter(letter: char) -> f32 {
    (letter as u32 - 'A' as u32) as f32
}

/// A matrix that turns the first axis to the second; by columns. It and its inverse are exact.
#[must_use]
pub const fn quarter_turn() -> [f32; 16] {
    let mut matrix = transform();
    matrix[0] = 0.0;
    matrix[1] = 1.0;
    matrix[4] = -1.0;
    matrix[5] = 0.0;
    matrix
}

/// What `heavy_compute` does to an entity: inverts the matrix 100 times, and turns the position by it.
///
/// Never inlined: it is the same instructions for everybody.
#[inline(never)]
pub fn compute(matrix: &mut [f32; 16], position: &mut [f32; 3]) {
    for _ in 0..100 {
        *matrix = inverse(matrix);
    }
    let [x, y, z] = *position;
    *position = [0, 1, 2].map(|row| matrix[row] * x + matrix[4 + row] * y + matrix[8 + row] * z);
}

/// The inverse of a matrix that has one, by cofactors.
#[inline(always)]
fn inverse(m: &[f32; 16]) -> [f32; 16] {
    // Of the upper two and the lower two rows: the minors of each two columns.
    let upper = |a: usize, b: usize| m[4 * a] * m[4 * b + 1] - m[4 * b] * m[4 * a + 1];
    let lower = |a: usize, b: usize| m[4 * a + 2] * m[4 * b + 3] - m[4 * b + 2] * m[4 * a + 3];
    let [s0, s1, s2] = [upper(0, 1), upper(0, 2), upper(0, 3)];
    let [s3, s4, s5] = [upper(1, 2), upper(1, 3), upper(2, 3)];
    let [c0, c1, c2] = [lower(0, 1), lower(0, 2), lower(0, 3)];
    let [c3, c4, c5] = [lower(1, 2), lower(1, 3), lower(2, 3)];
    let scale = 1.0 / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
    let at = |row: usize, column: usize| m[4 * column + row];
    let rows = [
        [
            at(1, 1) * c5 - at(1, 2) * c4 + at(1, 3) * c3,
            -at(0, 1) * c5 + at(0, 2) * c4 - at(0, 3) * c3,
            at(3, 1) * s5 - at(3, 2) * s4 + at(3, 3) * s3,
            -at(2, 1) * s5 + at(2, 2) * s4 - at(2, 3) * s3,
        ],
        [
            -at(1, 0) * c5 + at(1, 2) * c2 - at(1, 3) * c1,
            at(0, 0) * c5 - at(0, 2) * c2 + at(0, 3) * c1,
            -at(3, 0) * s5 + at(3, 2) * s2 - at(3, 3) * s1,
            at(2, 0) * s5 - at(2, 2) * s2 + at(2, 3) * s1,
        ],
        [
            at(1, 0) * c4 - at(1, 1) * c2 + at(1, 3) * c0,
            -at(0, 0) * c4 + at(0, 1) * c2 - at(0, 3) * c0,
            at(3, 0) * s4 - at(3, 1) * s2 + at(3, 3) * s0,
            -at(2, 0) * s4 + at(2, 1) * s2 - at(2, 3) * s0,
        ],
        [
            -at(1, 0) * c3 + at(1, 1) * c1 - at(1, 2) * c0,
            at(0, 0) * c3 - at(0, 1) * c1 + at(0, 2) * c0,
            -at(3, 0) * s3 + at(3, 1) * s1 - at(3, 2) * s0,
            at(2, 0) * s3 - at(2, 1) * s1 + at(2, 2) * s0,
        ],
    ];
    core::array::from_fn(|place| rows[place % 4][place / 4] * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_the_inverse_is_the_matrix() {
        let matrix = [
            2.0, 0.0, 1.0, 3.0, 1.0, 4.0, 0.0, 1.0, 0.0, 2.0, 5.0, 1.0, 1.0, 0.0, 2.0, 6.0_f32,
        ];
        let inverse_of = inverse(&matrix);
        for row in 0..4 {
            for column in 0..4 {
                let terms = (0..4).map(|k| matrix[4 * k + row] * inverse_of[4 * column + k]);
                let one: f32 = if row == column { 1.0 } else { 0.0 };
                assert!((terms.sum::<f32>() - one).abs() < 1e-5, "{row}, {column}");
            }
        }
    }

    #[test]
    fn a_quarter_turn_is_exact() {
        let (mut matrix, mut position) = (quarter_turn(), [3.0, 0.0, 0.0]);
        for expected in [[0.0, 3.0], [-3.0, 0.0], [0.0, -3.0], [3.0, 0.0]] {
            compute(&mut matrix, &mut position);
            assert_eq!(matrix, quarter_turn());
            assert_eq!(position[..2], expected);
        }
    }
}
