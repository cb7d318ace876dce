//! `DynamicResources`: the resources of a query that was put together at run time.

use core::ptr::NonNull;

use crate::query::{QueryError, ResourceAccess, ResourceId};
use crate::world::Resources;

/// The resources that a [`DynamicQuery`](crate::query::DynamicQuery) asked for, lent beside its entities: each
/// to one writer, or to as many readers as like.
#[derive(Debug)]
pub struct DynamicResources<'q> {
    resources: &'q Resources,
    access: &'q ResourceAccess,
    read: Vec<ResourceId>,
    written: Vec<ResourceId>,
}

impl<'q> DynamicResources<'q> {
    /// The resources of a world.
    ///
    /// # Safety
    /// For `'q` nobody else has what `access` says in a way that conflicts, and no resource comes or goes.
    pub(super) unsafe fn new(resources: &'q Resources, access: &'q ResourceAccess) -> Self {
        Self {
            resources,
            access,
            read: Vec::new(),
            written: Vec::new(),
        }
    }

    /// A resource, to read. O(resources that the query asked for).
    ///
    /// # Errors
    /// [`QueryError::NotAsked`]; [`QueryError::NoResource`]; [`QueryError::Lent`] if it is lent to be written.
    pub fn read<T: Send + Sync + 'static>(&mut self) -> Result<&'q T, QueryError> {
        let id = ResourceId::of::<T>();
        if !self.access.reads().contains(&id) && !self.access.writes().contains(&id) {
            return Err(QueryError::NotAsked {
                name: id.name().into(),
            });
        }
        if self.written.contains(&id) {
            return Err(QueryError::Lent {
                name: id.name().into(),
            });
        }
        let value = self.find::<T>()?;
        self.read.push(id);
        // SAFETY: by the contract of `new`; nobody writes it, as `written` says.
        Ok(unsafe { value.as_ref() })
    }

    /// A resource, to write. O(resources that the query asked for).
    ///
    /// # Errors
    /// As for [`read`](Self::read); [`QueryError::ReadOnly`] if the query asked to read; [`QueryError::Lent`] if it
    /// is lent already, in either way.
    pub fn write<T: Send + Sync + 'static>(&mut self) -> Result<&'q mut T, QueryError> {
        let id = ResourceId::of::<T>();
        let name = || id.name().into();
        if !self.access.writes().contains(&id) {
            return Err(if self.access.reads().contains(&id) {
                QueryError::ReadOnly { name: name() }
            } else {
                QueryError::NotAsked { name: name() }
            });
        }
        if self.written.contains(&id) || self.read.contains(&id) {
            return Err(QueryError::Lent { name: name() });
        }
        let mut value = self.find::<T>()?;
        self.written.push(id);
        // SAFETY: by the contract of `new`; nobody else has it, as `read` and `written` say.
        Ok(unsafe { value.as_mut() })
    }

    fn find<T: Send + Sync + 'static>(&self) -> Result<NonNull<T>, QueryError> {
        let found = self.resources.find::<T>();
        found.ok_or_else(|| QueryError::NoResource {
            name: ResourceId::of::<T>().name().into(),
        })
    }
}
