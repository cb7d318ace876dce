//! `AskedQueries`: the queries that a world has been asked for one run each, by their types, with the archetypes that
//! they found.
//!
//! State: lists of queries, each type in one of them, once; they are added on `&self` and stay until the world is
//! trimmed. Each is [refreshed](Refreshed) for the world's compositions by who asks first after a new one came.
//!
//! Must hold: what a query of this list knows is of the world that has the list, and of its present
//! [`composition_version`](World::composition_version) if it is lent. That changes only on `&mut World`, so not while anything is lent.

use core::any::TypeId;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::hashers::TypeHasher;
use crate::query::{Query, QueryData, QueryError, QueryFilter};
use crate::sync::refreshed::Refreshed;
use crate::sync::roster::Roster;
use crate::world::World;

/// What a world has been asked.
#[derive(Default)]
pub(crate) struct AskedQueries([Roster<Asked>; LISTS]);

/// A program has some tens of types of queries: a list has a few.
const LISTS: usize = 16;

/// A `Refreshed<Query<D, F>>`, and the type of `(D, F)`.
struct Asked {
    of: TypeId,
    query: NonNull<()>,
    end: unsafe fn(NonNull<()>),
}

// SAFETY: a query is `Send + Sync`, as `Asked::new` asks the compiler.
unsafe impl Send for Asked {}
// SAFETY: as above.
unsafe impl Sync for Asked {}

/// The type of a query, whatever lifetimes it names: implementations cannot tell them apart, and what a query keeps of
/// `D` and `F` is `'static`.
fn type_of<D: QueryData, F: QueryFilter>() -> TypeId {
    trait Typed {
        fn type_id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Typed for PhantomData<T> {
        fn type_id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let of = PhantomData::<(D, F)>;
    let of: &dyn Typed = &of;
    // SAFETY: only the lifetime of the trait object changes. It is used for one call that takes the address of nothing
    // and gives a number, for which lifetimes are the same.
    let of = unsafe { core::mem::transmute::<&dyn Typed, &(dyn Typed + 'static)>(of) };
    of.type_id()
}

impl Asked {
    fn new<D: QueryData, F: QueryFilter>(query: Query<D, F>) -> Self {
        fn is_for_all_threads<T: Send + Sync>(_: &T) {}
        /// # Safety
        /// It is from `new` with the same types, and is not used any more.
        unsafe fn end<D: QueryData, F: QueryFilter>(query: NonNull<()>) {
            let query = query.cast::<Refreshed<Query<D, F>>>();
            // SAFETY: from `Box::leak`, by the caller's word.
            drop(unsafe { Box::from_raw(query.as_ptr()) });
        }

        let query = Refreshed::new(query);
        is_for_all_threads(&query);
        Self {
            of: type_of::<D, F>(),
            query: NonNull::from(Box::leak(Box::new(query))).cast(),
            end: end::<D, F>,
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // SAFETY: it is this type's, and gone with this.
        unsafe { (self.end)(self.query) };
    }
}

impl AskedQueries {
    /// The query of these types, which knows all archetypes of `world`, to which this belongs; `None` while another
    /// thread looks for those that have come. Lock-free; O(1) for programs with some tens of types of queries.
    ///
    /// # Errors
    /// As for [`Query::new`].
    #[inline]
    pub(super) fn get<D: QueryData, F: QueryFilter>(
        &self,
        world: &World,
    ) -> Result<Option<&Query<D, F>>, QueryError> {
        let of = type_of::<D, F>();
        let mut hasher = TypeHasher::default();
        of.hash(&mut hasher);
        let list = &self.0[hasher.finish() as usize % LISTS];
        let make = || Query::<D, F>::new(world).map(Asked::new);
        let (_, asked) = list.find_or_add(|asked| asked.of == of, make)?;
        // SAFETY: it is of this type, but for lifetimes: `Asked::new` was asked for the same.
        let query = unsafe { asked.query.cast::<Refreshed<Query<D, F>>>().as_ref() };
        // SAFETY: the number changes on `&mut World` only, which comes after what is lent by `&self`, a part of it.
        let query = unsafe { query.get(world.composition_version(), |query| query.update(world)) };
        debug_assert!(query.is_none_or(|query| query.knows(world)));
        Ok(query)
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl fmt::Debug for AskedQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.0.iter().map(Roster::len).sum::<usize>();
        f.debug_struct("AskedQueries")
            .field("types", &types)
            .finish_non_exhaustive()
    }
}
