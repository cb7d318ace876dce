//! An entity as text: what it is called and made of, and the values that it has.

use core::fmt::{self, Write};

use crate::fragment::{FragmentInfo, FragmentKind, OneLine, named_in_role};
use crate::world::{EntityView, EntityViewMut};

/// `12v3 "queen": Position, Asleep (off), Owner (shared fragment)`. `{:#}` writes a line for each fragment, with its value,
/// if it was said how ([`register_debug`](crate::fragment::FragmentRegistry::register_debug)); of plain data its first
/// bytes, else, and of others how many bytes it has. Should a value's `Debug` panic, the panic goes on to who prints, and
/// the world is as it was.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// world.registry().register_debug::<f32>()?;
/// world.registry().register_debug::<Shared<&str>>()?;
/// let ant = world.create((2.5_f32, String::new()).shared("red"))?;
/// let ant = world.entity(ant)?;
/// assert_eq!(
///     format!("{ant:#}"),
///     format!("{}
///   f32: 2.5
///   &str (shared fragment): \"red\"
///   alloc::string::String: (24 bytes)", ant.id()),
/// );
/// # Ok::<(), WorldError>(())
/// ```
impl fmt::Display for EntityView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id())?;
        if let Some(name) = self.name() {
            write!(f, " {name:?}")?;
        }
        for (at, info) in self.fragments().enumerate() {
            if f.alternate() {
                f.write_str("\n  ")?;
                self.print_name(info, f)?;
                self.print_value(info, f)?;
            } else {
                f.write_str(if at == 0 { ": " } else { ", " })?;
                self.print_name(info, f)?;
            }
        }
        Ok(())
    }
}

impl EntityView<'_> {
    fn print_name(&self, info: &FragmentInfo, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named_in_role(info, f)?;
        match self.is_off(info.id()) {
            true => f.write_str(" (off)"),
            false => Ok(()),
        }
    }

    /// Writes the value of a fragment that it has, if that is one, behind its name.
    fn print_value(&self, info: &FragmentInfo, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get_dynamic(info.id()) {
            Ok(values) if info.kind() != FragmentKind::Tag => {
                // With a formatter of its own: a line is a line also where lines were asked for.
                write!(OneLine(f), ": {:?}", values.printed())
            }
            _ => Ok(()),
        }
    }
}

/// As `Display`.
impl fmt::Debug for EntityView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As [`EntityView`].
impl fmt::Display for EntityViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.read(), f)
    }
}

impl fmt::Debug for EntityViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
