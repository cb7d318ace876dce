//! The order: one test for each thing that it promises.

use super::{NodeExt, group, names, node, solve};
use crate::processor::Phase;
use crate::processor::solver::{Node, Relation, SolveError, Target, VertexKind};

/// Stage and segment of each node.
fn stages(nodes: &[Node]) -> Vec<(u32, u32)> {
    let order = solve(nodes, &[]).unwrap();
    let at = |node| order.line[order.position_of(node) as usize];
    (0..nodes.len())
        .map(|node| (at(node).stage, at(node).segment))
        .collect()
}

fn optional(name: &str) -> Target {
    Target::from(name).optional()
}

fn cycle(nodes: &[Node]) -> String {
    match solve(nodes, &[]) {
        Err(error @ SolveError::Cycle { .. }) => error.to_string(),
        other => panic!("a cycle was expected, not {other:?}"),
    }
}

#[test]
fn groups_and_processors_order_each_other() {
    let nodes = [
        node("A").group("X.Z").after("X.Y").after("E"),
        node("B").group("X.Y"),
        node("C").group("X.Y"),
        node("D").before("A"),
        node("E").group("X.Z"),
        node("F").after("A"),
    ];
    assert_eq!(names(&nodes, &[]), ["B", "C", "D", "E", "A", "F"]);
}

#[test]
fn without_a_wish_processors_stand_by_phase_then_priority_then_registration() {
    let nodes = [
        node("A").phase(1),
        node("B").priority(-1),
        node("C"),
        node("D").phase(1).priority(7),
        node("E"),
    ];
    assert_eq!(names(&nodes, &[]), ["C", "E", "B", "D", "A"]);
}

#[test]
fn an_edge_counts_more_than_a_priority() {
    let nodes = [
        node("A").priority(9).after("B"),
        node("B"),
        node("C").priority(1),
    ];
    assert_eq!(names(&nodes, &[]), ["C", "B", "A"]);
}

#[test]
fn a_group_is_ordered_as_a_whole() {
    let nodes = [
        node("A").group("Late.Inner"),
        node("B").group("Late"),
        node("C").group("Early"),
        node("D"),
    ];
    let groups = [group("Late", &[], &["Early", "D"])];
    assert_eq!(names(&nodes, &groups), ["C", "D", "A", "B"]);
    let groups = [
        group("Late.Inner", &["Early"], &["D"]),
        group("Early", &["B"], &[]),
    ];
    assert_eq!(names(&nodes, &groups), ["D", "A", "C", "B"]);
}

#[test]
fn an_optional_name_that_nobody_has_still_orders() {
    let nodes = [
        node("B").after(optional("Ghost")),
        node("A").before(optional("Ghost")),
    ];
    assert_eq!(names(&nodes, &[]), ["A", "B"]);
}

#[test]
fn a_group_without_members_still_orders() {
    let nodes = [node("B").after("G.Empty"), node("A").before("G")];
    assert_eq!(names(&nodes, &[group("G.Empty", &[], &[])]), ["A", "B"]);
}

#[test]
fn an_unknown_name_is_an_error_with_the_nearest_one() {
    let nodes = [node("Move"), node("Draw").group("Output").after("Mvoe")];
    let error = solve(&nodes, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Draw is to run after `Mvoe`, which is no processor and no group: did you mean `Move`?"
    );
    let error = solve(&[node("Move")], &[group("Output", &["Sound"], &[])]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "group Output is to run before `Sound`, which is no processor and no group"
    );
    // That others know it as optional does not make it known.
    let nodes = [node("A").after(optional("Ghost")), node("B").after("Ghost")];
    assert!(matches!(
        solve(&nodes, &[]),
        Err(SolveError::Unknown { asker, relation: Relation::After, nearest: None, .. }) if asker == "B"
    ));
}

#[test]
fn a_name_stands_for_one_processor_or_one_group() {
    let error = solve(&[node("A"), node("A")], &[]).unwrap_err();
    assert_eq!(error.to_string(), "two processors are called `A`");
    let error = solve(&[node("X"), node("A").group("X.Y")], &[]).unwrap_err();
    assert_eq!(error.to_string(), "`X` is a processor and a group");
    let error = solve(&[node("X.Y"), node("A").group("X.Y")], &[]).unwrap_err();
    assert_eq!(error.to_string(), "`X.Y` is a processor and a group");
}

#[test]
fn a_path_with_an_empty_part_is_an_error() {
    for path in [".", "A..B", ".A", "A."] {
        let error = solve(&[node("P").group(path)], &[]).unwrap_err();
        assert_eq!(error, SolveError::EmptyPart { path: path.into() });
    }
    let error = solve(&[], &[group("", &[], &[])]).unwrap_err();
    assert_eq!(
        error,
        SolveError::EmptyPart {
            path: String::new()
        }
    );
}

#[test]
fn a_path_of_more_than_64_parts_is_an_error() {
    let path = |parts: usize| vec!["A"; parts].join(".");
    let deepest = path(64);
    let nodes = [node("P").group(&deepest), node("Q").before("A")];
    let groups = [group(&deepest, &["Q"], &[])];
    assert!(solve(&nodes[..1], &[]).is_ok());
    assert!(matches!(
        solve(&nodes, &groups),
        Err(SolveError::Cycle { .. })
    ));
    for parts in [65, 100_000] {
        let path = path(parts);
        let error = SolveError::TooDeep {
            path: path.clone(),
            parts,
        };
        assert_eq!(solve(&[node("P").group(&path)], &[]).unwrap_err(), error);
        assert_eq!(solve(&[], &[group(&path, &[], &[])]).unwrap_err(), error);
    }
}

#[test]
fn orders_that_the_phases_keep_anyway_are_fine() {
    let nodes = [
        node("A").phase(2).after("B").after("G"),
        node("B").phase(1).after("G"),
        node("C").group("G").before("A"),
    ];
    assert_eq!(names(&nodes, &[]), ["C", "B", "A"]);
}

#[test]
fn orders_contrary_to_the_phases_are_errors_that_name_both() {
    let error = solve(&[node("A").after("B"), node("B").phase(3)], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A is to run after B, but it is in PrePhysics, and the other in EndPhysics"
    );
    let phases = match error {
        SolveError::Phases {
            asker_phase,
            target_phase,
            ..
        } => [asker_phase, target_phase],
        other => panic!("{other}"),
    };
    assert_eq!(phases, [Phase::PrePhysics, Phase::EndPhysics]);
    let error = solve(&[node("A").phase(5).before("B"), node("B").phase(4)], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A is to run before B, but it is in FrameEnd, and the other in PostPhysics"
    );
    // One member in a later phase is enough.
    let nodes = [
        node("A").phase(1).after("G"),
        node("B").group("G"),
        node("C").group("G").phase(2),
    ];
    let error = solve(&nodes, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "A is to run after group G, but it is in StartPhysics, and the other in DuringPhysics"
    );
    // Nobody says so, but the ghost hands it on.
    let nodes = [
        node("A").phase(1).before(optional("Ghost")),
        node("B").after(optional("Ghost")),
    ];
    let error = solve(&nodes, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "B is to run after A, but it is in PrePhysics, and the other in StartPhysics"
    );
}

#[test]
fn a_cycle_is_printed_as_a_path() {
    let nodes = [
        node("Z"),
        node("C").group("X.Z").before("A"),
        node("A").before("B"),
        node("B").before("X.Z"),
        node("Behind").after("A"),
    ];
    assert_eq!(
        cycle(&nodes),
        "the order is a cycle: C -> A -> B -> group X.Z -> C"
    );
}

#[test]
fn a_cycle_is_the_shortest_that_is_found() {
    let nodes = [
        node("A").before("B").before("D"),
        node("B").before("C"),
        node("C").before("D"),
        node("D").before("A"),
    ];
    assert_eq!(cycle(&nodes), "the order is a cycle: A -> D -> A");
}

#[test]
fn who_is_ordered_against_itself_is_a_cycle() {
    assert_eq!(
        cycle(&[node("A").after("A")]),
        "the order is a cycle: A -> A"
    );
    assert_eq!(
        cycle(&[node("A").group("G.H").before("G")]),
        "the order is a cycle: A -> group G -> group G.H -> A"
    );
    let error = solve(&[], &[group("G", &["G"], &[])]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the order is a cycle: group G -> group G"
    );
}

#[test]
fn a_cycle_through_a_ghost_is_found() {
    let nodes = [
        node("A").before(optional("Ghost")).after("B"),
        node("B").after(optional("Ghost")),
    ];
    assert_eq!(cycle(&nodes), "the order is a cycle: A -> Ghost -> B -> A");
}

#[test]
fn a_flushed_edge_begins_a_stage() {
    let flushed = |name: &str| Target::from(name).flushed();
    let nodes = [
        node("A").group("G"),
        node("B").group("G"),
        node("C").after(flushed("G")),
        node("D").after("C"),
        node("E").before(flushed("D")),
        node("F"),
        node("G2").after(flushed("D")).phase(0),
    ];
    let stages: Vec<u32> = stages(&nodes).iter().map(|&(stage, _)| stage).collect();
    assert_eq!(stages, [0, 0, 1, 1, 0, 0, 2]);
}

#[test]
fn stages_begin_anew_with_each_phase() {
    let flushed = |name: &str| Target::from(name).flushed();
    let nodes = [
        node("A"),
        node("B").after(flushed("A")),
        node("C").phase(1).after(flushed("B")),
    ];
    assert_eq!(stages(&nodes), [(0, 0), (1, 1), (0, 2)]);
}

#[test]
fn an_exclusive_processor_has_a_segment_of_its_own() {
    let nodes = [
        node("A"),
        node("B").exclusive(),
        node("C").exclusive(),
        node("D"),
        node("E"),
    ];
    assert_eq!(stages(&nodes), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 3)]);
}

#[test]
fn many_against_many_cost_an_edge_each_not_one_a_pair() {
    let member = |group: &str, n: usize| node(&format!("{group}{n}")).group(group);
    let early = (0..1_000).map(|n| member("Early", n).before("Late"));
    let late = (0..1_000).map(|n| member("Late", n).after("Early"));
    let nodes: Vec<Node> = early.chain(late).collect();
    let order = solve(&nodes, &[group("Early", &["Late"], &[])]).unwrap();
    assert!(order.edges.len() <= 6_001, "{} edges", order.edges.len());
    let first_late = order.position_of(1_000);
    assert!((0..1_000).all(|node| order.position_of(node) < first_late));
}

#[test]
fn edges_stand_in_order_each_once() {
    let nodes = [
        node("A").before("B").before("B"),
        node("B").after("A").after(Target::from("A").flushed()),
    ];
    let order = solve(&nodes, &[]).unwrap();
    assert_eq!(order.edges.len(), 1);
    assert!(order.edges[0].flush, "one that is flushed stands for both");
    let kinds: Vec<VertexKind> = order.line.iter().map(|vertex| vertex.kind).collect();
    assert_eq!(kinds, [VertexKind::Processor(0), VertexKind::Processor(1)]);
}
