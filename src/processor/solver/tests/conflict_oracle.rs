//! Conflicts against a brute force, on random worlds.
//!
//! The oracle takes every pair of processors, every archetype and every fragment. It asks:
//! * between two of one segment that conflict there is a way along the edges, those of the order or of conflicts;
//! * no edge of a conflict joins two that do not, none joins segments, and each points along the line;
//! * who asks why is given a reason exactly for those that conflict;
//! * looking at archetypes as they come is the same as looking at all at the end.

use core::alloc::Layout;

use proptest::collection::vec;
use proptest::prelude::*;

use super::{NodeExt, node, solve};
use crate::archetype::Archetype;
use crate::fragment::{DynamicBundle, FragmentId, FragmentSet, Value};
use crate::processor::needs::Needs;
use crate::processor::solver::{Conflict, Conflicts, Node, Order, why};
use crate::query::{Access, Requirements, ResourceId};
use crate::world::World;

/// The last one is a tag.
const FRAGMENTS: u16 = 8;
/// From the third archetype on these can be switched off.
const SWITCHABLE: [u16; 3] = [0, 1, 7];

/// What a query does with a fragment.
#[derive(Clone, Copy, Debug)]
enum Use {
    Read,
    Write,
    With,
    Watch,
    /// Or that entities moved: it need not be there.
    WatchOrMoved,
    MayRead,
    MayWrite,
    Without,
    Any,
    Switch,
}

const USES: [Use; 10] = [
    Use::Read,
    Use::Write,
    Use::With,
    Use::Watch,
    Use::WatchOrMoved,
    Use::MayRead,
    Use::MayWrite,
    Use::Without,
    Use::Any,
    Use::Switch,
];

#[derive(Clone, Debug)]
struct Processor {
    /// For each query, what it does with which fragments.
    queries: Vec<Vec<(u16, Use)>>,
    /// Among three, and whether they are written.
    resources: Vec<(usize, bool)>,
    exclusive: bool,
    /// After a processor before it, perhaps with a flush.
    after: Option<(usize, bool)>,
}

#[derive(Clone, Debug)]
struct Case {
    /// Sets of fragments, as bits.
    archetypes: Vec<u8>,
    processors: Vec<Processor>,
}

fn case() -> impl Strategy<Value = Case> {
    let used = (0..FRAGMENTS, prop::sample::select(&USES[..]));
    let query = vec(used, 1..4);
    let resource = (0..3_usize, prop::bool::weighted(0.3));
    let resources = prop_oneof![3 => Just(vec![]), 1 => vec(resource, 1..3)];
    let exclusive = prop::bool::weighted(0.06);
    let after = prop::option::weighted(0.2, (0..14_usize, prop::bool::weighted(0.2)));
    let processor = (vec(query, 0..3), resources, exclusive, after);
    let processor = processor.prop_map(|(queries, resources, exclusive, after)| Processor {
        queries,
        resources,
        exclusive,
        after,
    });
    let parts = (vec(any::<u8>(), 1..30), vec(processor, 2..14));
    parts.prop_map(|(archetypes, processors)| Case {
        archetypes,
        processors,
    })
}

fn id(number: u16) -> FragmentId {
    FragmentId::from_number(number)
}

fn requirements(uses: &[(u16, Use)]) -> Requirements {
    let mut requirements = Requirements::new();
    let mut any = FragmentSet::new();
    for &(number, used) in uses {
        let id = id(number);
        match used {
            Use::Read => requirements.all(id, Access::Read),
            Use::Write => requirements.all(id, Access::Write),
            Use::With => requirements.all(id, Access::None),
            Use::Watch => requirements.watch(id),
            Use::WatchOrMoved => requirements.watch_one_of([id].into_iter().collect(), false),
            Use::MayRead => requirements.optional(id, Access::Read),
            Use::MayWrite => requirements.optional(id, Access::Write),
            Use::Without => requirements.none(id),
            Use::Any => drop(any.insert(id)),
            Use::Switch if SWITCHABLE.contains(&number) => requirements.switch(id),
            Use::Switch => requirements.every(),
        }
    }
    if !any.is_empty() {
        requirements.any(any);
    }
    requirements.ask_for_optional();
    requirements
}

impl Processor {
    fn needs(&self) -> Needs {
        let mut needs = Needs {
            queries: self.queries.iter().map(|uses| requirements(uses)).collect(),
            exclusive: self.exclusive,
            ..Needs::default()
        };
        let resources = [
            ResourceId::of::<u8>(),
            ResourceId::of::<u16>(),
            ResourceId::of::<u32>(),
        ];
        for &(number, write) in &self.resources {
            match write {
                true => needs.resources.write(resources[number]),
                false => needs.resources.read(resources[number]),
            }
        }
        needs
    }

    /// What it does with a fragment in an archetype.
    fn uses(&self, number: u16, archetype: &Archetype) -> Vec<Use> {
        let seen = self.queries.iter().filter(|uses| {
            let switched = |&&(_, used): &&(u16, Use)| matches!(used, Use::Switch);
            let mut switches = uses.iter().filter(switched).map(|&(number, _)| number);
            requirements(uses).met_by(archetype)
                && switches.all(|number| {
                    !SWITCHABLE.contains(&number) || archetype.enabled_of(id(number)).is_some()
                })
        });
        let uses = seen.flatten().filter(|used| used.0 == number);
        uses.map(|&(_, used)| used).collect()
    }
}

impl Case {
    fn nodes(&self) -> Vec<Node> {
        let nodes = self
            .processors
            .iter()
            .enumerate()
            .map(|(number, processor)| {
                let node = node(&format!("P{number}"));
                let node = match processor.after {
                    Some((other, flush)) if number > 0 => {
                        let target = super::Target::new(format!("P{}", other % number));
                        node.after(if flush { target.flushed() } else { target })
                    }
                    _ => node,
                };
                if processor.needs().exclusive {
                    node.exclusive()
                } else {
                    node
                }
            });
        nodes.collect()
    }

    /// A world that knows the fragments.
    fn world(&self) -> World {
        let world = World::new();
        for number in 0..FRAGMENTS {
            let bytes = usize::from(number + 1 < FRAGMENTS) * 4;
            let layout = Layout::from_size_align(bytes, 1).unwrap();
            let name = format!("F{number}");
            let info = world.registry().define_plain(&name, layout).unwrap();
            assert_eq!(info.id(), id(number));
        }
        world
    }

    /// Lets an archetype come, which may be there already.
    fn add(&self, world: &mut World, number: usize) {
        if number == 2 {
            for number in SWITCHABLE {
                world.registry().make_enableable(id(number)).unwrap();
            }
        }
        let mut bundle = DynamicBundle::new();
        for fragment in (0..FRAGMENTS).filter(|bit| self.archetypes[number] >> bit & 1 == 1) {
            let bytes = &[0; 4][..usize::from(fragment + 1 < FRAGMENTS) * 4];
            bundle.push(Value::from_bytes(world.registry(), id(fragment), bytes).unwrap());
        }
        world.create_dynamic(bundle).unwrap();
    }

    /// Whether two processors conflict, by the definition.
    fn conflict(&self, world: &World, one: usize, other: usize) -> bool {
        let (one, other) = (&self.processors[one], &self.processors[other]);
        let resources = one
            .needs()
            .resources
            .conflicts_with(&other.needs().resources);
        resources
            || world.archetypes.iter().any(|archetype| {
                let present = (0..FRAGMENTS).filter(|&number| archetype.set.contains(id(number)));
                let mut meets = present.map(|number| {
                    let switchable = archetype.enabled_of(id(number)).is_some();
                    let (one, other) = (one.uses(number, archetype), other.uses(number, archetype));
                    meets(&one, &other, switchable) || meets(&other, &one, switchable)
                });
                meets.any(|meets| meets)
            })
    }
}

/// Whether what one does with a fragment is in the way of what the other does.
fn meets(one: &[Use], other: &[Use], switchable: bool) -> bool {
    let writes = one
        .iter()
        .any(|used| matches!(used, Use::Write | Use::MayWrite));
    let switches = one.iter().any(|used| matches!(used, Use::Switch));
    let touches = |used: &Use| {
        let values = [
            Use::Read,
            Use::Write,
            Use::Watch,
            Use::WatchOrMoved,
            Use::MayRead,
            Use::MayWrite,
        ];
        values
            .iter()
            .any(|value| core::mem::discriminant(value) == core::mem::discriminant(used))
    };
    // Everything looks at the switch.
    writes && other.iter().any(touches) || switches && switchable && !other.is_empty()
}

/// For each position those from which a way leads there.
fn ways(order: &Order, conflicts: &[Conflict]) -> Vec<Vec<bool>> {
    let mut ways = vec![vec![false; order.line.len()]; order.line.len()];
    let own = order.edges.iter().map(|edge| (edge.before, edge.after));
    let mut edges: Vec<(u32, u32)> = conflicts
        .iter()
        .map(|c| (c.before, c.after))
        .chain(own)
        .collect();
    edges.sort_by_key(|&(_, after)| after);
    for (before, after) in edges {
        assert!(before < after);
        let earlier = ways[before as usize].clone();
        let here = &mut ways[after as usize];
        here[before as usize] = true;
        for (here, earlier) in here.iter_mut().zip(earlier) {
            *here |= earlier;
        }
    }
    ways
}

fn check(case: &Case) {
    let (nodes, mut world) = (case.nodes(), case.world());
    let needs: Vec<Needs> = case.processors.iter().map(Processor::needs).collect();
    let order = solve(&nodes, &[]).unwrap();
    let mut grown = Conflicts::new(&order, &needs);
    for number in 0..case.archetypes.len() {
        case.add(&mut world, number);
        grown.extend(&world);
    }
    let mut anew = Conflicts::new(&order, &needs);
    anew.extend(&world);
    assert_eq!(grown.edges(), anew.edges());
    let ways = ways(&order, anew.edges());
    let place = |node: usize| order.position_of(node);
    let segment = |node: usize| order.line[place(node) as usize].segment;
    let direct = |one: u32, other: u32| {
        let mut edges = anew.edges().iter();
        edges.any(|edge| (edge.before, edge.after) == (one, other))
    };
    for one in 0..nodes.len() {
        let sees = case.processors[one].queries.iter().any(|uses| {
            let alone = Processor {
                queries: vec![uses.clone()],
                ..case.processors[one].clone()
            };
            let mut archetypes = world.archetypes.iter();
            archetypes.any(|archetype| !alone.uses(uses[0].0, archetype).is_empty())
        });
        assert_eq!(anew.sees_any(place(one)), sees);
        assert_eq!(grown.sees_any(place(one)), sees);
        for other in (0..nodes.len()).filter(|&other| place(one) < place(other)) {
            let conflict = case.conflict(&world, one, other);
            assert_eq!(
                why(&needs[one], &needs[other], &world).is_empty(),
                !conflict
            );
            let conflict = conflict && segment(one) == segment(other);
            let way = ways[place(other) as usize][place(one) as usize];
            assert!(way || !conflict, "{one} and {other} may overlap");
            let direct = direct(place(one), place(other));
            assert!(conflict || !direct, "{one} and {other} do not conflict");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 2,
        ..ProptestConfig::default()
    })]

    #[test]
    fn conflicts_are_what_the_brute_force_says(case in case()) {
        check(&case);
    }
}
