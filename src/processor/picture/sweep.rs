//! [`sweep`]: who stands above whom in each column, so that few edges cross.
//!
//! Source: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures" (1981): columns are
//! sorted by where their neighbours stand on average, forwards and backwards, and the best that was seen is kept.

use crate::processor::picture::columns::Columns;

/// Walks forwards and backwards.
const SWEEPS: usize = 12;

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
    for number in 0..SWEEPS {
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

/// Sorts a column by where neighbours stand on average; who has none stays where he is.
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

/// How many pairs of links cross.
fn crossings(columns: &Columns, neighbours: &Neighbours, place: &mut [usize]) -> usize {
    (0..columns.columns.len()).for_each(|at| note(columns, at, place));
    let mut crossings = 0;
    for column in &columns.columns {
        // Where the links lead, from those of the topmost item on: each pair in the wrong order is a crossing.
        let mut met: Vec<usize> = Vec::new();
        for &item in &column.items {
            let known = met.len();
            for &to in &neighbours.behind[item] {
                let lower = met[..known].iter().filter(|&&other| other > place[to]);
                crossings += lower.count();
                met.push(place[to]);
            }
        }
    }
    crossings
}
