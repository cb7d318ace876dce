//! States of an application: who runs in which, what is entered and left, who goes with it.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::said::{Said, run, said, say, world};
use megachunk::prelude::*;
use megachunk::processor::Transition;
use megachunk::world::Checkpoints;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Screen {
    Menu,
    Playing,
    Over,
}
megachunk::plain!(
    enum Screen {
        Menu,
        Playing,
        Over,
    }
);
use Screen::{Menu, Over, Playing};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pause {
    Off,
    By(Entity),
}

fn in_menu() -> World {
    let mut world = world();
    world.init_state(Menu);
    world
}

fn ask(world: &mut World, screen: Screen) {
    let next = world.resources_mut().get_mut::<NextState<Screen>>();
    next.unwrap().set(screen);
}

fn screen(world: &World) -> Screen {
    let state = world.resources().get::<State<Screen>>();
    state.unwrap().current()
}

/// Each says when it runs, before the transition and behind it.
fn all_say(schedule: &mut Schedule) {
    schedule.add_composite(state_transition::<Screen>("screen"));
    for behind in [false, true] {
        let place = |processor: ProcessorBuilder| match behind {
            false => processor.before("screen"),
            true => processor.after("screen"),
        };
        let name = |what: &str| format!("{what} {}", if behind { "behind" } else { "before" });
        schedule.add(place(say(&name("in menu")).run_if_in_state(Menu)));
        schedule.add(place(say(&name("menu entered")).run_if_entered(Menu)));
        schedule.add(place(say(&name("menu left")).run_if_left(Menu)));
        schedule.add(place(
            say(&name("menu to over")).run_if_transition(Menu, Over),
        ));
    }
}

#[test]
fn each_transition_is_heard_once_before_it_and_once_behind_it() {
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    all_say(&mut schedule);
    run(&mut schedule, &mut world);
    let first = ["in menu before", "in menu behind", "menu entered behind"];
    assert_eq!(said(&mut world), first);
    run(&mut schedule, &mut world);
    let second = ["in menu before", "menu entered before", "in menu behind"];
    assert_eq!(said(&mut world), second);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["in menu before", "in menu behind"]);
    ask(&mut world, Over);
    run(&mut schedule, &mut world);
    let left = ["in menu before", "menu left behind", "menu to over behind"];
    assert_eq!(said(&mut world), left);
    run(&mut schedule, &mut world);
    assert_eq!(
        said(&mut world),
        ["menu left before", "menu to over before"]
    );
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), [""; 0]);
    ask(&mut world, Menu);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["in menu behind", "menu entered behind"]);
}

#[test]
fn the_first_state_is_entered_before_what_was_asked_for() {
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    ask(&mut world, Playing);
    let mut seen = Vec::new();
    for _ in 0..3 {
        run(&mut schedule, &mut world);
        let state = world.resources().get::<State<Screen>>().unwrap();
        let transition = state.transition();
        seen.push(transition.map(|Transition { left, entered, .. }| (left, entered)));
    }
    assert_eq!(
        seen,
        [Some((None, Menu)), Some((Some(Menu), Playing)), None]
    );
}

#[test]
fn the_state_that_is_there_is_not_entered_again_unless_it_is_asked_for_anew() {
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    schedule.add(say("entered").after("screen").run_if_entered(Menu));
    schedule.add(say("left").after("screen").run_if_left(Menu));
    run(&mut schedule, &mut world);
    said(&mut world);
    ask(&mut world, Menu);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), [""; 0]);
    // Twice in a row: the transitions are equal, and each is one.
    for _ in 0..2 {
        let visitor = world.create((WithinState(Menu),)).unwrap();
        let next = world
            .resources_mut()
            .get_mut::<NextState<Screen>>()
            .unwrap();
        next.reenter(Menu);
        run(&mut schedule, &mut world);
        assert_eq!(said(&mut world), ["entered", "left"]);
        assert!(!world.exists(visitor));
    }
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), [""; 0]);
}

#[test]
fn the_last_who_asks_has_it_for_any_number_of_threads() {
    let last_of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| {
            let mut world = World::of(&Arc::new(Universe::ordered())).unwrap();
            world.init_state(0_u32);
            let _ = world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
            let mut schedule = Schedule::new();
            schedule.add_composite(state_transition::<u32>("number"));
            schedule.add(
                processor(
                    "ask",
                    |mut all: QueryRun<&u32>, commands: ParallelCommands| {
                        all.par_for_each_init(
                            |chunk| commands.open_at(chunk.sort_key()),
                            |commands, &n| {
                                if n % 7 == 3 {
                                    commands.set_state(n);
                                }
                            },
                        );
                    },
                )
                .before("number"),
            );
            schedule.run(&mut world).unwrap();
            schedule.run(&mut world).unwrap();
            world.resources().get::<State<u32>>().unwrap().current()
        })
    };
    let alone = last_of(1);
    assert_eq!(alone % 7, 3);
    assert_eq!([last_of(2), last_of(4)], [alone; 2]);

    // As resources: the order of the schedule.
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    schedule.add(processor("b", |next: &mut NextState<Screen>| next.set(Over)).after("a"));
    schedule.add(processor("a", |next: &mut NextState<Screen>| {
        next.set(Playing)
    }));
    schedule.add_composite(state_transition::<Screen>("screen").after("b"));
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    assert_eq!(screen(&world), Over);
}

#[test]
fn commands_recorded_before_the_transition_count_in_its_run() {
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    run(&mut schedule, &mut world);
    schedule
        .add(processor("ask", |mut commands: Commands| commands.set_state(Over)).before("screen"));
    schedule.add(say("entered").after("screen").run_if_entered(Over));
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["entered"]);
}

#[test]
fn who_lives_within_a_state_goes_with_it_in_whichever_role_and_nobody_else() {
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    run(&mut schedule, &mut world);
    let mut going = Vec::new();
    let mut staying = vec![world.create((1_u8,)).unwrap()];
    for (screen, whose) in [(Menu, &mut going), (Over, &mut staying)] {
        let batch = (0..1_000_u32).map(|n| (n,).shared(WithinState(screen)));
        whose.extend(world.create_batch(batch).unwrap().to_vec(&world));
        let batch = (0..1_000_u32).map(|n| (n, WithinState(screen)));
        whose.extend(world.create_batch(batch).unwrap().to_vec(&world));
        whose.push(
            world
                .create((1_i8,).const_shared(WithinState(screen)))
                .unwrap(),
        );
        let bundle = (screen as u8, 1_i16).per_chunk(WithinState(screen));
        if screen == Menu {
            whose.push(world.create(bundle).unwrap());
        }
    }
    // Whoever moves house lives there then.
    let moved = going.remove(0);
    world.set_shared(moved, WithinState(Over)).unwrap();
    staying.push(moved);
    ask(&mut world, Playing);
    run(&mut schedule, &mut world);
    assert!(!going.iter().any(|&entity| world.exists(entity)));
    assert!(staying.iter().all(|&entity| world.exists(entity)));
    assert_eq!(world.count(), staying.len());
    world.check().unwrap();
}

#[test]
fn who_runs_between_the_two_parts_sees_those_who_go() {
    let mut world = in_menu();
    world.create((5_u32, WithinState(Menu))).unwrap();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    let count =
        |mut all: QueryRun<&WithinState<Screen>>, state: &State<Screen>, said: &mut Said| {
            said.0
                .push(format!("{:?} {}", state.current(), all.count()));
        };
    schedule.add(
        processor("between", count)
            .after("screen.change")
            .before("screen.destroy")
            .run_if_left(Menu),
    );
    schedule.add(processor("behind", count).after("screen").run_if_left(Menu));
    run(&mut schedule, &mut world);
    ask(&mut world, Over);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["Over 1", "Over 0"]);
}

#[test]
fn several_states_change_beside_each_other() {
    let mut world = in_menu();
    let player = world.create(()).unwrap();
    world.init_state(Pause::Off);
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    schedule.add_composite(state_transition::<Pause>("pause").after("screen"));
    let go_on = processor("go on", |next: &mut NextState<Pause>| next.set(Pause::Off));
    schedule.add(go_on.after("screen").before("pause").run_if_left(Playing));
    schedule.add(say("goes on").after("pause").run_if_left(Pause::By(player)));
    run(&mut schedule, &mut world);
    ask(&mut world, Playing);
    let mut commands = world.commands();
    commands.set_state(Pause::By(player));
    drop(commands);
    run(&mut schedule, &mut world);
    let paused = world.resources().get::<State<Pause>>().unwrap();
    assert_eq!(
        (screen(&world), paused.current()),
        (Playing, Pause::By(player))
    );
    ask(&mut world, Menu);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), ["goes on"]);
}

#[test]
fn a_state_that_is_not_there_is_an_error_that_says_what_puts_it_there() {
    let advice = "`World::init_state` puts it there";
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    let refused = schedule.run(&mut world()).unwrap_err();
    assert!(
        matches!(&refused, ScheduleError::NoResource { processor, .. } if &**processor == "screen.change")
    );
    assert!(refused.to_string().contains(advice), "{refused}");

    let asks = |builder: ProcessorBuilder| {
        let mut schedule = Schedule::new();
        schedule.add(builder);
        schedule.run(&mut world()).unwrap_err().to_string()
    };
    let set = processor("set", |next: &mut NextState<Screen>| next.set(Menu));
    for refused in [asks(say("runs").run_if_in_state(Menu)), asks(set)] {
        assert!(refused.contains(advice), "{refused}");
    }

    let mut world = world();
    let mut commands = world.commands();
    commands.set_state(Menu);
    drop(commands);
    let report = world.flush();
    assert_eq!((report.refused.len(), report.is_clean()), (1, false));
    assert!(report.to_string().contains("Screen"), "{report}");
}

#[test]
fn a_state_that_stays_is_not_lent_to_be_written() {
    let mut world = in_menu();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    schedule.add(
        say("state")
            .after("screen")
            .run_if_changed::<State<Screen>>(),
    );
    schedule.add(
        say("next")
            .after("screen")
            .run_if_changed::<NextState<Screen>>(),
    );
    run(&mut schedule, &mut world);
    run(&mut schedule, &mut world);
    said(&mut world);
    run(&mut schedule, &mut world);
    assert_eq!(said(&mut world), [""; 0]);
}

/// Panics when it is dropped, once.
struct Brittle(bool);

impl Drop for Brittle {
    fn drop(&mut self) {
        assert!(!core::mem::take(&mut self.0), "broken");
    }
}

#[test]
fn a_panic_of_a_drop_leaves_the_new_state_and_nobody_of_the_old() {
    let mut world = in_menu();
    world
        .create((Brittle(true), WithinState(Menu)).shared(WithinState(Menu)))
        .unwrap();
    world.create((Brittle(false), WithinState(Menu))).unwrap();
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    run(&mut schedule, &mut world);
    ask(&mut world, Over);
    let ran = catch_unwind(AssertUnwindSafe(|| schedule.run(&mut world).map(drop)));
    assert!(ran.is_err());
    assert_eq!((screen(&world), world.count()), (Over, 1));
    run(&mut schedule, &mut world);
    assert_eq!((screen(&world), world.count()), (Over, 0));
    world.check().unwrap();
}

/// Twelve ticks: menu, and from the fourth on playing, two of them within it, and out again.
fn game(world: World) -> Simulation {
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<Screen>("screen"));
    let clock = |time: &Time, next: &mut NextState<Screen>| match time.tick {
        3 => next.set(Playing),
        6 => next.set(Over),
        _ => {}
    };
    schedule.add(processor("clock", clock).phase(Phase::FrameEnd));
    let count = |counts: &mut [u32; 2]| counts[0] += 1;
    schedule.add(
        processor("begin", count)
            .after("screen")
            .run_if_entered(Playing),
    );
    let count = |counts: &mut [u32; 2]| counts[1] += 1;
    schedule.add(
        processor("end", count)
            .before("screen")
            .run_if_left(Playing),
    );
    let spawn =
        |mut commands: Commands| _ = commands.create((7_u32, WithinState(Playing))).unwrap();
    schedule.add(
        processor("spawn", spawn)
            .after("screen")
            .run_if_in_state(Playing),
    );
    Simulation::new(world, schedule)
}

fn universe() -> Universe {
    let universe = Universe::ordered();
    universe.registry().register_plain::<u32>().unwrap();
    universe
        .registry()
        .register_state_as::<[u32; 2]>("counts")
        .unwrap();
    Time::register(universe.registry()).unwrap();
    State::<Screen>::register(universe.registry(), "screen").unwrap();
    universe
}

const TICK: Duration = Duration::from_millis(16);

#[test]
fn states_go_back_in_place_with_what_was_asked_for_and_who_lives_within_them() {
    let fresh = || {
        let mut world = World::of(&Arc::new(universe())).unwrap();
        world.init_state(Menu);
        world.resources_mut().insert([0_u32; 2]);
        game(world)
    };
    let (mut straight, mut back) = (fresh(), fresh());
    let mut hashes = Vec::new();
    for _ in 0..12 {
        straight.advance(TICK).unwrap();
        hashes.push(straight.world().state_hash(&Default::default()).unwrap());
    }
    assert_eq!(straight.world().resources().get(), Some(&[1_u32, 1]));
    assert_eq!(screen(straight.world()), Over);
    assert_eq!(straight.world().count(), 0);
    // From each tick on.
    let mut checkpoints = Checkpoints::new(16);
    let mut at = Vec::new();
    for _ in 0..12 {
        at.push(checkpoints.take(back.world_mut()).unwrap());
        back.advance(TICK).unwrap();
    }
    for tick in (0..12).rev() {
        back.roll_back(&mut checkpoints, at[tick]).unwrap();
        assert_eq!(back.tick(), tick as u64);
        for hash in &hashes[tick..] {
            back.advance(TICK).unwrap();
            assert_eq!(
                back.world().state_hash(&Default::default()).unwrap(),
                *hash,
                "from {tick}"
            );
        }
    }
    assert_eq!(back.world().resources().get(), Some(&[1_u32, 1]));
}

#[test]
fn states_are_saved_and_loaded_at_each_moment() {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    world.init_state(Menu);
    world.resources_mut().insert([0_u32; 2]);
    let mut played = game(world);
    let mut saved = Vec::new();
    for _ in 0..12 {
        assert!(played.world().unsaved(&SnapshotOptions::new()).is_empty());
        saved.push(played.world().to_snapshot(&SnapshotOptions::new()).unwrap());
        played.advance(TICK).unwrap();
    }
    let end = played.world().state_hash(&Default::default()).unwrap();
    for (tick, saved) in saved.iter().enumerate() {
        drop(
            played.roll_back_to(
                World::from_snapshot(saved, universe(), &Default::default()).unwrap(),
            ),
        );
        played.world_mut().init_state(Over);
        // The first was made before any tick: there is no time in it.
        let ticks = if tick == 0 { 0 } else { played.tick() };
        assert_eq!(ticks, tick as u64);
        for _ in ticks..12 {
            played.advance(TICK).unwrap();
        }
        assert_eq!(
            played.world().state_hash(&Default::default()).unwrap(),
            end,
            "from {tick}"
        );
        assert_eq!(
            played.world().resources().get(),
            Some(&[1_u32, 1]),
            "from {tick}"
        );
    }
}

#[test]
fn states_with_fields_are_saved_and_name_whom_they_named() {
    let register = |universe: &Universe| {
        State::register_with(
            universe.registry(),
            "pause",
            |pause: &Pause, bytes| match pause {
                Pause::Off => {}
                Pause::By(who) => bytes.extend(who.to_bits().to_le_bytes()),
            },
            |bytes, entities| match <[u8; 8]>::try_from(bytes) {
                Err(_) if bytes.is_empty() => Ok(Pause::Off),
                Ok(bits) => {
                    let mut who =
                        Entity::try_from_bits(u64::from_le_bytes(bits)).ok_or("nobody")?;
                    entities.apply(&mut who);
                    Ok(Pause::By(who))
                }
                Err(_) => Err("half a handle"),
            },
        )
    };
    let mut world = World::new();
    register(world.universe()).unwrap();
    let player = world.create(()).unwrap();
    world.init_state(Pause::By(player));
    world.create((WithinState(Pause::Off), 1_u8)).unwrap();
    world
        .create((2_u8,).shared(WithinState(Pause::By(player))))
        .unwrap();
    world.registry().register_plain::<u8>().unwrap();
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let others = EntityMap::default();
    let (copy, come) =
        World::from_snapshot_remapped(&saved, world.universe(), &others, &Default::default())
            .unwrap();
    let player = come.get(player).unwrap();
    let state = copy.resources().get::<State<Pause>>().unwrap();
    assert_eq!(state.current(), Pause::By(player));
    let mut within = copy.read::<&WithinState<Pause>, ()>().unwrap();
    assert_eq!(within.iter().next(), Some(&WithinState(Pause::Off)));
    let mut shared = copy
        .read::<Entity, With<Shared<WithinState<Pause>>>>()
        .unwrap();
    let who = shared.iter().next().unwrap();
    assert_eq!(
        copy.shared::<WithinState<Pause>>(who).unwrap(),
        &WithinState(Pause::By(player))
    );
}
