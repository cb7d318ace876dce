//! Slices of entities change or go.
//!
//! A slice often names neighbours: the batch that was created together, the handles of a chunk. Those
//! are found as runs and handled together (see [`runs`](super::runs)); what is scattered changes one by
//! one, and goes by [`scattered`](super::scattered).

mod come;
mod dynamic;
mod remove;

use smallvec::SmallVec;

use crate::archetype::Rows;
use crate::entity::Entity;
use crate::panics::{Panicked, first, resume};
use crate::world::destroy::SliceReport;
use crate::world::scattered::Scattered;
use crate::world::watch::{DESTROYED, NOWHERE};
use crate::world::{World, WorldError};

/// Neighbours that are worth being handled together.
const SHORTEST: u32 = 4;
/// How many entities are passed by, at most, before neighbours are looked for again.
const LONGEST_WAIT: u32 = 64;

/// How many entities ahead slots are asked for.
const AHEAD: usize = 24;
/// How many entities ahead rows are asked for, of entities that go one by one.
const ROWS_AHEAD: usize = 12;

/// Looks for neighbours in a slice, less often while there are none.
struct Neighbours {
    wait: u32,
    waited: u32,
}

impl Neighbours {
    /// For a slice of so many.
    #[inline]
    fn among(entities: &[Entity]) -> Self {
        if entities.len() < SHORTEST as usize {
            // For none of them it is worth it.
            return Self {
                wait: SHORTEST,
                waited: 0,
            };
        }
        Self { wait: 0, waited: 0 }
    }

    /// The run that the slice begins with, if it is worth it.
    #[inline]
    fn look(&mut self, world: &World, entities: &[Entity]) -> Option<(u32, Rows)> {
        if self.waited < self.wait {
            self.waited += 1;
            return None;
        }
        self.waited = 0;
        match world.run_at(entities) {
            Ok((archetype, rows)) if rows.count >= SHORTEST => {
                self.wait = 0;
                Some((archetype, rows))
            }
            _ => {
                self.wait = (2 * self.wait + 1).min(LONGEST_WAIT);
                None
            }
        }
    }
}

impl Neighbours {
    /// The run that was found is not handled together, and its entities are to be looked at one by
    /// one: as far as it goes, it is not looked for again.
    #[cold]
    fn pass(&mut self, rows: Rows) {
        (self.wait, self.waited) = (rows.count - 1, 0);
    }
}

/// Whether the rows of entities seem to follow each other with small gaps between them: a processor asks for what comes
/// next by itself.
fn are_close(world: &World, entities: &[Entity]) -> bool {
    /// Handles that are looked at.
    const LOOK: usize = 6;
    /// Slots, and rows, from one to the next.
    const GAP: u32 = 16;
    let first = &entities[..entities.len().min(LOOK)];
    let mut two = first.windows(2);
    if !two.all(|two| two[0].index().abs_diff(two[1].index()) <= GAP) {
        return false;
    }
    let rows = first.iter().map(|&entity| world.locate(entity));
    let rows: SmallVec<[_; LOOK]> = rows.collect();
    rows.windows(2).all(|two| match (two[0], two[1]) {
        (Some((a, one)), Some((b, next))) => {
            a == b && one.chunk == next.chunk && one.row.abs_diff(next.row) <= GAP
        }
        _ => false,
    })
}

/// Asks ahead for what entities that change one by one would wait for.
struct Ahead {
    /// Whether it does, and for how many more before it looks again.
    asks: bool,
    left: u32,
}

impl Ahead {
    /// It has not looked yet.
    const fn new() -> Self {
        Self {
            asks: false,
            left: 0,
        }
    }

    /// Before each of these changes, with the entities from there on.
    #[inline(always)]
    fn look(&mut self, world: &World, entities: &[Entity]) {
        if self.left == 0 {
            self.begin(world, entities);
        }
        self.left -= 1;
        if self.asks {
            if let Some(&later) = entities.get(AHEAD) {
                world.finder().expect(later);
            }
            if let Some(&soon) = entities.get(ROWS_AHEAD) {
                world.expect_row_of(soon);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, world: &World, entities: &[Entity]) {
        const STRETCH: u32 = 512;
        self.left = STRETCH;
        self.asks = Scattered::lie_far(world, entities.len()) && !are_close(world, entities);
        if !self.asks {
            return;
        }
        let expect = |&entity: &Entity| world.finder().expect(entity);
        entities.iter().take(AHEAD).for_each(expect);
        let expect = |&entity: &Entity| world.expect_row_of(entity);
        entities.iter().take(ROWS_AHEAD).for_each(expect);
    }
}

/// How entities of a slice change.
pub(super) trait SliceChange {
    /// Whether neighbours can change together.
    const HAS_RUNS: bool;

    /// Changes a run, which begins at a position of the slice; how many entities that settles. `None` if it is refused,
    /// which each entity then is to be told.
    fn run(
        &mut self,
        world: &mut World,
        run: (u32, Rows),
        at: usize,
        report: &mut SliceReport,
    ) -> Option<usize>;

    /// Changes one entity, which stands at a position of the slice; whether anything has changed.
    fn one(&mut self, world: &mut World, entity: Entity, at: usize) -> Result<bool, WorldError>;
}

impl World {
    /// Changes each entity of a slice, neighbours together.
    #[inline]
    pub(super) fn change_slice(
        &mut self,
        entities: &[Entity],
        change: &mut impl SliceChange,
    ) -> SliceReport {
        let mut report = SliceReport::default();
        self.change_slice_noting(entities, change, &mut report);
        report
    }

    /// The same; what was done until a panic is noted.
    #[inline]
    fn change_slice_noting(
        &mut self,
        entities: &[Entity],
        change: &mut impl SliceChange,
        report: &mut SliceReport,
    ) {
        fn has_runs<C: SliceChange>(_: &C) -> bool {
            C::HAS_RUNS
        }
        let (mut neighbours, mut ahead) = (Neighbours::among(entities), Ahead::new());
        let mut at = 0;
        while at < entities.len() {
            let run = if has_runs(change) {
                neighbours.look(self, &entities[at..])
            } else {
                None
            };
            let done = run.and_then(|(archetype, rows)| {
                let done = change.run(self, (archetype, rows), at, report);
                if done.is_none() {
                    neighbours.pass(rows);
                }
                done
            });
            at += match done {
                Some(done) => done,
                None => {
                    ahead.look(self, &entities[at..]);
                    let result = change.one(self, entities[at], at);
                    report.note(at, result);
                    1
                }
            };
        }
    }

    /// Destroys each of `entities` that lives in this world, or is reserved; the others are reported by
    /// position: stale ones, those that stand there twice, those of other worlds.
    ///
    /// # Panics
    /// If a fragment's `drop` panics; all entities of the slice are gone then.
    pub fn destroy_slice(&mut self, entities: &[Entity]) -> SliceReport {
        if self.is_watched(DESTROYED) {
            let going = self.going(DESTROYED, entities, |_, _| Some(NOWHERE));
            return self.told(DESTROYED, going, |world| {
                world.destroy_all(entities, SliceReport::default(), None)
            });
        }
        if entities.len() < SHORTEST as usize {
            return self.destroy_few(entities);
        }
        self.destroy_all(entities, SliceReport::default(), None)
    }

    /// [`destroy_slice`](Self::destroy_slice) of so few that there is nothing to gather.
    #[inline]
    fn destroy_few(&mut self, entities: &[Entity]) -> SliceReport {
        entities
            .iter()
            .for_each(|&entity| self.finder().expect(entity));
        let (mut report, mut panicked) = (SliceReport::default(), None);
        for &entity in entities {
            if !self.destroy_unheard(entity, &mut panicked) {
                return self.destroy_all(entities, report, panicked);
            }
            report.done += 1;
        }
        resume(panicked);
        report
    }

    /// [`destroy_slice`](Self::destroy_slice) of those behind the ones that are done, whose drops panicked with this.
    fn destroy_all(
        &mut self,
        entities: &[Entity],
        mut report: SliceReport,
        mut panicked: Panicked,
    ) -> SliceReport {
        let mut neighbours = Neighbours::among(&entities[report.done..]);
        let mut scattered: Option<Scattered> = None;
        // Whether slots were asked for ahead, whether entities go one by one, and whether their rows are asked for, too.
        let (mut expected, mut thinly, mut far) = (false, false, false);
        let mut at = report.done;
        while at < entities.len() {
            if let Some((archetype, rows)) = neighbours.look(self, &entities[at..]) {
                match scattered.take() {
                    None => {
                        panicked = first(panicked, self.destroy_rows(archetype, rows));
                        report.done += rows.count as usize;
                        at += rows.count as usize;
                        continue;
                    }
                    Some(before) if rows.count >= before.worth_ending() => {
                        panicked = first(panicked, before.end(self));
                        // They may lie elsewhere now.
                        continue;
                    }
                    before => {
                        scattered = before;
                        neighbours.pass(rows);
                    }
                }
            }
            let rest = &entities[at..];
            if !expected {
                rest.iter()
                    .take(AHEAD)
                    .for_each(|&entity| self.finder().expect(entity));
                (expected, thinly) = (true, Scattered::is_too_few(self, rest.len()));
                far = thinly && Scattered::lie_far(self, rest.len());
                if far {
                    rest.iter()
                        .take(ROWS_AHEAD)
                        .for_each(|&entity| self.expect_row_of(entity));
                }
            }
            if let Some(&later) = rest.get(AHEAD) {
                self.finder().expect(later);
            }
            if thinly {
                if far && let Some(&soon) = rest.get(ROWS_AHEAD) {
                    self.expect_row_of(soon);
                }
                if self.destroy_unheard(rest[0], &mut panicked) {
                    report.done += 1;
                    at += 1;
                    continue;
                }
            }
            match self.find(rest[0]) {
                Ok(place) => {
                    scattered
                        .get_or_insert_with(|| Scattered::new(self, rest.len()))
                        .bury(self, rest[0], place);
                    report.done += 1;
                }
                Err(WorldError::NotBuilt { .. }) => {
                    let released = self.release(rest[0]);
                    report.note(at, released.map(|()| true));
                }
                Err(error) => report.refused.push((at, error)),
            }
            at += 1;
        }
        if let Some(scattered) = scattered {
            panicked = first(panicked, scattered.end(self));
        }
        resume(panicked);
        report
    }
}

impl SliceReport {
    /// Notes what became of a handle.
    #[inline]
    pub(crate) fn note(&mut self, position: usize, result: Result<bool, WorldError>) {
        match result {
            Ok(changed) => self.done += usize::from(changed),
            Err(error) => self.refused.push((position, error)),
        }
    }

    /// Notes the refusal of a handle, if there is one; the position that is next.
    pub(crate) fn refuse(&mut self, position: usize, refused: Option<WorldError>) -> usize {
        match refused {
            Some(error) => {
                self.refused.push((position, error));
                position + 1
            }
            None => position,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::FragmentError;

    #[test]
    fn a_run_that_is_refused_is_looked_along_once() {
        let mut world = World::new();
        let batch = world.create_batch((0..500_u32).map(|n| (n,))).unwrap();
        let ants: Vec<Entity> = batch.iter(&world).collect();
        let mut neighbours = Neighbours::among(&ants);
        let mut runs = Vec::new();
        for at in 0..ants.len() {
            if let Some((_, rows)) = neighbours.look(&world, &ants[at..]) {
                runs.push(rows.count);
                neighbours.pass(rows);
            }
        }
        assert_eq!(runs.iter().sum::<u32>(), 500, "{runs:?}");
    }

    #[test]
    fn each_entity_of_a_run_that_is_refused_is_refused_in_order() {
        let mut world = World::new();
        let first = world.create_batch((0..500_u32).map(|n| (n,))).unwrap();
        let then = world.create_batch((0..20).map(|_| ("bee",))).unwrap();
        let mut all: Vec<Entity> = first.iter(&world).chain(then.iter(&world)).collect();
        let stale = all[300];
        world.destroy(stale).unwrap();
        all.push(stale);
        let mut asked = 0;
        let added = world.add_slice(&all, |position| {
            assert_eq!(position, asked);
            asked += 1;
            (1_u8, 2_u8)
        });
        assert_eq!(asked, all.len());
        for report in [added, world.remove_slice::<(u8, u8)>(&all)] {
            assert_eq!(report.done, 0);
            for (at, (position, error)) in report.refused.iter().enumerate() {
                assert_eq!(*position, at);
                match all[at] == stale {
                    true => assert!(matches!(error, WorldError::Entity(_))),
                    false => assert!(matches!(
                        error,
                        WorldError::Fragment(FragmentError::Twice { .. })
                    )),
                }
            }
            assert_eq!(report.refused.len(), all.len());
        }
        // It goes on as ever.
        let good = [&all[..300], &all[301..520]].concat();
        assert_eq!(world.add_slice(&good, |_| (1_u8,)).done, 519);
        world.check().unwrap();
    }
}
