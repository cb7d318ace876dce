//! Signals that wait for their time, as files have them: those of a room above, which has the world's other signals.

use core::any::{Any, TypeId};
use std::collections::{BTreeMap, VecDeque};

use crate::entity::Entity;
use crate::fragment::StateValue;
use crate::panics::{Panicked, end_all, note, resume_alone};
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
    pub(crate) signal: SignalName<&'w str>,
    pub(crate) waiting: Waits<&'w (dyn Any + Send + Sync)>,
}

/// What a signal is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignalName<S> {
    /// `None`: it is known by what it carries.
    pub(crate) name: Option<S>,
    /// The type of what it carries.
    pub(crate) carries: TypeId,
}

/// One that waits, whatever the signal.
#[derive(Debug)]
pub(crate) struct Waits<P> {
    /// In nanoseconds of the world's time.
    pub(crate) time: u64,
    /// Of those for one time the lowest comes first.
    pub(crate) sequence: u64,
    pub(crate) entity: Entity,
    pub(crate) payload: P,
}

/// What has come with a world out of a file, until the room takes it that has the world's signals.
#[derive(Default)]
pub(crate) struct Come {
    /// The world's time, in nanoseconds.
    pub(crate) time: u64,
    pub(crate) signals: ComeSignals,
}

/// Those that have come, from a file or another world, and of whose signals nobody has asked this world yet: of each
/// signal in the order in which they arrive.
#[derive(Debug, Default)]
pub(crate) struct ComeSignals {
    /// In an order that is the same each time: what ends unheard ends in that.
    waiting: BTreeMap<SignalName<Box<str>>, VecDeque<Waits<StateValue>>>,
    len: usize,
}

impl SignalName<&str> {
    pub(crate) fn to_owned(&self) -> SignalName<Box<str>> {
        SignalName {
            name: self.name.map(Into::into),
            carries: self.carries,
        }
    }
}

impl ComeSignals {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// One that arrives after the others.
    pub(crate) fn push(&mut self, signal: SignalName<Box<str>>, waiting: Waits<StateValue>) {
        self.len += 1;
        self.waiting.entry(signal).or_default().push_back(waiting);
    }

    /// Takes those of a signal.
    pub(crate) fn take(&mut self, signal: &SignalName<&str>) -> VecDeque<Waits<StateValue>> {
        let taken = self.waiting.remove(&signal.to_owned());
        let taken = taken.unwrap_or_default();
        self.len -= taken.len();
        taken
    }

    /// All of them, of one signal after the other; none is left.
    pub(crate) fn take_all(
        &mut self,
    ) -> impl Iterator<Item = (SignalName<Box<str>>, Waits<StateValue>)> + use<> {
        self.len = 0;
        let all = core::mem::take(&mut self.waiting).into_iter();
        all.flat_map(|(signal, waiting)| waiting.into_iter().map(move |one| (signal.clone(), one)))
    }

    /// Brings those in order that were pushed and do not arrive after the others.
    pub(crate) fn sort(&mut self) {
        for waiting in self.waiting.values_mut() {
            let waiting = waiting.make_contiguous();
            waiting.sort_by_key(|one| (one.time, one.sequence));
        }
    }

    /// Drops those whose time has come: nobody can hear them. O(their signals), and what is dropped.
    pub(crate) fn drop_due(&mut self, now: u64, panicked: &mut Panicked) {
        for waiting in self.waiting.values_mut() {
            while waiting.front().is_some_and(|next| next.time <= now) {
                let due = waiting.pop_front();
                self.len -= 1;
                note(panicked, || drop(due));
            }
        }
        self.waiting.retain(|_, waiting| !waiting.is_empty());
    }

    pub(crate) fn tell<'w>(&'w self, told: &mut Told<'w>) {
        for (signal, waiting) in &self.waiting {
            let signal = SignalName {
                name: signal.name.as_deref(),
                carries: signal.carries,
            };
            let all = waiting.iter().map(|come| ToldSignal {
                signal: signal.clone(),
                waiting: Waits {
                    time: come.time,
                    sequence: come.sequence,
                    entity: come.entity,
                    payload: &*come.payload,
                },
            });
            told.signals.extend(all);
        }
    }
}

impl Drop for ComeSignals {
    fn drop(&mut self) {
        let mut panicked = None;
        let waiting = core::mem::take(&mut self.waiting);
        end_all(&mut panicked, waiting.into_values().flatten());
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
