//! `Fields`: for each goal and each node the edge that leads there fastest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::agent::Luck;
use super::network::Network;

/// "No edge leads there."
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Where agents want to go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) node: u32,
    /// At the map's edge: who gets there leaves.
    pub(crate) exit: bool,
}

/// The ways to all goals. 4 bytes a goal and node.
#[derive(Debug)]
pub(crate) struct Fields {
    pub(crate) goals: Vec<Goal>,
    nodes: usize,
    next: Vec<u32>,
}

/// Goals at the map's edge: one in each of these directions.
const EXITS: u32 = 12;
/// Goals inside.
const PLACES: u32 = 20;

impl Fields {
    /// Chooses goals by a seed, and finds the ways to each. O(goals × edges × log nodes), goals on all threads.
    pub(crate) fn new(network: &Network, seed: u64) -> Self {
        use rayon::prelude::*;
        let mut goals = goals(network, seed);
        let fields: Vec<Vec<u32>> = goals
            .par_iter()
            .map(|goal| field(network, goal.node))
            .collect();
        // What few can reach is no goal, as long as there are others.
        let reached = |field: &Vec<u32>| field.iter().filter(|&&edge| edge != NOWHERE).count();
        let most = fields.iter().map(reached).max().unwrap_or(0);
        let keep: Vec<bool> = fields
            .iter()
            .map(|field| reached(field) * 2 >= most)
            .collect();
        let mut kept = keep.iter();
        goals.retain(|_| *kept.next().unwrap_or(&true));
        let next = fields.into_iter().zip(&keep).filter(|(_, keep)| **keep);
        Self {
            goals,
            nodes: network.nodes.len(),
            next: next.flat_map(|(field, _)| field).collect(),
        }
    }

    /// The edge to take from a node, or [`NOWHERE`]: there, or no way.
    #[inline]
    pub(crate) fn next(&self, goal: u16, node: u32) -> u32 {
        self.next[usize::from(goal) * self.nodes + node as usize]
    }
}

fn goals(network: &Network, seed: u64) -> Vec<Goal> {
    let mut goals: Vec<Goal> = Vec::new();
    let mut add = |node: u32, exit: bool| {
        if goals.iter().all(|goal| goal.node != node) {
            goals.push(Goal { node, exit });
        }
    };
    let nodes = network.nodes.len() as u32;
    let mut luck = Luck::new(seed, 0);
    for exit in 0..EXITS {
        let angle = exit as f32 * core::f32::consts::TAU / EXITS as f32;
        let (sin, cos) = angle.sin_cos();
        let far = |&node: &u32| {
            let [x, y] = network.nodes[node as usize];
            // Cars can get there.
            let reached = !network.edges_into(node).is_empty();
            if reached { x * cos + y * sin } else { f32::MIN }
        };
        let farthest = (0..nodes).max_by(|a, b| far(a).total_cmp(&far(b)));
        farthest.into_iter().for_each(|node| add(node, true));
    }
    for _ in 0..PLACES {
        add(luck.below(nodes), false);
    }
    goals
}

/// For each node the edge that leads to `goal` fastest.
fn field(network: &Network, goal: u32) -> Vec<u32> {
    let mut next = vec![NOWHERE; network.nodes.len()];
    let mut best = vec![u64::MAX; network.nodes.len()];
    best[goal as usize] = 0;
    let mut open = BinaryHeap::from([Reverse((0_u64, goal))]);
    while let Some(Reverse((cost, node))) = open.pop() {
        if cost > best[node as usize] {
            continue;
        }
        for &at in network.edges_into(node) {
            let edge = &network.edges[at as usize];
            // Whole milliseconds: sums are exact.
            let through = cost + (edge.time * 1e3) as u64 + 1;
            if through < best[edge.from as usize] {
                best[edge.from as usize] = through;
                next[edge.from as usize] = at;
                open.push(Reverse((through, edge.from)));
            }
        }
    }
    next
}
