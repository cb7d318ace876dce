//! Which recorders shared a lane cannot be seen afterwards, whatever is broken off: entities in chunks, their order and
//! length, versions, what observers hear, reports, and where what comes later goes.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use megachunk::fragment::{DynamicBundle, Value};
use megachunk::prelude::*;
use megachunk::query::Moved;
use megachunk::world::{Budget, Prototype};

use crate::counted::{Counted, FUSE, burn};
use crate::dice::mix;

/// So large that a chunk holds eight: the first four of a recorder go where those of other recorders are.
#[derive(Clone, Copy)]
struct Large([u64; 250]);
/// Seven.
#[derive(Clone, Copy)]
struct Odd([u64; 280]);
/// One, in a chunk twice as long.
#[derive(Clone, Copy)]
struct Huge(#[expect(dead_code, reason = "it is carried")] [u64; 3_000]);
struct Lit;
#[derive(Clone)]
struct Weather(#[expect(dead_code, reason = "it is dropped")] Counted);
/// To compare it burns the fuse, and to hash it too.
#[derive(Debug)]
struct Team(u64);

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Eq for Team {}

impl Hash for Team {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        (self.0 % 2).hash(state);
    }
}

/// What observers have heard.
#[derive(Default)]
struct Heard(Vec<String>);

/// Recorders of one flush.
const PIECES: u64 = 8;

/// Seeds: thousands, if somebody looks for faults.
fn seeds() -> u64 {
    std::env::var("MEGACHUNK_LANE_SEEDS").map_or(6, |seeds| seeds.parse().expect("a number"))
}

/// Who shares a lane.
#[derive(Clone, Copy, Debug)]
enum Sharing {
    /// Those that are not among so many which are open at once.
    AtOnce(usize),
    /// Every other one: each opens before the one before it closes.
    Overlapping,
}

const OTHERS: [Sharing; 4] = [
    Sharing::AtOnce(8),
    Sharing::AtOnce(2),
    Sharing::AtOnce(3),
    Sharing::Overlapping,
];

/// A world, and what recorders create from.
struct Scene {
    universe: Arc<Universe>,
    world: World,
    ants: [Prototype; 2],
    alive: Arc<AtomicUsize>,
    seen: Vec<String>,
}

impl Scene {
    /// Chunks of which nobody hears may join another way.
    fn new(observed: bool) -> Self {
        let universe = Arc::new(Universe::ordered());
        let registry = universe.registry();
        // The first to be met is the first in every list: not to depend on who records first.
        registry.register::<Large>().unwrap();
        registry.register::<Odd>().unwrap();
        registry.register::<Huge>().unwrap();
        registry.register::<Counted>().unwrap();
        registry.register::<u64>().unwrap();
        registry.register::<u8>().unwrap();
        registry.register_enableable::<Lit>().unwrap();
        registry.register::<PerChunk<Weather>>().unwrap();
        registry.register::<Shared<Team>>().unwrap();
        let alive = Arc::new(AtomicUsize::new(0));
        let large = || Value::cloneable(registry, Large([7; 250])).unwrap();
        let counted = Value::cloneable(registry, Counted::new(&alive)).unwrap();
        let weather = Value::per_chunk(registry, Weather(Counted::new(&alive))).unwrap();
        let plain = DynamicBundle::new().with(large());
        let rich = DynamicBundle::new()
            .with(large())
            .with(counted)
            .with(Value::shared(registry, Team(3)).unwrap())
            .with(weather);
        let ants = [plain, rich].map(|bundle| Prototype::new(registry, bundle).unwrap());
        let mut world = World::of(&universe).unwrap();
        world.resources_mut().insert(Heard::default());
        let changes = [Observed::COME, Observed::GO];
        for change in changes.into_iter().filter(|_| observed) {
            let hear = |batch: &mut ObservedBatch<'_>, _: &mut Commands<'_>| {
                let ranges: Vec<&[Entity]> = batch.ranges().collect();
                let said = format!("{:?} {ranges:?}", batch.change());
                let heard = batch.resources_mut().get_mut::<Heard>();
                heard.unwrap().0.push(said);
            };
            world.observe::<Large, ()>(change, hear).unwrap();
            world.observe::<Odd, ()>(change, hear).unwrap();
            world.observe::<Lit, ()>(change, hear).unwrap();
        }
        Self {
            universe,
            world,
            ants,
            alive,
            seen: Vec::new(),
        }
    }

    fn say(&mut self, what: &str, value: impl Debug) {
        self.seen.push(format!("{what}: {value:?}"));
    }

    fn counted(&self) -> Counted {
        Counted::new(&self.alive)
    }

    /// Calls `record` with a recorder for each piece of work.
    fn record(&self, sharing: Sharing, mut record: impl FnMut(&Self, &mut Commands<'_>, u64)) {
        let commands = self.world.parallel_commands_for(PIECES as usize);
        let pieces: Vec<u64> = (0..PIECES).collect();
        match sharing {
            Sharing::AtOnce(many) => {
                for pieces in pieces.chunks(many) {
                    let open = pieces.iter().map(|&piece| commands.open_at(piece));
                    let mut open: Vec<_> = open.collect();
                    for (commands, &piece) in open.iter_mut().zip(pieces).rev() {
                        record(self, commands, piece);
                    }
                }
            }
            Sharing::Overlapping => {
                let mut before = None;
                for piece in pieces {
                    let mut commands = commands.open_at(piece);
                    record(self, &mut commands, piece);
                    before = Some(commands);
                }
                drop(before);
            }
        }
    }

    /// Flushes, the `fuse`-th call of user's code panicking; whether one did.
    fn flush(&mut self, fuse: usize) -> bool {
        self.universe.check([&self.world]).unwrap();
        FUSE.set(fuse);
        let report = catch_unwind(AssertUnwindSafe(|| self.world.flush()));
        let burnt = fuse > 0 && FUSE.get() == 0;
        FUSE.set(0);
        match report {
            Ok(report) => self.say("report", report),
            Err(_) => self.say("panicked", fuse),
        }
        self.universe.check([&self.world]).unwrap();
        burnt
    }

    /// Notes all that can be seen of the world but what changed.
    fn look(&mut self) {
        let mut stats = self.world.stats();
        // Records are in a list that may be longer.
        stats.record_bytes = 0;
        self.say("stats", stats);
        let seen = &mut self.seen;
        let mut all = self.world.query::<Lent<'_>, ()>().unwrap();
        all.for_each_chunk(|chunk, (entities, large, odd, counts)| {
            let versions = (
                chunk.order_version(),
                chunk.change_version::<Large>(),
                chunk.change_version::<Lit>(),
            );
            let large = large.iter().flat_map(|all| all.iter());
            let large: Vec<_> = large.map(|large| (large.0[0], large.0[249])).collect();
            let odd = odd.iter().flat_map(|all| all.iter());
            let odd: Vec<_> = odd.map(|odd| odd.0[279]).collect();
            let key = chunk.sort_key();
            seen.push(format!(
                "chunk: {key} {versions:?} {entities:?} {large:?} {odd:?} {counts:?}"
            ));
        });
    }

    /// The world ends; what was seen of it.
    fn end(mut self) -> Vec<String> {
        let heard = self.world.resources_mut().remove::<Heard>().unwrap();
        drop((self.world, self.ants));
        assert_eq!(self.alive.load(Ordering::Relaxed), 0);
        self.universe.check([]).unwrap();
        self.seen.extend(heard.0);
        self.seen
    }
}

type Lent<'a> = (Entity, Option<&'a Large>, Option<&'a Odd>, Option<&'a u64>);

/// Entities in the making: how, how many, and at which one it ends.
#[derive(Clone, Copy)]
struct Steps {
    how: u64,
    count: u64,
    stop: u64,
}

impl Steps {
    fn at(self, n: u64) {
        if n == self.stop {
            resume_unwind(Box::new("enough"));
        }
    }

    /// Creates them, as copies if there is a prototype; those that are there in the end.
    fn create<B: Bundle>(
        self,
        commands: &mut Commands<'_>,
        ant: Option<&Prototype>,
        make: impl Fn(u64) -> B,
    ) -> Vec<Entity> {
        let make = |n| {
            self.at(n);
            make(n)
        };
        let mut made = Vec::new();
        let _ = catch_unwind(AssertUnwindSafe(|| match (self.how, ant) {
            (0, _) => {
                let batch = commands.create_batch((0..self.count).map(make)).unwrap();
                made.extend(batch.iter(commands));
            }
            (1, Some(ant)) => {
                let make = |n| {
                    self.at(n as u64);
                    (n as u64,)
                };
                let batch = commands.create_copies_with(ant, self.count as usize, make);
                made.extend(batch.unwrap().iter(commands));
            }
            (2, Some(ant)) => {
                let batch = commands.create_copies(ant, self.count as usize);
                made.extend(batch.unwrap().iter(commands));
            }
            _ => (0..self.count).for_each(|n| made.push(commands.create(make(n)).unwrap())),
        }));
        made
    }
}

/// What a recorder does, of one composition most often; one of two creates so many that little of it is a chunk.
fn record(scene: &Scene, commands: &mut Commands<'_>, old: &[Entity], seed: u64, most: u64) {
    for step in 0..6 {
        let random = mix(seed << 8 | step);
        let many = 1 + 20 * (mix(seed) & random >> 24 & 1);
        let steps = Steps {
            how: random >> 16 & 3,
            count: random % 7 * many,
            stop: (random >> 8 & 7) * many,
        };
        let few = Steps {
            count: steps.count / 3,
            stop: steps.stop / 3,
            ..steps
        };
        let large = |n: u64| Large([seed << 32 | step << 8 | n; 250]);
        let odd = |n: u64| Odd([seed << 32 | step << 8 | n; 280]);
        let counted = || scene.counted();
        let weather = || Weather(counted());
        let kind = if random >> 40 & 3 == 0 {
            random >> 48
        } else {
            mix(most)
        };
        let made = match kind % 16 {
            0 | 1 => steps.create(commands, None, |n| (large(n),)),
            2 => steps.create(commands, None, |n| (large(n), counted(), Lit)),
            3..=5 => steps.create(commands, None, |n| (large(n), n).per_chunk(weather())),
            6 | 7 => steps.create(commands, None, |n| {
                (large(n), counted()).shared(Team(n / 70))
            }),
            8 => steps.create(commands, None, |n| {
                (large(n), Lit).shared(Team(7)).per_chunk(weather())
            }),
            9 | 10 => steps.create(commands, Some(&scene.ants[0]), |n| (large(n), n)),
            11 | 12 => steps.create(commands, Some(&scene.ants[1]), |n| (large(n), n)),
            13 => steps.create(commands, None, |n| (odd(n), counted())),
            14 => steps.create(commands, None, |n| (odd(n), Lit).per_chunk(weather())),
            _ => few.create(commands, None, |n| (Huge([n; 3_000]), counted())),
        };
        if let Some(&first) = made.first()
            && let Ok(large) = commands.get_mut::<Large>(first)
        {
            large.0[249] ^= 1;
        }
        for &entity in old.iter().take(3) {
            assert!(commands.get::<Large>(entity).is_err());
        }
        if random >> 55 & 3 == 0 {
            let some = made.iter().chain(old).skip((random >> 57) as usize);
            for &entity in some.step_by(5) {
                match random >> 60 & 7 {
                    0 => commands.destroy(entity),
                    1 => commands.add(entity, (3_u8,)).unwrap(),
                    // Each lane's own values are looked up: how often depends on who shared one.
                    2 if seed & 1 == 0 => commands.set_shared(entity, Team(1)).unwrap(),
                    _ => commands.remove::<(Lit,)>(entity).unwrap(),
                }
            }
        }
    }
}

/// What is seen of a world with three rounds of recorders, with a call of user's code that panics in the second;
/// whether one did.
fn run(seed: u64, sharing: Sharing, fuse: usize) -> (Vec<String>, bool) {
    let mut scene = Scene::new(seed % 3 != 1);
    let mut burnt = false;
    let mut changed = Query::<Entity, Changed<Large>>::new(&scene.world).unwrap();
    let mut lit = Query::<Entity, (With<Large>, Changed<Lit>)>::new(&scene.world).unwrap();
    let mut moved = Query::<Entity, Moved>::new(&scene.world).unwrap();
    for round in 0..3 {
        let mut all: Vec<Entity> = Vec::new();
        if seed % 4 == 2 {
            // Later compositions have longer chunks; recorders lay theirs out anew.
            scene.world.set_chunk_size(1 + round as usize);
        }
        let mut every = scene.world.query::<Entity, ()>().unwrap();
        every.for_each(|entity| all.push(entity));
        scene.record(sharing, |scene, commands, piece| {
            let number = seed * 3 + round;
            let piece = (number * PIECES + piece) << 1 | seed & 1;
            record(scene, commands, &all, piece, number);
        });
        burnt |= scene.flush(if round == 1 { fuse } else { 0 });
        scene.look();
        let mut seen: [Vec<Entity>; 3] = Default::default();
        let [a, b, c] = &mut seen;
        changed
            .on(&mut scene.world)
            .for_each(|entity| a.push(entity));
        lit.on(&mut scene.world).for_each(|entity| b.push(entity));
        moved.on(&mut scene.world).for_each(|entity| c.push(entity));
        scene.say("changed", seen);
        let mut new = Vec::new();
        for n in 0..3 + seed % 3 {
            let (weather, counted) = (Weather(scene.counted()), scene.counted());
            let large = Large([n; 250]);
            let world = &mut scene.world;
            new.push(world.create((large,)).unwrap());
            new.push(world.create((large, n).per_chunk(weather)).unwrap());
            new.push(world.create((large, counted).shared(Team(n))).unwrap());
        }
        let gone = all.iter().chain(&new).skip(seed as usize % 5);
        for &entity in gone.step_by(4 + seed as usize % 3) {
            let _ = scene.world.destroy(entity);
        }
        if seed % 4 == 1 {
            let _ = scene.world.compact(Budget::Unlimited);
        }
        scene.look();
    }
    (scene.end(), burnt)
}

/// Asks that all see the same; whether a call of user's code panicked.
fn compare(run: impl Fn(Sharing) -> (Vec<String>, bool), what: impl Debug) -> bool {
    let (alone, burnt) = run(Sharing::AtOnce(1));
    for sharing in OTHERS {
        let (seen, _) = run(sharing);
        let at = seen.iter().zip(&alone).take_while(|(a, b)| a == b);
        let at = at.count();
        assert!(
            seen == alone,
            "{what:?}, {sharing:?}:\n{:?}\nand not\n{:?}",
            seen.get(at),
            alone.get(at)
        );
    }
    burnt
}

#[test]
fn who_shared_a_lane_is_not_seen() {
    for seed in 0..seeds() {
        let fuse = (seed % 2 * (1 + mix(seed) % 40)) as usize;
        compare(|sharing| run(seed, sharing, fuse), (seed, fuse));
    }
}

#[test]
fn who_shared_a_lane_is_not_seen_whatever_panics_while_long_parts_join() {
    // The third recorder's first rows are in two nurseries if it has the lane of those before it.
    let run = |sharing, fuse| {
        let mut scene = Scene::new(true);
        scene.record(sharing, |scene, commands, piece| {
            let make = |n| {
                let weather = Weather(scene.counted());
                let bundle = (Large([piece << 8 | n; 250]), scene.counted());
                bundle.shared(Team(piece / 4)).per_chunk(weather)
            };
            for n in 0..[3, 3, 70, 2, 65, 3, 67, 100][piece as usize] {
                commands.create(make(n)).unwrap();
                if n == 2 && piece > 3 {
                    // It leaves fewer rows in nurseries than there could be.
                    let stop = |n| {
                        if n < 9 {
                            make(n)
                        } else {
                            resume_unwind(Box::new("enough"))
                        }
                    };
                    let batch = || drop(commands.create_batch((0..10).map(stop)));
                    let _ = catch_unwind(AssertUnwindSafe(batch));
                }
            }
        });
        let burnt = scene.flush(fuse);
        scene.look();
        (scene.end(), burnt)
    };
    for fuse in 1.. {
        if !compare(|sharing| run(sharing, fuse), fuse) {
            assert!(fuse > 30);
            break;
        }
    }
}
