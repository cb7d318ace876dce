//! `Printed`: values of a fragment, as whoever debugs sees them.
//!
//! A value is written by the formatter that was [registered](FragmentRegistry::register_debug); one of plain data without
//! one by its first bytes; of others nothing is known but their size. Users' code may panic there: nothing is held then,
//! and nothing has changed, so the panic goes on to who prints.

use core::fmt::{self, Debug, Write};

use crate::fragment::values::check_seen_as;
use crate::fragment::{
    FragmentError, FragmentId, FragmentInfo, FragmentKind, FragmentRegistry, Plain,
};

/// So many values are written.
const VALUES: usize = 8;
/// So many bytes of a value without a formatter.
const BYTES: usize = 16;

/// Values of a fragment that lie one behind the other.
#[derive(Clone, Copy)]
pub(crate) struct Printed<'a> {
    info: &'a FragmentInfo,
    first: *const u8,
    len: usize,
}

impl<'a> Printed<'a> {
    /// # Safety
    /// There are as many values of the fragment, one behind the other, aligned also if they have no size, and nobody writes
    /// them for `'a`.
    pub(super) unsafe fn new(info: &'a FragmentInfo, first: *const u8, len: usize) -> Self {
        Self { info, first, len }
    }

    /// Whether there is something to be said of each: more than that it is there.
    pub(super) fn has_something_to_say(self) -> bool {
        self.info.debug_value().is_some() || (self.info.is_plain() && self.size() > 0)
    }

    fn size(self) -> usize {
        self.info.layout().size()
    }
}

/// Up to eight of them, one behind the other.
impl Debug for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for at in 0..self.len.min(VALUES) {
            if at > 0 {
                f.write_str(", ")?;
            }
            let value = self.first.wrapping_add(at * self.size());
            match self.info.debug_value() {
                // SAFETY: a value of the fragment, by the contract of `new`.
                Some(debug) => unsafe { debug(value, f) }?,
                None if self.info.is_plain() => {
                    // SAFETY: plain values are nothing but their bytes, without padding.
                    let bytes = unsafe { core::slice::from_raw_parts(value, self.size()) };
                    write_bytes(bytes, f)?;
                }
                None => write!(f, "({} bytes)", self.size())?,
            }
        }
        match self.len.saturating_sub(VALUES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The first bytes of a value, in hexadecimal digits.
fn write_bytes(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, byte) in bytes.iter().take(BYTES).enumerate() {
        let space = if at == 0 { "" } else { " " };
        write!(f, "{space}{byte:02x}")?;
    }
    match bytes.len() > BYTES {
        true => write!(f, " … of {} bytes", bytes.len()),
        false => Ok(()),
    }
}

/// Writes on what would be several lines as one.
pub(crate) struct OneLine<'a, 'f>(pub(crate) &'a mut fmt::Formatter<'f>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (at, part) in text.split(['\n', '\r']).enumerate() {
            if at > 0 {
                self.0.write_str(" ")?;
            }
            self.0.write_str(part)?;
        }
        Ok(())
    }
}

/// What a fragment is called, with its role, if it is not one of single entities.
pub(crate) fn named_in_role(info: &FragmentInfo, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(info.name())?;
    match info.kind() {
        FragmentKind::Fragment | FragmentKind::Tag => Ok(()),
        kind => write!(f, " ({kind})"),
    }
}

impl FragmentRegistry {
    /// Says that values of a plain fragment, in whatever role, are to be seen as `T`s by whoever debugs: for those that
    /// were defined at run time. The first formatter that is given stays, as for [`register_debug`](Self::register_debug).
    /// O(1), any thread.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
    /// let full = Value::from_bytes(world.registry(), health, &[100, 0, 0, 0])?;
    /// let ant = world.create_dynamic(full.into())?;
    /// assert_eq!(format!("{:?}", world.get_dynamic(ant, health)?), "1 × health: 64 00 00 00");
    /// world.registry().show_plain_as::<u32>(health)?;
    /// # #[cfg(target_endian = "little")]
    /// assert_eq!(format!("{:?}", world.get_dynamic(ant, health)?), "1 × health: 100");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::Unknown`]; those of [`Values::plain`](crate::fragment::Values::plain).
    pub fn show_plain_as<T: Plain + Debug>(
        &self,
        id: FragmentId,
    ) -> Result<&FragmentInfo, FragmentError> {
        let info = self.get(id).ok_or(FragmentError::Unknown { id })?;
        check_seen_as::<T>(info)?;
        info.set_debug::<T>();
        Ok(info)
    }
}
