//! `Table`: the entities that have the same components.

use crate::cli::workload::ecs::values;

/// Which components, a bit for each.
pub(super) type Set = u64;

/// Matrix and rotation.
pub(super) const TRANSFORM: Set = 1 << 63;
/// Position and velocity.
pub(super) const MOVING: Set = 1 << 62;
/// The component that is added and removed.
pub(super) const EXTRA: Set = 1 << 61;
/// The only component of an entity that gets the one above.
pub(super) const SMALL: Set = 1 << 60;
/// The component of every kind.
const DATA: Set = 1 << 59;

/// The component `number` of 26.
pub(super) const fn kind(number: usize) -> Set {
    1 << number
}

/// The component `number` of 26, and the one that all kinds have.
pub(super) const fn with_data(number: usize) -> Set {
    kind(number) | DATA
}

/// One vector for each component that is in the set, of one length; the others stay empty.
#[derive(Debug, Default)]
pub(super) struct Table {
    set: Set,
    pub(super) ids: Vec<u32>,
    pub(super) positions: Vec<[f32; 3]>,
    pub(super) velocities: Vec<[f32; 3]>,
    pub(super) transforms: Vec<[f32; 16]>,
    pub(super) rotations: Vec<[f32; 3]>,
    pub(super) extras: Vec<f32>,
    pub(super) smalls: Vec<f32>,
    pub(super) data: Vec<f32>,
    /// Those of the kinds in the set, ascending.
    pub(super) kinds: Vec<Vec<f32>>,
}

impl Table {
    pub(super) fn new(set: Set) -> Self {
        let kinds = (set & (DATA - 1)).count_ones();
        Self {
            set,
            kinds: vec![Vec::new(); kinds as usize],
            ..Self::default()
        }
    }

    /// Takes a row out; the last one fills the gap.
    #[inline(always)]
    pub(super) fn remove_row(&mut self, row: usize) {
        self.ids.swap_remove(row);
        if self.set & MOVING != 0 {
            self.positions.swap_remove(row);
            self.velocities.swap_remove(row);
        }
        if self.set & TRANSFORM != 0 {
            self.transforms.swap_remove(row);
            self.rotations.swap_remove(row);
        }
        if self.set & EXTRA != 0 {
            self.extras.swap_remove(row);
        }
        if self.set & SMALL != 0 {
            self.smalls.swap_remove(row);
        }
        if self.set & DATA != 0 {
            self.data.swap_remove(row);
        }
        for kind in &mut self.kinds {
            kind.swap_remove(row);
        }
    }

    /// Moves a row to the end of `target`, which has a component more or less.
    #[inline(always)]
    pub(super) fn move_row(&mut self, row: usize, target: &mut Self) {
        target.ids.push(self.ids[row]);
        if self.set & MOVING != 0 {
            target.positions.push(self.positions[row]);
            target.velocities.push(self.velocities[row]);
        }
        if self.set & TRANSFORM != 0 {
            target.transforms.push(self.transforms[row]);
            target.rotations.push(self.rotations[row]);
        }
        if self.set & SMALL != 0 {
            target.smalls.push(self.smalls[row]);
        }
        if target.set & EXTRA != 0 {
            target.extras.push(values::EXTRA);
        }
        for kind in &mut target.kinds {
            kind.push(values::KIND);
        }
        self.remove_row(row);
    }

    /// Moves all rows to the end of `target`: whole vectors change hands where they can.
    pub(super) fn move_all(&mut self, target: &mut Self) {
        hand_over(&mut self.ids, &mut target.ids);
        hand_over(&mut self.positions, &mut target.positions);
        hand_over(&mut self.velocities, &mut target.velocities);
        hand_over(&mut self.transforms, &mut target.transforms);
        hand_over(&mut self.rotations, &mut target.rotations);
        hand_over(&mut self.smalls, &mut target.smalls);
        self.extras.clear();
        if target.set & EXTRA != 0 {
            target.extras.resize(target.ids.len(), values::EXTRA);
        }
    }

    pub(super) fn clear(&mut self) {
        self.ids.clear();
        self.positions.clear();
        self.velocities.clear();
        self.transforms.clear();
        self.rotations.clear();
        self.extras.clear();
        self.smalls.clear();
        self.data.clear();
        for kind in &mut self.kinds {
            kind.clear();
        }
    }
}

fn hand_over<T>(from: &mut Vec<T>, to: &mut Vec<T>) {
    if to.is_empty() {
        core::mem::swap(from, to);
    } else {
        to.append(from);
    }
}
