//! `UnsafeCell` with loom's face over std's cell.

/// A cell whose content is reached only through closures, as loom's is, so that the model checker
/// can see when each access begins and ends.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell that holds `value`.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Calls `access` with a pointer for reading.
    #[inline(always)]
    pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        access(self.0.get())
    }

    /// Calls `access` with a pointer for reading and writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        access(self.0.get())
    }

    /// The value, out of the cell.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
