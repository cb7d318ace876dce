//! Which chunks that change as a whole go as they are, and of which the entities are copied to rows that are free: no
//! more of them than find room, whatever else comes there.

use crate::archetype::scarce::Scarce;
use crate::command::Commands;
use crate::prelude::*;

#[derive(Clone, Copy)]
#[expect(dead_code, reason = "it takes its bytes")]
struct Ant([u64; 4]);
struct Tag;

/// Two kinds of ants, and how one becomes the other: by a tag, or by a shared value.
struct Kinds {
    create: fn(&mut World, bool, usize) -> Vec<Entity>,
    change: fn(&mut Commands<'_>, bool, Entity),
}

const ANT: Ant = Ant([3; 4]);

const KINDS: [Kinds; 2] = [
    Kinds {
        create: |world, other, count| {
            let batch = match other {
                false => world.create_batch((0..count).map(|_| (ANT,))).unwrap(),
                true => (world.create_batch((0..count).map(|_| (ANT, Tag)))).unwrap(),
            };
            batch.iter(world).collect()
        },
        change: |commands, other, ant| match other {
            false => commands.remove::<(Tag,)>(ant).unwrap(),
            true => commands.add(ant, (Tag,)).unwrap(),
        },
    },
    Kinds {
        create: |world, other, count| {
            let batch = world.create_batch((0..count).map(|_| (ANT,).shared(other)));
            batch.unwrap().iter(world).collect()
        },
        change: |commands, other, ant| commands.set_shared(ant, other).unwrap(),
    },
];

/// A world of ants in chunks of 16 KiB, and what it does.
struct Hill<'a> {
    scarce: &'a mut Scarce,
    world: World,
    kinds: &'static Kinds,
    /// Of a chunk.
    rows: usize,
}

impl<'a> Hill<'a> {
    fn new(scarce: &'a mut Scarce, kinds: &'static Kinds) -> Self {
        scarce.leave(64);
        let mut world = World::of(&scarce.universe).unwrap();
        world.set_chunk_size(1);
        (kinds.create)(&mut world, false, 1);
        let rows = world.archetypes[0].least_capacity as usize;
        world.clear();
        world.trim();
        Self {
            scarce,
            world,
            kinds,
            rows,
        }
    }

    /// Ants in chunks that they fill, by their chunks.
    fn fill(&mut self, other: bool, chunks: usize) -> Vec<Vec<Entity>> {
        let before = self.world.stats().chunks;
        let ants = (self.kinds.create)(&mut self.world, other, chunks * self.rows);
        assert_eq!(self.world.stats().chunks, before + chunks);
        ants.chunks(self.rows).map(<[Entity]>::to_vec).collect()
    }

    /// Destroys so many ants, of each chunk as many as of the others or one more.
    fn thin(&mut self, chunks: &[Vec<Entity>], count: usize) {
        for at in 0..count {
            let ant = chunks[at % chunks.len()][at / chunks.len()];
            self.world.destroy(ant).unwrap();
        }
    }

    /// Flushes what is recorded, with no memory left; all is done.
    fn flush(&mut self, record: impl FnOnce(&mut Commands<'_>)) {
        let mut commands = self.world.commands();
        record(&mut commands);
        drop(commands);
        self.scarce.leave(0);
        let report = self.world.flush();
        assert!(report.is_clean(), "{} refused", report.refused.len());
        self.scarce.check(&self.world);
    }

    fn addresses(&self, ants: &[Entity]) -> Vec<*const Ant> {
        let address = |&ant: &Entity| -> *const Ant { self.world.get::<Ant>(ant).unwrap() };
        ants.iter().map(address).collect()
    }
}

#[test]
fn chunks_that_cross_do_not_fill_the_room_that_the_other_takes_away() {
    let mut scarce = Scarce::new();
    for kinds in &KINDS {
        for more in [0, 1] {
            let mut hill = Hill::new(&mut scarce, kinds);
            let half = hill.rows.div_ceil(2);
            let there = (kinds.create)(&mut hill.world, false, half);
            // Half a chunk comes back, which has room for as many; others have room for those that come, or all but one.
            let mut others = hill.fill(true, 3);
            let back = others.remove(0);
            let (gone, back) = back.split_at(half);
            for &ant in gone {
                hill.world.destroy(ant).unwrap();
            }
            hill.thin(&others, half - 1 + more);
            let before = hill.addresses(&there);
            hill.flush(|commands| {
                for &ant in &there {
                    (kinds.change)(commands, true, ant);
                }
                for &ant in back {
                    (kinds.change)(commands, false, ant);
                }
            });
            let stays = hill.addresses(&there) == before;
            assert_eq!(stays, more == 0, "of {half} rows all, or but one");
        }
    }
}

#[test]
fn chunks_that_cross_need_no_memory_where_few_rows_are_free() {
    let mut scarce = Scarce::new();
    for kinds in &KINDS {
        let mut hill = Hill::new(&mut scarce, kinds);
        let there = hill.fill(false, 2);
        let others = hill.fill(true, 3);
        hill.thin(&others[2..], 3);
        let crossing = [&there[1], &others[0]].map(|ants| hill.addresses(ants));
        hill.flush(|commands| {
            for &ant in &there[1] {
                (kinds.change)(commands, true, ant);
            }
            for &ant in &others[0] {
                (kinds.change)(commands, false, ant);
            }
        });
        let now = [&there[1], &others[0]].map(|ants| hill.addresses(ants));
        assert_eq!(now, crossing);
    }
}

#[test]
fn of_several_chunks_those_that_find_room_are_copied_and_the_others_go_as_they_are() {
    let mut scarce = Scarce::new();
    for kinds in &KINDS {
        for fit in 0..4 {
            let mut hill = Hill::new(&mut scarce, kinds);
            let coming = hill.fill(false, 3);
            let others = hill.fill(true, 4);
            // Room for one entity less than the next chunk has, or for the last chunk's all.
            let free = if fit < 3 {
                (fit + 1) * hill.rows - 1
            } else {
                3 * hill.rows
            };
            hill.thin(&others, free);
            let before: Vec<_> = coming.iter().map(|ants| hill.addresses(ants)).collect();
            hill.flush(|commands| {
                for &ant in coming.iter().flatten() {
                    (kinds.change)(commands, true, ant);
                }
            });
            let mut copied = 0;
            for (ants, before) in coming.iter().zip(before) {
                let after = hill.addresses(ants);
                let stayed = after.iter().zip(&before).filter(|(a, b)| a == b).count();
                assert!(stayed == 0 || stayed == hill.rows, "{stayed} of a chunk");
                copied += usize::from(stayed == 0);
            }
            assert_eq!(copied, fit);
        }
    }
}

#[test]
fn rows_are_left_for_others_that_change_in_the_same_flush() {
    let mut scarce = Scarce::new();
    for kinds in &KINDS {
        for (dies, more) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
            let mut hill = Hill::new(&mut scarce, kinds);
            let coming = hill.fill(false, 2);
            let others = hill.fill(true, 4);
            let some = hill.rows / 4;
            // Who dies needs no room.
            let needed = hill.rows + if dies { 0 } else { some };
            hill.thin(&others, needed - 1 + more);
            let before = hill.addresses(&coming[1]);
            hill.flush(|commands| {
                for &ant in &coming[0][..some] {
                    match dies {
                        true => commands.destroy(ant),
                        false => (kinds.change)(commands, true, ant),
                    }
                }
                for &ant in &coming[1] {
                    (kinds.change)(commands, true, ant);
                }
            });
            let stays = hill.addresses(&coming[1]) == before;
            assert_eq!(stays, more == 0, "of {needed} rows all, or but one");
        }
    }
}

#[test]
fn of_many_chunks_of_a_group_no_more_are_copied_than_all_that_is_free_there_takes() {
    let mut scarce = Scarce::new();
    let mut hill = Hill::new(&mut scarce, &KINDS[1]);
    hill.scarce.leave(200);
    let coming = hill.fill(false, 66);
    let others = hill.fill(true, 128);
    // Every other one, those that are looked at, has much room, and the others little: for 64 chunks in all.
    hill.thin(&others, 128);
    let looked_at: Vec<_> = (others.iter().step_by(2))
        .map(|ants| ants[1..].to_vec())
        .collect();
    let rest = 64 * (hill.rows - 2);
    hill.thin(&looked_at, rest);
    let before: Vec<_> = coming.iter().map(|ants| hill.addresses(ants)).collect();
    hill.flush(|commands| {
        for &ant in coming.iter().flatten() {
            commands.set_shared(ant, true).unwrap();
        }
    });
    let stay = |(ants, before): &(&Vec<Entity>, &Vec<_>)| hill.addresses(ants) == **before;
    assert_eq!(coming.iter().zip(&before).filter(stay).count(), 2);
}
