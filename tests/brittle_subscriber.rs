//! A subscriber of `tracing` that panics in the middle of a change. A program of its own: whether anybody listens is
//! kept for the whole program.

#![cfg(feature = "world")]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::world::Universe;
use tracing::Metadata;
use tracing::subscriber::Interest;

/// Keeps what is said, and panics at each event, and when it is told of a place in the library from which spans may
/// come.
struct Burns(Arc<Mutex<Vec<String>>>);

thread_local! {
    /// Whether this thread listens by now: who begins to is told of all places that are known, outside of the library.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// Does something while it is told to `heard`.
fn listening<R>(heard: &Arc<Mutex<Vec<String>>>, act: impl FnOnce() -> R) -> R {
    tracing::subscriber::with_default(Burns(Arc::clone(heard)), || {
        LISTENS.set(true);
        let done = act();
        LISTENS.set(false);
        done
    })
}

/// What an event says.
#[derive(Default)]
struct Text(String);

impl tracing::field::Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{field}: {value:?}; "));
    }
}

impl tracing::Subscriber for Burns {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if LISTENS.get() && metadata.is_span() {
            resume_unwind(Box::new("new"));
        }
        Interest::sometimes()
    }
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        // Some systems have none.
        if text.0.contains("no huge pages") {
            return;
        }
        // What these tests are not about; it burns, too.
        if event.metadata().name() != "composition_added" {
            self.0.lock().unwrap().push(text.0);
        }
        resume_unwind(Box::new("heard"));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// Whether drops panic.
static ARMED: AtomicBool = AtomicBool::new(false);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Brittle(u8);

impl Drop for Brittle {
    fn drop(&mut self) {
        if ARMED.load(Ordering::Relaxed) {
            resume_unwind(Box::new("burnt"));
        }
    }
}

#[test]
fn a_change_is_whole_though_the_subscriber_that_hears_of_it_panics() {
    let heard = Arc::default();
    listening(&heard, || {
        let universe = Arc::new(Universe::new());
        let mut world = World::of(&universe).unwrap();
        world.set_chunk_size(1);
        let bundles = (0..2_800_u32).map(|n| {
            let values = ([0_u8; 40],);
            let team = Brittle((n / 700) as u8);
            values.shared(team).per_chunk(Brittle(9))
        });
        let ants: Vec<Entity> = world.create_batch(bundles).unwrap().iter(&world).collect();
        ARMED.store(true, Ordering::Relaxed);
        let calls: [&mut dyn FnMut(&mut World); 4] = [
            &mut |world| drop(world.destroy_slice(&ants[..750])),
            &mut |world| world.destroy(ants[751]).unwrap(),
            &mut |world| drop(world.remove_slice::<([u8; 40],)>(&ants[1_000..1_900])),
            &mut |world| assert!(world.clear() > 0),
        ];
        for call in calls {
            let panicked = catch_unwind(AssertUnwindSafe(|| call(&mut world))).is_err();
            assert!(!panicked, "nobody can be told");
            world.check().unwrap();
            universe.check([&world]).unwrap();
        }
        // Of what a world keeps, not of what is in its chunks, the panics come back.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(world)));
        assert_eq!(universe.chunk_stats().in_use, 0);
        universe.check([]).unwrap();
    });
    assert!(!heard.lock().unwrap().is_empty());
}

#[test]
fn a_trait_that_panics_while_a_template_is_built_is_named_before_the_panic_goes_on() {
    struct Gives(bool);
    impl EntityTrait for Gives {
        fn build(&self, _: &mut BuildContext<'_>) -> Result<(), TraitError> {
            assert!(self.0, "not today");
            Ok(())
        }

        fn validate(&self, _: &Template) -> Result<(), TraitError> {
            panic!("not that");
        }
    }
    let heard = Arc::default();
    listening(&heard, || {
        let world = World::new();
        for (gives, said) in [(false, "not today"), (true, "not that")] {
            let builder = TemplateBuilder::new("ant").with_class("generous", Gives(gives));
            let build = || drop(builder.finish(&world));
            let panic = catch_unwind(AssertUnwindSafe(build)).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&said));
            let heard = heard.lock().unwrap().pop().unwrap();
            assert!(
                heard.contains("ant") && heard.contains("generous"),
                "{heard}"
            );
        }
    });
}

#[test]
fn signals_that_heap_up_for_a_reader_are_said_to_and_again_when_they_are_twice_as_many() {
    let heard = Arc::default();
    listening(&heard, || {
        let said = || std::mem::take(&mut *heard.lock().unwrap());
        let mut world = World::new();
        let ants = vec![world.create((1_u8,)).unwrap(); 1_000_000];
        let hit = world.signal::<()>("hit").unwrap();
        let [mut slow, mut quick] = [(); 2].map(|()| {
            let mut reader = SignalReader::<Entity>::new(&world).unwrap();
            reader.subscribe(&mut world, hit).unwrap();
            reader
        });
        let mut run = |world: &mut World, ants: &[Entity]| {
            world.signals().send_all(hit, ants, &());
            assert_eq!(quick.deliver(world, |_, _| {}).signals, ants.len());
        };
        for few in [&ants[..], &[], &ants[..1]] {
            run(&mut world, few);
            assert_eq!(said(), [""; 0], "a million are not many");
        }
        run(&mut world, &[]);
        let first = said();
        assert_eq!(first.len(), 1, "{first:?}");
        assert!(first[0].contains("signal: \"hit\"") && first[0].contains("waiting: 1000001"));
        run(&mut world, &ants);
        run(&mut world, &[]);
        let second = said();
        assert_eq!(second.len(), 1, "{second:?}");
        assert!(second[0].contains("waiting: 2000001"));
        run(&mut world, &ants);
        assert_eq!(said(), [""; 0], "not twice as many");
        // Who runs may get as many at once.
        assert_eq!(slow.discard(&mut world), 3_000_001);
        run(&mut world, &ants);
        assert_eq!(slow.deliver(&mut world, |_, _| {}).signals, ants.len());
        assert_eq!(said(), [""; 0]);
        // It has caught up: what heaps up later is said anew.
        for more in [&ants[..], &ants[..1], &[]] {
            run(&mut world, more);
        }
        let anew = said();
        assert_eq!(anew.len(), 1, "{anew:?}");
        assert!(anew[0].contains("waiting: 1000001"), "{anew:?}");
    });
}

#[test]
fn delayed_signals_of_a_file_that_nobody_asks_for_are_said_to_end_once() {
    let state = || {
        let universe = Universe::new();
        universe.registry().register_state::<u32>().unwrap();
        universe
    };
    let heard = Arc::default();
    listening(&heard, || {
        let mut world = World::of(&Arc::new(state())).unwrap();
        let ant = world.create(()).unwrap();
        let after = |seconds| std::time::Duration::from_secs(seconds);
        let evil = "evil\n\u{1b}[31m".to_owned() + &"long".repeat(100);
        let names = (10..30).map(|n| format!("signal {n}")).chain([evil]);
        let all: Vec<_> = names
            .map(|name| world.signal::<u32>(&name).unwrap())
            .collect();
        let of_type = world.signal_of::<u32>();
        let mut signals = world.signals();
        for &signal in all.iter().chain([&of_type]) {
            signals.send_after(signal, ant, 1, after(1));
            signals.send_after(signal, ant, 2, after(2));
        }
        drop(signals);
        world.collect_signals();
        let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
        let said = || std::mem::take(&mut *heard.lock().unwrap());
        let mut loaded = World::from_snapshot(&file, state(), &Default::default()).unwrap();
        loaded.collect_signals();
        loaded.signal::<u32>("signal 10").unwrap();
        loaded.advance_time(after(1));
        let first = said();
        assert_eq!(first.len(), 1, "{first:?}");
        assert!(
            first[0].contains("count: 21") && first[0].contains(" and 13 more"),
            "{first:?}"
        );
        assert!(
            first[0].contains("that of u32, ") && !first[0].contains("signal 10"),
            "{first:?}"
        );
        assert!(
            first[0].contains(r"\u{1b}[31m") && first[0].len() < 700,
            "{first:?}"
        );
        assert_eq!(loaded.pending().delayed_signals, 22);
        loaded.advance_time(after(1));
        assert_eq!((said(), loaded.pending().delayed_signals), (vec![], 0));
        // Who was there hears nothing, as before.
        world.advance_time(after(3));
        assert_eq!(said(), [""; 0]);
    });
}

#[test]
fn what_a_flush_does_is_whole_though_who_hears_of_a_new_place_in_the_code_panics() {
    let heard = Arc::default();
    listening(&heard, || {
        let mut world = World::new();
        let hit = world.signal::<()>("hit").unwrap();
        let mut reader = SignalReader::<Entity>::new(&world).unwrap();
        reader.subscribe(&mut world, hit).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sees = Arc::clone(&seen);
        world
            .observe::<u8, ()>(Observed::COME, move |batch, _| {
                sees.lock().unwrap().extend(batch.entities());
            })
            .unwrap();
        let mut schedule = Schedule::new();
        let made = Arc::new(Mutex::new(Vec::new()));
        let makes = Arc::clone(&made);
        schedule.add(processor("make", move |mut commands: Commands<'_>| {
            let mut made = makes.lock().unwrap();
            for n in 0..5_u8 {
                // Two compositions: two calls of the observer.
                made.push(match n {
                    0 => commands.create((n, 1_u16)).unwrap(),
                    _ => commands.create((n,)).unwrap(),
                });
            }
        }));
        let tree = world.create(()).unwrap();
        world.signals().send(hit, tree, ());
        schedule.run(&mut world).unwrap();
        let (mut seen, made) = (seen.lock().unwrap().clone(), made.lock().unwrap());
        seen.sort();
        assert_eq!(seen, *made);
        world.check().unwrap();
    });
}
