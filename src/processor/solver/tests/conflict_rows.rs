//! Conflicts: one test for each thing that is one, or is none.

use super::{NodeExt, node, solve};
use crate::entity::Entity;
use crate::fragment::{Bundle, Fragment, PerChunk, Shared};
use crate::processor::needs::Needs;
use crate::processor::solver::{Conflicts, Node, why};
use crate::query::{
    Changed, Enabled, Has, Moved, Or, Query, QueryData, QueryFilter, QueryResources, With, Without,
};
use crate::world::World;

struct Position;
impl Position {
    const NEW: u32 = 0;
}
type Velocity = u64;
struct Awake;
struct Team;

/// What a processor with one query needs.
fn needs<D: QueryData, F: QueryFilter>(world: &World) -> Needs {
    lending::<D, F, ()>(world)
}

fn lending<D: QueryData, F: QueryFilter, R: QueryResources>(world: &World) -> Needs {
    let query = Query::<D, F, R>::new(world).unwrap();
    Needs {
        queries: vec![query.requirements().clone()],
        ..Needs::default()
    }
}

/// The conflicts of processors A, B, … which nobody ordered, as pairs and reasons.
fn conflicts(world: &World, needs: &[Needs]) -> Vec<String> {
    let nodes: Vec<Node> = (b'A'..)
        .take(needs.len())
        .map(|name| node(&char::from(name).to_string()))
        .collect();
    edges(world, &nodes, needs)
}

fn edges(world: &World, nodes: &[Node], needs: &[Needs]) -> Vec<String> {
    let order = solve(nodes, &[]).unwrap();
    let mut conflicts = Conflicts::new(&order, needs);
    conflicts.extend(world);
    let name = |position: u32| {
        let mut processors = order.processors();
        let (_, node) = processors.find(|&(at, _)| at == position).unwrap();
        &nodes[node].name
    };
    let describe = |edge: &crate::processor::solver::Conflict| {
        let reason = edge.reason.describe(world.registry());
        format!("{}{}: {reason}", name(edge.before), name(edge.after))
    };
    conflicts.edges().iter().map(describe).collect()
}

/// A world with entities of u32 and u64, and of u32 alone.
fn world() -> World {
    let mut world = World::new();
    world.create((Position::NEW, 1_u64)).unwrap();
    world.create((Position::NEW,)).unwrap();
    world
}

fn register<T: Fragment>(world: &World) {
    world.registry().register_enableable::<T>().unwrap();
}

#[test]
fn who_writes_conflicts_with_who_reads_or_writes() {
    let world = world();
    let (read, write) = (needs::<&u32, ()>(&world), needs::<&mut u32, ()>(&world));
    let all = [
        read.clone(),
        read.clone(),
        write.clone(),
        write.clone(),
        read,
    ];
    let what = "u32 (first in archetype 0)";
    let pairs = ["AC", "BC", "CD", "DE"].map(|pair| format!("{pair}: {what}"));
    assert_eq!(conflicts(&world, &all), pairs);
}

#[test]
fn fragments_that_differ_do_not_conflict() {
    let world = world();
    let all = [needs::<&mut u32, ()>(&world), needs::<&mut u64, ()>(&world)];
    assert_eq!(conflicts(&world, &all), [""; 0]);
}

#[test]
fn archetypes_that_differ_do_not_conflict() {
    let world = world();
    let all = [
        needs::<&mut u32, With<Velocity>>(&world),
        needs::<&mut u32, Without<Velocity>>(&world),
    ];
    assert_eq!(conflicts(&world, &all), [""; 0]);
}

#[test]
fn an_optional_fragment_conflicts_where_it_is_there() {
    let mut world = World::new();
    world.create((Position::NEW,)).unwrap();
    let all = [
        needs::<(&u32, Option<&mut u64>), ()>(&world),
        needs::<(&u32, Option<&u64>), ()>(&world),
    ];
    assert_eq!(conflicts(&world, &all), [""; 0]);
    world.create((Position::NEW, 1_u64)).unwrap();
    assert_eq!(conflicts(&world, &all), ["AB: u64 (first in archetype 1)"]);
}

#[test]
fn to_ask_for_changes_is_to_read() {
    let world = world();
    let write = needs::<&mut u32, ()>(&world);
    let changed = needs::<Entity, Changed<u32>>(&world);
    let moved = needs::<Entity, (With<u32>, Moved)>(&world);
    let all = [write, changed.clone(), changed, moved];
    let what = "u32 (first in archetype 0)";
    assert_eq!(
        conflicts(&world, &all),
        [format!("AB: {what}"), format!("AC: {what}")]
    );
}

#[test]
fn a_query_may_write_what_it_watches() {
    let world = world();
    let both = needs::<&mut u32, Changed<u32>>(&world);
    assert_eq!(conflicts(&world, &[both.clone(), both]).len(), 1);
}

#[test]
fn presence_alone_does_not_conflict() {
    let world = world();
    let all = [
        needs::<&mut u32, ()>(&world),
        needs::<(&u64, Has<u32>), With<u32>>(&world),
    ];
    assert_eq!(conflicts(&world, &all), [""; 0]);
}

#[test]
fn who_switches_conflicts_with_who_looks_where_it_can_be_switched() {
    let mut world = World::new();
    // Older than the switch: nothing to be switched there.
    world.create((Position::NEW, Awake)).unwrap();
    register::<Awake>(&world);
    let switch = needs::<(&u64, Enabled<Awake>), ()>(&world);
    let all = [
        switch,
        needs::<&u32, With<Awake>>(&world),
        needs::<&u32, Without<Awake>>(&world),
        needs::<&u32, ()>(&world),
    ];
    assert_eq!(conflicts(&world, &all), [""; 0]);
    world.create((Position::NEW, 1_u64, Awake)).unwrap();
    let what = format!("the switch of {}", core::any::type_name::<Awake>());
    let pairs = ["AB", "AC"].map(|pair| format!("{pair}: {what} (first in archetype 1)"));
    assert_eq!(conflicts(&world, &all), pairs);
}

#[test]
fn who_switches_conflicts_with_who_sees_what_has_changed_or_moved() {
    let mut world = World::new();
    register::<Awake>(&world);
    world.create((Position::NEW, 1_u64, Awake)).unwrap();
    let all = [
        needs::<Enabled<Awake>, ()>(&world),
        needs::<Entity, Or<(Changed<Awake>, Moved)>>(&world),
        needs::<Entity, Or<(Changed<u64>, Moved)>>(&world),
    ];
    let what = format!("the switch of {}", core::any::type_name::<Awake>());
    let what = format!("{what} (first in archetype 0)");
    assert_eq!(conflicts(&world, &all), [format!("AB: {what}")]);
    let told: Vec<String> = why(&all[0], &all[1], &world)
        .into_iter()
        .map(|reason| reason.describe(world.registry()))
        .collect();
    assert_eq!(told, [what]);
    assert!(why(&all[0], &all[2], &world).is_empty());
}

#[test]
fn shared_values_do_not_conflict_and_chunk_fragments_are_read_together() {
    let mut world = World::new();
    let bundle = (Position::NEW,).shared(7_u8).per_chunk(8_i8);
    world.create(bundle).unwrap();
    let all = [
        needs::<(Shared<u8>, PerChunk<i8>), ()>(&world),
        needs::<(Shared<u8>, PerChunk<i8>), ()>(&world),
    ];
    assert_eq!(conflicts(&world, &all), [""; 0]);
}

#[test]
fn resources_conflict_whatever_archetypes_match() {
    let world = World::new();
    let mut bare = Needs::default();
    bare.resources.read(crate::query::ResourceId::of::<u8>());
    let all = [
        lending::<&u32, (), (&u8, &u16)>(&world),
        lending::<&u64, (), &mut u8>(&world),
        lending::<&u64, (), &u16>(&world),
        bare,
    ];
    assert_eq!(
        conflicts(&world, &all),
        ["AB: the resource u8", "BD: the resource u8"]
    );
}

#[test]
fn segments_are_kept_apart_without_edges() {
    let world = world();
    let write = needs::<&mut u32, ()>(&world);
    let nodes = [
        node("A"),
        node("B").exclusive(),
        node("C"),
        node("D"),
        node("E").phase(1),
    ];
    let all = [(); 5].map(|()| write.clone());
    assert_eq!(
        edges(&world, &nodes, &all),
        ["CD: u32 (first in archetype 0)"]
    );
}

#[test]
fn what_is_ordered_anyway_needs_no_conflict() {
    let world = world();
    let write = needs::<&mut u32, ()>(&world);
    let nodes = [node("A"), node("B").after("A"), node("C").after("B")];
    let all = [(); 3].map(|()| write.clone());
    assert_eq!(edges(&world, &nodes, &all), [""; 0]);
}

#[test]
fn a_processor_does_not_conflict_with_itself() {
    let world = world();
    let mut twice = needs::<&u32, ()>(&world);
    twice.queries.extend(needs::<&mut u32, ()>(&world).queries);
    twice
        .resources
        .write(crate::query::ResourceId::of::<Team>());
    twice.resources.read(crate::query::ResourceId::of::<Team>());
    assert_eq!(conflicts(&world, &[twice]), [""; 0]);
}

#[test]
fn only_new_archetypes_are_looked_at_until_some_go() {
    let mut world = World::new();
    let order = solve(&[node("A"), node("B"), node("C")], &[]).unwrap();
    let needs = [
        lending::<&mut u32, (), &mut u8>(&world),
        lending::<&mut u32, (), &u8>(&world),
        needs::<&mut u32, With<Awake>>(&world),
    ];
    let mut conflicts = Conflicts::new(&order, &needs);
    assert_eq!(conflicts.edges().len(), 1, "the resource");
    assert!(conflicts.extend(&world), "another world");
    assert!(!conflicts.extend(&world));
    let ant = world.create((Position::NEW, Awake)).unwrap();
    assert!(conflicts.extend(&world));
    let sees = |conflicts: &Conflicts| [0, 1, 2].map(|position| conflicts.sees_any(position));
    assert_eq!(sees(&conflicts), [true; 3]);
    assert_eq!(conflicts.edges().len(), 2, "A and B are kept apart already");
    world.create((Position::NEW,)).unwrap();
    assert!(!conflicts.extend(&world), "nothing new");
    world.create((1_u64,)).unwrap();
    assert!(!conflicts.extend(&world), "nobody sees it");
    world.destroy(ant).unwrap();
    assert!(!conflicts.extend(&world), "it may come again");
    world.collect_archetypes();
    assert!(conflicts.extend(&world));
    assert_eq!(sees(&conflicts), [true, true, false]);
    assert_eq!(conflicts.edges().len(), 1);
}

#[test]
fn all_reasons_are_told_to_who_asks() {
    let mut world = world();
    register::<Awake>(&world);
    world.create((Position::NEW, 1_u64, Awake)).unwrap();
    let one = lending::<(&mut u32, &mut u64, Enabled<Awake>), (), &u8>(&world);
    let mut other = lending::<(&u32, &mut u64), With<Awake>, &mut u8>(&world);
    let told = |other: &Needs| {
        let reasons = why(&one, other, &world).into_iter();
        reasons
            .map(|reason| reason.describe(world.registry()))
            .collect::<Vec<_>>()
    };
    let awake = core::any::type_name::<Awake>();
    assert_eq!(
        told(&other),
        [
            "the resource u8".into(),
            "u32 (first in archetype 2)".into(),
            "u64 (first in archetype 2)".into(),
            format!("the switch of {awake} (first in archetype 2)"),
        ]
    );
    other = needs::<&u32, Without<Velocity>>(&world);
    assert_eq!(told(&other), [""; 0]);
}
