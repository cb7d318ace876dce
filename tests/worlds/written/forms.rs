//! Values that are more than their bytes: a text, a list, an enum that names entities, and shared ones; how each is written and
//! read, and a world that is full of them.
//!
//! Must hold: what is read is equal to what was written, so that two worlds are the same if [`told`] tells the same of all.

use std::sync::Arc;

use megachunk::entity::EntityMap;
use megachunk::fragment::FragmentRegistry;
use megachunk::prelude::*;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Name(pub(super) String);

/// What somebody carries: of what, and how many.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pack(pub(super) Vec<(String, u32)>);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Order {
    Idle,
    Follow(Entity),
    Guard { whom: Vec<Entity>, words: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Faction(pub(super) String);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Banner(pub(super) Vec<u16>);

fn put_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Result<&'b [u8; N], &'static str> {
    let (taken, rest) = bytes.split_first_chunk().ok_or("it ends early")?;
    *bytes = rest;
    Ok(taken)
}

fn take_text(bytes: &mut &[u8]) -> Result<String, &'static str> {
    let length = u32::from_le_bytes(*take(bytes)?) as usize;
    let (text, rest) = bytes.split_at_checked(length).ok_or("it ends early")?;
    *bytes = rest;
    String::from_utf8(text.to_vec()).map_err(|_| "it is no text")
}

fn take_entity(bytes: &mut &[u8], entities: &EntityMap) -> Result<Entity, &'static str> {
    let bits = u64::from_le_bytes(*take(bytes)?);
    let mut entity = Entity::try_from_bits(bits).ok_or("it names nobody")?;
    entities.apply(&mut entity);
    Ok(entity)
}

pub(super) fn write_order(order: &Order, bytes: &mut Vec<u8>) {
    match order {
        Order::Idle => bytes.push(0),
        Order::Follow(whom) => {
            bytes.push(1);
            bytes.extend(whom.to_bits().to_le_bytes());
        }
        Order::Guard { whom, words } => {
            bytes.push(2);
            put_text(words, bytes);
            bytes.extend(whom.iter().flat_map(|one| one.to_bits().to_le_bytes()));
        }
    }
}

pub(super) fn read_order(mut bytes: &[u8], entities: &EntityMap) -> Result<Order, &'static str> {
    match take(&mut bytes)? {
        [0] => Ok(Order::Idle),
        [1] => Ok(Order::Follow(take_entity(&mut bytes, entities)?)),
        [2] => {
            let words = take_text(&mut bytes)?;
            let mut whom = Vec::new();
            while !bytes.is_empty() {
                whom.push(take_entity(&mut bytes, entities)?);
            }
            Ok(Order::Guard { whom, words })
        }
        _ => Err("there is no such order"),
    }
}

pub(super) fn write_name(name: &Name, bytes: &mut Vec<u8>) {
    bytes.extend(name.0.as_bytes());
}

pub(super) fn read_name(bytes: &[u8], _: &EntityMap) -> Result<Name, std::string::FromUtf8Error> {
    String::from_utf8(bytes.to_vec()).map(Name)
}

fn register(registry: &FragmentRegistry) {
    registry.register_plain_as::<u32>("health").unwrap();
    registry
        .register_written_as::<Name, _, _>("name", write_name, read_name)
        .unwrap();
    registry
        .register_written_as::<Order, _, _>("order", write_order, read_order)
        .unwrap();
    let write = |pack: &Pack, bytes: &mut Vec<u8>| {
        for (what, count) in &pack.0 {
            put_text(what, bytes);
            bytes.extend(count.to_le_bytes());
        }
    };
    let read = |mut bytes: &[u8], _: &EntityMap| -> Result<Pack, &'static str> {
        let mut pack = Vec::new();
        while !bytes.is_empty() {
            let what = take_text(&mut bytes)?;
            pack.push((what, u32::from_le_bytes(*take(&mut bytes)?)));
        }
        Ok(Pack(pack))
    };
    registry
        .register_written_as::<Pack, _, _>("pack", write, read)
        .unwrap();
    registry
        .register_written_as::<Shared<Faction>, _, _>(
            "faction",
            |faction: &Faction, bytes| bytes.extend(faction.0.as_bytes()),
            |bytes, _| String::from_utf8(bytes.to_vec()).map(Faction),
        )
        .unwrap();
    registry
        .register_written_as::<ConstShared<Banner>, _, _>(
            "banner",
            |banner: &Banner, bytes| bytes.extend(banner.0.iter().flat_map(|n| n.to_le_bytes())),
            |bytes, _| match bytes.as_chunks() {
                (numbers, []) => Ok(Banner(
                    numbers.iter().copied().map(u16::from_le_bytes).collect(),
                )),
                _ => Err("half a number"),
            },
        )
        .unwrap();
}

pub(super) fn universe() -> Universe {
    let universe = Universe::ordered();
    register(universe.registry());
    universe
}

/// So many with something of everything, the first of whom is dead.
pub(super) fn filled(count: u32) -> (World, Vec<Entity>) {
    let mut world = World::of(&Arc::new(universe())).unwrap();
    let mut all: Vec<Entity> = Vec::new();
    for n in 0..count {
        let name = Name("ant".repeat(n as usize % 4));
        let entity = world.create((n, name)).unwrap();
        all.push(entity);
        let before = all[all.len() / 2];
        let order = match n % 3 {
            0 => Order::Idle,
            1 => Order::Follow(before),
            _ => Order::Guard {
                whom: vec![before, entity],
                words: format!("of {n}"),
            },
        };
        world.add(entity, (order,)).unwrap();
        if n % 2 == 0 {
            let pack = (0..n % 5).map(|m| (format!("thing {m}"), n + m));
            world.add(entity, (Pack(pack.collect()),)).unwrap();
        }
        if n % 5 == 0 {
            let faction = Faction(["", "red", "blue"][n as usize / 5 % 3].into());
            let banner = Banner((0..n as u16 % 3).collect());
            let bundle = ().shared(faction).const_shared(banner);
            world.add(entity, bundle).unwrap();
        }
    }
    if let Some(first) = all.first() {
        world.destroy(*first).unwrap();
    }
    (world, all)
}

/// What there is to an entity, whom it names by the names that they have become.
pub(super) fn told(world: &World, entity: Entity, new: impl Fn(Entity) -> Entity) -> String {
    let order = match world.get::<Order>(entity).unwrap().clone() {
        Order::Idle => Order::Idle,
        Order::Follow(whom) => Order::Follow(new(whom)),
        Order::Guard { whom, words } => Order::Guard {
            whom: whom.into_iter().map(&new).collect(),
            words,
        },
    };
    let parts: [&dyn core::fmt::Debug; 6] = [
        &world.get::<u32>(entity).unwrap(),
        &world.get::<Name>(entity).unwrap(),
        &order,
        &world.get::<Pack>(entity).ok(),
        &world.shared::<Faction>(entity).ok(),
        &world.const_shared::<Banner>(entity).ok(),
    ];
    format!("{parts:?}")
}
