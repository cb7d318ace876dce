//! Calls with sizes beyond all bounds are refused and change nothing.

use megachunk::entity::{Entity, EntityIndex, ParseEntityFault, Place, RelocateError};

#[test]
fn more_entities_than_there_are_slots_are_refused_and_nothing_is_lost() {
    let index = EntityIndex::new();
    let mut entities = vec![index.create().unwrap()];
    for count in [EntityIndex::CAPACITY + 1, 1 << 45, 1 << 61, usize::MAX] {
        assert!(index.create_into(&mut entities, count).is_err());
        assert!(index.create_iter(count).is_err());
    }
    assert_eq!((entities.len(), index.count()), (1, 1));
}

#[test]
fn what_an_iterator_was_not_asked_for_does_not_stay() {
    let index = EntityIndex::new();
    let taken: Vec<Entity> = index.create_iter(100).unwrap().take(30).collect();
    assert_eq!(index.count(), 30);
    assert!(index.destroy_slice(&taken).is_clean());
    assert!(index.is_empty());
}

#[test]
fn the_entity_of_a_slot_is_the_one_that_lives_there() {
    let index = EntityIndex::new();
    let entity = index.create().unwrap();
    assert_eq!(index.at(entity.index()), Some(entity));
    index.destroy(entity).unwrap();
    assert_eq!((index.at(entity.index()), index.at(u32::MAX)), (None, None));
}

#[test]
fn a_number_is_an_entity_if_its_version_is_odd() {
    let entity = Entity::new(7, 3).unwrap();
    assert_eq!(Entity::try_from(u64::from(entity)), Ok(entity));
    let even = Entity::try_from(2 << 32 | 7).unwrap_err();
    assert_eq!(
        even.to_string(),
        "0x200000007 is no entity: its version is even"
    );
}

#[test]
fn who_uses_nobody_is_told_so() {
    let error = EntityIndex::new().destroy(Entity::PLACEHOLDER).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entity 4294967295v1: it is `Entity::PLACEHOLDER`, which is nobody"
    );
    let beyond = Entity::new(u32::MAX, 3).unwrap();
    let error = EntityIndex::new().destroy(beyond).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entity 4294967295v3: its index is out of range"
    );
}

#[test]
fn who_does_not_lie_where_it_is_to_be_taken_from_is_told_with_its_place() {
    let index = EntityIndex::new();
    let entity = index.create().unwrap();
    let places = [Place::new(1, 2), Place::new(3, 4)];
    let says = |error: RelocateError| error.to_string();
    let error = index.relocate(entity, places[0], places[1]).map_err(says);
    assert_eq!(error, Err("entity 0v1: it has no place".into()));
    index.relocate(entity, None, places[0]).unwrap();
    let error = index.relocate(entity, None, places[1]).map_err(says);
    let elsewhere = "entity 0v1: it lies elsewhere, in chunk 1 row 2";
    assert_eq!(error, Err(elsewhere.into()));
}

#[test]
fn an_entity_is_read_as_it_is_shown() {
    let numbers = [0, 1, 9, 10, 4_294_967_294, u32::MAX];
    for (index, version) in numbers
        .into_iter()
        .flat_map(|i| numbers.map(|v| (i, v | 1)))
    {
        let entity = Entity::new(index, version).unwrap();
        assert_eq!(entity.to_string().parse(), Ok(entity));
    }
    assert_eq!("4294967295v1".parse(), Ok(Entity::PLACEHOLDER));
}

#[test]
fn what_no_entity_is_shown_as_is_refused_with_where_and_why() {
    use ParseEntityFault::{EvenVersion, Followed, LeadingZero, NoDigit, NoV, TooLarge};
    for (text, at, fault) in [
        ("", 0, NoDigit),
        ("+1v2", 0, NoDigit),
        ("-1v1", 0, NoDigit),
        (" 1v2", 0, NoDigit),
        ("v1", 0, NoDigit),
        ("1", 1, NoV),
        ("1 v1", 1, NoV),
        ("1V1", 1, NoV),
        ("1é", 1, NoV),
        ("1v", 2, NoDigit),
        ("1v+1", 2, NoDigit),
        ("1v é", 2, NoDigit),
        ("1v1 ", 3, Followed),
        ("1v1v1", 3, Followed),
        ("1v1١", 3, Followed),
        ("01v1", 0, LeadingZero),
        ("1v01", 2, LeadingZero),
        ("4294967296v1", 0, TooLarge),
        ("1v4294967297", 2, TooLarge),
        ("1v99999999999999999999", 2, TooLarge),
        ("1v0", 2, EvenVersion),
        ("1v2", 2, EvenVersion),
        ("4294967295v4294967294", 11, EvenVersion),
    ] {
        let error = text.parse::<Entity>().expect_err(text);
        assert_eq!((error.at, error.fault), (at, fault), "{text:?}");
    }
    let error = "12v4".parse::<Entity>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "no entity is shown so (it would be as `12v3`): from byte 3 on, the version is even"
    );
}

#[test]
fn an_index_shows_its_counts_and_nothing_of_what_it_is_made_of() {
    let index = EntityIndex::new();
    let mut many = vec![Entity::PLACEHOLDER; 10_000];
    index.create_slice(&mut many).unwrap();
    let shown = "EntityIndex { count: 10000, retired: 0, blocks: 2, .. }";
    assert_eq!(format!("{index:?}"), shown);
    let session = format!("{:?}", index.session());
    assert_eq!(session, format!("Session {{ index: {shown}, .. }}"));
    let live = format!("{:?}", index.iter());
    assert_eq!(live, "Live { next: 0, end: 16384, .. }");
    let created = format!("{:?}", index.create_iter(100).unwrap());
    assert_eq!(created, "Created { left: 100, .. }");
}
