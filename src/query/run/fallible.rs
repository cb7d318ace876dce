//! Runs on several threads of what may fail.

use core::ops::Range;

use crate::fragment::Lone;
use crate::query::masks::any_masked;
use crate::query::run::visit::{lend_rows, lend_stretches};
use crate::query::{ChunkView, QueryData, QueryFilter, QueryRun};
use crate::sync::Mutex;

/// The error of the chunk that comes first among those that had one. Errors are users', and what their `drop`s panic with
/// is borne once: so each is a [`Lone`].
struct FirstError<E>(Mutex<Option<(u64, Lone<E>)>>);

impl<E> FirstError<E> {
    fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes what a chunk has ended with.
    #[inline]
    fn note(&self, chunk: ChunkView<'_>, result: Result<(), Lone<E>>) {
        if let Err(error) = result {
            self.keep(chunk.sort_key(), error);
        }
    }

    #[cold]
    fn keep(&self, key: u64, error: Lone<E>) {
        let mut first = self.0.lock();
        let comes_first = first.as_ref().is_none_or(|(known, _)| key < *known);
        let other = match comes_first {
            true => first.replace((key, error)).map(|(_, other)| other),
            false => Some(error),
        };
        drop(first);
        // Users' code, which may take its time, or panic.
        drop(other);
    }

    fn into_result(self) -> Result<(), E> {
        match self.0.lock().take() {
            Some((_, error)) => Err(error.into_inner()),
            None => Ok(()),
        }
    }
}

impl<D: QueryData, F: QueryFilter> QueryRun<'_, D, F> {
    /// Lends the data of each entity, as [`par_for_each`](Self::par_for_each) does, to what may fail: for `?` in a loop
    /// on several threads. Threads take whole chunks.
    ///
    /// A chunk's entities come in the order of their rows, and no more after the first error among them; all other chunks
    /// are walked whatever becomes of one. So what is done, and which error comes back, is the same for any number of
    /// threads: that of the chunk that is [first in the order of a walk](ChunkView::sort_key). The others are dropped. (On
    /// one thread, and to end all of it at the first error, there is the loop `for item in &mut run`.)
    ///
    /// # Errors
    /// The first of `each`.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..1_000_u32).map(|n| (n,)))?;
    /// let mut numbers = Query::<&mut u32>::new(&world)?;
    /// let result = numbers.on(&mut world).par_try_for_each(|number| {
    ///     *number = number.checked_sub(300).ok_or(*number)?;
    ///     Ok(())
    /// });
    /// assert_eq!(result, Err(0_u32), "the first");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn par_try_for_each<'a, E: Send>(
        &'a mut self,
        each: impl Fn(D::Item<'a>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.par_try_for_each_init(|_| (), |(), item| each(item))
    }

    /// Lends the data of each entity, with something that `init` makes for each chunk, as
    /// [`par_for_each_init`](Self::par_for_each_init) does, to what may fail: see
    /// [`par_try_for_each`](Self::par_try_for_each).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Far;
    ///
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor(
    ///     "level of detail",
    ///     |mut all: QueryRun<(Entity, &f32), Without<Far>>, commands: ParallelCommands| {
    ///         all.par_try_for_each_init(
    ///             |chunk| commands.open_at(chunk.sort_key()),
    ///             |commands, (entity, distance)| match *distance > 100.0 {
    ///                 true => commands.add(entity, (Far,)),
    ///                 false => Ok(()),
    ///             },
    ///         )
    ///     },
    /// ));
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..1_000).map(|n| (n as f32,)))?;
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.query::<Entity, With<Far>>()?.count(), 899);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each_init<'a, T, E: Send>(
        &'a mut self,
        init: impl Fn(ChunkView<'a>) -> T + Sync,
        each: impl Fn(&mut T, D::Item<'a>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let first = FirstError::new();
        self.par_chunks(|known, view| {
            let (masks, rows) = (known.masks(), 0..view.len());
            if !any_masked(masks, view.chunk, rows.clone()) {
                return;
            }
            let mut made = init(view);
            let mut result = Ok(());
            let fetch = D::fetch(known.data, view);
            lend_rows::<D>(masks, fetch, view.chunk, rows, &mut |item| {
                if result.is_ok() {
                    result = each(&mut made, item).map_err(Lone::new);
                }
            });
            first.note(view, result);
        });
        first.into_result()
    }

    /// Lends the data of each chunk as slices, as [`par_for_each_chunk`](Self::par_for_each_chunk) does, to what may fail:
    /// see [`par_try_for_each`](Self::par_try_for_each).
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each_chunk<'a, E: Send>(
        &'a mut self,
        each: impl Fn(ChunkView<'a>, D::Slices<'a>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let first = FirstError::new();
        self.par_for_each_chunk(|view, slices| {
            first.note(view, each(view, slices).map_err(Lone::new));
        });
        first.into_result()
    }

    /// Lends slices as [`par_for_each_slice`](Self::par_for_each_slice) does, to what may fail: see
    /// [`par_try_for_each`](Self::par_try_for_each). Of a chunk no more come after the first error.
    ///
    /// # Errors
    /// The first of `each`.
    pub fn par_try_for_each_slice<'a, E: Send>(
        &'a mut self,
        each: impl Fn(ChunkView<'a>, Range<usize>, D::Slices<'a>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let first = FirstError::new();
        self.par_chunks(|known, view| {
            let mut result = Ok(());
            lend_stretches(known, view, &mut |view, rows, slices| {
                if result.is_ok() {
                    result = each(view, rows, slices).map_err(Lone::new);
                }
            });
            first.note(view, result);
        });
        first.into_result()
    }
}
