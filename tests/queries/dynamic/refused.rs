//! What contradicts itself is refused when a query is built, and nothing is lent twice, nor written that is only read.

use core::alloc::Layout;

use megachunk::fragment::{FragmentError, FragmentId};
use megachunk::prelude::*;
use megachunk::query::{Access, DynamicQuery};

use crate::dynamic::Ids;

#[test]
fn contradictions_and_conflicts_are_errors_when_the_query_is_built() {
    let world = World::new();
    let ids = Ids::new(&world);
    let builder = || DynamicQuery::builder(&world);
    let contradiction = builder()
        .read(ids.number)
        .without(ids.number)
        .build()
        .unwrap_err();
    assert!(
        matches!(contradiction, QueryError::Contradiction { .. }),
        "{contradiction}"
    );
    let contradiction = builder()
        .changed(ids.number)
        .without(ids.number)
        .build()
        .unwrap_err();
    assert!(matches!(contradiction, QueryError::Contradiction { .. }));
    for builder in [
        builder().write(ids.number).write(ids.number),
        builder().read(ids.number).write(ids.number),
        builder()
            .write(ids.number)
            .optional(ids.number, Access::Read),
    ] {
        let conflict = builder.build().unwrap_err();
        assert_eq!(
            conflict.to_string(),
            "the query takes u32 twice, and writes it: take it once, by `write`, or by `optional` with `Access::Write`"
        );
    }
    let twice = builder().read(ids.number).read(ids.number);
    let twice = twice.build().unwrap_err();
    assert!(
        matches!(twice, QueryError::Fragment(FragmentError::Twice { .. })),
        "{twice}"
    );
    let tag = builder().write(ids.asleep).build().unwrap_err();
    assert!(matches!(tag, QueryError::NoValues { .. }), "{tag}");
    for id in [ids.team, ids.flag] {
        let shared = builder().write(id).build().unwrap_err();
        assert!(matches!(shared, QueryError::ReadOnly { .. }), "{shared}");
    }
    let kind = builder().changed(ids.team).build().unwrap_err();
    assert!(matches!(
        kind,
        QueryError::Fragment(FragmentError::WrongKind { .. })
    ));
    let unknown = builder()
        .with(FragmentId::from_number(9_999))
        .build()
        .unwrap_err();
    assert!(matches!(
        unknown,
        QueryError::Fragment(FragmentError::Unknown { .. })
    ));
    let many = (0..129).map(|n| {
        let name = format!("part {n}");
        world
            .registry()
            .define_plain(&name, Layout::new::<u8>())
            .unwrap()
            .id()
    });
    let many = many
        .fold(builder(), |builder, id| builder.read(id))
        .build()
        .unwrap_err();
    assert_eq!(many, QueryError::TooMany { limit: 128 });
}

#[test]
fn nothing_is_lent_twice_and_nothing_read_only_is_written() {
    let mut world = World::new();
    let ids = Ids::new(&world);
    let bundle = (1_u32, 2_u64, 3_u8).per_chunk(4_i64).shared(5_i16);
    world.create(bundle).unwrap();
    let mut query = DynamicQuery::builder(&world)
        .write(ids.number)
        .read(ids.big)
        .with(ids.small)
        .write(ids.heat)
        .read(ids.team)
        .build()
        .unwrap();
    assert!(matches!(query.read(&world), Err(QueryError::Writes { .. })));
    let mut run = query.on(&mut world).unwrap();
    let mut chunk = run.chunks().next().unwrap();
    let numbers = chunk.write(ids.number).unwrap().slice::<u32>().unwrap();
    assert!(matches!(
        chunk.write(ids.number),
        Err(QueryError::Lent { .. })
    ));
    assert!(matches!(
        chunk.read(ids.number),
        Err(QueryError::Lent { .. })
    ));
    let (one, two) = (chunk.read(ids.big).unwrap(), chunk.read(ids.big).unwrap());
    assert_eq!(one.slice::<u64>().unwrap(), two.slice::<u64>().unwrap());
    assert!(matches!(
        chunk.write(ids.big),
        Err(QueryError::ReadOnly { .. })
    ));
    assert!(matches!(
        chunk.write(ids.team),
        Err(QueryError::ReadOnly { .. })
    ));
    assert!(matches!(
        chunk.read(ids.small),
        Err(QueryError::NotAsked { .. })
    ));
    assert!(matches!(
        chunk.read(ids.flag),
        Err(QueryError::NotAsked { .. })
    ));
    assert_eq!(chunk.read(ids.team).unwrap().value::<i16>().unwrap(), &5);
    // What was read first can not be written any more.
    let heat = chunk.read(ids.heat).unwrap().value::<i64>().unwrap();
    assert!(matches!(
        chunk.write(ids.heat),
        Err(QueryError::Lent { .. })
    ));
    numbers[0] = 10;
    assert_eq!((numbers[0], *heat), (10, 4));

    let mut chunk = run.chunks().next().unwrap();
    *chunk.write(ids.heat).unwrap().value::<i64>().unwrap() = 40;
    assert!(matches!(
        chunk.write(ids.number).unwrap().slice::<i32>(),
        Err(FragmentError::WrongType { .. })
    ));
    drop(run);
    assert_eq!(
        world
            .query::<megachunk::fragment::PerChunk<i64>, ()>()
            .unwrap()
            .single(),
        Some(&40)
    );

    let mut elsewhere = World::new();
    assert_eq!(
        query.on(&mut elsewhere).unwrap_err(),
        QueryError::OtherUniverse
    );
}
