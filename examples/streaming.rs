//! Regions of a large map come and go while frames run: another thread loads them, and whole chunks are handed over when
//! they arrive.
//!
//!     cargo run --release --example streaming

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use megachunk::prelude::*;

const REGIONS: u32 = 12;
/// Regions are so wide.
const WIDTH: f32 = 100.0;
/// Herds of a region, and animals of a herd.
const HERDS: u32 = 400;
const ANIMALS: u32 = 50;
const FRAMES: u32 = 600;
/// A frame comes so often, as on a quick display.
const FRAME: Duration = Duration::from_millis(2);

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Position {
    x: f32,
    y: f32,
}
megachunk::plain!(Position { x, y });

/// Who leads the herd. Snapshots know that this is a handle: where a region comes back with new ids, it leads to the
/// same animal by its new one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Follows(Entity);
megachunk::plain!(Follows { 0 });

/// What a region is, once it is there.
type Loaded = Result<(u32, World, EntityMap, Duration), SnapshotError>;

fn register(registry: &FragmentRegistry) -> Result<(), FragmentError> {
    registry.register_plain::<Position>()?;
    registry.register_plain::<Follows>()?;
    Ok(())
}

/// What an editor would have done: each region is a world of its own, in a file.
fn save_regions(directory: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for region in 0..REGIONS {
        let mut world = World::new();
        register(world.registry())?;
        for herd in 0..HERDS {
            let y = herd as f32;
            let x = region as f32 * WIDTH;
            let leader = world.create((Position { x, y },))?;
            let animals = (1..ANIMALS).map(|n| {
                let x = x + WIDTH * n as f32 / ANIMALS as f32;
                (Position { x, y }, Follows(leader))
            });
            let _ = world.create_batch(animals)?;
        }
        let file = directory.join(format!("region-{region}.world"));
        world.save(&file, &Default::default())?;
        files.push(file);
    }
    Ok(files)
}

/// Loads what it is asked for, until nobody asks any more.
fn load(
    files: &[PathBuf],
    universe: &Arc<Universe>,
    wanted: &mpsc::Receiver<u32>,
    loaded: &mpsc::Sender<Loaded>,
) {
    for region in wanted {
        let begin = Instant::now();
        let come = World::load_remapped(
            &files[region as usize],
            universe,
            &EntityMap::default(),
            &Default::default(),
        );
        let come = come.map(|(world, entities)| (region, world, entities, begin.elapsed()));
        if loaded.send(come).is_err() {
            return;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory =
        std::env::temp_dir().join(format!("megachunk-streaming-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let files = save_regions(&directory)?;
    let result = walk(&files);
    std::fs::remove_dir_all(directory)?;
    result
}

/// Walks from the first region to the last one.
fn walk(files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let mut world = World::new();
    register(world.registry())?;
    let player = world.create((Position { x: 0.0, y: 0.0 }, "the player"))?;

    let universe = Arc::clone(world.universe());
    let (ask, wanted) = mpsc::channel();
    let (send, loaded) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || load(files, &universe, &wanted, &send));
        // Here, so that the thread ends when this does, also by an error.
        let ask = ask;

        let mut regions: HashMap<u32, Option<EntityMap>> = HashMap::new();
        let mut herd = Query::<&mut Position, With<Follows>>::new(&world)?;
        let (mut frames, mut arrivals, mut loads) = (Vec::new(), Vec::new(), Vec::new());
        for frame in 0..FRAMES {
            let begin = Instant::now();
            // What has come meanwhile becomes part of the world: its chunks are handed over.
            while let Ok(come) = loaded.try_recv() {
                let (region, mut animals, entities, time) = come?;
                let begin = Instant::now();
                let count = animals.move_all_to(&mut world)?;
                arrivals.push(begin.elapsed());
                loads.push(time);
                assert_eq!(count, (HERDS * ANIMALS) as usize);
                regions.insert(region, Some(entities));
            }

            // Two regions ahead are wanted, and what lies behind is not.
            let x = REGIONS as f32 * WIDTH * frame as f32 / FRAMES as f32;
            world.get_mut::<Position>(player)?.x = x;
            let here = (x / WIDTH) as u32;
            for region in here..REGIONS.min(here + 3) {
                if let std::collections::hash_map::Entry::Vacant(place) = regions.entry(region) {
                    place.insert(None);
                    ask.send(region)?;
                }
            }
            let behind =
                |&(&region, map): &(&u32, &Option<EntityMap>)| region < here && map.is_some();
            let behind: Vec<u32> = regions
                .iter()
                .filter(behind)
                .map(|(&region, _)| region)
                .collect();
            for region in behind {
                if let Some(Some(entities)) = regions.remove(&region) {
                    let animals: Vec<Entity> = entities.iter().map(|(_, now)| now).collect();
                    assert!(world.destroy_slice(&animals).is_clean());
                    // It does not come back: the way leads forward.
                    regions.insert(region, None);
                }
            }

            herd.on(&mut world).for_each(|position| position.y += 0.01);
            frames.push(begin.elapsed());
            std::thread::sleep(FRAME.saturating_sub(begin.elapsed()));
        }

        // Whoever is there follows somebody who is there.
        let mut followers = 0;
        for follows in world.read::<&Follows, ()>()?.iter() {
            assert!(world.is_built(follows.0));
            followers += 1;
        }
        frames.sort_unstable();
        println!(
            "{} regions of {} animals loaded by another thread in {:.1?} at most each; {followers} followers at the end",
            loads.len(),
            HERDS * ANIMALS,
            loads.iter().max().copied().unwrap_or_default(),
        );
        println!(
            "{FRAMES} frames meanwhile: {:.1?} at the median, {:.1?} the longest; to take a region in {:.1?} at most",
            frames[frames.len() / 2],
            frames[frames.len() - 1],
            arrivals.iter().max().copied().unwrap_or_default(),
        );
        Ok(())
    })
}
