//! The components, as every peer wants them: archetype stores take any type, `bevy_ecs`, `flecs`,
//! `shipyard` and `specs` want a trait of their own.

use core::ops::Range;

use megachunk::cli::workload::ecs::{agents, values};

/// A matrix.
#[derive(
    Clone,
    Copy,
    bevy_ecs::prelude::Component,
    flecs_ecs::prelude::Component,
    shipyard::Component,
    serde::Deserialize,
    serde::Serialize,
)]
pub(super) struct Transform(pub(super) [f32; 16]);

/// A place.
#[derive(
    Clone,
    Copy,
    bevy_ecs::prelude::Component,
    flecs_ecs::prelude::Component,
    shipyard::Component,
    serde::Deserialize,
    serde::Serialize,
)]
pub(super) struct Position(pub(super) [f32; 3]);

/// A direction.
#[derive(
    Clone,
    Copy,
    bevy_ecs::prelude::Component,
    flecs_ecs::prelude::Component,
    shipyard::Component,
    serde::Deserialize,
    serde::Serialize,
)]
pub(super) struct Rotation(pub(super) [f32; 3]);

/// What a place changes by.
#[derive(
    Clone,
    Copy,
    bevy_ecs::prelude::Component,
    flecs_ecs::prelude::Component,
    shipyard::Component,
    serde::Deserialize,
    serde::Serialize,
)]
pub(super) struct Velocity(pub(super) [f32; 3]);

/// The only component of an entity to which another is added.
#[derive(
    Clone, Copy, bevy_ecs::prelude::Component, flecs_ecs::prelude::Component, shipyard::Component,
)]
#[expect(dead_code, reason = "a column that is only there")]
pub(super) struct Small(pub(super) f32);

/// What is added and removed.
#[derive(
    Clone, Copy, bevy_ecs::prelude::Component, flecs_ecs::prelude::Component, shipyard::Component,
)]
pub(super) struct Extra(pub(super) f32);

/// What entities of every kind have.
#[derive(
    Clone, Copy, bevy_ecs::prelude::Component, flecs_ecs::prelude::Component, shipyard::Component,
)]
pub(super) struct Data(pub(super) f32);

/// One of 26 kinds.
#[derive(Clone, Copy, bevy_ecs::prelude::Component, shipyard::Component)]
pub(super) struct Kind<const N: usize>(pub(super) f32);

/// A component for each letter of `schedule`.
macro_rules! letters {
    ($($name:ident)*) => {
        $(
            #[derive(
                Clone, Copy, bevy_ecs::prelude::Component, flecs_ecs::prelude::Component,
                shipyard::Component,
            )]
            pub(super) struct $name(pub(super) f32);

            impl specs::Component for $name {
                type Storage = specs::VecStorage<Self>;
            }

            impl $name {
                /// What everybody's begins with.
                pub(super) const FIRST: Self =
                    Self(values::letter(stringify!($name).as_bytes()[0] as char));
            }
        )*
    };
}

letters!(A B C D E);

/// What an agent of `update_mixed` has.
macro_rules! agents {
    ($($name:ident($of:ty))*) => {
        $(
            #[derive(
                Clone, Copy, bevy_ecs::prelude::Component, flecs_ecs::prelude::Component,
                shipyard::Component,
            )]
            pub(super) struct $name(pub(super) $of);

            impl specs::Component for $name {
                type Storage = specs::VecStorage<Self>;
            }
        )*
    };
}

agents!(Place([f32; 2]) Heading([f32; 2]) Mind(agents::Thoughts));

/// Agents that only walk.
pub(super) fn straight(count: u32) -> impl ExactSizeIterator<Item = (Place, Heading)> {
    (0..count).map(|number| (Place(agents::place(number)), Heading(agents::heading())))
}

/// Agents that walk, think and turn.
pub(super) fn bent(count: u32) -> impl ExactSizeIterator<Item = (Place, Heading, Mind)> {
    straight(count)
        .zip(still(count))
        .map(|((place, heading), (_, mind))| (place, heading, mind))
}

/// Agents that only think.
pub(super) fn still(count: u32) -> impl ExactSizeIterator<Item = (Place, Mind)> {
    (0..count).map(|number| (Place(agents::place(number)), Mind(agents::thoughts(number))))
}

/// What an entity of `heavy_compute` has.
pub(super) fn turned(number: u32) -> Body {
    let (_, position, rotation, velocity) = body(number);
    (
        Transform(values::quarter_turn()),
        position,
        rotation,
        velocity,
    )
}

impl specs::Component for Transform {
    type Storage = specs::VecStorage<Self>;
}

impl specs::Component for Position {
    type Storage = specs::VecStorage<Self>;
}

impl specs::Component for Rotation {
    type Storage = specs::VecStorage<Self>;
}

impl specs::Component for Velocity {
    type Storage = specs::VecStorage<Self>;
}

impl specs::Component for Small {
    type Storage = specs::VecStorage<Self>;
}

impl specs::Component for Extra {
    type Storage = specs::VecStorage<Self>;
}

impl specs::Component for Data {
    type Storage = specs::VecStorage<Self>;
}

impl<const N: usize> specs::Component for Kind<N> {
    // Few entities have it.
    type Storage = specs::DenseVecStorage<Self>;
}

/// The part of `all` that thread `at` of so many works on.
pub(super) fn part_of<T>(all: &[T], at: usize, threads: usize) -> &[T] {
    let part = all.len().div_ceil(threads).max(1);
    all.chunks(part).nth(at).unwrap_or(&[])
}

/// The same of numbers.
pub(super) fn numbers_of(all: &Range<u32>, at: usize, threads: usize) -> Range<u32> {
    let part = all.len().div_ceil(threads) as u32;
    let first = all.end.min(all.start + at as u32 * part);
    first..all.end.min(first + part)
}

/// What an ordinary entity has.
pub(super) type Body = (Transform, Position, Rotation, Velocity);

/// The entity `number`.
#[inline(always)]
pub(super) fn body(number: u32) -> Body {
    (
        Transform(values::transform()),
        Position(values::position(number)),
        Rotation(values::rotation()),
        Velocity(values::velocity()),
    )
}

/// The entities `numbers`.
#[inline(always)]
pub(super) fn bodies(numbers: Range<u32>) -> impl ExactSizeIterator<Item = Body> {
    numbers.map(body)
}

/// So many entities that only move.
pub(super) fn moving(count: u32) -> impl ExactSizeIterator<Item = (Position, Velocity)> {
    (0..count).map(|number| {
        (
            Position(values::position(number)),
            Velocity(values::velocity()),
        )
    })
}

/// So many entities of a kind.
pub(super) fn of_kind<const N: usize>(
    count: u32,
) -> impl ExactSizeIterator<Item = (Kind<N>, Data)> {
    (0..count).map(|_| (Kind(values::KIND), Data(values::DATA)))
}
