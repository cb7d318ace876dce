//! Atomics: `std`'s, `loom`'s, or `std`'s with a probe at every access.

pub use core::sync::atomic::Ordering;

#[cfg(loom)]
pub use super::modelled::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
#[cfg(loom)]
pub use loom::sync::atomic::fence;

#[cfg(all(not(loom), not(feature = "probe")))]
pub use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(all(not(loom), feature = "probe"))]
pub use core::sync::atomic::fence;
#[cfg(all(not(loom), feature = "probe"))]
pub use probed::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

#[cfg(all(not(loom), feature = "probe"))]
mod probed {
    //! Transparent wrappers: each access is a step of the probe, then the access itself.

    use core::sync::atomic as std_atomic;

    use super::Ordering;
    use crate::sync::probe;

    // A macro, because the three integer types differ in nothing but their name.
    macro_rules! probed_integer {
        ($name:ident, $int:ty) => {
            /// The standard type, with a probe at every access.
            #[derive(Debug, Default)]
            #[repr(transparent)]
            pub struct $name(std_atomic::$name);

            impl $name {
                /// An atomic that holds `value`.
                pub const fn new(value: $int) -> Self {
                    Self(std_atomic::$name::new(value))
                }

                fn address(&self) -> *const u8 {
                    core::ptr::from_ref(self).cast()
                }

                /// See the standard type. Accesses through the pointer are not probed.
                pub const fn as_ptr(&self) -> *mut $int {
                    self.0.as_ptr()
                }

                /// See the standard type.
                pub fn load(&self, order: Ordering) -> $int {
                    probe::step();
                    self.0.load(order)
                }

                /// See the standard type.
                pub fn store(&self, value: $int, order: Ordering) {
                    probe::store(self.address());
                    self.0.store(value, order);
                }

                /// See the standard type.
                pub fn swap(&self, value: $int, order: Ordering) -> $int {
                    probe::rmw(self.address(), true);
                    self.0.swap(value, order)
                }

                /// See the standard type.
                pub fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                    probe::rmw(self.address(), true);
                    self.0.fetch_add(value, order)
                }

                /// See the standard type.
                pub fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                    probe::rmw(self.address(), true);
                    self.0.fetch_sub(value, order)
                }

                /// See the standard type.
                pub fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                    probe::rmw(self.address(), true);
                    self.0.fetch_and(value, order)
                }

                /// See the standard type.
                pub fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                    probe::rmw(self.address(), true);
                    self.0.fetch_or(value, order)
                }

                /// See the standard type.
                pub fn fetch_max(&self, value: $int, order: Ordering) -> $int {
                    probe::rmw(self.address(), true);
                    self.0.fetch_max(value, order)
                }

                /// See the standard type.
                ///
                /// # Errors
                /// The value found, if it was not `current`.
                pub fn compare_exchange(
                    &self,
                    current: $int,
                    new: $int,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$int, $int> {
                    probe::before_rmw(self.address());
                    let result = self.0.compare_exchange(current, new, success, failure);
                    probe::after_rmw(result.is_ok());
                    result
                }

                /// See the standard type.
                ///
                /// # Errors
                /// The value found, if it was not `current`, or if the processor gave up.
                pub fn compare_exchange_weak(
                    &self,
                    current: $int,
                    new: $int,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$int, $int> {
                    probe::before_rmw(self.address());
                    let result = self.0.compare_exchange_weak(current, new, success, failure);
                    probe::after_rmw(result.is_ok());
                    result
                }
            }
        };
    }

    probed_integer!(AtomicU32, u32);
    probed_integer!(AtomicU64, u64);
    probed_integer!(AtomicUsize, usize);

    /// The standard type, with a probe at every access.
    #[derive(Debug)]
    #[repr(transparent)]
    pub struct AtomicPtr<T>(std_atomic::AtomicPtr<T>);

    impl<T> AtomicPtr<T> {
        /// An atomic that holds `pointer`.
        pub const fn new(pointer: *mut T) -> Self {
            Self(std_atomic::AtomicPtr::new(pointer))
        }

        /// See the standard type.
        pub fn load(&self, order: Ordering) -> *mut T {
            probe::step();
            self.0.load(order)
        }

        /// See the standard type.
        pub fn store(&self, pointer: *mut T, order: Ordering) {
            probe::store(core::ptr::from_ref(self).cast());
            self.0.store(pointer, order);
        }

        /// See the standard type.
        pub fn swap(&self, pointer: *mut T, order: Ordering) -> *mut T {
            probe::rmw(core::ptr::from_ref(self).cast(), true);
            self.0.swap(pointer, order)
        }

        /// See the standard type.
        ///
        /// # Errors
        /// The pointer found, if it was not `current`.
        pub fn compare_exchange(
            &self,
            current: *mut T,
            new: *mut T,
            success: Ordering,
            failure: Ordering,
        ) -> Result<*mut T, *mut T> {
            probe::before_rmw(core::ptr::from_ref(self).cast());
            let result = self.0.compare_exchange(current, new, success, failure);
            probe::after_rmw(result.is_ok());
            result
        }
    }
}
