//! `Graph`: processors and joints, and who comes before whom.
//!
//! A group has a *begin* and an *end* in each phase in which it has members. Between them stand its members and
//! the begins and ends of the groups in it. A group without any member has one begin and one end, which
//! belong to no phase of their own; so does a ghost, of which there is one vertex. Such *loose* joints go where
//! those before them are.
//!
//! Of two that are in different phases nothing is noted: the phases keep them apart. If that is the wrong way
//! round it is an error.

use crate::processor::Phase;
use crate::processor::solver::names::{Named, Names};
use crate::processor::solver::order::VertexKind;
use crate::processor::solver::{GroupOrder, Node, Relation, SolveError, Target};

/// That one vertex comes before another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    pub(super) to: u32,
    /// Commands are flushed between the two.
    pub(super) flush: bool,
}

/// A vertex: a processor, with the number of its node, or a joint.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphVertex {
    pub(super) kind: VertexKind,
    /// `None` for a loose joint.
    pub(super) phase: Option<u8>,
}

/// Vertices and arcs.
#[derive(Debug)]
pub(super) struct Graph {
    /// Processors first, in the order of their nodes.
    pub(super) vertices: Vec<GraphVertex>,
    /// Where each vertex's arcs begin; one more than there are vertices.
    first: Vec<u32>,
    arcs: Vec<Arc>,
}

impl Graph {
    /// What follows a vertex.
    #[inline]
    pub(super) fn after(&self, vertex: u32) -> &[Arc] {
        let (from, to) = (self.first[vertex as usize], self.first[vertex as usize + 1]);
        &self.arcs[from as usize..to as usize]
    }

    /// For each vertex how many arcs point at it.
    pub(super) fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.vertices.len()];
        for arc in &self.arcs {
            degrees[arc.to as usize] += 1;
        }
        degrees
    }

    /// Gathers the arcs by where they begin.
    fn new(vertices: Vec<GraphVertex>, loose: &[(u32, Arc)]) -> Self {
        let mut first = vec![0_u32; vertices.len() + 2];
        for (from, _) in loose {
            first[*from as usize + 2] += 1;
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        let mut arcs = vec![
            Arc {
                to: 0,
                flush: false
            };
            loose.len()
        ];
        for &(from, arc) in loose {
            let next = &mut first[from as usize + 1];
            arcs[*next as usize] = arc;
            *next += 1;
        }
        first.pop();
        Self {
            vertices,
            first,
            arcs,
        }
    }
}

/// The joints of a group.
#[derive(Debug, Default)]
struct Joints {
    /// Where it has members, in order; with the begin there. The end is the next vertex.
    phases: Vec<(u8, u32)>,
    /// The begin of a group that has no members.
    loose: u32,
}

impl Joints {
    fn add_phase(&mut self, phase: u8) -> bool {
        match self
            .phases
            .binary_search_by_key(&phase, |&(phase, _)| phase)
        {
            Ok(_) => false,
            Err(at) => {
                self.phases.insert(at, (phase, 0));
                true
            }
        }
    }

    fn first(&self) -> u32 {
        self.phases.first().map_or(self.loose, |&(_, begin)| begin)
    }

    fn last(&self) -> u32 {
        self.phases.last().map_or(self.loose, |&(_, begin)| begin) + 1
    }

    /// The begin in a phase where it has members.
    fn at(&self, phase: u8) -> u32 {
        let found = self
            .phases
            .binary_search_by_key(&phase, |&(phase, _)| phase);
        found.map_or(self.loose, |at| self.phases[at].1)
    }
}

/// A graph in the making.
pub(super) struct Builder<'a> {
    nodes: &'a [Node],
    names: Names<'a>,
    vertices: Vec<GraphVertex>,
    joints: Vec<Joints>,
    /// Where the ghosts begin.
    ghosts: u32,
    arcs: Vec<(u32, Arc)>,
}

impl<'a> Builder<'a> {
    /// The graph of these processors and groups, and what they are called.
    pub(super) fn build(
        nodes: &'a [Node],
        orders: &'a [GroupOrder],
    ) -> Result<(Graph, Names<'a>), SolveError> {
        let names = Names::new(nodes, orders)?;
        let mut builder = Self {
            nodes,
            joints: names.groups.iter().map(|_| Joints::default()).collect(),
            names,
            vertices: Vec::with_capacity(nodes.len()),
            ghosts: 0,
            arcs: Vec::with_capacity(4 * nodes.len()),
        };
        builder.add_vertices();
        builder.nest();
        for (number, node) in nodes.iter().enumerate() {
            builder.relate_all(Named::Processor(number as u32), &node.before, &node.after)?;
        }
        for order in orders {
            if let Some(group) = builder.names.group(&order.path) {
                builder.relate_all(Named::Group(group), &order.before, &order.after)?;
            }
        }
        Ok((Graph::new(builder.vertices, &builder.arcs), builder.names))
    }

    /// Adds processors and the joints of groups.
    fn add_vertices(&mut self) {
        for (number, node) in self.nodes.iter().enumerate() {
            self.vertices.push(GraphVertex {
                kind: VertexKind::Processor(number as u32),
                phase: Some(node.phase),
            });
            let mut group = self.names.group(&node.group);
            // Where a group has members, those that it is in have them too.
            while let Some(number) = group
                && self.joints[number as usize].add_phase(node.phase)
            {
                group = self.names.groups[number as usize].parent;
            }
        }
        for (number, joints) in self.joints.iter_mut().enumerate() {
            let mut add = |phase| {
                let begin = self.vertices.len() as u32;
                let kinds = [VertexKind::Begin, VertexKind::End].map(|kind| kind(number as u32));
                (self.vertices).extend(kinds.map(|kind| GraphVertex { kind, phase }));
                begin
            };
            for (phase, begin) in &mut joints.phases {
                *begin = add(Some(*phase));
            }
            if joints.phases.is_empty() {
                joints.loose = add(None);
            }
        }
        self.ghosts = self.vertices.len() as u32;
    }

    /// Puts processors and groups between the joints of the groups that they are in.
    fn nest(&mut self) {
        for (number, node) in self.nodes.iter().enumerate() {
            if let Some(group) = self.names.group(&node.group) {
                let begin = self.joints[group as usize].at(node.phase);
                self.arc(begin, number as u32, false);
                self.arc(number as u32, begin + 1, false);
            }
        }
        for number in 0..self.joints.len() {
            let parent = self.names.groups[number].parent;
            let parent = parent.map(|parent| parent as usize);
            for at in 0..self.joints[number].phases.len() {
                let (phase, begin) = self.joints[number].phases[at];
                if let Some(parent) = parent {
                    let outer = self.joints[parent].at(phase);
                    self.arc(outer, begin, false);
                    self.arc(begin + 1, outer + 1, false);
                }
            }
            if self.joints[number].phases.is_empty() {
                let begin = self.joints[number].loose;
                self.arc(begin, begin + 1, false);
                if let Some(parent) = parent {
                    self.arc(self.joints[parent].first(), begin, false);
                    self.arc(begin + 1, self.joints[parent].last(), false);
                }
            }
        }
    }

    fn relate_all(
        &mut self,
        asker: Named,
        before: &'a [Target],
        after: &'a [Target],
    ) -> Result<(), SolveError> {
        for target in before {
            self.relate(asker, Relation::Before, target)?;
        }
        for target in after {
            self.relate(asker, Relation::After, target)?;
        }
        Ok(())
    }

    /// Notes that somebody is to run before or after a target.
    fn relate(
        &mut self,
        asker: Named,
        relation: Relation,
        target: &'a Target,
    ) -> Result<(), SolveError> {
        let other = self.names.find(target, asker, relation)?;
        let (earlier, later) = match relation {
            Relation::Before => (asker, other),
            Relation::After => (other, asker),
        };
        let (from, to) = (self.last(earlier), self.first(later));
        let phase = |vertex: u32| self.vertices[vertex as usize].phase;
        match (phase(from), phase(to)) {
            (Some(early), Some(late)) if early < late => {}
            (Some(early), Some(late)) if early > late => {
                let (asker_phase, target_phase) = match relation {
                    Relation::Before => (early, late),
                    Relation::After => (late, early),
                };
                return Err(SolveError::Phases {
                    asker: self.names.label(asker),
                    asker_phase: Phase::numbered(asker_phase),
                    relation,
                    target: self.names.label(other),
                    target_phase: Phase::numbered(target_phase),
                });
            }
            _ => self.arc(from, to, target.is_flushed()),
        }
        Ok(())
    }

    /// The vertex with which it begins, in the first of its phases.
    fn first(&mut self, named: Named) -> u32 {
        match named {
            Named::Processor(number) => number,
            Named::Group(number) => self.joints[number as usize].first(),
            Named::Ghost(number) => self.ghost(number),
        }
    }

    /// The vertex with which it ends, in the last of its phases.
    fn last(&mut self, named: Named) -> u32 {
        match named {
            Named::Group(number) => self.joints[number as usize].last(),
            _ => self.first(named),
        }
    }

    /// The vertex of a ghost, which may be a new one.
    fn ghost(&mut self, number: u32) -> u32 {
        let vertex = self.ghosts + number;
        if vertex as usize == self.vertices.len() {
            self.vertices.push(GraphVertex {
                kind: VertexKind::Ghost(number),
                phase: None,
            });
        }
        vertex
    }

    fn arc(&mut self, from: u32, to: u32, flush: bool) {
        self.arcs.push((from, Arc { to, flush }));
    }
}
