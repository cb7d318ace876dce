//! `Placed`: where everything of a phase is drawn.

use crate::processor::picture::columns::{Columns, Item};
use crate::processor::picture::drawn::Drawn;
use crate::processor::picture::sweep::{Neighbours, sweep};
use crate::processor::picture::{Picture, Shape};

/// Passes over the columns that move items towards their neighbours.
const ROUNDS: usize = 24;
/// Between two boxes, and between whatever else.
const BOX_GAP: f64 = 12.0;
const PASS_GAP: f64 = 7.0;
/// How tall a box is without and with the line that names its group, and how wide a joint is.
const BOX: f64 = 24.0;
const BOX_WITH_GROUP: f64 = 36.0;
const DOT: f64 = 8.0;
/// Letters that are drawn of a name.
const LETTERS: usize = 34;

/// A rectangle, by its left upper corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rectangle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rectangle {
    pub(super) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(super) fn middle(self) -> f64 {
        self.y + self.height / 2.0
    }
}

/// A phase with places for all its items, from (0, 0) on.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) columns: Columns,
    /// For each item what it takes up: its column's width.
    pub(super) items: Vec<Rectangle>,
    /// The middle of each flush.
    pub(super) flushes: Vec<f64>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Placed {
    pub(super) fn new(picture: &Picture, drawn: &Drawn, phase: u8) -> Self {
        let mut columns = Columns::new(picture, drawn, phase);
        let neighbours = Neighbours::new(&columns);
        sweep(&mut columns, &neighbours);
        let sizes: Vec<(f64, f64)> = columns
            .items
            .iter()
            .map(|&item| size(picture, item))
            .collect();
        let middles = middles(&columns, &neighbours, &sizes);
        let mut placed = Self {
            items: vec![Rectangle::default(); columns.items.len()],
            columns,
            flushes: Vec::new(),
            width: 0.0,
            height: 0.0,
        };
        placed.set(&sizes, &middles);
        placed
    }

    /// Puts the columns side by side.
    fn set(&mut self, sizes: &[(f64, f64)], middles: &[f64]) {
        let numbers = 0..self.items.len();
        let tops = numbers.map(|item| middles[item] - sizes[item].1 / 2.0);
        let top = tops.fold(f64::INFINITY, f64::min);
        // How many links there are in front of each column.
        let mut links = vec![0_usize; self.items.len()];
        for (_, to) in self.columns.links() {
            links[to] += 1;
        }
        let mut x = 0.0;
        for (number, column) in self.columns.columns.iter().enumerate() {
            if number > 0 {
                let count: usize = column.items.iter().map(|&item| links[item]).sum();
                let gap = 34.0 + 3.0 * count.min(18) as f64 + if column.flush { 16.0 } else { 0.0 };
                if column.flush {
                    self.flushes.push(x + gap / 2.0);
                }
                x += gap;
            }
            let widths = column.items.iter().map(|&item| sizes[item].0);
            let width = widths.fold(0.0, f64::max);
            for &item in &column.items {
                let height = sizes[item].1;
                let y = middles[item] - height / 2.0 - top;
                self.items[item] = Rectangle {
                    x,
                    y,
                    width,
                    height,
                };
                self.height = self.height.max(y + height);
            }
            x += width;
        }
        self.width = x;
    }
}

/// A name as it is drawn: of a long one the end.
pub(super) fn shown(name: &str) -> String {
    let letters = name.chars().count();
    if letters <= LETTERS {
        return name.into();
    }
    let end = name.chars().skip(letters - LETTERS + 1);
    core::iter::once('…').chain(end).collect()
}

/// Width and height of an item.
fn size(picture: &Picture, item: Item) -> (f64, f64) {
    let Item::Vertex(vertex) = item else {
        return (0.0, 0.0);
    };
    let vertex = &picture.vertices[vertex];
    if vertex.shape == Shape::Joint {
        return (DOT, DOT);
    }
    let letters = |text: &str| shown(text).chars().count() as f64;
    let (name, group) = (letters(&vertex.label) * 7.2, letters(&vertex.group) * 6.1);
    let height = if vertex.group.is_empty() {
        BOX
    } else {
        BOX_WITH_GROUP
    };
    (name.max(group).max(26.0) + 18.0, height)
}

/// Where the middle of each item is, from top to bottom: near its neighbours, and clear of those in its column.
fn middles(columns: &Columns, neighbours: &Neighbours, sizes: &[(f64, f64)]) -> Vec<f64> {
    let is_pass = |item: usize| columns.items[item] == Item::Pass;
    let distance = |upper: usize, lower: usize| {
        let gap = if is_pass(upper) || is_pass(lower) {
            PASS_GAP
        } else {
            BOX_GAP
        };
        (sizes[upper].1 + sizes[lower].1) / 2.0 + gap
    };
    let mut middles = vec![0.0; columns.items.len()];
    for column in &columns.columns {
        for pair in column.items.windows(2) {
            middles[pair[1]] = middles[pair[0]] + distance(pair[0], pair[1]);
        }
        // All columns begin round one line.
        let half = column.items.last().map_or(0.0, |&last| middles[last] / 2.0);
        column.items.iter().for_each(|&item| middles[item] -= half);
    }
    for round in 0..ROUNDS {
        let count = columns.columns.len();
        for at in 0..count {
            let at = if round % 2 == 0 { at } else { count - 1 - at };
            let items = &columns.columns[at].items;
            let wanted = items.iter().map(|&item| {
                let near = neighbours.before[item]
                    .iter()
                    .chain(&neighbours.behind[item]);
                // What passes is to go straight on.
                let weight = |other: usize| {
                    if is_pass(item) && is_pass(other) {
                        4.0
                    } else {
                        1.0
                    }
                };
                let (sum, weights) = near.fold((0.0, 0.0), |(sum, weights), &other| {
                    (
                        sum + weight(other) * middles[other],
                        weights + weight(other),
                    )
                });
                if weights > 0.0 {
                    (sum / weights, weights)
                } else {
                    (middles[item], 0.1)
                }
            });
            let wanted: Vec<(f64, f64)> = wanted.collect();
            let distances = items.windows(2).map(|pair| distance(pair[0], pair[1]));
            let distances: Vec<f64> = distances.collect();
            for (&item, middle) in items.iter().zip(spread(&wanted, &distances)) {
                middles[item] = middle;
            }
        }
    }
    middles
}

/// The places nearest to those that are wanted, by weighted squares, in order and so far from each other: pool
/// adjacent violators.
fn spread(wanted: &[(f64, f64)], distances: &[f64]) -> Vec<f64> {
    // With the distances taken off, places only have to be in order: those that are not share their mean.
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(wanted.len());
    let mut offsets = Vec::with_capacity(wanted.len());
    let mut offset = 0.0;
    for (at, &(place, weight)) in wanted.iter().enumerate() {
        if at > 0 {
            offset += distances[at - 1];
        }
        offsets.push(offset);
        let mut pool = (place - offset, weight, 1);
        while let Some(&(upper, upper_weight, count)) = pools.last()
            && upper > pool.0
        {
            pools.pop();
            let both = upper_weight + pool.1;
            let mean = (upper * upper_weight + pool.0 * pool.1) / both;
            pool = (mean, both, count + pool.2);
        }
        pools.push(pool);
    }
    let places = pools
        .iter()
        .flat_map(|&(place, _, count)| core::iter::repeat_n(place, count));
    places
        .zip(offsets)
        .map(|(place, offset)| place + offset)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_as_wanted_but_clear_of_each_other() {
        assert_eq!(spread(&[(0.0, 1.0), (50.0, 1.0)], &[10.0]), [0.0, 50.0]);
        assert_eq!(spread(&[(5.0, 1.0), (5.0, 1.0)], &[10.0]), [0.0, 10.0]);
        assert_eq!(spread(&[(9.0, 3.0), (1.0, 1.0)], &[4.0]), [6.0, 10.0]);
        assert_eq!(spread(&[], &[]), [0.0; 0]);
    }

    #[test]
    fn of_a_long_name_the_end_is_shown() {
        assert_eq!(shown("Move"), "Move");
        let shown = shown(&format!("{}::Move", "game".repeat(20)));
        assert_eq!(shown.chars().count(), LETTERS);
        assert!(shown.starts_with('…') && shown.ends_with("::Move"));
    }
}
