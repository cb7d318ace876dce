//! The product's processors.

use core::time::Duration;
use std::time::Instant;

use rayon::ThreadPool;

use super::{Solving, Systems, SystemsCase, in_pool, threads_for};
use crate::cli::workload::Unsupported;
use crate::cli::workload::ecs::agents::{self, Thoughts};
use crate::cli::workload::ecs::megachunk::{Data, Kind, Position, Transform, body, done};
use crate::cli::workload::ecs::{Tally, values};
use crate::processor::{Execution, ProcessorBuilder, Schedule, processor};
use crate::query::QueryRun;
use crate::world::World;

/// A fragment for each letter.
#[derive(Clone, Copy)]
struct A(f32);
#[derive(Clone, Copy)]
struct B(f32);
#[derive(Clone, Copy)]
struct C(f32);
#[derive(Clone, Copy)]
struct D(f32);
#[derive(Clone, Copy)]
struct E(f32);

/// Where an agent is, where it goes to, and what it thinks.
#[derive(Clone, Copy)]
struct Place([f32; 2]);
#[derive(Clone, Copy)]
struct Heading([f32; 2]);
#[derive(Clone, Copy)]
struct Mind(Thoughts);

/// A world, its processors, and the threads that they run on.
struct Scheduled {
    world: World,
    schedule: Schedule,
    pool: Option<ThreadPool>,
    case: SystemsCase,
}

impl Scheduled {
    fn new(case: SystemsCase, threads: usize) -> Result<Self, Unsupported> {
        let mut scheduled = Self {
            world: World::new(),
            schedule: Schedule::new(),
            pool: threads_for(case, threads)?,
            case,
        };
        match case {
            SystemsCase::Swaps { of_each, .. } => scheduled.swap(of_each as usize),
            SystemsCase::Heavy { entities } => scheduled.compute(entities),
            SystemsCase::Mixed { of_each } => scheduled.agents(of_each),
            SystemsCase::Empty { systems } => {
                for number in 0..systems {
                    let nothing = processor(format!("processor {number}"), || {});
                    scheduled.schedule.add(nothing);
                }
                // What side by side costs is asked, although it is never quicker here.
                scheduled.schedule.set_execution(Execution::Beside);
            }
        }
        if threads == 1 {
            scheduled.schedule.set_execution(Execution::Alone);
        }
        Ok(scheduled)
    }

    fn swap(&mut self, of_each: usize) {
        let [a, b, c, d, e] = ['A', 'B', 'C', 'D', 'E'].map(values::letter);
        let (a, b, c, d, e) = (A(a), B(b), C(c), D(d), E(e));
        let world = &mut self.world;
        done(world.create_batch(core::iter::repeat_n((a, b), of_each)));
        done(world.create_batch(core::iter::repeat_n((a, b, c), of_each)));
        done(world.create_batch(core::iter::repeat_n((a, b, c, d), of_each)));
        done(world.create_batch(core::iter::repeat_n((a, b, c, e), of_each)));
        self.schedule
            .add(processor(
                "swap A and B",
                |mut pairs: QueryRun<'_, (&mut A, &mut B)>| {
                    pairs.for_each_chunk(|_, (a, b)| {
                        for (a, b) in a.iter_mut().zip(b) {
                            core::mem::swap(&mut a.0, &mut b.0);
                        }
                    });
                },
            ))
            .add(processor(
                "swap C and D",
                |mut pairs: QueryRun<'_, (&mut C, &mut D)>| {
                    pairs.for_each_chunk(|_, (c, d)| {
                        for (c, d) in c.iter_mut().zip(d) {
                            core::mem::swap(&mut c.0, &mut d.0);
                        }
                    });
                },
            ))
            .add(processor(
                "swap C and E",
                |mut pairs: QueryRun<'_, (&mut C, &mut E)>| {
                    pairs.for_each_chunk(|_, (c, e)| {
                        for (c, e) in c.iter_mut().zip(e) {
                            core::mem::swap(&mut c.0, &mut e.0);
                        }
                    });
                },
            ));
    }

    fn compute(&mut self, entities: u32) {
        let turned = (0..entities).map(|number| {
            let (_, position, rotation, velocity) = body(number);
            let transform = Transform(values::quarter_turn());
            (transform, position, rotation, velocity)
        });
        done(self.world.create_batch(turned));
        type Both<'q> = QueryRun<'q, (&'static mut Transform, &'static mut Position)>;
        self.schedule.add(match self.pool {
            None => processor("compute", |mut bodies: Both<'_>| {
                bodies.for_each(|(transform, position)| {
                    values::compute(&mut transform.0, &mut position.0);
                });
            }),
            Some(_) => processor("compute", |mut bodies: Both<'_>| {
                bodies.par_for_each(|(transform, position)| {
                    values::compute(&mut transform.0, &mut position.0);
                });
            }),
        });
    }

    fn agents(&mut self, of_each: u32) {
        let world = &mut self.world;
        let place = |number| Place(agents::place(number));
        let (heading, mind) = (Heading(agents::heading()), |number| {
            Mind(agents::thoughts(number))
        });
        done(world.create_batch((0..of_each).map(|number| (place(number), heading))));
        done(world.create_batch((0..of_each).map(|n| (place(n), heading, mind(n)))));
        done(world.create_batch((0..of_each).map(|n| (place(n), mind(n)))));
        self.schedule
            .add(processor(
                "walk",
                |mut all: QueryRun<'_, (&mut Place, &Heading)>| {
                    all.for_each(|(place, heading)| agents::walk(&mut place.0, &heading.0));
                },
            ))
            .add(
                processor("think", |mut all: QueryRun<'_, &mut Mind>| {
                    all.for_each(|mind| agents::think(&mut mind.0));
                })
                .after("walk"),
            )
            .add(
                processor(
                    "turn",
                    |mut all: QueryRun<'_, (&Place, &mut Heading, &Mind)>| {
                        all.for_each(|(place, heading, mind)| {
                            agents::turn(&place.0, &mut heading.0, &mind.0);
                        });
                    },
                )
                .after("think"),
            );
    }

    /// What `value` says of each `T`.
    fn tally<T: 'static + Send + Sync>(&mut self, value: impl Fn(&T) -> f32) -> Tally {
        let mut tally = Tally::default();
        let query = self.world.query::<&T, ()>();
        let mut query = query.expect("the query is a sound one");
        query.for_each(|fragment| tally.add(value(fragment)));
        tally
    }
}

impl Systems for Scheduled {
    fn run(&mut self, frames: u64) {
        let (world, schedule) = (&mut self.world, &mut self.schedule);
        in_pool(self.pool.as_ref(), frames, || {
            let report = schedule.run(world).expect("the schedule is a sound one");
            assert_eq!(report.ran, schedule.len(), "nobody is passed by");
        });
    }

    fn tallies(&mut self) -> Vec<Tally> {
        match self.case {
            SystemsCase::Swaps { .. } => vec![
                self.tally(|a: &A| a.0),
                self.tally(|b: &B| b.0),
                self.tally(|c: &C| c.0),
                self.tally(|d: &D| d.0),
                self.tally(|e: &E| e.0),
            ],
            SystemsCase::Heavy { .. } => vec![
                self.tally(|position: &Position| position.0[0]),
                self.tally(|position: &Position| position.0[1]),
            ],
            SystemsCase::Mixed { .. } => vec![
                self.tally(|place: &Place| place.0[0]),
                self.tally(|place: &Place| place.0[1]),
                self.tally(|heading: &Heading| heading.0[0]),
                self.tally(|mind: &Mind| mind.0.count as f32),
            ],
            SystemsCase::Empty { .. } => Vec::new(),
        }
    }
}

/// See [`EcsContender::systems`](crate::cli::workload::ecs::EcsContender::systems).
pub(in crate::cli::workload::ecs) fn systems(
    case: SystemsCase,
    threads: usize,
) -> Result<Box<dyn Systems>, Unsupported> {
    Ok(Box::new(Scheduled::new(case, threads)?))
}

/// A schedule to solve.
struct Solvable {
    world: World,
    schedule: Schedule,
    systems: u32,
    archetypes: u32,
    /// Archetypes so far.
    come: u32,
}

/// A processor that reads or writes the component `N` of ten.
fn touching<const N: usize>(name: String, writes: bool) -> ProcessorBuilder {
    match writes {
        true => processor(name, |mut all: QueryRun<'_, (&mut Kind<N>, &Data)>| {
            all.for_each(|(kind, data)| kind.0 += data.0);
        }),
        false => processor(name, |mut all: QueryRun<'_, (&Kind<N>, &Data)>| {
            all.for_each(|(kind, data)| {
                core::hint::black_box(kind.0 + data.0);
            });
        }),
    }
}

impl Solvable {
    /// One archetype more: another subset of ten components.
    fn archetype(&mut self) {
        let world = &mut self.world;
        self.come += 1;
        let id = done(world.create((Data(values::DATA),)));
        let kinds: [fn(&mut World, _); 10] = [
            |world, id| done(world.add(id, (Kind::<0>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<1>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<2>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<3>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<4>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<5>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<6>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<7>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<8>(values::KIND),))),
            |world, id| done(world.add(id, (Kind::<9>(values::KIND),))),
        ];
        // On the way to a number bit by bit, from the low end, all are smaller ones.
        for (bit, add) in kinds.iter().enumerate() {
            if self.come >> bit & 1 == 1 {
                add(world, id);
            }
        }
    }
}

impl Solving for Solvable {
    fn solve_anew(&mut self) -> Duration {
        self.world = World::new();
        self.schedule = Schedule::new();
        self.come = 0;
        for _ in 0..self.archetypes {
            self.archetype();
        }
        let touching: [fn(String, bool) -> ProcessorBuilder; 10] = [
            touching::<0>,
            touching::<1>,
            touching::<2>,
            touching::<3>,
            touching::<4>,
            touching::<5>,
            touching::<6>,
            touching::<7>,
            touching::<8>,
            touching::<9>,
        ];
        for number in 0..self.systems {
            let (name, group) = (format!("processor {number}"), number / 10);
            let one = touching[(number * 7 % 10) as usize](name, number % 3 == 0);
            self.schedule.add(one.group(format!("group {group}")));
            if number % 20 == 10 {
                let (group, earlier) = (format!("group {group}"), format!("group {}", group - 1));
                self.schedule.group_after(group, earlier);
            }
        }
        let began = Instant::now();
        let solved = self.schedule.solve(&mut self.world);
        let took = began.elapsed();
        solved.expect("the schedule is a sound one");
        took
    }

    fn solve_archetype(&mut self) -> Duration {
        self.archetype();
        let began = Instant::now();
        let solved = self.schedule.solve(&mut self.world);
        let took = began.elapsed();
        solved.expect("the schedule is a sound one");
        took
    }
}

/// See [`EcsContender::solving`](crate::cli::workload::ecs::EcsContender::solving).
pub(in crate::cli::workload::ecs) fn solving(systems: u32, archetypes: u32) -> Box<dyn Solving> {
    Box::new(Solvable {
        world: World::new(),
        schedule: Schedule::new(),
        systems,
        archetypes,
        come: 0,
    })
}
