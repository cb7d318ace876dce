//! [`order`]: the line in which processors stand, and its edges.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::processor::Phase;
use crate::processor::solver::cycle::cycle;
use crate::processor::solver::graph::{Builder, Graph};
use crate::processor::solver::names::{Named, Names};
use crate::processor::solver::{GroupOrder, Node, Relation, SolveError};

/// What a vertex of the line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VertexKind {
    /// The processor of this node.
    Processor(u32),
    /// A joint: the members of this group follow, those of one phase.
    Begin(u32),
    /// A joint: the members of this group came before.
    End(u32),
    /// A joint: an optional name that nobody has.
    Ghost(u32),
}

impl VertexKind {
    fn named(self) -> Named {
        match self {
            Self::Processor(number) => Named::Processor(number),
            Self::Begin(number) | Self::End(number) => Named::Group(number),
            Self::Ghost(number) => Named::Ghost(number),
        }
    }
}

/// A place in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vertex {
    pub(crate) kind: VertexKind,
    pub(crate) phase: u8,
    /// Flushes that come before it within its phase, because edges ask for them.
    pub(crate) stage: u32,
    /// Grows along the line: only vertices of one segment may overlap. A segment ends with the phase and with the
    /// stage; an exclusive processor has one of its own, but for joints.
    pub(crate) segment: u32,
}

/// That the vertex at one position of the line comes before another one of its phase, because somebody asked
/// for that, or a group is made so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) before: u32,
    pub(crate) after: u32,
    /// Commands are flushed between the two: they are in different stages.
    pub(crate) flush: bool,
}

/// The line: every vertex after all that come before it, sorted by phase, then stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) line: Vec<Vertex>,
    /// In order, each pair once; all point along the line.
    pub(crate) edges: Vec<Edge>,
    /// Node → position.
    positions: Vec<u32>,
    /// The paths of the groups that joints name.
    pub(crate) groups: Vec<String>,
    /// The names of the ghosts.
    pub(crate) ghosts: Vec<String>,
}

impl Order {
    /// Where a node stands in the line.
    #[inline]
    pub(crate) fn position_of(&self, node: usize) -> u32 {
        self.positions[node]
    }

    /// The nodes of the processors, in the order of the line, with their positions.
    pub(crate) fn processors(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        let line = self.line.iter().enumerate();
        line.filter_map(|(position, vertex)| match vertex.kind {
            VertexKind::Processor(node) => Some((position as u32, node as usize)),
            _ => None,
        })
    }
}

/// Brings processors into a line.
///
/// Before and after decide; where they leave a choice the joints come first, then the highest priority, then
/// who was registered first. The same input gives the same line. O((nodes + targets) · log nodes).
///
/// # Errors
/// [`SolveError`]: names that are not known or not unique, orders contrary to the phases, cycles.
pub(crate) fn order(nodes: &[Node], groups: &[GroupOrder]) -> Result<Order, SolveError> {
    let (graph, names) = Builder::build(nodes, groups)?;
    let levels = levels(&graph, &names)?;
    let sequence = sequence(&graph, &levels, nodes);
    Ok(Order {
        edges: edges(&graph, &levels, &sequence),
        positions: positions(&sequence)[..nodes.len()].to_vec(),
        line: line(&graph, &levels, &sequence, nodes),
        groups: names.groups.iter().map(|group| group.path.into()).collect(),
        ghosts: names.ghosts.iter().map(|&name| name.into()).collect(),
    })
}

/// When a vertex's turn is, as far as phases and flushes decide: phase and stage.
type Level = (u8, u32);

/// Which level each vertex is on: behind all those that come before it.
fn levels(graph: &Graph, names: &Names<'_>) -> Result<Vec<Level>, SolveError> {
    let vertices = &graph.vertices;
    let start = |phase: Option<u8>| (phase.unwrap_or(0), 0);
    let mut levels: Vec<Level> = vertices.iter().map(|vertex| start(vertex.phase)).collect();
    // To whom a vertex owes its phase: itself or, if it is loose, one before it.
    let mut owed: Vec<u32> = (0..vertices.len() as u32).collect();
    let mut degrees = graph.degrees();
    let mut ready: Vec<u32> = owed.clone();
    ready.retain(|&vertex| degrees[vertex as usize] == 0);
    let mut next = 0;
    while let Some(&vertex) = ready.get(next) {
        next += 1;
        let (phase, stage) = levels[vertex as usize];
        for arc in graph.after(vertex) {
            let to = arc.to as usize;
            if let Some(fixed) = vertices[to].phase
                && fixed < phase
            {
                let witness = owed[vertex as usize];
                return Err(SolveError::Phases {
                    asker: label(graph, names, arc.to),
                    asker_phase: Phase::numbered(fixed),
                    relation: Relation::After,
                    target: label(graph, names, witness),
                    target_phase: Phase::numbered(phase),
                });
            }
            if levels[to].0 < phase && vertices[to].phase.is_none() {
                owed[to] = owed[vertex as usize];
            }
            if levels[to].0 == phase || vertices[to].phase.is_none() {
                levels[to] = levels[to].max((phase, stage + u32::from(arc.flush)));
            }
            degrees[to] -= 1;
            if degrees[to] == 0 {
                ready.push(arc.to);
            }
        }
    }
    if ready.len() < vertices.len() {
        return Err(SolveError::Cycle {
            path: path(graph, names, &cycle(graph, &degrees)),
        });
    }
    Ok(levels)
}

/// The vertices in the order of the line.
fn sequence(graph: &Graph, levels: &[Level], nodes: &[Node]) -> Vec<u32> {
    // By level; joints first; then by priority, then by number.
    let key = |vertex: u32| {
        let node = nodes.get(vertex as usize);
        let priority = Reverse(node.map_or(0, |node| node.priority));
        Reverse((levels[vertex as usize], node.is_some(), priority, vertex))
    };
    let mut degrees = graph.degrees();
    let all = 0..graph.vertices.len() as u32;
    let mut ready: BinaryHeap<_> = all
        .filter(|&vertex| degrees[vertex as usize] == 0)
        .map(key)
        .collect();
    let mut sequence = Vec::with_capacity(degrees.len());
    while let Some(Reverse((.., vertex))) = ready.pop() {
        sequence.push(vertex);
        for arc in graph.after(vertex) {
            let degree = &mut degrees[arc.to as usize];
            *degree -= 1;
            if *degree == 0 {
                ready.push(key(arc.to));
            }
        }
    }
    sequence
}

/// Where each vertex stands.
fn positions(sequence: &[u32]) -> Vec<u32> {
    let mut positions = vec![0; sequence.len()];
    for (position, &vertex) in sequence.iter().enumerate() {
        positions[vertex as usize] = position as u32;
    }
    positions
}

/// The arcs within a phase, as pairs of positions.
fn edges(graph: &Graph, levels: &[Level], sequence: &[u32]) -> Vec<Edge> {
    let positions = positions(sequence);
    let mut edges = Vec::new();
    let mut after: Vec<Edge> = Vec::new();
    for (before, &vertex) in sequence.iter().enumerate() {
        let arcs = graph.after(vertex).iter();
        let within = arcs.filter(|arc| levels[arc.to as usize].0 == levels[vertex as usize].0);
        after.extend(within.map(|arc| Edge {
            before: before as u32,
            after: positions[arc.to as usize],
            flush: arc.flush,
        }));
        // Of two that differ in the flush the one with it is kept.
        after.sort_unstable_by_key(|edge| (edge.after, !edge.flush));
        after.dedup_by_key(|edge| edge.after);
        edges.append(&mut after);
    }
    edges
}

/// The line, with its segments.
fn line(graph: &Graph, levels: &[Level], sequence: &[u32], nodes: &[Node]) -> Vec<Vertex> {
    let mut segment = 0;
    // The level of the vertex before, and whether nothing may run beside it.
    let mut last: Option<(Level, bool)> = None;
    let place = |&vertex: &u32| {
        let (phase, stage) = levels[vertex as usize];
        let exclusive = nodes
            .get(vertex as usize)
            .is_some_and(|node| node.exclusive);
        if last.is_some_and(|(level, alone)| level != (phase, stage) || alone || exclusive) {
            segment += 1;
        }
        last = Some(((phase, stage), exclusive));
        Vertex {
            kind: graph.vertices[vertex as usize].kind,
            phase,
            stage,
            segment,
        }
    };
    sequence.iter().map(place).collect()
}

/// What errors call a vertex.
fn label(graph: &Graph, names: &Names<'_>, vertex: u32) -> String {
    names.label(graph.vertices[vertex as usize].kind.named())
}

/// What errors call the vertices of a cycle: from a processor on, if there is one, back to it.
fn path(graph: &Graph, names: &Names<'_>, cycle: &[u32]) -> Vec<String> {
    // Processors have the lowest numbers.
    let lowest = cycle.iter().enumerate().min_by_key(|&(_, vertex)| vertex);
    let start = lowest.map_or(0, |(at, _)| at);
    let around = (start..=start + cycle.len()).map(|at| cycle[at % cycle.len()]);
    let mut path: Vec<String> = around.map(|vertex| label(graph, names, vertex)).collect();
    // Begin and end of a group are one to the reader.
    path.dedup();
    if let [alone] = path.as_slice() {
        path.push(alone.clone());
    }
    path
}
