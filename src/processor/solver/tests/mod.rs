//! What the solver must keep to.

mod conflict_oracle;
mod conflict_rows;
mod order_oracle;
mod order_rows;

use crate::processor::solver::{GroupOrder, Node, Order, SolveError, Target, order};

/// A processor of the first phase.
fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        ..Node::default()
    }
}

/// For tests: a node built step by step.
trait NodeExt: Sized {
    fn group(self, path: &str) -> Self;
    fn phase(self, phase: u8) -> Self;
    fn priority(self, priority: i32) -> Self;
    fn exclusive(self) -> Self;
    fn before(self, target: impl Into<Target>) -> Self;
    fn after(self, target: impl Into<Target>) -> Self;
}

impl NodeExt for Node {
    fn group(mut self, path: &str) -> Self {
        self.group = path.into();
        self
    }

    fn phase(mut self, phase: u8) -> Self {
        self.phase = phase;
        self
    }

    fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    fn exclusive(mut self) -> Self {
        self.exclusive = true;
        self
    }

    fn before(mut self, target: impl Into<Target>) -> Self {
        self.before.push(target.into());
        self
    }

    fn after(mut self, target: impl Into<Target>) -> Self {
        self.after.push(target.into());
        self
    }
}

fn group(path: &str, before: &[&str], after: &[&str]) -> GroupOrder {
    let targets = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
    GroupOrder {
        path: path.into(),
        optional: true,
        before: targets(before),
        after: targets(after),
    }
}

fn solve(nodes: &[Node], groups: &[GroupOrder]) -> Result<Order, SolveError> {
    order(nodes, groups)
}

/// The processors' names, in the order of the line.
fn names(nodes: &[Node], groups: &[GroupOrder]) -> Vec<String> {
    let order = solve(nodes, groups).unwrap();
    let names = order.processors().map(|(_, node)| nodes[node].name.clone());
    names.collect()
}
