//! `Place`: where an entity's data lies, a chunk and a row in it.

use core::fmt;

/// Where an entity's data lies: a 16 KiB chunk (20 bits) and a row in it (12 bits).
///
/// Four bytes. Every chunk of the [mega-chunk allocator](crate::chunk) can be named; 2,048 rows of
/// at least eight bytes fit in 16 KiB, so 12 bits are ample. (Worlds name the rows of a run of several chunks by 2,048 for
/// each chunk: row 5,000 of the run is row 904 of its third chunk.)
///
/// ```
/// use megachunk::entity::Place;
///
/// let place = Place::new(1_048_575, 17).unwrap();
/// assert_eq!((place.chunk(), place.row()), (1_048_575, 17));
/// assert_eq!(Place::new(1 << 20, 0), None);
/// ```
///
/// Serialized (feature `serde`) it is one number, `chunk << 12 | row`; another one is refused when it is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u32);

impl Place {
    /// Chunks are numbered below this: 1,048,576.
    pub const CHUNKS: u32 = 1 << 20;
    /// Rows are numbered below this: 4,095. (4,095 itself would collide with "no place" in one
    /// chunk; no chunk has so many rows.)
    pub const ROWS: u32 = (1 << 12) - 1;

    /// Of a place's bits the lowest: they are the row.
    #[cfg(not(loom))]
    pub(crate) const ROW_BITS: u32 = 12;
    /// What turns the numbers of chunks by half, as an exclusive or: those that are taken first,
    /// chunks by themselves from the first on and runs of several from the last one, are neighbours
    /// then.
    const TURN: u32 = 1 << 31;

    /// Where nothing lies: no chunk has its row, [`ROWS`](Self::ROWS). Turned it is the last of all.
    pub(crate) const NOWHERE: Self = Self(u32::MAX ^ Self::TURN);

    /// Where an entity lies that had no place and is being destroyed: so nobody can build it any more. No chunk has its
    /// row, either.
    pub(crate) const LEAVING: Self = Self(Self::NOWHERE.0 - 1);

    /// Where an entity lies that is to come to a row of a world which is made elsewhere: so nobody builds it who guesses
    /// its handle. No chunk has its row, either.
    pub(crate) const COMING: Self = Self(Self::NOWHERE.0 - 2);

    /// The place of `row` in `chunk`; `None` if either is out of range.
    #[must_use]
    pub const fn new(chunk: u32, row: u32) -> Option<Self> {
        if chunk >= Self::CHUNKS || row >= Self::ROWS {
            return None;
        }
        Some(Self(chunk << 12 | row))
    }

    /// The place of `row` in `chunk`, both known to be in range.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) const fn within(chunk: u32, row: u32) -> Self {
        debug_assert!(chunk < Self::CHUNKS && row < Self::ROWS);
        Self(chunk << 12 | row)
    }

    /// Whether it is the row behind another.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) const fn is_behind(self, other: Self) -> bool {
        self.0 == other.0.wrapping_add(1)
    }

    /// The place so many rows further on, in the same chunk; no place of a row if none is there any more, behind the
    /// last one.
    #[inline(always)]
    pub(crate) const fn further(self, rows: u32) -> Self {
        debug_assert!(self.row() + rows <= Self::ROWS);
        Self(self.0 + rows)
    }

    /// The chunk's number, below [`CHUNKS`](Self::CHUNKS).
    #[inline(always)]
    #[must_use]
    pub const fn chunk(self) -> u32 {
        self.0 >> 12
    }

    /// The row in the chunk, below [`ROWS`](Self::ROWS).
    #[inline(always)]
    #[must_use]
    pub const fn row(self) -> u32 {
        self.0 & 0xfff
    }

    /// A chunk's number, turned by half: of two that are taken one after the other the numbers are neighbours then,
    /// whichever end they come from.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) const fn turned(chunk: u32) -> u32 {
        chunk ^ Self::TURN >> Self::ROW_BITS
    }

    /// What the low half of a slot word holds for `place`: turned, and the complement of that, so that "no place" is
    /// zero and a zero-filled table needs no set-up.
    #[inline(always)]
    pub(crate) const fn encode(place: Option<Self>) -> u32 {
        match place {
            Some(place) => place.0 ^ Self::NOWHERE.0,
            None => 0,
        }
    }

    /// The inverse of [`encode`](Self::encode), with [`NOWHERE`](Self::NOWHERE) for "no place".
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) const fn decode_any(raw: u32) -> Self {
        Self(raw ^ Self::NOWHERE.0)
    }

    /// The inverse of [`encode`](Self::encode).
    #[inline(always)]
    pub(crate) const fn decode(raw: u32) -> Option<Self> {
        if raw == 0 {
            None
        } else {
            Some(Self(raw ^ Self::NOWHERE.0))
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Place {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Place {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let place = Self(u32::deserialize(deserializer)?);
        Self::new(place.chunk(), place.row()).ok_or_else(|| {
            serde::de::Error::custom(format_args!(
                "row {} of a chunk is out of range",
                place.row()
            ))
        })
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} row {}", self.chunk(), self.row())
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_back_and_one_out_of_range_is_refused() {
        let place = Place::new(Place::CHUNKS - 1, Place::ROWS - 1).unwrap();
        let text = serde_json::to_string(&place).unwrap();
        assert_eq!(serde_json::from_str::<Place>(&text).unwrap(), place);
        let error = serde_json::from_str::<Place>(&u32::MAX.to_string()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("row 4095 of a chunk is out of range"),
            "{error}"
        );
    }
}
