//! `TakeBundle`: bundles whose values can leave the world again as what they were.

use core::ptr;

use crate::fragment::{Bundle, Fragment};

/// A bundle that can be taken from an entity, values and all: a tuple of 1 to 16 fragments, for
/// [`World::take`](crate::world::World::take).
///
/// Sealed, as [`Bundle`] is.
///
/// # Safety
/// [`read`](Self::read) moves exactly the values out that [`Bundle::ids`] names, each from its
/// column, and does not panic.
#[diagnostic::on_unimplemented(
    message = "the values of `{Self}` cannot be taken from an entity",
    note = "what can be taken is a tuple of 1 to 16 fragments, without shared values or those of chunks; a single one \
            is `(fragment,)`"
)]
pub unsafe trait TakeBundle: Bundle {
    /// Moves the values out of row `row` of the columns, which stand in the order of the tuple.
    ///
    /// # Safety
    /// `columns` points to [`LEN`](Bundle::LEN) columns of the right types; each has a row `row` with
    /// a value, which is neither used nor dropped any more.
    #[doc(hidden)]
    unsafe fn read(columns: *const *mut u8, row: usize) -> Self;

    /// What is said of the first fragment of which something is said, in the order of the tuple.
    #[doc(hidden)]
    fn first<A: AboutFragment>(about: &A) -> Option<A::Said>;
}

/// Says something of types of fragments.
#[doc(hidden)]
pub trait AboutFragment {
    /// What it says.
    type Said;

    /// What there is to be said of a type.
    fn say<T: Fragment>(&self) -> Option<Self::Said>;
}

/// Moves a value out of row `row` of column `at`.
///
/// # Safety
/// As for [`TakeBundle::read`]. The column of a value of size zero need not be aligned to its type.
#[inline(always)]
unsafe fn read_value<T>(columns: *const *mut u8, at: usize, row: usize) -> T {
    let from: *const T = if size_of::<T>() == 0 {
        ptr::dangling()
    } else {
        // SAFETY: the caller's.
        unsafe { (*columns.add(at)).cast::<T>().add(row) }
    };
    // SAFETY: the caller's; what has no size lies anywhere.
    unsafe { from.read() }
}

macro_rules! take {
    ($($type:ident $at:tt),*) => {
        // SAFETY: the types in the order of `ids`, one column each.
        unsafe impl<$($type: Fragment),*> TakeBundle for ($($type,)*) {
            #[inline(always)]
            unsafe fn read(columns: *const *mut u8, row: usize) -> Self {
                // SAFETY: the caller's: that many columns, of these types, with such a row.
                ($(unsafe { read_value::<$type>(columns, $at, row) },)*)
            }

            fn first<About: AboutFragment>(about: &About) -> Option<About::Said> {
                None$(.or_else(|| about.say::<$type>()))*
            }
        }
    };
}

take!(A 0);
take!(A 0, B 1);
take!(A 0, B 1, C 2);
take!(A 0, B 1, C 2, D 3);
take!(A 0, B 1, C 2, D 3, E 4);
take!(A 0, B 1, C 2, D 3, E 4, F 5);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
take!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
