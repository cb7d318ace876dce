//! `Or`: chunks where one of several things has changed, by types and by numbers.

use std::collections::BTreeSet;

use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::query::{ChunkFilter, DynamicQuery, QueryError};
use proptest::prelude::*;

struct Place(u32);
struct Size(u8);
struct Lit;

/// Who is seen since the query ran last.
fn seen<F: megachunk::query::QueryFilter>(
    query: &mut Query<Entity, F>,
    world: &mut World,
) -> BTreeSet<Entity> {
    let all: Vec<Entity> = query.on(world).iter().collect();
    let set: BTreeSet<Entity> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "everybody once");
    set
}

/// What one of three filters sees must be what `Or` of them sees.
struct Watchers<A: ChunkFilter, B: ChunkFilter, C: ChunkFilter> {
    alone: (Query<Entity, A>, Query<Entity, B>, Query<Entity, C>),
    together: Query<Entity, Or<(A, B, C)>>,
    parallel: Query<Entity, Or<(A, B, C)>>,
}

impl<A: ChunkFilter, B: ChunkFilter, C: ChunkFilter> Watchers<A, B, C> {
    fn new(world: &World) -> Self {
        Self {
            alone: (
                Query::new(world).unwrap(),
                Query::new(world).unwrap(),
                Query::new(world).unwrap(),
            ),
            together: Query::new(world).unwrap(),
            parallel: Query::new(world).unwrap(),
        }
    }

    fn check(&mut self, world: &mut World) -> BTreeSet<Entity> {
        let (a, b, c) = &mut self.alone;
        let mut expected = seen(a, world);
        expected.extend(seen(b, world));
        expected.extend(seen(c, world));
        assert_eq!(seen(&mut self.together, world), expected);
        let all = std::sync::Mutex::new(BTreeSet::new());
        self.parallel.on(world).par_for_each(|entity| {
            assert!(all.lock().unwrap().insert(entity));
        });
        assert_eq!(all.into_inner().unwrap(), expected);
        expected
    }
}

#[derive(Clone, Debug)]
enum Step {
    Create(u8, u16),
    Destroy(usize),
    Place(usize),
    Size(usize),
    Light(usize),
    Add(usize),
    Remove(usize),
    /// Asks who has changed.
    Look,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0..8_u8, 1..300_u16).prop_map(|(what, count)| Step::Create(what, count)),
        1 => any::<usize>().prop_map(Step::Destroy),
        2 => any::<usize>().prop_map(Step::Place),
        2 => any::<usize>().prop_map(Step::Size),
        1 => any::<usize>().prop_map(Step::Light),
        1 => any::<usize>().prop_map(Step::Add),
        1 => any::<usize>().prop_map(Step::Remove),
        3 => Just(Step::Look),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #[test]
    fn or_sees_what_one_of_its_filters_sees(steps in steps()) {
        let mut world = World::new();
        let mut changes = Watchers::<Changed<Place>, Changed<Size>, Changed<Lit>>::new(&world);
        let mut moves = Watchers::<Changed<Place>, Moved, Changed<Lit>>::new(&world);
        let id = |world: &World, name: &str| {
            let found = world.registry().iter().find(|info| info.name().ends_with(name));
            found.unwrap().id()
        };
        let ids = ["or::Place", "or::Size", "or::Lit"].map(|name| id(&world, name));
        let mut dynamic = DynamicQuery::builder(&world).changed_any(&ids).build().unwrap();
        let mut all: Vec<Entity> = Vec::new();
        for step in steps.into_iter().chain([Step::Look]) {
            let one = |n: usize| (!all.is_empty()).then(|| all[n % all.len()]);
            match step {
                Step::Create(what, count) => {
                    let count = u32::from(count);
                    let new = match what {
                        0 => world.create_batch((0..count).map(|n| (Place(n),))),
                        1 => world.create_batch((0..count).map(|n| (Size(n as u8),))),
                        2 => world.create_batch((0..count).map(|_| (Lit,))),
                        3 => world.create_batch((0..count).map(|n| (Place(n), Size(n as u8)))),
                        4 => world.create_batch((0..count).map(|n| (Place(n), Lit))),
                        5 => world.create_batch((0..count).map(|n| (n, Size(1), Lit))),
                        _ => world.create_batch((0..count).map(|n| (u64::from(n),))),
                    };
                    all.extend(new.unwrap().iter(&world));
                }
                Step::Destroy(n) => if let Some(entity) = one(n) {
                    world.destroy(entity).unwrap();
                    all.retain(|&other| other != entity);
                },
                Step::Place(n) => if let Some(entity) = one(n) {
                    let _ = world.get_mut::<Place>(entity).map(|place| place.0 += 1);
                },
                Step::Size(n) => if let Some(entity) = one(n) {
                    let _ = world.get_mut::<Size>(entity).map(|size| size.0 ^= 1);
                },
                Step::Light(n) => if let Some(entity) = one(n).filter(|&one| !world.has::<Lit>(one).unwrap()) {
                    world.add(entity, (Lit,)).unwrap();
                },
                Step::Add(n) => if let Some(entity) = one(n) {
                    world.add(entity, (Place(1),)).unwrap();
                },
                Step::Remove(n) => if let Some(entity) = one(n) {
                    world.remove::<(Size,)>(entity).unwrap();
                },
                Step::Look => {
                    let expected = changes.check(&mut world);
                    moves.check(&mut world);
                    let found: BTreeSet<Entity> = dynamic.on(&mut world).unwrap().entities().collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}

#[test]
fn one_of_the_fragments_must_be_there_and_switched_on() {
    let mut world = World::new();
    world.registry().register_enableable::<Size>().unwrap();
    let both = world.create((Place(1), Size(1))).unwrap();
    let off = world.create((Size(2),)).unwrap();
    let on = world.create((Size(3),)).unwrap();
    world.create((7_u64,)).unwrap();
    world.set_enabled::<Size>(both, false).unwrap();
    world.set_enabled::<Size>(off, false).unwrap();
    let mut query = Query::<Entity, Or<(Changed<Place>, Changed<Size>)>>::new(&world).unwrap();
    assert_eq!(seen(&mut query, &mut world), BTreeSet::from([both, on]));
    assert!(seen(&mut query, &mut world).is_empty());
    world.set_enabled::<Size>(off, true).unwrap();
    // The chunk has changed; both are on.
    assert_eq!(seen(&mut query, &mut world), BTreeSet::from([off, on]));
}

#[test]
fn it_is_one_filter_among_others() {
    let mut world = World::new();
    let plain = world.create((Place(1), Size(1))).unwrap();
    let lit = world.create((Place(2), Size(1), Lit)).unwrap();
    type Filter = (With<Lit>, Or<(Changed<Place>, Changed<Size>)>);
    let mut query = Query::<(Entity, &mut Place), Filter>::new(&world).unwrap();
    let mut seen = |world: &mut World| -> Vec<Entity> {
        query.on(world).iter().map(|(entity, _)| entity).collect()
    };
    assert_eq!(seen(&mut world), [lit]);
    assert!(
        seen(&mut world).is_empty(),
        "what it lends itself is no news"
    );
    world.get_mut::<Size>(plain).unwrap().0 = 2;
    assert!(seen(&mut world).is_empty());
    world.get_mut::<Size>(lit).unwrap().0 = 2;
    assert_eq!(seen(&mut world), [lit]);
}

#[test]
fn who_writes_what_is_watched_runs_before_or_after() {
    let mut world = World::new();
    let ant = world.create((Place(1), Size(1))).unwrap();
    type Filter = Or<(Changed<Place>, Changed<Size>)>;
    let mut schedule = Schedule::new();
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let found = std::sync::Arc::clone(&log);
    schedule
        .add(processor("write", |mut sizes: QueryRun<'_, &mut Size>| {
            sizes.for_each(|size| size.0 += 1);
        }))
        .add(processor(
            "look",
            move |mut changed: QueryRun<'_, Entity, Filter>| {
                found.lock().unwrap().push(changed.count());
            },
        ));
    schedule.run(&mut world).unwrap();
    schedule.run(&mut world).unwrap();
    assert_eq!(*log.lock().unwrap(), [1, 1]);
    let why = schedule.explain_overlap(&world, "write", "look").unwrap();
    assert!(why.to_string().contains("Size"), "{why}");
    assert!(world.exists(ant));
}

#[test]
fn what_has_no_versions_is_refused_and_of_nothing_nothing_has_changed() {
    let mut world = World::new();
    world.create((Place(1),)).unwrap();
    let shared = world.registry().register::<Shared<u8>>().unwrap().id();
    let place = world.registry().register::<Place>().unwrap().id();
    let error = DynamicQuery::builder(&world)
        .changed_any(&[place, shared])
        .build();
    let error = error.unwrap_err();
    assert!(
        matches!(error, QueryError::Fragment(FragmentError::WrongKind { .. })),
        "{error}"
    );
    let error = DynamicQuery::builder(&world)
        .changed_any(&[place])
        .changed_any(&[])
        .build();
    let mut nobody = error.unwrap();
    assert_eq!(nobody.on(&mut world).unwrap().entities().count(), 0);
}
