//! Memory that ends in the middle: whatever claim of a chunk is the one that fails, the world stays sound,
//! every value is dropped once, the report names whom it was refused to, and observers hear of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::archetype::scarce::Scarce;
use crate::command::Refused;
use crate::counted::Counted;
use crate::fragment::Value;
use crate::observer::ObservedBatch;
use crate::prelude::*;
use crate::world::{Group, Prototype};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Team(u32);
#[derive(Clone, Copy, Debug)]
struct Large([u64; 40]);
struct Tag;

/// Who came, to observers.
#[derive(Default)]
struct Told {
    created: Vec<Entity>,
    added: Vec<Entity>,
}

/// Who must have become what.
struct Cast {
    world: World,
    plain: Vec<Entity>,
    sharing: Vec<Entity>,
    alive: Arc<AtomicUsize>,
}

impl Cast {
    fn new(scarce: &mut Scarce) -> Self {
        scarce.leave(64);
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&scarce.universe).unwrap();
        let mut plain = Vec::new();
        let mut sharing = Vec::new();
        for n in 0..200 {
            let bundle = (Large([n; 40]), Counted::new(&alive));
            plain.push(world.create(bundle).unwrap());
            if n < 100 {
                let bundle = (Large([n; 40]), Counted::new(&alive)).shared(Team(1));
                sharing.push(world.create(bundle).unwrap());
            }
        }
        world.resources_mut().insert(Told::default());
        let created = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let new: Vec<Entity> = batch.entities().collect();
            batch
                .resources_mut()
                .get_mut::<Told>()
                .unwrap()
                .created
                .extend(new);
        };
        let added = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
            let new: Vec<Entity> = batch.entities().collect();
            batch
                .resources_mut()
                .get_mut::<Told>()
                .unwrap()
                .added
                .extend(new);
        };
        world
            .observe::<Large, ()>(Observed::CREATE, created)
            .unwrap();
        world.observe::<u8, ()>(Observed::ADD, added).unwrap();
        world.observe::<Tag, ()>(Observed::ADD, added).unwrap();
        Self {
            world,
            plain,
            sharing,
            alive,
        }
    }

    /// Records changes of all kinds; what was created.
    fn record(&self) -> Vec<Entity> {
        let mut commands = self.world.commands();
        let mut new = Vec::new();
        for n in 0..120 {
            new.extend(commands.create((Large([n; 40]), Counted::new(&self.alive), n)));
            let sharing = (Large([n; 40]), Counted::new(&self.alive)).shared(Team(n as u32 % 2));
            new.extend(commands.create(sharing));
        }
        for (n, &entity) in self.plain.iter().enumerate() {
            match n {
                ..20 => commands.destroy(entity),
                20..100 => commands.add(entity, (n as u8,)).unwrap(),
                100..130 => commands.remove::<(Counted,)>(entity).unwrap(),
                130..160 => commands.set(entity, Counted::new(&self.alive)).unwrap(),
                _ => commands
                    .add(entity, (Tag, Counted::new(&self.alive)))
                    .unwrap(),
            }
        }
        for (n, &entity) in self.sharing.iter().enumerate() {
            commands.set_shared(entity, Team(n as u32 % 4)).unwrap();
        }
        new
    }

    /// What the world is after a flush; how many were refused.
    fn compare(&self, new: &[Entity], report: &FlushReport) -> usize {
        let world = &self.world;
        let refused = |entity| {
            report
                .refused
                .iter()
                .any(|refused| refused.entity == entity)
        };
        for Refused { entity, error, .. } in &report.refused {
            assert!(matches!(error, WorldError::Chunk(_)), "{entity}: {error}");
        }
        let mut counted = 0;
        for &entity in new {
            assert_eq!(world.is_built(entity), !refused(entity));
            assert_eq!(world.exists(entity), !refused(entity));
            counted += usize::from(!refused(entity));
        }
        for (n, &entity) in self.plain.iter().enumerate() {
            if n < 20 {
                assert!(!world.exists(entity));
                continue;
            }
            let done = !refused(entity);
            assert_eq!(world.get::<Large>(entity).unwrap().0, [n as u64; 40]);
            assert_eq!(world.has::<u8>(entity).unwrap(), done && n < 100);
            assert_eq!(world.has::<Tag>(entity).unwrap(), done && n >= 160);
            let has = !(done && (100..130).contains(&n));
            assert_eq!(world.has::<Counted>(entity).unwrap(), has);
            counted += usize::from(has);
        }
        for (n, &entity) in self.sharing.iter().enumerate() {
            let team = if refused(entity) { 1 } else { n as u32 % 4 };
            assert_eq!(world.shared::<Team>(entity).unwrap(), &Team(team));
            counted += 1;
        }
        assert_eq!(self.alive.load(Ordering::Relaxed), counted);
        let told = world.resources().get::<Told>().unwrap();
        let came = |told: &[Entity], all: &[Entity]| {
            let mut told = told.to_vec();
            let mut came: Vec<Entity> = all.iter().copied().filter(|&e| !refused(e)).collect();
            told.sort_unstable();
            came.sort_unstable();
            assert_eq!(told, came);
        };
        came(&told.created, new);
        came(
            &told.added,
            &[&self.plain[20..100], &self.plain[160..]].concat(),
        );
        report.refused.len()
    }
}

#[test]
fn whichever_chunk_a_flush_does_not_get_the_rest_is_done() {
    let mut scarce = Scarce::new();
    for left in 0.. {
        let mut cast = Cast::new(&mut scarce);
        let new = cast.record();
        assert_eq!(new.len(), 240);
        scarce.leave(left);
        let report = cast.world.flush();
        scarce.check(&cast.world);
        let refused = cast.compare(&new, &report);
        // It goes on, and what is left goes with the world.
        scarce.leave(64);
        cast.record();
        let report = cast.world.flush();
        assert!(report.refused.is_empty(), "{report:?}");
        scarce.check(&cast.world);
        let alive = Arc::clone(&cast.alive);
        drop(cast);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        if refused == 0 {
            assert!(left > 5, "there was room from the beginning");
            break;
        }
        assert!(left < 64, "{refused} entities do not fit");
    }
}

#[test]
fn whichever_chunk_a_recorder_does_not_get_what_it_created_before_stays() {
    let mut scarce = Scarce::new();
    for left in 0.. {
        let mut cast = Cast::new(&mut scarce);
        scarce.leave(left);
        let new = cast.record();
        // Those that it has not created are dropped; the others wait, and so do the payloads.
        let waiting = 30 + 40;
        let alive = cast.alive.load(Ordering::Relaxed);
        assert_eq!(alive, 300 + new.len() + waiting);
        scarce.check(&cast.world);
        let report = cast.world.flush();
        scarce.check(&cast.world);
        cast.compare(&new, &report);
        let alive = Arc::clone(&cast.alive);
        drop(cast);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        if new.len() == 240 {
            break;
        }
        assert!(left < 64);
    }
}

#[test]
fn whichever_chunk_a_batch_does_not_get_none_of_it_is_created() {
    let mut scarce = Scarce::new();
    for left in 0.. {
        scarce.leave(left);
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&scarce.universe).unwrap();
        let mut commands = world.commands();
        let bundles = (0..300).map(|n| (Large([n; 40]), Counted::new(&alive)));
        let batch = commands.create_batch(bundles);
        let made = batch.map_or(0, |batch| batch.len());
        assert!(made == 0 || made == 300);
        assert_eq!(alive.load(Ordering::Relaxed), made);
        drop(commands);
        scarce.check(&world);
        scarce.leave(64);
        assert_eq!(world.flush().created, made);
        scarce.check(&world);
        assert_eq!((world.count(), alive.load(Ordering::Relaxed)), (made, made));
        drop(world);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        if made > 0 {
            assert!(left > 3);
            break;
        }
        assert!(left < 64);
    }
}

#[test]
fn whichever_chunk_copies_do_not_get_none_of_them_is_created() {
    let mut scarce = Scarce::new();
    for left in 0.. {
        scarce.leave(left);
        let alive = Arc::new(AtomicUsize::new(0));
        let mut world = World::of(&scarce.universe).unwrap();
        let registry = world.registry();
        let values = [
            Value::cloneable(registry, Large([7; 40])).unwrap(),
            Value::cloneable(registry, Counted::new(&alive)).unwrap(),
            Value::shared(registry, Team(1)).unwrap(),
        ];
        let ant = Prototype::new(registry, values.into_iter().collect()).unwrap();
        let mut commands = world.commands();
        let made = commands.create_copies(&ant, 300).map_or(0, |m| m.len());
        assert!(made == 0 || made == 300);
        assert_eq!(alive.load(Ordering::Relaxed), 1 + made);
        let make = |n| ([n as u64; 10], Large([8; 40]));
        let more = commands.create_copies_with(&ant, 300, make);
        let more = more.map_or(0, |more| more.len());
        assert!(more == 0 || more == 300);
        let one = usize::from(commands.create_copy(&ant).is_ok());
        let all = made + more + one;
        assert_eq!(alive.load(Ordering::Relaxed), 1 + all);
        drop(commands);
        scarce.check(&world);
        scarce.leave(64);
        assert_eq!(world.flush().created, all);
        scarce.check(&world);
        assert_eq!(
            (world.count(), alive.load(Ordering::Relaxed)),
            (all, 1 + all)
        );
        drop((world, ant));
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        if all == 601 {
            assert!(left > 7);
            break;
        }
        assert!(left < 64);
    }
}

/// So large that a chunk holds eight: of a hundred, the first four are in nurseries.
#[derive(Clone, Copy)]
struct Vast([u64; 250]);
#[derive(Clone)]
struct Weather(#[expect(dead_code, reason = "it is dropped")] Counted);

#[test]
fn whichever_chunk_a_flush_does_not_get_for_long_parts_the_rest_is_done() {
    let mut scarce = Scarce::new();
    // In one lane, or in one each.
    for (kind, at_once) in [(0, 1), (0, 3), (1, 1), (1, 3), (2, 1), (2, 3)] {
        let mut whole = 0;
        for left in 0.. {
            scarce.leave(64);
            let alive = Arc::new(AtomicUsize::new(0));
            let mut world = World::of(&scarce.universe).unwrap();
            world.resources_mut().insert(Told::default());
            let created = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                let new: Vec<Entity> = batch.entities().collect();
                let told = batch.resources_mut().get_mut::<Told>();
                told.unwrap().created.extend(new);
            };
            world
                .observe::<Vast, ()>(Observed::CREATE, created)
                .unwrap();
            let mut new = Vec::new();
            {
                let commands = world.parallel_commands();
                for counts in [3, 3, 100, 2, 70].chunks(at_once) {
                    let mut open: Vec<_> = counts.iter().map(|_| commands.open()).collect();
                    for (commands, &count) in open.iter_mut().zip(counts) {
                        for n in 0..count {
                            let plain = (Vast([n; 250]), Counted::new(&alive));
                            let made = match kind {
                                0 => commands.create(plain),
                                1 => commands.create(plain.shared(Team(count as u32))),
                                _ => {
                                    commands.create(plain.per_chunk(Weather(Counted::new(&alive))))
                                }
                            };
                            new.push((made.unwrap(), n));
                        }
                    }
                }
            }
            scarce.leave(left);
            let report = world.flush();
            scarce.check(&world);
            let refused = |entity| {
                report
                    .refused
                    .iter()
                    .any(|refused| refused.entity == entity)
            };
            for Refused { entity, error, .. } in &report.refused {
                assert!(matches!(error, WorldError::Chunk(_)), "{entity}: {error}");
            }
            for &(entity, n) in &new {
                assert_eq!(world.exists(entity), !refused(entity));
                let value = world.get::<Vast>(entity).ok();
                assert_eq!(value.map(|v| v.0[249]), (!refused(entity)).then_some(n));
            }
            let told = world.resources_mut().remove::<Told>().unwrap();
            assert_eq!(told.created.len(), report.created);
            assert_eq!(report.created + report.refused.len(), new.len());
            assert_eq!(world.count(), report.created);
            scarce.leave(64);
            drop(world);
            assert_eq!(alive.load(Ordering::Relaxed), 0);
            whole += usize::from(report.refused.is_empty());
            if whole > 4 {
                break;
            }
            assert!(left < 64);
        }
    }
}

/// A handle that is led over.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct On(Entity);
crate::plain!(On { 0 });

/// Without memory for another chunk, but for one free row among those that are alike.
fn with_one_row(scarce: &mut Scarce) -> World {
    scarce.leave(64);
    let mut world = World::of(&scarce.universe).unwrap();
    for n in 0..7 {
        world.create((Vast([n; 250]),)).unwrap();
    }
    world
}

#[test]
fn a_flush_without_memory_lets_some_of_a_batch_join_and_the_others_are_dead() {
    let mut scarce = Scarce::new();
    let mut world = with_one_row(&mut scarce);
    let mut commands = world.commands();
    let batch = commands.create_batch((7..10).map(|n| (Vast([n; 250]),)));
    let new: Vec<Entity> = batch.unwrap().iter(&commands).collect();
    drop(commands);
    scarce.leave(0);
    let report = world.flush();
    assert_eq!((report.created, report.refused.len()), (1, 2));
    assert!(world.is_built(new[0]));
    for (refused, &entity) in report.refused.iter().zip(&new[1..]) {
        assert_eq!(refused.entity, entity);
        assert!(matches!(refused.error, WorldError::Chunk(_)), "{refused:?}");
        assert!(!world.exists(entity));
    }
    scarce.check(&world);
}

#[test]
fn a_flush_without_memory_leaves_a_member_of_a_group_that_names_one_who_is_dead() {
    let mut scarce = Scarce::new();
    let mut world = with_one_row(&mut scarce);
    let registry = world.registry();
    registry.register_plain::<On>().unwrap();
    registry.register_clone::<Vast>().unwrap();
    registry.register_clone::<u8>().unwrap();
    // The chunk of the hulls is full, that of the towers is not.
    let hulls: Vec<Entity> = (0..7)
        .map(|n| world.create((Vast([n; 250]), 1_u8)).unwrap())
        .collect();
    let tower = world.create((On(hulls[0]),)).unwrap();
    let tank = Group::of(&world, &[hulls[0], tower]).unwrap();
    while world.archetypes[1].chunks[0].len < world.archetypes[1].chunks[0].capacity {
        world.create((Vast([9; 250]), 1_u8)).unwrap();
    }
    let mut commands = world.commands();
    let new = commands.create_group(&tank).unwrap();
    drop(commands);
    scarce.leave(0);
    let report = world.flush();
    assert_eq!((report.created, report.refused.len()), (1, 1));
    assert_eq!(report.refused[0].entity, new[0]);
    assert!(!world.exists(new[0]));
    assert_eq!(world.get::<On>(new[1]).unwrap().0, new[0]);
    scarce.check(&world);
}

#[test]
fn who_is_reserved_and_built_is_dead_if_a_flush_refuses_it_and_reserved_if_the_world_does() {
    let mut scarce = Scarce::new();
    let mut world = with_one_row(&mut scarce);
    let [first, second] = [(); 2].map(|()| world.reserve().unwrap());
    world.create((Vast([8; 250]),)).unwrap();
    let mut commands = world.commands();
    commands.build(first, (Vast([9; 250]),)).unwrap();
    drop(commands);
    scarce.leave(0);
    let refused = world.build(second, (Vast([9; 250]),));
    assert!(matches!(refused, Err(WorldError::Chunk(_))));
    assert!(world.exists(second) && !world.is_built(second));
    let report = world.flush();
    assert_eq!((report.created, report.refused.len()), (0, 1));
    assert_eq!(report.refused[0].entity, first);
    assert!(!world.exists(first));
    let released = world.release(first);
    assert!(matches!(released, Err(WorldError::Entity(_))));
    world.release(second).unwrap();
    scarce.check(&world);
}

#[test]
fn who_is_created_lives_as_it_was_though_what_was_recorded_for_it_is_refused() {
    let mut scarce = Scarce::new();
    let mut world = with_one_row(&mut scarce);
    let mut commands = world.commands();
    let new = commands.create((Vast([7; 250]),)).unwrap();
    commands.add(new, (1_u8,)).unwrap();
    drop(commands);
    scarce.leave(0);
    let report = world.flush();
    assert_eq!((report.created, report.refused.len()), (1, 1));
    assert_eq!(report.refused[0].entity, new);
    assert_eq!(world.get::<Vast>(new).unwrap().0, [7; 250]);
    assert!(!world.has::<u8>(new).unwrap());
    scarce.check(&world);
}
