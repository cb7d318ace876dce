//! Few commands make the same world as many do: a flush of few takes a short way, which no one can see.

use std::alloc::Layout;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::fragment::WithPerChunk;
use megachunk::prelude::*;

use crate::dice::mix;

#[derive(Clone, Copy)]
struct Number(usize);
#[derive(Clone, Copy)]
struct Heat(u64);
#[derive(Clone, Copy)]
struct Wide([u64; 9]);
/// So large that not even the first chunk of a few rows is folded.
#[derive(Clone, Copy)]
struct Huge(#[expect(dead_code, reason = "it is carried")] [u64; 100]);
#[derive(Clone, Copy)]
struct Switch(u16);
/// Comes with what requires it.
#[derive(Clone, Copy)]
struct Worn(u8);
struct Marked;
/// It has no size, and ends all the same: how many have.
struct Ghost;

static GHOSTS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Ghost {
    fn drop(&mut self) {
        GHOSTS.fetch_add(1, Ordering::Relaxed);
    }
}
#[derive(Clone, PartialEq, Eq, Hash)]
struct Team(u8);
#[derive(Clone, Copy)]
struct Frame(u32);

/// Ends once: how many have, each counted by what it was.
struct Named(u64, Arc<AtomicUsize>);

impl Drop for Named {
    fn drop(&mut self) {
        self.1.fetch_add(self.0 as usize, Ordering::Relaxed);
    }
}

/// A world, its entities by their numbers, and what was seen of it.
struct Subject {
    world: World,
    entities: Vec<Entity>,
    /// Those that were created in chunks of their own.
    huge: Range<usize>,
    ended: Arc<AtomicUsize>,
    /// How many ghosts had ended before.
    ghosts: usize,
    seen: Vec<String>,
    /// What observers heard.
    heard: Arc<Mutex<Vec<String>>>,
}

impl Subject {
    fn new(seed: u64) -> Self {
        let universe = match seed % 3 {
            0 => Universe::ordered(),
            _ => Universe::new(),
        };
        let mut world = World::of(&Arc::new(universe)).unwrap();
        world.registry().register_enableable::<Switch>().unwrap();
        if seed % 4 > 1 {
            let registry = world.registry();
            registry.require_with::<Heat, _>(|| Worn(1)).unwrap();
            registry.require_with::<Named, _>(|| Worn(2)).unwrap();
        }
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        if seed % 2 == 1 {
            listen::<Heat>(&mut world, "heat", &heard);
            listen::<Number>(&mut world, "number", &heard);
            listen::<Worn>(&mut world, "worn", &heard);
        }
        Self {
            heard,
            world,
            entities: Vec::new(),
            huge: 0..0,
            ended: Arc::default(),
            ghosts: GHOSTS.load(Ordering::Relaxed),
            seen: Vec::new(),
        }
    }

    fn named(&self, dice: u64) -> Named {
        Named(dice >> 40, Arc::clone(&self.ended))
    }

    /// Some entities of several compositions, few or many of each.
    fn populate(&mut self, seed: u64) {
        for kind in 0..7 {
            let dice = mix(seed ^ kind << 7);
            let many = match kind {
                // A chunk, or a little more or less.
                5 => [1, 4, 11, 14, 19, 22],
                _ => [1, 2, 3, 40, 300, 1_500],
            };
            let many = many[dice as usize % 6];
            let begin = self.entities.len();
            if kind == 5 {
                self.huge = begin..begin + many;
            }
            for _ in 0..many {
                let number = Number(self.entities.len());
                let world = &mut self.world;
                let entity = match kind {
                    0 => world.create((number,)),
                    1 => world.create((number, Heat(dice))),
                    2 => world.create((number, Heat(dice), Switch(3), Marked)),
                    3 => world.create((number, Wide([dice; 9])).shared(Team(dice as u8 % 2))),
                    4 => {
                        let named = Named(dice >> 40, Arc::clone(&self.ended));
                        world.create((number, named))
                    }
                    5 => world.create((number, Huge([dice; 100]))),
                    _ => world.create((number, Marked).per_chunk(Frame(seed as u32))),
                };
                self.entities.push(entity.unwrap());
            }
        }
    }

    /// A crowd in so many chunks that hardly two of a hundred commands are in one.
    fn spread(&mut self, seed: u64) {
        for n in 0..2_600 {
            let number = Number(self.entities.len());
            let entity = self.world.create((number, Huge([seed; 100]), Heat(n)));
            self.entities.push(entity.unwrap());
        }
    }

    /// Neighbours by their handles lie in chunks of different compositions, all of which are as rare.
    fn scatter(&mut self, seed: u64) {
        let world = &mut self.world;
        let tags: Vec<_> = (0..7)
            .map(|n| {
                let tag = world
                    .registry()
                    .define_plain(&format!("tag {n}"), Layout::new::<()>());
                tag.unwrap().id()
            })
            .collect();
        for n in 0..256_usize {
            let number = Number(self.entities.len());
            let entity = world.create((number, Heat(seed))).unwrap();
            let of_entity = tags.iter().enumerate().filter(|(bit, _)| n >> bit & 1 == 1);
            let values = of_entity.map(|(_, &tag)| Value::from_bytes(world.registry(), tag, &[]));
            let values: Vec<Value> = values.map(Result::unwrap).collect();
            if !values.is_empty() {
                world
                    .add_dynamic(entity, values.into_iter().collect::<DynamicBundle>())
                    .unwrap();
            }
            self.entities.push(entity);
        }
    }

    /// From one composition many others are reached, so that no more of these ways are remembered than there are.
    fn crowd(&mut self) {
        let world = &mut self.world;
        let entity = world.create((Number(0), Heat(0))).unwrap();
        for n in 0..70 {
            let layout = Layout::new::<u32>();
            let info = world.registry().define_plain(&format!("{n}"), layout);
            let id = info.unwrap().id();
            let value = Value::from_bytes(world.registry(), id, &[0; 4]).unwrap();
            let come = DynamicBundle::new().with(value);
            world.add_dynamic(entity, come).unwrap();
            world.remove_dynamic(entity, &[id]).unwrap();
        }
        world.destroy(entity).unwrap();
    }

    /// Records few commands, by one recorder or by two, and flushes.
    fn step(&mut self, seed: u64) {
        let mut many = 1 + mix(seed) as usize % [2, 6, 40, 120][mix(seed ^ 1) as usize % 4];
        // All do the same, or each something else.
        let mut only = mix(seed ^ 2).is_multiple_of(3).then(|| mix(seed ^ 3));
        let mut first = mix(seed ^ 4) as usize;
        let mut side_by_side = mix(seed ^ 5).is_multiple_of(2);
        // Some entities are named again and again.
        let mut again = [1, 2, 7][mix(seed ^ 6) as usize % 3];
        // Of those in chunks of their own often some, or all that are still there.
        let some = [many.min(4), self.huge.len()];
        if let Some(some) = some.get(mix(seed ^ 8) as usize % 3) {
            (first, many) = (self.huge.start, *some);
            // Along few ways, which are known soon.
            (only, side_by_side, again) = (Some(1 + mix(seed ^ 3) % 4), true, 1);
        }
        // The recorder that is opened last comes first.
        let backwards = mix(seed ^ 7).is_multiple_of(3);
        let recorders = self.world.parallel_commands();
        // What one recorder has left goes a way that is shorter still while nobody else may record.
        let alone = !mix(seed ^ 9).is_multiple_of(3);
        for half in 0..if alone { 1 } else { 2 } {
            let mut commands = match backwards {
                true => recorders.open_at(1 - half as u64),
                false => recorders.open(),
            };
            let is_its_own =
                |n: &usize| alone || n % 2 == half || seed.is_multiple_of(2) && half == 0;
            for n in (0..many).filter(is_its_own) {
                let dice = mix(seed ^ (1_000 + n as u64));
                let at = if side_by_side {
                    first + n
                } else {
                    dice as usize
                };
                let at = if (n as u64).is_multiple_of(again) {
                    at
                } else {
                    first
                };
                let entity = self.entities[at % self.entities.len()];
                let named = self.named(dice);
                match only.unwrap_or(dice >> 20) % 17 {
                    0 => commands.destroy(entity),
                    1 => commands.add(entity, (Heat(dice),)).unwrap(),
                    2 => commands.remove::<(Heat,)>(entity).unwrap(),
                    3 => commands.add(entity, (Marked,)).unwrap(),
                    4 => commands.remove::<(Marked,)>(entity).unwrap(),
                    5 => commands.add(entity, (named, Wide([dice; 9]))).unwrap(),
                    6 => commands.remove::<(Named, Switch)>(entity).unwrap(),
                    7 => commands.add(entity, (Switch(dice as u16),)).unwrap(),
                    8 => {
                        let come = (Heat(dice), Wide([7; 9]));
                        commands.swap::<(Wide, Marked), _>(entity, come).unwrap();
                    }
                    9 => commands.remove::<WithPerChunk<(), Frame>>(entity).unwrap(),
                    10 => commands.set(entity, Heat(dice)).unwrap(),
                    // Where there is nothing wide it leads where 3 does.
                    11 => commands.swap::<(Wide,), _>(entity, (Marked,)).unwrap(),
                    12 => commands.add(entity, (Ghost,)).unwrap(),
                    13 => commands.remove::<(Ghost, Heat)>(entity).unwrap(),
                    14 if dice.is_multiple_of(4) => {
                        let number = Number(self.entities.len());
                        let new = commands.create((number, Heat(dice), Ghost)).unwrap();
                        self.entities.push(new);
                        commands.add(new, (Marked, Heat(!dice))).unwrap();
                        if dice.is_multiple_of(8) {
                            commands
                                .swap::<(Ghost, Number), _>(new, (number, named))
                                .unwrap();
                        }
                    }
                    16 => {
                        let number = Number(self.entities.len());
                        let new = match (dice % 5, only) {
                            (0, None) => commands.create((number, named)),
                            _ => commands.create((number, Heat(dice), Switch(1))),
                        };
                        self.entities.push(new.unwrap());
                    }
                    15 if dice % 8 == 2 => {
                        let on = dice.is_multiple_of(16);
                        commands.set_enabled::<Switch>(entity, on).unwrap();
                    }
                    15 if dice % 8 == 1 => commands.defer(move |world| {
                        // Whether it lives depends on the commands before, and on none behind.
                        let _ = world.add(entity, (Heat(dice), Marked));
                    }),
                    _ if dice.is_multiple_of(8) => commands.set_shared(entity, Team(1)).unwrap(),
                    _ => commands.remove::<(Wide,)>(entity).unwrap(),
                }
            }
        }
        let kept = (!alone).then_some(recorders);
        let report = self.world.flush();
        drop(kept);
        let counts = [
            report.commands,
            report.created,
            report.rounds,
            report.open,
            report.destroyed,
            report.moved,
            report.updated,
            report.dead,
            report.refused.len(),
        ];
        self.seen.push(format!("{counts:?}"));
        self.seen.append(&mut self.heard.lock().unwrap());
        // Switched at once: what is off is carried along.
        for n in 0..3 {
            let entity = self.entities[mix(seed ^ (77 + n)) as usize % self.entities.len()];
            let done = self.world.set_enabled::<Switch>(entity, n == 0);
            self.seen.push(format!("{}", done.is_ok()));
        }
        self.look();
    }

    fn endings(&self) -> String {
        let ghosts = GHOSTS.load(Ordering::Relaxed) - self.ghosts;
        format!("{} and {ghosts}", self.ended.load(Ordering::Relaxed))
    }

    /// All that can be seen of the world, but for ids, which may depend on threads.
    fn look(&mut self) {
        let world = &mut self.world;
        world.check().unwrap();
        type Seen<'a> = (
            &'a Number,
            Option<&'a Heat>,
            Option<&'a Wide>,
            Option<&'a Switch>,
            Option<&'a Named>,
            Option<&'a Worn>,
            Has<Ghost>,
        );
        let mut all = Query::<Seen<'_>>::new(world).unwrap();
        let mut switched = all.read(world);
        for (number, heat, wide, switch, named, worn, ghost) in switched.iter() {
            self.seen.push(format!(
                "{} {:?} {:?} {:?} {:?} {} {ghost}",
                number.0,
                heat.map(|heat| heat.0),
                wide.map(|wide| wide.0[8]),
                switch.map(|switch| switch.0),
                named.map(|named| named.0),
                worn.map_or(0, |worn| worn.0),
            ));
        }
        drop(switched);
        let mut chunks = Query::<&Number>::new(world).unwrap();
        chunks.on(world).for_each_chunk(|chunk, numbers| {
            let changed = [
                chunk.change_version::<Number>(),
                chunk.change_version::<Heat>(),
                chunk.change_version::<Wide>(),
                chunk.change_version::<Switch>(),
                chunk.change_version::<Named>(),
                chunk.change_version::<Worn>(),
            ];
            // In one number: there are thousands of chunks.
            let mut hasher = DefaultHasher::new();
            changed.hash(&mut hasher);
            let changed = hasher.finish();
            self.seen.push(format!(
                "chunk of {}: {} {changed:x} {:?} {:?}",
                numbers.len(),
                chunk.order_version(),
                chunk.shared::<Team>().map(|team| team.0),
                chunk.chunk_fragment::<Frame>().map(|frame| frame.0),
            ));
        });
        let living = self.entities.iter().map(|entity| world.exists(*entity));
        self.seen.push(format!("{:?}", living.collect::<Vec<_>>()));
        self.seen.push(self.endings());
    }
}

/// Writes down who comes and goes, and who gets values.
fn listen<T: Fragment>(world: &mut World, name: &'static str, heard: &Arc<Mutex<Vec<String>>>) {
    for kind in [
        Observed::ADD,
        Observed::REMOVE,
        Observed::DESTROY,
        Observed::SET,
    ] {
        let heard = Arc::clone(heard);
        let observer = world.observe::<T, ()>(kind, move |batch, world| {
            let numbers = batch.entities().map(|entity| {
                let number = world.get::<Number>(entity);
                number.map_or(usize::MAX, |number| number.0)
            });
            let numbers: Vec<usize> = numbers.collect();
            let said = format!("{name} {kind:?}: {numbers:?}");
            heard.lock().unwrap().push(said);
        });
        observer.unwrap();
    }
}

/// A history of small flushes, by the short way if it can be gone.
fn history(seed: u64, short: bool) -> Vec<String> {
    let threads = if short { 1 } else { 2 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut subject = Subject::new(seed);
        // Where threads share the work, all of it goes the general way.
        let from = (!short).then_some(1);
        subject.world.set_flush_threads_from(from);
        subject.populate(seed);
        match seed % 4 {
            1 => subject.spread(seed),
            2 => subject.crowd(),
            3 => subject.scatter(seed),
            _ => {}
        }
        for step in 0..36 {
            subject.step(mix(seed << 8 | step));
        }
        subject.world.clear();
        subject.seen.push(subject.endings());
        subject.seen
    })
}

#[test]
fn few_commands_make_the_same_world_as_many() {
    let seeds = std::env::var("MEGACHUNK_FEW_SEEDS").map_or(24, |n| n.parse().expect("a number"));
    for seed in 0..seeds {
        let (short, general) = (history(seed, true), history(seed, false));
        for (step, (short, general)) in short.iter().zip(&general).enumerate() {
            assert_eq!(short, general, "seed {seed}, {step}");
        }
        assert_eq!(short.len(), general.len(), "seed {seed}");
    }
}
