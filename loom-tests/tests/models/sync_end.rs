//! The end of what a pool's things are for: what is left beside it is gone when all have left, whoever was first.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::sync::end::End;
use megachunk::sync::pool::{Lent, Pool, Taken};
use megachunk_loom_tests::Bound::{Costly, Exhaustive};
use megachunk_loom_tests::model;

/// What a world and its recorders share, as far as its end goes: lanes, in which a number waits.
struct Lanes {
    pool: Pool<UnsafeCell<u32>>,
    end: End,
}

/// One recorder's number.
type Lane<'p> = Lent<'p, UnsafeCell<u32>>;

impl Lanes {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            pool: Pool::new(),
            end: End::new(),
        })
    }

    fn open(&self) -> Lane<'_> {
        let lane = self.pool.take(0);
        lane.unwrap_or_else(|| self.pool.lend(UnsafeCell::new(0)))
    }

    /// What a recorder does that records something, as it closes.
    fn close(&self, lane: Lane<'_>) {
        // SAFETY: the lane is this thread's alone: that is what the models ask.
        lane.with_mut(|waits| unsafe { *waits += 1 });
        lane.keep(0);
        if self.end.gives_back(lane) {
            empty(self.pool.take_all());
        }
    }

    fn record(&self) {
        self.close(self.open());
    }

    /// A recorder for which there was no lane.
    fn record_in_new(&self) {
        self.close(self.pool.lend(UnsafeCell::new(0)));
    }

    /// The world ends.
    fn end(&self) {
        empty(self.end.say(&self.pool, false));
    }

    /// What waits, when all are done.
    fn waits(&self) -> u32 {
        let all = self.pool.take_all();
        assert_eq!(all.len(), self.pool.len());
        // SAFETY: as above.
        let waits = all.iter().map(|lane| lane.with(|waits| unsafe { *waits }));
        waits.sum()
    }
}

fn empty(lanes: Taken<'_, UnsafeCell<u32>>) {
    for lane in lanes {
        // SAFETY: as above.
        lane.with_mut(|waits| unsafe { *waits = 0 });
        lane.leave();
    }
}

fn spawn(lanes: &Arc<Lanes>, work: fn(&Lanes)) -> thread::JoinHandle<()> {
    let lanes = Arc::clone(lanes);
    thread::spawn(move || work(&lanes))
}

#[test]
fn what_is_recorded_beside_the_end_is_gone() {
    model(
        "what_is_recorded_beside_the_end_is_gone",
        Exhaustive,
        || {
            let lanes = Lanes::new();
            let recorder = spawn(&lanes, Lanes::record);
            lanes.end();
            recorder.join().expect("it does not panic");
            assert_eq!(lanes.waits(), 0);
        },
    );
}

#[test]
fn what_two_record_beside_the_end_is_gone() {
    model("what_two_record_beside_the_end_is_gone", Costly(2), || {
        let lanes = Lanes::new();
        let recorders = [(); 2].map(|()| spawn(&lanes, Lanes::record_in_new));
        lanes.end();
        for recorder in recorders {
            recorder.join().expect("it does not panic");
        }
        assert_eq!(lanes.waits(), 0);
    });
}

#[test]
fn what_finds_no_slot_beside_the_end_is_gone() {
    model(
        "what_finds_no_slot_beside_the_end_is_gone",
        Costly(3),
        || {
            let lanes = Lanes::new();
            // Models have two slots: of three that are open the last lies in the list.
            let recorder = spawn(&lanes, |lanes| {
                let open = [(); 3].map(|()| lanes.pool.lend(UnsafeCell::new(0)));
                open.into_iter().for_each(|lane| lanes.close(lane));
            });
            lanes.end();
            recorder.join().expect("it does not panic");
            assert_eq!(lanes.waits(), 0);
        },
    );
}

#[test]
fn what_waits_in_the_list_as_the_end_is_said_is_gone() {
    model(
        "what_waits_in_the_list_as_the_end_is_said_is_gone",
        Costly(2),
        || {
            let lanes = Lanes::new();
            // Both slots are full, and one lies in the list.
            let open = [(); 3].map(|()| lanes.pool.lend(UnsafeCell::new(0)));
            open.into_iter().for_each(|lane| lanes.close(lane));
            let recorder = spawn(&lanes, Lanes::record_in_new);
            lanes.end();
            recorder.join().expect("it does not panic");
            assert_eq!(lanes.waits(), 0);
        },
    );
}
