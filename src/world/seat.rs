//! `Seat`: a world's number, for as long as somebody has it.

use core::fmt;
use std::sync::{Arc, Weak};

use crate::archetype::Universe;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::world::shared_values::LeftValues;

/// Which world it is, and whether it has ended: for those who only ask that, and are not to keep its number, nor the
/// universe, nor to be in the way of the world's end. They have it weakly; no other world has one at the same address
/// meanwhile.
#[derive(Debug)]
pub(crate) struct Presence {
    ended: AtomicU32,
}

impl Presence {
    /// Whether the world has ended.
    pub(crate) fn has_ended(&self) -> bool {
        // Ordering: Relaxed: nobody goes on to anything else of the world.
        self.ended.load(Ordering::Relaxed) == 1
    }
}

/// A world's number in its universe, given back when nobody has it any more.
#[derive(Debug)]
pub(crate) struct Seat {
    /// `None` for a moment, in which the world that ends has the seat to itself.
    pub(super) universe: Option<Arc<Universe>>,
    pub(crate) number: u16,
    /// Who outlives the world may have the seat still.
    presence: Arc<Presence>,
    /// What the world is called, for those who have no more of it.
    label: Mutex<Option<Arc<str>>>,
    /// What flushes have held that ended without the world.
    pub(crate) left: Mutex<LeftValues>,
}

impl Seat {
    /// A world's that begins.
    pub(super) fn new(universe: Arc<Universe>, number: u16) -> Self {
        Self {
            universe: Some(universe),
            number,
            presence: Arc::new(Presence {
                ended: AtomicU32::new(0),
            }),
            label: Mutex::new(None),
            left: Mutex::new(LeftValues::default()),
        }
    }

    /// The world is called so from now on.
    pub(super) fn set_label(&self, label: Arc<str>) {
        *self.label.lock() = Some(label);
    }

    /// The world ends.
    pub(super) fn end(&self) {
        // Ordering: as in `has_ended`.
        self.presence.ended.store(1, Ordering::Relaxed);
    }

    /// Where it is.
    pub(crate) fn universe(&self) -> &Arc<Universe> {
        match &self.universe {
            Some(universe) => universe,
            None => unreachable!("nobody else has the seat while it has no universe"),
        }
    }

    /// For who only asks which world it is, and whether it has ended.
    pub(crate) fn presence(&self) -> Weak<Presence> {
        Arc::downgrade(&self.presence)
    }

    /// Whether this is of its world.
    #[inline]
    pub(crate) fn is_present(&self, presence: &Weak<Presence>) -> bool {
        presence.as_ptr() == Arc::as_ptr(&self.presence)
    }
}

/// The world's label, or else its number: as events have it.
impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Who is written to may wait: nobody is to wait for that.
        let label = self.label.lock().clone();
        match label {
            Some(label) => f.write_str(&label),
            None => self.number.fmt(f),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.universe().remove_world(self.number);
    }
}
