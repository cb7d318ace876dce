//! `App`: several simulations on one pool of threads.

mod broken;
mod clock;
mod error;
mod simulation;
mod time;

use core::hash::Hash;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

pub use broken::Broken;
pub use clock::Rate;
pub use error::AppError;
pub use simulation::{Simulation, SimulationReport};
pub use time::Time;

use crate::panics::{Panicked, after, end_all, first, forget, note, resume, said, tell};
use crate::processor::ScheduleError;
use crate::span::{self, Around};
use crate::workers::fork_join;

/// How long [`App::run`] sleeps at most where no tick is to come.
const IDLE: Duration = Duration::from_millis(10);

/// Several simulations, each a world with processors and a rate of its own, on the threads of the current rayon
/// pool, or the program's own [workers](crate::workers).
///
/// ```
/// use std::time::Duration;
///
/// use megachunk::prelude::*;
///
/// let mut app = App::new();
/// app.add("city", Simulation::new(World::new(), Schedule::new()));
/// app.add("weather", Simulation::new(World::new(), Schedule::new())).set_rate(Rate::per_second(2));
/// for _ in 0..60 {
///     app.update(Duration::from_secs(1) / 60)?;
/// }
/// # Ok::<(), megachunk::processor::AppError>(())
/// ```
#[derive(Debug, Default)]
pub struct App {
    simulations: Vec<(String, Simulation)>,
}

impl App {
    /// An app without simulations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a simulation. One of the same name is dropped, with its world, and an event of [`tracing`] (a warning) says so:
    /// [`replace`](Self::replace) gives it back.
    ///
    /// # Panics
    /// If something in the one that goes panics when it is dropped; the new one is there then.
    pub fn add(&mut self, name: impl Into<String>, simulation: Simulation) -> &mut Simulation {
        let replaced = self.replace(name, simulation);
        let at = self.simulations.len() - 1;
        if let Some(replaced) = &replaced {
            let name = &self.simulations[at].0;
            tell(|| {
                tracing::warn!(
                    name: "simulation_replaced",
                    target: "megachunk::schedule",
                    world = %replaced.world().seat,
                    name,
                    "an app has a simulation of this name already: it is dropped, and its world with it"
                );
            });
        }
        drop(replaced);
        &mut self.simulations[at].1
    }

    /// Adds a simulation in the place of the one of the same name, which it gives back; `None` if there is none. It comes
    /// last in the order.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let city = |tick| {
    ///     let mut city = Simulation::new(World::new(), Schedule::new());
    ///     city.set_tick(tick);
    ///     city
    /// };
    /// let mut app = App::new();
    /// assert!(app.replace("city", city(1)).is_none());
    /// let before = app.replace("city", city(2));
    /// assert_eq!(before.map(|city| city.tick()), Some(1));
    /// assert_eq!(app.get("city").map(|city| city.tick()), Some(2));
    /// ```
    pub fn replace(
        &mut self,
        name: impl Into<String>,
        simulation: Simulation,
    ) -> Option<Simulation> {
        let name = name.into();
        let replaced = self.remove(&name);
        self.simulations.push((name, simulation));
        replaced
    }

    /// A simulation.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Simulation> {
        let mut all = self.simulations.iter();
        all.find_map(|(known, simulation)| (known == name).then_some(simulation))
    }

    /// A simulation, to change.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Simulation> {
        let mut all = self.simulations.iter_mut();
        all.find_map(|(known, simulation)| (known == name).then_some(simulation))
    }

    /// Takes a simulation out.
    pub fn remove(&mut self, name: &str) -> Option<Simulation> {
        let at = self
            .simulations
            .iter()
            .position(|(known, _)| known == name)?;
        Some(self.simulations.remove(at).1)
    }

    /// The simulations, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Simulation)> {
        let all = self.simulations.iter();
        all.map(|(name, simulation)| (&**name, simulation))
    }

    /// The simulations, in the order in which they came, to change.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut app = App::new();
    /// app.add("city", Simulation::new(World::new(), Schedule::new()));
    /// app.add("weather", Simulation::new(World::new(), Schedule::new()));
    /// for (_, simulation) in app.iter_mut() {
    ///     simulation.pause();
    /// }
    /// assert!(app.iter().all(|(_, simulation)| simulation.is_paused()));
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Simulation)> {
        let all = self.simulations.iter_mut();
        all.map(|(name, simulation)| (&**name, simulation))
    }

    /// Keeps those simulations of which `keep` says so; the others are dropped, with their worlds, when it was asked of
    /// all. O(simulations).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut app = App::new();
    /// app.add("match 1", Simulation::new(World::new(), Schedule::new()));
    /// app.add("match 2", Simulation::new(World::new(), Schedule::new())).world_mut().create(())?;
    /// app.retain(|_, one| one.world().count() > 0);
    /// assert!(app.iter().map(|(name, _)| name).eq(["match 2"]));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// If `keep` does: all stay then. If something in one that goes panics when it is dropped: all that were to go have gone
    /// then, and the first panic goes on.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Simulation) -> bool) {
        let all = self.simulations.iter_mut();
        let stay: Vec<bool> = all.map(|(name, one)| keep(name, one)).collect();
        let mut gone = Vec::new();
        for (one, stays) in core::mem::take(&mut self.simulations).into_iter().zip(stay) {
            let to = if stays {
                &mut self.simulations
            } else {
                &mut gone
            };
            to.push(one);
        }
        let mut panicked = None;
        end_all(&mut panicked, gone);
        note(&mut panicked, || drop(keep));
        resume(panicked);
    }

    /// So much time has passed: every simulation [advances](Simulation::advance), all at the same
    /// time; those with processors that are bound to the [main
    /// thread](crate::processor::ProcessorBuilder::main_thread) one after the other on the calling
    /// one, and those in one [ordered](crate::world::Universe::ordered) universe one after the
    /// other, so that their ids do not depend on which was quicker. O(simulations), beside what they do.
    ///
    /// What each of them has done says its [`last_report`](Simulation::last_report).
    ///
    /// # Errors
    /// [`AppError`] names those whose ticks were broken off; the others have advanced.
    ///
    /// # Panics
    /// The first panic, in this order, with the simulation's name if it is text; the others have advanced, and the errors of
    /// those that failed are gone with it. Who is to go on when one panics, as a server does with a thousand matches, calls
    /// [`update_each`](Self::update_each).
    pub fn update(&mut self, elapsed: Duration) -> Result<(), AppError> {
        let outcomes = self.advance_all(elapsed);
        let mut panicked = None;
        let mut failed = Vec::new();
        for (outcome, (name, _)) in outcomes.into_iter().zip(&self.simulations) {
            panicked = first(panicked, named(name, outcome.panicked));
            failed.extend(outcome.result.map(|error| (name.as_str().into(), error)));
        }
        if panicked.is_some() {
            // They may hold users' errors, whose drop may panic, too.
            end_all(&mut panicked, core::mem::take(&mut failed));
        }
        resume(panicked);
        AppError::of(failed)
    }

    /// So much time has passed, as for [`update`](Self::update), and what becomes of one simulation is told of that one: each
    /// whose ticks were broken off is given to `broken`, with its name and why, in their order, when all have advanced.
    /// What panicked is a [`Simulation`] still, of which the next update makes the next tick, unless it is
    /// [paused](Simulation::pause) there, or [taken out](Self::retain) afterwards.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use megachunk::prelude::*;
    /// use megachunk::processor::Broken;
    ///
    /// # std::panic::set_hook(Box::new(|_| {}));
    /// let mut app = App::new();
    /// for number in 0..3 {
    ///     let mut schedule = Schedule::new();
    ///     schedule.add(processor("play", move || assert_ne!(number, 1, "a fault")));
    ///     app.add(format!("match {number}"), Simulation::new(World::new(), schedule));
    /// }
    /// let mut over = Vec::new();
    /// app.update_each(Duration::from_millis(50), |name, simulation, why| {
    ///     simulation.pause();
    ///     // What is to be told is text: `{why}`.
    ///     assert!(matches!(why, Broken::Panicked(_)), "{why}");
    ///     over.push(name.to_owned());
    /// });
    /// assert_eq!(over, ["match 1"]);
    /// app.retain(|name, _| !over.iter().any(|gone| gone == name));
    /// assert_eq!(app.iter().count(), 2);
    /// ```
    ///
    /// # Panics
    /// The first panic of `broken`; it was called for all.
    pub fn update_each(
        &mut self,
        elapsed: Duration,
        mut broken: impl FnMut(&str, &mut Simulation, Broken),
    ) {
        let outcomes = self.advance_all(elapsed);
        let mut panicked = None;
        for (outcome, (name, simulation)) in outcomes.into_iter().zip(&mut self.simulations) {
            let why = match outcome {
                Outcome {
                    panicked: Some(panic),
                    ..
                } => Broken::Panicked(panic),
                Outcome {
                    result: Some(error),
                    ..
                } => Broken::Failed(error),
                _ => continue,
            };
            note(&mut panicked, || broken(name, simulation, why));
        }
        note(&mut panicked, || drop(broken));
        resume(panicked);
    }

    /// Every simulation advances; what became of each.
    fn advance_all(&mut self, elapsed: Duration) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = Vec::new();
        outcomes.resize_with(self.simulations.len(), Outcome::default);
        let around = span::around();
        let around = around.as_ref();
        let all = self.simulations.iter_mut().zip(&mut outcomes);
        let all = all.map(|((name, simulation), outcome)| Turn {
            name,
            simulation,
            outcome,
        });
        if fork_join::threads() == 1 {
            all.for_each(|turn| turn.advance(around, elapsed));
        } else {
            let groups = one_after_the_other(all, |turn| {
                let universe = turn.simulation.world().universe();
                universe.is_ordered().then_some(Arc::as_ptr(universe))
            });
            let (mut here, mut others) = (Vec::new(), Vec::new());
            for group in groups {
                let is_bound = |turn: &Turn<'_>| turn.simulation.schedule().is_bound();
                if here.is_empty() || group.iter().any(is_bound) {
                    here.extend(group);
                } else {
                    others.push(group);
                }
            }
            let advance = |group: Vec<Turn<'_>>| {
                let turns = group.into_iter();
                turns.for_each(|turn| turn.advance(around, elapsed));
            };
            fork_join::beside(|| advance(here), others, advance);
        }
        outcomes
    }

    /// Runs in real time until `go_on` says no: it is asked before each frame, and told how long
    /// the last one took. Between ticks of fixed rates the thread sleeps: until the next one of
    /// those that are not paused. If all are paused, or there are none, it asks each 10
    /// milliseconds, so that who resumes one is served soon.
    ///
    /// # Errors
    /// As for [`update`](Self::update).
    ///
    /// # Panics
    /// As for [`update`](Self::update), and if `go_on` does.
    pub fn run(
        &mut self,
        mut go_on: impl FnMut(&mut Self, Duration) -> bool,
    ) -> Result<(), AppError> {
        let result = self.run_while(&mut go_on);
        after(go_on, result)
    }

    fn run_while(
        &mut self,
        go_on: &mut impl FnMut(&mut Self, Duration) -> bool,
    ) -> Result<(), AppError> {
        let mut last = Instant::now();
        let mut took = Duration::ZERO;
        while go_on(self, took) {
            if let Some(wait) = self.until_next().checked_sub(last.elapsed()) {
                crate::sync::thread::sleep(wait);
            }
            let now = Instant::now();
            self.update(now - last)?;
            last = now;
            took = now.elapsed();
        }
        Ok(())
    }

    /// How long nothing is to be done, counted from the last update.
    fn until_next(&self) -> Duration {
        let waits = self.iter().map(|(_, simulation)| simulation.until_next());
        let wait = waits.min().unwrap_or(Duration::MAX);
        if wait == Duration::MAX { IDLE } else { wait }
    }
}

/// What became of a simulation.
#[derive(Default)]
struct Outcome {
    result: Option<ScheduleError>,
    panicked: Panicked,
}

/// What a simulation's panic says, if that is text, behind its name.
fn named(name: &str, panicked: Panicked) -> Panicked {
    let text = panicked.as_deref().and_then(said).map(str::to_owned);
    match text {
        Some(text) => {
            forget(panicked);
            Some(Box::new(format!("simulation `{name}`: {text}")))
        }
        None => panicked,
    }
}

/// Those with one key, one after the other; who has none stands alone. In the order of the first ones. O(all): each is
/// asked for its key once.
fn one_after_the_other<T, K: Eq + Hash>(
    all: impl Iterator<Item = T>,
    key: impl Fn(&T) -> Option<K>,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut numbers = HashMap::new();
    for one in all {
        let next = groups.len();
        let number = key(&one).map_or(next, |key| *numbers.entry(key).or_insert(next));
        match groups.get_mut(number) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// A simulation that advances.
struct Turn<'a> {
    name: &'a str,
    simulation: &'a mut Simulation,
    outcome: &'a mut Outcome,
}

impl Turn<'_> {
    fn advance(self, around: Option<&Around>, elapsed: Duration) {
        let Outcome { result, panicked } = self.outcome;
        note(panicked, || {
            *result = span::simulation(around, self.name, self.simulation, |simulation| {
                simulation.advance_noting(elapsed).err()
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::processor::Schedule;
    use crate::world::World;

    #[test]
    fn each_is_asked_once_with_whom_it_takes_turns() {
        let asked = Cell::new(0);
        // Three share `'b'`, two `'a'`; the others are alone, as those of universes that are not ordered.
        let all = [
            (0, None),
            (1, Some('b')),
            (2, None),
            (3, Some('a')),
            (4, Some('b')),
            (5, None),
            (6, Some('a')),
            (7, Some('b')),
        ];
        let groups = one_after_the_other(all.into_iter(), |&(_, key)| {
            asked.set(asked.get() + 1);
            key
        });
        let numbers = |group: &Vec<(i32, _)>| group.iter().map(|(n, _)| *n).collect();
        let groups: Vec<Vec<i32>> = groups.iter().map(numbers).collect();
        let expected = [vec![0], vec![1, 4, 7], vec![2], vec![3, 6], vec![5]];
        assert_eq!(groups, expected);
        assert_eq!(asked.get(), all.len());
    }

    #[test]
    fn an_app_waits_for_those_that_are_not_paused() {
        let mut app = App::new();
        assert_eq!(app.until_next(), IDLE, "an empty one");
        let seconds = [("slow", 2), ("slower", 4)];
        for (name, seconds) in seconds {
            let simulation = app.add(name, Simulation::new(World::new(), Schedule::new()));
            simulation.set_rate(Rate::Fixed {
                step: Duration::from_secs(seconds),
                catch_up: 1,
            });
        }
        assert_eq!(app.until_next(), Duration::from_secs(2));
        app.get_mut("slow").unwrap().pause();
        assert_eq!(app.until_next(), Duration::from_secs(4));
        app.get_mut("slower").unwrap().pause();
        assert_eq!(app.until_next(), IDLE);
        app.get_mut("slow").unwrap().step(1);
        assert_eq!(app.until_next(), Duration::ZERO);
    }
}
