//! `Hook`: what is called when a processor starts or stops.
//!
//! Must hold: who has it by `&` alone gets nothing of the closure: so a schedule may be seen by several threads, though
//! closures need not be.

use crate::fragment::Lone;
use crate::world::World;

type Call = Box<dyn FnMut(&mut World) + Send>;

/// A closure that starts or stops something in a world.
pub(super) struct Hook(Lone<Call>);

// SAFETY: `&Hook` lends nothing: the closure is called, and ends, by who has the hook alone.
unsafe impl Sync for Hook {}

impl Hook {
    pub(super) fn new(call: impl FnMut(&mut World) + Send + 'static) -> Self {
        Self(Lone::new(Box::new(call)))
    }

    pub(super) fn call(&mut self, world: &mut World) {
        (self.0)(world);
    }
}
