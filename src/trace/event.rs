//! `Event`: one create or destroy, four bytes.

use core::fmt;

/// One object is created or destroyed: 31 bits of object number and one of operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event(u32);

impl Event {
    /// `object` (below [`MAX_OBJECTS`](super::MAX_OBJECTS)) is created.
    pub(super) const fn create(object: u32) -> Self {
        debug_assert!(object < super::MAX_OBJECTS);
        Self(object << 1)
    }

    /// `object` (below [`MAX_OBJECTS`](super::MAX_OBJECTS)) is destroyed.
    pub(super) const fn destroy(object: u32) -> Self {
        debug_assert!(object < super::MAX_OBJECTS);
        Self(object << 1 | 1)
    }

    /// The object's number.
    #[must_use]
    pub const fn object(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether the object is created here; otherwise it is destroyed.
    #[must_use]
    pub const fn is_create(self) -> bool {
        self.0 & 1 == 0
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            if self.is_create() { '+' } else { '-' },
            self.object()
        )
    }
}
