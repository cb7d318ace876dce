//! What each operation of a run does to the worlds, and to the naive ones.

use std::cell::Cell;
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::SliceReport;

use crate::world_bulk::id;
use crate::world_changes::Changes;
use crate::world_fragments::{
    Awake, Counted, Fused, Guard, Kind, Ledger, Matrix, Page, Small, Switch, Tag, Text, Weather,
    WithShape, get_mut_kind, gone_kinds_of, gone_shape_of, kinds_of, shape_of, switch_kind,
    with_gone, with_shape,
};
use crate::world_machine::{Machine, new_world};
use crate::world_naive::{Naive, Refusal};
use crate::world_probes::Watch;
use crate::world_same::{fused, same, same_report};

impl Machine {
    // --- Coming and going ------------------------------------------------------------------------

    pub(crate) fn create(&mut self, shape: u8, payload: u32, count: u16, fuse: u8, batch: bool) {
        struct Create<'a>(&'a mut World, &'a Arc<Ledger>, u32, u16, bool);
        impl WithShape for Create<'_> {
            type Out = Result<Vec<Entity>, WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Create(world, ledger, payload, count, batch) = self;
                let mut bundles = (0..count.into()).map(|n| {
                    let bundle = make(payload.wrapping_add(n), ledger);
                    ledger.burn(Fused::Make);
                    bundle
                });
                if batch {
                    let batch = world.create_batch(bundles)?;
                    assert_eq!(batch.len(), batch.iter(world).count());
                    return Ok(batch.iter(world).collect());
                }
                bundles
                    .next()
                    .map(|bundle| world.create(bundle))
                    .into_iter()
                    .collect()
            }
        }
        let kinds = kinds_of(shape);
        self.note_weathers(kinds, payload, count.into());
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let created = fused(ledger, fuse, || {
            with_shape(shape, Create(world, ledger, payload, count, batch))
        });
        match (created, Naive::can_create(kinds)) {
            (Ok(Ok(entities)), Ok(())) => {
                assert_eq!(entities.len(), usize::from(count));
                for (n, entity) in (0..).zip(entities) {
                    self.model
                        .create(self.at, entity, kinds, payload.wrapping_add(n));
                }
            }
            // The bundle of a batch need not come at all.
            (Ok(Ok(entities)), Err(_)) => assert!(entities.is_empty() && count == 0),
            (Ok(Err(error)), expected) => assert_eq!(Err(Refusal::of(&error)), expected),
            // All or none.
            (Err(_), _) => {}
        }
    }

    pub(crate) fn reserve(&mut self, len: u8) {
        if len.is_multiple_of(2) {
            let entity = self.worlds[self.at].reserve().unwrap();
            self.model.reserve(entity);
        } else {
            let mut entities = vec![Entity::PLACEHOLDER; len.into()];
            self.universe.reserve_slice(&mut entities).unwrap();
            entities
                .into_iter()
                .for_each(|entity| self.model.reserve(entity));
        }
    }

    pub(crate) fn build(&mut self, pick: u16, shape: u8, payload: u32, fuse: u8) {
        struct Build<'a>(&'a mut World, &'a Arc<Ledger>, Entity, u32);
        impl WithShape for Build<'_> {
            type Out = Result<(), WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                self.0.build(self.2, make(self.3, self.1))
            }
        }
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let kinds = kinds_of(shape);
        self.note_weathers(kinds, payload, 1);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let built = fused(ledger, fuse, || {
            with_shape(shape, Build(world, ledger, entity, payload))
        });
        self.settle_build(built, entity, kinds, payload);
    }

    /// Compares a build that may have panicked.
    pub(crate) fn settle_build(
        &mut self,
        built: Result<Result<(), WorldError>, Fused>,
        entity: Entity,
        kinds: &[Kind],
        payload: u32,
    ) {
        let model = &mut self.model;
        match built {
            // A chunk fragment could not be cloned, or a value not be made; a bundle that is refused may panic when it is dropped.
            Err(Fused::Clone | Fused::Fill) => {}
            Err(_) => assert!(model.build(self.at, entity, kinds, payload).is_err()),
            Ok(built) => same(built, model.build(self.at, entity, kinds, payload), "build"),
        }
    }

    pub(crate) fn destroy(&mut self, pick: u16, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let destroyed = fused(&self.ledger, fuse, || world.destroy(entity));
        let expected = self.model.destroy(self.at, entity);
        same(destroyed.unwrap_or(Ok(())), expected, "destroy");
    }

    pub(crate) fn destroy_slice(&mut self, pick: u16, len: u8, stride: u8, fuse: u8) {
        let entities = self.slice(pick, len, stride);
        let world = &mut self.worlds[self.at];
        let report = fused(&self.ledger, fuse, || world.destroy_slice(&entities));
        let expected: Vec<_> = entities
            .iter()
            .map(|&e| self.model.destroy(self.at, e).map(|()| true))
            .collect();
        if let Ok(report) = report {
            same_report(&report, &expected);
        }
    }

    pub(crate) fn renew(&mut self, fuse: u8) {
        self.end_recorded(self.at);
        self.model.end(self.at);
        let new = new_world(&self.universe, self.at, self.hands, self.ears.as_ref());
        self.watches[self.at] = Watch::new(&new).unwrap();
        self.changes[self.at] = Changes::new(&new);
        self.forks[self.at] = false;
        let old = std::mem::replace(&mut self.worlds[self.at], new);
        let _ = fused(&self.ledger, fuse, || drop(old));
    }

    // --- Changes ---------------------------------------------------------------------------------

    pub(crate) fn add(&mut self, pick: u16, shape: u8, payload: u32, fuse: u8) {
        struct Add<'a>(&'a mut World, &'a Arc<Ledger>, Entity, u32);
        impl WithShape for Add<'_> {
            type Out = Result<(), WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                self.0.add(self.2, make(self.3, self.1))
            }
        }
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let kinds = kinds_of(shape);
        self.note_weathers(kinds, payload, 1);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let added = fused(ledger, fuse, || {
            with_shape(shape, Add(world, ledger, entity, payload))
        });
        self.settle(added, "add", |model, at| {
            model.add(at, entity, kinds, payload)
        });
    }

    /// Compares a change that may have panicked.
    pub(crate) fn settle(
        &mut self,
        real: Result<Result<(), WorldError>, Fused>,
        what: &str,
        change: impl FnOnce(&mut Naive, usize) -> Result<(), Refusal>,
    ) {
        match real {
            // A chunk fragment could not be cloned, or a value not be made: nothing has changed.
            Err(Fused::Clone | Fused::Fill) => {}
            // The drop of what was replaced panicked, or that of a bundle which was refused.
            Err(_) => drop(change(&mut self.model, self.at)),
            Ok(real) => same(real, change(&mut self.model, self.at), what),
        }
    }

    pub(crate) fn add_slice(&mut self, entities: &[Entity], shape: u8, payload: u32, fuse: u8) {
        struct Add<'a>(
            &'a mut World,
            &'a Arc<Ledger>,
            &'a [Entity],
            u32,
            &'a Cell<usize>,
        );
        impl WithShape for Add<'_> {
            type Out = SliceReport;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> SliceReport {
                self.0.add_slice(self.2, |position| {
                    self.4.set(position);
                    let bundle = make(self.3.wrapping_add(position as u32), self.1);
                    self.1.burn(Fused::Make);
                    bundle
                })
            }
        }
        let kinds = kinds_of(shape);
        self.note_weathers(kinds, payload, entities.len() as u32);
        let position = Cell::new(0);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let real = fused(ledger, fuse, || {
            with_shape(shape, Add(world, ledger, entities, payload, &position))
        });
        let done = match real {
            Ok(_) => entities.len(),
            Err(Fused::Fill) => {
                return self.settle_some(entities, |model, at, entity, position| {
                    let payload = payload.wrapping_add(position);
                    let _ = model.add(at, entity, kinds, payload);
                });
            }
            Err(Fused::Make) => position.get(),
            Err(Fused::Drop) => position.get() + 1,
            // With values for the chunk, one by one: there was no chunk for what was made. Else for that, or for what
            // would have been made next.
            Err(Fused::Clone) => {
                let (world, made) = (&self.worlds[self.at], position.get());
                let one_by_one = [Kind::Team, Kind::Species, Kind::Weather];
                let has = |entity, kind| world.has_dynamic(entity, id(kind, world.registry()));
                let done = |&entity: &Entity| {
                    kinds.iter().all(|kind| {
                        !one_by_one.contains(kind) && has(entity, *kind).is_ok_and(|has| has)
                    })
                };
                made + usize::from(entities.get(made).is_some_and(done))
            }
        };
        let expected: Vec<_> = (0..)
            .zip(&entities[..done])
            .map(|(n, &entity)| {
                let payload = payload.wrapping_add(n);
                self.model
                    .add(self.at, entity, kinds, payload)
                    .map(|()| true)
            })
            .collect();
        match real {
            Ok(report) => same_report(&report, &expected),
            Err(_) => self.compare_all(entities),
        }
    }

    pub(crate) fn remove(&mut self, pick: u16, shape: u8, fuse: u8) {
        struct Remove<'a>(&'a mut World, Entity);
        impl WithShape for Remove<'_> {
            type Out = Result<bool, WorldError>;
            fn with<B: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                self.0.remove::<B>(self.1)
            }
        }
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let removed = fused(&self.ledger, fuse, || {
            with_shape(shape, Remove(world, entity))
        });
        self.settle_remove(removed, entity, kinds_of(shape));
    }

    /// Compares a removal that may have panicked.
    pub(crate) fn settle_remove(
        &mut self,
        removed: Result<Result<bool, WorldError>, Fused>,
        entity: Entity,
        kinds: &[Kind],
    ) {
        let model = &mut self.model;
        match removed {
            Err(Fused::Clone) => {}
            Err(_) => assert_eq!(model.remove(self.at, entity, kinds), Ok(true)),
            Ok(removed) => same(removed, model.remove(self.at, entity, kinds), "remove"),
        }
    }

    pub(crate) fn take(&mut self, pick: u16, which: u8, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let number = |text: Text| text.0.parse().unwrap();
        let (taken, kinds): (_, &[Kind]) = match which % 6 {
            0 => {
                let taken = fused(ledger, fuse, || world.take::<(Small,)>(entity));
                (
                    taken.map(|taken| taken.map(|(small,)| vec![small.0])),
                    &[Kind::Small],
                )
            }
            1 => {
                let taken = fused(ledger, fuse, || world.take::<(Text, Counted)>(entity));
                let values = |(text, counted): (Text, Counted)| vec![number(text), counted.value];
                (
                    taken.map(|taken| taken.map(values)),
                    &[Kind::Text, Kind::Counted],
                )
            }
            2 => {
                let taken = fused(ledger, fuse, || world.take::<(Guard, Page, Matrix)>(entity));
                let values =
                    |(_, page, matrix): (Guard, Page, Matrix)| vec![0, page.0, matrix.0[15]];
                (
                    taken.map(|taken| taken.map(values)),
                    &[Kind::Guard, Kind::Page, Kind::Matrix],
                )
            }
            3 => {
                let taken = fused(ledger, fuse, || world.take::<(Switch, Awake)>(entity));
                let values = |(switch, _): (Switch, Awake)| vec![switch.0.into(), 0];
                (
                    taken.map(|taken| taken.map(values)),
                    &[Kind::Switch, Kind::Awake],
                )
            }
            4 => {
                let taken = fused(ledger, fuse, || world.take::<(Tag, Counted)>(entity));
                let values = |(_, counted): (Tag, Counted)| vec![0, counted.value];
                (
                    taken.map(|taken| taken.map(values)),
                    &[Kind::Tag, Kind::Counted],
                )
            }
            _ => {
                let taken = fused(ledger, fuse, || world.take::<(Text, Text)>(entity));
                let values = |(a, b): (Text, Text)| vec![number(a), number(b)];
                (
                    taken.map(|taken| taken.map(values)),
                    &[Kind::Text, Kind::Text],
                )
            }
        };
        match taken {
            Err(Fused::Clone) => {}
            Err(fused) => panic!("nothing of the user's but this was called: {fused:?}"),
            Ok(taken) => same(taken, self.model.take(self.at, entity, kinds), "take"),
        }
    }

    pub(crate) fn remove_slice(&mut self, entities: &[Entity], shape: u8) {
        struct Remove<'a>(&'a mut World, &'a [Entity]);
        impl WithShape for Remove<'_> {
            type Out = SliceReport;
            fn with<B: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> B) -> SliceReport {
                self.0.remove_slice::<B>(self.1)
            }
        }
        let report = with_shape(shape, Remove(&mut self.worlds[self.at], entities));
        let expected: Vec<_> = entities
            .iter()
            .map(|&entity| self.model.remove(self.at, entity, kinds_of(shape)))
            .collect();
        same_report(&report, &expected);
    }

    pub(crate) fn swap(&mut self, pick: u16, gone: u8, come: u8, payload: u32, fuse: u8) {
        struct Gone<'a>(&'a mut World, &'a Arc<Ledger>, Entity, u8, u32);
        struct Come<'a, G>(Gone<'a>, std::marker::PhantomData<G>);
        impl WithShape for Gone<'_> {
            type Out = Result<(), WorldError>;
            fn with<G: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> G) -> Self::Out {
                with_shape(self.3, Come::<G>(self, std::marker::PhantomData))
            }
        }
        impl<G: Bundle> WithShape for Come<'_, G> {
            type Out = Result<(), WorldError>;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out {
                let Gone(world, ledger, entity, _, payload) = self.0;
                world.swap::<G, B>(entity, make(payload, ledger))
            }
        }
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let (gone_kinds, kinds) = (gone_kinds_of(gone_shape_of(gone)), kinds_of(shape_of(come)));
        self.note_weathers(kinds, payload, 1);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let swapped = fused(ledger, fuse, || {
            with_gone(gone, Gone(world, ledger, entity, come, payload))
        });
        self.settle(swapped, "swap", |model, at| {
            model.swap(at, entity, gone_kinds, kinds, payload)
        });
    }

    pub(crate) fn enable(&mut self, pick: u16, which: u8, on: bool) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let kind = switch_kind(which);
        let real = match kind {
            Kind::Switch => world.set_enabled::<Switch>(entity, on),
            Kind::Awake => world.set_enabled::<Awake>(entity, on),
            _ => world.set_enabled::<Small>(entity, on),
        };
        same(
            real,
            self.model.enable(self.at, entity, kind, on),
            "set_enabled",
        );
    }

    pub(crate) fn clone_entity(&mut self, pick: u16, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let cloned = fused(&self.ledger, fuse, || world.clone_entity(entity));
        match (cloned, self.model.cloned(self.at, entity)) {
            (Ok(Ok(new)), Ok(row)) => self.model.enter_clone(self.at, new, row),
            (Ok(Err(error)), expected) => assert_eq!(Err(Refusal::of(&error)), expected.map(drop)),
            (Ok(Ok(_)), Err(refusal)) => panic!("cloned in spite of {refusal:?}"),
            (Err(_), _) => {}
        }
    }

    pub(crate) fn get_mut(&mut self, pick: u16, which: u8, payload: u32) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let kind = get_mut_kind(which);
        let real = match kind {
            Kind::Small => world.get_mut(entity).map(|s| *s = Small(payload)),
            Kind::Text => {
                let text = world.get_mut(entity);
                text.map(|t: &mut Text| t.0 = payload.to_string())
            }
            Kind::Counted => {
                let counted = world.get_mut(entity);
                counted.map(|c: &mut Counted| c.value = payload)
            }
            Kind::Matrix => world.get_mut(entity).map(|m| *m = Matrix([payload; 16])),
            _ => world.get_mut(entity).map(|p| *p = Page(payload)),
        };
        same(
            real,
            self.model.set(self.at, entity, kind, payload),
            "get_mut",
        );
    }

    pub(crate) fn set_chunk_fragment(&mut self, pick: u16, payload: u32) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let real = self.worlds[self.at].chunk_fragment_mut::<Weather>(entity);
        let has = match self.model.row(self.at, entity) {
            Ok(row) if row.has(Kind::Weather) => Ok(()),
            Ok(_) => Err(Refusal::Missing),
            Err(refusal) => Err(refusal),
        };
        let real = real.map(|weather| *weather = Weather::new(payload, &self.ledger));
        same(real, has, "chunk_fragment_mut");
        self.weathers.insert(payload);
    }

    pub(crate) fn note_weathers(&mut self, kinds: &[Kind], payload: u32, count: u32) {
        if kinds.contains(&Kind::Weather) {
            self.weathers
                .extend((0..count).map(|n| payload.wrapping_add(n)));
        }
    }

    pub(crate) fn forged(&mut self, index: u32, version: u32) {
        let Some(entity) = Entity::new(index, version | 1) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        // A slot may skip a version, so whether one that nobody got was is not known here.
        if self.model.row(self.at, entity) == Err(Refusal::NeverCreated) {
            assert!(!world.exists(entity) && world.get::<Small>(entity).is_err());
            assert!(world.add(entity, (Small(0),)).is_err());
            assert!(world.build(entity, (Small(0),)).is_err() && world.release(entity).is_err());
            assert_eq!(world.destroy_slice(&[entity, entity]).refused.len(), 2);
        }
    }
}
