//! What a slot may answer when it does one thing at a time, and the search for such an order.

use std::collections::BTreeMap;
use std::fmt;

use megachunk::entity::{Entity, EntityFault, Place};
use todc_utils::{Action, History, Specification, WGLChecker};

use super::{Event, Record};

/// A slot that does one thing at a time: NotCreated → Live(place) → Dead → Live → …, each life
/// with a higher version than the one before.
struct Slot;

/// The state of a slot between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    /// The version given out last; 0 before the first.
    version: u32,
    /// `None`: dead. `Some(place)`: the entity with that version lives.
    life: Option<Option<Place>>,
}

impl State {
    /// The place of a handle that lives, or why it is refused.
    fn look_up(self, entity: Entity) -> Result<Option<Place>, EntityFault> {
        match self.life {
            _ if entity.version() > self.version => Err(EntityFault::NeverCreated),
            Some(place) if entity.version() == self.version => Ok(place),
            _ => Err(EntityFault::Destroyed),
        }
    }

    /// The state after a call that answered `answer`, if that changes anything.
    fn after(self, answer: Result<(), EntityFault>, life: Option<Option<Place>>) -> Self {
        if answer.is_ok() {
            Self { life, ..self }
        } else {
            self
        }
    }
}

impl Specification for Slot {
    type State = State;
    type Operation = (Entity, Event);

    fn init() -> State {
        State::default()
    }

    fn apply(&(entity, event): &(Entity, Event), state: &State) -> (bool, State) {
        let state = *state;
        let found = state.look_up(entity);
        let (valid, after) = match event {
            Event::Aged(version) => (
                state == State::default(),
                State {
                    version,
                    life: None,
                },
            ),
            Event::Created => (
                state.life.is_none() && entity.version() > state.version,
                State {
                    version: entity.version(),
                    life: Some(None),
                },
            ),
            Event::Destroy(answer) => (answer == found.map(drop), state.after(answer, None)),
            Event::Exists(answer) => (answer == found.is_ok(), state),
            Event::Locate(answer) => (answer == found, state),
            Event::Publish(place, answer) => (
                answer == found.map(drop),
                state.after(answer, Some(Some(place))),
            ),
        };
        (valid, if valid { after } else { state })
    }
}

/// A slot whose calls no order explains.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The slot.
    pub index: u32,
    /// All its calls, by their beginning.
    pub records: Vec<Record>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no order explains the calls on slot {}:", self.index)?;
        self.records
            .iter()
            .try_for_each(|record| writeln!(f, "  {record}"))
    }
}

/// Whether the calls on each slot can be put in an order that respects their moments and explains
/// their answers. Exponential in the calls that overlap on one slot; there are few.
///
/// # Errors
/// The first slot for which there is no such order.
pub fn check(records: &[Record]) -> Result<(), Violation> {
    let mut slots = BTreeMap::<u32, Vec<Record>>::new();
    for record in records {
        slots
            .entry(record.entity.index())
            .or_default()
            .push(*record);
    }
    for (index, mut records) in slots {
        records.sort_by_key(|record| record.call);
        let mut moments = Vec::with_capacity(2 * records.len());
        // A "process" for each call: the calls of a batch overlap, though one thread made them.
        for (process, record) in records.iter().enumerate() {
            let operation = (record.entity, record.event);
            moments.push((record.call, process, Action::Call(operation)));
            moments.push((record.response, process, Action::Response(operation)));
        }
        moments.sort_by_key(|(moment, ..)| *moment);
        let actions = moments
            .into_iter()
            .map(|(_, process, action)| (process, action))
            .collect();
        if !WGLChecker::<Slot>::is_linearizable(History::from_actions(actions)) {
            return Err(Violation { index, records });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(thread: usize, span: (u64, u64), version: u32, event: Event) -> Record {
        let entity = Entity::new(7, version).expect("the version is odd");
        Record {
            thread,
            call: span.0,
            response: span.1,
            entity,
            event,
        }
    }

    fn here() -> Place {
        Place::new(1, 1).expect("in range")
    }

    fn there() -> Place {
        Place::new(2, 2).expect("in range")
    }

    #[test]
    fn one_call_after_another_is_linearizable() {
        let history = [
            record(0, (0, 1), 1, Event::Created),
            record(0, (2, 3), 1, Event::Publish(here(), Ok(()))),
            record(0, (4, 5), 1, Event::Locate(Ok(Some(here())))),
            record(0, (6, 7), 1, Event::Destroy(Ok(()))),
            record(0, (8, 9), 1, Event::Exists(false)),
            record(0, (10, 11), 1, Event::Destroy(Err(EntityFault::Destroyed))),
            record(
                0,
                (12, 13),
                3,
                Event::Locate(Err(EntityFault::NeverCreated)),
            ),
            record(0, (14, 15), 3, Event::Created),
            record(0, (16, 17), 3, Event::Locate(Ok(None))),
        ];
        assert!(check(&history).is_ok());
    }

    #[test]
    fn calls_that_overlap_may_take_effect_in_either_order() {
        for seen in [here(), there()] {
            let history = [
                record(0, (0, 1), 1, Event::Created),
                record(1, (2, 10), 1, Event::Publish(here(), Ok(()))),
                record(2, (3, 9), 1, Event::Publish(there(), Ok(()))),
                record(1, (11, 12), 1, Event::Locate(Ok(Some(seen)))),
            ];
            assert!(check(&history).is_ok());
        }
    }

    #[test]
    fn a_double_destroy_that_succeeds_twice_is_found() {
        let history = [
            record(0, (0, 1), 1, Event::Created),
            record(1, (2, 5), 1, Event::Destroy(Ok(()))),
            record(2, (3, 4), 1, Event::Destroy(Ok(()))),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn an_id_given_out_twice_is_found() {
        let history = [
            record(1, (0, 3), 1, Event::Created),
            record(2, (1, 2), 1, Event::Created),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn two_lives_of_a_slot_at_once_are_found() {
        let history = [
            record(1, (0, 1), 1, Event::Created),
            record(2, (2, 3), 3, Event::Created),
            record(1, (4, 5), 1, Event::Destroy(Ok(()))),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_dead_handle_that_lives_again_is_found() {
        let history = [
            record(0, (0, 1), 1, Event::Created),
            record(0, (2, 3), 1, Event::Destroy(Ok(()))),
            record(1, (4, 5), 1, Event::Exists(true)),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_stale_locate_that_answers_with_the_next_owners_place_is_found() {
        let history = [
            record(0, (0, 1), 1, Event::Created),
            record(0, (2, 3), 1, Event::Destroy(Ok(()))),
            record(0, (4, 5), 3, Event::Created),
            record(0, (6, 7), 3, Event::Publish(there(), Ok(()))),
            record(1, (8, 9), 1, Event::Locate(Ok(Some(there())))),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_place_that_goes_back_in_time_is_found() {
        // Each look alone could be explained; both in this order cannot.
        let history = [
            record(0, (0, 1), 1, Event::Created),
            record(1, (2, 10), 1, Event::Publish(here(), Ok(()))),
            record(2, (3, 4), 1, Event::Locate(Ok(Some(here())))),
            record(2, (5, 6), 1, Event::Locate(Ok(None))),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_publish_that_is_refused_and_yet_seen_is_found() {
        let history = [
            record(0, (0, 1), 1, Event::Created),
            record(
                1,
                (2, 9),
                1,
                Event::Publish(here(), Err(EntityFault::Destroyed)),
            ),
            record(2, (3, 8), 1, Event::Locate(Ok(Some(here())))),
            record(3, (4, 5), 1, Event::Destroy(Ok(()))),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn of_a_handle_twice_in_a_batch_one_is_destroyed_and_not_both_refused() {
        let pair = |second| {
            [
                record(0, (0, 1), 1, Event::Created),
                record(1, (2, 3), 1, Event::Destroy(Err(EntityFault::Destroyed))),
                record(1, (2, 3), 1, Event::Destroy(second)),
            ]
        };
        assert!(check(&pair(Ok(()))).is_ok());
        assert!(check(&pair(Err(EntityFault::Destroyed))).is_err());
    }

    #[test]
    fn an_aged_slot_refuses_the_handles_of_its_earlier_lives() {
        let stale = |answer| {
            [
                record(0, (0, 1), 9, Event::Aged(9)),
                record(1, (2, 3), 7, Event::Exists(answer)),
            ]
        };
        assert!(check(&stale(false)).is_ok());
        assert!(check(&stale(true)).is_err());
    }
}
