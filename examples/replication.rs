//! A server's world, and clients that each see a part of it: what has changed since a client said what it has, who comes into
//! its sight and leaves it, who has died, and handles that mean the same entity here as there. Packets are late, and some are
//! lost, on both ways. All in one process, without a network; at the end each client's part is compared with the server's.
//!
//!     cargo run --release --example replication

use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::sync::Arc;

use megachunk::prelude::*;
use megachunk::world::Version;

/// Who has it is seen by the clients.
#[derive(Clone, Copy, PartialEq)]
struct Replicated;
megachunk::plain!(Replicated {});
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
/// The last client comes at this one.
const LATE: u32 = 60;
/// Each n-th packet of a client is lost, so many ticks each is under way; and where it looks.
const CLIENTS: [(u32, u32, i32); 4] = [(u32::MAX, 0, 0), (5, 2, 3), (2, 3, 7), (3, 5, 5)];
/// The sides of a cell; a client sees some of them each way.
const CELL: f32 = 50.0;
const SEEN: i32 = 5;

type Cell = (i32, i32);

fn universe() -> Result<Arc<Universe>, FragmentError> {
    let universe = Universe::new();
    universe
        .registry()
        .register_plain_as::<Replicated>("replicated")?;
    universe
        .registry()
        .register_plain_as::<Position>("position")?;
    universe.registry().register_plain_as::<Health>("health")?;
    universe.registry().register_plain_as::<Target>("target")?;
    Ok(Arc::new(universe))
}

/// What a packet carries to a client. Plain values: to send them is to send their bytes. (Of what is known at run time only, or is
/// more than its bytes: `Values::write_to`, and `Value::read_from_remapped` there.)
#[derive(Default)]
struct Update {
    /// Which of the packets to this client it is.
    number: u64,
    /// Who has died.
    gone: Vec<Entity>,
    /// Who is out of sight, and lives.
    left: Vec<Entity>,
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

/// What a client gets that comes: all that it sees, as bytes.
struct Welcome {
    seen: Vec<u8>,
    /// Who is not among those, and is named by them.
    named: Vec<Entity>,
}

type Sight = BTreeSet<Entity>;

/// What the server knows of a client.
struct Peer {
    corner: Cell,
    /// The server's version of which it has said last that it has it, and whom it saw then.
    has: Version,
    saw: Sight,
    /// Packets until now, and what those were that were sent since: it may have that, too, or not.
    number: u64,
    sent: VecDeque<(u64, Version, Sight)>,
}

impl Peer {
    /// It has said which packet it has; words that come late are those of long ago.
    fn acknowledge(&mut self, has: u64) {
        while self.sent.front().is_some_and(|sent| sent.0 <= has)
            && let Some((_, version, saw)) = self.sent.pop_front()
        {
            (self.has, self.saw) = (version, saw);
        }
    }
}

/// What of those that are replicated has changed since when.
struct Log<T: Fragment + Clone + PartialEq> {
    log: ChangeLog<T>,
    all: Query<(Entity, &'static T), With<Replicated>>,
}

impl<T: Fragment + Clone + PartialEq> Log<T> {
    fn new(world: &World) -> Result<Self, WorldError> {
        Ok(Self {
            log: ChangeLog::new(world)?,
            all: Query::new(world)?,
        })
    }

    fn update(&mut self, world: &World) {
        self.log.update_from(&self.all.read(world));
    }
}

impl<T: Fragment + Copy + PartialEq> Log<T> {
    /// The value of an entity, if it has one that is newer.
    fn newer(&self, world: &World, entity: Entity, since: Version) -> Option<(Entity, T)> {
        let is_newer = self.log.set_at(entity) > Some(since);
        let value = is_newer.then(|| world.find_fragment::<T>(entity)).flatten();
        value.map(|&value| (entity, value))
    }
}

struct Server {
    world: World,
    /// The world's version, from before any of the logs looked: what holds for all of them.
    version: Version,
    there: Log<Replicated>,
    positions: Log<Position>,
    healths: Log<Health>,
    targets: Log<Target>,
    cells: ValueIndex<Position, Cell>,
    all: Vec<Entity>,
    dice: u64,
}

impl Server {
    fn new() -> Result<Self, Box<dyn Error>> {
        let world = World::of(&universe()?)?;
        let cell = |at: &Position| ((at.x / CELL) as i32, (at.y / CELL) as i32);
        let mut server = Self {
            there: Log::new(&world)?,
            positions: Log::new(&world)?,
            healths: Log::new(&world)?,
            targets: Log::new(&world)?,
            cells: ValueIndex::new(&world, cell)?,
            world,
            version: Version::START,
            all: Vec::new(),
            dice: 1,
        };
        // Some that are the server's own: a client never hears of them, and has ids of its own.
        server.world.create_batch((0..100_u8).map(|n| (n,)))?;
        for _ in 0..ANIMALS {
            server.spawn()?;
        }
        server.look();
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
        for n in 0..2_000 {
            let other = self.roll(self.all.len());
            let (one, other) = (self.all[(first + n) % self.all.len()], self.all[other]);
            self.world.get_mut::<Position>(one)?.x += 3.0;
            match self.roll(20) {
                0 => self.world.get_mut::<Health>(one)?.0 -= 1,
                1 => self.world.set(one, Target(other))?,
                2 => drop(self.world.remove::<(Target,)>(one)?),
                _ => {}
            }
        }
        for _ in 0..50 {
            let at = self.roll(self.all.len());
            self.world.destroy(self.all.swap_remove(at))?;
            self.spawn()?;
        }
        // One that no client ever sees.
        let brief = self.world.create((Health(1), Replicated))?;
        self.world.destroy(brief)
    }

    /// Once a tick, for all clients: what this costs is what has changed.
    fn look(&mut self) {
        let world = &self.world;
        self.version = world.version();
        self.positions.update(world);
        self.healths.update(world);
        self.targets.update(world);
        self.there.update(world);
        self.cells.update(world);
    }

    /// Whom a client sees: by rows of cells.
    fn sight(&self, (x, y): Cell) -> Sight {
        let columns = (x..x + SEEN).map(|x| self.cells.range((x, y)..(x, y + SEEN)));
        columns
            .flatten()
            .flat_map(|(_, seen)| seen)
            .copied()
            .collect()
    }

    /// Somebody comes, and gets all that it sees at once.
    fn welcome(&self, corner: Cell) -> Result<(Peer, Welcome), Box<dyn Error>> {
        let saw = self.sight(corner);
        let seen: Vec<Entity> = saw.iter().copied().collect();
        let targets = seen
            .iter()
            .filter_map(|&one| self.world.find_fragment::<Target>(one));
        let is_named = |target: &Entity| !saw.contains(target) && self.world.exists(*target);
        let welcome = Welcome {
            seen: self
                .world
                .slice_to_snapshot(&seen, &SnapshotOptions::new())?,
            named: targets.map(|target| target.0).filter(is_named).collect(),
        };
        let sent = VecDeque::new();
        Ok((
            Peer {
                corner,
                has: self.version,
                saw,
                number: 0,
                sent,
            },
            welcome,
        ))
    }

    /// What a client does not know, whatever it has got of what was sent since it said what it has.
    fn update(&self, peer: &mut Peer) -> Update {
        let (since, now) = (peer.has, self.sight(peer.corner));
        // Else it would have to begin anew: who has died before is forgotten.
        assert!(since >= self.there.log.complete_since());
        peer.number += 1;
        let mut update = Update {
            number: peer.number,
            gone: self.there.log.gone_since(since).collect(),
            untargeted: self.targets.log.gone_since(since).collect(),
            ..Update::default()
        };
        for &seen in &now {
            // Who has come into sight, perhaps, has not changed by that: all of it is new to the client.
            let sent = peer.sent.iter().map(|(.., saw)| saw);
            let is_known = sent.chain([&peer.saw]).all(|saw| saw.contains(&seen));
            let since = if is_known { since } else { Version::START };
            update
                .positions
                .extend(self.positions.newer(&self.world, seen, since));
            update
                .healths
                .extend(self.healths.newer(&self.world, seen, since));
            update
                .targets
                .extend(self.targets.newer(&self.world, seen, since));
        }
        // The dead are nobody.
        for (_, target) in &mut update.targets {
            if !self.world.exists(target.0) {
                target.0 = Entity::PLACEHOLDER;
            }
        }
        let sent = peer.sent.iter().flat_map(|(.., saw)| saw);
        let left: BTreeSet<Entity> = sent.chain(&peer.saw).copied().collect();
        let left = left.difference(&now).copied();
        update.left = left.filter(|&left| self.world.exists(left)).collect();
        peer.sent.push_back((update.number, self.version, now));
        update
    }

    /// Who has gone is kept until all clients have said that they know it.
    fn forget(&mut self, peers: &[Peer]) {
        if let Some(all_have) = peers.iter().map(|peer| peer.has).min() {
            self.there.log.forget_until(all_have);
            self.positions.log.forget_until(all_have);
            self.healths.log.forget_until(all_have);
            self.targets.log.forget_until(all_have);
        }
    }
}

struct Client {
    world: World,
    /// From the server's handles to those of this world: of who is in sight, was in sight, or is named.
    here: EntityMap,
    /// The last packet that it has.
    has: u64,
}

impl Client {
    fn new(welcome: &Welcome) -> Result<Self, Box<dyn Error>> {
        let mut world = World::of(&universe()?)?;
        // Ids are not the server's.
        world.create_batch((0..7_u8).map(|n| (n,)))?;
        let mut here = EntityMap::default();
        for &there in &welcome.named {
            know(&world, &mut here, there)?;
        }
        let (mut seen, come) = World::from_snapshot_remapped(
            &welcome.seen,
            world.universe(),
            &here,
            &Default::default(),
        )?;
        seen.move_all_to(&mut world)?;
        here.extend(&come);
        Ok(Self {
            world,
            here,
            has: 0,
        })
    }

    fn apply(&mut self, mut update: Update) -> Result<(), WorldError> {
        if update.number <= self.has {
            // A later one has come before it.
            return Ok(());
        }
        self.has = update.number;
        let (world, here) = (&mut self.world, &mut self.here);
        for there in update.gone {
            match here.remove(there) {
                Some(gone) if world.is_built(gone) => world.destroy(gone)?,
                Some(named) => world.release(named)?,
                None => {}
            }
        }
        // Who is out of sight keeps its handle: others may name it, and it may come back.
        for left in update.left.into_iter().filter_map(|there| here.get(there)) {
            if world.is_built(left) {
                world.remove::<(Replicated, Position, Health, Target)>(left)?;
            }
        }
        // All that are new come first: values may name any of them, and some whom this client has never seen.
        for (_, target) in &mut update.targets {
            if target.0 != Entity::PLACEHOLDER {
                know(world, here, target.0)?;
            }
            here.apply(target);
        }
        for &(there, position) in &update.positions {
            let seen = know(world, here, there)?;
            match world.is_built(seen) {
                true => drop(world.add(seen, (position, Replicated))?),
                false => world.build(seen, (position, Replicated))?,
            }
        }
        let untargeted = update.untargeted.into_iter();
        for seen in untargeted.filter_map(|there| here.get(there)) {
            if world.is_built(seen) {
                world.remove::<(Target,)>(seen)?;
            }
        }
        set_all(world, here, update.healths)?;
        set_all(world, here, update.targets)
    }

    /// Whether this part of both worlds has the same, but for ids.
    fn assert_same(&mut self, server: &Server, corner: Cell) -> Result<(), Box<dyn Error>> {
        let (world, sight) = (&self.world, server.sight(corner));
        let mut seen = Query::<Entity, With<Replicated>>::new(world)?;
        assert_eq!(seen.read(world).count(), sight.len());
        for there in sight {
            let here = self.here.get(there).ok_or("somebody has not come")?;
            let theirs = server.world.get::<Position>(there)?;
            assert_eq!(world.get::<Position>(here)?, theirs);
            let theirs = server.world.get::<Health>(there)?;
            assert_eq!(world.get::<Health>(here)?, theirs);
            // The dead are nobody here, as they are there.
            let living = |world: &World, target: Option<&Target>| {
                let target = target.map(|target| target.0);
                target.filter(|&target| world.exists(target))
            };
            let theirs = living(&server.world, server.world.find_fragment::<Target>(there));
            let ours = living(world, world.find_fragment::<Target>(here));
            let known = theirs.map(|target| self.here.get(target).ok_or("it is not known"));
            assert_eq!(ours, known.transpose()?);
        }
        Ok(())
    }
}

/// Who that is here; of somebody who has not been in sight there is an id, and nothing else, until they come.
fn know(world: &World, here: &mut EntityMap, there: Entity) -> Result<Entity, WorldError> {
    match here.get(there) {
        Some(known) => Ok(known),
        None => {
            let new = world.reserve()?;
            here.insert(there, new);
            Ok(new)
        }
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

/// One way between the server and a client: late, and not sure.
struct Way<T> {
    lost: u32,
    late: u32,
    count: u32,
    coming: VecDeque<(u32, T)>,
}

impl<T> Way<T> {
    fn new(lost: u32, late: u32) -> Self {
        let (count, coming) = (0, VecDeque::new());
        Self {
            lost,
            late,
            count,
            coming,
        }
    }

    fn send(&mut self, tick: u32, packet: T) {
        self.count += 1;
        if !self.count.is_multiple_of(self.lost) {
            self.coming.push_back((tick + self.late, packet));
        }
    }

    fn arrived(&mut self, tick: u32) -> Option<T> {
        let is_there = self.coming.front().is_some_and(|coming| coming.0 <= tick);
        let packet = is_there.then(|| self.coming.pop_front()).flatten()?;
        Some(packet.1)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut server = Server::new()?;
    let (mut peers, mut clients, mut values, mut packets) = (Vec::new(), Vec::new(), 0, 0);
    // In the last ticks nothing happens, so that all come to know all.
    for tick in 0..TICKS + 40 {
        if tick < TICKS {
            server.tick()?;
        }
        server.look();
        for &(lost, late, at) in &CLIENTS[clients.len()..] {
            if clients.len() + 1 < CLIENTS.len() || tick >= LATE {
                let (peer, welcome) = server.welcome((at, at))?;
                peers.push(peer);
                clients.push((
                    Client::new(&welcome)?,
                    Way::new(lost, late),
                    Way::new(lost.saturating_add(1), late),
                ));
            }
        }
        for (peer, (client, there, back)) in peers.iter_mut().zip(&mut clients) {
            // It looks elsewhere by and by.
            if tick < TICKS && tick % 16 == 15 {
                peer.corner.0 += 1;
            }
            while let Some(has) = back.arrived(tick) {
                peer.acknowledge(has);
            }
            let update = server.update(peer);
            (values, packets) = (values + update.values(), packets + 1);
            there.send(tick, update);
            while let Some(update) = there.arrived(tick) {
                client.apply(update)?;
                back.send(tick, client.has);
            }
            if there.late == 0 && there.lost == u32::MAX {
                client.assert_same(&server, peer.corner)?;
            }
        }
        server.forget(&peers);
    }
    for (peer, (client, ..)) in peers.iter().zip(&mut clients) {
        client.assert_same(&server, peer.corner)?;
    }
    assert_eq!(server.there.log.gone_count(), 0, "all know of all who died");
    println!(
        "{} animals, {} clients that see {} of them each, a few packets of {TICKS} ticks lost",
        server.all.len(),
        clients.len(),
        peers.iter().map(|peer| peer.saw.len()).sum::<usize>() / peers.len()
    );
    println!("values in a packet: {}", values / packets);
    Ok(())
}
