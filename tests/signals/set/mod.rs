//! Values that are set: what is told of them.

use std::sync::{Arc, Mutex};

use megachunk::prelude::*;

use crate::observers::Heat;

mod brittle;
mod flushes;
mod roles;
mod ways;

/// A fragment whose values are dropped.
#[derive(Clone, Debug, PartialEq)]
struct Label(String);

/// What was called, in order: the kind of change, and the entities with their values.
type Calls = Arc<Mutex<Vec<(Observed, Vec<(Entity, u32)>)>>>;

fn hear_heat(world: &mut World, observed: Observed) -> Calls {
    let calls = Calls::default();
    let mine = Arc::clone(&calls);
    let hear = world.observe::<Heat, ()>(observed, move |batch, _| {
        let mut seen = Vec::new();
        let lent = batch.for_each::<(Entity, &Heat)>(|(entity, heat)| seen.push((entity, heat.0)));
        assert_eq!(lent.unwrap(), seen.len());
        assert!(seen.iter().map(|&(entity, _)| entity).eq(batch.entities()));
        mine.lock().unwrap().push((batch.change(), seen));
    });
    hear.unwrap();
    calls
}

/// Who has been given which heat.
type Given = Vec<(Entity, u32)>;

fn all(entities: &[Entity], heat: u32) -> Given {
    entities.iter().map(|&entity| (entity, heat)).collect()
}
