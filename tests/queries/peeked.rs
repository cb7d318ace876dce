//! What is looked at through a lookup that writes has not changed.

use megachunk::prelude::*;
use megachunk::world::Lack;

struct Place(u32);
struct Weight(u32);
struct On(Entity);
struct Asleep;

fn lack<T>(result: Result<T, WorldError>) -> Option<Lack> {
    match result {
        Err(WorldError::Missing { lack, .. }) => Some(lack),
        _ => None,
    }
}

#[test]
fn one_fragment_that_is_lent_is_looked_at_and_nothing_changes_by_that() {
    for shared in [false, true] {
        let mut world = World::new();
        let cart = world.create((Place(5), Weight(1))).unwrap();
        let load = world.create((Place(0), Weight(2), On(cart))).unwrap();
        if shared {
            // Chunks all over: there is no table, perhaps.
            world.set_shared(load, 7_u8).unwrap();
        }
        let mut changed = Query::<Entity, Changed<Place>>::new(&world).unwrap();
        let mut changed = |world: &mut World| changed.on(world).iter().collect::<Vec<_>>();
        assert_eq!(changed(&mut world).len(), 2);
        let mut places = Query::<(&mut Place, &Weight, Option<&On>)>::new(&world).unwrap();
        let lookup = places.lookup_mut(&mut world);
        for _ in 0..3 {
            assert_eq!(lookup.peek::<Place>(cart).unwrap().0, 5);
            assert_eq!(lookup.peek::<Weight>(load).unwrap().0, 2);
            assert_eq!(lookup.peek::<On>(load).unwrap().0, cart);
            assert_eq!(lack(lookup.peek::<On>(cart)), Some(Lack::Fragment));
        }
        let (one, other) = (lookup.peek::<Place>(cart), lookup.peek::<Place>(load));
        assert_eq!(one.unwrap().0 + other.unwrap().0, 5, "both at once");
        drop(lookup);
        assert_eq!(changed(&mut world), []);
        let mut lookup = places.lookup_mut(&mut world);
        let below = lookup.peek::<Place>(cart).unwrap().0;
        lookup.get_mut(load).unwrap().0.0 = below + 1;
        assert_eq!(
            lookup.peek::<Place>(load).unwrap().0,
            6,
            "what it has written"
        );
        drop(lookup);
        assert_eq!(changed(&mut world), [load]);
        world.check().unwrap();
    }
}

#[test]
fn what_is_not_lent_and_who_is_not_seen_is_refused() {
    let mut world = World::new();
    world.registry().register_enableable::<Asleep>().unwrap();
    let one = world.create((Place(1), Weight(1))).unwrap();
    let asleep = world.create((Place(2), Weight(1), Asleep)).unwrap();
    let bare = world.create((Weight(3),)).unwrap();
    let dead = world.create((Place(4),)).unwrap();
    world.destroy(dead).unwrap();
    let mut places = Query::<&mut Place, (With<Weight>, Without<Asleep>)>::new(&world).unwrap();
    let lookup = places.lookup_mut(&mut world);
    assert_eq!(lookup.peek::<Place>(one).unwrap().0, 1);
    // It is asked for, and not lent; nobody has registered the last.
    assert_eq!(lack(lookup.peek::<Weight>(one)), Some(Lack::Lent));
    assert_eq!(lack(lookup.peek::<On>(one)), Some(Lack::Lent));
    let told = lookup
        .peek::<Weight>(one)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        told.ends_with("the query does not lend its queries::peeked::Weight"),
        "{told}"
    );
    assert_eq!(lack(lookup.peek::<Place>(asleep)), Some(Lack::Match));
    assert_eq!(lack(lookup.peek::<Place>(bare)), Some(Lack::Match));
    let gone = lookup.peek::<Place>(dead);
    assert!(gone.is_err() && lack(gone).is_none());
    drop(lookup);
    world.set_enabled::<Asleep>(asleep, false).unwrap();
    let lookup = places.lookup_mut(&mut world);
    assert_eq!(lookup.peek::<Place>(asleep).unwrap().0, 2);
}

#[test]
fn a_tag_that_is_lent_is_looked_at_and_a_chunks_value_is_none() {
    let mut world = World::new();
    let one = world
        .create((Place(1), Asleep).per_chunk(Weight2(7)))
        .unwrap();
    let mut all = Query::<(&Place, &Asleep, PerChunk<Weight2>)>::new(&world).unwrap();
    let lookup = all.lookup(&world);
    assert!(lookup.peek::<Asleep>(one).is_ok());
    assert_eq!(lack(lookup.peek::<Weight2>(one)), Some(Lack::Lent));
}

#[derive(Clone)]
struct Weight2(#[expect(dead_code, reason = "it is never lent")] u32);

#[test]
fn in_a_processor_parts_follow_what_they_sit_on_and_nothing_else_changes() {
    let mut world = World::new();
    let cart = world.create((Place(5),)).unwrap();
    let loads: Vec<Entity> = (0..1_000)
        .map(|_| world.create((Place(0), On(cart))).unwrap())
        .collect();
    world.resources_mut().insert(loads.clone());
    let mut changed = Query::<Entity, Changed<Place>>::new(&world).unwrap();
    assert_eq!(changed.on(&mut world).count(), 1_001);
    let follow = processor(
        "follow",
        |mut places: QueryLookup<'_, (&mut Place, Option<&On>)>, loads: &Vec<Entity>| {
            for &load in loads {
                let on = places.peek::<On>(load).unwrap().0;
                let below = places.peek::<Place>(on).unwrap().0;
                places.get_mut(load).unwrap().0.0 = below;
            }
        },
    );
    Schedule::new().add(follow).run(&mut world).unwrap();
    let moved: Vec<Entity> = changed.on(&mut world).iter().collect();
    assert!(moved.len() == 1_000 && !moved.contains(&cart));
    assert_eq!(world.get::<Place>(loads[999]).unwrap().0, 5);
}

#[test]
fn a_runs_version_is_what_to_tell_since_for_what_comes_later() {
    let mut world = World::new();
    let ant = world.create((Place(0),)).unwrap();
    let mut places = Query::<&mut Place, Changed<Place>>::new(&world).unwrap();
    let mut run = places.on(&mut world);
    let version = run.version();
    // Its own writes are not later.
    run.for_each(|place| place.0 += 1);
    drop(run);
    assert!(version <= world.version());
    assert_eq!(places.on(&mut world).since(version).count(), 0);
    world.get_mut::<Place>(ant).unwrap().0 = 7;
    for _ in 0..3 {
        assert_eq!(places.on(&mut world).since(version).count(), 1);
    }
    let later = places.on(&mut world).version();
    assert!(later > version);
    assert_eq!(places.on(&mut world).since(later).count(), 0);
}
