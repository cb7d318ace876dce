//! `Path`: the way to a value inside of a trait.

use core::fmt;

/// The way to a value inside of a trait: `route.points[2].x`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(before, key) => write!(f, "{before}.{key}"),
            Self::Item(before, item) => write!(f, "{before}[{item}]"),
        }
    }
}
