//! Calls with sizes beyond all bounds are refused and change nothing.

use megachunk::entity::{Entity, EntityIndex};

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
