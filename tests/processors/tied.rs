//! Values that are tied to a thread: lent there, and nowhere else.

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::said::{run, world};
use megachunk::prelude::*;
use megachunk::processor::Tied;

/// Counts its drops, and is no other thread's.
struct Counts(Arc<AtomicU32>, Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The same of one that is left behind: it has no memory that could be lost, which sanitizers look for.
struct Left(&'static AtomicU32, PhantomData<Rc<()>>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_bound_processor_has_what_is_tied_to_the_thread_of_the_schedule() {
    let count = Rc::new(Cell::new(0_u32));
    let mut world = world();
    world.resources_mut().insert(Tied::new(Rc::clone(&count)));
    let mut schedule = Schedule::new();
    schedule.set_execution(Execution::Beside);
    for n in 0..20 {
        schedule.add(processor(format!("other {n}"), || {}));
    }
    schedule.add(
        processor("draw", |count: &mut Tied<Rc<Cell<u32>>>| {
            let count = count.get_mut().expect("this is its thread");
            count.set(count.get() + 1);
        })
        .main_thread(),
    );
    for _ in 0..50 {
        run(&mut schedule, &mut world);
    }
    assert_eq!(count.get(), 50);
    // In a pool it is one of the pool's threads that runs the schedule.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let seen = pool.unwrap().install(|| {
        let tied = world.resources().get::<Tied<Rc<Cell<u32>>>>().unwrap();
        (tied.is_here(), tied.get().is_some())
    });
    assert_eq!(seen, (false, false));
}

#[test]
fn elsewhere_it_is_neither_lent_nor_shown_nor_taken_out() {
    let drops = Arc::new(AtomicU32::new(0));
    let count = Rc::new(Cell::new(7));
    let mut tied = Tied::new(Counts(Arc::clone(&drops), Rc::clone(&count)));
    assert_eq!(tied.get().unwrap().1.get(), 7);
    tied = thread::spawn(move || {
        assert!(!tied.is_here() && tied.get().is_none() && tied.get_mut().is_none());
        tied.into_inner().err().expect("it is not this thread's")
    })
    .join()
    .unwrap();
    tied.get_mut().unwrap().1.set(8);
    assert_eq!((count.get(), drops.load(Ordering::Relaxed)), (8, 0));
    let Ok(counts) = tied.into_inner() else {
        panic!("it is this thread's");
    };
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(counts);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert_eq!(Rc::strong_count(&count), 1);

    let shown = Tied::new(Rc::new(5));
    assert_eq!(format!("{shown:?}"), "Tied(5)");
    let shown = thread::scope(|threads| threads.spawn(|| format!("{shown:?}")).join());
    assert_eq!(shown.unwrap(), "Tied(elsewhere)");
}

#[test]
fn it_ends_on_its_own_thread_and_leaks_on_another() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    let new = || Tied::new(Left(&DROPS, PhantomData));
    drop(new());
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    let tied = new();
    thread::spawn(move || drop(tied)).join().unwrap();
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    // With a world, too.
    let mut world = world();
    world.resources_mut().insert(new());
    thread::spawn(move || drop(world)).join().unwrap();
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
}

/// The system gives what a thread had to the next: that is another one all the same.
#[test]
fn what_was_tied_to_a_thread_that_has_ended_is_nobodys() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    for _ in 0..20 {
        let make = || Tied::new(Left(&DROPS, PhantomData));
        let tied = thread::spawn(make).join().unwrap();
        let tied = thread::spawn(move || {
            assert!(tied.get().is_none());
            tied
        });
        assert!(tied.join().unwrap().get().is_none());
    }
    assert_eq!(DROPS.load(Ordering::Relaxed), 0);
}

/// Where a thread ends, values that it keeps are dropped last: they are its own still.
#[test]
fn what_a_thread_keeps_ends_with_it() {
    thread_local! {
        static KEPT: Cell<Option<Tied<Counts>>> = const { Cell::new(None) };
    }
    let drops = Arc::new(AtomicU32::new(0));
    let of = Arc::clone(&drops);
    thread::spawn(move || {
        KEPT.with(|kept| kept.set(Some(Tied::new(Counts(of, Rc::default())))));
    })
    .join()
    .unwrap();
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}
