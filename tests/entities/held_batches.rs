//! Batches that are held for a while, a random one of which dies and is made anew: each lies in few pieces, whatever the
//! holes are that others have left, and so takes few read-modify-writes.

use crate::support::Dice;
use megachunk::entity::{Entity, EntityIndex};

/// Batches that live at one time.
const HELD: usize = 20;
/// So often one of them is made anew.
const ROUNDS: usize = 2_000;

/// Handles that stand side by side, of which the slots do too.
fn pieces(batch: &[Entity]) -> usize {
    batch.chunk_by(|a, b| a.index() + 1 == b.index()).count()
}

/// Batches of `size`, after many of them have died and were made anew.
fn held(index: &EntityIndex, dice: &mut Dice, size: usize) -> Vec<Vec<Entity>> {
    let mut held = vec![vec![Entity::PLACEHOLDER; size]; HELD];
    for batch in &mut held {
        index.create_slice(batch).unwrap();
    }
    for _ in 0..ROUNDS {
        renew(index, &mut held[dice.below(HELD)]);
    }
    held
}

fn renew(index: &EntityIndex, batch: &mut [Entity]) {
    assert!(index.destroy_slice(batch).is_clean());
    index.create_slice(batch).unwrap();
}

#[test]
fn a_batch_lies_in_few_pieces_where_what_lives_just_fits_spans_of_slots() {
    // 20 times 100 are 48 less than the slots of a span, 20 times 200 are 96 less than those of two.
    for (size, most) in [(100, 5), (200, 4), (300, 8)] {
        let index = EntityIndex::new();
        let held = held(&index, &mut Dice::new(1), size);
        let pieces: usize = held.iter().map(|batch| pieces(batch)).sum();
        assert!(pieces <= HELD * most, "{size}: {pieces} pieces of {HELD}");
        assert_eq!(index.count(), HELD * size);
        index.check().unwrap();
    }
}

#[cfg(feature = "probe")]
#[test]
fn a_batch_takes_few_read_modify_writes_where_what_lives_just_fits_spans_of_slots() {
    for size in [100_usize, 200, 300] {
        let index = EntityIndex::new();
        let dice = &mut Dice::new(1);
        let mut held = held(&index, dice, size);
        let rounds = 100;
        let counts = megachunk::sync::probe::measure(|| {
            for _ in 0..rounds {
                renew(&index, &mut held[dice.below(HELD)]);
            }
        });
        // A death for each group of 16, and what comes and goes with a piece.
        let most = rounds * (size.div_ceil(16) + 3 * (size / 64 + 2));
        assert!(counts.rmw <= most as u64, "{size}: {counts:?}, not {most}");
    }
}
