//! The order against a brute force, on random processors and groups.
//!
//! The oracle writes every relation out, member by member. A name that nobody has and a group without members
//! are members that do nothing (*phantoms*). Phases are borders between which their processors stand. Of that it takes
//! the transitive closure, and asks:
//! * there is an order exactly if nothing comes before itself; the error is a cycle only if that holds without
//!   the borders too;
//! * who comes before whom does so in the line, and by the edges: these say nothing more, and nothing less;
//! * among those that could come next in a stage, the line takes the one with the highest priority, then the first;
//! * in one phase the stage is the highest number of flushes on a way;
//! * the same input gives the same; names, the order of wishes and the order of groups do not matter.

use proptest::collection::vec;
use proptest::prelude::*;

use super::solve;
use crate::processor::solver::{GroupOrder, Node, Order, SolveError, Target};

const PATHS: [&str; 6] = ["G", "G.X", "G.Y", "G.X.Z", "H", "H.X"];
const GHOSTS: [&str; 2] = ["Nobody", "G.Nobody"];
const MOST: usize = 7;

/// A target by number: processors, then paths, then ghosts; and whether there is a flush.
type Wish = (usize, bool);

#[derive(Clone, Debug)]
struct Member {
    phase: u8,
    /// A path, or one beyond the last for none.
    group: usize,
    before: Vec<Wish>,
    after: Vec<Wish>,
    priority: i32,
    exclusive: bool,
}

#[derive(Clone, Debug)]
struct Case {
    members: Vec<Member>,
    /// Path, before, after.
    orders: Vec<(usize, Vec<Wish>, Vec<Wish>)>,
}

fn case(phases: u8) -> impl Strategy<Value = Case> {
    let wish = || {
        (
            0..MOST + PATHS.len() + GHOSTS.len(),
            prop::bool::weighted(0.3),
        )
    };
    let wishes = || prop_oneof![5 => Just(vec![]), 1 => vec(wish(), 1..3)];
    let member = (
        0..phases,
        0..=PATHS.len(),
        wishes(),
        wishes(),
        -1..2_i32,
        prop::bool::weighted(0.1),
    );
    let member = member.prop_map(
        |(phase, group, before, after, priority, exclusive)| Member {
            phase,
            group,
            before,
            after,
            priority,
            exclusive,
        },
    );
    let order = (0..PATHS.len(), wishes(), wishes());
    let parts = (vec(member, 1..=MOST), vec(order, 0..3));
    parts.prop_map(|(members, orders)| Case { members, orders })
}

/// Whom a wish means.
#[derive(Clone, Copy, PartialEq)]
enum Meant {
    Processor(usize),
    Path(usize),
    Ghost(usize),
}

impl Case {
    fn meant(&self, wish: Wish) -> Meant {
        match wish.0 {
            // Those beyond the last processor wrap.
            number if number < MOST => Meant::Processor(number % self.members.len()),
            number if number < MOST + PATHS.len() => Meant::Path(number - MOST),
            number => Meant::Ghost(number - MOST - PATHS.len()),
        }
    }

    fn target(&self, wish: Wish, prefix: &str) -> Target {
        let target = match self.meant(wish) {
            Meant::Processor(number) => Target::new(format!("{prefix}{number}")),
            // A path that no processor and no order names is unknown.
            Meant::Path(number) => Target::from(PATHS[number]).optional(),
            Meant::Ghost(number) => Target::from(GHOSTS[number]).optional(),
        };
        if wish.1 { target.flushed() } else { target }
    }

    fn input(&self, prefix: &str) -> (Vec<Node>, Vec<GroupOrder>) {
        let targets = |wishes: &[Wish]| {
            let targets = wishes.iter().map(|&wish| self.target(wish, prefix));
            targets.collect::<Vec<_>>()
        };
        let nodes = self
            .members
            .iter()
            .enumerate()
            .map(|(number, member)| Node {
                name: format!("{prefix}{number}"),
                phase: member.phase,
                group: PATHS.get(member.group).copied().unwrap_or("").into(),
                before: targets(&member.before),
                after: targets(&member.after),
                priority: member.priority,
                exclusive: member.exclusive,
                ..Node::default()
            });
        let orders = self.orders.iter().map(|(path, before, after)| GroupOrder {
            path: PATHS[*path].into(),
            optional: true,
            before: targets(before),
            after: targets(after),
        });
        (nodes.collect(), orders.collect())
    }
}

/// Whether a path is another one or lies in it.
fn within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Everything written out: elements are processors, then one phantom for each path, then ghosts, then the
/// borders of phases.
struct Oracle {
    processors: usize,
    /// The most flushes on a way from one element to another, if there is a way.
    ways: Vec<Vec<Option<u32>>>,
    borders: usize,
}

impl Oracle {
    fn new(case: &Case, phases: u8, with_borders: bool) -> Self {
        let processors = case.members.len();
        let ghosts = processors + PATHS.len();
        let borders = ghosts + GHOSTS.len();
        let elements = borders + usize::from(phases) + 1;
        let group_of = |member: &Member| PATHS.get(member.group).copied();
        let has_members = |path: &str| {
            let groups = case.members.iter().filter_map(group_of);
            groups.into_iter().any(|group| within(group, path))
        };
        let is_group = |path: &str| {
            let orders = case.orders.iter().map(|&(path, ..)| PATHS[path]);
            let groups = case.members.iter().filter_map(group_of).chain(orders);
            groups.into_iter().any(|group| within(group, path))
        };
        let members = |meant: Meant| -> Vec<usize> {
            match meant {
                Meant::Processor(number) => vec![number],
                Meant::Ghost(number) => vec![ghosts + number],
                Meant::Path(number) if !is_group(PATHS[number]) => vec![processors + number],
                Meant::Path(number) => {
                    let all = case.members.iter().enumerate();
                    let inside = all.filter(|(_, member)| {
                        group_of(member).is_some_and(|group| within(group, PATHS[number]))
                    });
                    let phantoms = (0..PATHS.len()).filter(|&path| {
                        within(PATHS[path], PATHS[number])
                            && is_group(PATHS[path])
                            && !has_members(PATHS[path])
                    });
                    let inside = inside.map(|(number, _)| number);
                    inside
                        .chain(phantoms.map(|path| processors + path))
                        .collect()
                }
            }
        };
        let mut ways = vec![vec![None; elements]; elements];
        let mut add = |from: usize, to: usize, flush: bool| {
            let way: &mut Option<u32> = &mut ways[from][to];
            *way = (*way).max(Some(u32::from(flush)));
        };
        let mut relate = |asker: Meant, before: &[Wish], after: &[Wish]| {
            let earlier = before.iter().map(|&wish| (asker, case.meant(wish), wish.1));
            let later = after.iter().map(|&wish| (case.meant(wish), asker, wish.1));
            for (from, to, flush) in earlier.chain(later) {
                for from in members(from) {
                    members(to).into_iter().for_each(|to| add(from, to, flush));
                }
            }
        };
        for (number, member) in case.members.iter().enumerate() {
            relate(Meant::Processor(number), &member.before, &member.after);
        }
        for (path, before, after) in &case.orders {
            relate(Meant::Path(*path), before, after);
        }
        if with_borders {
            let mut stand = |element: usize, first: u8, last: u8| {
                add(borders + usize::from(first), element, false);
                add(element, borders + usize::from(last) + 1, false);
            };
            for (number, member) in case.members.iter().enumerate() {
                stand(number, member.phase, member.phase);
            }
            // An empty group is where the innermost group is that it is in, and that has members.
            for (number, path) in PATHS.into_iter().enumerate() {
                let outer = PATHS
                    .into_iter()
                    .filter(|outer| within(path, outer) && has_members(outer));
                let inner = outer.max_by_key(|outer| outer.len());
                if let Some(inner) = inner
                    && is_group(path)
                    && !has_members(path)
                {
                    let inside = case.members.iter().filter(|member| {
                        group_of(member).is_some_and(|group| within(group, inner))
                    });
                    let phases: Vec<u8> = inside.map(|member| member.phase).collect();
                    let (first, last) = (phases.iter().min(), phases.iter().max());
                    stand(processors + number, *first.unwrap(), *last.unwrap());
                }
            }
            for phase in 0..usize::from(phases) {
                add(borders + phase, borders + phase + 1, false);
            }
        }
        let mut oracle = Self {
            processors,
            ways,
            borders,
        };
        oracle.close();
        oracle
    }

    /// Floyd and Warshall; the flushes are right if there is no cycle.
    fn close(&mut self) {
        for through in 0..self.ways.len() {
            for from in 0..self.ways.len() {
                for to in 0..self.ways.len() {
                    let ways = (self.ways[from][through], self.ways[through][to]);
                    if let (Some(first), Some(second)) = ways {
                        self.ways[from][to] = self.ways[from][to].max(Some(first + second));
                    }
                }
            }
        }
    }

    fn has_cycle(&self) -> bool {
        (0..self.ways.len()).any(|element| self.ways[element][element].is_some())
    }

    fn precedes(&self, from: usize, to: usize) -> bool {
        self.ways[from][to].is_some()
    }

    /// The most flushes on a way that ends there, not counting from borders.
    fn stage(&self, element: usize) -> u32 {
        let from = 0..self.borders;
        from.filter_map(|from| self.ways[from][element])
            .max()
            .unwrap_or(0)
    }
}

/// For each position of the line those that come before it by edges.
fn by_edges(order: &Order) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; order.line.len()]; order.line.len()];
    for after in 0..order.line.len() {
        for edge in order
            .edges
            .iter()
            .filter(|edge| edge.after as usize == after)
        {
            assert!(edge.before < edge.after);
            let earlier = before[edge.before as usize].clone();
            before[after][edge.before as usize] = true;
            for (at, earlier) in earlier.into_iter().enumerate() {
                before[after][at] |= earlier;
            }
        }
    }
    before
}

fn check(case: &Case, phases: u8) {
    let (nodes, orders) = case.input("P");
    let free = Oracle::new(case, phases, false);
    let bound = Oracle::new(case, phases, true);
    let order = match solve(&nodes, &orders) {
        Ok(order) => order,
        Err(SolveError::Cycle { path }) => {
            assert!(free.has_cycle(), "{path:?} is none");
            assert_eq!(path.first(), path.last());
            assert!(path.len() > 1);
            return;
        }
        Err(SolveError::Phases { .. }) => return assert!(bound.has_cycle()),
        Err(error) => panic!("{error}"),
    };
    assert!(!bound.has_cycle(), "there is a cycle: {order:?}");
    let at = |node: usize| order.line[order.position_of(node) as usize];
    let keys = order
        .line
        .iter()
        .map(|vertex| (vertex.phase, vertex.stage, vertex.segment));
    assert!(keys.is_sorted());
    let edges = by_edges(&order);
    for one in 0..nodes.len() {
        let position = order.position_of(one);
        assert_eq!(at(one).phase, nodes[one].phase);
        if phases == 1 {
            assert_eq!(at(one).stage, free.stage(one), "stage of {one}");
        }
        for other in 0..nodes.len() {
            let other_position = order.position_of(other);
            let same_phase = nodes[one].phase == nodes[other].phase;
            let precedes = bound.precedes(one, other);
            assert!(!precedes || position < other_position);
            if same_phase {
                let by_edges = edges[other_position as usize][position as usize];
                assert_eq!(by_edges, precedes, "{one} before {other}");
                let flushes = bound.ways[one][other].unwrap_or(0);
                assert!(at(one).stage + flushes <= at(other).stage || !precedes);
            }
            if one != other && nodes[one].exclusive {
                assert_ne!(at(one).segment, at(other).segment);
            }
            check_choice(&nodes, &order, &bound, one, other);
        }
    }
}

/// If `other` comes later than `one` although it could have come there, `one` had to be preferred.
fn check_choice(nodes: &[Node], order: &Order, oracle: &Oracle, one: usize, other: usize) {
    let at = |node: usize| order.line[order.position_of(node) as usize];
    let (position, later) = (order.position_of(one), order.position_of(other));
    let level = |node: usize| (at(node).phase, at(node).stage);
    if position >= later || level(one) != level(other) {
        return;
    }
    let mut earlier = (0..oracle.processors).filter(|&node| oracle.precedes(node, other));
    if earlier.all(|node| order.position_of(node) < position) {
        let key = |node: usize| (-nodes[node].priority, node);
        assert!(key(one) < key(other), "{other} could come before {one}");
    }
}

/// What does not depend on names: who stands where, or what kind of error there is.
fn shape(nodes: &[Node], orders: &[GroupOrder]) -> Result<Vec<(usize, u8, u32, u32)>, u8> {
    match crate::processor::solver::order(nodes, orders) {
        Ok(order) => {
            let place = |(position, node): (u32, usize)| {
                let vertex = order.line[position as usize];
                (node, vertex.phase, vertex.stage, vertex.segment)
            };
            Ok(order.processors().map(place).collect())
        }
        Err(SolveError::Cycle { .. }) => Err(0),
        Err(SolveError::Phases { .. }) => Err(1),
        Err(error) => panic!("{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases * 8,
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_order_of_one_phase_is_what_the_brute_force_says(case in case(1)) {
        check(&case, 1);
    }

    #[test]
    fn an_order_of_several_phases_is_what_the_brute_force_says(case in case(3)) {
        check(&case, 3);
    }

    #[test]
    fn an_order_depends_on_nothing_that_does_not_matter(case in case(2)) {
        let (nodes, orders) = case.input("P");
        prop_assert_eq!(solve(&nodes, &orders), solve(&nodes, &orders));
        let (mut renamed, mut turned) = case.input("Zeta.No");
        turned.reverse();
        for node in &mut renamed {
            node.before.reverse();
            node.after.reverse();
        }
        let (one, other) = (shape(&nodes, &orders), shape(&renamed, &turned));
        prop_assert_eq!(one.is_ok(), other.is_ok());
        if one.is_ok() {
            prop_assert_eq!(one, other);
        }
    }
}
