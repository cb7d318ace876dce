//! The fragments of an entity of a naive world: which it has, and what of.
//!
//! A number for each kind there is: rows are read and compared after each step, many more than worlds change.

use std::fmt::{Debug, Formatter, Result};

use crate::world_fragments::Kind;

/// The fragments of an entity.
#[derive(Clone, Copy, Default)]
pub(crate) struct Row {
    /// By kind, those that it has.
    there: u16,
    /// Those that are switched off.
    off: u16,
    /// 0 of those that it does not have.
    payloads: [u32; Kind::ALL.len()],
    /// Those that were given a value since that was [forgotten](Self::forget_given): nothing that the entity has.
    given: u16,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        let parts = |row: &Self| (row.there, row.off, row.payloads);
        parts(self) == parts(other)
    }
}

const fn bit(kind: Kind) -> u16 {
    1 << kind as u16
}

impl Row {
    pub(crate) const fn has(&self, kind: Kind) -> bool {
        self.there & bit(kind) != 0
    }

    pub(crate) const fn is_on(&self, kind: Kind) -> bool {
        self.there & !self.off & bit(kind) != 0
    }

    pub(crate) const fn is_off(&self, kind: Kind) -> bool {
        self.off & bit(kind) != 0
    }

    /// How many it has.
    pub(crate) const fn len(&self) -> usize {
        self.there.count_ones() as usize
    }

    pub(crate) const fn get(&self, kind: Kind) -> Option<u32> {
        if self.has(kind) {
            Some(self.payloads[kind as usize])
        } else {
            None
        }
    }

    pub(crate) const fn get_mut(&mut self, kind: Kind) -> Option<&mut u32> {
        if self.has(kind) {
            Some(&mut self.payloads[kind as usize])
        } else {
            None
        }
    }

    /// Those that it has, in order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = Kind> {
        let mut left = self.there;
        std::iter::from_fn(move || {
            let kind = *Kind::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(kind)
        })
    }

    pub(crate) const fn has_the_kinds_of(&self, other: &Self) -> bool {
        self.there == other.there
    }

    /// Switches a kind that it has.
    pub(crate) const fn enable(&mut self, kind: Kind, on: bool) {
        if on {
            self.off &= !bit(kind);
        } else {
            self.off |= bit(kind);
        }
    }

    pub(crate) const fn enable_all(&mut self) {
        self.off = 0;
    }

    /// Gives it a value, whatever it had.
    pub(crate) const fn set(&mut self, kind: Kind, value: u32) {
        self.there |= bit(kind);
        self.payloads[kind as usize] = value;
    }

    pub(crate) fn add(&mut self, kinds: &[Kind], payload: u32) {
        for &kind in kinds {
            self.give(kind, kind.keeps(payload));
            if matches!(kind, Kind::Species) {
                self.given &= !bit(kind);
            }
        }
    }

    /// What is for ever went before it came again: it was given.
    pub(crate) const fn give_species_again(&mut self) {
        self.given |= bit(Kind::Species);
    }

    /// Gives it a value, whatever it had, as a bundle or what comes by default does.
    pub(crate) const fn give(&mut self, kind: Kind, value: u32) {
        self.set(kind, value);
        self.given |= bit(kind);
    }

    /// Whether it was given a value, or an equal one, by a bundle that came, of a kind of which that can be said.
    pub(crate) fn is_given(&self, kind: Kind) -> bool {
        self.given & bit(kind) != 0
            && (kind.has_column() || matches!(kind, Kind::Team | Kind::Species))
    }

    pub(crate) const fn forget_given(&mut self) {
        self.given = 0;
    }

    pub(crate) fn remove(&mut self, kinds: &[Kind]) -> bool {
        let before = self.there;
        for &kind in kinds {
            self.there &= !bit(kind);
            self.off &= !bit(kind);
            self.given &= !bit(kind);
            self.payloads[kind as usize] = 0;
        }
        self.there != before
    }

    /// Loses what cannot be saved.
    pub(crate) fn keep_plain(&mut self) {
        let lost: Vec<Kind> = self.kinds().filter(|kind| !kind.is_plain()).collect();
        self.remove(&lost);
    }

    /// Whether a bundle would change a value that is for ever.
    pub(crate) fn contradicts(&self, kinds: &[Kind], payload: u32) -> bool {
        let there = self.get(Kind::Species);
        kinds.contains(&Kind::Species)
            && there.is_some_and(|there| there != Kind::Species.keeps(payload))
    }
}

impl Debug for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let of = |kind| {
            let off = if self.is_off(kind) { " (off)" } else { "" };
            format!("{}{off}", self.payloads[kind as usize])
        };
        f.debug_map()
            .entries(self.kinds().map(|kind| (kind, of(kind))))
            .finish()
    }
}
