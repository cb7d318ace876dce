//! Tuples: each part is lent as by itself.

use crate::archetype::{Lists, Walk};
use crate::fragment::FragmentRegistry;
use crate::query::data::{QueryData, ReadOnly, Sealed};
use crate::query::{ChunkView, QueryError, Requirements};

/// Hands on one part after the other, then all that are done.
macro_rules! alone {
    ($slices:ident $then:ident [$($done:ident)*]) => {
        $then(($($done,)*))
    };
    ($slices:ident $then:ident [$($done:ident)*] $data:ident $at:tt $(, $rest:ident $rest_at:tt)*) => {
        $data::alone($slices.$at, |slice| alone!($slices $then [$($done)* slice] $($rest $rest_at),*))
    };
}

macro_rules! tuple {
    ($($data:ident $at:tt),*) => {
        impl<$($data: QueryData),*> Sealed for ($($data,)*) {}

        // SAFETY: each part says what it lends, and lends that; conflicts between parts are found when the
        // query is built.
        unsafe impl<$($data: QueryData),*> QueryData for ($($data,)*) {
            type Item<'w> = ($($data::Item<'w>,)*);
            type Slices<'w> = ($($data::Slices<'w>,)*);
            type Ids = ($($data::Ids,)*);
            type Cursors<'a> = ($($data::Cursors<'a>,)*);
            type Columns = ($($data::Columns,)*);
            type Fetch<'w> = ($($data::Fetch<'w>,)*);
            type Kept = ($($data::Kept,)*);
            const NOTHING: Self::Kept = ($($data::NOTHING,)*);
            const IN_FOURS: bool = false $(|| $data::IN_FOURS)*;
            const IN_EIGHTS: bool = true $(&& $data::IN_EIGHTS)*;

            fn require(
                registry: &FragmentRegistry,
                requirements: &mut Requirements,
            ) -> Result<Self::Ids, QueryError> {
                Ok(($($data::require(registry, requirements)?,)*))
            }

            fn cursors<'a>(ids: &Self::Ids, lists: Lists<'a>) -> Self::Cursors<'a> {
                ($($data::cursors(&ids.$at, lists),)*)
            }

            #[inline(always)]
            fn columns(cursors: &mut Self::Cursors<'_>, archetype: u32) -> Option<Self::Columns> {
                Some(($($data::columns(&mut cursors.$at, archetype)?,)*))
            }

            #[inline(always)]
            unsafe fn take_columns(cursors: &mut Self::Cursors<'_>) -> Self::Columns {
                // SAFETY: the caller's.
                ($(unsafe { $data::take_columns(&mut cursors.$at) },)*)
            }

            #[inline(always)]
            fn ahead(columns: Self::Columns, chunk: ChunkView<'_>) {
                $($data::ahead(columns.$at, chunk);)*
            }

            #[inline(always)]
            fn expect(fetch: Self::Fetch<'_>) {
                $($data::expect(fetch.$at);)*
            }

            #[inline(always)]
            fn place<'w>(columns: Self::Columns, chunk: ChunkView<'w>) -> Self::Fetch<'w> {
                ($($data::place(columns.$at, chunk),)*)
            }

            #[inline(always)]
            fn touch(columns: Self::Columns, chunk: ChunkView<'_>) {
                $($data::touch(columns.$at, chunk);)*
            }

            #[inline(always)]
            fn keep(
                fetch: Self::Fetch<'_>,
                columns: Self::Columns,
                chunk: ChunkView<'_>,
            ) -> Self::Kept {
                ($($data::keep(fetch.$at, columns.$at, chunk),)*)
            }

            #[inline(always)]
            unsafe fn note(kept: Self::Kept, version: u32) {
                // SAFETY: the caller's.
                $(unsafe { $data::note(kept.$at, version) };)*
            }

            #[inline(always)]
            unsafe fn kept<'w>(kept: Self::Kept) -> Option<Self::Fetch<'w>> {
                // SAFETY: the caller's.
                Some(($(unsafe { $data::kept(kept.$at) }?,)*))
            }

            #[inline(always)]
            fn skip<'w>(fetch: Self::Fetch<'w>, rows: usize) -> Self::Fetch<'w> {
                ($($data::skip(fetch.$at, rows),)*)
            }

            #[inline(always)]
            unsafe fn item<'w>(fetch: Self::Fetch<'w>, row: usize) -> Self::Item<'w> {
                // SAFETY: the caller's.
                ($(unsafe { $data::item(fetch.$at, row) },)*)
            }

            #[inline(always)]
            unsafe fn slices<'w>(fetch: Self::Fetch<'w>, len: usize) -> Self::Slices<'w> {
                // SAFETY: the caller's.
                ($(unsafe { $data::slices(fetch.$at, len) },)*)
            }

            #[inline(always)]
            fn fetch_of<'w>(slices: Self::Slices<'w>) -> Self::Fetch<'w> {
                ($($data::fetch_of(slices.$at),)*)
            }

            #[inline(always)]
            fn alone<'w, R>(
                slices: Self::Slices<'w>,
                then: impl FnOnce(Self::Slices<'w>) -> R,
            ) -> R {
                alone!(slices then [] $($data $at),*)
            }
        }
        // SAFETY: no part writes.
        unsafe impl<$($data: ReadOnly),*> ReadOnly for ($($data,)*) {}

        impl<$($data: Walk),*> Walk for ($($data,)*) {
            #[inline(always)]
            fn is_at_stretch(&self, archetype: u32) -> bool {
                true $(&& self.$at.is_at_stretch(archetype))*
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
