//! `Plan`: a schedule's processors in order, cut into segments.

use std::sync::Arc;

use crate::command::RankNames;
use crate::fragment::FragmentRegistry;
use crate::processor::Phase;
use crate::processor::alias::Aliases;
use crate::processor::entry::Entry;
use crate::processor::segment::{Habit, JOINT, Segment};
use crate::processor::solver::{
    Conflicts, GroupOrder, Node, Order, Reason, SolveError, VertexKind, order,
};
use crate::sync::graph::{Bag, Graph};
use crate::sync::queue::Queue;
use crate::world::World;

/// A schedule's processors in order, cut into segments.
pub(super) struct Plan {
    pub(super) order: Order,
    pub(super) conflicts: Conflicts,
    pub(super) segments: Vec<Segment>,
    /// What the processors are called, by their positions, which are the ranks of what they record.
    pub(super) names: Arc<RankNames>,
    /// Where each phase's segments begin, and the end of all.
    phases: [usize; Phase::ALL.len() + 1],
    pub(super) aliases: Aliases,
    /// The world's identity and its archetypes that were looked at.
    seen: (u64, usize),
    /// The vertices that are bound to the schedule's thread.
    main: Vec<bool>,
}

impl Plan {
    /// Solves the order. The segments' graphs are made when archetypes are [looked at](Self::look).
    pub(super) fn new(entries: &[Entry], groups: &[GroupOrder]) -> Result<Self, SolveError> {
        let nodes: Vec<Node> = entries.iter().map(node).collect();
        let order = order(&nodes, groups)?;
        let needs = entries
            .iter()
            .map(|entry| entry.needs.clone().unwrap_or_default());
        let needs: Vec<_> = needs.collect();
        let conflicts = Conflicts::new(&order, &needs);
        let entry_of = |kind: VertexKind| match kind {
            VertexKind::Processor(entry) => Some(entry),
            _ => None,
        };
        let main = order.line.iter().map(|vertex| {
            entry_of(vertex.kind).is_some_and(|entry| entries[entry as usize].main_thread)
        });
        let main = main.collect();
        let mut segments: Vec<Segment> = Vec::new();
        let mut phases = [0; Phase::ALL.len() + 1];
        let mut first = 0;
        let mut last_phase = 0;
        for vertices in order.line.chunk_by(|a, b| a.segment == b.segment) {
            let phase = usize::from(vertices[0].phase);
            phases[last_phase + 1..=phase].fill(segments.len());
            last_phase = phase;
            let of_segment = vertices.iter().filter_map(|vertex| entry_of(vertex.kind));
            let of_segment = || of_segment.clone().map(|entry| &entries[entry as usize]);
            let any = |asks: fn(&crate::processor::needs::Needs) -> bool| {
                of_segment().any(|entry| entry.needs.as_ref().is_some_and(asks))
            };
            let next = order.line.get(first + vertices.len());
            let here = vertices[0];
            // After what an edge asks for, after what was recorded, and after the phase.
            let stage_ends =
                next.is_none_or(|next| (next.phase, next.stage) != (here.phase, here.stage));
            let commands = any(|needs| needs.commands || needs.parallel_commands);
            segments.push(Segment {
                vertices: vertices
                    .iter()
                    .map(|vertex| entry_of(vertex.kind).unwrap_or(JOINT))
                    .collect(),
                first: first as u32,
                exclusive: of_segment().any(|entry| entry.exclusive),
                hears: any(|needs| needs.hears),
                commands,
                flush: stage_ends || commands,
                graph: Graph::new(0, &[]),
                bag: Bag::new([]),
                queue: Queue::new(0),
                main: Box::default(),
                bound: Box::default(),
                wide: false,
                found: None,
                ran: 0,
                idle: 0,
                habit: Habit::default(),
                versions: 0..0,
            });
            first += vertices.len();
        }
        phases[last_phase + 1..].fill(segments.len());
        let name = |kind| entry_of(kind).map_or("", |entry| &*entries[entry as usize].name);
        let names = RankNames::new(order.line.iter().map(|vertex| name(vertex.kind).into()));
        let mut plan = Self {
            order,
            conflicts,
            aliases: Aliases::new(entries),
            names,
            seen: (0, 0),
            segments,
            phases,
            main,
        };
        plan.link();
        Ok(plan)
    }

    /// The segments of phases that follow each other.
    #[inline]
    pub(super) fn of_phases(&self, first: Phase, last: Phase) -> core::ops::Range<usize> {
        self.phases[first as usize]..self.phases[last as usize + 1]
    }

    /// Looks at the archetypes that have come: who touches them too must wait for each other. `false` if there is
    /// none.
    pub(super) fn look(&mut self, world: &World) -> bool {
        if self.has_seen(world) {
            return false;
        }
        self.seen = (world.identity(), world.archetypes.len());
        if self.conflicts.extend(world) {
            self.link();
        }
        true
    }

    /// Whether no archetype has come since the last look.
    #[inline]
    pub(super) fn has_seen(&self, world: &World) -> bool {
        self.seen == (world.identity(), world.archetypes.len())
    }

    /// How many archetypes have come since the last look; all of another world's.
    pub(super) fn unseen(&self, world: &World) -> usize {
        let (identity, seen) = self.seen;
        let is_known = identity == world.identity();
        world.archetypes.len()
            - if is_known {
                seen.min(world.archetypes.len())
            } else {
                0
            }
    }

    /// What was found is not settled: the next look looks again.
    pub(super) fn look_again(&mut self) {
        self.seen = (0, 0);
    }

    /// What the vertex at a position is called.
    pub(super) fn label(&self, position: u32, entries: &[Entry]) -> String {
        match self.order.line[position as usize].kind {
            VertexKind::Processor(entry) => entries[entry as usize].name.clone(),
            VertexKind::Begin(group) => {
                format!("begin of {}", self.order.groups[group as usize])
            }
            VertexKind::End(group) => format!("end of {}", self.order.groups[group as usize]),
            VertexKind::Ghost(ghost) => self.order.ghosts[ghost as usize].clone(),
        }
    }

    /// The shortest way along edges from one position to a later one: each position but the last,
    /// and what the next edge is for. O(vertices + edges).
    pub(super) fn path(&self, from: u32, to: u32) -> Option<Vec<(u32, Why)>> {
        let mut after: Vec<Vec<(u32, Why)>> = vec![Vec::new(); self.order.line.len()];
        for edge in &self.order.edges {
            after[edge.before as usize].push((edge.after, Why::Order));
        }
        for edge in self.conflicts.edges() {
            after[edge.before as usize].push((edge.after, Why::Conflict(edge.reason)));
        }
        for segment in &self.segments {
            for pair in segment.main.windows(2) {
                let [before, later] = [pair[0], pair[1]].map(|vertex| segment.first + vertex);
                after[before as usize].push((later, Why::Thread));
            }
        }
        let mut found: Vec<Option<(u32, Why)>> = vec![None; after.len()];
        let mut next = std::collections::VecDeque::from([from]);
        while let Some(position) = next.pop_front() {
            for &(later, why) in &after[position as usize] {
                if found[later as usize].is_none() {
                    found[later as usize] = Some((position, why));
                    next.push_back(later);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let (before, why) = found[at as usize]?;
            path.push((before, why));
            at = before;
        }
        path.reverse();
        Some(path)
    }

    /// Makes the segments' graphs: of what was asked for, of conflicts, and of what runs on one thread.
    fn link(&mut self) {
        let line = &self.order.line;
        let mut edges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.segments.len()];
        let explicit = self
            .order
            .edges
            .iter()
            .map(|edge| (edge.before, edge.after));
        let conflicts = self
            .conflicts
            .edges()
            .iter()
            .map(|edge| (edge.before, edge.after));
        for (before, after) in explicit.chain(conflicts) {
            let segment = line[before as usize].segment;
            if segment == line[after as usize].segment {
                let first = self.segments[segment as usize].first;
                edges[segment as usize].push((before - first, after - first));
            }
        }
        for (segment, edges) in self.segments.iter_mut().zip(&mut edges) {
            let first = segment.first as usize;
            let vertices = 0..segment.vertices.len() as u32;
            let main = vertices.filter(|&vertex| self.main[first + vertex as usize]);
            segment.main = main.collect();
            segment.bound = match segment.main.is_empty() {
                true => Box::default(),
                false => self.main[first..first + segment.vertices.len()].into(),
            };
            edges.extend(segment.main.windows(2).map(|pair| (pair[0], pair[1])));
            edges.sort_unstable();
            edges.dedup();
            segment.link(edges);
        }
    }
}

/// Why one vertex waits for another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// It was asked for.
    Order,
    Conflict(Reason),
    /// Both run on the schedule's thread.
    Thread,
}

impl Why {
    /// The same for people.
    pub(super) fn describe(self, registry: &FragmentRegistry) -> String {
        match self {
            Self::Order => "order".into(),
            Self::Conflict(reason) => reason.describe(registry),
            Self::Thread => "the schedule's thread".into(),
        }
    }
}

pub(super) fn node(entry: &Entry) -> Node {
    Node {
        name: entry.name.clone(),
        at: Some(entry.at),
        phase: entry.phase as u8,
        group: entry.group.clone(),
        before: entry.before.clone(),
        after: entry.after.clone(),
        priority: entry.priority,
        exclusive: entry.exclusive,
    }
}
