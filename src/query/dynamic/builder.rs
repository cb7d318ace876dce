//! `DynamicQueryBuilder`: requirements by fragments' numbers, checked when the query is built.

use std::sync::Arc;

use crate::fragment::{FragmentError, FragmentId, FragmentInfo, FragmentKind, FragmentSet};
use crate::query::dynamic::query::{DynamicQuery, Lend};
use crate::query::{Access, QueryError, Requirements, ResourceAccess, ResourceId};
use crate::world::World;

/// Fragments that one query can lend: a bit each.
pub(super) const LENDS: usize = 128;

/// Whether a fragment has to be there.
#[derive(Clone, Copy, Debug)]
enum Presence {
    /// It must be there.
    All,
    /// It must not be there, or be switched off.
    None,
    /// It may be there.
    Optional,
}

/// One requirement.
#[derive(Clone, Copy, Debug)]
struct Term {
    id: FragmentId,
    presence: Presence,
    access: Access,
}

/// A query in the making: what must be there, and what is lent, of fragments, tags, chunk fragments, shared
/// and const shared fragments alike. Nothing is checked before [`build`](Self::build).
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct DynamicQueryBuilder<'w> {
    world: &'w World,
    terms: Vec<Term>,
    any: Vec<FragmentSet>,
    switches: Vec<FragmentId>,
    changed: Vec<FragmentId>,
    changed_any: Vec<Box<[FragmentId]>>,
    moved: bool,
    resources: ResourceAccess,
}

impl<'w> DynamicQueryBuilder<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        Self {
            world,
            terms: Vec::new(),
            any: Vec::new(),
            switches: Vec::new(),
            changed: Vec::new(),
            changed_any: Vec::new(),
            moved: false,
            resources: ResourceAccess::default(),
        }
    }

    fn require(mut self, presence: Presence, id: FragmentId, access: Access) -> Self {
        self.terms.push(Term {
            id,
            presence,
            access,
        });
        self
    }

    /// The fragment must be there, and is lent to be read.
    pub fn read(self, id: FragmentId) -> Self {
        self.require(Presence::All, id, Access::Read)
    }

    /// The fragment must be there, and is lent to be written.
    pub fn write(self, id: FragmentId) -> Self {
        self.require(Presence::All, id, Access::Write)
    }

    /// The fragment or tag must be there, switched on.
    pub fn with(self, id: FragmentId) -> Self {
        self.require(Presence::All, id, Access::None)
    }

    /// The fragment or tag must not be there, or be switched off.
    pub fn without(self, id: FragmentId) -> Self {
        self.require(Presence::None, id, Access::None)
    }

    /// The fragment may be there, and is lent then. Where nothing has to be there, one of those that may be there must be.
    pub fn optional(self, id: FragmentId, access: Access) -> Self {
        self.require(Presence::Optional, id, access)
    }

    /// Of these one must be there at least, and switched on: each call asks for itself, as each
    /// [`Any`](crate::query::Any) of a typed query does. Of no fragments none is there. What is there of them is lent to who
    /// asks for it as [`optional`](Self::optional), too.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let registry = world.registry();
    /// let (armed, magic) = (registry.register::<u8>()?.id(), registry.register::<u16>()?.id());
    /// let (on_foot, mounted) = (registry.register::<u32>()?.id(), registry.register::<u64>()?.id());
    /// world.create((1_u8, 1_u32))?;
    /// world.create((1_u16, 1_u64))?;
    /// world.create((1_u8, 1_u16))?;
    /// let mut fighters = DynamicQuery::builder(&world)
    ///     .any(&[armed, magic])
    ///     .any(&[on_foot, mounted])
    ///     .build()?;
    /// assert_eq!(fighters.read(&world)?.count(), 2);
    /// let mut either = DynamicQuery::builder(&world)
    ///     .any(&[armed, magic, on_foot, mounted])
    ///     .build()?;
    /// assert_eq!(either.read(&world)?.count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn any(mut self, ids: &[FragmentId]) -> Self {
        self.any.push(ids.iter().copied().collect());
        self
    }

    /// The switch of the fragment or tag is lent, to look at it and to switch it off or on, as
    /// [`Enabled`](crate::query::Enabled) does: the fragment must be there, on or off, unless it is also asked for.
    /// [`DynamicChunk::switches`](crate::query::DynamicChunk::switches) lends it.
    ///
    /// The query does not see entities of compositions that were there before the fragment was registered as one that can be
    /// switched.
    pub fn switch(mut self, id: FragmentId) -> Self {
        self.switches.push(id);
        self
    }

    /// Only chunks where the fragment, which must be there, was lent for writing or got new values since
    /// the query ran last.
    pub fn changed(mut self, id: FragmentId) -> Self {
        self.changed.push(id);
        self
    }

    /// Only chunks where one of these fragments, of which one must be there at least, was lent for writing or got
    /// new values since the query ran last: as [`Or`](crate::query::Or) does. Each call asks for itself; of no
    /// fragments none has.
    pub fn changed_any(mut self, ids: &[FragmentId]) -> Self {
        self.changed_any.push(ids.into());
        self
    }

    /// Only chunks where entities came, went or changed rows since the query ran last.
    pub fn moved(mut self) -> Self {
        self.moved = true;
        self
    }

    /// A resource is read.
    pub fn read_resource<T: Send + Sync + 'static>(mut self) -> Self {
        self.resources.read(ResourceId::of::<T>());
        self
    }

    /// A resource is written.
    pub fn write_resource<T: Send + Sync + 'static>(mut self) -> Self {
        self.resources.write(ResourceId::of::<T>());
        self
    }

    /// A resource is read or written whose type is not known here, but its number: from
    /// [`ResourceId::of`], or a world's [`Resources::iter`](crate::world::Resources::iter).
    /// [`DynamicResources::read_any`](crate::query::DynamicResources::read_any) lends it. With [`Access::None`] nothing is
    /// asked.
    pub fn resource(mut self, id: ResourceId, access: Access) -> Self {
        match access {
            Access::None => {}
            Access::Read => self.resources.read(id),
            Access::Write => self.resources.write(id),
        }
        self
    }

    /// The query. O(requirements).
    ///
    /// The same is refused as for a typed [`Query`](crate::query::Query). A fragment may stand there twice, if it
    /// is not lent twice: to ask for what is lent, for example, changes nothing.
    ///
    /// # Errors
    /// * [`FragmentError::Unknown`] for a number that the world's registry did not give out;
    /// * [`QueryError::Contradiction`]: a fragment is excluded, and must be there;
    /// * [`QueryError::Conflict`]: a fragment or resource is lent twice, one of them to be written;
    /// * [`FragmentError::Twice`]: a fragment or resource is lent twice to be read, or a switch is lent twice;
    /// * [`QueryError::NotEnableable`]: a fragment is to be switched that cannot be switched off;
    /// * [`QueryError::NoValues`]: a tag is to be lent;
    /// * [`QueryError::ReadOnly`]: a shared fragment is to be written;
    /// * [`FragmentError::WrongKind`]: a fragment is asked for changes that has no column;
    /// * [`QueryError::TooMany`]: more than 128 fragments are to be lent.
    pub fn build(self) -> Result<DynamicQuery, QueryError> {
        let mut requirements = Requirements::new();
        let mut lends = Vec::new();
        for term in &self.terms {
            self.check(term)?;
            match term.presence {
                Presence::All => requirements.all(term.id, term.access),
                Presence::Optional => requirements.optional(term.id, term.access),
                Presence::None => requirements.none(term.id),
            }
            if term.access != Access::None {
                lends.push(Lend {
                    id: term.id,
                    write: term.access == Access::Write,
                });
            }
        }
        if lends.len() > LENDS {
            return Err(QueryError::TooMany { limit: LENDS });
        }
        for ids in &self.any {
            ids.iter().try_for_each(|id| self.info(id).map(drop))?;
            requirements.any(ids.clone());
        }
        for &id in &self.switches {
            self.check_switch(id)?;
            requirements.switch(id);
        }
        for &id in &self.changed {
            self.check_changes(id)?;
            requirements.watch(id);
        }
        for ids in &self.changed_any {
            ids.iter().try_for_each(|&id| self.check_changes(id))?;
            requirements.watch_one_of(ids.iter().copied().collect(), true);
        }
        if self.moved {
            requirements.watch_order();
        }
        let resources = self.resources.check();
        resources.map_err(|error| in_calls(error, "by `write_resource`"))?;
        *requirements.resources_mut() = self.resources;
        requirements.ask_for_optional();
        let checked = requirements.check(self.world.registry());
        checked.map_err(|error| {
            in_calls(error, "by `write`, or by `optional` with `Access::Write`")
        })?;
        Ok(DynamicQuery::new(
            Arc::clone(self.world.universe().shared_registry()),
            requirements,
            lends.into(),
            self.changed.into(),
            self.changed_any.into(),
            self.moved,
        ))
    }

    fn info(&self, id: FragmentId) -> Result<&'w FragmentInfo, QueryError> {
        let info = self.world.registry().get(id);
        info.ok_or(QueryError::Fragment(FragmentError::Unknown { id }))
    }

    /// Whether a fragment can be asked for changes.
    fn check_changes(&self, id: FragmentId) -> Result<(), QueryError> {
        let info = self.info(id)?;
        match info.kind() {
            FragmentKind::Fragment | FragmentKind::Tag => Ok(()),
            is => Err(QueryError::Fragment(FragmentError::WrongKind {
                name: info.name().into(),
                is,
                wanted: FragmentKind::Fragment,
            })),
        }
    }

    /// Whether a fragment can be switched.
    fn check_switch(&self, id: FragmentId) -> Result<(), QueryError> {
        let info = self.info(id)?;
        match info.is_enableable() {
            true => Ok(()),
            false => Err(QueryError::NotEnableable {
                name: info.name().into(),
            }),
        }
    }

    /// Whether a requirement makes sense alone.
    fn check(&self, term: &Term) -> Result<(), QueryError> {
        let info = self.info(term.id)?;
        let name = || info.name().into();
        match (info.kind(), term.access) {
            (_, Access::None) => Ok(()),
            (FragmentKind::Tag, _) => Err(QueryError::NoValues { name: name() }),
            (FragmentKind::Shared | FragmentKind::ConstShared, Access::Write) => {
                Err(QueryError::ReadOnly { name: name() })
            }
            _ => Ok(()),
        }
    }
}

/// A conflict in the words of a builder: nothing is taken "as" something here, but by a call.
fn in_calls(error: QueryError, once: &'static str) -> QueryError {
    match error {
        QueryError::Conflict { name, .. } => QueryError::Conflict { name, once },
        other => other,
    }
}
