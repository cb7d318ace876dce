//! Worlds that `map` can draw: each made anew, and always the same.

use std::path::Path;
use std::sync::Arc;

use super::WorldMap;
use crate::chunk::ChunkOptions;
use crate::cli::workload::Shuffler;
use crate::cli::workload::ecs::{self, EcsContender, Megachunk};
use crate::cli::{CliError, city};
use crate::entity::{Entity, IndexOptions};
use crate::fragment::Bundle;
use crate::world::{Budget, Universe, World, WorldError};

/// A world that is made, not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(in crate::cli::map) enum MadeWorld {
    /// The city of the subcommand `city`, after ten seconds: --size agents at first
    City,
    /// 26 compositions with as many entities each, as `ecs` has them in `fragmented_iter`
    Fragmented,
    /// 1,000 compositions with as many entities each, as `ecs` has them in `archetypes_1000x20`
    Archetypes,
    /// Some compositions, one with shared values; many entities have gone or changed since, some all over, some in a part
    Churned,
    /// The same after a compaction
    Compacted,
}

/// Where the streets of the city are if nobody says it.
pub(in crate::cli::map) const STREETS: &str = "data/maps/monaco.osm.pbf";
/// What passes in the city.
const SECONDS: f64 = 10.0;

impl MadeWorld {
    /// Entities at first, if nobody says how many.
    const fn usual_size(self) -> u32 {
        match self {
            Self::Fragmented => 26 * 20,
            Self::Archetypes => 1_000 * 20,
            Self::City | Self::Churned | Self::Compacted => 100_000,
        }
    }

    /// What the world is like, made of so many entities at first. Those of equal compositions are as many as come out even.
    ///
    /// # Errors
    /// There is no room for it; no city can be read from `streets`, or it has none.
    pub(in crate::cli::map) fn map(
        self,
        size: Option<u32>,
        streets: Option<&Path>,
    ) -> Result<WorldMap, CliError> {
        if self != Self::City && streets.is_some() {
            return Err(CliError::BadArgument {
                argument: "--streets".to_owned(),
                reason: "only the world city has streets".to_owned(),
            });
        }
        let streets = streets.unwrap_or(Path::new(STREETS));
        let size = size.unwrap_or(self.usual_size());
        let look = |name| move |world: &World| WorldMap::of(name, world);
        match self {
            Self::City => city::after(SECONDS, size as usize, streets, look("city")),
            Self::Fragmented => {
                has_room()?;
                Ok(look("fragmented")(&ecs::fragmented(size.div_ceil(26))))
            }
            Self::Archetypes => {
                has_room()?;
                Ok(look("archetypes")(&ecs::archetypes(size.div_ceil(1_000))))
            }
            Self::Churned => churned(size as usize).map(|world| look("churned")(&world)),
            Self::Compacted => {
                let mut world = churned(size as usize)?;
                world.compact(Budget::Unlimited);
                Ok(look("compacted")(&world))
            }
        }
    }
}

fn no_room(source: std::io::Error) -> CliError {
    CliError::NoRoom {
        allocator: "a world",
        source,
    }
}

/// For worlds that are made by who has no errors.
fn has_room() -> Result<(), CliError> {
    <Megachunk>::try_room().map_err(no_room)
}

/// A place.
#[derive(Debug)]
#[expect(dead_code, reason = "a column that is only there")]
struct Position([f32; 3]);

/// What a place changes by.
#[derive(Debug)]
#[expect(dead_code, reason = "a column that is only there")]
struct Velocity([f32; 3]);

#[derive(Debug)]
#[expect(dead_code, reason = "a column that is only there")]
struct Health(u32);

/// Of who does not move for a while.
#[derive(Debug)]
struct Asleep;

/// Shared by all who are in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Team(usize);

const TEAMS: usize = 5;

fn churned(size: usize) -> Result<World, CliError> {
    let universe = Universe::ordered_with(&IndexOptions::new(), &ChunkOptions::new());
    let universe = Arc::new(universe.map_err(no_room)?);
    churn(&universe, size).map_err(|error| CliError::Failed(format!("no world: {error}")))
}

/// Creates all one by one, so that chunks are as long as worlds make them that grow; then some go.
fn churn(universe: &Arc<Universe>, size: usize) -> Result<World, WorldError> {
    let mut world = World::of(universe)?;
    let mut random = Shuffler::new(1);
    let (here, still) = (|| Position([0.0; 3]), || Velocity([0.0; 3]));
    // Of a few, one at least of each kind.
    let tenths = |of_ten: usize| 0..(size * of_ten).div_ceil(10);

    let walker = |_| (here(), still(), Health(100));
    let mut walkers = created(&mut world, tenths(4).map(walker))?;
    let soldier = |number| (here(), Health(100)).shared(Team(number % TEAMS));
    let soldiers = created(&mut world, tenths(2).map(soldier))?;
    let stones = created(&mut world, tenths(2).map(|_| (here(),)))?;
    let sparks = created(&mut world, tenths(1).map(|_| (here(), still())))?;
    created(&mut world, tenths(1).map(|_| (here(), Health(100))))?;

    // All over: half of them go, and a quarter of those that stay fall asleep.
    random.shuffle(&mut walkers);
    let (gone, stay) = walkers.split_at(walkers.len() / 2);
    gone.iter().try_for_each(|&one| world.destroy(one))?;
    for &one in &stay[..stay.len() / 4] {
        world.add(one, (Asleep,))?;
    }
    // The more the later they came.
    for (number, &one) in stones.iter().enumerate() {
        if random.below(stones.len()) < number {
            world.destroy(one)?;
        }
    }
    // One team has lost half, and every tenth changes sides.
    for (number, &one) in soldiers.iter().enumerate() {
        match (number % TEAMS, random.below(10)) {
            (0, 0..5) => world.destroy(one)?,
            (_, 9) => world.set_shared(one, Team(random.below(TEAMS)))?,
            _ => {}
        }
    }
    // All: a chunk is kept for those that come next.
    sparks.iter().try_for_each(|&one| world.destroy(one))?;
    Ok(world)
}

fn created<B: Bundle>(
    world: &mut World,
    bundles: impl Iterator<Item = B>,
) -> Result<Vec<Entity>, WorldError> {
    bundles.map(|bundle| world.create(bundle)).collect()
}
