//! `Value`: one value of a fragment, its type forgotten.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::fragment::panic::{Panicked, note};
use crate::fragment::{CloneValue, DropValues, FragmentId, FragmentInfo};

/// Owns one value of a fragment whose type is known at run time only.
#[derive(Debug)]
pub struct Value {
    id: FragmentId,
    layout: Layout,
    drop: Option<DropValues>,
    clone: Option<CloneValue>,
    /// Dangling for a value of size zero.
    memory: NonNull<u8>,
}

// SAFETY: values of fragments are `Send`.
unsafe impl Send for Value {}
// SAFETY: values of fragments are `Sync`.
unsafe impl Sync for Value {}

impl Value {
    /// Moves a value out of `from`.
    ///
    /// # Safety
    /// `from` holds a value of the fragment, which the caller does not use again.
    pub(crate) unsafe fn take(info: &FragmentInfo, from: *const u8) -> Self {
        let layout = info.layout();
        let memory = allocate(layout);
        // SAFETY: as many bytes on both sides; the value moves.
        unsafe { from.copy_to_nonoverlapping(memory.as_ptr(), layout.size()) };
        Self {
            id: info.id(),
            layout,
            drop: info.drop_values(),
            clone: info.clone_value(),
            memory,
        }
    }

    /// The fragment that it is a value of.
    #[must_use]
    pub fn id(&self) -> FragmentId {
        self.id
    }

    /// Where it lies.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Clones the value to a place that holds none.
    ///
    /// # Safety
    /// Room for a value of the fragment, which can be cloned.
    pub(crate) unsafe fn clone_to(&self, to: *mut u8) {
        match self.clone {
            // SAFETY: the caller's; the value is of this type.
            Some(clone) => unsafe { clone(self.memory.as_ptr(), to) },
            None => unreachable!("fragments without a clone function are not templates"),
        }
    }

    /// Another value, equal to this one, of a fragment that can be cloned.
    pub(crate) fn duplicate(&self) -> Self {
        let memory = allocate(self.layout);
        let copy = Self {
            id: self.id,
            layout: self.layout,
            drop: None,
            clone: self.clone,
            memory,
        };
        // SAFETY: room for a value of this fragment. If `clone` panics, `copy` frees it and drops nothing.
        unsafe { self.clone_to(memory.as_ptr()) };
        Self {
            drop: self.drop,
            memory: core::mem::ManuallyDrop::new(copy).memory,
            id: self.id,
            layout: self.layout,
            clone: self.clone,
        }
    }

    /// Drops a value of the same fragment that lies elsewhere.
    ///
    /// # Safety
    /// `at` holds a value of this fragment, which nobody uses again.
    pub(crate) unsafe fn drop_at(&self, at: *mut u8) -> Panicked {
        let mut panicked = None;
        if let Some(drop) = self.drop {
            // SAFETY: the caller's.
            note(&mut panicked, || unsafe { drop(at, 1) });
        }
        panicked
    }
}

fn allocate(layout: Layout) -> NonNull<u8> {
    if layout.size() == 0 {
        return NonNull::without_provenance(
            core::num::NonZeroUsize::new(layout.align()).expect("an alignment is not zero"),
        );
    }
    // SAFETY: the size is not zero.
    let memory = unsafe { std::alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
}

impl Drop for Value {
    fn drop(&mut self) {
        struct Free(NonNull<u8>, Layout);
        impl Drop for Free {
            fn drop(&mut self) {
                if self.1.size() > 0 {
                    // SAFETY: from `alloc` with this layout.
                    unsafe { std::alloc::dealloc(self.0.as_ptr(), self.1) };
                }
            }
        }
        // Also if the value's own drop panics.
        let _free = Free(self.memory, self.layout);
        if let Some(drop) = self.drop {
            // SAFETY: the value is owned, and ends here.
            unsafe { drop(self.memory.as_ptr(), 1) };
        }
    }
}
