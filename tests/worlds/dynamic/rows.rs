//! Values in a column of which only the bytes are known: read where they are to be changed, one by one, and again.

use megachunk::prelude::*;

#[test]
fn values_are_read_and_changed_one_by_one_and_again() {
    let mut world = World::new();
    let awake = world.registry().register_plain::<bool>().unwrap().id();
    let name = world.registry().register_debug::<String>().unwrap().id();
    let all = [true, false, true].map(|on| (on, format!("{on}")));
    let batch = world.create_batch(all).unwrap();
    let all: Vec<Entity> = batch.iter(&world).collect();
    let builder = DynamicQuery::builder(&world).write(awake).write(name);
    let mut query = builder.build().unwrap();
    let mut seen = 0;
    query.on(&mut world).unwrap().for_each_chunk(|mut chunk| {
        let mut column = chunk.write(awake).unwrap();
        assert_eq!(column.read().bytes().unwrap(), [1, 0, 1]);
        assert_eq!(column.read().slice::<bool>().unwrap(), [true, false, true]);
        assert!(
            column.reborrow().bytes().is_err(),
            "not any bytes are a flag"
        );
        let mut second = column.row(1).unwrap();
        assert_eq!(
            (second.len(), second.read().bytes().unwrap()),
            (1, &[0][..])
        );
        assert!(second.row(1).is_none() && second.row(0).is_some());
        assert!(second.reborrow().set_bytes(&[2]).is_err());
        assert!(second.reborrow().set_bytes(&[1, 1]).is_err());
        second.set_bytes(&[1]).unwrap();
        column.row(2).unwrap().set_bytes(&[0]).unwrap();
        assert!(column.row(3).is_none() && column.row(usize::MAX).is_none());
        let whole = column.read();
        let rows = (0..whole.len()).map(|at| whole.row(at).unwrap().bytes().unwrap()[0]);
        assert_eq!(rows.collect::<Vec<_>>(), [1, 1, 0]);
        assert!(whole.row(3).is_none());
        let mut names = chunk.write(name).unwrap();
        names.row(2).unwrap().value::<String>().unwrap().push('!');
        assert_eq!(
            names.read().row(2).unwrap().value::<String>().unwrap(),
            "true!"
        );
        assert_eq!(format!("{names:?}"), format!("{:?}", names.read()));
        seen += 1;
    });
    assert_eq!(seen, 1);
    let flags = all
        .iter()
        .map(|&entity| *world.get::<bool>(entity).unwrap());
    assert_eq!(flags.collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn rows_of_a_tag_are_many_and_have_no_bytes() {
    #[derive(Clone, Copy)]
    struct Tag;
    megachunk::plain!(Tag);
    let mut world = World::new();
    let id = world.registry().register_plain::<Tag>().unwrap().id();
    let ant = world.create((Tag,)).unwrap();
    let mut lent = world.get_dynamic_mut(ant, id).unwrap();
    assert!(lent.read().row(0).unwrap().bytes().unwrap().is_empty());
    assert_eq!(lent.row(0).unwrap().slice::<Tag>().unwrap().len(), 1);
    assert!(lent.row(1).is_none());
    lent.set_bytes(&[]).unwrap();
}
