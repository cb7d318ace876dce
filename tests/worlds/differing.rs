//! In what two states differ: by a number for each part, and thing by thing.
//!
//! * state hashes are equal exactly if all parts are, and exactly if there is no difference to tell;
//! * neither depends on the past, on where memory lies, on numbers of fragments, or on threads;
//! * a file says of itself what the world says that was saved.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::fragment::FragmentRegistry;
use megachunk::prelude::*;
use megachunk::world::{
    Difference, SnapshotOptions, SnapshotState, StateFragment, StateHashes, StatePart,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::snapshot_world::{Asleep, Position, Team, register, small_world, universe};

fn all() -> SnapshotOptions {
    SnapshotOptions::new()
}

fn ordered(register: impl Fn(&FragmentRegistry)) -> World {
    let universe = Arc::new(Universe::ordered());
    register(universe.registry());
    World::of(&universe).unwrap()
}

fn hashes(world: &World) -> StateHashes {
    world.state_hashes(&all()).unwrap()
}

pub(crate) fn lines(here: &World, there: &World) -> Vec<String> {
    let mut lines = Vec::new();
    let told = here.differences(there, &all(), |difference| {
        lines.push(difference.to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(told, Ok(lines.len()));
    lines
}

/// The parts that differ, as lines.
fn parts(here: &World, there: &World) -> Vec<String> {
    let (one, two) = (hashes(here), hashes(there));
    one.differing(&two).map(|part| part.to_string()).collect()
}

/// What is done to a world, to one of those who were created, with one of few values.
type Deed = (u8, u8, u8);

fn deeds(most: usize) -> impl Strategy<Value = Vec<Deed>> {
    proptest::collection::vec((0..13_u8, 0..6_u8, 0..2_u8), 0..most)
}

/// Does something; what is refused changes nothing.
fn act(world: &mut World, all: &mut Vec<Entity>, (deed, who, value): Deed) {
    let entity = all.get(usize::from(who)).copied();
    let entity = entity.unwrap_or(Entity::PLACEHOLDER);
    let is_one = value == 1;
    match deed {
        0 | 1 => {
            let position = Position {
                x: value.into(),
                y: 0.0,
            };
            all.push(world.create((position,)).unwrap());
        }
        2 => _ = world.destroy(entity),
        3 => _ = world.add(entity, (u64::from(value),)),
        4 => _ = world.remove::<(u64,)>(entity),
        5 => _ = world.add(entity, ().shared(Team(value.into()))),
        6 => _ = world.add(entity, (Asleep,).const_shared(value)),
        7 => _ = world.set_enabled::<Asleep>(entity, is_one),
        8 => _ = world.add(entity, ([value; 3],)),
        9 => _ = world.set_enabled::<[u8; 3]>(entity, is_one),
        10 => _ = world.add(entity, ().per_chunk(i64::from(value))),
        11 if is_one => _ = world.resources_mut().insert(entity),
        11 => _ = world.resources_mut().remove::<Entity>(),
        _ => _ = world.set_name(entity, if is_one { "ant" } else { "bee" }),
    }
}

/// All that must hold of two worlds; whether they are in the same state.
fn check(here: &World, there: &World) -> bool {
    let same = here.state_hash(&Default::default()).unwrap()
        == there.state_hash(&Default::default()).unwrap();
    let (ours, theirs) = (hashes(here), hashes(there));
    assert_eq!(ours == theirs, same);
    assert_eq!(ours.differing(&theirs).next().is_none(), same);
    let (told, back) = (lines(here, there), lines(there, here));
    assert_eq!(told.is_empty(), same, "{told:?}");
    assert_eq!(told.len(), back.len());
    let first = here.first_differences(there, &all(), 2).unwrap();
    let first: Vec<String> = first.iter().map(ToString::to_string).collect();
    assert_eq!(first, told[..told.len().min(2)]);
    // Each kind of difference is a part that differs, and the other way round.
    let mut of_told = BTreeSet::new();
    here.differences(there, &all(), |difference| {
        let name = |fragment: &StateFragment<'_>| fragment.name.to_string().into_boxed_str();
        match &difference {
            Difference::Value { fragment, .. } | Difference::Shared { fragment, .. } => {
                let kind = fragment.kind;
                of_told.insert(StatePart::Fragment {
                    name: name(fragment),
                    kind,
                });
            }
            Difference::Switch { fragment, .. } => {
                let kind = fragment.kind;
                of_told.insert(StatePart::Switches {
                    name: name(fragment),
                    kind,
                });
            }
            Difference::Resource { name, .. } => {
                of_told.insert(StatePart::Resource {
                    name: (**name).into(),
                });
            }
            _ => _ = of_told.insert(StatePart::Entities),
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    let differing: BTreeSet<StatePart> = ours
        .differing(&theirs)
        .map(|differs| differs.part.clone())
        .collect();
    assert!(of_told.is_subset(&differing), "{of_told:?} {differing:?}");
    if !of_told.contains(&StatePart::Entities) {
        assert_eq!(of_told, differing);
    }
    same
}

#[test]
fn hashes_are_equal_where_all_parts_are_and_where_nothing_differs() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(400));
    let [same, different] = [Cell::new(0_u32), Cell::new(0)];
    let strategy = (deeds(24), deeds(3), deeds(3));
    let ran = runner.run(&strategy, |(together, here, there)| {
        let mut worlds = [here, there].map(|apart| {
            let (mut world, mut all) = (ordered(register), Vec::new());
            for deed in together.iter().copied().chain(apart) {
                act(&mut world, &mut all, deed);
            }
            world
        });
        let counter = if check(&worlds[0], &worlds[1]) {
            &same
        } else {
            &different
        };
        counter.set(counter.get() + 1);
        for world in &mut worlds {
            check_file(world);
        }
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        same.get() > 20 && different.get() > 20,
        "{same:?} {different:?}"
    );
}

/// The file of a world says of itself what the world does, and what comes of it is the same state.
fn check_file(world: &World) {
    let file = world.to_snapshot(&all()).unwrap();
    let state = SnapshotState::of(&file).unwrap();
    assert_eq!(state.worlds(), 1);
    let all = hashes(world);
    let mut left = all.iter().len();
    for (part, number) in &all {
        left -= 1;
        let same = all.iter().find(|(of, _)| *of == part);
        assert_eq!(same, Some((part, number)));
    }
    assert_eq!(left, 0);
    assert_eq!(state.state_hashes(0), Some(hashes(world)));
    assert_eq!(state.state_hashes(1), None);
    let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    assert!(check(world, &loaded));
}

#[test]
fn a_world_with_something_of_everything_is_as_its_file_says() {
    for count in [0, 1, 40, 1_000] {
        let (world, _) = small_world(count);
        check_file(&world);
    }
}

#[test]
fn parts_do_not_depend_on_the_past_or_on_threads() {
    const COUNT: u32 = 30_000;
    let register = |registry: &FragmentRegistry| {
        registry.register_plain::<u32>().unwrap();
        registry.register_plain::<u8>().unwrap();
        registry.register_enableable::<u32>().unwrap();
    };
    let mut one = ordered(register);
    let mut two = ordered(|registry| {
        registry.register_plain::<u8>().unwrap();
        registry.register_plain::<i16>().unwrap();
        register(registry);
    });
    two.set_chunk_size(5);
    let ants: Vec<Entity> = (0..COUNT).map(|n| one.create((n, 1_u8)).unwrap()).collect();
    let bees: Vec<Entity> = (0..COUNT).map(|_| two.create((1_u8,)).unwrap()).collect();
    assert_eq!(ants, bees);
    for (n, &bee) in (0..COUNT).zip(&bees).rev() {
        two.add(bee, (n, 1_i16)).unwrap();
    }
    for &bee in &bees {
        two.remove::<(i16,)>(bee).unwrap();
    }
    // Bits that were off once are as if there were none.
    two.set_enabled::<u32>(bees[7], false).unwrap();
    assert_eq!(
        parts(&one, &two),
        ["who has the fragment u32 switched off is only there"]
    );
    two.set_enabled::<u32>(bees[7], true).unwrap();
    assert!(check(&one, &two));
    let on = |threads: usize, world: &World| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| hashes(world))
    };
    for threads in [1, 2, 5] {
        assert_eq!(on(threads, &two), hashes(&one));
    }
    *two.get_mut::<u32>(bees[29_999]).unwrap() = 7;
    assert_eq!(parts(&one, &two), ["the fragment u32 differs"]);
    let told = lines(&one, &two);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with(&format!("{}: fragment u32 differs at byte ", bees[29_999])));
}

#[test]
fn each_kind_of_difference_is_told_in_order_and_in_its_part() {
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    struct Long([u8; 64]);
    megachunk::plain!(Long { 0 });
    let register = |registry: &FragmentRegistry| {
        registry.register_plain_as::<u8>("small").unwrap();
        registry.register_plain_as::<Long>("long").unwrap();
        registry.register_plain::<Shared<u16>>().unwrap();
        registry.register_plain::<ConstShared<u16>>().unwrap();
        registry.register_plain::<PerChunk<i8>>().unwrap();
        registry.register_enableable::<u8>().unwrap();
        registry.register_state_as::<u32>("score").unwrap();
    };
    let mut worlds = [ordered(register), ordered(register)];
    let mut who = Vec::new();
    for world in &mut worlds {
        who.clear();
        for _ in 0..8 {
            let bundle = (1_u8, Long([0; 64]));
            who.push(
                world
                    .create(bundle.shared(5_u16).const_shared(6_u16))
                    .unwrap(),
            );
        }
        world.resources_mut().insert(3_u32);
    }
    let [mut here, mut there] = worlds;
    assert!(check(&here, &there));
    let name = |at: usize| who[at].to_string();
    // Backwards: what is told is in order all the same.
    there.resources_mut().insert(0x0403_u32);
    here.set_enabled::<u8>(who[6], false).unwrap();
    here.remove::<ConstShared<u16>>(who[5]).unwrap();
    here.add(who[5], ().const_shared(0x0706_u16)).unwrap();
    there.add(who[4], ().shared(0x0505_u16)).unwrap();
    there.remove::<(u8,)>(who[3]).unwrap();
    there.add(who[3], ().per_chunk(9_i8)).unwrap();
    let mut long = Long([0; 64]);
    long.0[40] = 0xab;
    here.add(who[2], (2_u8, long)).unwrap();
    there.destroy(who[1]).unwrap();
    let born = there.create(()).unwrap();
    here.destroy(who[0]).unwrap();

    let told = lines(&here, &there);
    let expected = [
        format!("{} is only there", name(0)),
        format!("{} is only here", name(1)),
        format!(
            "{}: fragment long differs at byte 40 of 64: …ab{} here, …{} there",
            name(2),
            "00".repeat(23),
            "00".repeat(24)
        ),
        format!(
            "{}: fragment small differs at byte 0 of 1: 02 here, 01 there",
            name(2)
        ),
        format!(
            "{} has only here a fragment small of 1 bytes, only there a chunk fragment i8 of 1 bytes",
            name(3)
        ),
        format!(
            "{}: shared fragment u16 differs at byte 1 of 2: 0500 here, 0505 there",
            name(4)
        ),
        format!(
            "{}: const shared fragment u16 differs at byte 1 of 2: 0607 here, 0600 there",
            name(5)
        ),
        format!("{}: fragment small is off here, on there", name(6)),
        "the resource score differs at byte 1 of 4: 03000000 here, 03040000 there".into(),
    ];
    if cfg!(target_endian = "little") {
        let without = told
            .iter()
            .filter(|line| !line.starts_with(&format!("{born} ")));
        let without: Vec<&String> = without.collect();
        // (Who was born has the id of who died.)
        assert_eq!(without, expected.iter().collect::<Vec<_>>(), "{told:#?}");
    }
    assert_eq!(told.len(), expected.len() + 1);
    let parts = parts(&here, &there);
    for part in [
        "who lives, and of what, differs",
        "the fragment long differs",
        "the fragment small differs",
        "the chunk fragment i8 is only there",
        "the shared fragment u16 differs",
        "the const shared fragment u16 differs",
        "who has the fragment small switched off is only here",
        "the resource score differs",
    ] {
        assert!(parts.iter().any(|one| one == part), "{part}: {parts:?}");
    }
    assert_eq!(parts.len(), 8, "{parts:?}");
    check(&here, &there);

    there.resources_mut().remove::<u32>();
    assert_eq!(
        lines(&here, &there).last().unwrap(),
        "the resource score is only here"
    );
    let firsts = here.first_differences(&there, &all(), 3).unwrap();
    assert_eq!(firsts.len(), 3);
    assert_eq!(firsts[0], Difference::OnlyThere(who[0]));
    assert_eq!(firsts[0].entity(), Some(who[0]));
    assert!(
        here.first_differences(&there, &all(), 0)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_is_skipped_here_is_skipped_in_another_universe_too() {
    let mut here = ordered(register);
    let mut there = ordered(|registry| {
        registry.register_plain::<i16>().unwrap();
        register(registry);
    });
    let ids: Vec<Entity> = [&mut here, &mut there]
        .into_iter()
        .zip(0_u64..)
        .map(|(world, n)| {
            let entity = world.create((n, [4_u8; 3])).unwrap();
            world.add(entity, (Asleep,)).unwrap();
            entity
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(lines(&here, &there).len(), 1);
    let number = here.registry().find("u64").unwrap().id();
    assert_ne!(there.registry().find("u64").unwrap().id(), number);
    let options = all().skip(number);
    let told = here.differences(&there, &options, |_| ControlFlow::Continue(()));
    assert_eq!(told, Ok(0));
}

#[test]
fn a_fragment_of_another_size_is_another_one() {
    let world = |size: usize| {
        let mut world = ordered(|_| {});
        let layout = core::alloc::Layout::from_size_align(size, 1).unwrap();
        let id = world.registry().define_plain("thing", layout).unwrap().id();
        let value = Value::from_bytes(world.registry(), id, &vec![0; size]).unwrap();
        world
            .create_dynamic(DynamicBundle::new().with(value))
            .unwrap();
        world
    };
    let told = lines(&world(2), &world(3));
    assert_eq!(told.len(), 1);
    let end = "has only here a fragment thing of 2 bytes, only there a fragment thing of 3 bytes";
    assert!(told[0].ends_with(end), "{told:?}");
    check(&world(2), &world(3));
}

#[test]
fn who_is_told_may_stop_or_panic() {
    let (mut here, mut there) = (ordered(register), ordered(register));
    let ants: Vec<Entity> = (0..10_u64).map(|n| here.create((n,)).unwrap()).collect();
    let mut told = Vec::new();
    let count = here.differences(&there, &all(), |difference| {
        told.push(difference.entity().unwrap());
        match told.len() {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!((count, &told[..]), (Ok(3), &ants[..3]));
    let burnt = catch_unwind(AssertUnwindSafe(|| {
        here.differences(&there, &all(), |_| panic!("as if it burnt"))
    }));
    assert!(burnt.is_err());
    there.create((7_u64,)).unwrap();
    assert_eq!(lines(&here, &there).len(), 10);
    // What cannot be compared is an error of either.
    there.create((String::new(),)).unwrap();
    let refused = here.differences(&there, &all(), |_| unreachable!("it is refused"));
    assert!(refused.unwrap_err().to_string().contains("String"));
    assert!(there.state_hashes(&all()).is_err());
    here.destroy(ants[0]).unwrap();
    here.check().unwrap();
}

#[test]
fn files_tell_of_names_times_and_signals_too() {
    let (mut world, all_of) = small_world(40);
    let options = all();
    let before = world.to_snapshot(&options).unwrap();
    let living: Vec<Entity> = all_of
        .iter()
        .copied()
        .filter(|&one| world.is_built(one))
        .collect();
    let (one, two) = (living[3], living[4]);
    world.set_name(one, "queen\n").unwrap();
    world.remove_name(two).unwrap();
    world.advance_time(core::time::Duration::from_nanos(5));
    let after = world.to_snapshot(&options).unwrap();
    let (before, after) = (
        SnapshotState::of(&before).unwrap(),
        SnapshotState::of(&after).unwrap(),
    );
    let mut lines = Vec::new();
    let told = before.differences(&after, |number, difference| {
        assert_eq!(number, 0);
        lines.push(difference.clone().into_owned().to_string());
        ControlFlow::Continue(())
    });
    assert_eq!(told, lines.len());
    let renamed = lines
        .iter()
        .find(|line| line.starts_with(&format!("{one} is ")));
    assert!(
        renamed
            .unwrap()
            .ends_with(r#"here, called "queen\n" there"#),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("the time is ")),
        "{lines:?}"
    );
    assert_eq!(
        before.differences(&before, |_, _| unreachable!("it is the same")),
        0
    );
    assert!(format!("{before:?}").starts_with("SnapshotState { worlds: 1, entities: "));
    let cut = world.to_snapshot(&options).unwrap();
    assert!(SnapshotState::of(&cut[..cut.len() - 1]).is_err());
}

#[test]
fn names_and_shared_values_are_the_same_wherever_they_lie() {
    let world = |first: &str| {
        let mut world = ordered(|registry| {
            registry
                .register_plain_as::<Shared<[u64; 9]>>("team")
                .unwrap();
            registry
                .register_plain_as::<ConstShared<()>>("none")
                .unwrap();
        });
        // Of two values and two names by turns, given in another order.
        let ants: Vec<Entity> = (0..100).map(|_| world.create(()).unwrap()).collect();
        let odd = ants.iter().enumerate().filter(|(n, _)| n % 2 == 1);
        let even = ants.iter().enumerate().filter(|(n, _)| n % 2 == 0);
        let all: Vec<_> = match first {
            "even" => even.chain(odd).collect(),
            _ => odd.chain(even).collect(),
        };
        for (n, &ant) in all {
            let bundle = ().shared([n as u64 % 2; 9]).const_shared(());
            world.add(ant, bundle).unwrap();
            world.set_name(ant, ["a queen", "a worker"][n % 2]).unwrap();
        }
        (world, ants)
    };
    let ((here, ants), (mut there, _)) = (world("even"), world("odd"));
    assert_eq!(
        here.state_hash(&Default::default()).unwrap(),
        there.state_hash(&Default::default()).unwrap()
    );
    assert_eq!(hashes(&here), hashes(&there));
    let files = |there: &World| [&here, there].map(|world| world.to_snapshot(&all()).unwrap());
    let told = |files: &[Vec<u8>; 2]| {
        let [here, there] = files
            .each_ref()
            .map(|file| SnapshotState::of(file).unwrap());
        let mut lines = Vec::new();
        here.differences(&there, |_, difference| {
            lines.push(difference.to_string());
            ControlFlow::Continue(())
        });
        lines
    };
    assert_eq!(told(&files(&there)), [""; 0]);
    assert_eq!(lines(&here, &there), [""; 0]);
    // One is of the other team, another of a new one, and one is called as the others.
    there.add(ants[5], ().shared([0_u64; 9])).unwrap();
    there.add(ants[6], ().shared([7_u64; 9])).unwrap();
    there.set_name(ants[7], "a queen").unwrap();
    let of_worlds = lines(&here, &there);
    assert_eq!(of_worlds.len(), 2, "{of_worlds:?}");
    for (line, ant) in of_worlds.iter().zip([ants[5], ants[6]]) {
        assert!(
            line.starts_with(&format!("{ant}: shared fragment team")),
            "{line}"
        );
    }
    let of_files = told(&files(&there));
    assert_eq!(of_files[..2], of_worlds);
    assert!(
        of_files[2].starts_with(&format!("{} is called", ants[7])),
        "{of_files:?}"
    );
    assert_eq!(parts(&here, &there), ["the shared fragment team differs"]);
}

#[cfg(feature = "cli")]
#[test]
fn hashes_go_over_a_network() {
    let (world, _) = small_world(40);
    let ours = hashes(&world);
    assert!(ours.iter().len() > 10);
    let text = serde_json::to_string(&ours).unwrap();
    let come: StateHashes = serde_json::from_str(&text).unwrap();
    assert_eq!(come, ours);
    // Whoever sends them in another order, or some twice, breaks nothing.
    let mut parts: Vec<(StatePart, u64)> = serde_json::from_str(&text).unwrap();
    parts.reverse();
    parts.push((StatePart::Entities, u64::MAX));
    let come: StateHashes = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    assert_eq!(come, ours);
    let name: Box<str> = "nothing".into();
    let kind = megachunk::fragment::FragmentKind::Tag;
    parts.push((StatePart::Fragment { name, kind }, 1));
    let come: StateHashes = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    let told: Vec<String> = ours.differing(&come).map(|part| part.to_string()).collect();
    assert_eq!(told, ["the tag nothing is only there"]);
}
