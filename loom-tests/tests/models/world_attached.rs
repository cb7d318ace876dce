//! What upper rooms keep with a world: one thing of each type, whoever asks first; who finds it sees all of it;
//! what came too late ends; and the end of the world reaches everything.
//!
//! `world/attached.rs` is a roster of things that are told apart by their types, and so is what is modelled here.

use core::any::Any;
use core::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::sync::roster::Roster;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// How many things live. No part of the model.
type Living = std::sync::Arc<AtomicU32>;

/// A room's thing: `N` tells the rooms apart.
struct Thing<const N: u32> {
    written: UnsafeCell<u32>,
    living: Living,
}

impl<const N: u32> Thing<N> {
    fn new(living: &Living) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        let thing = Self {
            written: UnsafeCell::new(0),
            living: Living::clone(living),
        };
        // SAFETY: nobody else has it yet.
        thing.written.with_mut(|written| unsafe { *written = N });
        thing
    }

    /// What its maker wrote.
    fn read(&self) -> u32 {
        // SAFETY: it is not changed any more: that is what the models ask.
        self.written.with(|written| unsafe { *written })
    }
}

impl<const N: u32> Drop for Thing<N> {
    fn drop(&mut self) {
        self.living.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: after it was made it is only read.
unsafe impl<const N: u32> Send for Thing<N> {}
// SAFETY: as above.
unsafe impl<const N: u32> Sync for Thing<N> {}

/// What a world has.
#[derive(Default)]
struct Attached {
    things: Roster<Box<dyn Any + Send + Sync>>,
    living: Living,
}

impl Attached {
    /// Finds or attaches what the room `N` keeps: where it is.
    fn attach<const N: u32>(&self) -> usize {
        let made = self.things.find_or_add(
            |value| value.is::<Thing<N>>(),
            || Ok(Box::new(Thing::<N>::new(&self.living)) as _),
        );
        let Ok::<_, Infallible>((_, found)) = made;
        let found: &Thing<N> = found.downcast_ref().expect("found by its type");
        assert_eq!(found.read(), N);
        core::ptr::from_ref(found).addr()
    }

    /// The rooms whose things there are, the youngest first, as the end of a world finds them.
    fn rooms(&self) -> Vec<u32> {
        let things = self.things.iter().map(|thing| {
            let one = thing.downcast_ref::<Thing<1>>().map(Thing::read);
            one.or_else(|| thing.downcast_ref::<Thing<2>>().map(Thing::read))
        });
        things.map(|room| room.expect("one of two rooms")).collect()
    }
}

#[test]
fn what_two_attach_at_once_is_there_once() {
    model("what_two_attach_at_once_is_there_once", Exhaustive, || {
        let attached = Arc::new(Attached::default());
        let living = Living::clone(&attached.living);
        let other = {
            let attached = Arc::clone(&attached);
            thread::spawn(move || {
                let one = attached.attach::<1>();
                attached.attach::<2>();
                one
            })
        };
        let mine = attached.attach::<1>();
        assert_eq!(other.join().expect("it does not panic"), mine);
        let mut rooms = attached.rooms();
        rooms.sort_unstable();
        assert_eq!(rooms, [1, 2]);
        assert_eq!(living.load(Ordering::Relaxed), 2, "what came too late ends");
        drop(attached);
        assert_eq!(living.load(Ordering::Relaxed), 0, "all ends with the world");
    });
}

#[test]
fn rooms_that_attach_at_once_are_both_there() {
    model(
        "rooms_that_attach_at_once_are_both_there",
        Preemptions(3),
        || {
            let attached = Arc::new(Attached::default());
            let others = [Attached::attach::<1>, Attached::attach::<2>].map(|attach| {
                let attached = Arc::clone(&attached);
                thread::spawn(move || attach(&attached))
            });
            attached.attach::<2>();
            for other in others {
                other.join().expect("it does not panic");
            }
            let mut rooms = attached.rooms();
            rooms.sort_unstable();
            assert_eq!(rooms, [1, 2]);
        },
    );
}

#[test]
fn who_goes_through_all_sees_what_came_before_what_it_sees() {
    model(
        "who_goes_through_all_sees_what_came_before_what_it_sees",
        Exhaustive,
        || {
            let attached = Arc::new(Attached::default());
            let other = {
                let attached = Arc::clone(&attached);
                thread::spawn(move || {
                    attached.attach::<1>();
                    attached.attach::<2>();
                })
            };
            let rooms = attached.rooms();
            assert!([2, 1].ends_with(&rooms), "{rooms:?}");
            other.join().expect("it does not panic");
            assert_eq!(attached.rooms(), [2, 1]);
        },
    );
}
