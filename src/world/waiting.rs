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
    /// The types of what signals of the world are named by.
    pub(crate) handles: Vec<TypeId>,
}

/// A signal that waits for its time.
pub(crate) struct ToldSignal<'w> {
    pub(crate) signal: SignalName<&'w str>,
    pub(crate) waiting: Waits<&'w (dyn Any + Send + Sync)>,
}

impl ToldSignal<'_> {
    /// Whether it is for nobody in particular.
    pub(crate) fn is_broadcast(&self) -> bool {
        self.waiting.entity == Entity::EVERYBODY
    }
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
    /// None waits for an earlier time.
    earliest: u64,
    /// It was said that some have ended unheard.
    is_told: bool,
}

/// Signals that have ended because nobody had asked for them when their time came.
pub(crate) struct Unheard {
    pub(crate) count: usize,
    pub(crate) signals: Vec<SignalName<Box<str>>>,
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
        self.earliest = match self.len {
            0 => waiting.time,
            _ => self.earliest.min(waiting.time),
        };
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

    /// Drops those whose time has come: nobody can hear them. If it is the first time: how many, and of which signals.
    /// O(1) before the time of the first of them; then O(their signals), and what is dropped.
    #[inline]
    pub(crate) fn drop_due(&mut self, now: u64, panicked: &mut Panicked) -> Option<Unheard> {
        match self.len == 0 || now < self.earliest {
            true => None,
            false => self.drop_some(now, panicked),
        }
    }

    #[cold]
    fn drop_some(&mut self, now: u64, panicked: &mut Panicked) -> Option<Unheard> {
        let (before, is_told) = (self.len, self.is_told);
        let mut signals = Vec::new();
        for (signal, waiting) in &mut self.waiting {
            let is_due = |next: Option<&Waits<_>>| next.is_some_and(|next| next.time <= now);
            if is_due(waiting.front()) && !is_told {
                signals.push(signal.clone());
            }
            while is_due(waiting.front()) {
                let due = waiting.pop_front();
                self.len -= 1;
                note(panicked, || drop(due));
            }
        }
        self.waiting.retain(|_, waiting| !waiting.is_empty());
        let next = self.waiting.values().filter_map(VecDeque::front);
        self.earliest = next.map(|next| next.time).min().unwrap_or(u64::MAX);
        let count = before - self.len;
        self.is_told |= count > 0;
        (!signals.is_empty()).then_some(Unheard { count, signals })
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
        if self.waiting.is_empty() {
            return;
        }
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
            handles: Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn push(come: &mut ComeSignals, name: &str, time: u64) {
        let name = SignalName {
            name: Some(name.into()),
            carries: TypeId::of::<u8>(),
        };
        let (sequence, entity) = (0, Entity::PLACEHOLDER);
        let payload = Box::new(7_u8);
        come.push(
            name,
            Waits {
                time,
                sequence,
                entity,
                payload,
            },
        );
    }

    #[test]
    fn those_whose_time_has_not_come_are_not_looked_at() {
        let (mut come, mut panicked) = (ComeSignals::default(), None);
        let mut drop_due = |come: &mut ComeSignals, now| {
            let unheard = come.drop_due(now, &mut panicked);
            assert!(panicked.is_none());
            let signals = |unheard: Unheard| unheard.signals.into_iter().filter_map(|one| one.name);
            unheard.map(|unheard| (unheard.count, signals(unheard).collect::<Vec<_>>()))
        };
        for (name, time) in [("ring", 30), ("ring", 50), ("hit", 20), ("fall", 20)] {
            push(&mut come, name, time);
        }
        assert_eq!((come.earliest, drop_due(&mut come, 19)), (20, None));
        let told = Some((2, vec!["fall".into(), "hit".into()]));
        assert_eq!(drop_due(&mut come, 20), told);
        assert_eq!((come.earliest, come.len()), (30, 2));
        // Nobody is looked at before.
        come.earliest = 40;
        assert_eq!((drop_due(&mut come, 39), come.len()), (None, 2));
        assert_eq!(
            (drop_due(&mut come, 40), come.len()),
            (None, 1),
            "told once"
        );
        push(&mut come, "hit", 45);
        assert_eq!((come.earliest, drop_due(&mut come, 45)), (45, None));
        assert_eq!((drop_due(&mut come, 50), come.len()), (None, 0));
        push(&mut come, "hit", 60);
        assert_eq!((come.earliest, come.len()), (60, 1));
        drop(come.take_all());
        push(&mut come, "hit", 70);
        assert_eq!((come.earliest, come.is_told), (70, true));
    }
}
