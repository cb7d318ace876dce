//! `Version`: a point in a world's history of changes.

use core::fmt;

/// A point in a world's history of changes, counted in runs of queries: what [`World::version`](crate::world::World::version)
/// says, [`since`](crate::query::QueryRun::since) takes, and chunks have. It is of one world, and means nothing to another.
///
/// Later ones are greater. It is no count of ticks, nor a hash, nor the version of a handle: only its
/// [bits](Self::to_bits) are a number. With the feature `serde` it is that number.
///
/// ```
/// use megachunk::prelude::*;
/// use megachunk::world::Version;
///
/// let mut world = World::new();
/// let ant = world.create((1_u8,))?;
/// // What changes from now on, though no query runs now.
/// let sent = world.version().before();
/// assert!(Version::START < sent);
/// *world.get_mut::<u8>(ant)? = 2;
/// assert_eq!(world.query::<&u8, Changed<u8>>()?.since(sent).count(), 1);
/// assert_eq!(world.query::<&u8, Changed<u8>>()?.since(Version::START).count(), 1);
/// // To be kept or sent.
/// assert_eq!(Version::from_bits(sent.to_bits()), sent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Version(u64);

impl Version {
    /// Before all that a world has, and the default: since then everything has changed.
    pub const START: Self = Self(0);

    /// The one before, or [`START`](Self::START): whoever reads [`World::version`](crate::world::World::version), runs no query
    /// then, and wants what changes from now on, asks for changes since the one before.
    #[inline]
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The number, for storing or sending.
    #[inline(always)]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The version that [`to_bits`](Self::to_bits) gave. Another number is that of a version, too: which has not been yet, or
    /// is long past, perhaps.
    #[inline(always)]
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_before_is_less_and_there_is_none_before_the_start() {
        let seven = Version::from_bits(7);
        assert_eq!(seven.before().to_bits(), 6);
        assert!(seven.before() < seven && seven.to_string() == "7");
        assert_eq!(Version::from_bits(1).before(), Version::START);
        assert_eq!(Version::START.before(), Version::default());
        assert_eq!(
            Version::from_bits(u64::MAX).before().to_bits(),
            u64::MAX - 1
        );
    }

    #[cfg(feature = "cli")]
    #[test]
    fn it_is_written_as_its_number() {
        let version = Version::from_bits(1 << 40);
        assert_eq!(serde_json::to_string(&version).unwrap(), "1099511627776");
        let read: Version = serde_json::from_str("1099511627776").unwrap();
        assert_eq!(read, version);
    }
}
