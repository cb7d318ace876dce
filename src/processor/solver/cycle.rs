//! [`cycle`]: why a graph has no order.

use std::collections::VecDeque;

use crate::processor::solver::graph::Graph;

/// "None."
const NONE: u32 = u32::MAX;

/// A cycle, of which `degrees` says whom it keeps from being reached: the vertices on it or behind it, and how many
/// of these come before each. The shortest one through a vertex that the lowest such vertex leads back to.
/// O(vertices + arcs).
#[cold]
pub(super) fn cycle(graph: &Graph, degrees: &[u32]) -> Vec<u32> {
    let start = member(graph, degrees);
    // Breadth first from there, until an arc leads back.
    let mut from = vec![NONE; degrees.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(vertex) = queue.pop_front() {
        for arc in graph.after(vertex) {
            if arc.to == start {
                return way(&from, start, vertex);
            }
            if from[arc.to as usize] == NONE {
                from[arc.to as usize] = vertex;
                queue.push_back(arc.to);
            }
        }
    }
    unreachable!("an arc leads back to a vertex on a cycle")
}

/// A vertex on a cycle; of the cycle that is found, the lowest one.
fn member(graph: &Graph, degrees: &[u32]) -> u32 {
    // Each vertex that cannot be reached has such a one before it: backwards, one comes round again.
    let stuck = |vertex: u32| degrees[vertex as usize] > 0;
    let mut earlier = vec![NONE; degrees.len()];
    let mut first = NONE;
    for vertex in (0..degrees.len() as u32).filter(|&vertex| stuck(vertex)) {
        first = first.min(vertex);
        for arc in graph.after(vertex) {
            let known = &mut earlier[arc.to as usize];
            *known = vertex.min(*known);
        }
    }
    let mut met = vec![false; degrees.len()];
    let mut at = first;
    while !core::mem::replace(&mut met[at as usize], true) {
        at = earlier[at as usize];
    }
    let (round, mut lowest) = (at, at);
    loop {
        at = earlier[at as usize];
        lowest = lowest.min(at);
        if at == round {
            return lowest;
        }
    }
}

/// The vertices from `start` to `end`, of each of which is known from where it was reached.
fn way(from: &[u32], start: u32, end: u32) -> Vec<u32> {
    let mut way = vec![end];
    let mut at = end;
    while at != start {
        at = from[at as usize];
        way.push(at);
    }
    way.reverse();
    way
}
