//! [`sweep`]: who stands above whom in each column, so that few edges cross.
//!
//! Source: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System
//! Structures" (1981): columns are sorted by where their neighbours stand on average, forwards and
//! backwards, and the best that was seen is kept.

use crate::processor::picture::columns::Columns;

/// Walks forwards and backwards; and how many where there are so many links that nobody follows them all.
const SWEEPS: usize = 12;
const FEW_SWEEPS: usize = 4;
const MANY_LINKS: usize = 20_000;

/// For each item its neighbours in the column before and in the one behind.
pub(super) struct Neighbours {
    pub(super) before: Vec<Vec<usize>>,
    pub(super) behind: Vec<Vec<usize>>,
}

impl Neighbours {
    pub(super) fn new(columns: &Columns) -> Self {
        let none = vec![Vec::new(); columns.items.len()];
        let (mut before, mut behind) = (none.clone(), none);
        for (from, to) in columns.links() {
            behind[from].push(to);
            before[to].push(from);
        }
        Self { before, behind }
    }
}

/// Sorts the items of each column.
pub(super) fn sweep(columns: &mut Columns, neighbours: &Neighbours) {
    let mut place = vec![0; columns.items.len()];
    let order = |columns: &Columns| -> Vec<Vec<usize>> {
        let items = columns.columns.iter().map(|column| column.items.clone());
        items.collect()
    };
    let mut best = (crossings(columns, neighbours, &mut place), order(columns));
    let links: usize = neighbours.behind.iter().map(Vec::len).sum();
    let sweeps = match links > MANY_LINKS {
        true => FEW_SWEEPS,
        false => SWEEPS,
    };
    for number in 0..sweeps {
        let count = columns.columns.len();
        for at in 1..count {
            if number % 2 == 0 {
                sort(columns, at, &neighbours.before, &place);
                note(columns, at, &mut place);
            } else {
                sort(columns, count - 1 - at, &neighbours.behind, &place);
                note(columns, count - 1 - at, &mut place);
            }
        }
        let crossings = crossings(columns, neighbours, &mut place);
        if crossings < best.0 {
            best = (crossings, order(columns));
        }
    }
    for (column, items) in columns.columns.iter_mut().zip(best.1) {
        column.items = items;
    }
}

/// Notes where the items of a column stand.
fn note(columns: &Columns, at: usize, place: &mut [usize]) {
    for (row, &item) in columns.columns[at].items.iter().enumerate() {
        place[item] = row;
    }
}

/// Sorts a column by where neighbours stand on average; what has none stays where it is.
fn sort(columns: &mut Columns, at: usize, neighbours: &[Vec<usize>], place: &[usize]) {
    let mean = |item: usize, row: usize| match neighbours[item].as_slice() {
        [] => row as f64,
        near => near.iter().map(|&near| place[near] as f64).sum::<f64>() / near.len() as f64,
    };
    let items = columns.columns[at].items.iter().enumerate();
    let mut keyed: Vec<(f64, usize)> = items.map(|(row, &item)| (mean(item, row), item)).collect();
    keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
    columns.columns[at].items = keyed.into_iter().map(|(_, item)| item).collect();
}

/// How many pairs of links cross. O(links · log items).
fn crossings(columns: &Columns, neighbours: &Neighbours, place: &mut [usize]) -> usize {
    (0..columns.columns.len()).for_each(|at| note(columns, at, place));
    let mut crossings = 0;
    let mut met = Counts::default();
    for (column, next) in columns.columns.iter().zip(columns.columns.iter().skip(1)) {
        // Where the links lead, from those of the topmost item on: each pair in the wrong order is a crossing.
        met.begin(next.items.len());
        for &item in &column.items {
            let behind = &neighbours.behind[item];
            let lower = behind.iter().map(|&to| met.above(place[to]));
            crossings += lower.sum::<usize>();
            behind.iter().for_each(|&to| met.add(place[to]));
        }
    }
    crossings
}

/// How often each row was met, so that those above one are counted in logarithmic time.
///
/// Source: Fenwick, "A New Data Structure for Cumulative Frequency Tables" (1994).
#[derive(Default)]
struct Counts {
    sums: Vec<usize>,
    all: usize,
}

impl Counts {
    /// None of so many rows was met.
    fn begin(&mut self, rows: usize) {
        self.sums.clear();
        self.sums.resize(rows + 1, 0);
        self.all = 0;
    }

    fn add(&mut self, row: usize) {
        self.all += 1;
        let mut at = row + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// Of rows with higher numbers.
    fn above(&self, row: usize) -> usize {
        let (mut upto, mut at) = (0, row + 1);
        while at > 0 {
            upto += self.sums[at];
            at &= at - 1;
        }
        self.all - upto
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn rows_with_higher_numbers_are_counted() {
        let mut counts = Counts::default();
        for rows in [1, 7, 64] {
            counts.begin(rows);
            let mut met = Vec::new();
            for n in 0..200 {
                let row = (n * 37 + n / 3) % rows;
                let above = met.iter().filter(|&&other| other > row).count();
                assert_eq!(counts.above(row), above);
                counts.add(row);
                met.push(row);
            }
        }
    }
}
