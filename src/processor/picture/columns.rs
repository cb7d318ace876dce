//! `Columns`: which vertices of a phase stand side by side, and which way edges take through the columns.
//!
//! A vertex stands one column behind the last one that comes before it. An edge over several columns *passes* through
//! those between, where it has a place of its own among the boxes. Edges that leave one vertex for the same
//! reason share their passes, as far as they go together: they are one *bundle*.

use std::collections::BTreeMap;

use crate::processor::picture::drawn::Drawn;
use crate::processor::picture::{Picture, Shape, Tie};

/// More boxes than that are put side by side instead.
const MOST_ROWS: usize = 14;

/// What has a place in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A vertex of the picture.
    Vertex(usize),
    /// A bundle on its way.
    Pass,
}

/// Edges from one vertex that look alike.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) tie: Tie,
    pub(super) reason: String,
    /// From items to items of the next column.
    pub(super) links: Vec<(usize, usize)>,
}

/// What edges of one bundle have in common: where they come from, what they are, and why.
type Alike<'a> = (usize, Tie, &'a str);

/// The column and the item of a vertex.
type Spot = (usize, usize);

/// A column.
#[derive(Debug, Default)]
pub(super) struct Column {
    /// From top to bottom.
    pub(super) items: Vec<usize>,
    /// Commands are flushed before it.
    pub(super) flush: bool,
}

/// The columns of a phase.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) items: Vec<Item>,
    pub(super) columns: Vec<Column>,
    pub(super) bundles: Vec<Bundle>,
}

impl Columns {
    /// The columns of a phase. Their items stand as they came.
    pub(super) fn new(picture: &Picture, drawn: &Drawn, phase: u8) -> Self {
        let mut columns = Self::default();
        let place = columns.set_vertices(picture, drawn, phase);
        columns.set_edges(drawn, &place);
        columns
    }

    /// Puts the vertices into columns; the column and the item of each.
    fn set_vertices(
        &mut self,
        picture: &Picture,
        drawn: &Drawn,
        phase: u8,
    ) -> BTreeMap<usize, Spot> {
        let mut place = BTreeMap::new();
        for (vertices, flush) in layers(picture, drawn, phase) {
            let parts = vertices.len().div_ceil(MOST_ROWS);
            for (number, part) in vertices.chunks(vertices.len().div_ceil(parts)).enumerate() {
                let column = self.columns.len();
                let items = part.iter().map(|&vertex| {
                    place.insert(vertex, (column, self.items.len()));
                    self.items.push(Item::Vertex(vertex));
                    self.items.len() - 1
                });
                let items = items.collect();
                let flush = flush && number == 0;
                self.columns.push(Column { items, flush });
            }
        }
        place
    }

    /// Leads the edges through the columns.
    fn set_edges(&mut self, drawn: &Drawn, place: &BTreeMap<usize, Spot>) {
        let mut alike: BTreeMap<Alike<'_>, Vec<Spot>> = BTreeMap::new();
        for edge in &drawn.edges {
            if let Some(&to) = place.get(&edge.to) {
                let key = (edge.from, edge.tie, edge.reason.as_str());
                alike.entry(key).or_default().push(to);
            }
        }
        for ((from, tie, reason), mut targets) in alike {
            targets.sort_unstable();
            let (mut column, mut at) = place[&from];
            let mut links = Vec::with_capacity(targets.len());
            for (target, item) in targets {
                while column + 1 < target {
                    column += 1;
                    let pass = self.items.len();
                    self.items.push(Item::Pass);
                    self.columns[column].items.push(pass);
                    links.push((at, pass));
                    at = pass;
                }
                links.push((at, item));
            }
            self.bundles.push(Bundle {
                tie,
                reason: reason.into(),
                links,
            });
        }
    }

    /// Every link, in no order.
    pub(super) fn links(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.bundles
            .iter()
            .flat_map(|bundle| bundle.links.iter().copied())
    }
}

/// The vertices of a phase by the longest way to each, and whether commands are flushed before. What is exclusive,
/// and what comes after it or after a flush, comes after all before.
fn layers(picture: &Picture, drawn: &Drawn, phase: u8) -> Vec<(Vec<usize>, bool)> {
    let mut layers: Vec<(Vec<usize>, bool)> = Vec::new();
    let mut layer_of = vec![0_usize; picture.vertices.len()];
    let mut edges = drawn.edges.iter().peekable();
    // The stage, the first layer of the segment, and whether it is that of an exclusive one.
    let (mut stage, mut first, mut alone) = (0, 0, false);
    let all = picture.vertices.iter().enumerate();
    for (number, vertex) in
        all.filter(|(number, vertex)| drawn.vertices[*number] && vertex.phase == phase)
    {
        let exclusive = vertex.shape == Shape::Exclusive;
        let flush = vertex.stage != stage;
        if flush || exclusive || alone {
            first = layers.len();
            (stage, alone) = (vertex.stage, exclusive);
        }
        let layer = layer_of[number].max(first);
        if layer == layers.len() {
            layers.push((Vec::new(), flush));
        }
        layers[layer].0.push(number);
        // Edges stand in the order of where they come from.
        while let Some(edge) = edges.next_if(|edge| edge.from <= number) {
            if edge.from == number {
                let behind = &mut layer_of[edge.to];
                *behind = (*behind).max(layer + 1);
            }
        }
    }
    layers
}
