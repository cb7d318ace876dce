//! STACK's section "Archetypes and chunks", a test a row.

use std::alloc::Layout;

use megachunk::archetype::{ChunkLayout, Content};
use megachunk::fragment::FragmentError;
use megachunk::prelude::*;
use megachunk::query::{Enabled, Moved};
use megachunk::world::{Budget, Version};
use proptest::prelude::*;

use crate::layout_oracle;

fn content(name: &'static str, size: usize, align: usize) -> Content<'static> {
    let layout = Layout::from_size_align(size, align).unwrap();
    Content::new(name, layout)
}

/// The entities of each chunk that has some.
fn chunks(world: &mut World) -> Vec<Vec<Entity>> {
    let mut chunks = Vec::new();
    let mut all = world.query::<Entity, ()>().unwrap();
    all.for_each_chunk(|_, entities| chunks.push(entities.to_vec()));
    chunks
}

#[test]
fn identity_is_the_set_of_types_not_their_order_and_each_is_made_once() {
    let mut world = World::new();
    assert_eq!(world.composition_version(), 0);
    let one = world.create((1_u8, 2_u16)).unwrap();
    let other = world.create((2_u16, 1_u8)).unwrap();
    assert_eq!(
        (world.archetypes().len(), world.composition_version()),
        (1, 1)
    );
    let moved = world.create((1_u8,)).unwrap();
    world.add(moved, (2_u16,)).unwrap();
    assert_eq!(
        (world.archetypes().len(), world.composition_version()),
        (2, 2)
    );
    world.remove::<(u16,)>(moved).unwrap();
    world.add(moved, (2_u16,)).unwrap();
    assert_eq!(
        world.composition_version(),
        2,
        "each creation bumps it, and nothing else"
    );
    assert_eq!(chunks(&mut world), [vec![one, other, moved]]);
}

#[test]
fn the_mass_layout_table() {
    let (word, vector, byte) = (content("w", 4, 4), content("v", 12, 4), content("b", 1, 1));
    let matrix = content("m", 48, 16);
    type Case<'a> = (&'a [Content<'a>], usize, &'a [usize], usize, &'a [usize]);
    let table: [Case<'_>; 3] = [
        (
            std::slice::from_ref(&word),
            10_922,
            &[87_376],
            5_461,
            &[43_688],
        ),
        (
            &[word.clone(), word.clone()],
            8_191,
            &[65_528, 98_292],
            4_095,
            &[32_760, 49_140],
        ),
        (
            &[matrix, vector, byte],
            1_899,
            &[15_200, 106_352, 129_140],
            949,
            &[7_600, 53_152, 64_540],
        ),
    ];
    for (fragments, large, large_offsets, small, small_offsets) in table {
        let layout = ChunkLayout::mass(131_072, fragments).unwrap();
        assert_eq!(
            (layout.capacity(), layout.offsets()),
            (large, large_offsets)
        );
        let layout = ChunkLayout::mass(65_536, fragments).unwrap();
        assert_eq!(
            (layout.capacity(), layout.offsets()),
            (small, small_offsets)
        );
    }
}

#[test]
fn own_layout_fits_as_many_as_can_be_in_arrays_aligned_to_64() {
    // Found by the fuzz target `layout`'s rule: 1,815 were taken, and 1,816 fit.
    let layout = ChunkLayout::new(16_384, &[content("byte", 1, 1)]).unwrap();
    assert_eq!(
        (layout.capacity(), layout.offsets()),
        (1_816, &[14_528][..])
    );
    for bytes in [16_384, 131_072, 1 << 20] {
        layout_oracle::check(bytes, &[(48, 4), (12, 2), (1, 0)]);
        layout_oracle::check(bytes, &[(4, 2)]);
        layout_oracle::check(bytes, &[]);
    }
}

#[test]
fn sizes_beyond_all_memory_are_errors() {
    let huge = isize::MAX as usize - 4_095;
    layout_oracle::check(16_384, &[(huge, 0); 5]);
    layout_oracle::check(usize::MAX, &[(huge, 12), (1, 0)]);
    layout_oracle::check(usize::MAX, &[(0, 12)]);
    layout_oracle::check(usize::MAX, &[(1, 62), (1, 62), (1, 62), (1, 62)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_layout_is_what_it_must_be(
        chunks in 1..65_usize,
        fragments in proptest::collection::vec((0..600_usize, 0..14_u8), 0..12),
    ) {
        layout_oracle::check(chunks * 16_384, &fragments);
    }
}

#[test]
fn a_chunk_is_not_capped_at_128_entities() {
    let mut world = World::new();
    world.create_batch((0..1_000_u32).map(|n| (n,))).unwrap();
    assert_eq!(chunks(&mut world).len(), 1);
    world.set_chunk_size(64);
    world
        .create_batch((0..70_000_u32).map(|n| (n, 0_u16)))
        .unwrap();
    let lens: Vec<_> = chunks(&mut world).iter().map(Vec::len).collect();
    assert_eq!(lens, [1_000, 70_000]);
}

#[test]
fn entities_of_any_size_up_to_the_largest_chunk_and_alignments_up_to_4096() {
    #[derive(Clone)]
    #[repr(align(4096))]
    struct Page([u8; 4_096]);
    #[repr(align(8192))]
    struct TwoPages([u8; 8_192]);
    let mut world = World::new();
    let pages = world
        .create_batch((0..100_u8).map(|n| (n, Page([n; 4_096]))))
        .unwrap();
    for (n, entity) in (0..).zip(pages.iter(&world)) {
        let page = world.get::<Page>(entity).unwrap();
        assert!(std::ptr::from_ref(page).addr().is_multiple_of(4_096));
        assert!(page.0 == [n; 4_096]);
    }
    // Values of a megabyte, by value, through a few calls.
    let stack = std::thread::Builder::new().stack_size(64 << 20);
    let thread = stack.spawn(move || largest(&mut world)).unwrap();
    thread.join().unwrap();
    let mut world = World::new();
    let two = TwoPages([0; 8_192]);
    assert_eq!(two.0.len(), 8_192);
    let error = world.create((two,)).unwrap_err();
    assert!(matches!(
        error,
        WorldError::Fragment(FragmentError::TooAligned { limit: 4_096, .. })
    ));
    assert!(world.is_empty());
}

fn largest(world: &mut World) {
    const LARGE: usize = (1 << 20) - 128;
    let count = world.count();
    let vast = world.create(([7_u8; LARGE],)).unwrap();
    assert!(
        world
            .get::<[u8; LARGE]>(vast)
            .unwrap()
            .iter()
            .all(|&byte| byte == 7)
    );

    let error = world.create(([0_u8; 1 << 20],)).unwrap_err();
    assert!(
        matches!(error, WorldError::Fragment(FragmentError::TooLarge { limit, .. })
        if limit == 1 << 20)
    );
    assert!(error.to_string().contains("1048576"), "{error}");
    assert_eq!(world.count(), count + 1);
}

#[test]
fn adding_takes_a_partly_filled_chunk_with_the_same_shared_values_else_a_new_one() {
    let mut world = World::new();
    let ants: Vec<_> = (0..10_u32)
        .map(|n| world.create((n,).shared(n % 2)).unwrap())
        .collect();
    let of = |rest: usize| {
        ants.iter()
            .copied()
            .skip(rest)
            .step_by(2)
            .collect::<Vec<_>>()
    };
    assert_eq!(chunks(&mut world), [of(0), of(1)]);
    // One comes by a move, one by a change of the value.
    let bee = world.create((0_u32,)).unwrap();
    world.add(bee, ().shared(1_u32)).unwrap();
    world.set_shared(ants[0], 1_u32).unwrap();
    world.set_shared(ants[2], 9_u32).unwrap();
    let chunks = chunks(&mut world);
    assert_eq!(chunks.len(), 3);
    assert!(chunks[1].ends_with(&[bee, ants[0]]) && chunks[2] == [ants[2]]);
}

#[test]
fn chunks_are_as_long_as_what_comes_lets_expect() {
    let (kib, mut world) = (1_024, World::new());
    // In one call: long ones from the beginning, and little more than is needed.
    world.create_batch((0..15_000_u64).map(|n| (n,))).unwrap();
    let batch = world.stats();
    assert!(batch.chunks <= 5, "{batch}");
    assert!(batch.chunk_bytes * 7 <= batch.entity_bytes * 8, "{batch}");
    // The last one of a batch gets no longer chunk than the last two. Least capacity 1,008.
    for more in [1, 2] {
        let mut world = World::new();
        let batch = (0..8 * 1_008 + more as u64).map(|n| (n,));
        world.create_batch(batch).unwrap();
        assert_eq!(world.stats().chunk_bytes, (128 + 16) * kib);
    }
    // One by one: half as long as what is there.
    for n in 0..15_000_u32 {
        world.create((n, n as u8)).unwrap();
        let single = &world.stats().archetypes[1];
        let wanted = 16 * kib + single.entities * 13 * 8 / 5;
        assert!(single.chunk_bytes <= wanted, "{single:?}");
    }
    assert!(world.stats().archetypes[1].chunks < 9);
    // Many combinations of shared values, of one entity each, have the shortest.
    for n in 0..500_u32 {
        world.create((0_u64,).shared(n)).unwrap();
    }
    assert_eq!(world.stats().archetypes[2].chunk_bytes, 500 * 16 * kib);
    world.check().unwrap();
}

#[test]
fn removing_moves_the_last_entity_of_the_same_chunk_into_the_hole() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let batch = world
        .create_batch((0..2_000_u64).map(|n| (n, n.to_string())))
        .unwrap();
    let ants: Vec<_> = batch.iter(&world).collect();
    let before = chunks(&mut world);
    assert!(before.len() > 2);
    let (first, last) = (before[0][3], *before[0].last().unwrap());
    world.destroy(first).unwrap();
    let after = chunks(&mut world);
    assert_eq!(after[0][3], last);
    assert_eq!(after[0].len(), before[0].len() - 1);
    assert_eq!(after[1..], before[1..], "other chunks stay as they are");
    let n = ants.iter().position(|&ant| ant == last).unwrap();
    assert_eq!(world.get::<String>(last).unwrap(), &n.to_string());
}

#[test]
fn empty_chunks_go_back_to_the_allocator_but_for_one_that_waits() {
    let mut world = World::new();
    world.set_chunk_size(1);
    let in_use = |world: &World| world.universe().chunk_stats().in_use;
    let batch = world.create_batch((0..10_000_u64).map(|n| (n,))).unwrap();
    let ants: Vec<_> = batch.iter(&world).collect();
    assert!(in_use(&world) > 9);
    assert_eq!(world.destroy_slice(&ants).done, 10_000);
    assert_eq!(in_use(&world), 1);
    // One that comes and goes costs no chunk.
    for _ in 0..10 {
        let ant = world.create((1_u64,)).unwrap();
        assert_eq!(in_use(&world), 1);
        world.destroy(ant).unwrap();
        assert_eq!(in_use(&world), 1);
    }
    assert_eq!((world.trim(), in_use(&world)), (1, 0));
    world.create((1_u64,)).unwrap();
    // With shared values none waits: there may be many values.
    let ants: Vec<_> = (0..100_u8)
        .map(|n| world.create((1_u64,).shared(n)).unwrap())
        .collect();
    assert_eq!(in_use(&world), 101);
    assert!(world.destroy_slice(&ants).is_clean());
    assert_eq!(in_use(&world), 1);
}

#[test]
fn chunk_fragments_start_from_the_archetypes_template_also_when_a_chunk_is_used_again() {
    let mut world = World::new();
    let ant = world.create((1_u8,).per_chunk(10_i32)).unwrap();
    *world.chunk_fragment_mut::<i32>(ant).unwrap() = 99;
    assert_eq!(world.chunk_fragment::<i32>(ant).unwrap(), &99);
    // The archetype is there: it keeps its template.
    let bee = world.create((1_u8,).per_chunk(20_i32)).unwrap();
    assert_eq!(
        world.chunk_fragment::<i32>(bee).unwrap(),
        &99,
        "the same chunk"
    );
    world.clear();
    world.trim();
    let cow = world.create((1_u8,).per_chunk(30_i32)).unwrap();
    assert_eq!(
        world.chunk_fragment::<i32>(cow).unwrap(),
        &10,
        "the chunk is new"
    );
    // Another archetype has another template.
    let dog = world.create((1_u16,).per_chunk(40_i32)).unwrap();
    assert_eq!(world.chunk_fragment::<i32>(dog).unwrap(), &40);
    // One that entities of another come to begins as that did.
    world.add(cow, (1_u64,)).unwrap();
    assert_eq!(world.chunk_fragment::<i32>(cow).unwrap(), &10);
    assert!(world.remove::<(u8,)>(cow).unwrap());
    assert_eq!(world.chunk_fragment::<i32>(cow).unwrap(), &10);
    world.add(dog, (1_i16,)).unwrap();
    assert_eq!(world.chunk_fragment::<i32>(dog).unwrap(), &40);
    world.add(dog, ('x',).per_chunk(50_i32)).unwrap();
    assert_eq!(world.chunk_fragment::<i32>(dog).unwrap(), &50);
}

#[test]
fn compaction_on_request_fills_the_fullest_from_the_emptiest_within_its_budget_and_repeats() {
    let sparse = || {
        let mut world = World::new();
        world.set_chunk_size(1);
        let batch = world.create_batch((0..20_000_u32).map(|n| (n,))).unwrap();
        let all: Vec<Entity> = batch.iter(&world).collect();
        for (n, ants) in all.chunks(16).enumerate() {
            for &ant in &ants[n % 13..] {
                world.destroy(ant).unwrap();
            }
        }
        world
    };
    let (mut one, mut two) = (sparse(), sparse());
    let before = one.stats();
    let mut rounds = 0;
    loop {
        let reports = [&mut one, &mut two].map(|world| world.compact(Budget::Entities(500)));
        assert_eq!(reports[0], reports[1], "a count decides alone");
        assert_eq!(chunks(&mut one), chunks(&mut two));
        assert!(reports[0].entities <= 500);
        rounds += 1;
        if reports[0].is_done {
            break;
        }
    }
    let after = one.stats();
    assert!(rounds > 2 && after.chunks < before.chunks && after.entities == before.entities);
    assert!(after.occupancy() > 0.9, "{after}");
    assert!(one.compact(Budget::Time(std::time::Duration::MAX)).is_done);
}

#[test]
fn empty_archetypes_can_be_collected_on_request() {
    let mut world = World::new();
    let ant = world.create((1_u8,)).unwrap();
    world.add(ant, (2_u16,)).unwrap();
    world.add(ant, (3_u32,)).unwrap();
    let mut query = Query::<&u8>::new(&world).unwrap();
    assert_eq!(query.read(&world).count(), 1);
    let before = world.composition_version();
    assert_eq!(world.archetypes().len(), 3);
    assert_eq!(world.collect_archetypes(), 2);
    assert!(
        world.composition_version() > before,
        "what was known of them is old"
    );
    assert_eq!(world.archetypes().len(), 1);
    assert_eq!(world.collect_archetypes(), 0);
    assert_eq!(query.read(&world).count(), 1);
    assert_eq!(world.get::<u32>(ant).unwrap(), &3);
}

#[test]
fn shared_values_live_per_chunk_and_equality_decides_never_the_hash_alone() {
    #[derive(Debug, PartialEq, Eq)]
    struct Team(&'static str);
    impl std::hash::Hash for Team {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            0_u8.hash(state);
        }
    }
    let mut world = World::new();
    let ants: Vec<_> = ["red", "blue", "red", "green"]
        .map(|team| world.create((1_u8,).shared(Team(team))).unwrap())
        .into();
    assert_eq!(
        chunks(&mut world),
        [vec![ants[0], ants[2]], vec![ants[1]], vec![ants[3]]]
    );
    world.set_shared(ants[0], Team("blue")).unwrap();
    assert_eq!(world.shared::<Team>(ants[0]).unwrap(), &Team("blue"));
    assert_eq!(world.shared::<Team>(ants[2]).unwrap(), &Team("red"));
    let blue = world.shared::<Team>(ants[0]).unwrap();
    assert!(
        std::ptr::eq(blue, world.shared::<Team>(ants[1]).unwrap()),
        "stored once"
    );
    assert_eq!(chunks(&mut world)[1], [ants[1], ants[0]]);
}

#[test]
fn change_version_per_chunk_and_fragment_and_order_version_per_chunk() {
    let mut world = World::new();
    let ants: Vec<_> = (0..2_u8)
        .map(|team| world.create((1_u32, 1_u64).shared(team)).unwrap())
        .collect();
    type Versions = Vec<(Option<Version>, Option<Version>, Version)>;
    let versions = |world: &mut World| -> Versions {
        let mut versions = Vec::new();
        let mut all = world.query::<Entity, ()>().unwrap();
        all.for_each_chunk(|chunk, _| {
            let (u32s, u64s) = (chunk.change_version::<u32>(), chunk.change_version::<u64>());
            versions.push((u32s, u64s, chunk.order_version()));
        });
        versions
    };
    let before = versions(&mut world);
    *world.get_mut::<u32>(ants[1]).unwrap() += 1;
    let after = versions(&mut world);
    assert_eq!(after[0], before[0]);
    assert!(after[1].0 > before[1].0 && after[1].1 == before[1].1 && after[1].2 == before[1].2);
    // A query that lends a fragment for writing changes it in the chunks that it sees.
    let mut write = Query::<(&mut u64, Shared<u8>)>::new(&world).unwrap();
    write.on(&mut world).sharing(&0_u8).for_each(|_| {});
    let written = versions(&mut world);
    assert!(written[0].1 > after[0].1 && written[0].0 == after[0].0 && written[1] == after[1]);
    let bee = world.create((1_u32, 1_u64).shared(0_u8)).unwrap();
    let filled = versions(&mut world);
    assert!(filled[0].0 > written[0].0 && filled[0].2 > written[0].2 && filled[1] == written[1]);
    world.destroy(bee).unwrap();
    let closed = versions(&mut world);
    assert!(closed[0].0 == filled[0].0 && closed[0].2 > filled[0].2);
}

#[test]
fn changed_order_and_since_filters_work_at_chunk_grain() {
    let mut world = World::new();
    let ants: Vec<_> = (0..6_u8)
        .map(|n| world.create((n, 0_u64).shared(n % 2)).unwrap())
        .collect();
    let mut changed = Query::<Entity, Changed<u64>>::new(&world).unwrap();
    let mut moved = Query::<Entity, Moved>::new(&world).unwrap();
    assert_eq!(
        (changed.read(&world).count(), moved.read(&world).count()),
        (6, 6)
    );
    assert_eq!(
        (changed.read(&world).count(), moved.read(&world).count()),
        (0, 0)
    );
    let version = world.version();
    *world.get_mut::<u64>(ants[2]).unwrap() = 1;
    let seen: Vec<_> = changed.read(&world).iter().collect();
    assert_eq!(seen, [ants[0], ants[2], ants[4]], "the whole chunk");
    assert_eq!(
        (changed.read(&world).count(), moved.read(&world).count()),
        (0, 0)
    );
    assert_eq!(changed.read(&world).since(version.before()).count(), 3);
    *world.get_mut::<u8>(ants[3]).unwrap() = 1;
    assert_eq!(changed.read(&world).count(), 0, "another fragment");
    world.destroy(ants[1]).unwrap();
    let seen: Vec<_> = moved.read(&world).iter().collect();
    assert_eq!(seen, [ants[5], ants[3]]);
    assert_eq!(changed.read(&world).count(), 0);
    // Across the wrap of versions: `world::tests` of the library.
}

#[test]
fn enableable_fragments_are_a_bit_an_entity_toggled_without_a_move_and_queries_honour_it() {
    #[derive(Debug)]
    struct Awake;
    let mut world = World::new();
    let registry = world.registry();
    registry.register_enableable::<Awake>().unwrap();
    registry.register_enableable::<u16>().unwrap();
    let ants: Vec<_> = (0..200_u16)
        .map(|n| world.create((n, Awake)).unwrap())
        .collect();
    let place = std::ptr::from_ref(world.get::<u16>(ants[70]).unwrap());
    for &ant in ants.iter().step_by(3) {
        world.set_enabled::<u16>(ant, false).unwrap();
    }
    world.set_enabled::<Awake>(ants[1], false).unwrap();
    assert_eq!(world.archetypes().len(), 1);
    assert_eq!(chunks(&mut world).len(), 1);
    assert_eq!(
        place,
        std::ptr::from_ref(world.get::<u16>(ants[70]).unwrap())
    );
    assert_eq!(world.query::<&u16, ()>().unwrap().count(), 133);
    assert_eq!(
        world
            .query::<&mut u16, With<Awake>>()
            .unwrap()
            .iter()
            .count(),
        132
    );
    assert_eq!(world.query::<Entity, Without<u16>>().unwrap().count(), 67);
    assert_eq!(world.query::<Option<&u16>, ()>().unwrap().count(), 200);
    let mut query = Query::<&u16>::new(&world).unwrap();
    assert!(query.get(&world, ants[0]).is_err() && query.get(&world, ants[1]).is_ok());
    // Bits go with their entities: into holes, and to other archetypes.
    world.destroy(ants[4]).unwrap();
    world.add(ants[6], (1_u64,)).unwrap();
    assert!(
        !world.is_enabled::<u16>(ants[6]).unwrap() && world.is_enabled::<u16>(ants[7]).unwrap()
    );
    assert_eq!(world.query::<&u16, ()>().unwrap().count(), 132);
    world.set_enabled::<u16>(ants[0], true).unwrap();
    assert_eq!(world.query::<&u16, ()>().unwrap().count(), 133);
    let error = world.set_enabled::<u64>(ants[6], false).unwrap_err();
    assert!(matches!(error, WorldError::NotEnableable { .. }));
}

#[test]
fn enabled_bits_are_toggled_from_parallel_code() {
    struct Awake;
    let mut world = World::new();
    world.registry().register_enableable::<Awake>().unwrap();
    world.registry().register_enableable::<u16>().unwrap();
    let batch = world.create_batch((0..50_000_u16).map(|n| (n, Awake)));
    let ants: Vec<Entity> = batch.unwrap().iter(&world).collect();
    let mut query = Query::<(&u16, Enabled<Awake>)>::new(&world).unwrap();
    query.on(&mut world).par_for_each(|(&n, awake)| {
        assert!(
            awake.set(n % 3 == 0),
            "all are on, whatever the neighbours do"
        );
        assert_eq!(awake.is_on(), n % 3 == 0);
    });
    let on = |world: &mut World| world.query::<&u16, With<Awake>>().unwrap().count();
    assert_eq!(on(&mut world), 16_667);
    assert!(
        world.is_enabled::<Awake>(ants[3]).unwrap() && !world.is_enabled::<Awake>(ants[4]).unwrap()
    );
    // On or off, the switch is lent; with the filter, where it is on.
    assert_eq!(query.on(&mut world).count(), 50_000);
    let mut seen = Query::<Enabled<Awake>, With<Awake>>::new(&world).unwrap();
    assert_eq!(seen.on(&mut world).count(), 16_667);
    // Neighbours of one word, by as many threads as there are.
    let mut run = query.on(&mut world);
    let mut all: Vec<_> = run.iter().collect();
    std::thread::scope(|scope| {
        let (one, two) = all.split_at_mut(25_001);
        for half in [one, two] {
            scope.spawn(|| {
                half.iter().for_each(|(n, awake)| {
                    awake.set(**n % 2 == 0);
                })
            });
        }
    });
    drop(run);
    assert_eq!(on(&mut world), 25_000);
    query
        .on(&mut world)
        .par_for_each_chunk(|chunk, (numbers, switches)| {
            assert_eq!((chunk.len(), switches.is_empty()), (switches.len(), false));
            for (row, n) in numbers.iter().enumerate() {
                switches.at(row).set(*n == 7);
            }
        });
    assert_eq!(
        world.query::<&u16, With<Awake>>().unwrap().single(),
        Some(&7)
    );
    let refused = Query::<Enabled<u64>>::new(&world).map(drop);
    assert!(matches!(refused, Err(QueryError::NotEnableable { .. })));
    let twice = Query::<(Enabled<u16>, Enabled<u16>)>::new(&world).map(drop);
    assert!(matches!(
        twice,
        Err(QueryError::Fragment(FragmentError::Twice { .. }))
    ));
    let requirements = query.requirements();
    let awake = world.registry().of::<Awake>().unwrap().id();
    assert!(requirements.switches().contains(awake) && !requirements.required().contains(awake));
}

#[test]
fn switching_is_a_change_of_the_fragment_in_its_chunk() {
    struct Awake;
    let mut world = World::new();
    world.registry().register_enableable::<Awake>().unwrap();
    world.registry().register_enableable::<u16>().unwrap();
    let ants: Vec<Entity> = (0..2_u32)
        .map(|n| world.create((1_u16, Awake).shared(n)).unwrap())
        .collect();
    let mut tags = Query::<Entity, Changed<Awake>>::new(&world).unwrap();
    let mut numbers = Query::<Entity, Changed<u16>>::new(&world).unwrap();
    let mut seen = |world: &World| -> [Vec<Entity>; 2] {
        [
            tags.read(world).iter().collect(),
            numbers.read(world).iter().collect(),
        ]
    };
    let none = [vec![], vec![]];
    assert_eq!(seen(&world).map(|seen| seen.len()), [2, 2]);
    assert_eq!(seen(&world), none);
    world.set_enabled::<Awake>(ants[1], true).unwrap();
    assert_eq!(seen(&world), none, "it was on");
    world.set_enabled::<Awake>(ants[1], false).unwrap();
    // The filter asks for the tag, switched on: the other row of the chunk would be seen.
    let bee = world.create((1_u16, Awake).shared(1_u32)).unwrap();
    assert_eq!(seen(&world), [vec![bee], vec![ants[1], bee]]);
    world.set_enabled::<Awake>(ants[1], true).unwrap();
    assert_eq!(seen(&world), [vec![ants[1], bee], vec![]]);
    let awake = world.registry().of::<Awake>().unwrap().id();
    world.set_enabled_dynamic(ants[0], awake, false).unwrap();
    world.set_enabled_dynamic(ants[0], awake, true).unwrap();
    assert_eq!(seen(&world), [vec![ants[0]], vec![]]);
    let mut switches = Query::<Enabled<u16>>::new(&world).unwrap();
    switches.on(&mut world).for_each(|on| {
        on.set(true);
    });
    assert_eq!(seen(&world), none, "all were on");
    switches.on(&mut world).par_for_each(|on| {
        on.set(false);
    });
    switches.on(&mut world).par_for_each(|on| {
        on.set(true);
    });
    assert_eq!(seen(&world)[1].len(), 3);
}
