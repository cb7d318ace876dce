//! `Hosts`: objects of a host, by the entities that they stand for.

use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeSet;

use crate::entity::Entity;
use crate::exactly::Exactly;
use crate::fragment::{Lone, Pile};
use crate::observer::{Observed, ObserverId};
use crate::panics::{end_all, note, refused, resume};
use crate::processor::translator::orphans::{Given, Orphans, Owner};
use crate::query::QueryError;
use crate::world::check::{Found, Held};
use crate::world::{Attachment, World, WorldError, new_identity};

/// A fragment: the object of a host that an entity stands for. See [`Hosts`].
///
/// It belongs to one entity: where two have exchanged theirs, nothing is copied for either, and when one goes its own
/// object is looked for among all: O(objects) the first time, then O(log objects) each time. So it is for one that
/// stands for an object of hosts that are gone, and for a copy. Where a world [goes back](crate::world::Checkpoints) to two
/// that have exchanged theirs, the objects of both are orphans.
///
/// A copy of one, in a [clone](World::clone_entity) of its entity, or in entities that are made from a
/// [`Prototype`](crate::world::Prototype) of it, stands for nothing until its entity is [given](Hosts::attach) an object of its
/// own. One alone cannot be told from what it is a copy of: a copy that has the handle of its entity, too, which a world gives
/// again that has gone back to where that was not. It does not get the object, which is an orphan then, by coming, but has it
/// where the world goes back once more, to that copy, or where the hosts were out of the world that went back.
pub struct HostOf<H> {
    given: Given,
    object: Exactly<H>,
}

impl<H> HostOf<H> {
    /// The object's slot, for [`Hosts::get`].
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.given.slot
    }

    /// Which time that its entity was given an object it names.
    pub(super) fn given(&self) -> Given {
        self.given
    }
}

/// A copy, which stands for nothing by another entity. It is what a world goes back to, too.
impl<H> Clone for HostOf<H> {
    fn clone(&self) -> Self {
        Self {
            given: self.given,
            object: PhantomData,
        }
    }
}

impl<H> fmt::Debug for HostOf<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostOf").field(&self.given.slot).finish()
    }
}

/// Objects of a host (sprites, scene nodes, rows of a table) that entities stand for: a resource of the world,
/// one for each type of object.
///
/// The host changes its objects through [`get_mut`](Self::get_mut), which notes them as changed; the
/// [translators](super) copy what has changed, in both directions.
///
/// An object whose entity is destroyed, or goes to another world, or loses its [`HostOf`], or gets another one, is an
/// *orphan*: it is kept until the host asks for it by [`take_orphans`](Self::take_orphans), and takes it down. So a host
/// calls that every frame, or at least now and then: orphans that nobody takes heap up.
///
/// An entity that comes back before that, with the [`HostOf`] that it had, has its object again, in the same slot, unless
/// another object has come there: who was to go and was refused, for whatever reason, and is
/// [shown as coming again](crate::world::World::observe); who has gone to another world, and comes from there as it was. (What
/// the host had changed of its object is copied then if no translator has run meanwhile.)
///
/// Where a world [goes back](crate::world::Checkpoints), the objects stay the host's and are as they are, but for whose they
/// are: each is its own entity's, if that lives then and its [`HostOf`] names it, and an orphan else. So those that were given
/// since are orphans, also where their entity's handle is given again, and so are those of two that had [exchanged](HostOf)
/// theirs; those that became orphans since, whatever came over their entities, and were not taken, have them again. Who comes
/// after that has none of the orphans that there are then, unless the world goes back to him. What was taken does not come back: a
/// game that guesses takes orphans where it goes no further back, when it has [taken](crate::world::Checkpoints::take) what is
/// confirmed, or attaches another object to who lives again and has none ([`entity`](Self::entity) of its slot is not it). Going
/// back costs O(slots up to the last object + orphans) more. While hosts are not among the world's resources, they learn neither
/// of that nor of who goes; nothing is copied wrongly for it, but to and from [a copy](HostOf) that has the handle, too.
///
/// What the host has changed since, and [`from_host`](super::from_host) has copied, has gone back with the fragments, and is not
/// copied again: the object is as the host has left it, and who plays the ticks again makes that change again, by
/// [`get_mut`](Self::get_mut). What was not copied yet is copied by the next run.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::processor::translator::{HostOf, Hosts, from_host, to_host};
///
/// #[derive(Clone, Copy)]
/// struct Position(f32);
/// struct Sprite {
///     x: f32,
/// }
///
/// let mut world = World::new();
/// Hosts::<Sprite>::install(&mut world)?;
/// let ant = world.create((Position(1.0),))?;
/// let slot = Hosts::attach(&mut world, ant, Sprite { x: 0.0 })?;
///
/// let mut schedule = Schedule::new();
/// // Where an entity moved, or got another sprite.
/// type Stale = Or<(Changed<Position>, Changed<HostOf<Sprite>>)>;
/// schedule.add(to_host::<Sprite, &Position, Stale>("show", |sprite, position| sprite.x = position.0));
/// schedule.add(from_host::<Sprite, &mut Position, ()>("drag", |sprite, position| position.0 = sprite.x));
/// schedule.run(&mut world)?;
/// let sprites = world.resources_mut().get_mut::<Hosts<Sprite>>().unwrap();
/// assert_eq!(sprites.get(slot).unwrap().x, 1.0);
/// sprites.get_mut(slot).unwrap().x = 7.0;
/// schedule.run(&mut world)?;
/// assert_eq!(world.get::<Position>(ant)?.0, 7.0);
///
/// // At the end of each frame: what stood for entities that are gone is taken down.
/// world.destroy(ant)?;
/// let sprites = world.resources_mut().get_mut::<Hosts<Sprite>>().unwrap();
/// assert!(sprites.is_empty());
/// let orphans = sprites.take_orphans();
/// assert_eq!(orphans.iter().map(|sprite| sprite.x).collect::<Vec<_>>(), [7.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Source: Unreal Mass' translators between actors and fragments.
pub struct Hosts<H> {
    /// No other ones have it.
    identity: u64,
    slots: Pile<Slot<H>>,
    /// Slots that have no object; also some that had none once: see [`Slot::is_listed`].
    free: Vec<u32>,
    /// Slots with an object.
    taken: usize,
    /// Changes that the host has made.
    stamp: u64,
    /// For [`BLOCK`] slots each the stamp of the last change.
    blocks: Vec<u64>,
    /// Which slots are whose, since somebody's was looked for first: most hosts never do.
    owners: Option<BTreeSet<(Entity, u32)>>,
    orphans: Orphans<H>,
}

/// What stays with a world in which they were installed, wherever they go.
struct Watched<H> {
    /// Who notes the objects of entities that go, and those that come back.
    observer: Option<ObserverId>,
    object: Exactly<H>,
}

impl<H: Send + Sync + 'static> Attachment for Watched<H> {
    fn world_ends(&mut self) {}

    fn looks_again(&self) -> Option<fn(&mut World)> {
        Some(Hosts::<H>::look_again)
    }

    fn check(&self, _: &mut Found) -> Held {
        Held::default()
    }
}

impl<H: Send + Sync + 'static> Watched<H> {
    /// The world's.
    fn of(world: &mut World) -> &mut Self {
        let nobody = || Self {
            observer: None,
            object: PhantomData,
        };
        world.attached.get_or_attach(nobody);
        match world.attached.get_mut() {
            Some(watched) => watched,
            None => unreachable!("it was just attached"),
        }
    }
}

/// One of the changes that a host has made to its objects.
#[derive(Clone, Copy, Default)]
pub(super) struct HostChange {
    /// Of which hosts; of none at first.
    hosts: u64,
    stamp: u64,
}

struct Slot<H> {
    taken: Option<Taken<H>>,
    /// When the host has changed it last.
    stamp: u64,
    /// Whether it is among the free ones. It stays there when its object comes back.
    is_listed: bool,
}

/// An object that an entity stands for.
struct Taken<H> {
    entity: Entity,
    /// When it was given: see [`Given::serial`].
    serial: u64,
    object: H,
}

/// Slots that are passed by together if none of them was changed.
const BLOCK: usize = 64;

impl<H: Send + Sync + 'static> Hosts<H> {
    /// Puts an empty one into a world, if there is none. Objects of entities that go are noted from
    /// now on. One that was taken out of the resources of another world, and put into those of this
    /// one, is to be installed here, too. And [`HostOf`] can be cloned from now on, in all worlds of the universe: who stands for
    /// an object can be doubled, and be in a world that goes back.
    ///
    /// # Errors
    /// The universe can register no fragment more.
    pub fn install(world: &mut World) -> Result<(), QueryError> {
        world.registry().register_clone::<HostOf<H>>()?;
        if Watched::<H>::of(world).observer.is_none() {
            let observer = Self::watch(world)?;
            Watched::<H>::of(world).observer = Some(observer);
        }
        world.resources_mut().get_or_insert_with(Self::new);
        Ok(())
    }

    /// Notes the objects of entities that go. Who comes may be one who was told to go and stays after all: a change
    /// that is refused, or ends in the middle.
    fn watch(world: &mut World) -> Result<ObserverId, QueryError> {
        let changes = Observed::COME | Observed::GO;
        world.observe::<HostOf<H>, ()>(changes, |batch, _| {
            let comes = Observed::COME.contains(batch.change());
            let hosts = batch.resources().get::<Self>();
            if comes && hosts.is_none_or(|hosts| hosts.orphans.is_empty()) {
                return;
            }
            batch.with_resource(|batch, hosts: &mut Self| {
                let each = |(entity, host): (Entity, &HostOf<H>)| match comes {
                    true => hosts.take_back(entity, host.given),
                    false => hosts.orphan(entity, host.given),
                };
                let lent = batch.for_each::<(Entity, &HostOf<H>)>(each);
                debug_assert!(lent.is_ok(), "what is observed is there");
            });
        })
    }

    fn new() -> Self {
        Self {
            identity: new_identity(),
            slots: Pile::new(),
            free: Vec::new(),
            taken: 0,
            stamp: 0,
            blocks: Vec::new(),
            owners: None,
            orphans: Orphans::new(),
        }
    }

    /// Takes it out of a world, with all objects that entities stand for. The entities keep their [`HostOf`],
    /// which mean nothing then. Orphans are dropped.
    ///
    /// # Panics
    /// If the `drop` of an orphan panics. All orphans are gone then, and the rest is in the world as before: another
    /// call hands it back.
    pub fn uninstall(world: &mut World) -> Vec<(Entity, H)> {
        // While the others are where they were: a panic takes with it what is on its way out.
        if let Some(hosts) = world.resources_mut().get_mut::<Self>() {
            let mut panicked = None;
            end_all(&mut panicked, hosts.take_orphans());
            resume(panicked);
        }
        if let Some(observer) = Watched::<H>::of(world).observer.take() {
            world.unobserve(observer);
        }
        let Some(mut hosts) = world.resources_mut().remove::<Self>() else {
            return Vec::new();
        };
        let slots = core::mem::take(&mut hosts.slots).into_vec().into_iter();
        let taken = slots.filter_map(|slot| slot.taken);
        taken.map(|taken| (taken.entity, taken.object)).collect()
    }

    /// Gives an object to an entity, which stands for it from now on. Its slot. An object that the entity had before
    /// is an [orphan](Self::take_orphans) now. O(1), and the move of the entity.
    ///
    /// That is a change of the entity's [`HostOf`], and of nothing else: see [`to_host`](super::to_host).
    ///
    /// # Errors
    /// The handle is refused; memory is used up. The object is dropped.
    ///
    /// # Panics
    /// If it was not [installed](Self::install), or an observer has taken it out meanwhile: the object is dropped.
    pub fn attach(world: &mut World, entity: Entity, object: H) -> Result<u32, WorldError> {
        let object = Lone::new(object);
        let before = world.find_fragment::<HostOf<H>>(entity);
        let before = before.map(|host| host.given);
        let hosts = Self::of(world);
        let (identity, mut slot) = (hosts.identity, hosts.take_slot());
        let given = Given {
            slot,
            serial: new_identity(),
        };
        let host: HostOf<H> = HostOf {
            given,
            object: PhantomData,
        };
        let (mut added, mut panicked) = (None, None);
        note(&mut panicked, || added = Some(world.add(entity, (host,))));
        let is_this = |host: &HostOf<H>| host.given == given;
        let there = match &added {
            Some(added) => added.is_ok(),
            // The change is complete if it was an observer.
            None => world.find_fragment(entity).is_some_and(is_this),
        };
        let hosts = Self::of(world);
        // An observer may have put other hosts in their place, which know nothing of the slot.
        let same = hosts.identity == identity;
        if there {
            if !same {
                slot = hosts.take_slot();
            }
            if let Some(before) = before {
                hosts.orphan(entity, before);
            }
            let owner = Owner::new(entity, Given { slot, ..given });
            hosts.put(owner, object.into_inner());
            if !same && let Ok(host) = world.get_mut::<HostOf<H>>(entity) {
                host.given.slot = slot;
            }
            resume(panicked);
            return Ok(slot);
        }
        if same {
            hosts.release(slot);
        }
        resume(panicked);
        match added {
            Some(Err(error)) => Err(refused(object, error)),
            _ => unreachable!("it was added, or has panicked"),
        }
    }

    /// A slot without an object, for the caller.
    fn take_slot(&mut self) -> u32 {
        while let Some(slot) = self.free.pop() {
            let place = &mut self.slots[slot as usize];
            place.is_listed = false;
            // Else its object has come back.
            if place.taken.is_none() {
                return slot;
            }
        }
        self.slots.push(Slot {
            taken: None,
            stamp: 0,
            is_listed: false,
        });
        self.blocks.resize(self.slots.len().div_ceil(BLOCK), 0);
        self.slots.len() as u32 - 1
    }

    /// A slot has no object now.
    fn release(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        if !core::mem::replace(&mut place.is_listed, true) {
            self.free.push(slot);
        }
    }

    /// Puts an entity's object into its slot, which has none.
    fn put(&mut self, owner: Owner, object: H) {
        let (entity, slot) = (owner.entity, owner.own.slot);
        let place = &mut self.slots[slot as usize];
        place.taken = Some(Taken {
            entity,
            serial: owner.own.serial,
            object,
        });
        place.stamp = owner.stamp;
        self.taken += 1;
        if let Some(owners) = &mut self.owners {
            owners.insert((entity, slot));
        }
    }

    fn of(world: &mut World) -> &mut Self {
        match world.resources_mut().get_mut() {
            Some(hosts) => hosts,
            None => panic!(
                "Hosts<{}> was not installed in the world",
                core::any::type_name::<H>()
            ),
        }
    }

    /// The entity of an object is gone, which named one. It may not be its own: a copy, one that stood for an
    /// object of earlier hosts, or one that was exchanged with another; then its own is looked for.
    fn orphan(&mut self, entity: Entity, named: Given) {
        let is_own = |slot: &Slot<H>| (slot.taken.as_ref()).is_some_and(|it| it.entity == entity);
        let slot = match self.slots.get(named.slot as usize) {
            Some(place) if is_own(place) => named.slot,
            _ => match self.find(entity) {
                Some(own) => own,
                None => return,
            },
        };
        self.let_go(slot, Some(named));
    }

    /// The object of a slot is an orphan now, whose entity has named this, or it.
    fn let_go(&mut self, slot: u32, named: Option<Given>) {
        let place = &mut self.slots[slot as usize];
        let Some(taken) = place.taken.take() else {
            return;
        };
        let own = Given {
            slot,
            serial: taken.serial,
        };
        let owner = Owner {
            named: named.or(Some(own)),
            stamp: place.stamp,
            ..Owner::new(taken.entity, own)
        };
        self.orphans.push(owner, taken.object);
        self.release(slot);
        self.taken -= 1;
        if let Some(owners) = &mut self.owners {
            owners.remove(&(taken.entity, slot));
        }
    }

    /// An entity is there that names an object: it has its own again, if that is an orphan.
    fn take_back(&mut self, entity: Entity, named: Given) {
        let slots = &self.slots;
        let is_free = |slot: u32| slots[slot as usize].taken.is_none();
        if let Some((owner, object)) = self.orphans.take_back(entity, named, is_free) {
            self.put(owner, object);
        }
    }

    /// The world has gone back, of which no observer hears: each object is its own entity's if that names it now. First those of
    /// which that is not so any more leave their slots, which may be those of others. O(slots up to the last object + orphans).
    fn look_again(world: &mut World) {
        world.with_resource(|world, hosts: &mut Self| {
            let is_named = |entity: Entity, own: Given| {
                let host = world.find_fragment::<HostOf<H>>(entity);
                host.is_some_and(|host| host.given == own)
            };
            // Not to the last slot: there may have been many more objects once.
            let (mut slots, mut left) = (0.., hosts.taken);
            while left > 0
                && let Some(slot) = slots.next()
            {
                let Some(&Taken { entity, serial, .. }) = hosts.slots[slot as usize].taken.as_ref()
                else {
                    continue;
                };
                left -= 1;
                if !is_named(entity, Given { slot, serial }) {
                    hosts.let_go(slot, None);
                }
            }
            // Not by their slots: of one with several orphans, any may be the one.
            for at in (0..hosts.orphans.len()).rev() {
                let owner = hosts.orphans.owner(at);
                let is_free = hosts.slots[owner.own.slot as usize].taken.is_none();
                if is_free && is_named(owner.entity, owner.own) {
                    let (owner, object) = hosts.orphans.remove(at);
                    hosts.put(owner, object);
                }
            }
            hosts.orphans.forget_names();
        });
    }

    /// The first slot of an entity. Not by a walk over the slots: after other hosts have come, all entities of those
    /// before may go one by one.
    #[cold]
    fn find(&mut self, entity: Entity) -> Option<u32> {
        let slots = &self.slots;
        let owners = self.owners.get_or_insert_with(|| {
            let slots = (0..).zip(slots);
            slots
                .filter_map(|(at, slot)| Some((slot.taken.as_ref()?.entity, at)))
                .collect()
        });
        let mut own = owners.range((entity, 0)..=(entity, u32::MAX));
        own.next().map(|&(_, slot)| slot)
    }

    /// An object. O(1).
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<&H> {
        Some(&self.slots.get(slot as usize)?.taken.as_ref()?.object)
    }

    /// The entity that stands for an object. O(1).
    #[must_use]
    pub fn entity(&self, slot: u32) -> Option<Entity> {
        Some(self.slots.get(slot as usize)?.taken.as_ref()?.entity)
    }

    /// An object, for the host to change: [`from_host`](super::from_host) translators will copy it. O(1).
    #[must_use]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut H> {
        let place = self.slots.get_mut(slot as usize)?;
        let taken = place.taken.as_mut()?;
        self.stamp += 1;
        place.stamp = self.stamp;
        self.blocks[slot as usize / BLOCK] = self.stamp;
        Some(&mut taken.object)
    }

    /// The object of an entity that names one, if it is its own, for a translator, which changes it for the entity.
    pub(super) fn translated(&mut self, entity: Entity, named: Given) -> Option<&mut H> {
        let taken = self.slots.get_mut(named.slot as usize)?.taken.as_mut()?;
        let is_its = (taken.entity, taken.serial) == (entity, named.serial);
        is_its.then_some(&mut taken.object)
    }

    /// The host's last change.
    pub(super) fn last_change(&self) -> HostChange {
        HostChange {
            hosts: self.identity,
            stamp: self.stamp,
        }
    }

    /// The objects that the host has changed after that, with their entities, and what these name if they are still
    /// theirs: all that it ever has, if that was a change of other hosts. O(objects / 64 + changes).
    pub(super) fn changed_since(
        &self,
        last: HostChange,
    ) -> impl Iterator<Item = (Entity, Given, &H)> {
        let stamp = match last.hosts == self.identity {
            true => last.stamp,
            false => 0,
        };
        let blocks = self
            .blocks
            .iter()
            .zip(self.slots.chunks(BLOCK))
            .zip(0_u32..);
        let blocks = blocks.filter(move |((last, _), _)| **last > stamp);
        blocks.flat_map(move |((_, slots), block)| {
            let slots = slots.iter().zip(block * BLOCK as u32..);
            let slots = slots.filter(move |(slot, _)| slot.stamp > stamp);
            slots.filter_map(|(slot, at)| {
                let taken = slot.taken.as_ref()?;
                let given = Given {
                    slot: at,
                    serial: taken.serial,
                };
                Some((taken.entity, given, &taken.object))
            })
        })
    }

    /// All objects with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &H)> {
        let slots = self.slots.iter().zip(0..);
        slots.filter_map(|(slot, at)| Some((at, &slot.taken.as_ref()?.object)))
    }

    /// How many objects there are, orphans not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.taken
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects whose entities are gone, for the host to take down; they are kept until this is called. O(1), and
    /// O(those whose entities had exchanged theirs).
    ///
    /// What was taken does not come back with its entity. So not from an observer of who [goes](Observed::GO): of a change of
    /// many that is refused, it would take the objects of entities that stay.
    pub fn take_orphans(&mut self) -> Vec<H> {
        self.orphans.take()
    }
}

impl<H> fmt::Debug for Hosts<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts")
            .field("objects", &self.taken)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
