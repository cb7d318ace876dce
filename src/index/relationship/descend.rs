//! `par_descend`: down all trees at once, on all threads, each part with what came of the one that it names.
//!
//! A walk goes level by level: first the roots, then all that name a root, then all that name these. A level is cut into
//! pieces of as many rows each, wherever they hang, so that one tree of a million parts is shared out as well as a million
//! trees; what is made of an entity waits, by value, until those that name it have seen it.
//!
//! Must hold, for rows are lent to several threads by handles: **no entity is lent twice**. The index is a function from a
//! source to its target, and a source stands once in one list, that of its target ([`Lists`](crate::index::lists::Lists)),
//! and so:
//! - Roots are targets, each of which is told once, and which name nobody.
//! - Whoever is lent later stands in the list of one that was lent a level before, and which is somebody: it names somebody,
//!   so it is no root.
//! - By induction no entity is met twice. The first that was would stand in the lists of two that were lent, which are two
//!   targets of one source, or twice in one, or in that of one that was met twice before it.
//!
//! Two entities never have one row, whatever the index was told of them and in whatever world: a handle that is not of a
//! living entity of the run's world is refused before its row is looked at. Nobody moves rows meanwhile, as the run is
//! borrowed to write. A circle has no entity that names nobody, so no walk comes to it.

use core::ops::Deref;

use crate::entity::Entity;
use crate::index::relationship::sources::Sources;
use crate::index::relationship::{Relationship, RelationshipIndex};
use crate::panics::{after, end_all, resume_alone};
use crate::query::{QueryData, QueryFilter, QueryRun};
use crate::workers::fork_join;

/// Rows in a task of a thread: some microseconds, where they lie all over the memory.
const TOGETHER: usize = 256;

impl<R: Relationship> RelationshipIndex<R> {
    /// Goes down all trees from their [roots](Self::roots), on all threads of the current rayon pool: `root` makes a value of
    /// each root's row, and `each` one of each row below and the value of the one that it names. How many rows were lent.
    ///
    /// So a part follows what it sits on: the pose of that one comes to it as a value, and nobody has two rows at once. A
    /// value may be what was lent of the row, too, or hold it. It is made before those that name the entity see it, and
    /// dropped when all of them have, or at once if nobody names the entity. For the rest rows are lent in any order, on any
    /// thread; what comes of it is the same for any number of threads, if each row is made of itself and of the value alone.
    ///
    /// Who is dead, lives in another world, or is not seen by the run, is passed by together with all below it: there is no
    /// value for them. So are entities in a circle and what names these, which are below no root. Who names nobody and is
    /// named by nobody is no root either. The index says who names whom as it was when it was updated last.
    ///
    /// O(rows + slots of targets), of which the roots are looked for, and pieces of a level cut and joined, on one thread; and
    /// for each stretch of rows in another chunk a search among the archetypes that match, as in
    /// [`get_mut`](QueryRun::get_mut). Lists of a level are kept: a value and two
    /// words for each entity of it that somebody names. A level of fewer than some hundred rows is done on one thread. A
    /// [filter of chunks](QueryRun::filter_chunks) is asked once for each stretch of rows that lies side by side, as for
    /// [`for_each_in`](QueryRun::for_each_in): its answer is not to depend on what the walk itself writes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct At(f32);
    /// /// Where it is seen from its parent.
    /// struct Fixed(f32, Entity);
    ///
    /// impl Relationship for Fixed {
    ///     fn target(&self) -> Entity {
    ///         self.1
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let tank = world.create((At(10.0),))?;
    /// let tower = world.create((At(0.0), Fixed(0.5, tank)))?;
    /// let gun = world.create((At(0.0), Fixed(0.25, tower)))?;
    /// let mut parts = RelationshipIndex::<Fixed>::new(&world)?;
    /// parts.update(&world);
    ///
    /// let mut places = Query::<(&mut At, Option<&Fixed>)>::new(&world)?;
    /// let placed = parts.par_descend(
    ///     &mut places.on(&mut world),
    ///     |(at, _)| at.0,
    ///     |there, (at, fixed)| {
    ///         at.0 = there + fixed.map_or(0.0, |fixed| fixed.0);
    ///         at.0
    ///     },
    /// );
    /// assert_eq!((placed, world.get::<At>(gun)?.0), (3, 10.75));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In a processor:
    ///
    /// ```
    /// # use megachunk::prelude::*;
    /// # struct At(f32);
    /// # struct Fixed(f32, Entity);
    /// # impl Relationship for Fixed {
    /// #     fn target(&self) -> Entity {
    /// #         self.1
    /// #     }
    /// # }
    /// type Parts = RelationshipIndex<Fixed>;
    ///
    /// processor("place", |parts: &Parts, mut places: QueryRun<(&mut At, Option<&Fixed>)>| {
    ///     parts.par_descend(&mut places, |(at, _)| at.0, |there, (at, fixed)| {
    ///         at.0 = there + fixed.map_or(0.0, |fixed| fixed.0);
    ///         at.0
    ///     });
    /// });
    /// ```
    ///
    /// # Panics
    /// If `root`, `each` or the `drop` of a value does: when the others have done what they had begun. What is below was not
    /// lent then, and all values are dropped.
    ///
    /// Source: Unity DOTS' `LocalToWorldSystem`, which goes down from the roots in parallel, and bevy's
    /// `propagate_transforms`.
    #[doc(alias = "propagate")]
    #[doc(alias = "transform")]
    pub fn par_descend<'a, D: QueryData, F: QueryFilter, T: Send + Sync>(
        &self,
        run: &'a mut QueryRun<'_, D, F>,
        root: impl Fn(D::Item<'a>) -> T + Sync,
        each: impl Fn(&T, D::Item<'a>) -> T + Sync,
    ) -> usize {
        let run = &*run;
        let sources = &self.index.sources;
        let roots: Vec<Entity> = self.roots().collect();
        let lend = |run: &'a QueryRun<'_, D, F>| {
            let mut lender = run.lender();
            // SAFETY: each entity is lent once: see above.
            move |entity| unsafe { lender.lend_of(entity) }
        };
        let mut level = Level::join(fork_join::map(roots.chunks(TOGETHER).collect(), |roots| {
            let (mut below, mut lend) = (Level::new(), lend(run));
            for &entity in roots {
                if let Some(item) = lend(entity) {
                    below.add(sources, entity, root(item));
                }
            }
            below
        }));
        while !level.is_empty() {
            let below = fork_join::map(level.pieces(), |piece: Piece| {
                let (mut below, mut lend) = (Level::new(), lend(run));
                piece.walk(&level, |value, entity| {
                    if let Some(item) = lend(entity) {
                        below.add(sources, entity, each(value, item));
                    }
                });
                below
            });
            level = Level::join(below).after(level);
        }
        after((root, each), level.lent)
    }
}

/// Those of a level whom somebody names: who these are, and what was made of the one that they name.
struct Level<'i, T> {
    named: Vec<(&'i [Entity], T)>,
    /// Rows that were lent, in all levels so far.
    lent: usize,
}

impl<'i, T> Level<'i, T> {
    fn new() -> Self {
        Self {
            named: Vec::new(),
            lent: 0,
        }
    }

    /// An entity's row was lent, and this came of it.
    fn add(&mut self, sources: &'i Sources, entity: Entity, value: T) {
        self.lent += 1;
        let below = sources.of(entity);
        if !below.is_empty() {
            self.named.push((below, value));
        }
    }

    /// The parts of a level, in order, as one.
    fn join(mut parts: Vec<Self>) -> Self {
        let mut all = parts.pop().unwrap_or_else(Self::new);
        if !parts.is_empty() {
            let last = core::mem::take(&mut all.named);
            let count: usize = parts.iter().map(|part| part.named.len()).sum();
            all.named.reserve_exact(count + last.len());
            for part in &mut parts {
                all.named.append(&mut part.named);
                all.lent += part.lent;
            }
            all.named.extend(last);
        }
        all
    }

    /// The level below one that ends here.
    fn after(mut self, above: Self) -> Self {
        self.lent += above.lent;
        drop(above);
        self
    }

    /// All that name somebody of the level, in pieces.
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        // How many the piece under way has.
        let mut count = TOGETHER;
        for (first, (below, _)) in self.named.iter().enumerate() {
            let mut skip = 0;
            while skip < below.len() {
                if count == TOGETHER {
                    pieces.push(Piece { first, skip });
                    count = 0;
                }
                let some = (below.len() - skip).min(TOGETHER - count);
                skip += some;
                count += some;
            }
        }
        pieces
    }
}

impl<'i, T> Deref for Level<'i, T> {
    type Target = [(&'i [Entity], T)];

    fn deref(&self) -> &Self::Target {
        &self.named
    }
}

impl<T> Drop for Level<'_, T> {
    fn drop(&mut self) {
        if core::mem::needs_drop::<T>() {
            let mut panicked = None;
            end_all(&mut panicked, core::mem::take(&mut self.named));
            resume_alone(panicked);
        }
    }
}

/// Where a piece of a level begins, of [`TOGETHER`] that name somebody of it, or as many as are left.
struct Piece {
    /// The first that is named.
    first: usize,
    /// So many that name it are not of this piece.
    skip: usize,
}

impl Piece {
    /// Each of the piece, with the value of the one that it names.
    fn walk<T>(self, level: &[(&[Entity], T)], mut each: impl FnMut(&T, Entity)) {
        let (mut skip, mut left) = (self.skip, TOGETHER);
        for (below, value) in &level[self.first..] {
            let below = &below[skip..];
            let below = &below[..below.len().min(left)];
            for &entity in below {
                each(value, entity);
            }
            left -= below.len();
            if left == 0 {
                break;
            }
            skip = 0;
        }
    }
}
