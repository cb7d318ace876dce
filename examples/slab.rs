//! Values by id, for any thread, without a world: connections, sessions, requests.
//!
//! ```sh
//! cargo run --release --example slab
//! ```
//!
//! Ids come from an `EntityIndex`, so that an old one never means somebody else's value. Each value has a lock of its
//! own: threads wait for each other only where they want the same one. (Without any lock: `session_table`.)

use std::error::Error;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use megachunk::entity::{Entity, EntityIndex, Full};

/// Slots that are made at once.
const BLOCK: usize = 8_192;

/// A value with the id of which it is.
type Slot<T> = Mutex<Option<(Entity, T)>>;

/// Slots that come when the first of them is used.
type Block<T> = OnceLock<Box<[Slot<T>]>>;

/// Values by id. A block of slots is made when the first id in it is given out.
struct Slab<T> {
    index: EntityIndex,
    blocks: Box<[Block<T>]>,
}

impl<T> Slab<T> {
    fn new() -> Self {
        let blocks = (0..EntityIndex::CAPACITY / BLOCK).map(|_| OnceLock::new());
        Self {
            index: EntityIndex::new(),
            blocks: blocks.collect(),
        }
    }

    /// The slot of an id that lives, or has lived. (Others could have any index.)
    fn lock(&self, id: Entity) -> MutexGuard<'_, Option<(Entity, T)>> {
        let at = id.index() as usize;
        let make = || (0..BLOCK).map(|_| Mutex::new(None)).collect();
        let block = self.blocks[at / BLOCK].get_or_init(make);
        // A user's closure that panics leaves a value, which is as good as the closure has left it.
        block[at % BLOCK]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, value: T) -> Result<Entity, Full> {
        let id = self.index.create()?;
        *self.lock(id) = Some((id, value));
        Ok(id)
    }

    /// Lends the value; `None` if it is gone.
    fn with<R>(&self, id: Entity, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !self.index.exists(id) {
            return None;
        }
        match &mut *self.lock(id) {
            Some((owner, value)) if *owner == id => Some(look(value)),
            _ => None,
        }
    }

    fn remove(&self, id: Entity) -> Option<T> {
        if !self.index.exists(id) {
            return None;
        }
        let mut slot = self.lock(id);
        let (_, value) = slot.take_if(|(owner, _)| *owner == id)?;
        // The slot is locked still: who gets its index next waits until this is done.
        let ended = self.index.destroy(id);
        ended.expect("who takes the value ends the id");
        Some(value)
    }
}

/// What is kept of each peer.
struct Connection {
    peer: String,
    received: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let connections = Slab::new();
    let tokens = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for worker in 0..4 {
            let (connections, tokens) = (&connections, &tokens);
            scope.spawn(move || {
                for number in 0..1_000 {
                    let peer = format!("peer {worker}.{number}");
                    let id = connections.insert(Connection { peer, received: 0 });
                    let id = id.expect("134 million fit");
                    connections.with(id, |connection| connection.received += 1);
                    if number % 2 == 0 {
                        connections.remove(id);
                    } else {
                        // Eight bytes, for a cookie or a packet.
                        let mut tokens = tokens.lock().expect("nobody panics with it");
                        tokens.push(id.to_bits());
                    }
                }
            });
        }
    });
    let tokens = tokens.into_inner().expect("nobody has panicked with it");
    assert_eq!((connections.index.count(), tokens.len()), (2_000, 2_000));

    // What comes back from outside may be anything: no id, one that was never given out, a dead one.
    let id = Entity::try_from_bits(tokens[0]).ok_or("it is no id")?;
    assert_eq!(
        connections.with(id, |connection| connection.received),
        Some(1)
    );
    let gone = connections.remove(id).ok_or("it is there")?;
    let left = connections.index.count();
    println!("{} was {id}; {left} connections are left", gone.peer);
    let peer = "another".into();
    connections.insert(Connection { peer, received: 9 })?;
    assert_eq!(
        connections.with(id, |connection| connection.received),
        None,
        "it gets nobody else's"
    );
    Ok(())
}
