//! `DynamicResources`: the resources of a query that was put together at run time.

use core::any::Any;
use core::ptr::NonNull;

use smallvec::SmallVec;

use crate::query::{QueryError, ResourceAccess, ResourceId};
use crate::world::Resources;

/// The resources that a [`DynamicQuery`](crate::query::DynamicQuery) asked for, lent beside its entities: each
/// to one writer, or to as many readers as like. Those of all queries of a
/// [processor](crate::processor::DynamicParams::resources) are lent together.
#[derive(Debug)]
pub struct DynamicResources<'q> {
    resources: &'q Resources,
    access: &'q ResourceAccess,
    /// What is lent of those that may be written, by their positions; each once. (The others need no account: they are lent
    /// to readers alone.)
    lent: SmallVec<[Lent; 8]>,
}

/// A resource that may be written and is lent.
#[derive(Clone, Copy, Debug)]
struct Lent {
    at: usize,
    to_be_written: bool,
}

impl<'q> DynamicResources<'q> {
    /// The resources of a world.
    ///
    /// # Safety
    /// For `'q` nobody else has what `access` says in a way that conflicts, and no resource comes or goes.
    pub(crate) unsafe fn new(resources: &'q Resources, access: &'q ResourceAccess) -> Self {
        Self {
            resources,
            access,
            lent: SmallVec::new(),
        }
    }

    /// A resource, to read. O(resources that the query asked for).
    ///
    /// # Errors
    /// [`QueryError::NotAsked`]; [`QueryError::NoResource`]; [`QueryError::Lent`] if it is lent to be written.
    pub fn read<T: Send + Sync + 'static>(&mut self) -> Result<&'q T, QueryError> {
        let value = self.lend_to_read(ResourceId::of::<T>(), Resources::find::<T>)?;
        // SAFETY: by the contract of `new`; nobody writes it, as `lent` says.
        Ok(unsafe { value.as_ref() })
    }

    /// A resource, to write. O(resources that the query asked for).
    ///
    /// # Errors
    /// As for [`read`](Self::read); [`QueryError::ReadOnly`] if the query asked to read; [`QueryError::Lent`] if it
    /// is lent already, in either way.
    pub fn write<T: Send + Sync + 'static>(&mut self) -> Result<&'q mut T, QueryError> {
        let mut value = self.lend_to_write(ResourceId::of::<T>(), Resources::find_to_write::<T>)?;
        // SAFETY: by the contract of `new`; nobody else has it, as `lent` says.
        Ok(unsafe { value.as_mut() })
    }

    /// A resource whose type is not known here, to read: who knows it casts it. O(resources that the query asked for).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::query::Access;
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(7_u32);
    /// // What a host's table knows of all that there is, by names.
    /// let all = world.resources().iter();
    /// let found = all.map(|(id, _)| id).find(|id| id.name() == "u32").unwrap();
    ///
    /// let mut query = DynamicQuery::builder(&world).resource(found, Access::Write).build()?;
    /// let (_, mut resources) = query.with_resources(&mut world)?;
    /// assert!(resources.read_any(found)?.is::<u32>());
    /// let (_, mut resources) = query.with_resources(&mut world)?;
    /// if let Some(number) = resources.write_any(found)?.downcast_mut::<u32>() {
    ///     *number += 1;
    /// }
    /// assert_eq!(world.resources().get::<u32>(), Some(&8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_any(&mut self, id: ResourceId) -> Result<&'q (dyn Any + Send + Sync), QueryError> {
        let value = self.lend_to_read(id, |resources| resources.find_any(id))?;
        // SAFETY: as in `read`.
        Ok(unsafe { value.as_ref() })
    }

    /// A resource whose type is not known here, to write: as [`read_any`](Self::read_any).
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_any(
        &mut self,
        id: ResourceId,
    ) -> Result<&'q mut (dyn Any + Send + Sync), QueryError> {
        let mut value = self.lend_to_write(id, |resources| resources.find_any_to_write(id))?;
        // SAFETY: as in `write`.
        Ok(unsafe { value.as_mut() })
    }

    /// Finds a resource that may be read now, and notes that it is lent, where that matters.
    #[inline]
    fn lend_to_read<T: ?Sized>(
        &mut self,
        id: ResourceId,
        find: impl FnOnce(&Resources) -> Option<NonNull<T>>,
    ) -> Result<NonNull<T>, QueryError> {
        let found = || find(self.resources).ok_or_else(|| none_there(id));
        match self.position(id) {
            Some(at) => match self.lent(at) {
                Some(lent) if lent.to_be_written => Err(is_lent(id)),
                Some(_) => found(),
                None => {
                    let value = found()?;
                    self.lent.push(Lent {
                        at,
                        to_be_written: false,
                    });
                    Ok(value)
                }
            },
            None if self.access.reads().contains(&id) => found(),
            None => Err(not_asked(id)),
        }
    }

    /// Finds a resource that may be written now, and notes that it is lent.
    #[inline]
    fn lend_to_write<T: ?Sized>(
        &mut self,
        id: ResourceId,
        find: impl FnOnce(&Resources) -> Option<NonNull<T>>,
    ) -> Result<NonNull<T>, QueryError> {
        match self.position(id) {
            Some(at) if self.lent(at).is_some() => Err(is_lent(id)),
            Some(at) => {
                let value = find(self.resources).ok_or_else(|| none_there(id))?;
                self.lent.push(Lent {
                    at,
                    to_be_written: true,
                });
                Ok(value)
            }
            None if self.access.reads().contains(&id) => {
                let name = id.name().into();
                Err(QueryError::ReadOnly { name })
            }
            None => Err(not_asked(id)),
        }
    }

    /// Which of those that may be written it is.
    fn position(&self, id: ResourceId) -> Option<usize> {
        self.access.writes().iter().position(|&other| other == id)
    }

    fn lent(&self, at: usize) -> Option<Lent> {
        self.lent.iter().copied().find(|lent| lent.at == at)
    }
}

#[cold]
fn none_there(id: ResourceId) -> QueryError {
    QueryError::NoResource {
        name: id.name().into(),
    }
}

#[cold]
fn not_asked(id: ResourceId) -> QueryError {
    QueryError::NotAsked {
        name: id.name().into(),
    }
}

#[cold]
fn is_lent(id: ResourceId) -> QueryError {
    QueryError::Lent {
        name: id.name().into(),
    }
}
