//! Vehicles of parts that sit on each other: who sits on whom is a fragment, and an index leads from each to what sits on
//! it. Wherever a vehicle drives, its parts follow; what blows up takes with it what sits on it; a gun is mounted anew.
//!
//! Parts are placed in two ways, which come to the same: one after the other, by a look-up of what each sits on, and on all
//! threads, by `par_descend`, which hands the pose of that one over. On two cores with much else to do that took 0.52 to 0.63
//! of the time (four runs), and with one thread alone 0.8, for nobody is looked up twice.
//!
//! `cargo run --release --example hierarchy`

use std::time::{Duration, Instant};

use megachunk::prelude::*;

/// Where it is in the world, and which way it looks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pose {
    x: f32,
    y: f32,
    turn: f32,
}

/// On whom it sits, and where, as that one sees it.
#[derive(Clone, Copy)]
struct Mounted {
    on: Entity,
    at: Pose,
}

impl Relationship for Mounted {
    fn target(&self) -> Entity {
        self.on
    }
}

struct Speed(f32);

const VEHICLES: usize = 20_000;
const FRAMES: usize = 200;
/// Vehicles that blow up in a frame, and come anew.
const LOST: usize = 20;

/// What is seen at `there` from `here`, as the world has it.
fn seen_from(here: Pose, there: Pose) -> Pose {
    let (sin, cos) = here.turn.sin_cos();
    Pose {
        x: here.x + there.x * cos - there.y * sin,
        y: here.y + there.x * sin + there.y * cos,
        turn: here.turn + there.turn,
    }
}

/// A hull, a tower on it, and on that a gun and a lamp.
fn build(world: &mut World, number: usize) -> Result<Entity, WorldError> {
    let pose = Pose {
        x: number as f32,
        y: 0.0,
        turn: number as f32,
    };
    let hull = world.create((pose, Speed(1.0)))?;
    let at = |x, y| Pose { x, y, turn: 0.1 };
    let mut mount = |on, at| world.create((pose, Mounted { on, at }));
    let tower = mount(hull, at(0.5, 0.0))?;
    mount(tower, at(1.5, 0.2))?;
    mount(tower, at(0.0, 0.8))?;
    Ok(hull)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new();
    let mut hulls = Vec::new();
    for number in 0..VEHICLES {
        hulls.push(build(&mut world, number)?);
    }
    let mut mounted = RelationshipIndex::<Mounted>::new(&world)?;
    let begun = Instant::now();
    mounted.update(&world);
    let first = begun.elapsed();

    let mut driving = Query::<(&mut Pose, &Speed)>::new(&world)?;
    let mut poses = Query::<(&mut Pose, Option<&Mounted>)>::new(&world)?;
    let mut shown = Query::<&Pose>::new(&world)?;
    let (mut updates, mut walks, mut deaths) = (Vec::new(), Vec::new(), Vec::new());
    let mut descents = Vec::new();
    for frame in 0..FRAMES {
        driving.on(&mut world).for_each(|(pose, speed)| {
            pose.x += speed.0 * pose.turn.cos();
            pose.y += speed.0 * pose.turn.sin();
        });

        let begun = Instant::now();
        mounted.update(&world);
        updates.push(begun.elapsed());

        // On all threads, a level of parts at a time; each gets the pose of what it sits on.
        let begun = Instant::now();
        let placed = mounted.par_descend(
            &mut poses.on(&mut world),
            |(pose, _)| *pose,
            |&below, (pose, mount)| {
                *pose = seen_from(below, mount.expect("it is a part").at);
                *pose
            },
        );
        descents.push(begun.elapsed());
        assert_eq!(placed, 4 * VEHICLES);
        let placed: Option<Vec<Pose>> =
            (frame == 0).then(|| shown.read(&world).iter().copied().collect());

        // Or one by one, from each hull outwards: a part comes after what it sits on.
        let begun = Instant::now();
        let mut lookup = poses.lookup_mut(&mut world);
        for hull in mounted.roots() {
            for part in mounted.descendants(hull) {
                let on = mounted.target(part).expect("it is a part");
                // Only looked at: what it sits on has not changed by that.
                let below = *lookup.peek::<Pose>(on)?;
                let (pose, mount) = lookup.get_mut(part)?;
                *pose = seen_from(below, mount.expect("it is a part").at);
            }
        }
        drop(lookup);
        walks.push(begun.elapsed());
        assert!(placed.is_none_or(|placed| shown.read(&world).iter().eq(&placed)));

        // Hulls blow up, whoever does it; their parts go with them.
        let lost: Vec<usize> = (0..LOST)
            .map(|n| (frame * LOST + n) * 7 % VEHICLES)
            .collect();
        for &number in &lost {
            world.destroy(hulls[number])?;
        }
        let begun = Instant::now();
        assert_eq!(mounted.destroy_orphans(&mut world), 3 * LOST);
        deaths.push(begun.elapsed());
        for number in lost {
            hulls[number] = build(&mut world, number)?;
        }
    }

    // A gun sits on another tower from now on: a value is written, no more.
    mounted.update(&world);
    let towers = [0, 1].map(|number| mounted.sources(hulls[number])[0]);
    let gun = mounted.sources(towers[0])[0];
    world.get_mut::<Mounted>(gun)?.on = towers[1];
    mounted.update(&world);
    assert_eq!(mounted.sources(towers[0]).len(), 1);
    assert!(mounted.sources(towers[1]).contains(&gun));
    assert_eq!(mounted.len(), 3 * VEHICLES);

    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    println!(
        "{VEHICLES} vehicles of 4 parts, {LOST} of them lost and built anew in each of {FRAMES} frames"
    );
    println!("index of {} parts made: {first:.1?}", mounted.len());
    println!("brought up to date, a frame: {:.1?}", median(updates));
    let (walk, descent) = (median(walks), median(descents));
    println!("all parts placed, one after the other: {walk:.1?}");
    println!(
        "all parts placed on {} threads: {descent:.1?}, {:.2} of that",
        rayon::current_num_threads(),
        descent.as_secs_f64() / walk.as_secs_f64()
    );
    println!(
        "the parts of lost hulls found and destroyed: {:.1?}",
        median(deaths)
    );
    Ok(())
}
