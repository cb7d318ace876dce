//! Pictures: what must hold for any, and one to be looked at.

use super::drawn::Drawn;
use super::place::Rectangle;
use super::svg::bands;
use super::*;
use crate::processor::needs::Needs;
use crate::processor::picture::columns::Item;
use crate::processor::solver::{GroupOrder, Target, order};
use crate::query::{Access, Requirements};
use crate::world::World;
use proptest::prelude::*;

fn vertex(number: usize, group: &str, phase: u8, stage: u32, shape: Shape) -> PictureVertex {
    PictureVertex {
        label: format!("Processor{number}<\"&\\>"),
        group: group.into(),
        phase,
        stage,
        shape,
    }
}

/// A picture of so many vertices, as the numbers have it.
fn picture(vertices: &[(u8, bool, u8)], edges: &[(usize, usize, u8)]) -> Picture {
    let mut levels: Vec<(u8, u32)> = vertices
        .iter()
        .map(|&(level, ..)| (level / 4 % 3, u32::from(level % 4 / 3)))
        .collect();
    levels.sort_unstable();
    let groups = ["", "A", "A.B", "C", "C.D.E"];
    let number = vertices.iter().zip(&levels).enumerate();
    let vertices = number.map(|(number, (&(_, joint, other), &(phase, stage)))| {
        let shape = match (joint, other % 8) {
            (true, _) => Shape::Joint,
            (_, 0) => Shape::Exclusive,
            (_, 1) => Shape::Idle,
            _ => Shape::Processor,
        };
        vertex(
            number,
            groups[usize::from(other) % groups.len()],
            phase,
            stage,
            shape,
        )
    });
    let vertices: Vec<PictureVertex> = vertices.collect();
    let count = vertices.len();
    let pairs = edges.iter().map(|&(one, other, tie)| {
        let (one, other) = (one % count, other % count);
        let tie = [Tie::Order, Tie::Flush, Tie::Conflict][usize::from(tie % 3)];
        (one.min(other), one.max(other), tie)
    });
    let mut edges: Vec<PictureEdge> = pairs
        .filter(|&(from, to, _)| from < to && vertices[from].phase == vertices[to].phase)
        .map(|(from, to, tie)| PictureEdge {
            from,
            to,
            tie,
            reason: "A & \"B\" <C>".into(),
        })
        .collect();
    edges.sort_by_key(|edge| (edge.from, edge.to));
    edges.dedup_by_key(|edge| (edge.from, edge.to));
    Picture {
        title: "\"Title\" & more <than> that \\".into(),
        phases: ["One", "Two", "Three"].map(String::from).into(),
        vertices,
        edges,
    }
}

fn any_picture() -> impl Strategy<Value = Picture> {
    let vertex = (any::<u8>(), prop::bool::weighted(0.3), any::<u8>());
    let edge = (any::<usize>(), any::<usize>(), any::<u8>());
    let parts = (
        prop::collection::vec(vertex, 1..60),
        prop::collection::vec(edge, 0..120),
    );
    parts.prop_map(|(vertices, edges)| picture(&vertices, &edges))
}

/// The tags of a document, each of which is closed, in the order in which they open; panics if it is none.
fn tags(document: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut tags = Vec::new();
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>'), "a bare > in {text}");
        for (at, _) in text.match_indices('&') {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;"];
            assert!(
                known.iter().any(|name| text[at..].starts_with(name)),
                "{text}"
            );
        }
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let inner = tag.strip_suffix('/').unwrap_or(tag);
        assert!(!inner.contains('<'), "{inner}");
        assert_eq!(inner.matches('"').count() % 2, 0, "{inner}");
        let name = inner.split_whitespace().next().expect("a tag has a name");
        if !tag.ends_with('/') {
            open.push(name.into());
        }
        tags.push(name.into());
    }
    assert_eq!(open, [""; 0]);
    tags
}

/// The statements of a graph: vertices and edges; panics if it is not well formed.
fn statements(dot: &str) -> (Vec<usize>, Vec<(usize, usize)>) {
    let (mut vertices, mut edges, mut depth) = (Vec::new(), Vec::new(), 0);
    for line in dot.lines() {
        let mut quoted = false;
        let mut letters = line.chars();
        let mut bare = String::new();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if quoted => drop(letters.next()),
                '"' => quoted = !quoted,
                letter if !quoted => bare.push(letter),
                _ => {}
            }
        }
        assert!(!quoted, "a string without an end: {line}");
        depth += bare.matches('{').count();
        depth -= bare.matches('}').count();
        assert_eq!(bare.matches('[').count(), bare.matches(']').count());
        let bare = bare.trim();
        let number = |name: &str| {
            name.trim()
                .strip_prefix('n')
                .and_then(|n| n.parse::<usize>().ok())
        };
        let head = bare.split(['[', ';']).next().unwrap();
        match head.split_once("->") {
            Some(_) if bare.contains("invis") => {}
            Some((from, to)) => edges.push((number(from).unwrap(), number(to).unwrap())),
            None => vertices.extend(number(head)),
        }
    }
    assert_eq!(depth, 0);
    (vertices, edges)
}

fn overlap(one: Rectangle, other: Rectangle) -> bool {
    one.x < other.right()
        && other.x < one.right()
        && one.y < other.y + other.height
        && other.y < one.y + one.height
}

proptest! {
    #[test]
    fn a_graph_says_each_vertex_and_each_edge_once(picture in any_picture()) {
        let (mut vertices, mut edges) = statements(&to_dot(&picture));
        vertices.sort_unstable();
        edges.sort_unstable();
        prop_assert_eq!(vertices, (0..picture.vertices.len()).collect::<Vec<_>>());
        let expected: Vec<_> = picture.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        prop_assert_eq!(edges, expected);
    }

    #[test]
    fn a_drawing_is_well_formed_and_shows_each_processor(picture in any_picture()) {
        let svg = to_svg(&picture);
        let tags = tags(&svg);
        prop_assert_eq!(&tags[0], "svg");
        let processors = picture.vertices.iter().filter(|vertex| vertex.shape != Shape::Joint);
        for vertex in processors {
            let name = vertex.label.replace('<', "&lt;");
            let name = name.split('"').next().unwrap();
            prop_assert!(svg.contains(name));
        }
        prop_assert_eq!(svg, to_svg(&picture), "the same each time");
    }

    #[test]
    fn nothing_is_drawn_over_a_box(picture in any_picture()) {
        let drawn = Drawn::new(&picture);
        for (_, band) in bands(&picture, &drawn) {
            for (one, &place) in band.items.iter().enumerate() {
                prop_assert!(place.x >= 0.0 && place.y >= -0.001);
                prop_assert!(place.right() <= band.width && place.y + place.height <= band.height);
                // A pass has no height: it must not cut through a box.
                for (other, &second) in band.items.iter().enumerate().skip(one + 1) {
                    let boxes = [one, other].map(|item| band.columns.items[item] != Item::Pass);
                    let apart = !overlap(place, second) || boxes == [false; 2];
                    prop_assert!(apart, "{:?} and {:?}", place, second);
                }
            }
            for (from, to) in band.columns.links() {
                prop_assert!(band.items[from].right() < band.items[to].x, "edges go to the right");
            }
        }
    }

    #[test]
    fn a_drawing_says_all_that_comes_before_what(picture in any_picture()) {
        let drawn = Drawn::new(&picture);
        let ways = |edges: &[PictureEdge]| {
            let count = picture.vertices.len();
            let mut ways = vec![vec![false; count]; count];
            let mut edges: Vec<_> = edges.iter().map(|edge| (edge.to, edge.from)).collect();
            edges.sort_unstable();
            for (to, from) in edges {
                ways[to][from] = true;
                let earlier = ways[from].clone();
                for (way, earlier) in ways[to].iter_mut().zip(earlier) {
                    *way |= earlier;
                }
            }
            ways
        };
        let (all, shown) = (ways(&picture.edges), ways(&drawn.edges));
        let visible = |vertex: &usize| drawn.vertices[*vertex];
        for to in (0..picture.vertices.len()).filter(visible) {
            for from in (0..picture.vertices.len()).filter(visible) {
                prop_assert_eq!(all[to][from], shown[to][from], "{} before {}", from, to);
            }
        }
    }
}

#[test]
fn many_edges_through_a_joint_are_drawn_as_a_joint() {
    let processor = |number| vertex(number, "", 0, 0, Shape::Processor);
    let mut vertices: Vec<PictureVertex> = (0..20).map(processor).collect();
    vertices.insert(10, vertex(10, "", 0, 0, Shape::Joint));
    let edge = |from, to| PictureEdge {
        from,
        to,
        tie: Tie::Order,
        reason: String::new(),
    };
    let before = (0..10).map(|from| edge(from, 10));
    let mut picture = Picture {
        title: String::new(),
        phases: vec!["One".into()],
        vertices,
        edges: before.chain((11..21).map(|to| edge(10, to))).collect(),
    };
    assert_eq!(Drawn::new(&picture).edges.len(), 20);
    picture.edges.retain(|edge| edge.from > 7);
    let drawn = Drawn::new(&picture);
    assert!(!drawn.vertices[10], "two before it: that costs little");
    assert_eq!(drawn.edges.len(), 20);
}

#[test]
fn a_graph_grows_with_the_depth_of_a_group_and_no_faster() {
    let length = |depth: usize| {
        let path = vec!["A"; depth].join(".");
        let picture = Picture {
            phases: vec!["One".into()],
            vertices: vec![vertex(0, &path, 0, 0, Shape::Processor)],
            ..Picture::default()
        };
        to_dot(&picture).len()
    };
    let (one, two) = (length(200), length(400));
    assert!(two < 2 * one + one / 10, "{one} letters, then {two}");
}

#[test]
fn the_joints_of_groups_say_their_own_names_and_not_those_of_all_that_they_lie_in() {
    let world = World::new();
    let drawn = |depth: usize| {
        let nodes = [Node {
            name: "deep".into(),
            group: vec!["A"; depth].join("."),
            ..Node::default()
        }];
        let order = order(&nodes, &[]).unwrap();
        let conflicts = Conflicts::new(&order, &[Needs::default()]);
        let parts = (&nodes[..], &order);
        to_dot(&Picture::new(
            "",
            parts,
            &conflicts,
            &|_| "One",
            world.registry(),
            &|_| false,
        ))
    };
    let dot = drawn(32);
    assert_eq!(dot.matches("tooltip=\"begin of A\"").count(), 32);
    assert_eq!(dot.matches("tooltip=\"end of A\"").count(), 32);
    let (one, two) = (dot.len(), drawn(64).len());
    assert!(two < 2 * one + one / 10, "{one} letters, then {two}");
}

#[test]
fn clusters_have_names_of_their_own() {
    let groups = ["A", "A.B", "C", "C.D.E"].into_iter().enumerate();
    let vertices = groups.map(|(at, group)| vertex(at, group, (at / 2) as u8, 0, Shape::Processor));
    let picture = Picture {
        phases: ["One", "Two"].map(String::from).into(),
        vertices: vertices.collect(),
        ..Picture::default()
    };
    let dot = to_dot(&picture);
    let clusters = dot.lines().filter(|line| line.contains("subgraph"));
    let clusters: std::collections::BTreeSet<_> = clusters.map(str::trim).collect();
    assert_eq!(clusters.len(), 2 + 5);
    assert!(
        clusters
            .iter()
            .all(|name| name.starts_with("subgraph cluster"))
    );
}

#[test]
fn a_drawing_has_letters_only_that_a_document_may_have() {
    let mut picture = picture(&[(0, false, 3), (1, false, 4)], &[(0, 1, 2)]);
    let odd = "tab\t, line\n, \0, \u{b}, \u{1f}, \u{85}, \u{fffe}, \u{ffff}, \u{10fffe}";
    picture.title = odd.into();
    for vertex in &mut picture.vertices {
        vertex.label = odd.into();
        vertex.group = odd.into();
    }
    picture.edges[0].reason = odd.into();
    picture.phases[0] = odd.into();
    let svg = to_svg(&picture);
    // What XML 1.0 calls a Char.
    let is_char = |letter| matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    assert!(svg.chars().all(is_char));
    assert!(svg.contains('\u{10fffe}'), "what may stand there stays");
}

/// A frame of a small game.
fn game() -> Picture {
    let node = |name: &str, phase: u8, group: &str, before: &[&str], after: &[&str]| Node {
        name: name.into(),
        phase,
        group: group.into(),
        before: before.iter().map(|&name| name.into()).collect(),
        after: after.iter().map(|&name| name.into()).collect(),
        ..Node::default()
    };
    let mut nodes = [
        node("Input", 0, "Devices", &["Thought"], &[]),
        node("ReadHost", 0, "SyncWorldToMass", &["Thought"], &[]),
        node("Sense", 0, "Thought", &["Decide"], &[]),
        node("Hear", 0, "Thought", &["Decide"], &[]),
        node("Decide", 0, "Thought", &[], &[]),
        node("Animate", 0, "", &[], &[]),
        node("Steer", 2, "Movement.Steering", &[], &[]),
        node("Avoid", 2, "Movement.Steering", &[], &["Steer"]),
        node("Move", 2, "Movement", &[], &["Movement.Steering"]),
        node("Fall", 2, "Movement", &[], &["Move"]),
        node("Particles", 2, "", &[], &[]),
        node("Collide", 2, "", &[], &["Movement"]),
        node("Hurt", 2, "", &[], &[]),
        node("Spawn", 4, "Population", &[], &[]),
        node("Count", 4, "", &[], &[]),
        node("WriteHost", 5, "UpdateWorldFromMass", &[], &[]),
        node("Save", 5, "", &[], &["WriteHost"]),
    ];
    nodes[12].after.push(Target::from("Collide").flushed());
    nodes[16].exclusive = true;
    // What each reads and writes, by letters.
    let touches = [
        ("", "i"),
        ("", "p"),
        ("p", "s"),
        ("p", "h"),
        ("shi", "g"),
        ("g", "a"),
        ("gp", "v"),
        ("p", "v"),
        ("v", "p"),
        ("", "pv"),
        ("p", "x"),
        ("p", "c"),
        ("c", "l"),
        ("", "pl"),
        ("l", ""),
        ("pa", ""),
        ("", ""),
    ];
    let mut world = World::new();
    let mut bundle = crate::fragment::DynamicBundle::new();
    let letters = "ipshgavcxl";
    let names = [
        "Input", "Position", "Sight", "Hearing", "Goal", "Pose", "Velocity", "Contact", "Sparks",
        "Life",
    ];
    let layout = core::alloc::Layout::new::<u32>();
    let ids = names.map(|name| {
        let id = world.registry().define_plain(name, layout).unwrap().id();
        let value = crate::fragment::Value::from_bytes(world.registry(), id, &[0; 4]);
        bundle.push(value.unwrap());
        id
    });
    world.create_dynamic(bundle).unwrap();
    let id = |letter| ids[letters.find(letter).unwrap()];
    let needs = touches.map(|(read, written)| {
        let mut requirements = Requirements::new();
        read.chars()
            .for_each(|letter| requirements.all(id(letter), Access::Read));
        written
            .chars()
            .for_each(|letter| requirements.all(id(letter), Access::Write));
        Needs {
            queries: vec![requirements],
            ..Needs::default()
        }
    });
    let phases = |phase: u8| {
        [
            "PrePhysics",
            "StartPhysics",
            "DuringPhysics",
            "EndPhysics",
            "PostPhysics",
            "FrameEnd",
        ][usize::from(phase)]
    };
    let groups = [GroupOrder {
        path: "Movement".into(),
        optional: true,
        ..GroupOrder::default()
    }];
    let order = order(&nodes, &groups).unwrap();
    let mut conflicts = Conflicts::new(&order, &needs);
    conflicts.extend(&world);
    let idle = |node: usize| nodes[node].name == "Count";
    let registry = world.registry();
    Picture::new(
        "A frame of a small game",
        (&nodes, &order),
        &conflicts,
        &phases,
        registry,
        &idle,
    )
}

#[test]
fn a_game_is_drawn() {
    let game = game();
    let (svg, dot) = (to_svg(&game), to_dot(&game));
    assert!(tags(&svg).len() > 60);
    for name in [
        "Steer",
        "Collide",
        "WriteHost",
        "DuringPhysics",
        "Movement.Steering",
    ] {
        assert!(svg.contains(name), "{name}");
    }
    assert!(svg.contains("<title>Position (first in archetype 0)</title>"));
    let movement = dot.find("label=\"Movement\"").expect("it is drawn");
    let within = &dot[movement..][..dot[movement..].find('}').unwrap()];
    assert!(
        within.contains("label=\"Steering\""),
        "Steering lies in Movement"
    );
    assert!(dot.contains("tooltip=\"Position (first in archetype 0)\""));
}
