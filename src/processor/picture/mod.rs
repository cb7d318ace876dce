//! Pictures of a solved order: for Graphviz, and as an SVG of their own.

mod columns;
mod dot;
mod drawn;
mod legend;
mod place;
mod svg;
mod sweep;
#[cfg(test)]
mod tests;

use crate::fragment::FragmentRegistry;
use crate::processor::solver::{Conflicts, Node, Order, VertexKind};

pub(crate) use dot::to_dot;
pub(crate) use svg::to_svg;

/// A solved order to be drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picture {
    pub(crate) title: String,
    /// The names of the phases.
    pub(crate) phases: Vec<String>,
    /// In the order of the line: by phase, then stage.
    pub(crate) vertices: Vec<PictureVertex>,
    /// From earlier vertices to later ones.
    pub(crate) edges: Vec<PictureEdge>,
}

/// A vertex of a picture.
#[derive(Clone, Debug)]
pub(crate) struct PictureVertex {
    pub(crate) label: String,
    /// The path of its group; empty for none.
    pub(crate) group: String,
    pub(crate) phase: u8,
    pub(crate) stage: u32,
    pub(crate) shape: Shape,
}

/// What a vertex of a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Processor,
    /// A processor beside which none runs.
    Exclusive,
    /// A processor that does not run.
    Idle,
    /// Does no work.
    Joint,
}

/// An edge of a picture.
#[derive(Clone, Debug)]
pub(crate) struct PictureEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) tie: Tie,
    /// Why it is there; may be empty.
    pub(crate) reason: String,
}

/// What kind of edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tie {
    /// Asked for.
    Order,
    /// Asked for, with a flush of commands between.
    Flush,
    /// The two must not overlap.
    Conflict,
}

impl Picture {
    /// The picture of an order and its conflicts. `idle` says which nodes do not run.
    pub(crate) fn new(
        title: &str,
        (nodes, order): (&[Node], &Order),
        conflicts: &Conflicts,
        phase_name: &dyn Fn(u8) -> &'static str,
        registry: &FragmentRegistry,
        idle: &dyn Fn(usize) -> bool,
    ) -> Self {
        let phases = order.line.last().map_or(0, |vertex| vertex.phase + 1);
        let vertices = order.line.iter().map(|vertex| {
            let (label, group, shape) = match vertex.kind {
                VertexKind::Processor(number) => {
                    let node = &nodes[number as usize];
                    let shape = match () {
                        () if idle(number as usize) => Shape::Idle,
                        () if node.exclusive => Shape::Exclusive,
                        () => Shape::Processor,
                    };
                    (node.name.clone(), node.group.clone(), shape)
                }
                VertexKind::Begin(group) | VertexKind::End(group) => {
                    let path = order.groups[group as usize].clone();
                    let which = match vertex.kind {
                        VertexKind::Begin(_) => "begin",
                        _ => "end",
                    };
                    // It lies in the others: with their names each would be as long as the group is deep.
                    let last = path.rsplit('.').next().unwrap_or_default();
                    (format!("{which} of {last}"), path, Shape::Joint)
                }
                VertexKind::Ghost(ghost) => {
                    let name = order.ghosts[ghost as usize].clone();
                    (name, String::new(), Shape::Joint)
                }
            };
            PictureVertex {
                label,
                group,
                phase: vertex.phase,
                stage: vertex.stage,
                shape,
            }
        });
        let own = order.edges.iter().map(|edge| PictureEdge {
            from: edge.before as usize,
            to: edge.after as usize,
            tie: if edge.flush { Tie::Flush } else { Tie::Order },
            reason: String::new(),
        });
        let conflicts = conflicts.edges().iter().map(|edge| PictureEdge {
            from: edge.before as usize,
            to: edge.after as usize,
            tie: Tie::Conflict,
            reason: edge.reason.describe(registry),
        });
        Self {
            title: title.into(),
            phases: (0..phases).map(|phase| phase_name(phase).into()).collect(),
            vertices: vertices.collect(),
            edges: own.chain(conflicts).collect(),
        }
    }
}
