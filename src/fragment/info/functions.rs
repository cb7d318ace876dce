//! What is done to values whose type is forgotten: functions of their addresses.
//!
//! Must hold: who calls one passes values of the type that it was made for. Values without a size have no place in a chunk, and
//! any address is passed for them: see [`address`].

use core::fmt;

use crate::fragment::SharedFragment;

/// Drops `count` values that lie one behind the other.
pub type DropValues = unsafe fn(values: *mut u8, count: usize);

/// Clones the value at `from`, of `size` bytes, to `to`, which holds none.
pub type CloneValue = unsafe fn(from: *const u8, to: *mut u8, size: usize);

/// Writes a value for whoever debugs, as its [`Debug`](fmt::Debug) does; of a value without a size any address will do.
pub type DebugValue = unsafe fn(value: *const u8, f: &mut fmt::Formatter<'_>) -> fmt::Result;

/// Compares and hashes shared values.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(loom, expect(dead_code, reason = "models have no shared values"))]
pub(crate) struct SharedOps {
    pub(crate) equal: unsafe fn(*const u8, *const u8) -> bool,
    pub(crate) hash: unsafe fn(*const u8) -> u64,
}

pub(super) unsafe fn drop_values<T>(values: *mut u8, count: usize) {
    // SAFETY: the caller passes `count` values of this type.
    unsafe { core::ptr::slice_from_raw_parts_mut(address::<T>(values), count).drop_in_place() };
}

pub(super) unsafe fn clone_value<T: Clone>(from: *const u8, to: *mut u8, _size: usize) {
    // SAFETY: the caller passes a value of this type, and room for one.
    unsafe { address::<T>(to).write((*address::<T>(from.cast_mut())).clone()) };
}

pub(super) unsafe fn debug_value<T: fmt::Debug>(
    value: *const u8,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    // SAFETY: the caller passes a value of this type, which nobody writes meanwhile.
    unsafe { &*address::<T>(value.cast_mut()) }.fmt(f)
}

/// Where a value is. Those without a size have no place in a chunk: any aligned address will do.
#[inline(always)]
pub(in crate::fragment) fn address<T>(value: *mut u8) -> *mut T {
    if size_of::<T>() == 0 {
        core::ptr::without_provenance_mut(align_of::<T>())
    } else {
        value.cast()
    }
}

/// Clones a value that is nothing but its bytes.
pub(crate) unsafe fn clone_bytes(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller passes a value of `size` bytes, and room for one.
    unsafe { from.copy_to_nonoverlapping(to, size) };
}

pub(super) fn shared_ops<T: SharedFragment>() -> SharedOps {
    unsafe fn equal<T: Eq>(a: *const u8, b: *const u8) -> bool {
        // SAFETY: the caller passes two values of this type.
        unsafe { *a.cast::<T>() == *b.cast::<T>() }
    }
    unsafe fn hash<T: core::hash::Hash>(value: *const u8) -> u64 {
        use core::hash::Hasher;
        // Without a random seed: the same program does the same in every run.
        let mut hasher = std::hash::DefaultHasher::new();
        // SAFETY: the caller passes a value of this type.
        unsafe { &*value.cast::<T>() }.hash(&mut hasher);
        hasher.finish()
    }
    SharedOps {
        equal: equal::<T>,
        hash: hash::<T>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    std::thread_local! {
        /// The bits of all addresses that were seen.
        static SEEN: Cell<usize> = const { Cell::new(0) };
    }

    fn see(wide: &Wide) {
        SEEN.set(SEEN.get() | core::ptr::from_ref(wide).addr());
    }

    #[repr(align(4096))]
    struct Wide;

    impl Clone for Wide {
        fn clone(&self) -> Self {
            see(self);
            Self
        }
    }

    impl Drop for Wide {
        fn drop(&mut self) {
            see(self);
        }
    }

    #[test]
    fn values_without_a_size_are_aligned_where_they_are_cloned_and_dropped() {
        let mut memory = [0_u8; 2];
        let [from, to] = &mut memory;
        // SAFETY: values without a size are anywhere.
        unsafe {
            clone_value::<Wide>(from, to, 0);
            drop_values::<Wide>(to, 3);
        }
        assert_eq!(SEEN.get() % 4096, 0);
        assert_ne!(SEEN.get(), 0);
    }
}
