//! What is part of a world's state besides its entities: resources, names.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::{FragmentError, FragmentRegistry};
use megachunk::prelude::*;
use megachunk::world::{SnapshotError, SnapshotOptions};

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Score {
    points: u64,
    leader: Entity,
}
megachunk::plain!(Score { points, leader });

/// Who owes whom how much.
#[derive(Debug, Default, PartialEq)]
struct Debts(BTreeMap<(Entity, Entity), u32>);

fn write_debts(debts: &Debts, bytes: &mut Vec<u8>) -> Result<(), String> {
    for (&(one, other), &sum) in &debts.0 {
        if sum == 0 {
            return Err(format!("{one} owes {other} nothing"));
        }
        bytes.extend(one.to_bits().to_le_bytes());
        bytes.extend(other.to_bits().to_le_bytes());
        bytes.extend(sum.to_le_bytes());
    }
    Ok(())
}

fn read_debts(bytes: &[u8], entities: &EntityMap) -> Result<Debts, String> {
    let (debts, rest) = bytes.as_chunks::<20>();
    if !rest.is_empty() {
        return Err("part of a debt".into());
    }
    let entity = |bytes: &[u8]| {
        let bits = u64::from_le_bytes(bytes.try_into().expect("eight of them"));
        let mut entity = Entity::try_from_bits(bits).ok_or("nobody owes")?;
        entities.apply(&mut entity);
        Ok::<_, String>(entity)
    };
    let read = debts.iter().map(|debt| {
        let sum = u32::from_le_bytes(debt[16..].try_into().expect("four of them"));
        Ok(((entity(&debt[..8])?, entity(&debt[8..16])?), sum))
    });
    Ok(Debts(read.collect::<Result<_, String>>()?))
}

fn register(registry: &FragmentRegistry) {
    registry.register_plain::<u32>().unwrap();
    registry.register_state_as::<Score>("score").unwrap();
    registry
        .register_state_with("debts", write_debts, read_debts)
        .unwrap();
}

fn universe() -> Universe {
    let universe = Universe::ordered();
    register(universe.registry());
    universe
}

fn world() -> (World, [Entity; 3]) {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let all = [1_u32, 2, 3].map(|number| world.create((number,)).unwrap());
    let [ant, bee, _] = all;
    let score = Score {
        points: 9,
        leader: bee,
    };
    world.resources_mut().insert(score);
    let debts = [((ant, bee), 3), ((bee, ant), 5)];
    world.resources_mut().insert(Debts(debts.into()));
    world.resources_mut().insert("not part of it");
    (world, all)
}

fn all() -> SnapshotOptions {
    SnapshotOptions::new()
}

#[test]
fn resources_that_are_part_of_the_state_are_saved_and_others_are_not() {
    let (world, _) = world();
    let file = world.to_snapshot(&all()).unwrap();
    let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    let (then, now) = (world.resources(), loaded.resources());
    assert_eq!(now.get::<Score>(), then.get::<Score>());
    assert_eq!(now.get::<Debts>(), then.get::<Debts>());
    assert_eq!(now.len(), 2, "{now:?}");
    assert_eq!(format!("{now:?}").matches("state::").count(), 2, "{now:?}");
    assert_eq!(loaded.to_snapshot(&all()).unwrap(), file);
}

#[test]
fn resources_that_come_with_new_ids_name_those_who_are_meant() {
    let (mut world, [ant, bee, cow]) = world();
    world
        .resources_mut()
        .get_mut::<Debts>()
        .unwrap()
        .0
        .insert((cow, ant), 7);
    world.destroy(cow).unwrap();
    let file = world.to_snapshot(&all()).unwrap();
    let (copy, come) = World::from_snapshot_remapped(
        &file,
        world.universe(),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    let new = |old| come.get(old).unwrap();
    let leader = copy.resources().get::<Score>().unwrap().leader;
    assert_eq!(leader, new(bee));
    let debts = [
        ((new(ant), new(bee)), 3),
        ((new(bee), new(ant)), 5),
        ((Entity::PLACEHOLDER, new(ant)), 7),
    ];
    assert_eq!(copy.resources().get::<Debts>().unwrap().0, debts.into());
}

#[test]
fn resources_of_several_worlds_stay_with_theirs() {
    let (one, [_, bee, _]) = world();
    let mut other = World::of(one.universe()).unwrap();
    let score = Score {
        points: 1,
        leader: bee,
    };
    other.resources_mut().insert(score);
    let file = World::worlds_to_snapshot(&[&other, &one], &all()).unwrap();
    let worlds = World::worlds_from_snapshot(&file, universe(), &LoadOptions::new()).unwrap();
    let points = worlds
        .iter()
        .map(|world| world.resources().get::<Score>().unwrap());
    let points: Vec<_> = points.map(|score| (score.points, score.leader)).collect();
    assert_eq!(points, [(1, bee), (9, bee)]);
    assert!(!worlds[0].resources().contains::<Debts>());
}

#[test]
fn the_hash_of_a_state_has_its_resources() {
    let (mut world, [ant, bee, _]) = world();
    let hash = |world: &World| world.state_hash(&Default::default()).unwrap();
    let before = hash(&world);
    world.resources_mut().insert("something else");
    assert_eq!(hash(&world), before);
    let debts = world.resources_mut().get_mut::<Debts>().unwrap();
    debts.0.insert((ant, bee), 4);
    let after = hash(&world);
    assert_ne!(after, before);
    let score = world.resources_mut().remove::<Score>().unwrap();
    let without = hash(&world);
    assert!(without != before && without != after);
    world.resources_mut().insert(score);
    assert_eq!(hash(&world), after);
    let options = all().skip_resource::<Score>();
    assert_eq!(world.state_hash(&options).unwrap(), without);
    let none = world.state_hash(&all().skip_resources()).unwrap();
    world.resources_mut().remove::<Score>();
    world.resources_mut().remove::<Debts>();
    assert_eq!(hash(&world), none);
}

#[test]
fn a_hash_tells_a_resources_name_from_its_value() {
    struct Text(&'static str);
    struct Other(&'static str);
    let hash = |one: Text, other: Other| {
        let mut world = World::new();
        let registry = world.registry();
        let read = |_: &[u8], _: &EntityMap| Err::<Text, _>("it is not read");
        let write = |text: &Text, bytes: &mut Vec<u8>| bytes.extend(text.0.as_bytes());
        registry.register_state_with("ab", write, read).unwrap();
        let read = |_: &[u8], _: &EntityMap| Err::<Other, _>("it is not read");
        let write = |text: &Other, bytes: &mut Vec<u8>| bytes.extend(text.0.as_bytes());
        registry.register_state_with("cd", write, read).unwrap();
        world.resources_mut().insert(one);
        world.resources_mut().insert(other);
        world.state_hash(&Default::default()).unwrap()
    };
    let hashes = [
        ("ab", "cd"),
        ("cd", "ab"),
        ("ab", "ab"),
        ("cd", "cd"),
        ("", ""),
    ];
    let hashes: BTreeSet<u64> = hashes
        .map(|(one, other)| hash(Text(one), Other(other)))
        .into();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn universes_and_registries_may_go_through_a_panic() {
    fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_unwind_safe::<Universe>();
    is_unwind_safe::<FragmentRegistry>();
    let burnt = catch_unwind(|| {
        let universe = universe();
        move || drop(universe)
    });
    assert!(catch_unwind(burnt.unwrap()).is_ok());
}

#[test]
fn skipped_resources_do_not_come_back() {
    let (world, _) = world();
    for (options, score, debts) in [
        (all().skip_resource::<Score>(), false, true),
        (all().skip_resources(), false, false),
    ] {
        let file = world.to_snapshot(&options).unwrap();
        let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
        let there = loaded.resources();
        assert_eq!(there.contains::<Score>(), score);
        assert_eq!(there.contains::<Debts>(), debts);
    }
}

#[test]
fn a_value_that_cannot_be_written_or_read_is_an_error_that_says_why() {
    let (mut world, [ant, bee, _]) = world();
    let file = world.to_snapshot(&all()).unwrap();
    world
        .resources_mut()
        .get_mut::<Debts>()
        .unwrap()
        .0
        .insert((bee, ant), 0);
    let refused = world.to_snapshot(&all()).unwrap_err();
    let told = format!("a value of \"debts\" cannot be saved or hashed: {bee} owes {ant} nothing");
    assert_eq!(refused.to_string(), told);
    assert_eq!(world.state_hash(&Default::default()).unwrap_err(), refused);

    let other = Universe::new();
    other.registry().register_plain::<u32>().unwrap();
    other
        .registry()
        .register_state_as::<Score>("score")
        .unwrap();
    let read = |_: &[u8], _: &EntityMap| Err::<Debts, _>("as if nobody could pay");
    let write = |_: &Debts, _: &mut Vec<u8>| ();
    other
        .registry()
        .register_state_with("debts", write, read)
        .unwrap();
    let refused = World::from_snapshot(&file, other, &Default::default()).unwrap_err();
    let SnapshotError::StateNotRead {
        name, at, reason, ..
    } = refused
    else {
        panic!("{refused}");
    };
    assert_eq!((&*name, &*reason), ("debts", "as if nobody could pay"));
    let bytes = &file[at as usize..][..8];
    assert_eq!(bytes, ant.to_bits().to_le_bytes());
}

#[test]
fn an_error_of_a_value_is_told_with_its_causes() {
    /// An error, and what has caused it.
    #[derive(Debug, thiserror::Error)]
    enum Bad {
        #[error("line 3 is wrong")]
        Line(#[source] std::num::ParseIntError),
        #[error("as it is: {0}")]
        Quoted(#[source] std::num::ParseIntError),
    }
    let (world, _) = world();
    let file = world.to_snapshot(&all()).unwrap();
    for (make, told) in [
        (
            Bad::Line as fn(_) -> _,
            "line 3 is wrong: invalid digit found in string",
        ),
        (Bad::Quoted, "as it is: invalid digit found in string"),
    ] {
        let other = Universe::new();
        let registry = other.registry();
        registry.register_plain::<u32>().unwrap();
        registry.register_state_as::<Score>("score").unwrap();
        let read = move |_: &[u8], _: &EntityMap| match "x".parse::<u32>() {
            Ok(_) => Ok(Debts(BTreeMap::new())),
            Err(error) => Err(make(error)),
        };
        let write = |_: &Debts, _: &mut Vec<u8>| ();
        registry.register_state_with("debts", write, read).unwrap();
        let refused = World::from_snapshot(&file, other, &Default::default()).unwrap_err();
        let SnapshotError::StateNotRead { reason, .. } = refused else {
            panic!("{refused}");
        };
        assert_eq!(&*reason, told);
    }
}

#[test]
fn a_plain_value_of_another_size_is_an_error() {
    let (world, _) = world();
    let file = world.to_snapshot(&all().skip_resource::<Debts>()).unwrap();
    let other = Universe::new();
    other.registry().register_plain::<u32>().unwrap();
    other.registry().register_state_as::<u64>("score").unwrap();
    let refused = World::from_snapshot(&file, other, &Default::default())
        .unwrap_err()
        .to_string();
    assert!(
        refused.ends_with("are no \"score\": it had 16 bytes when it was saved, and has 8 now"),
        "{refused}"
    );
}

/// A thing that is 1 or 2, and names somebody if it is 2.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Choosy(Entity);

// SAFETY: an entity, whose bytes are all defined; what it names is said as the entity says it.
unsafe impl megachunk::fragment::Plain for Choosy {
    const IS_VALUE: Option<megachunk::fragment::IsValue> = Some(|bytes| {
        let is_entity = <Entity as megachunk::fragment::Plain>::IS_VALUE;
        is_entity.is_none_or(|is_value| is_value(bytes)) && bytes[..4] != u32::MAX.to_ne_bytes()
    });
    const MAP_ENTITIES: Option<megachunk::fragment::MapEntities> =
        <Entity as megachunk::fragment::Plain>::MAP_ENTITIES;
}

#[test]
fn a_plain_value_that_is_none_any_more_is_an_error() {
    let universe = || {
        let universe = Universe::new();
        universe.registry().register_state::<Choosy>().unwrap();
        universe
    };
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let ant = world.create(()).unwrap();
    world.resources_mut().insert(Choosy(ant));
    let whole = world.to_snapshot(&all()).unwrap();
    world.destroy(ant).unwrap();
    let file = world.to_snapshot(&all()).unwrap();
    World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    let nobody = EntityMap::default();
    assert!(
        World::from_snapshot_remapped(&whole, world.universe(), &nobody, &Default::default())
            .is_ok()
    );
    let before = world.universe().count();
    let refused =
        World::from_snapshot_remapped(&file, world.universe(), &nobody, &Default::default())
            .unwrap_err();
    assert!(refused.to_string().contains("Plain::IS_VALUE"), "{refused}");
    assert_eq!(world.universe().count(), before);
    world.resources_mut().insert(Choosy(Entity::PLACEHOLDER));
    let refused = world.to_snapshot(&all()).unwrap_err();
    assert!(
        matches!(refused, SnapshotError::StateNotWritten { .. }),
        "{refused}"
    );
}

#[test]
fn types_that_are_not_registered_are_all_named() {
    let (world, _) = world();
    let file = world.to_snapshot(&all()).unwrap();
    let other = Universe::new();
    other.registry().register_plain::<u32>().unwrap();
    let refused = World::from_snapshot(&file, other, &Default::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the snapshot has values of debts, score, which are not registered: see `FragmentRegistry::register_state`, or \
         `LoadOptions::skip_state`"
    );
}

#[test]
fn a_type_has_one_name_and_a_name_one_type() {
    let registry = FragmentRegistry::new();
    registry.register_state_as::<u32>("number").unwrap();
    registry.register_state_as::<u32>("number").unwrap();
    registry.register_state::<u32>().unwrap();
    let refused = registry.register_state_as::<u32>("figure").unwrap_err();
    let FragmentError::NamedOtherwise { name, asked, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!((&*name, &*asked), ("number", "figure"));
    let refused = registry.register_state_as::<u64>("number").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "values of u32 are saved by the name \"number\" already"
    );
    registry.register_state::<u64>().unwrap();
    let refused = registry.register_state_as::<u64>("number").unwrap_err();
    assert!(matches!(refused, FragmentError::NamedOtherwise { .. }));
    // What is said of fragments is another matter.
    registry.register_plain_as::<i8>("number").unwrap();
}

#[test]
fn a_panic_in_what_writes_or_reads_leaves_nothing_half_done() {
    struct Bomb;
    let universe = || {
        let universe = Universe::new();
        let write = |_: &Bomb, _: &mut Vec<u8>| Ok::<_, String>(());
        let read = |_: &[u8], _: &EntityMap| -> Result<Bomb, String> { panic!("as if it burnt") };
        universe
            .registry()
            .register_state_with("bomb", write, read)
            .unwrap();
        universe.registry().register_state::<Entity>().unwrap();
        universe
    };
    let shared = Arc::new(universe());
    let mut world = World::of(&shared).unwrap();
    let ant = world.create(()).unwrap();
    world.resources_mut().insert(ant);
    world.resources_mut().insert(Bomb);
    let file = world.to_snapshot(&all()).unwrap();
    let nobody = EntityMap::default();
    let load =
        || World::from_snapshot_remapped(&file, &shared, &nobody, &Default::default()).map(drop);
    let burnt = catch_unwind(AssertUnwindSafe(load)).unwrap_err();
    assert_eq!(burnt.downcast_ref(), Some(&"as if it burnt"));
    assert_eq!(shared.count(), 1);
    world.check().unwrap();
    assert!(
        catch_unwind(|| World::from_snapshot(&file, universe(), &Default::default()).map(drop))
            .is_err()
    );

    let path = std::env::temp_dir().join(format!("megachunk-burnt-{}", std::process::id()));
    let mut other = World::new();
    let write = |_: &Bomb, _: &mut Vec<u8>| -> Result<(), String> { panic!("as if it burnt") };
    let read = |_: &[u8], _: &EntityMap| Ok::<_, String>(Bomb);
    other
        .registry()
        .register_state_with("bomb", write, read)
        .unwrap();
    other.save(&path, &Default::default()).unwrap();
    let before = std::fs::read(&path).unwrap();
    other.resources_mut().insert(Bomb);
    assert!(catch_unwind(AssertUnwindSafe(|| other.save(&path, &Default::default()))).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn names_come_back_in_the_order_in_which_they_were_given() {
    let (mut world, [ant, bee, cow]) = world();
    for (entity, name) in [
        (cow, "worker"),
        (ant, "worker"),
        (bee, "queen"),
        (cow, "worker"),
    ] {
        world.set_name(entity, name).unwrap();
    }
    let reserved = world.universe().reserve().unwrap();
    world.set_name(reserved, "nobody yet").unwrap();
    let dead = world.create(()).unwrap();
    world.set_name(dead, "worker").unwrap();
    world.destroy(dead).unwrap();
    let file = world.to_snapshot(&all()).unwrap();
    let loaded = World::from_snapshot(&file, universe(), &Default::default()).unwrap();
    loaded.check().unwrap();
    assert!(loaded.named("worker").eq([cow, ant]));
    assert_eq!(loaded.find_by_name("queen"), Some(bee));
    assert_eq!(loaded.find_by_name("nobody yet"), None);
    assert_eq!(loaded.to_snapshot(&all()).unwrap(), file);
    let (copy, come) = World::from_snapshot_remapped(
        &file,
        world.universe(),
        &EntityMap::default(),
        &Default::default(),
    )
    .unwrap();
    copy.check().unwrap();
    let [ant, cow] = [ant, cow].map(|old| come.get(old).unwrap());
    assert!(copy.named("worker").eq([cow, ant]));
    assert_eq!(copy.name(ant).unwrap(), Some("worker"));
}

/// The hashes of a world whose entities have values of so many bytes: of the whole, and of the values.
fn of_bytes<const SIZE: usize>() -> [u64; 2]
where
    [u8; SIZE]: megachunk::fragment::Plain,
{
    let mut world = World::new();
    let registry = world.registry();
    registry.register_plain_as::<[u8; SIZE]>("bytes").unwrap();
    let value = |n: usize| core::array::from_fn::<u8, SIZE, _>(|at| (n * 31 + at * 7) as u8);
    let _ = world.create_batch((0..100).map(|n| (value(n),))).unwrap();
    let parts = world.state_hashes(&SnapshotOptions::new()).unwrap();
    let (_, values) = parts.iter().last().unwrap();
    [world.state_hash(&Default::default()).unwrap(), values]
}

/// Peers of one version compare them: who changes them on purpose writes down the new ones.
#[test]
fn hashes_are_the_same_however_they_are_come_by() {
    let hashes = [
        of_bytes::<1>(),
        of_bytes::<2>(),
        of_bytes::<3>(),
        of_bytes::<4>(),
        of_bytes::<7>(),
        of_bytes::<8>(),
        of_bytes::<9>(),
        of_bytes::<12>(),
        of_bytes::<16>(),
        of_bytes::<23>(),
        of_bytes::<24>(),
        of_bytes::<33>(),
        of_bytes::<64>(),
    ];
    let expected: [[u64; 2]; 13] = [
        [0xe263_705b_0a30_3b40, 0x4cec_f9e5_e6dc_8f4e],
        [0x7fb5_4f51_39c0_5df0, 0x4d35_8770_947c_f9d1],
        [0xc3c9_faac_a68f_5f1b, 0x9365_881e_a92c_1e3c],
        [0xc4b6_3461_f6f3_46ce, 0xf61b_17a7_8ea4_bd56],
        [0x917e_7622_8e98_8ad1, 0x1c75_1a97_f09a_0490],
        [0xf104_f95a_ae22_b0a2, 0x5bb6_459d_a725_4cd8],
        [0x7e2f_0f54_1186_6362, 0x301c_e856_7bcf_3c4f],
        [0xb970_1b79_cb3d_7d70, 0x1352_864f_e707_40d3],
        [0xc155_9d3c_2a22_1871, 0x4607_a6f0_46d8_22e8],
        [0x6d53_bcaf_5d10_0d39, 0x5ddd_3ecd_de8b_ff2c],
        [0xf22a_6ee7_cc98_fb8a, 0x8337_308d_e511_b486],
        [0xfd50_f795_39f3_2ade, 0x5bc4_9e99_7f02_e3f0],
        [0x0d14_fad0_d92a_25e3, 0x10a2_93e9_b968_90cc],
    ];
    assert_eq!(hashes, expected);
}
