//! Trees of entities: what goes with whom, and where the index can be asked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::index::{Relationship, RelationshipIndex};
use megachunk::prelude::*;

use crate::ChildOf;

type Index = RelationshipIndex<ChildOf>;

/// A chain: each names the one before.
fn chain(world: &mut World, length: usize) -> Vec<Entity> {
    let mut all = vec![world.create(()).unwrap()];
    for at in 1..length {
        all.push(world.create((ChildOf(all[at - 1]),)).unwrap());
    }
    all
}

#[test]
fn with_an_entity_go_those_below_it() {
    let mut world = World::new();
    let all = chain(&mut world, 1_000);
    let mut index = Index::new(&world).unwrap();
    assert_eq!(index.destroy_tree(&mut world, all[600]), 400);
    assert!(world.exists(all[599]) && !world.exists(all[999]));
    // Dead itself, and below it nobody any more.
    assert_eq!(index.destroy_tree(&mut world, all[600]), 0);
    index.update(&world);
    assert_eq!((index.len(), index.sources(all[599])), (599, &[][..]));
}

#[test]
fn orphans_go_with_those_below_them_and_others_stay() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let mut elsewhere = World::of(&universe).unwrap();
    let all = chain(&mut world, 10);
    let far = elsewhere.create(()).unwrap();
    let of_another = world.create((ChildOf(far),)).unwrap();
    let of_nobody = world.create((ChildOf(Entity::PLACEHOLDER),)).unwrap();
    let mut index = Index::new(&world).unwrap();
    assert_eq!(index.destroy_orphans(&mut world), 0);
    world.destroy(all[4]).unwrap();
    index.update(&world);
    assert_eq!(index.orphans().collect::<Vec<_>>(), [all[5]]);
    assert_eq!(index.destroy_orphans(&mut world), 5);
    assert!(world.exists(all[3]) && !world.exists(all[9]));
    assert!(world.exists(of_another) && world.exists(of_nobody));
    elsewhere.destroy(far).unwrap();
    assert_eq!(index.destroy_orphans(&mut world), 1);
    assert!(!world.exists(of_another) && world.exists(of_nobody));
}

#[test]
fn a_recorder_destroys_a_tree() {
    let mut world = World::new();
    let all = chain(&mut world, 1_000);
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    // One of them is dead already, and its slot another's.
    world.destroy(all[700]).unwrap();
    let other = world.create(()).unwrap();
    assert_eq!(other.index(), all[700].index());
    let mut commands = world.commands();
    assert_eq!(index.record_tree(&mut commands, all[600]), 399);
    assert_eq!(commands.len(), 399);
    drop(commands);
    let report = world.flush();
    assert!(report.is_clean() && report.destroyed == 399);
    assert!(world.exists(all[599]) && world.exists(other) && !world.exists(all[999]));
    let mut commands = world.commands();
    assert_eq!(index.record_tree(&mut commands, all[600]), 0);
    drop(commands);
    // Who names nobody is below nobody.
    world.create((ChildOf(Entity::PLACEHOLDER),)).unwrap();
    index.update(&world);
    let mut commands = world.commands();
    assert_eq!(index.record_tree(&mut commands, Entity::PLACEHOLDER), 0);
}

#[test]
fn a_recorder_destroys_orphans_once_each_also_by_an_index_that_is_behind() {
    let mut world = World::new();
    let all = chain(&mut world, 10);
    let around = chain(&mut world, 3);
    world.add(around[0], (ChildOf(around[2]),)).unwrap();
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let record = |index: &Index, world: &mut World| {
        let mut commands = world.commands();
        let count = index.record_orphans(&mut commands);
        drop(commands);
        let report = world.flush();
        assert!(report.is_clean(), "{report}");
        assert_eq!(report.destroyed, count);
        count
    };
    assert_eq!(record(&index, &mut world), 0);
    // Two of one chain, and one of a circle: the index has not seen it.
    for entity in [all[3], all[6], around[1]] {
        world.destroy(entity).unwrap();
    }
    assert_eq!(record(&index, &mut world), 2 + 3 + 2);
    assert!(world.exists(all[2]) && world.count() == 3);
    index.update(&world);
    assert_eq!(record(&index, &mut world), 0);
    assert_eq!(index.len(), 2);
}

#[test]
fn who_is_below_an_entity_is_shown_as_counts() {
    let mut world = World::new();
    let all = chain(&mut world, 1_000);
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    let mut below = index.descendants(all[0]);
    assert_eq!(below.next(), Some(all[1]));
    let shown = format!("{below:?}");
    assert_eq!(shown, "Descendants { start: 0v1, told: 1, .. }");
}

#[test]
fn circles_end() {
    let mut world = World::new();
    let all = chain(&mut world, 4);
    world.add(all[0], (ChildOf(all[3]),)).unwrap();
    // One that names itself, and one below the circle.
    let own = world.create(()).unwrap();
    world.add(own, (ChildOf(own),)).unwrap();
    let below = world.create((ChildOf(all[2]),)).unwrap();
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    assert_eq!(index.roots().count(), 0);
    assert_eq!(index.descendants(own).count(), 0);
    assert_eq!(index.ancestors(own).count(), 0);
    let around: Vec<Entity> = index.descendants(all[1]).collect();
    assert_eq!(around, [all[2], all[3], below, all[0]]);
    let above: Vec<Entity> = index.ancestors(all[1]).collect();
    assert_eq!(above, [all[0], all[3], all[2]]);
    // It comes to a circle without itself: after as many as there are.
    assert_eq!(index.ancestors(below).count(), index.len());
    assert_eq!(index.destroy_tree(&mut world, all[0]), 5);
    assert_eq!(index.destroy_tree(&mut world, own), 1);
    index.update(&world);
    assert!(index.is_empty());
}

#[test]
fn processors_keep_it_and_ask_it() {
    let mut world = World::new();
    let all = chain(&mut world, 5);
    let index = Index::new(&world).unwrap();
    world.resources_mut().insert(index);
    let mut schedule = Schedule::new();
    schedule
        .add(processor(
            "update",
            // Whatever it is that the run sees.
            |index: &mut Index, run: QueryRun<(Entity, &ChildOf)>| {
                index.update_from(&run.filter_chunks(|_| false));
            },
        ))
        .add(
            processor("grow", |index: &Index, mut commands: Commands| {
                for root in index.roots() {
                    let last = index.descendants(root).last().expect("it has some");
                    commands.create((ChildOf(last),))?;
                }
                Ok::<(), WorldError>(())
            })
            .after("update"),
        );
    for frame in 0..4 {
        schedule.run(&mut world).unwrap();
        let index = world.resources().get::<Index>().unwrap();
        assert_eq!(index.descendants(all[0]).count(), 4 + frame);
    }
}

/// Whose `target` panics when it is told to.
struct Moody(Entity, bool);

impl Relationship for Moody {
    fn target(&self) -> Entity {
        assert!(!self.1, "not now");
        self.0
    }
}

#[test]
fn after_a_panic_it_begins_anew() {
    let mut world = World::new();
    let root = world.create(()).unwrap();
    let mut moody = |is_bad| world.create((Moody(root, is_bad),)).unwrap();
    let all = [moody(false), moody(true), moody(false)];
    let mut index = RelationshipIndex::<Moody>::new(&world).unwrap();
    catch_unwind(AssertUnwindSafe(|| index.update(&world))).unwrap_err();
    assert!(index.is_empty() && index.sources(root).is_empty());
    world.get_mut::<Moody>(all[1]).unwrap().1 = false;
    index.update(&world);
    assert_eq!(index.sources(root), all);
}

#[test]
fn handles_that_no_entity_can_have_name_nobody() {
    let mut world = World::new();
    let forged = Entity::new(4_000_000_000, 7).unwrap();
    let child = world.create((ChildOf(forged),)).unwrap();
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    assert_eq!(index.target(child), Some(Entity::PLACEHOLDER));
    assert_eq!(index.sources(Entity::PLACEHOLDER), [child]);
    assert_eq!(index.orphans().count(), 0);
    assert_eq!(index.target(forged), None);
    // Nor is anybody below these: a mistake is not the end of all.
    let below = world.create((ChildOf(child),)).unwrap();
    for nobody in [forged, Entity::PLACEHOLDER] {
        assert_eq!(index.destroy_tree(&mut world, nobody), 0);
        assert_eq!(index.descendants(nobody).count(), 0);
    }
    assert_eq!(index.sources(forged), []);
    assert_eq!(index.descendants(child).collect::<Vec<_>>(), [below]);
}

#[test]
fn targets_that_had_one_slot_are_in_the_order_of_their_versions() {
    let mut world = World::new();
    let mut targets: Vec<Entity> = Vec::new();
    while targets.len() < 4 {
        let target = world.create(()).unwrap();
        if targets
            .iter()
            .all(|before| before.index() == target.index())
        {
            targets.push(target);
        }
        world.destroy(target).unwrap();
    }
    let children = targets.iter().rev().map(|&target| (ChildOf(target),));
    let children: Vec<Entity> = world.create_batch(children).unwrap().iter(&world).collect();
    let mut index = Index::new(&world).unwrap();
    let mut look = |world: &World, expected: &[Entity]| {
        index.update(world);
        let all: Vec<Entity> = index.iter().map(|(target, _)| target).collect();
        assert_eq!(all, expected);
        for &target in expected {
            assert_eq!(index.sources(target).len(), 1);
        }
    };
    look(&world, &targets);
    // The first, the last and one between them end and come again.
    for nth in [0, 3, 1] {
        world
            .set(children[3 - nth], ChildOf(Entity::PLACEHOLDER))
            .unwrap();
        let mut rest = targets.clone();
        rest.remove(nth);
        look(&world, &rest);
        world.set(children[3 - nth], ChildOf(targets[nth])).unwrap();
        look(&world, &targets);
    }
}

#[test]
fn on_another_world_it_begins_anew() {
    let (mut one, mut other) = (World::new(), World::new());
    let all = chain(&mut one, 3);
    let root = other.create(()).unwrap();
    let child = other.create((ChildOf(root),)).unwrap();
    let mut index = Index::new(&one).unwrap();
    index.update(&one);
    assert_eq!(index.len(), 2);
    index.update(&other);
    assert_eq!((index.len(), index.sources(root)), (1, &[child][..]));
    index.update(&one);
    assert_eq!(index.sources(all[0]), [all[1]]);
}

#[test]
fn it_leads_on_in_a_world_that_comes_back_with_new_ids() {
    let universe = Arc::new(Universe::new());
    let mut world = World::of(&universe).unwrap();
    let registry = world.registry();
    registry.register_plain::<ChildOf>().unwrap();
    let all = chain(&mut world, 20);
    let saved = world.to_snapshot(&SnapshotOptions::default()).unwrap();
    let nobody = Default::default();
    let (copy, new) =
        World::from_snapshot_remapped(&saved, &universe, &nobody, &Default::default()).unwrap();
    let mut index = Index::new(&copy).unwrap();
    index.update(&copy);
    let below: Vec<Entity> = index.descendants(new.get(all[0]).unwrap()).collect();
    let expected = all[1..].iter().map(|&old| new.get(old).unwrap());
    assert_eq!(below, expected.collect::<Vec<_>>());
}

#[test]
fn orphans_below_others_that_an_index_does_not_know_of_take_no_longer() {
    let mut world = World::new();
    let all = chain(&mut world, 20_000);
    let mut index = Index::new(&world).unwrap();
    index.update(&world);
    // Each second one is gone: each of the others is an orphan, and by the index below half of them.
    for dead in all.iter().step_by(2) {
        world.destroy(*dead).unwrap();
    }
    let mut commands = world.commands();
    assert_eq!(index.record_orphans(&mut commands), 10_000);
    drop(commands);
    assert_eq!(world.flush().destroyed, 10_000);
    assert!(world.is_empty());
}
