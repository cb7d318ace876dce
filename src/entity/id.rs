//! `Entity`: the handle. Eight bytes, an index and an odd version.

use core::fmt;
use core::num::NonZeroU32;

use crate::entity::NoEntity;

/// A generational handle of one entity: an index and the version that the index had when the
/// entity was created.
///
/// Eight bytes; `Option<Entity>` is eight bytes too. The version is odd, always: the all-zero
/// bit pattern is no entity. A handle is only a name: it stays valid to *hold* for ever, and every
/// call that takes one says whether the entity behind it still lives.
///
/// A handle means something only to the index that made it (and to those that share it): two indices
/// both begin with `0v1`.
///
/// Ordered by index, then version. Shown as `12v3`, and read so. With the feature `serde` it is the number
/// [`to_bits`](Self::to_bits), up to 2⁶⁴.
///
/// ```
/// use megachunk::entity::Entity;
///
/// let entity = Entity::try_from_bits(3 << 32 | 12).unwrap();
/// assert_eq!((entity.index(), entity.version()), (12, 3));
/// assert_eq!(entity.to_string(), "12v3");
/// assert_eq!("12v3".parse(), Ok(entity));
/// assert_eq!(Entity::try_from_bits(0), None);
/// assert_eq!(size_of::<Option<Entity>>(), 8);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C, align(8))]
pub struct Entity {
    // In this order: on a little-endian machine the handle's bits are `version << 32 | index`,
    // which is what the batch paths write.
    index: u32,
    version: NonZeroU32,
}

impl Entity {
    /// A handle that no allocator ever gives out: its index is out of every range. Nobody, where a handle has to be.
    ///
    /// For filling an array that is to be overwritten, as in
    /// [`EntityAllocator::create_slice`](crate::entity::EntityAllocator::create_slice).
    pub const PLACEHOLDER: Self = Self {
        index: u32::MAX,
        version: NonZeroU32::MIN,
    };

    /// All who listen: its version is even, so that no safe call of a user's makes such a handle.
    #[cfg(all(feature = "world", not(loom)))]
    pub(crate) const EVERYBODY: Self = Self {
        index: u32::MAX,
        version: match NonZeroU32::new(2) {
            Some(version) => version,
            None => unreachable!(),
        },
    };

    /// A handle from its parts; `None` if `version` is even (no entity has an even version).
    #[must_use]
    pub const fn new(index: u32, version: u32) -> Option<Self> {
        if version & 1 == 0 {
            return None;
        }
        match NonZeroU32::new(version) {
            Some(version) => Some(Self { index, version }),
            None => None,
        }
    }

    /// A handle from its parts, `version` known to be odd.
    #[inline(always)]
    pub(crate) const fn from_parts(index: u32, version: u32) -> Self {
        debug_assert!(version & 1 == 1);
        // `| 1` keeps the promise of `NonZeroU32` whatever the caller does, at no cost: the
        // compiler sees that the value cannot be zero.
        match NonZeroU32::new(version | 1) {
            Some(version) => Self { index, version },
            None => unreachable!(),
        }
    }

    /// The handle with these bits, as [`to_bits`](Self::to_bits) has them, the version known to be odd. The same as
    /// [`from_parts`](Self::from_parts) for bits that are in one piece, and stay so.
    #[inline(always)]
    pub(crate) const fn from_odd_bits(bits: u64) -> Self {
        debug_assert!(bits >> 32 & 1 == 1);
        if cfg!(target_endian = "big") {
            return Self::from_parts(bits as u32, (bits >> 32) as u32);
        }
        // SAFETY: on a little-endian machine the index is the low half and the version the high one, which is not
        // zero: `|` keeps that promise whatever the caller does, at no cost where the compiler sees the bit.
        unsafe { core::mem::transmute::<u64, Self>(bits | 1 << 32) }
    }

    /// The slot's number, `0..134_217_728` for a handle that was given out.
    #[inline(always)]
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// The version of the slot while this entity lives; odd.
    #[inline(always)]
    #[must_use]
    pub const fn version(self) -> u32 {
        self.version.get()
    }

    /// `version << 32 | index`, for storing or sending.
    #[inline(always)]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        (self.version.get() as u64) << 32 | self.index as u64
    }

    /// The handle that [`to_bits`](Self::to_bits) gave; `None` if the version is even.
    #[must_use]
    pub const fn try_from_bits(bits: u64) -> Option<Self> {
        Self::new(bits as u32, (bits >> 32) as u32)
    }
}

impl From<Entity> for u64 {
    fn from(entity: Entity) -> Self {
        entity.to_bits()
    }
}

/// The handle that [`to_bits`](Entity::to_bits) gave.
impl TryFrom<u64> for Entity {
    type Error = NoEntity;

    fn try_from(bits: u64) -> Result<Self, NoEntity> {
        Self::try_from_bits(bits).ok_or(NoEntity(bits))
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", self.index, self.version)
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Entity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.to_bits())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Entity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bits = u64::deserialize(deserializer)?;
        Self::try_from(bits).map_err(serde::de::Error::custom)
    }
}
