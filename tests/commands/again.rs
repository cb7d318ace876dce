//! What one recorder alone has recorded, where all commands do the same, and some name an entity again: what each gets, what
//! the report says and what the chunks' versions are is as by the ordinary way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::prelude::*;

use crate::dice::mix;
use crate::refused::{Goes, flush};

#[derive(Clone, Copy)]
struct Number(usize);
#[derive(Clone, Copy)]
struct Heat(usize);
#[derive(Clone, Copy)]
struct Load(usize);
struct Tag;
/// So large that a chunk has few of them.
#[derive(Clone, Copy)]
struct Wide(#[expect(dead_code, reason = "it is carried")] [u64; 200]);

/// Says when it ends.
struct Named(usize, Arc<AtomicUsize>);

impl Drop for Named {
    fn drop(&mut self) {
        // In which order they end counts, too.
        let sum = self.1.load(Ordering::Relaxed);
        let next = mix((sum ^ self.0) as u64) as usize;
        self.1.store(next, Ordering::Relaxed);
    }
}

/// What the nth command does to an entity.
type Op = fn(&mut Commands<'_>, Entity, usize, &Arc<AtomicUsize>);

const OPS: [(&str, Op); 9] = [
    ("set", |commands, ant, nth, _| {
        commands.set(ant, Heat(nth)).unwrap();
    }),
    ("add what is there", |commands, ant, nth, _| {
        commands.add(ant, (Heat(nth), Wide([7; 200]))).unwrap();
    }),
    ("add", |commands, ant, nth, _| {
        commands.add(ant, (Load(nth),)).unwrap();
    }),
    ("add beside what is there", |commands, ant, nth, _| {
        commands.add(ant, (Load(nth), Heat(nth))).unwrap();
    }),
    ("add what is dropped", |commands, ant, nth, ended| {
        let named = Named(nth, Arc::clone(ended));
        commands.add(ant, (named, Load(nth))).unwrap();
    }),
    ("tag", |commands, ant, _, _| {
        commands.add(ant, (Tag,)).unwrap();
    }),
    ("remove", |commands, ant, _, _| {
        commands.remove::<(Heat,)>(ant).unwrap();
    }),
    ("swap", |commands, ant, nth, _| {
        commands.swap::<(Heat,), _>(ant, (Load(nth),)).unwrap();
    }),
    ("destroy", |commands, ant, _, _| commands.destroy(ant)),
];

/// Ants, of whom the first ten are for what is done before.
const ANTS: usize = 110;

/// Does something to those of these numbers, one after the other; all that can be told of it.
fn told((_, op): (&str, Op), named: &[usize], goes: Goes) -> Vec<String> {
    let ended = Arc::new(AtomicUsize::new(0));
    let mut world = World::new();
    let ants: Vec<Entity> = (0..ANTS)
        .map(|n| {
            let ant = (Number(n), Heat(1_000 + n), Wide([n as u64; 200]));
            world.create(ant).unwrap()
        })
        .collect();
    let mut told = Vec::new();
    // The first time the way is not known.
    for named in [&[2, 5, 3][..], named] {
        let commands: Vec<_> = (named.iter().enumerate())
            .map(|(nth, &ant)| {
                let (ant, ended) = (ants[ant], &ended);
                move |_: &World, commands: &mut Commands<'_>| op(commands, ant, nth, ended)
            })
            .collect();
        let commands: Vec<_> = commands.iter().map(|command| command as _).collect();
        let report = flush(&mut world, goes, &commands);
        told.push(format!("{report}"));
        world.check().unwrap();
    }
    type Parts<'a> = (
        &'a Number,
        Option<&'a Heat>,
        Option<&'a Load>,
        Option<&'a Named>,
        Has<Tag>,
    );
    let mut rows = world.query::<Parts<'_>, ()>().unwrap();
    rows.for_each(|(number, heat, load, named, tag)| {
        let (heat, load) = (heat.map(|heat| heat.0), load.map(|load| load.0));
        let named = named.map(|named| named.0);
        told.push(format!("{} {heat:?} {load:?} {named:?} {tag}", number.0));
    });
    let mut chunks = Query::<&Number>::new(&world).unwrap();
    chunks.on(&mut world).for_each_chunk(|chunk, numbers| {
        told.push(format!(
            "chunk of {}: {} {:?} {:?}",
            numbers.len(),
            chunk.order_version(),
            chunk.change_version::<Heat>(),
            chunk.change_version::<Load>(),
        ));
    });
    let living = ants.iter().filter(|ant| world.exists(**ant)).count();
    told.push(format!("{living} {:?}", ended));
    drop(world);
    told.push(format!("in the end {:?}", ended));
    told
}

fn compare(named: &[usize]) {
    for op in OPS {
        let general = told(op, named, Goes::General);
        for goes in [Goes::Few, Goes::Alone] {
            assert_eq!(told(op, named, goes), general, "{}: {named:?}", op.0);
        }
    }
}

/// So many of them that are no neighbours, each once: in the order of rows, backwards, or in none.
fn distinct(many: usize) -> [Vec<usize>; 3] {
    let rows: Vec<usize> = (0..many).map(|nth| 10 + nth * (ANTS - 10) / many).collect();
    let backwards = rows.iter().rev().copied().collect();
    let mut mixed = rows.clone();
    mixed.sort_by_key(|&ant| mix(ant as u64));
    [rows, backwards, mixed]
}

#[test]
fn who_is_named_twice_or_three_times_gets_what_the_last_command_says() {
    const MANY: usize = 5;
    for order in distinct(MANY) {
        for first in 0..MANY {
            for second in first + 1..MANY {
                // With itself for the third: twice.
                for third in second..MANY {
                    let mut named = order.clone();
                    (named[second], named[third]) = (order[first], order[first]);
                    compare(&named);
                }
            }
        }
    }
}

#[test]
fn all_commands_may_name_one_entity_or_each_entity_twice() {
    for many in [2, 3, 40] {
        compare(&vec![17; many]);
        for order in distinct(many) {
            compare(&order.repeat(2));
            compare(&order.repeat(3));
            let mut paired = order.repeat(2);
            paired.sort_by_key(|&ant| order.iter().position(|&other| other == ant));
            compare(&paired);
        }
    }
}

#[test]
fn one_of_many_entities_is_named_again() {
    for order in distinct(90) {
        for (first, second) in [(0, 1), (0, 89), (44, 45), (30, 70), (88, 89)] {
            let mut named = order.clone();
            named[second] = named[first];
            compare(&named);
        }
    }
}
