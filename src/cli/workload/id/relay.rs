//! `producer_consumer`: half of the workers create, the other half destroy what they created.

use std::sync::Mutex;
use std::thread;

use crossbeam_utils::CachePadded;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::sync::atomic::{AtomicUsize, Ordering};

/// Ids that are handed over at once.
const PARCEL: usize = 64;
/// Parcels that fit on a belt.
const BELT: usize = 64;
/// Parcels in a round.
const ROUND: usize = 64;
/// Looks at the belt before the processor is offered to others.
const SPINS: u32 = 10_000;

/// Workers 2k create one by one and send; workers 2k+1 receive and destroy one by one.
pub(super) struct ProducerConsumer<C: IdContender> {
    contender: C,
    belts: Vec<Belt<C::Id>>,
}

/// A ring of parcels between two threads. The parcels' locks are never contended: `sent` and
/// `received` say whose turn a place is. One lock for 64 ids is lost in the noise, and spares the
/// harness unsafe code.
struct Belt<I> {
    places: Vec<CachePadded<Mutex<[I; PARCEL]>>>,
    sent: CachePadded<AtomicUsize>,
    received: CachePadded<AtomicUsize>,
}

impl<I: Copy> Belt<I> {
    fn new(filling: I) -> Self {
        let place = || CachePadded::new(Mutex::new([filling; PARCEL]));
        Self {
            places: (0..BELT).map(|_| place()).collect(),
            sent: CachePadded::new(AtomicUsize::new(0)),
            received: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// Lets `fill` fill the next parcel, once there is room.
    fn send(&self, fill: impl FnOnce(&mut [I; PARCEL])) {
        let sent = self.sent.load(Ordering::Relaxed);
        // Ordering: Acquire pairs with the Release of `receive`.
        wait_until(|| sent - self.received.load(Ordering::Acquire) < BELT);
        fill(
            &mut self.places[sent % BELT]
                .lock()
                .expect("no panic with a parcel in hand"),
        );
        // Ordering: Release pairs with the Acquire of `receive`.
        self.sent.store(sent + 1, Ordering::Release);
    }

    /// Lets `empty` use the next parcel, once there is one.
    fn receive(&self, empty: impl FnOnce(&[I; PARCEL])) {
        let received = self.received.load(Ordering::Relaxed);
        // Ordering: Acquire pairs with the Release of `send`.
        wait_until(|| self.sent.load(Ordering::Acquire) > received);
        empty(
            &self.places[received % BELT]
                .lock()
                .expect("no panic with a parcel in hand"),
        );
        // Ordering: Release pairs with the Acquire of `send`.
        self.received.store(received + 1, Ordering::Release);
    }
}

fn wait_until(ready: impl Fn() -> bool) {
    let mut spins = 0;
    while !ready() {
        spins += 1;
        if spins < SPINS {
            core::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

impl<C: IdContender> ProducerConsumer<C> {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            contender: C::fresh(),
            belts: (0..threads / 2)
                .map(|_| Belt::new(C::placeholder()))
                .collect(),
        }
    }
}

impl<C: IdContender> Subject for ProducerConsumer<C> {
    fn repeat(&self, worker: usize, rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut session = self.contender.session();
        let belt = &self.belts[worker / 2];
        let parcels = rounds as usize * ROUND;
        if worker.is_multiple_of(2) {
            // An id is one operation, and it is counted where it ends.
            watch.time(0, 0, || {
                for _ in 0..parcels {
                    belt.send(|parcel| {
                        for id in parcel {
                            *id = session.create();
                        }
                    });
                }
            });
        } else {
            let lives = parcels * PARCEL;
            let died = watch.time(0, lives as u64, || {
                let mut died = 0;
                for _ in 0..parcels {
                    belt.receive(|parcel| {
                        for &id in parcel {
                            died += usize::from(session.destroy(id));
                        }
                    });
                }
                died
            });
            assert_eq!(died, lives, "an id is alive until its consumer destroys it");
        }
    }
}
