//! `FragmentId`: a fragment's number.

use core::fmt;

/// A fragment's number in its registry: below 65,535, in the order of registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentId(u16);

impl FragmentId {
    /// The fragment with this number. Of use for tests and tables: a number that no registry gave out
    /// is refused wherever it is passed.
    ///
    /// ```
    /// use megachunk::fragment::FragmentId;
    ///
    /// assert_eq!(FragmentId::from_number(7).to_string(), "#7");
    /// ```
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Debug for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number, as errors show it: `#7`.
impl fmt::Display for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
