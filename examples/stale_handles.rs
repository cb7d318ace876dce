//! What becomes of a handle whose entity is gone: a typed error, never somebody else's entity.
//!
//!     cargo run --release --example stale_handles
//!
//! A turret remembers its target. The target dies, its slot is used again and again, and the
//! turret's memory stays what it was: the name of something dead.

use std::error::Error;

use megachunk::entity::{Entity, EntityFault, EntityIndex};

fn main() -> Result<(), Box<dyn Error>> {
    let index = EntityIndex::new();

    let target = index.create()?;
    println!("the turret aims at {target}");
    index.destroy(target)?;

    // The slot lives on in others.
    let mut reused = 0;
    for _ in 0..1_000 {
        let passer_by = index.create()?;
        reused += usize::from(passer_by.index() == target.index());
        assert!(!index.exists(target), "{passer_by} is not {target}");
        index.destroy(passer_by)?;
    }
    println!("its slot has had {reused} entities since; the turret still aims at nothing");

    // Every call says what is wrong with the handle it was given.
    let error = index.locate(target).unwrap_err();
    println!("locate:  {error}");
    assert_eq!(error.fault, EntityFault::Destroyed);

    let error = index.destroy(target).unwrap_err();
    println!("destroy: {error}");

    // A handle from elsewhere: a save file, the network, another index.
    let invented = Entity::try_from_bits(9_999 << 32 | u64::from(target.index()))
        .ok_or("an entity's version is odd")?;
    let error = index.locate(invented).unwrap_err();
    println!("locate:  {error}");
    assert_eq!(error.fault, EntityFault::NeverCreated);

    // In a batch, each refused handle is reported by its position, and the rest is destroyed.
    let alive = index.create()?;
    let report = index.destroy_slice(&[target, alive, invented, alive]);
    for (position, error) in &report.refused {
        println!("batch:   position {position}: {error}");
    }
    assert_eq!((report.destroyed, report.refused.len()), (1, 3));
    Ok(())
}
