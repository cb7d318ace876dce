//! Resources as parameters.

use super::sealed::Sealed;
use super::{Param, Plea};
use crate::processor::{ScheduleError, Turn};
use crate::query::{QueryError, QueryResources, ResourceAccess};
use crate::world::World;

/// Asks for a resource.
fn prepare<R: QueryResources>(plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
    let mut access = ResourceAccess::default();
    R::require(&mut access);
    if let Some(id) = plea.needs.resources.conflict_with(&access) {
        return Err(plea.aliased(id.name(), true));
    }
    R::require(&mut plea.needs.resources);
    Ok(())
}

macro_rules! resource {
    ($resource:ty) => {
        impl<T: Send + Sync + 'static> Sealed for $resource {}

        // What is missing of `T` is for the message of the trait to say: it need not have been meant as a resource.
        #[diagnostic::do_not_recommend]
        // SAFETY: says that the resource is lent.
        unsafe impl<T: Send + Sync + 'static> Param for $resource {
            type State = ();
            type Item<'w> = <Self as QueryResources>::Item<'w>;

            fn prepare_param(_: &mut World, plea: &mut Plea<'_>) -> Result<(), ScheduleError> {
                prepare::<Self>(plea)
            }

            fn missing_param(world: &mut World) -> Option<QueryError> {
                <Self as QueryResources>::missing(world.resources())
            }

            #[inline(always)]
            unsafe fn lend_param<'w>(
                (): &'w mut (),
                world: &'w World,
                _: Turn<'w>,
            ) -> Result<Self::Item<'w>, QueryError> {
                // SAFETY: the caller's.
                unsafe { <Self as QueryResources>::lend(world.resources()) }
            }
        }
    };
}

resource!(&T);
resource!(&mut T);
resource!(Option<&T>);
resource!(Option<&mut T>);
