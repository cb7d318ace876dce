//! `Seam`: every `EntityAllocator` is a contender.

use core::fmt;
use core::marker::PhantomData;
use std::io;

use super::{Abilities, IdContender, IdSession};
use crate::entity::{Entity, EntityAllocator, EntityIndex, Full, IndexOptions, Place};
use crate::sync::geometry::SLOTS;

/// How an [`EntityAllocator`] is made, and what it is then called.
pub trait Recipe: 'static {
    /// What is made.
    type Allocator: EntityAllocator + 'static;
    /// The name in tables.
    const NAME: &'static str;

    /// A fresh one.
    fn make() -> Self::Allocator;

    /// See [`IdContender::try_room`].
    ///
    /// # Errors
    /// What the system says.
    fn try_room() -> io::Result<()> {
        Self::Allocator::try_fresh().map(drop)
    }
}

/// As the allocator itself has it.
#[derive(Debug)]
pub struct Usual<A>(PhantomData<fn() -> A>);

impl<A: EntityAllocator + 'static> Recipe for Usual<A> {
    type Allocator = A;
    const NAME: &'static str = A::NAME;

    fn make() -> A {
        A::fresh()
    }
}

/// The product without huge pages: what they are worth, and what it does where there are none.
#[derive(Debug)]
pub struct SmallPages;

impl Recipe for SmallPages {
    type Allocator = EntityIndex;
    const NAME: &'static str = "bitmask_small_pages";

    fn make() -> EntityIndex {
        match IndexOptions::new().huge_pages(false).build() {
            Ok(index) => index,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The product as memory comes to a program that asks for nothing: mostly, pages of 4 KiB at the first touch.
#[derive(Debug)]
pub struct PlainPages;

impl Recipe for PlainPages {
    type Allocator = EntityIndex;
    const NAME: &'static str = "bitmask_plain_pages";

    fn make() -> EntityIndex {
        let options = IndexOptions::new().huge_pages(false).populate(false);
        match options.build() {
            Ok(index) => index,
            Err(error) => panic!("{error}"),
        }
    }
}

/// An [`EntityAllocator`] as a contender.
pub struct Seam<R: Recipe>(R::Allocator);

impl<R: Recipe> fmt::Debug for Seam<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seam").field(&R::NAME).finish()
    }
}

/// A thread's way to an [`EntityAllocator`]: a plain reference.
#[derive(Debug)]
pub struct SeamSession<'a, A>(&'a A);

impl<R: Recipe> IdContender for Seam<R> {
    type Id = Entity;
    type Session<'a> = SeamSession<'a, R::Allocator>;

    const NAME: &'static str = R::NAME;
    const ABILITIES: Abilities = Abilities {
        batches: true,
        exists: true,
        places: true,
        limit: Some(SLOTS as usize),
    };
    const COUNTED: bool = true;

    fn fresh() -> Self {
        Self(R::make())
    }

    fn try_room() -> io::Result<()> {
        R::try_room()
    }

    fn session(&self) -> SeamSession<'_, R::Allocator> {
        SeamSession(&self.0)
    }

    fn placeholder() -> Entity {
        Entity::PLACEHOLDER
    }

    #[inline(always)]
    fn to_bits(entity: Entity) -> u64 {
        entity.to_bits()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Entity {
        Entity::try_from_bits(bits).expect("the bits of an entity")
    }
}

impl<A: EntityAllocator> IdSession for SeamSession<'_, A> {
    type Id = Entity;

    #[inline(always)]
    fn create(&mut self) -> Entity {
        match self.0.create() {
            Ok(entity) => entity,
            Err(full) => refused(&full),
        }
    }

    #[inline(always)]
    fn destroy(&mut self, entity: Entity) -> bool {
        self.0.destroy(entity).is_ok()
    }

    #[inline(always)]
    fn create_slice(&mut self, out: &mut [Entity]) {
        if let Err(full) = self.0.create_slice(out) {
            refused(&full);
        }
    }

    #[inline(always)]
    fn destroy_slice(&mut self, entities: &[Entity]) -> usize {
        self.0.destroy_slice(entities).destroyed
    }

    #[inline(always)]
    fn exists(&mut self, entity: Entity) -> bool {
        self.0.exists(entity)
    }

    #[inline(always)]
    fn locate(&mut self, entity: Entity) -> Option<Place> {
        self.0.locate(entity).ok().flatten()
    }

    #[inline(always)]
    fn publish(&mut self, entity: Entity, place: Place) -> bool {
        self.0.publish(entity, place).is_ok()
    }

    fn flush(&mut self) {
        self.0.flush();
    }
}

#[cold]
#[inline(never)]
pub(super) fn refused(full: &Full) -> ! {
    panic!("{full}")
}
