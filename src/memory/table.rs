//! `Table`: a large zero-filled array of atomics that costs memory only where it is touched.

#[cfg(not(loom))]
use core::marker::PhantomData;
use core::ops::Range;
use std::io;

#[cfg(not(loom))]
use super::Reservation;

/// Types that are valid when every byte is zero, and that are never dropped.
///
/// # Safety
/// All-zero bytes are a valid value; the type needs no drop.
pub(crate) unsafe trait ZeroFilled: Sized + Sync {
    /// The value with all bytes zero; loom's atomics have to be made one by one.
    #[cfg(loom)]
    fn zero() -> Self;
}

// SAFETY: the integer zero is all-zero bytes.
unsafe impl ZeroFilled for crate::sync::atomic::AtomicU64 {
    #[cfg(loom)]
    fn zero() -> Self {
        Self::new(0)
    }
}

// SAFETY: the integer zero is all-zero bytes.
unsafe impl ZeroFilled for crate::sync::atomic::AtomicU32 {
    #[cfg(loom)]
    fn zero() -> Self {
        Self::new(0)
    }
}

// SAFETY: the null pointer is all-zero bytes. What it points to is the affair of whoever stores it; for
// other threads to read it, it must be `Sync`.
unsafe impl<T: Sync> ZeroFilled for crate::sync::atomic::AtomicPtr<T> {
    #[cfg(loom)]
    fn zero() -> Self {
        Self::new(core::ptr::null_mut())
    }
}

/// `len` values, all zero at first.
pub(crate) struct Table<T> {
    #[cfg(not(loom))]
    memory: Reservation,
    #[cfg(not(loom))]
    _values: PhantomData<[T]>,
    #[cfg(loom)]
    values: Box<[T]>,
    len: usize,
}

impl<T> core::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Table")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T: ZeroFilled> Table<T> {
    /// A table of `len` zeros, `stagger` bytes behind a 2 MiB border.
    pub(crate) fn new(len: usize, stagger: usize) -> io::Result<Self> {
        let table = Self::reserve(len, stagger)?;
        #[cfg(not(loom))]
        table.commit(0..len)?;
        Ok(table)
    }

    /// A table of `len` zeros of which none may be touched before it is [committed](Self::commit).
    pub(crate) fn reserve(len: usize, stagger: usize) -> io::Result<Self> {
        const { assert!(!core::mem::needs_drop::<T>() || cfg!(loom)) };
        #[cfg(not(loom))]
        {
            assert!(stagger.is_multiple_of(align_of::<T>()));
            let memory = Reservation::reserve(len * size_of::<T>(), stagger)?;
            Ok(Self {
                memory,
                _values: PhantomData,
                len,
            })
        }
        #[cfg(loom)]
        {
            let _ = stagger;
            Ok(Self {
                values: (0..len).map(|_| T::zero()).collect(),
                len,
            })
        }
    }

    /// Makes the values in `range` usable, where they are not.
    #[cfg(not(loom))]
    pub(crate) fn commit(&self, range: Range<usize>) -> io::Result<()> {
        self.memory
            .commit(range.start * size_of::<T>()..range.end * size_of::<T>())
    }

    /// The value number `index`.
    ///
    /// # Safety
    /// `index` is below the table's length, and committed.
    #[inline(always)]
    pub(crate) unsafe fn get_unchecked(&self, index: usize) -> &T {
        debug_assert!(index < self.len);
        #[cfg(not(loom))]
        // SAFETY: `index` is in range and committed, the reservation holds `len` values, aligned, zero-filled at
        // first, which `ZeroFilled` says is a valid value, and it lives as long as the table.
        unsafe {
            self.memory.base().cast::<T>().add(index).as_ref()
        }
        #[cfg(loom)]
        &self.values[index]
    }

    /// The values in `range`, without a check.
    ///
    /// # Safety
    /// `range` is in order and does not reach beyond the table's length, and its values are committed.
    #[inline(always)]
    pub(crate) unsafe fn range_unchecked(&self, range: Range<usize>) -> &[T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        #[cfg(not(loom))]
        // SAFETY: as in `get_unchecked`, for each of them.
        unsafe {
            let first = self.memory.base().cast::<T>().add(range.start);
            core::slice::from_raw_parts(first.as_ptr(), range.end - range.start)
        }
        #[cfg(loom)]
        &self.values[range]
    }

    /// The first value: `len` of them stand side by side, as long as the table lives.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn first(&self) -> core::ptr::NonNull<T> {
        self.memory.base().cast()
    }

    /// The value number `index`, which is committed; checked against the length.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &T {
        assert!(index < self.len, "entry {index} of a table of {}", self.len);
        // SAFETY: just checked.
        unsafe { self.get_unchecked(index) }
    }

    /// The values in `range`, which are committed; checked against the length.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn range(&self, range: Range<usize>) -> &[T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: just checked.
        unsafe { self.range_unchecked(range) }
    }

    /// Sets the values in `range` to zero.
    #[cfg(not(loom))]
    pub(crate) fn clear(&mut self, range: Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: values of the table, which `&mut self` lends to nobody else; zero is a valid value of theirs.
        unsafe {
            let first = self.first().as_ptr().add(range.start);
            first.write_bytes(0, range.end - range.start);
        }
    }

    /// Asks for huge pages; whether the system takes the advice. If it refuses, `tracing` tells whose memory goes without.
    #[cfg(not(loom))]
    pub(crate) fn want_huge(&self, whose: &str) -> bool {
        self.memory.want_huge(whose)
    }

    /// Models have no pages.
    #[cfg(loom)]
    pub(crate) fn want_huge(&self, _: &str) -> bool {
        true
    }

    /// Fetches the pages of the values in `range` in one call.
    #[cfg(not(loom))]
    pub(crate) fn populate(&self, range: Range<usize>) -> io::Result<()> {
        self.memory
            .populate(range.start * size_of::<T>()..range.end * size_of::<T>())
    }
}
