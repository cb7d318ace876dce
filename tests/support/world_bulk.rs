//! Calls on many entities at once, on fragments known at run time only, and on whole worlds: what they do to
//! the worlds, and to the naive ones.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::{
    DynamicBundle, Fragment, FragmentError, FragmentId, FragmentRegistry, Value,
};
use megachunk::prelude::*;
use megachunk::query::QueryFilter;
use megachunk::world::{Budget, LoadOptions, Prototype, SnapshotOptions};

use crate::world_fragments::{
    Awake, Counted, Fused, Guard, Kind, Ledger, Made, Matrix, Page, Small, Species, Switch, Tag,
    Team, Text, Weather, WithShape, core_kinds_of, core_shape_of, gone_kinds_of, gone_shape_of,
    kinds_of, register, shape_of, with_core, with_gone, with_shape,
};
use crate::world_machine::{Machine, WORLDS, universe};
use crate::world_naive::{NAMES, Refusal};
use crate::world_required::requiring;
use crate::world_row::Row;
use crate::world_same::{fused, same_report};

/// What is done with a filter that a number stands for.
pub(crate) trait WithFilter {
    type Out;
    fn with<F: QueryFilter + 'static>(self) -> Self::Out;
}

pub(crate) fn with_filter<W: WithFilter>(which: u8, with: W) -> W::Out {
    match which % 6 {
        0 => with.with::<With<Small>>(),
        1 => with.with::<Without<Tag>>(),
        2 => with.with::<Any<(Text, Guard)>>(),
        3 => with.with::<(With<Switch>, Without<Awake>)>(),
        4 => with.with::<With<Counted>>(),
        _ => with.with::<()>(),
    }
}

/// One of two filters: enough for calls that are made with many bundle types, each a function to compile.
fn with_few<W: WithFilter>(which: u8, with: W) -> W::Out {
    if few(which) == 3 {
        with.with::<(With<Switch>, Without<Awake>)>()
    } else {
        with.with::<()>()
    }
}

pub(crate) fn few(which: u8) -> u8 {
    if which.is_multiple_of(2) { 3 } else { 5 }
}

/// The same filter, said of a row.
pub(crate) fn lets_through(which: u8, row: &Row) -> bool {
    match which % 6 {
        0 => row.has(Kind::Small),
        1 => !row.has(Kind::Tag),
        2 => row.has(Kind::Text) || row.has(Kind::Guard),
        3 => row.is_on(Kind::Switch) && !row.is_on(Kind::Awake),
        4 => row.has(Kind::Counted),
        _ => true,
    }
}

/// The kinds that the bits of a number stand for; the first one twice if the highest bit is set.
pub(crate) fn kinds_in(mask: u16) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = (0..)
        .zip(Kind::ALL)
        .filter_map(|(bit, kind)| (mask >> bit & 1 == 1).then_some(kind))
        .collect();
    if mask >> 15 == 1 {
        kinds.extend(kinds.first().copied());
    }
    kinds
}

pub(crate) fn value(
    kind: Kind,
    registry: &FragmentRegistry,
    payload: u32,
    ledger: &Arc<Ledger>,
) -> Value {
    fn plain<T: Made + Fragment>(
        registry: &FragmentRegistry,
        payload: u32,
        ledger: &Arc<Ledger>,
    ) -> Result<Value, FragmentError> {
        Value::new(registry, T::made(payload, ledger))
    }
    let value = match kind {
        Kind::Small => plain::<Small>(registry, payload, ledger),
        Kind::Text => plain::<Text>(registry, payload, ledger),
        Kind::Counted => plain::<Counted>(registry, payload, ledger),
        Kind::Tag => plain::<Tag>(registry, payload, ledger),
        Kind::Guard => plain::<Guard>(registry, payload, ledger),
        Kind::Matrix => plain::<Matrix>(registry, payload, ledger),
        Kind::Page => plain::<Page>(registry, payload, ledger),
        Kind::Switch => plain::<Switch>(registry, payload, ledger),
        Kind::Awake => plain::<Awake>(registry, payload, ledger),
        Kind::Team => Value::shared(registry, Team::made(payload, ledger)),
        Kind::Species => Value::const_shared(registry, Species::made(payload, ledger)),
        Kind::Weather => Value::per_chunk(registry, Weather::made(payload, ledger)),
    };
    value.unwrap()
}

pub(crate) fn id(kind: Kind, registry: &FragmentRegistry) -> FragmentId {
    let info = match kind {
        Kind::Small => registry.register::<Small>(),
        Kind::Text => registry.register::<Text>(),
        Kind::Counted => registry.register::<Counted>(),
        Kind::Tag => registry.register::<Tag>(),
        Kind::Guard => registry.register::<Guard>(),
        Kind::Matrix => registry.register::<Matrix>(),
        Kind::Page => registry.register::<Page>(),
        Kind::Switch => registry.register::<Switch>(),
        Kind::Awake => registry.register::<Awake>(),
        Kind::Team => registry.register::<Shared<Team>>(),
        Kind::Species => registry.register::<ConstShared<Species>>(),
        Kind::Weather => registry.register::<PerChunk<Weather>>(),
    };
    info.unwrap().id()
}

impl Machine {
    /// The entities of a world that a filter lets through.
    fn seen(&self, which: u8) -> Vec<Entity> {
        let rows = self.model.rows(self.at);
        rows.filter_map(|(entity, row)| lets_through(which, row).then_some(entity))
            .collect()
    }

    /// The world of the operation, and the other one.
    pub(crate) fn both(&mut self) -> (&mut World, &mut World) {
        let [one, two] = &mut self.worlds[..] else {
            unreachable!("a run has two worlds")
        };
        if self.at == 0 { (one, two) } else { (two, one) }
    }

    // --- Queries that change -----------------------------------------------------------------------

    pub(crate) fn query_add(&mut self, which: u8, shape: u8, payload: u32, fuse: u8) {
        struct Add<'a>(
            &'a mut World,
            &'a Arc<Ledger>,
            u8,
            u32,
            &'a RefCell<Vec<Entity>>,
        );
        struct AddTo<'a, F>(Add<'a>, PhantomData<F>);
        impl WithFilter for Add<'_> {
            type Out = Result<usize, WorldError>;
            fn with<F: QueryFilter>(self) -> Self::Out {
                with_core(self.2, AddTo::<F>(self, PhantomData))
            }
        }
        impl<F: QueryFilter> WithShape for AddTo<'_, F> {
            type Out = Result<usize, WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Add(world, ledger, _, payload, calls) = self.0;
                world.matching::<F>().unwrap().add(|entity| {
                    calls.borrow_mut().push(entity);
                    let bundle = make(payload.wrapping_add(entity.index()), ledger);
                    ledger.burn(Fused::Make);
                    bundle
                })
            }
        }
        let shape = core_shape_of(shape);
        let (seen, kinds) = (self.seen(few(which)), core_kinds_of(shape));
        for entity in &seen {
            self.note_weathers(kinds, payload.wrapping_add(entity.index()), 1);
        }
        let calls = RefCell::default();
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let added = fused(ledger, fuse, || {
            with_few(which, Add(world, ledger, shape, payload, &calls))
        });
        let mut done = calls.into_inner();
        let panicked = added.is_err();
        match added {
            Ok(Err(error)) => {
                assert_eq!((Refusal::of(&error), shape), (Refusal::Twice, 5));
                return;
            }
            Ok(Ok(count)) => {
                assert_eq!(count, seen.len());
                done.sort_unstable();
                assert_eq!(done, seen);
            }
            Err(Fused::Fill) => {
                return self.settle_some(&seen, |model, at, entity, _| {
                    let payload = payload.wrapping_add(entity.index());
                    model.add(at, entity, kinds, payload).unwrap();
                });
            }
            // A closure panicked, or the chunk for what it made could not be had.
            Err(Fused::Make) => drop(done.pop()),
            Err(Fused::Clone) if matches!(shape, 3 | 4) => drop(done.pop()),
            Err(_) => {}
        }
        for entity in done {
            let payload = payload.wrapping_add(entity.index());
            self.model.add(self.at, entity, kinds, payload).unwrap();
        }
        if panicked {
            self.compare_all(&seen);
        }
    }

    pub(crate) fn query_remove(&mut self, which: u8, shape: u8) {
        struct Remove<'a>(&'a mut World, u8);
        struct RemoveFrom<'a, F>(Remove<'a>, PhantomData<F>);
        impl WithFilter for Remove<'_> {
            type Out = Result<usize, WorldError>;
            fn with<F: QueryFilter>(self) -> Self::Out {
                with_core(self.1, RemoveFrom::<F>(self, PhantomData))
            }
        }
        impl<F: QueryFilter> WithShape for RemoveFrom<'_, F> {
            type Out = Result<usize, WorldError>;
            fn with<B: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                self.0.0.matching::<F>().unwrap().remove::<B>()
            }
        }
        let (seen, shape) = (self.seen(few(which)), core_shape_of(shape));
        let real = with_few(which, Remove(&mut self.worlds[self.at], shape));
        if shape == 5 {
            assert_eq!(
                real.map_err(|error| Refusal::of(&error)),
                Err(Refusal::Twice)
            );
            return;
        }
        let removed = seen
            .into_iter()
            .filter(|&entity| self.model.remove(self.at, entity, core_kinds_of(shape)) == Ok(true));
        assert_eq!(real.unwrap(), removed.count(), "matching.remove");
    }

    pub(crate) fn query_swap(&mut self, gone: u8, come: u8, payload: u32) {
        struct Swap<'a>(&'a mut World, &'a Arc<Ledger>, u8, u32);
        struct Come<'a, G>(Swap<'a>, PhantomData<G>);
        impl WithShape for Swap<'_> {
            type Out = Result<usize, WorldError>;
            fn with<G: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> G) -> Self::Out {
                with_core(self.2, Come::<G>(self, PhantomData))
            }
        }
        impl<G: Bundle> WithShape for Come<'_, G> {
            type Out = Result<usize, WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Swap(world, ledger, .., payload) = self.0;
                world
                    .matching::<()>()
                    .unwrap()
                    .swap::<G, B>(|entity| make(payload.wrapping_add(entity.index()), ledger))
            }
        }
        let (seen, gone, come) = (self.seen(5), gone_shape_of(gone), core_shape_of(come));
        let kinds = core_kinds_of(come);
        for entity in &seen {
            self.note_weathers(kinds, payload.wrapping_add(entity.index()), 1);
        }
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let real = with_gone(gone, Swap(world, ledger, come, payload));
        if come == 5 {
            assert_eq!(
                real.map_err(|error| Refusal::of(&error)),
                Err(Refusal::Twice)
            );
            return;
        }
        assert_eq!(real.unwrap(), seen.len(), "matching.swap");
        for entity in seen {
            let payload = payload.wrapping_add(entity.index());
            let swapped = self
                .model
                .swap(self.at, entity, gone_kinds_of(gone), kinds, payload);
            swapped.unwrap();
        }
    }

    pub(crate) fn query_destroy(&mut self, which: u8, fuse: u8) {
        struct Destroy<'a>(&'a mut World);
        impl WithFilter for Destroy<'_> {
            type Out = usize;
            fn with<F: QueryFilter>(self) -> usize {
                self.0.matching::<F>().unwrap().destroy()
            }
        }
        let seen = self.seen(which);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let real = fused(ledger, fuse, || with_filter(which, Destroy(world)));
        assert_eq!(real.unwrap_or(seen.len()), seen.len(), "matching.destroy");
        for entity in seen {
            self.model.destroy(self.at, entity).unwrap();
        }
    }

    pub(crate) fn query_share(&mut self, which: u8, payload: u32) {
        struct Share<'a>(&'a mut World, Team);
        impl WithFilter for Share<'_> {
            type Out = Result<usize, WorldError>;
            fn with<F: QueryFilter>(self) -> Self::Out {
                self.0.matching::<F>().unwrap().set_shared(self.1)
            }
        }
        let seen = self.seen(which);
        let value = Team::made(payload, &self.ledger);
        let real = with_filter(which, Share(&mut self.worlds[self.at], value));
        assert_eq!(real.unwrap(), seen.len(), "matching.set_shared");
        for entity in seen {
            self.model
                .add(self.at, entity, &[Kind::Team], payload)
                .unwrap();
        }
    }

    // --- From world to world -----------------------------------------------------------------------

    pub(crate) fn query_move(&mut self, which: u8) {
        struct Move<'a>(&'a mut World, &'a mut World);
        impl WithFilter for Move<'_> {
            type Out = Result<usize, WorldError>;
            fn with<F: QueryFilter>(self) -> Self::Out {
                self.0.matching::<F>().unwrap().move_to(self.1)
            }
        }
        let (at, seen) = (self.at, self.seen(which));
        let (world, other) = self.both();
        let real = with_filter(which, Move(world, other));
        assert_eq!(real.unwrap(), seen.len(), "matching.move_to");
        for entity in seen {
            self.model.emigrate(at, entity).unwrap();
        }
    }

    pub(crate) fn move_slice(&mut self, pick: u16, len: u8, stride: u8, fuse: u8) {
        let (at, entities) = (self.at, self.slice(pick, len, stride));
        let ledger = Arc::clone(&self.ledger);
        let (world, other) = self.both();
        let moved = fused(&ledger, fuse, || world.move_slice_to(other, &entities));
        if let Ok(report) = moved {
            let expected: Vec<_> = entities
                .iter()
                .map(|&entity| self.model.emigrate(at, entity).map(|()| true))
                .collect();
            same_report(&report.unwrap(), &expected);
            return;
        }
        // A chunk fragment could not be cloned: those before have gone, all others are where they were.
        let gone = |machine: &Self, &entity: &Entity| machine.worlds[1 - at].is_built(entity);
        let mut here = entities.clone();
        here.retain(|&entity| self.model.row(at, entity).is_ok());
        for entity in &here {
            if !gone(self, entity) {
                break;
            }
            // It may be named twice.
            let _ = self.model.emigrate(at, *entity);
        }
        self.compare_all(&entities);
    }

    pub(crate) fn move_archetype(&mut self, shape: u8) {
        struct Move<'a>(&'a mut World, &'a mut World);
        impl WithShape for Move<'_> {
            type Out = Result<usize, WorldError>;
            fn with<B: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                self.0.move_archetype_to::<B>(self.1)
            }
        }
        let at = self.at;
        let (world, other) = self.both();
        let real = with_shape(shape, Move(world, other));
        if shape_of(shape) == 16 {
            assert_eq!(
                real.map_err(|error| Refusal::of(&error)),
                Err(Refusal::Twice)
            );
            return;
        }
        let kinds: BTreeSet<Kind> = kinds_of(shape).iter().copied().collect();
        let rows = self.model.rows(at);
        let same = rows.filter(|(_, row)| row.kinds().eq(kinds.iter().copied()));
        let same: Vec<Entity> = same.map(|(entity, _)| entity).collect();
        assert_eq!(real.unwrap(), same.len(), "move_archetype_to");
        for entity in same {
            self.model.emigrate(at, entity).unwrap();
        }
    }

    pub(crate) fn move_all(&mut self) {
        let at = self.at;
        let (world, other) = self.both();
        let count = world.move_all_to(other).unwrap();
        let all: Vec<Entity> = self.model.rows(at).map(|(entity, _)| entity).collect();
        assert_eq!(count, all.len(), "move_all_to");
        for entity in all {
            self.model.emigrate(at, entity).unwrap();
        }
    }

    // --- Fragments known at run time ----------------------------------------------------------------

    pub(crate) fn dynamic_bundle(&mut self, kinds: &[Kind], payload: u32) -> DynamicBundle {
        self.note_weathers(kinds, payload, 1);
        let registry = self.universe.registry();
        let values = kinds
            .iter()
            .map(|&kind| value(kind, registry, payload, &self.ledger));
        values.fold(DynamicBundle::new(), DynamicBundle::with)
    }

    pub(crate) fn create_dynamic(&mut self, mask: u16, payload: u32, fuse: u8) {
        let kinds = kinds_in(mask);
        let bundle = self.dynamic_bundle(&kinds, payload);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        match fused(ledger, fuse, || world.create_dynamic(bundle)) {
            Ok(Ok(entity)) => self.model.create(self.at, entity, &kinds, payload),
            Ok(Err(error)) => assert_eq!((Refusal::of(&error), mask >> 15), (Refusal::Twice, 1)),
            Err(_) => {}
        }
    }

    pub(crate) fn build_dynamic(&mut self, pick: u16, mask: u16, payload: u32, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let kinds = kinds_in(mask);
        let bundle = self.dynamic_bundle(&kinds, payload);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let built = fused(ledger, fuse, || world.build_dynamic(entity, bundle));
        self.settle_build(built, entity, &kinds, payload);
    }

    pub(crate) fn add_dynamic(&mut self, pick: u16, mask: u16, payload: u32, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let kinds = kinds_in(mask);
        let bundle = self.dynamic_bundle(&kinds, payload);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let added = fused(ledger, fuse, || world.add_dynamic(entity, bundle));
        self.settle(added, "add_dynamic", |model, at| {
            model.add(at, entity, &kinds, payload)
        });
    }

    pub(crate) fn remove_dynamic(&mut self, pick: u16, mask: u16, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let kinds = kinds_in(mask);
        let registry = self.universe.registry();
        let ids: Vec<FragmentId> = kinds.iter().map(|&kind| id(kind, registry)).collect();
        let world = &mut self.worlds[self.at];
        let removed = fused(&self.ledger, fuse, || world.remove_dynamic(entity, &ids));
        self.settle_remove(removed, entity, &kinds);
    }

    /// A prototype with the kinds that the bits of a number stand for, if there can be one.
    pub(crate) fn prototype(&mut self, mask: u16, payload: u32) -> Option<(Prototype, Vec<Kind>)> {
        let kinds = kinds_in(mask);
        let bundle = self.dynamic_bundle(&kinds, payload);
        match Prototype::new(self.universe.registry(), bundle) {
            Ok(prototype) => Some((prototype, kinds)),
            Err(error) => {
                let expected = match mask >> 15 {
                    1 => Refusal::Twice,
                    _ => Refusal::NotCloneable,
                };
                assert_eq!(Refusal::of(&error), expected);
                assert!(mask >> 15 == 1 || kinds.contains(&Kind::Guard));
                None
            }
        }
    }

    pub(crate) fn create_copies(&mut self, mask: u16, payload: u32, len: u16, fuse: u8) {
        let Some((prototype, mut kinds)) = self.prototype(mask, payload) else {
            return;
        };
        let numbered = payload % 2 == 1;
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let created = fused(ledger, fuse, || {
            let batch = if numbered {
                world.create_copies_with(&prototype, len.into(), |number| {
                    ledger.burn(Fused::Make);
                    (Small(payload.wrapping_add(number as u32)),)
                })?
            } else {
                world.create_copies(&prototype, len.into())?
            };
            Ok::<Vec<Entity>, WorldError>(batch.iter(world).collect())
        });
        if numbered && !kinds.contains(&Kind::Small) {
            kinds.push(Kind::Small);
        }
        // All or none.
        let Ok(entities) = created else { return };
        let entities = entities.unwrap();
        assert_eq!(entities.len(), usize::from(len));
        for (number, entity) in (0..).zip(entities) {
            self.model.create(self.at, entity, &kinds, payload);
            if numbered {
                let small = payload.wrapping_add(number);
                let added = self.model.add(self.at, entity, &[Kind::Small], small);
                assert_eq!(added, Ok(()));
            }
        }
    }

    // --- The whole world ---------------------------------------------------------------------------

    pub(crate) fn compact(&mut self, budget: u8) {
        let options = self.plain_options();
        let world = &mut self.worlds[self.at];
        // A hash has no chunk fragments.
        let weathers = |world: &World| -> BTreeMap<Entity, u32> {
            let mut all = world.read::<Entity, ()>().unwrap();
            let weather = |entity| Some((entity, world.chunk_fragment(entity).ok()?));
            let weathers = all.iter().filter_map(weather);
            weathers
                .map(|(entity, weather): (_, &Weather)| (entity, weather.value))
                .collect()
        };
        let before = (world.state_hash(&options).unwrap(), weathers(world));
        if budget == u8::MAX {
            assert!(world.compact(Budget::Unlimited).is_done);
            assert_eq!(
                world.compact(Budget::Unlimited).entities,
                0,
                "there was more to do"
            );
        } else {
            let report = world.compact(Budget::Entities(budget.into()));
            // One in any case, so that calls come to an end.
            assert!(report.entities <= usize::from(budget).max(1));
        }
        let after = (world.state_hash(&options).unwrap(), weathers(world));
        assert_eq!(after, before);
    }

    pub(crate) fn collect(&mut self) {
        let world = &mut self.worlds[self.at];
        let before = world.archetypes().len();
        let gone = world.collect_archetypes();
        let rows = self.model.rows(self.at);
        let there: BTreeSet<Vec<Kind>> = rows.map(|(_, row)| row.kinds().collect()).collect();
        assert_eq!(
            (before - gone, world.archetypes().len()),
            (there.len(), there.len())
        );
    }

    /// All that can be saved.
    pub(crate) fn plain_options(&self) -> SnapshotOptions {
        let registry = self.universe.registry();
        // These would stay in a hash, because they can be hashed.
        let others = [Kind::Guard, Kind::Weather].map(|kind| id(kind, registry));
        let options = SnapshotOptions::new().skip_not_plain();
        others.into_iter().fold(options, SnapshotOptions::skip)
    }

    /// Saves the world, and looks at it after loading it into another universe.
    pub(crate) fn save_and_load(&mut self) {
        let options = self.plain_options();
        let world = &self.worlds[self.at];
        let bytes = world.to_snapshot(&options).unwrap();
        let universe = universe();
        register(&universe).unwrap();
        let mut loaded = World::from_snapshot(&bytes, universe, &Default::default()).unwrap();
        loaded.check().unwrap();
        assert_eq!(loaded.count(), world.count());
        let hashes = [world, &loaded].map(|world| world.state_hash(&options).unwrap());
        assert_eq!(hashes[0], hashes[1]);
        for &entity in &self.model.given {
            let Ok(row) = self.model.row(self.at, entity) else {
                assert!(!loaded.exists(entity), "{entity} lives again");
                continue;
            };
            let small = loaded.get(entity).ok().map(|small: &Small| small.0);
            let matrix = loaded.get(entity).ok().map(|matrix: &Matrix| {
                assert_eq!(matrix.0, [matrix.0[0]; 16]);
                matrix.0[0]
            });
            let switch = loaded
                .get(entity)
                .ok()
                .map(|switch: &Switch| switch.0.into());
            let species = loaded
                .const_shared(entity)
                .ok()
                .map(|species: &Species| species.0);
            assert_eq!(
                [small, matrix, switch, species],
                [Kind::Small, Kind::Matrix, Kind::Switch, Kind::Species].map(|kind| row.get(kind))
            );
            assert_eq!(loaded.has::<Tag>(entity).unwrap(), row.has(Kind::Tag));
            let on = |kind| row.has(kind).then(|| row.is_on(kind));
            assert_eq!(loaded.is_enabled::<Switch>(entity).ok(), on(Kind::Switch));
            assert_eq!(loaded.is_enabled::<Awake>(entity).ok(), on(Kind::Awake));
            let name = self.model.name_of(self.at, entity).unwrap();
            assert_eq!(loaded.name(entity).unwrap(), name);
        }
        for (which, name) in NAMES.into_iter().enumerate() {
            let mut named = self.model.named(self.at, which);
            named.retain(|&entity| self.model.row(self.at, entity).is_ok());
            assert_eq!(loaded.named(name).collect::<Vec<_>>(), named, "{name:?}");
        }
        for n in 0..4 {
            let new = loaded.create((Small(n),)).unwrap();
            assert!(
                !self.model.given.contains(&new),
                "a dead handle lives again"
            );
        }
        loaded.check().unwrap();
    }

    /// Saves both worlds, and goes on with what is loaded: with the ids that they had, in another universe, or with new
    /// ones, in this.
    pub(crate) fn reload(&mut self, how: u8) {
        let options = self.plain_options();
        let both = [&self.worlds[0], &self.worlds[1]];
        let bytes = World::worlds_to_snapshot(&both, &options).unwrap();
        (0..WORLDS).for_each(|at| self.end_recorded(at));
        let load = LoadOptions::new();
        let loaded = if how.is_multiple_of(2) {
            let universe = requiring(self, self.model.required);
            let loaded = World::worlds_from_snapshot(&bytes, universe, &load).unwrap();
            for (world, loaded) in self.worlds.iter().zip(&loaded) {
                let hashes = [world, loaded].map(|world| world.state_hash(&options).unwrap());
                assert_eq!(hashes[0], hashes[1]);
            }
            self.model.reload();
            loaded
        } else {
            let known = EntityMap::default();
            let loaded =
                World::worlds_from_snapshot_remapped(&bytes, &self.universe, &known, &load);
            let (loaded, entities) = loaded.unwrap();
            self.model.reload_as(|entity| entities.get(entity).unwrap());
            loaded
        };
        self.go_on_with(loaded);
    }
}
