//! States that were saved are read by a program that has others by now.

use std::sync::Arc;

use megachunk::fragment::Plain;
use megachunk::prelude::*;
use megachunk::processor::Transition;
use megachunk::world::SnapshotSummary;

mod then {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub(super) enum Screen {
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
}

/// With more states, in another order, of other numbers, and two bytes each.
mod now {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u16)]
    pub(super) enum Screen {
        Intro,
        Over = 700,
        Playing,
        Menu,
    }
    megachunk::plain!(
        enum Screen {
            Intro,
            Over,
            Playing,
            Menu,
        }
    );
}

/// With one less.
mod less {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(u8)]
    pub(super) enum Screen {
        Menu,
        Playing,
    }
    megachunk::plain!(
        enum Screen {
            Menu,
            Playing,
        }
    );
}

fn universe<S: megachunk::processor::States + Plain>() -> Universe {
    let universe = Universe::new();
    State::<S>::register(universe.registry(), "screen").unwrap();
    let per_chunk = universe
        .registry()
        .register_plain_as::<PerChunk<WithinState<S>>>("screen.within.chunk");
    per_chunk.unwrap();
    universe
        .registry()
        .register_plain_as::<u32>("number")
        .unwrap();
    universe
}

/// A world that has gone from the menu to the game, in which the end is asked for, and who lives within which state.
fn played() -> World {
    use then::Screen::{Menu, Over, Playing};
    let mut world = World::of(&Arc::new(universe::<then::Screen>())).unwrap();
    world.init_state(Menu);
    let mut schedule = Schedule::new();
    schedule.add_composite(state_transition::<then::Screen>("screen"));
    schedule.run(&mut world).unwrap();
    let mut commands = world.commands();
    commands.set_state(Playing);
    drop(commands);
    schedule.run(&mut world).unwrap();
    let next = world.resources_mut().get_mut::<NextState<then::Screen>>();
    next.unwrap().reenter(Over);
    world
}

fn load<S: megachunk::processor::States + Plain>(saved: &[u8]) -> Result<World, SnapshotError> {
    World::from_snapshot(saved, universe::<S>(), &Default::default())
}

#[test]
fn an_enum_with_more_states_finds_those_of_old_files_by_their_names() {
    let mut world = played();
    let each = [
        then::Screen::Menu,
        then::Screen::Playing,
        then::Screen::Over,
    ];
    let of = each.map(|screen| {
        [
            world.create((WithinState(screen), screen as u32)).unwrap(),
            world
                .create((screen as u32,).shared(WithinState(screen)))
                .unwrap(),
            world
                .create((screen as u32,).per_chunk(WithinState(screen)))
                .unwrap(),
        ]
    });
    let saved = world.to_snapshot(&Default::default()).unwrap();
    assert_eq!(SnapshotSummary::of(&saved).unwrap().format, 7);
    let same = load::<then::Screen>(&saved).unwrap();
    assert_eq!(
        same.state_hash(&Default::default()).unwrap(),
        world.state_hash(&Default::default()).unwrap()
    );

    use now::Screen::{Menu, Over, Playing};
    let world = load::<now::Screen>(&saved).unwrap();
    let state = world.resources().get::<State<now::Screen>>().unwrap();
    assert_eq!(state.current(), Playing);
    let transition = state
        .transition()
        .map(|Transition { left, entered, .. }| (left, entered));
    assert_eq!(transition, Some((Some(Menu), Playing)));
    let next = world.resources().get::<NextState<now::Screen>>().unwrap();
    assert_eq!(next.asked(), Some(Over));
    for ([own, shared, in_chunk], screen) in of.into_iter().zip([Menu, Playing, Over]) {
        let within = WithinState(screen);
        assert_eq!(world.get::<WithinState<now::Screen>>(own).unwrap(), &within);
        assert_eq!(
            world.shared::<WithinState<now::Screen>>(shared).unwrap(),
            &within
        );
        // The last who came to a chunk has its value.
        assert!(
            world
                .has::<PerChunk<WithinState<now::Screen>>>(in_chunk)
                .unwrap()
        );
    }
    world.check().unwrap();
    // What is saved now is read again, and with new ids.
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let (copy, come) = World::from_snapshot_remapped(
        &saved,
        world.universe(),
        &Default::default(),
        &Default::default(),
    )
    .unwrap();
    let over = come.get(of[2][0]).unwrap();
    assert_eq!(copy.get::<WithinState<now::Screen>>(over).unwrap().0, Over);
}

#[test]
fn a_state_that_the_enum_does_not_have_any_more_is_refused_by_its_name() {
    // Nobody was ever in it, and it is not asked for.
    let mut world = played();
    let next = world.resources_mut().get_mut::<NextState<then::Screen>>();
    next.unwrap().cancel();
    let stays = world.create((WithinState(then::Screen::Playing),)).unwrap();
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let loaded = load::<less::Screen>(&saved).unwrap();
    let within = loaded.get::<WithinState<less::Screen>>(stays).unwrap();
    assert_eq!(within.0, less::Screen::Playing);

    let over = then::Screen::Over;
    let next = world.resources_mut().get_mut::<NextState<then::Screen>>();
    next.unwrap().set(over);
    let asks = world.to_snapshot(&Default::default()).unwrap();
    let refused = load::<less::Screen>(&asks).unwrap_err();
    assert!(
        matches!(&refused, SnapshotError::StateNotRead { name, .. } if &**name == "screen.next"),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("no variant `Over`"),
        "{refused}"
    );
    let next = world.resources_mut().get_mut::<NextState<then::Screen>>();
    next.unwrap().cancel();

    let lives = world.create((WithinState(over),)).unwrap();
    let own = world.to_snapshot(&Default::default()).unwrap();
    world.destroy(lives).unwrap();
    let _ = world.create((1_u32,).shared(WithinState(over))).unwrap();
    let shared = world.to_snapshot(&Default::default()).unwrap();
    for (saved, of) in [(&own, "screen.within"), (&shared, "screen.within.shared")] {
        let refused = load::<less::Screen>(saved).unwrap_err();
        assert!(
            matches!(&refused, SnapshotError::NotRead { name, .. } if &**name == of),
            "{refused}"
        );
        assert!(
            refused.to_string().contains("no variant `Over`"),
            "{refused}"
        );
    }
    // It can become another.
    let become_playing = |old: WithinState<then::Screen>| match old.0 {
        then::Screen::Menu => WithinState(less::Screen::Menu),
        _ => WithinState(less::Screen::Playing),
    };
    let options = LoadOptions::new().convert("screen.within", become_playing);
    let world = World::from_snapshot(&own, universe::<less::Screen>(), &options).unwrap();
    let within = world.get::<WithinState<less::Screen>>(lives).unwrap();
    assert_eq!(within.0, less::Screen::Playing);
}

/// A state as it was written before its name was.
struct Before;

#[test]
fn files_from_before_states_had_names_are_read_by_the_same_enum() {
    let universe_before = Universe::new();
    let registry = universe_before.registry();
    let bytes = [
        &[0_u8][..],
        &9_u64.to_le_bytes(),
        &then::Screen::SHAPE.to_le_bytes(),
        &[then::Screen::Over as u8],
    ]
    .concat();
    registry
        .register_state_with(
            "screen",
            move |_: &Before, out| out.extend(&bytes),
            |_, _| Ok::<_, String>(Before),
        )
        .unwrap();
    registry
        .register_plain_as::<then::Screen>("screen.within")
        .unwrap();
    let mut world = World::of(&Arc::new(universe_before)).unwrap();
    world.resources_mut().insert(Before);
    let lives = world.create((then::Screen::Playing,)).unwrap();
    let saved = world.to_snapshot(&Default::default()).unwrap();
    assert_eq!(SnapshotSummary::of(&saved).unwrap().format, 5);
    let loaded = load::<then::Screen>(&saved).unwrap();
    let state = loaded.resources().get::<State<then::Screen>>().unwrap();
    assert!(state.is(then::Screen::Over));
    let within = loaded.get::<WithinState<then::Screen>>(lives).unwrap();
    assert_eq!(within.0, then::Screen::Playing);
    assert!(matches!(
        load::<now::Screen>(&saved).unwrap_err(),
        SnapshotError::Layout { .. }
    ));
    world.destroy(lives).unwrap();
    let saved = world.to_snapshot(&Default::default()).unwrap();
    let refused = load::<now::Screen>(&saved).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::StateNotRead { .. }),
        "{refused}"
    );
}

#[test]
fn a_file_in_which_nobody_lives_within_a_state_is_of_the_format_that_it_was() {
    let saved = played().to_snapshot(&Default::default()).unwrap();
    assert_eq!(SnapshotSummary::of(&saved).unwrap().format, 5);
    // Of what is no enum there are no names.
    let mut world = World::of(&Arc::new(universe::<u64>())).unwrap();
    world.init_state(7_u64);
    world.create((WithinState(7_u64),)).unwrap();
    let saved = world.to_snapshot(&Default::default()).unwrap();
    assert_eq!(SnapshotSummary::of(&saved).unwrap().format, 5);
    let loaded = load::<u64>(&saved).unwrap();
    assert!(loaded.resources().get::<State<u64>>().unwrap().is(7));
}

#[test]
fn states_that_have_names_in_a_file_and_none_here_are_refused() {
    let saved = played().to_snapshot(&Default::default()).unwrap();
    let refused = load::<u64>(&saved).unwrap_err();
    assert!(refused.to_string().contains("by their names"), "{refused}");
}
