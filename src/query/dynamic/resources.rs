//! `DynamicResources`: the resources of a query that was put together at run time.

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
        let id = ResourceId::of::<T>();
        let value = match self.position(id) {
            Some(at) => match self.lent(at) {
                Some(lent) if lent.to_be_written => return Err(is_lent(id)),
                Some(_) => self.find::<T>()?,
                None => self.lend::<T>(at, false)?,
            },
            None if self.access.reads().contains(&id) => self.find::<T>()?,
            None => return Err(not_asked(id)),
        };
        // SAFETY: by the contract of `new`; nobody writes it, as `lent` says.
        Ok(unsafe { value.as_ref() })
    }

    /// A resource, to write. O(resources that the query asked for).
    ///
    /// # Errors
    /// As for [`read`](Self::read); [`QueryError::ReadOnly`] if the query asked to read; [`QueryError::Lent`] if it
    /// is lent already, in either way.
    pub fn write<T: Send + Sync + 'static>(&mut self) -> Result<&'q mut T, QueryError> {
        let id = ResourceId::of::<T>();
        let mut value = match self.position(id) {
            Some(at) if self.lent(at).is_some() => return Err(is_lent(id)),
            Some(at) => self.lend::<T>(at, true)?,
            None if self.access.reads().contains(&id) => {
                let name = id.name().into();
                return Err(QueryError::ReadOnly { name });
            }
            None => return Err(not_asked(id)),
        };
        // SAFETY: by the contract of `new`; nobody else has it, as `lent` says.
        Ok(unsafe { value.as_mut() })
    }

    /// Which of those that may be written it is.
    fn position(&self, id: ResourceId) -> Option<usize> {
        self.access.writes().iter().position(|&other| other == id)
    }

    fn lent(&self, at: usize) -> Option<Lent> {
        self.lent.iter().copied().find(|lent| lent.at == at)
    }

    /// Finds one that may be written, and notes that it is lent.
    fn lend<T: Send + Sync + 'static>(
        &mut self,
        at: usize,
        to_be_written: bool,
    ) -> Result<NonNull<T>, QueryError> {
        let value = match to_be_written {
            true => Self::found(self.resources.find_to_write())?,
            false => self.find::<T>()?,
        };
        self.lent.push(Lent { at, to_be_written });
        Ok(value)
    }

    fn find<T: Send + Sync + 'static>(&self) -> Result<NonNull<T>, QueryError> {
        Self::found(self.resources.find())
    }

    fn found<T: Send + Sync + 'static>(
        found: Option<NonNull<T>>,
    ) -> Result<NonNull<T>, QueryError> {
        found.ok_or_else(|| QueryError::NoResource {
            name: ResourceId::of::<T>().name().into(),
        })
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
