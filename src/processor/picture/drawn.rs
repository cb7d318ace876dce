//! `Drawn`: what of a picture is drawn. Joints go, where that does not make many edges of few; and so do edges that
//! only repeat what a way along others says.

use std::collections::{BTreeMap, BTreeSet};

use crate::processor::picture::{Picture, PictureEdge, Shape, Tie};

/// A joint is drawn where without it there were so many edges more, or with them more in all than a reader can
/// follow.
const MOST_COST: isize = 8;
const MOST_EDGES: usize = 300;

/// The vertices and edges that are drawn.
#[derive(Debug)]
pub(super) struct Drawn {
    /// For each vertex of the picture, whether it is drawn.
    pub(super) vertices: Vec<bool>,
    /// By where they come from, then by where they go.
    pub(super) edges: Vec<PictureEdge>,
}

/// Edges from each vertex, and into each.
struct Ties {
    from: Vec<BTreeMap<usize, (Tie, String)>>,
    into: Vec<BTreeSet<usize>>,
    count: usize,
}

impl Ties {
    fn new(picture: &Picture) -> Self {
        let count = picture.vertices.len();
        let mut ties = Self {
            from: vec![BTreeMap::new(); count],
            into: vec![BTreeSet::new(); count],
            count: 0,
        };
        let phase = |vertex: usize| picture.vertices[vertex].phase;
        for edge in &picture.edges {
            if phase(edge.from) == phase(edge.to) {
                ties.add(edge.from, edge.to, edge.tie, &edge.reason);
            }
        }
        ties
    }

    /// Of two edges between the same, one with a flush says most, a conflict least.
    fn add(&mut self, from: usize, to: usize, tie: Tie, reason: &str) {
        let rank = |tie| match tie {
            Tie::Flush => 2,
            Tie::Order => 1,
            Tie::Conflict => 0,
        };
        self.into[to].insert(from);
        match self.from[from].get_mut(&to) {
            Some(known) if rank(known.0) >= rank(tie) => {}
            Some(known) => *known = (tie, reason.into()),
            None => {
                self.from[from].insert(to, (tie, reason.into()));
                self.count += 1;
            }
        }
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.from[from].remove(&to);
        self.into[to].remove(&from);
        self.count -= 1;
    }

    /// Edges more, if a joint goes.
    fn cost(&self, joint: usize) -> isize {
        let (into, from) = (self.into[joint].len(), self.from[joint].len());
        (into * from) as isize - (into + from) as isize
    }

    /// Takes a joint out: what came before it comes before what came after it.
    fn contract(&mut self, joint: usize) {
        let before: Vec<usize> = self.into[joint].iter().copied().collect();
        let after: Vec<usize> = self.from[joint].keys().copied().collect();
        for &from in &before {
            let first = self.from[from][&joint].0;
            for &to in &after {
                let flush = first == Tie::Flush || self.from[joint][&to].0 == Tie::Flush;
                let tie = if flush { Tie::Flush } else { Tie::Order };
                self.add(from, to, tie, "");
            }
        }
        before.into_iter().for_each(|from| self.remove(from, joint));
        after.into_iter().for_each(|to| self.remove(joint, to));
    }

    /// Takes out what a longer way says too: of what was asked for, a way that was asked for; of conflicts any.
    /// A flush stays: it shows why there is one.
    fn reduce(&mut self) {
        let words = self.from.len().div_ceil(64);
        // For each vertex those that a way from it leads to, as bits: by what was asked for, and by all.
        let mut reached: Vec<[Vec<u64>; 2]> = vec![Default::default(); self.from.len()];
        for from in (0..self.from.len()).rev() {
            let mut ways = [vec![0_u64; words], vec![0_u64; words]];
            // The nearest first: whatever has a longer way to it is reached before its turn.
            let after = self.from[from].iter().map(|(&to, &(tie, _))| (to, tie));
            for (to, tie) in after.collect::<Vec<_>>() {
                let conflict = usize::from(tie == Tie::Conflict);
                let known = ways[conflict][to / 64] >> (to % 64) & 1 == 1;
                if known && tie != Tie::Flush {
                    self.remove(from, to);
                }
                for (which, bits) in ways.iter_mut().enumerate().skip(conflict) {
                    bits[to / 64] |= 1 << (to % 64);
                    let more = reached[to][which].iter();
                    bits.iter_mut()
                        .zip(more)
                        .for_each(|(bits, more)| *bits |= more);
                }
            }
            reached[from] = ways;
        }
    }
}

impl Drawn {
    pub(super) fn new(picture: &Picture) -> Self {
        let mut ties = Ties::new(picture);
        let all = picture.vertices.iter();
        let mut vertices: Vec<bool> = all.map(|_| true).collect();
        // First the joints that save edges, then those that cost few.
        for most in [0, MOST_COST] {
            for (joint, vertex) in picture.vertices.iter().enumerate() {
                let cost = ties.cost(joint);
                let fits = ties.count.saturating_add_signed(cost) <= MOST_EDGES;
                if vertex.shape == Shape::Joint
                    && vertices[joint]
                    && (cost <= 0 || cost <= most && fits)
                {
                    ties.contract(joint);
                    vertices[joint] = false;
                }
            }
        }
        ties.reduce();
        let from = ties.from.into_iter().enumerate();
        let edges = from.flat_map(|(from, into)| {
            let edge = move |(to, (tie, reason))| PictureEdge {
                from,
                to,
                tie,
                reason,
            };
            into.into_iter().map(edge)
        });
        Self {
            vertices,
            edges: edges.collect(),
        }
    }
}
