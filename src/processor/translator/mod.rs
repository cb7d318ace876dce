//! Translators: they copy between fragments and the objects of a host, one way or the other.
//!
//! | translator | phase and group | copies |
//! |---|---|---|
//! | [`from_host`] | `PrePhysics`, [`FROM_HOST`] | the objects that the host has changed |
//! | [`to_host`] | `PostPhysics`, [`TO_HOST`] | chunks that its filter lets through: with [`Changed<T>`](crate::query::Changed) those whose `T` was written, with `Changed<HostOf<H>>` those where an object came |
//!
//! One object can have several of both. What one way has written, the other way may copy back once, with the same
//! value.

mod hosts;
mod orphans;

pub use hosts::{HostOf, Hosts};

use core::marker::PhantomData;

use crate::entity::Entity;
use crate::exactly::Exactly;
use crate::processor::{Param, Phase, Processor, ProcessorBuilder};
use crate::query::{QueryData, QueryFilter, QueryLookup, QueryRun, ReadOnly};

use hosts::HostChange;

/// The group of translators that bring the host's changes into the world. It has the name that Unreal Mass gives it, in
/// which "world" is the host and "Mass" the world.
#[doc(alias = "SyncWorldToMass")]
pub const FROM_HOST: &str = "SyncWorldToMass";
/// The group of translators that bring the world's changes to the host. Its name is that of Unreal Mass, as that of
/// [`FROM_HOST`].
#[doc(alias = "UpdateWorldFromMass")]
pub const TO_HOST: &str = "UpdateWorldFromMass";

/// A processor that copies from fragments to objects, in the group [`TO_HOST`]: of entities with a
/// [`HostOf<H>`] that match. It is passed by, as by a [condition](ProcessorBuilder::run_if), while there is no
/// [`Hosts<H>`].
///
/// An object is copied to when `F` lets its entity's chunk through, also the first time. To give an entity an
/// [object](Hosts::attach) is a change of its [`HostOf<H>`] alone: of a filter for changes that is to be a part,
/// `Or<(Changed<T>, Changed<HostOf<H>>)>`. Else one that takes another's place stays as it is until `T` is written.
#[track_caller]
pub fn to_host<H, D, F>(
    name: impl Into<String>,
    copy: impl FnMut(&mut H, D::Item<'_>) + Send + 'static,
) -> ProcessorBuilder
where
    H: Send + Sync + 'static,
    D: ReadOnly + 'static,
    F: QueryFilter + 'static,
{
    let translator = ToHost::<H, D, F, _> {
        copy,
        of: PhantomData,
    };
    ProcessorBuilder::of(name, translator).run_if(has_hosts::<H>)
}

/// A processor that copies from the objects that the host has changed to fragments, in the group
/// [`FROM_HOST`]: of those entities that match, and whose [`HostOf<H>`] names the object. That one is read for it, so `D` does not
/// write it. It is passed by while there is no [`Hosts<H>`].
///
/// Each change is copied once, also where the world [goes back](crate::world::Checkpoints) to before it: see [`Hosts`]. What `D`
/// lends to be written has changed then for [filters](crate::query::Changed); where nothing is copied, nothing has changed.
#[track_caller]
pub fn from_host<H, D, F>(
    name: impl Into<String>,
    copy: impl FnMut(&H, D::Item<'_>) + Send + 'static,
) -> ProcessorBuilder
where
    H: Send + Sync + 'static,
    D: QueryData + 'static,
    F: QueryFilter + 'static,
{
    let translator = FromHost::<H, D, F, _> {
        copy,
        seen: HostChange::default(),
        of: PhantomData,
    };
    ProcessorBuilder::of(name, translator).run_if(has_hosts::<H>)
}

/// A condition, and not asked in the run: a run counts, and what has changed since would be lost.
fn has_hosts<H: Send + Sync + 'static>(hosts: Option<&Hosts<H>>) -> bool {
    hosts.is_some()
}

struct ToHost<H, D, F, C> {
    copy: C,
    /// What it copies between.
    of: Exactly<(H, D, F)>,
}

impl<H, D, F, C> Processor for ToHost<H, D, F, C>
where
    H: Send + Sync + 'static,
    D: ReadOnly + 'static,
    F: QueryFilter + 'static,
    C: FnMut(&mut H, D::Item<'_>) + Send + 'static,
{
    type Params = (
        QueryRun<'static, (Entity, &'static HostOf<H>, D), F>,
        &'static mut Hosts<H>,
    );
    type Output = ();

    fn place(&self, processor: ProcessorBuilder) -> ProcessorBuilder {
        processor.phase(Phase::PostPhysics).group(TO_HOST)
    }

    fn execute(&mut self, (mut entities, hosts): <Self::Params as Param>::Item<'_>) {
        entities.for_each(|(entity, host, item)| {
            if let Some(object) = hosts.translated(entity, host.given()) {
                (self.copy)(object, item);
            }
        });
    }
}

struct FromHost<H, D, F, C> {
    copy: C,
    /// The last change that it has copied.
    seen: HostChange,
    /// What it copies between.
    of: Exactly<(H, D, F)>,
}

impl<H, D, F, C> Processor for FromHost<H, D, F, C>
where
    H: Send + Sync + 'static,
    D: QueryData + 'static,
    F: QueryFilter + 'static,
    C: FnMut(&H, D::Item<'_>) + Send + 'static,
{
    type Params = (
        QueryLookup<'static, (&'static HostOf<H>, D), F>,
        &'static Hosts<H>,
    );
    type Output = ();

    fn place(&self, processor: ProcessorBuilder) -> ProcessorBuilder {
        processor.phase(Phase::PrePhysics).group(FROM_HOST)
    }

    fn execute(&mut self, (mut entities, hosts): <Self::Params as Param>::Item<'_>) {
        for (entity, given, object) in hosts.changed_since(self.seen) {
            // The handle alone says nothing: two may have exchanged what they have, and in a world that has gone back, while
            // the hosts were out of it, it may be another's.
            // What is lent has changed: so it is asked before.
            let names_it = |host: &HostOf<H>| host.given() == given;
            if let Some(item) = entities.get_mut_if(entity, names_it) {
                (self.copy)(object, item);
            }
        }
        self.seen = hosts.last_change();
    }
}
