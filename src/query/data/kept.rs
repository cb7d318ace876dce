//! What query data says of how a table of many keeps where it lies: [`QueryData::Kept`](super::QueryData::Kept).

/// By one address, which is null for nothing.
macro_rules! kept_as_address {
    ($of:ty) => {
        type Kept = *const $of;
        const NOTHING: *const $of = core::ptr::null();

        #[inline(always)]
        fn keep(fetch: Self::Fetch<'_>, _: Self::Columns, _: ChunkView<'_>) -> *const $of {
            fetch
        }

        #[inline(always)]
        unsafe fn kept<'w>(kept: *const $of) -> Option<Self::Fetch<'w>> {
            (!kept.is_null()).then_some(kept)
        }
    };
}
pub(super) use kept_as_address;

/// By the address of a value that is lent as it is.
macro_rules! kept_as_reference {
    ($of:ty) => {
        type Kept = *const $of;
        const NOTHING: *const $of = core::ptr::null();

        #[inline(always)]
        fn keep(value: Self::Fetch<'_>, _: Self::Columns, _: ChunkView<'_>) -> *const $of {
            value
        }

        #[inline(always)]
        unsafe fn kept<'w>(kept: *const $of) -> Option<Self::Fetch<'w>> {
            // SAFETY: null, or kept of a value; for how long is the caller's.
            unsafe { kept.as_ref() }
        }
    };
}
pub(super) use kept_as_reference;

/// As it is.
macro_rules! kept_as_option {
    ($of:ty) => {
        type Kept = Option<$of>;
        const NOTHING: Option<$of> = None;

        #[inline(always)]
        fn keep(fetch: Self::Fetch<'_>, _: Self::Columns, _: ChunkView<'_>) -> Option<$of> {
            Some(fetch)
        }

        #[inline(always)]
        unsafe fn kept<'w>(kept: Option<$of>) -> Option<Self::Fetch<'w>> {
            kept
        }
    };
}
pub(super) use kept_as_option;
