//! Signals that wait for their time, as files have them: those of a room above, which has the world's other signals.

use core::any::{Any, TypeId};
use std::collections::VecDeque;

use crate::entity::Entity;
use crate::fragment::StateValue;
use crate::fragment::panic::{end_all, resume_alone};
use crate::world::World;

/// The world's time, and what waits for its own, told by whoever has them.
#[derive(Default)]
pub(crate) struct Told<'w> {
    /// In nanoseconds.
    pub(crate) time: u64,
    /// In no order.
    pub(crate) signals: Vec<ToldSignal<'w>>,
}

/// A signal that waits for its time.
pub(crate) struct ToldSignal<'w> {
    pub(crate) signal: SignalName<'w>,
    pub(crate) entity: Entity,
    /// In nanoseconds of the world's time.
    pub(crate) time: u64,
    /// Of those for one time the lowest comes first.
    pub(crate) sequence: u64,
    pub(crate) payload: &'w (dyn Any + Send + Sync),
}

/// What a signal is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalName<'w> {
    /// `None`: it is known by what it carries.
    pub(crate) name: Option<&'w str>,
    /// The type of what it carries.
    pub(crate) carries: TypeId,
}

/// What has come with a world out of a file, until the room takes it that has the world's signals.
#[derive(Default)]
pub(crate) struct Come {
    /// The world's time, in nanoseconds.
    pub(crate) time: u64,
    pub(crate) signals: ComeSignals,
}

/// A signal that has come, and waits for its time.
#[derive(Debug)]
pub(crate) struct ComeSignal {
    pub(crate) name: Option<Box<str>>,
    pub(crate) carries: TypeId,
    pub(crate) entity: Entity,
    /// In nanoseconds of the world's time.
    pub(crate) time: u64,
    pub(crate) payload: StateValue,
}

/// Those that have come, in the order in which they arrive, each with its place in that.
#[derive(Debug, Default)]
pub(crate) struct ComeSignals(pub(crate) VecDeque<(u64, ComeSignal)>);

impl ComeSignal {
    /// What it is known by.
    pub(crate) fn signal(&self) -> SignalName<'_> {
        SignalName {
            name: self.name.as_deref(),
            carries: self.carries,
        }
    }
}

impl ComeSignals {
    /// One that arrives after the others.
    pub(crate) fn push(&mut self, signal: ComeSignal) {
        self.0.push_back((self.0.len() as u64, signal));
    }

    pub(crate) fn tell<'w>(&'w self, told: &mut Told<'w>) {
        let all = self.0.iter().map(|(sequence, come)| ToldSignal {
            signal: come.signal(),
            entity: come.entity,
            time: come.time,
            sequence: *sequence,
            payload: &*come.payload,
        });
        told.signals.extend(all);
    }
}

impl Drop for ComeSignals {
    fn drop(&mut self) {
        let mut panicked = None;
        end_all(&mut panicked, core::mem::take(&mut self.0));
        resume_alone(panicked);
    }
}

impl World {
    /// The world's time, and what waits for its own.
    pub(super) fn tell_waiting(&self) -> Told<'_> {
        let mut told = Told {
            time: self.come.time,
            signals: Vec::new(),
        };
        self.come.signals.tell(&mut told);
        for attached in self.attached.iter() {
            attached.tell_waiting(self, &mut told);
        }
        told
    }
}
