//! `WithRole`, `WithoutRole`: whether a chunk fragment or a shared one is there.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::archetype::Lists;
use crate::fragment::{FragmentRegistry, FragmentRole, NoFragment};
use crate::query::filter::asks_of_composition;
use crate::query::{Access, ChunkView, QueryError, QueryFilter, Requirements};

/// Entities that have a type in a [role](FragmentRole): `WithRole<Shared<T>>`, `WithRole<ConstShared<T>>`,
/// `WithRole<PerChunk<T>>`. Of a fragment or tag, that is [`With<T>`](crate::query::With).
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(PartialEq, Eq, Hash)]
/// struct Team(u8);
///
/// let mut world = World::new();
/// let red = world.create((1_u32,).shared(Team(1)))?;
/// let none = world.create((2_u32,))?;
/// let in_team = world.query::<Entity, WithRole<Shared<Team>>>()?.single();
/// assert_eq!(in_team, Some(red));
/// let in_none = world.query::<Entity, WithoutRole<Shared<Team>>>()?.single();
/// assert_eq!(in_none, Some(none));
/// assert_eq!(world.query::<Entity, With<Team>>()?.count(), 0, "nobody has a fragment of that type");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WithRole<R>(PhantomData<fn() -> R>, NoFragment, Infallible);

/// Entities that do not have a type in a [role](FragmentRole): see [`WithRole`]. Of a fragment or tag, that is
/// [`Without<T>`](crate::query::Without).
#[derive(Debug)]
pub struct WithoutRole<R>(PhantomData<fn() -> R>, NoFragment, Infallible);

asks_of_composition!(WithRole<R: FragmentRole>, |registry, requirements| {
    requirements.all(registry.register::<R>()?.id(), Access::None)
});
asks_of_composition!(WithoutRole<R: FragmentRole>, |registry, requirements| {
    requirements.none(registry.register::<R>()?.id())
});
