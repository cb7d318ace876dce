//! States of a game: a menu, a level that is played and paused, and the menu again.
//!
//! ```text
//! cargo run --example screens
//! ```
//!
//! Two types of states: which screen is shown, and whether the game is paused. Processors run in some of them, or once when
//! one is entered or left; what belongs to the level is gone when that is left. Each says what it does.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters without them"
)]

use std::time::Duration;

use megachunk::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Screen {
    Menu,
    Playing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pause {
    Running,
    Paused,
}

/// Which key is down in which tick, instead of a keyboard.
const KEYS: [(u64, Key); 4] = [
    (1, Key::Start),
    (3, Key::Pause),
    (5, Key::Pause),
    (7, Key::Quit),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    None,
    Start,
    Pause,
    Quit,
}

struct Height(f32);
struct Score(u32);
#[derive(Default)]
struct Log(Vec<String>);

impl Log {
    fn say(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }
}

fn read_keys(key: &mut Key, time: &Time) {
    let down = KEYS.iter().find(|(tick, _)| *tick == time.tick);
    *key = down.map_or(Key::None, |(_, key)| *key);
}

fn menu(key: &Key, next: &mut NextState<Screen>, log: &mut Log) {
    log.say("menu: start?");
    if *key == Key::Start {
        next.set(Screen::Playing);
    }
}

fn play(key: &Key, pause: &State<Pause>, mut commands: Commands) {
    match key {
        // Commands, because it is seldom: nobody has to wait for a processor that could ask.
        Key::Pause if pause.is(Pause::Running) => commands.set_state(Pause::Paused),
        Key::Pause => commands.set_state(Pause::Running),
        Key::Quit => commands.set_state(Screen::Menu),
        Key::None | Key::Start => {}
    }
}

fn build_level(mut commands: Commands, log: &mut Log) -> ProcessorResult {
    // They share what they live within, so they lie in chunks of their own, and go as such.
    let apples =
        (0..1_000_u16).map(|n| (Height(f32::from(n)),).shared(WithinState(Screen::Playing)));
    let _ = commands.create_batch(apples)?;
    commands.create((Score(0), WithinState(Screen::Playing)))?;
    log.say("level built");
    Ok(())
}

fn fall(mut apples: QueryRun<&mut Height>, mut score: QueryRun<&mut Score>, log: &mut Log) {
    apples.par_for_each(|height| height.0 -= 1.0);
    score.for_each(|score| score.0 += 10);
    log.say("apples fall");
}

fn keep_score(mut scores: QueryRun<&Score>, log: &mut Log) {
    if let Some(score) = scores.single() {
        log.say(format!("score: {}", score.0));
    }
}

fn schedule() -> Schedule {
    let mut schedule = Schedule::new();
    schedule
        .add(processor("keys", read_keys).before("screen"))
        .add_composite(state_transition::<Screen>("screen"))
        .add_composite(state_transition::<Pause>("pause").after("screen"))
        // The level is there still, and the menu is the state already.
        .add(
            processor("keep score", keep_score)
                .after("screen.change")
                .before("screen.destroy")
                .run_if_left(Screen::Playing),
        )
        // Who leaves the level does not stay paused.
        .add(
            processor("go on", |next: &mut NextState<Pause>| {
                next.set(Pause::Running)
            })
            .after("screen")
            .before("pause")
            .run_if_left(Screen::Playing),
        )
        .add(
            processor("build level", build_level)
                .after("pause")
                .run_if_entered(Screen::Playing),
        );
    let say =
        |name: &'static str| processor(name, move |log: &mut Log| log.say(name)).after("pause");
    schedule
        .add(say("paused").run_if_entered(Pause::Paused))
        .add(say("goes on").run_if_transition(Pause::Paused, Pause::Running))
        .add(
            processor("menu", menu)
                .phase(Phase::DuringPhysics)
                .run_if_in_state(Screen::Menu),
        )
        .add(
            processor("play", play)
                .phase(Phase::DuringPhysics)
                .run_if_in_state(Screen::Playing),
        )
        .add(
            processor("fall", fall)
                .phase(Phase::DuringPhysics)
                .run_if_in_state(Screen::Playing)
                .run_if_in_state(Pause::Running),
        );
    schedule
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    world.init_state(Screen::Menu).init_state(Pause::Running);
    world.resources_mut().insert(Key::None);
    world.resources_mut().insert(Log::default());
    let mut game = Simulation::new(world, schedule());
    let mut told = Vec::new();
    println!("tick  screen   pause    entities  what happened");
    for tick in 0..10 {
        game.advance(Duration::from_millis(16))?;
        let log = game.world_mut().resources_mut().get_mut::<Log>();
        let happened = std::mem::take(&mut log.ok_or("no log")?.0).join(", ");
        let resources = game.world().resources();
        let screen = resources.get::<State<Screen>>().ok_or("no screen")?;
        let pause = resources.get::<State<Pause>>().ok_or("no pause")?;
        let (screen, pause) = (screen.current(), pause.current());
        let count = game.world().count();
        println!(
            "{tick:>4}  {:<7}  {:<7}  {count:>8}  {happened}",
            format!("{screen:?}"),
            format!("{pause:?}")
        );
        told.push((screen, pause, count, happened));
    }
    // Menu, playing, paused, playing, menu: and nothing of the level is left.
    let screens: Vec<_> = told
        .iter()
        .map(|&(screen, pause, ..)| (screen, pause))
        .collect();
    let mut stages = screens.clone();
    stages.dedup();
    assert_eq!(
        stages,
        [
            (Screen::Menu, Pause::Running),
            (Screen::Playing, Pause::Running),
            (Screen::Playing, Pause::Paused),
            (Screen::Playing, Pause::Running),
            (Screen::Menu, Pause::Running),
        ]
    );
    assert_eq!(told[9].2, 0);
    Ok(())
}
