//! A server's world, and two clients that follow it: what has changed since the last update, who has gone, and handles that
//! mean the same entity here as there. All in one process, without a network; after each update the worlds are compared.
//!
//!     cargo run --release --example replication

use std::error::Error;

use megachunk::prelude::*;
use megachunk::world::Version;

/// Who has it is seen by the clients.
struct Replicated;
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Position {
    x: f32,
    y: f32,
}
megachunk::plain!(Position { x, y });
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Health(u32);
megachunk::plain!(Health { 0 });
/// Whom it is after: a handle, which `plain!` knows to be one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Target(Entity);
megachunk::plain!(Target { 0 });

const ANIMALS: u32 = 20_000;
const TICKS: u32 = 120;
/// The second client comes at this one.
const LATE: u32 = 60;

/// What an update carries. Plain values: to send them is to send their bytes.
#[derive(Default)]
struct Update {
    gone: Vec<Entity>,
    untargeted: Vec<Entity>,
    positions: Vec<(Entity, Position)>,
    healths: Vec<(Entity, Health)>,
    targets: Vec<(Entity, Target)>,
}

impl Update {
    fn values(&self) -> usize {
        self.positions.len() + self.healths.len() + self.targets.len()
    }
}

/// A resource of the server's world: who has gone, or lost something, since the last tick. Queries see who is there only.
#[derive(Default)]
struct Graves {
    gone: Vec<Entity>,
    untargeted: Vec<Entity>,
}

/// Asks for one fragment of all that are replicated, where it has changed.
type Changes<T> = Query<(Entity, &'static T), (With<Replicated>, Changed<T>)>;

struct Server {
    world: World,
    positions: Changes<Position>,
    healths: Changes<Health>,
    targets: Changes<Target>,
    all: Vec<Entity>,
    dice: u64,
}

impl Server {
    fn new() -> Result<Self, Box<dyn Error>> {
        let mut world = World::new();
        world.resources_mut().insert(Graves::default());
        world.observe::<Replicated, ()>(Observed::GO, |batch, _| {
            batch.with_resource(|batch, graves: &mut Graves| graves.gone.extend(batch.entities()));
        })?;
        world.observe::<Target, With<Replicated>>(Observed::REMOVE, |batch, _| {
            batch.with_resource(|batch, graves: &mut Graves| {
                graves.untargeted.extend(batch.entities());
            });
        })?;
        let mut server = Self {
            positions: Query::new(&world)?,
            healths: Query::new(&world)?,
            targets: Query::new(&world)?,
            world,
            all: Vec::new(),
            dice: 1,
        };
        // Some that are the server's own: a client never hears of them, and has ids of its own.
        server.world.create_batch((0..100_u8).map(|n| (n,)))?;
        for _ in 0..ANIMALS {
            server.spawn()?;
        }
        Ok(server)
    }

    fn roll(&mut self, below: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005);
        self.dice = self.dice.wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % below
    }

    fn spawn(&mut self) -> Result<(), WorldError> {
        let (x, y) = (self.roll(1_000) as f32, self.roll(1_000) as f32);
        let animal = (Position { x, y }, Health(100), Replicated);
        self.all.push(self.world.create(animal)?);
        Ok(())
    }

    /// A herd moves; a few are hurt, die, come, find somebody to go after or give up.
    fn tick(&mut self) -> Result<(), WorldError> {
        let first = self.roll(self.all.len());
        for n in 0..200 {
            let other = self.roll(self.all.len());
            let (one, other) = (self.all[(first + n) % self.all.len()], self.all[other]);
            self.world.get_mut::<Position>(one)?.x += 1.0;
            match self.roll(20) {
                0 => self.world.get_mut::<Health>(one)?.0 -= 1,
                1 => self.world.set(one, Target(other))?,
                2 => drop(self.world.remove::<(Target,)>(one)?),
                _ => {}
            }
        }
        for _ in 0..5 {
            let at = self.roll(self.all.len());
            self.world.destroy(self.all.swap_remove(at))?;
            self.spawn()?;
        }
        // One that no client ever sees.
        let brief = self.world.create((Health(1), Replicated))?;
        self.world.destroy(brief)
    }

    /// What a client does not know that got the last update at this version; from the start on: all.
    fn update(&mut self, since: Version) -> Update {
        fn all<T: Fragment + Copy>(
            changes: &mut Changes<T>,
            world: &World,
            since: Version,
        ) -> Vec<(Entity, T)> {
            let changed = changes.read(world).since(since);
            changed
                .into_iter()
                .map(|(entity, &value)| (entity, value))
                .collect()
        }
        let graves = self.world.resources().get::<Graves>();
        Update {
            gone: graves.map_or_else(Vec::new, |graves| graves.gone.clone()),
            untargeted: graves.map_or_else(Vec::new, |graves| graves.untargeted.clone()),
            positions: all(&mut self.positions, &self.world, since),
            healths: all(&mut self.healths, &self.world, since),
            targets: all(&mut self.targets, &self.world, since),
        }
    }

    /// All clients have their updates.
    fn bury(&mut self) {
        self.world.resources_mut().insert(Graves::default());
    }
}

struct Client {
    world: World,
    /// From the server's handles to those of this world.
    here: EntityMap,
    /// The version of the server's world at the last update.
    since: Version,
}

impl Client {
    fn new() -> Result<Self, WorldError> {
        let mut world = World::new();
        // Ids are not the server's.
        world.create_batch((0..7_u8).map(|n| (n,)))?;
        Ok(Self {
            world,
            here: EntityMap::default(),
            since: Version::START,
        })
    }

    fn apply(&mut self, mut update: Update) -> Result<(), WorldError> {
        for there in update.gone {
            // It may have come and gone between two updates.
            if let Some(here) = self.here.remove(there) {
                self.world.destroy(here)?;
            }
        }
        // All that are new come first: values may name any of them.
        let positions = update.positions.iter().map(|(there, _)| there);
        let healths = update.healths.iter().map(|(there, _)| there);
        let targets = update.targets.iter().map(|(there, _)| there);
        for &there in positions.chain(healths).chain(targets) {
            if self.here.get(there).is_none() {
                self.here.insert(there, self.world.create((Replicated,))?);
            }
        }
        let known = |there: Entity| self.here.get(there);
        for here in update.untargeted.into_iter().filter_map(known) {
            self.world.remove::<(Target,)>(here)?;
        }
        // A handle that names nobody who is here becomes the placeholder.
        for (_, target) in &mut update.targets {
            self.here.apply(target);
        }
        set_all(&mut self.world, &self.here, update.positions)?;
        set_all(&mut self.world, &self.here, update.healths)?;
        set_all(&mut self.world, &self.here, update.targets)
    }

    /// Whether both worlds have the same, but for ids.
    fn assert_same(&mut self, server: &Server) -> Result<(), Box<dyn Error>> {
        let mut seen = Query::<Entity, With<Replicated>>::new(&self.world)?;
        assert_eq!(seen.read(&self.world).count(), server.all.len());
        for &there in &server.all {
            let here = self.here.get(there).ok_or("somebody has not come")?;
            let theirs = server.world.get::<Position>(there)?;
            assert_eq!(self.world.get::<Position>(here)?, theirs);
            let theirs = server.world.get::<Health>(there)?;
            assert_eq!(self.world.get::<Health>(here)?, theirs);
            // The dead are nobody here, as they are there.
            let living = |world: &World, target: Option<&Target>| {
                target
                    .map(|target| target.0)
                    .filter(|&target| world.exists(target))
            };
            let theirs = server.world.find_fragment::<Target>(there);
            let theirs = living(&server.world, theirs).and_then(|target| self.here.get(target));
            let ours = living(&self.world, self.world.find_fragment::<Target>(here));
            assert_eq!(ours, theirs);
        }
        Ok(())
    }
}

/// Gives entities of the server values here.
fn set_all<T: Fragment>(
    world: &mut World,
    here: &EntityMap,
    values: Vec<(Entity, T)>,
) -> Result<(), WorldError> {
    for (there, value) in values {
        if let Some(here) = here.get(there) {
            world.set(here, value)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut server = Server::new()?;
    let mut clients = vec![Client::new()?];
    let (mut first, mut values) = (Vec::new(), 0);
    for tick in 0..TICKS {
        server.tick()?;
        if tick == LATE {
            clients.push(Client::new()?);
        }
        // What changes from now on is for the next update.
        let version = server.world.version();
        for client in &mut clients {
            let update = server.update(client.since);
            match client.since {
                Version::START => first.push(update.values()),
                _ => values += update.values(),
            }
            client.apply(update)?;
            client.since = version;
            client.assert_same(&server)?;
        }
        server.bury();
    }
    println!("{} animals, {TICKS} ticks, two clients", server.all.len());
    println!("values in the first update of each: {first:?}");
    println!(
        "in each after that: {} (all of a chunk in which one has changed)",
        values / (2 * TICKS - LATE - 2) as usize
    );
    Ok(())
}
