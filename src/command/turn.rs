//! `Turn`: what a recorder is told of the processor that it is opened for.

use core::ops::Range;
use std::sync::Arc;

use crate::command::Stripes;
use crate::command::precedence::Source;

/// One run of one processor.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Turn<'r> {
    /// The version that its changes get: by its place in the order, whoever runs beside it.
    pub(crate) version: u32,
    /// Its place in the order: its commands and signals come in this order.
    pub(crate) rank: u32,
    /// Who records its commands: of which plan that order is, or nobody's.
    pub(crate) source: Source,
    /// In an ordered universe: whence the ids come that it gives, and which pieces of them are its own.
    pub(crate) stripes: Option<&'r Arc<Stripes>>,
    pub(crate) first_piece: u32,
    pub(crate) end_piece: u32,
}

impl Turn<'_> {
    /// Its pieces of the ids.
    pub(crate) fn pieces(&self) -> Range<u32> {
        self.first_piece..self.end_piece
    }
}
