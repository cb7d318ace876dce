//! `PlainVariant`: a variant of an enum that is plain.
//!
//! `plain!` makes a table of them in the user's crate, a constant, as it does of the fields of a struct.

use crate::fragment::plain::field::without_r;

/// A variant of an enum that is plain by [`plain!`](crate::plain): for the menus of editors, and for scripts.
///
/// ```
/// use megachunk::fragment::Plain;
///
/// #[derive(Clone, Copy)]
/// #[repr(u16)]
/// enum Team { Red = 1, Blue = 256 }
/// megachunk::plain!(enum Team { Red, Blue });
///
/// let bytes = (Team::Blue as u16).to_ne_bytes();
/// let blue = Team::VARIANTS.iter().find(|variant| variant.bytes() == bytes);
/// assert_eq!(blue.map(|variant| variant.name()), Some("Blue"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlainVariant {
    name: &'static str,
    bytes: &'static [u8],
}

impl PlainVariant {
    /// What it is called: `r#type` is `"type"`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The bytes of its value, as many as every value of the enum has: none, if it has one variant.
    #[must_use]
    pub const fn bytes(&self) -> &'static [u8] {
        self.bytes
    }
}

/// Variants with these names and values.
#[doc(hidden)]
#[must_use]
pub const fn plain_variants<const N: usize, const BYTES: usize>(
    names: &[&'static str; N],
    values: &'static [[u8; BYTES]],
) -> [PlainVariant; N] {
    const NONE: PlainVariant = PlainVariant {
        name: "",
        bytes: &[],
    };
    let mut variants = [NONE; N];
    let mut at = 0;
    while at < N {
        variants[at] = PlainVariant {
            name: without_r(names[at]),
            bytes: &values[at],
        };
        at += 1;
    }
    variants
}
