//! `IndexMap`: where an entity allocator has placed what is alive, as numbers and as a grid.

use crate::trace::replay::Placement;

/// Slots of a data block.
pub(super) const BLOCK: usize = 8_192;
/// Slots of a claim word.
const WORD: usize = 64;

/// One allocator's index at the end of a run.
#[derive(Debug)]
pub(super) struct IndexMap {
    pub(super) name: &'static str,
    placement: Placement,
}

/// What can be said of an index in numbers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct IndexFigures {
    pub(super) live: usize,
    /// Blocks that ids were ever handed out of.
    pub(super) blocks: usize,
    /// Live ids in the slots of those blocks.
    pub(super) occupancy: f64,
    /// Runs of free slots below the highest live one.
    pub(super) holes: usize,
    /// Words of 64 slots with a live id, by the fewest that the live ids would fit in.
    pub(super) spread: f64,
    pub(super) highest: u32,
    pub(super) retired: Option<usize>,
}

/// A picture of an index: rows of cells, each of `cell_slots` slots.
#[derive(Debug, PartialEq)]
pub(super) struct Grid {
    /// A power of two.
    pub(super) cell_slots: usize,
    pub(super) rows: Vec<Row>,
}

/// A row of a [`Grid`].
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) first_slot: usize,
    /// The row is not the one after the last: blocks that were never touched lie between.
    pub(super) after_gap: bool,
    /// Live ids in each cell; `None` where the block was never touched.
    pub(super) cells: Vec<Option<u32>>,
}

impl IndexMap {
    pub(super) fn new(name: &'static str, placement: Placement) -> Self {
        Self { name, placement }
    }

    pub(super) fn figures(&self) -> IndexFigures {
        let live = &self.placement.live;
        let blocks = self
            .placement
            .touched
            .iter()
            .filter(|&&touched| touched)
            .count();
        let starts_hole = |(&slot, expected): (&u32, u32)| slot != expected;
        let after_each = std::iter::once(0).chain(live.iter().map(|slot| slot + 1));
        let mut words = live
            .iter()
            .map(|&slot| slot as usize / WORD)
            .collect::<Vec<_>>();
        words.dedup();
        let per = |part: usize, whole: usize| {
            if whole == 0 {
                0.0
            } else {
                part as f64 / whole as f64
            }
        };
        IndexFigures {
            live: live.len(),
            blocks,
            occupancy: per(live.len(), blocks * BLOCK),
            holes: live
                .iter()
                .zip(after_each)
                .filter(|&pair| starts_hole(pair))
                .count(),
            spread: per(words.len(), live.len().div_ceil(WORD)),
            highest: live.last().copied().unwrap_or(0),
            retired: self.placement.retired,
        }
    }

    /// The touched blocks as rows of `columns` cells (a power of two), as fine as `most_rows` allow.
    pub(super) fn grid(&self, columns: usize, most_rows: usize) -> Grid {
        debug_assert!(columns.is_power_of_two());
        let touched = &self.placement.touched;
        let mut cell_slots = 1;
        while self.rows_of(columns * cell_slots).count() > most_rows.max(1) {
            cell_slots *= 2;
        }
        let row_slots = columns * cell_slots;
        let mut live = self
            .placement
            .live
            .iter()
            .map(|&slot| slot as usize)
            .peekable();
        let mut next_row = 0;
        let rows = self.rows_of(row_slots).map(|row| {
            let first_slot = row * row_slots;
            let cell = |column: usize| {
                let start = first_slot + column * cell_slots;
                let end = start + cell_slots;
                let blocks = start / BLOCK..end.div_ceil(BLOCK).min(touched.len());
                let mut alive = 0;
                while live.next_if(|&slot| slot < end).is_some() {
                    alive += 1;
                }
                touched[blocks].contains(&true).then_some(alive)
            };
            let after_gap = row != next_row;
            next_row = row + 1;
            Row {
                first_slot,
                after_gap,
                cells: (0..columns).map(cell).collect(),
            }
        });
        Grid {
            cell_slots,
            rows: rows.collect(),
        }
    }

    /// The numbers of the rows of `row_slots` slots in which a block was touched.
    fn rows_of(&self, row_slots: usize) -> impl Iterator<Item = usize> + '_ {
        let blocks = self.placement.touched.iter().enumerate();
        let rows_of_block = move |(block, &touched): (usize, &bool)| {
            let first = block * BLOCK / row_slots;
            let last = ((block + 1) * BLOCK - 1) / row_slots;
            if touched { first..last + 1 } else { 0..0 }
        };
        let mut before = None;
        // A row may hold several blocks: name it once.
        blocks
            .flat_map(rows_of_block)
            .filter(move |&row| before.replace(row) != Some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(live: &[u32], touched_blocks: &[usize]) -> IndexMap {
        let mut touched = vec![false; 16];
        for &block in touched_blocks {
            touched[block] = true;
        }
        let placement = Placement {
            live: live.to_vec(),
            touched,
            retired: None,
        };
        IndexMap::new("test", placement)
    }

    #[test]
    fn the_figures_count_holes_and_words() {
        let figures = map(&[0, 1, 3, 64, 65, 8_192], &[0, 1]).figures();
        assert_eq!(
            (figures.live, figures.blocks, figures.highest),
            (6, 2, 8_192)
        );
        // Between 1 and 3, 3 and 64, 65 and 8,192.
        assert_eq!(figures.holes, 3);
        assert_eq!(figures.spread, 3.0);
        assert_eq!(map(&[5], &[0]).figures().holes, 1);
        assert_eq!(map(&[], &[]).figures().occupancy, 0.0);
    }

    #[test]
    fn a_grid_is_as_fine_as_its_rows_allow() {
        let block = map(&[0, 1, 8_191], &[0]);
        let grid = block.grid(64, 16);
        assert_eq!((grid.cell_slots, grid.rows.len()), (8, 16));
        assert_eq!(grid.rows[0].cells[0], Some(2));
        assert_eq!(grid.rows[15].cells[63], Some(1));
        assert_eq!(block.grid(64, 1).cell_slots, 128);
        assert_eq!(block.grid(64, 1_000).cell_slots, 1);
    }

    #[test]
    fn blocks_that_were_never_touched_are_left_out() {
        let far = map(&[0, 40_960], &[0, 5]);
        let grid = far.grid(64, 2);
        let starts: Vec<_> = grid
            .rows
            .iter()
            .map(|row| (row.first_slot, row.after_gap))
            .collect();
        assert_eq!(starts, [(0, false), (40_960, true)]);
        // All six blocks in one row, two cells a block: the untouched ones show as such.
        let cells = &far.grid(16, 1).rows[0].cells;
        assert_eq!(cells.iter().flatten().sum::<u32>(), 2);
        assert_eq!(cells.iter().filter(|cell| cell.is_some()).count(), 4);
    }

    #[test]
    fn every_live_id_is_in_one_cell() {
        let live: Vec<u32> = (0..100_000).filter(|slot| slot % 7 != 3).collect();
        let all = map(&live, &(0..13).collect::<Vec<_>>());
        for (columns, rows) in [(16, 4), (64, 24), (128, 64)] {
            let grid = all.grid(columns, rows);
            assert!(grid.rows.len() <= rows);
            let counted: u32 = grid
                .rows
                .iter()
                .flat_map(|row| row.cells.iter().flatten())
                .sum();
            assert_eq!(counted as usize, live.len());
        }
    }
}
