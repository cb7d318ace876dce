//! What a replay keeps of a trace on any number of threads, and what verification finds.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use megachunk::entity::reference::{BusyBlock, Naive};
use megachunk::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityIndex, Full, Place,
};
use megachunk::trace::replay::{
    Contender, Plain, Player, Reading, Replay, ReplayError, ReplayFault, ReplayLimit, Shadow,
    Verifying,
};
use megachunk::trace::{MAX_THREADS, Trace};

/// A trace of these counts (threads, events, created, peak, destroyed by another) and events.
fn trace([threads, all, created, peak, foreign]: [u64; 5], events: &str) -> Trace {
    let text = format!(
        "# entity-trace 1\n# threads={threads} events={all} created={created} peak_live={peak} \
         destroyed_by_another_thread={foreign}\n{events}"
    );
    Trace::from_reader("a.trace", text.as_bytes()).unwrap()
}

fn verify_on<A: EntityAllocator + 'static>(trace: &Trace, threads: usize, times: usize) {
    let mut replay = Replay::new(trace, threads).unwrap();
    let allocator = A::fresh();
    for _ in 0..times {
        allocator.verify(&mut replay).unwrap();
        assert_eq!(allocator.count(), 0);
    }
}

#[test]
fn every_shipped_trace_verifies_on_every_allocator() {
    for trace in Trace::shipped_names().filter_map(Trace::shipped) {
        verify_on::<Naive>(&trace, 0, 1);
        verify_on::<BusyBlock>(&trace, 0, 1);
        // The second time on an index that has been used.
        verify_on::<EntityIndex>(&trace, 0, 2);
    }
}

#[test]
fn a_trace_of_many_threads_verifies_on_fewer_and_on_a_multiple() {
    let node = Trace::shipped("node").unwrap();
    for threads in [1, 3, 20] {
        verify_on::<EntityIndex>(&node, threads, 2);
        assert_eq!(Replay::new(&node, threads).unwrap().threads(), threads);
    }
    assert_eq!(
        Replay::new(&node, 15).unwrap_err(),
        ReplayLimit::NoMultiple {
            recorded: node.threads(),
            threads: 15
        }
    );
}

#[test]
fn a_trace_is_played_on_no_more_threads_than_one_may_be_recorded_from() {
    let one = trace([1, 1, 1, 1, 0], "0 + 0\n");
    let most = MAX_THREADS as usize;
    assert_eq!(Replay::new(&one, most).unwrap().threads(), most);
    for threads in [most + 1, usize::MAX >> 14, usize::MAX] {
        let limit = ReplayLimit::Threads { threads };
        assert_eq!(Replay::new(&one, threads).unwrap_err(), limit);
    }
}

/// Counts what it is asked for, and remembers the order of everything.
struct Scribe<'a> {
    log: &'a Mutex<Vec<(bool, u64)>>,
}

impl Player for Scribe<'_> {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        let mut log = self.log.lock().unwrap();
        let id = log.len() as u64 + 1;
        log.push((true, id));
        Ok(id)
    }

    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        self.log.lock().unwrap().push((false, id));
        Ok(())
    }
}

#[test]
fn a_replay_destroys_each_object_once_and_after_its_creation_on_any_number_of_threads() {
    let node = Trace::shipped("node").unwrap();
    for threads in [0, 1, 2, 5, 20] {
        let mut replay = Replay::new(&node, threads).unwrap();
        let log = Mutex::new(Vec::new());
        let mut played = replay.play(|| Scribe { log: &log }).unwrap();
        replay.drain(&mut played.players).unwrap();
        let log = log.into_inner().unwrap();
        let mut alive = std::collections::HashSet::new();
        for (create, id) in log {
            assert!(if create {
                alive.insert(id)
            } else {
                alive.remove(&id)
            });
        }
        assert!(
            alive.is_empty(),
            "{} objects were not returned",
            alive.len()
        );
    }
}

#[test]
fn on_one_thread_a_replay_keeps_the_recorded_order() {
    let node = Trace::shipped("node").unwrap();
    let log = Mutex::new(Vec::new());
    Replay::new(&node, 1)
        .unwrap()
        .play(|| Scribe { log: &log })
        .unwrap();
    let log = log.into_inner().unwrap();
    assert_eq!(log.len(), node.len());
    let mut id_of = vec![0; node.objects()];
    for ((_, event), (create, id)) in node.events().zip(log) {
        assert_eq!(event.is_create(), create);
        if create {
            id_of[event.object()] = id;
        } else {
            assert_eq!(id_of[event.object()], id);
        }
    }
}

/// Fails at a certain create, in one thread only: the others must not wait for ever.
#[derive(Debug)]
struct Failing {
    creates_left: usize,
}

impl Player for Failing {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        self.creates_left -= 1;
        match NonZeroUsize::new(self.creates_left) {
            Some(left) => Ok(left.get() as u64),
            None => Err(ReplayFault::Full(Full { capacity: 0 })),
        }
    }

    fn destroy(&mut self, _id: u64) -> Result<(), ReplayFault> {
        Ok(())
    }
}

/// Three objects live at the end; the second of them is where another was before.
fn three_survivors() -> Trace {
    trace([1, 5, 4, 3, 0], "0 + 0\n0 + 1\n0 - 0\n0 + 2\n0 + 3\n")
}

/// Creates so many entities; at the next it fails, or panics.
struct Limited<'a> {
    index: &'a EntityIndex,
    creates_left: usize,
    panics: bool,
}

impl Player for Limited<'_> {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        if self.creates_left == 0 {
            assert!(!self.panics, "no entity more");
            return Err(ReplayFault::Full(Full { capacity: 0 }));
        }
        self.creates_left -= 1;
        Plain(self.index).create()
    }

    fn destroy(&mut self, id: u64) -> Result<(), ReplayFault> {
        Plain(self.index).destroy(id)
    }
}

#[test]
fn a_replay_that_was_not_played_has_nothing_to_drain() {
    let index = EntityIndex::new();
    let mine: Vec<_> = (0..3).map(|_| index.create().unwrap()).collect();
    let mut replay = Replay::new(&three_survivors(), 0).unwrap();
    assert_eq!(replay.survivors().count(), 0);
    replay.drain(&mut [Plain(&index)]).unwrap();
    assert!(mine.iter().all(|&entity| index.exists(entity)));
}

#[test]
fn what_was_drained_is_not_drained_again() {
    let index = EntityIndex::new();
    let mut replay = Replay::new(&three_survivors(), 0).unwrap();
    let mut played = replay.play(|| Plain(&index)).unwrap();
    assert_eq!((replay.survivors().count(), index.count()), (3, 3));
    for _ in 0..2 {
        replay.drain(&mut played.players).unwrap();
        assert_eq!((replay.survivors().count(), index.count()), (0, 0));
    }
}

#[test]
fn after_a_replay_that_failed_only_what_it_has_created_is_drained() {
    let index = EntityIndex::new();
    let mut replay = Replay::new(&three_survivors(), 0).unwrap();
    for (creates_left, left) in [(4, 3), (2, 1), (0, 0), (3, 2)] {
        let limited = || Limited {
            index: &index,
            creates_left,
            panics: false,
        };
        assert_eq!(replay.play(limited).is_ok(), creates_left == 4);
        assert_eq!((replay.survivors().count(), index.count()), (left, left));
        replay.drain(&mut [Plain(&index)]).unwrap();
        assert_eq!(index.count(), 0);
    }
}

#[test]
fn after_a_replay_that_panicked_nothing_is_drained() {
    let index = EntityIndex::new();
    let mut replay = Replay::new(&three_survivors(), 0).unwrap();
    replay.play(|| Plain(&index)).unwrap();
    let limited = || Limited {
        index: &index,
        creates_left: 2,
        panics: true,
    };
    let played = catch_unwind(AssertUnwindSafe(|| replay.play(limited)));
    assert!(played.is_err());
    let before = index.count();
    assert_eq!(replay.survivors().count(), 0);
    replay.drain(&mut [Plain(&index)]).unwrap();
    assert_eq!(index.count(), before);
}

/// Gives ids that are none.
#[derive(Debug, Default)]
struct Nameless;

impl Player for Nameless {
    fn create(&mut self) -> Result<u64, ReplayFault> {
        Ok(0)
    }

    fn destroy(&mut self, _id: u64) -> Result<(), ReplayFault> {
        Ok(())
    }
}

#[test]
fn an_id_that_is_0_ends_the_replay_and_lets_nobody_wait() {
    for (counts, events) in [
        ([2, 3, 2, 1, 1], "0 + 0\n1 - 0\n1 + 1\n"),
        ([1, 1, 1, 1, 0], "0 + 0\n"),
    ] {
        let (says, hears) = mpsc::channel();
        std::thread::spawn(move || {
            let mut replay = Replay::new(&trace(counts, events), 0).unwrap();
            let error = replay.play(Nameless::default).unwrap_err();
            says.send((error.thread, error.event, error.fault)).unwrap();
        });
        let answer = hears.recv_timeout(Duration::from_secs(20));
        assert_eq!(answer, Ok((0, 1, ReplayFault::NoId)));
    }
}

#[test]
fn a_replay_is_drained_by_a_player_for_each_lane() {
    let index = EntityIndex::new();
    let trace = trace([2, 2, 2, 2, 0], "0 + 0\n1 + 1\n");
    let mut replay = Replay::new(&trace, 0).unwrap();
    replay.play(|| Plain(&index)).unwrap();
    for players in [0, 1, 3] {
        let mut given: Vec<_> = (0..players).map(|_| Plain(&index)).collect();
        let error = replay.drain(&mut given).unwrap_err();
        assert_eq!(
            error.fault,
            ReplayFault::OtherPlayers { players, lanes: 2 },
            "{error}"
        );
        let said =
            format!("nothing was drained: it takes a player for each lane: 2, not {players}");
        assert_eq!(error.to_string(), said);
        assert_eq!(index.count(), 2);
    }
    replay.drain(&mut [Plain(&index), Plain(&index)]).unwrap();
    assert_eq!(index.count(), 0);
}

#[test]
fn a_thread_that_fails_ends_the_replay_and_is_the_one_reported() {
    // Thread 1 fails at its second create; thread 0 would wait for that object.
    let events = "1 + 0\n1 + 1\n0 - 0\n0 - 1\n";
    let trace = trace([2, 4, 2, 2, 2], events);
    let result = Replay::new(&trace, 0)
        .unwrap()
        .play(|| Failing { creates_left: 2 });
    let error = result.expect_err("the second create fails");
    assert_eq!((error.thread, error.event), (1, 2));
    assert!(matches!(error.fault, ReplayFault::Full(_)), "{error}");
}

#[test]
fn lanes_that_were_stopped_are_played_again_once_they_are_reset() {
    // As above, on threads of one's own.
    let trace = trace([2, 4, 2, 2, 2], "1 + 0\n1 + 1\n0 - 0\n0 - 1\n");
    let (mut lanes, exchange) = Replay::new(&trace, 0).unwrap().into_lanes();
    let mut play = |creates_left| -> Vec<_> {
        exchange.reset();
        std::thread::scope(|scope| {
            let lanes = lanes.iter_mut().map(|lane| {
                let mut player = Failing { creates_left };
                scope.spawn(move || lane.play(&mut player))
            });
            let lanes: Vec<_> = lanes.collect();
            lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
        })
    };
    for _ in 0..2 {
        let errors: Vec<_> = play(2).into_iter().map(Result::unwrap_err).collect();
        assert_eq!(errors[0].fault, ReplayFault::Stopped);
        assert!(matches!(errors[1].fault, ReplayFault::Full(_)));
        let consequences = errors.iter().map(ReplayError::is_consequence);
        assert!(consequences.eq([true, false]));
        assert!(play(3).into_iter().all(|played| played.is_ok()));
    }
}

#[test]
fn a_maker_of_players_that_panics_ends_the_replay() {
    let (says, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let trace = trace([2, 2, 2, 2, 0], "0 + 0\n1 + 1\n");
        let mut replay = Replay::new(&trace, 0).unwrap();
        let mut players = 0;
        let played = catch_unwind(AssertUnwindSafe(|| {
            replay.play(|| {
                players += 1;
                assert!(players < 2, "no second player");
                Reading::default()
            })
        }));
        says.send(played.is_err()).unwrap();
        says.send(replay.play(Reading::default).is_ok()).unwrap();
    });
    for what in ["it panics", "it can be played again"] {
        let answer = hears.recv_timeout(Duration::from_secs(60));
        assert_eq!(answer, Ok(true), "{what}");
    }
}

/// An allocator with a fault of its own, round a good one.
struct Faulty {
    good: Naive,
    fault: Fault,
    last: Mutex<Option<Entity>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    GivesTheSameTwice,
    KeepsTheDead,
    AcceptsASecondDestroy,
    ForgetsOne,
    GivesABeyondTheEnd,
    KnowsNobody,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Self {
            good: Naive::fresh(),
            fault,
            last: Mutex::new(None),
        }
    }
}

impl EntityAllocator for Faulty {
    const NAME: &'static str = "faulty";

    fn fresh() -> Self {
        Self::new(Fault::GivesTheSameTwice)
    }

    fn capacity(&self) -> usize {
        self.good.capacity()
    }

    fn create(&self) -> Result<Entity, Full> {
        let mut last = self.last.lock().unwrap();
        match (self.fault, *last) {
            (Fault::GivesTheSameTwice, Some(entity)) => Ok(entity),
            (Fault::GivesABeyondTheEnd, _) => {
                Ok(Entity::new(self.capacity() as u32, 1).expect("the version is odd"))
            }
            _ => {
                let entity = self.good.create()?;
                *last = Some(entity);
                Ok(entity)
            }
        }
    }

    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        self.good.create_slice(out)
    }

    fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        match self.fault {
            Fault::KeepsTheDead => Ok(()),
            Fault::AcceptsASecondDestroy => self.good.destroy(entity).or(Ok(())),
            _ => self.good.destroy(entity),
        }
    }

    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        self.good.destroy_slice(entities)
    }

    fn exists(&self, entity: Entity) -> bool {
        self.fault != Fault::KnowsNobody && self.good.exists(entity)
    }

    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        self.good.locate(entity)
    }

    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.good.publish(entity, place)
    }

    fn count(&self) -> usize {
        self.good.count() + usize::from(self.fault == Fault::ForgetsOne)
    }
}

#[test]
fn verification_finds_an_allocator_that_answers_wrongly() {
    let trace = trace([1, 3, 2, 2, 0], "0 + 0\n0 + 1\n0 - 0\n");
    let mut replay = Replay::new(&trace, 0).unwrap();
    let mut fault_of = |fault| {
        let error: ReplayError = Faulty::new(fault).verify(&mut replay).unwrap_err();
        error.fault
    };
    let first = Entity::new(0, 1).unwrap();
    assert_eq!(
        fault_of(Fault::GivesTheSameTwice),
        ReplayFault::HandedOutTwice {
            entity: first,
            alive: first
        }
    );
    assert!(matches!(
        fault_of(Fault::GivesABeyondTheEnd),
        ReplayFault::OutOfRange { .. }
    ));
    assert_eq!(
        fault_of(Fault::KnowsNobody),
        ReplayFault::NotAlive { entity: first }
    );
    assert_eq!(
        fault_of(Fault::KeepsTheDead),
        ReplayFault::StillAlive { entity: first }
    );
    assert_eq!(
        fault_of(Fault::AcceptsASecondDestroy),
        ReplayFault::DestroyedTwice { entity: first }
    );
    assert_eq!(
        fault_of(Fault::ForgetsOne),
        ReplayFault::NotReturned { left: 1 }
    );
}

#[test]
fn a_handle_that_comes_back_to_life_is_found() {
    let shadow = Shadow::new(8);
    let entity = Entity::new(3, 5).unwrap();
    shadow.enter(entity).unwrap();
    shadow.leave(entity).unwrap();
    assert_eq!(shadow.leave(entity), Err(ReplayFault::NotAlive { entity }));
    assert_eq!(
        shadow.enter(entity),
        Err(ReplayFault::HandedOutAgain { entity })
    );
}

#[test]
fn the_shadow_agrees_with_a_good_allocator_on_two_threads() {
    let node = Trace::shipped("node").unwrap();
    let mut replay = Replay::new(&node, 2).unwrap();
    let allocator = EntityIndex::fresh();
    let shadow = Shadow::new(allocator.capacity());
    let mut played = replay.play(|| Verifying::new(&allocator, &shadow)).unwrap();
    let survivors = replay.survivors().count();
    assert_eq!(allocator.count(), survivors);
    replay.drain(&mut played.players).unwrap();
    let again = replay.play(|| Plain(&allocator)).unwrap();
    assert_eq!((again.players.len(), allocator.count()), (2, survivors));
}
