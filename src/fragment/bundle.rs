//! `Bundle`: the fragments of one entity, as a tuple.

use crate::fragment::{Fragment, FragmentError, FragmentId, FragmentRegistry};

/// Fragments and tags that are put into an entity together: a tuple of up to 16 values.
///
/// A single fragment is the tuple `(fragment,)`. The order does not matter. No type may stand there
/// twice: the call that takes the bundle says so.
///
/// # Safety
/// `ids` gives one fragment for each value, in order, with the layout of that value; `write` writes
/// exactly those, each to its column, and drops none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle of fragments",
    note = "a bundle is a tuple of 1 to 16 fragments; a single one is `(fragment,)`"
)]
pub unsafe trait Bundle: Send + Sync + Sized + 'static {
    /// How many values it holds.
    const LEN: usize;

    /// The fragments in the order of the tuple, appended to `ids`.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    fn ids(registry: &FragmentRegistry, ids: &mut Vec<FragmentId>) -> Result<(), FragmentError>;

    /// Moves the values to row `row` of the columns, which stand in the order of the tuple.
    ///
    /// # Safety
    /// `columns` points to [`LEN`](Self::LEN) columns of the right types; each has a row `row`, which
    /// holds no value.
    unsafe fn write(self, columns: *const *mut u8, row: usize);
}

macro_rules! bundle {
    ($count:literal: $($type:ident $at:tt),*) => {
        // SAFETY: `ids` and `write` go through the same types in the same order.
        unsafe impl<$($type: Fragment),*> Bundle for ($($type,)*) {
            const LEN: usize = $count;

            fn ids(
                registry: &FragmentRegistry,
                ids: &mut Vec<FragmentId>,
            ) -> Result<(), FragmentError> {
                $(ids.push(registry.register::<$type>()?.id());)*
                let _ = (registry, ids);
                Ok(())
            }

            #[inline(always)]
            unsafe fn write(self, columns: *const *mut u8, row: usize) {
                // SAFETY: the caller's: that many columns, of these types, with such a row.
                $(unsafe { (*columns.add($at)).cast::<$type>().add(row).write(self.$at) };)*
                let _ = (columns, row);
            }
        }
    };
}

bundle!(0:);
bundle!(1: A 0);
bundle!(2: A 0, B 1);
bundle!(3: A 0, B 1, C 2);
bundle!(4: A 0, B 1, C 2, D 3);
bundle!(5: A 0, B 1, C 2, D 3, E 4);
bundle!(6: A 0, B 1, C 2, D 3, E 4, F 5);
bundle!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
bundle!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
bundle!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
bundle!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
bundle!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
bundle!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
bundle!(13: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
bundle!(14: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
bundle!(15: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
bundle!(16: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
