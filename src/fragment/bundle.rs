//! `Bundle`: the fragments of one entity, as a tuple.

use core::any::{Any, TypeId, type_name};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::panic::UnwindSafe;

use crate::fragment::{
    ConstShared, Fragment, FragmentError, FragmentId, FragmentInfo, FragmentRegistry, PerChunk,
    Shared, SharedFragment, Value,
};
use crate::memory::{self, LINE};
use crate::panics::note;
use sealed::Sealed;

/// What a bundle says of its values, worlds rely on.
mod sealed {
    pub trait Sealed {}
}

/// Fragments and tags that are put into an entity together: a tuple of up to 16 values.
///
/// A single fragment is the tuple `(fragment,)`. The order does not matter. No type may stand there
/// twice: the call that takes the bundle says so. [`Shared<T>`], [`ConstShared<T>`] and [`PerChunk<T>`] are bundles, too, of which
/// there is no value: by them what entities share, and what chunks begin with, is taken away, alone (`remove::<Shared<T>>`).
///
/// Two bundles are joined by [`and`](Self::and). A tuple in a tuple would be one fragment of its own type, not more of the
/// bundle, and is [refused](FragmentError::TupleNamed) unless you have registered that type as one; so are
/// [references](FragmentError::ReferenceNamed), but for `&'static str`:
///
/// ```
/// use megachunk::fragment::FragmentError;
/// use megachunk::prelude::*;
///
/// fn player() -> impl Bundle {
///     (10_u8, "player")
/// }
///
/// let mut world = World::new();
/// let nested = world.create((player(), 1.5_f32)); // `player().and((1.5_f32,))`
/// assert!(matches!(nested, Err(WorldError::Fragment(FragmentError::TupleNamed { .. }))));
///
/// // Pairs that are meant as such.
/// world.registry().register::<(u8, u8)>()?;
/// let pair = world.create(((1_u8, 2_u8), 1.5_f32))?;
/// assert_eq!(world.get::<(u8, u8)>(pair)?, &(1, 2));
/// # Ok::<(), WorldError>(())
/// ```
///
/// Bundles with [shared values](Self::shared) and the like cannot stand in a tuple at all:
///
/// ```compile_fail,E0277
/// # use megachunk::prelude::*;
/// # let mut world = World::new();
/// let sentry = (1.0_f32,).shared(String::from("red"));
/// let _ = world.create((2_u8, sentry)); // `(2_u8,).and(sentry)`
/// ```
///
/// A call that is refused, or in which the `hash` or `eq` of a shared value panics, drops the values of its bundle one by
/// one: if several of these drops panic, the first panic goes on. A bundle that nobody has given to a call is a tuple as
/// others are, of which a second panic ends the program; and so does a `drop` that panics because the `clone` of a
/// [chunk fragment](Self::per_chunk) has, with which a chunk was to begin that an entity comes to by an `add`, a `set` or a
/// `swap` of [`World`](crate::world::World).
///
/// Sealed: there are no others. What is known at run time only is a [`DynamicBundle`](crate::fragment::DynamicBundle).
///
/// # Safety
/// `ids` gives one fragment for each value, in order, with the layout of that value; `write` writes
/// exactly those, each to its column, drops none and does not panic. `MOVES`, if it is there, moves exactly those, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bundle of fragments",
    note = "a bundle is a tuple of 1 to 16 fragments; a single one is `(fragment,)`, more are joined: `(…).and((…))`",
    note = "a struct is one fragment, whatever its fields: a function gives a bundle a name, `fn player() -> impl Bundle`, \
            which is joined with more by `player().and((…))`"
)]
pub unsafe trait Bundle: Sealed + Send + Sized + 'static {
    /// How many values it holds that lie in columns: those come first in `ids`.
    const LEN: usize;
    /// Whether it also holds values for chunks or shared ones, for [`take_values`](Self::take_values).
    const HAS_VALUES: bool = false;

    /// The fragments in the order of the tuple, appended to `ids`.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    fn ids(registry: &FragmentRegistry, ids: &mut Vec<FragmentId>) -> Result<(), FragmentError>;

    /// Moves the values to row `row` of the columns, which stand in the order of the tuple.
    ///
    /// # Safety
    /// `columns` points to [`LEN`](Self::LEN) columns of the right types; each has a row `row`, which
    /// holds no value.
    unsafe fn write(self, columns: *const *mut u8, row: usize);

    /// What moves a row of the values that lie in columns, compiled for their types, if the bundle has it.
    #[doc(hidden)]
    const MOVES: Option<RowMoves> = None;

    /// Moves the values out that do not lie in columns.
    ///
    /// ```compile_fail,E0133
    /// # use megachunk::prelude::*;
    /// # let world = World::new();
    /// let mut bundle = (1_u8,).shared(String::from("red"));
    /// bundle.take_values(world.registry(), &mut |_, value| drop(value))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    ///
    /// # Safety
    /// Called once, before [`write`](Self::write), by who puts the bundle into an entity: without
    /// these values it is not what [`ids`](Self::ids) says.
    unsafe fn take_values(
        &mut self,
        registry: &FragmentRegistry,
        sink: &mut dyn FnMut(&FragmentInfo, Value),
    ) -> Result<(), FragmentError> {
        let _ = (registry, sink);
        Ok(())
    }

    /// Drops each value by itself, however many panic; keeps the first panic.
    #[doc(hidden)]
    fn end_each(self, panicked: &mut Option<Box<dyn Any + Send>>) {
        note(panicked, || drop(self));
    }

    /// This bundle and another, as one: 16 values at most that lie in columns; more do not compile.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Health(u32);
    /// struct Name(&'static str);
    /// struct Wings(u8);
    ///
    /// fn animal(name: &'static str) -> impl Bundle {
    ///     (Health(10), Name(name))
    /// }
    ///
    /// let mut world = World::new();
    /// let bee = world.create(animal("bee").and((Wings(4),)))?;
    /// assert!(world.has::<Health>(bee)? && world.has::<Wings>(bee)?);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// No type may stand in both, as none may stand twice in one:
    ///
    /// ```
    /// use megachunk::fragment::FragmentError;
    /// use megachunk::prelude::*;
    ///
    /// let twice = World::new().create((1_u8,).and((2_u8,)));
    /// assert!(matches!(twice, Err(WorldError::Fragment(FragmentError::Twice { .. }))));
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # use megachunk::prelude::*;
    /// let ten = (1_u8, 2_u16, 3_u32, 4_u64, 5_u128, 6_i8, 7_i16, 8_i32, 9_i64, 10_i128);
    /// let seven = ('a', "b", 1.0_f32, 2.0_f64, true, 1_usize, 1_isize);
    /// let _ = World::new().create(ten.and(seven));
    /// ```
    fn and<B: Bundle>(self, other: B) -> Joined<Self, B> {
        Joined(self, other, BundleIsNoFragment::default())
    }

    /// The bundle and a shared value: the entity will lie among those that have an equal one, in
    /// chunks of their own, of 16 KiB or more for each value: see [`SharedFragment`].
    /// `remove::<Shared<T>>` takes it away, alone; `remove::<WithShared<(A, B), T>>` together with others.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(PartialEq, Eq, Hash, Debug)]
    /// struct Team(u8);
    /// let mut world = World::new();
    /// let ant = world.create((1.0_f32,).shared(Team(3)))?;
    /// assert_eq!(world.shared::<Team>(ant)?, &Team(3));
    /// # Ok::<(), WorldError>(())
    /// ```
    fn shared<T: SharedFragment>(self, value: T) -> WithShared<Self, T> {
        WithShared {
            bundle: self,
            value: Some(value),
            _no_fragment: BundleIsNoFragment::default(),
        }
    }

    /// The bundle and a shared value that cannot be changed.
    /// `remove::<ConstShared<T>>` takes it away, alone; `remove::<WithConstShared<(A, B), T>>` together with others. Then the
    /// entity can get another.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let ant = world.create((1.0_f32,).const_shared("worker"))?;
    /// assert!(world.add(ant, ().const_shared("queen")).is_err());
    /// assert!(world.remove::<ConstShared<&str>>(ant)?);
    /// world.add(ant, ().const_shared("queen"))?;
    /// assert_eq!(world.const_shared::<&str>(ant)?, &"queen");
    /// # Ok::<(), WorldError>(())
    /// ```
    fn const_shared<T: SharedFragment>(self, value: T) -> WithConstShared<Self, T> {
        WithConstShared {
            bundle: self,
            value: Some(value),
            _no_fragment: BundleIsNoFragment::default(),
        }
    }

    /// The bundle and a chunk fragment. `template` is what chunks of the entity's archetype begin
    /// with, if this call makes the archetype: an archetype keeps its template. One that is made by
    /// other calls takes that of the archetype that the entity comes from, or the one that was
    /// given last. A flush makes all recorded changes together: archetypes that are new with them
    /// begin with what the last of these changes brought.
    ///
    /// Entities that come to another composition, or to other shared values, take the chunk fragments of the chunks
    /// that they come to, one or all of a chunk alike; new chunks begin with the template, which
    /// [can be changed](crate::world::World::set_chunk_rule). Only to another world a
    /// whole chunk takes its own along. [`World::compact`](crate::world::World::compact) keeps them. What is to hold whatever brings a composition, and from wherever, is a
    /// [rule](crate::world::World::set_chunk_rule), which comes before all that is said here.
    ///
    /// `remove::<PerChunk<T>>` takes it away from an entity, alone; `remove::<WithPerChunk<(A, B), T>>` together with others.
    fn per_chunk<T: Fragment + Clone>(self, template: T) -> WithPerChunk<Self, T> {
        WithPerChunk {
            bundle: self,
            value: Some(template),
            _no_fragment: BundleIsNoFragment::default(),
        }
    }
}

/// In a bundle that is not a tuple: not `Sync`, as fragments are. So a tuple with such a bundle in it, which would have it
/// as one fragment, does not compile.
#[derive(Debug, Default)]
struct BundleIsNoFragment(PhantomData<dyn BundlesAreJoinedByAnd>);

/// The compiler names this where somebody has a bundle as a fragment of another: see [`BundleIsNoFragment`].
trait BundlesAreJoinedByAnd: Send + Unpin + UnwindSafe {}

/// A bundle with a shared value: see [`Bundle::shared`].
#[derive(Debug)]
pub struct WithShared<B, T> {
    bundle: B,
    value: Option<T>,
    _no_fragment: BundleIsNoFragment,
}

/// A bundle with a const shared value: see [`Bundle::const_shared`].
#[derive(Debug)]
pub struct WithConstShared<B, T> {
    bundle: B,
    value: Option<T>,
    _no_fragment: BundleIsNoFragment,
}

/// A bundle with a chunk fragment: see [`Bundle::per_chunk`].
#[derive(Debug)]
pub struct WithPerChunk<B, T> {
    bundle: B,
    value: Option<T>,
    _no_fragment: BundleIsNoFragment,
}

// The three differ in nothing but how their value is registered.
macro_rules! with_value {
    ($with:ident, $bound:path, $role:ident) => {
        impl<B: Bundle, T: $bound> Sealed for $with<B, T> where T: Fragment {}

        // SAFETY: the inner bundle's `ids` come first, and `write` is its own; the value is moved out by
        // `take_values` or dropped with `self`.
        unsafe impl<B: Bundle, T: $bound> Bundle for $with<B, T>
        where
            T: Fragment,
        {
            const LEN: usize = B::LEN;
            const HAS_VALUES: bool = true;
            const MOVES: Option<RowMoves> = B::MOVES;

            fn ids(
                registry: &FragmentRegistry,
                ids: &mut Vec<FragmentId>,
            ) -> Result<(), FragmentError> {
                B::ids(registry, ids)?;
                ids.push(registry.register::<$role<T>>()?.id());
                Ok(())
            }

            unsafe fn write(self, columns: *const *mut u8, row: usize) {
                // SAFETY: the caller's.
                unsafe { self.bundle.write(columns, row) };
            }

            unsafe fn take_values(
                &mut self,
                registry: &FragmentRegistry,
                sink: &mut dyn FnMut(&FragmentInfo, Value),
            ) -> Result<(), FragmentError> {
                // SAFETY: the caller's.
                unsafe { self.bundle.take_values(registry, sink)? };
                let info = registry.register::<$role<T>>()?;
                if let Some(value) = self.value.take() {
                    let value = core::mem::ManuallyDrop::new(value);
                    // SAFETY: a value of this fragment, which is not used or dropped again.
                    sink(info, unsafe {
                        Value::take(info, (&raw const value).cast())
                    });
                }
                Ok(())
            }

            fn end_each(self, panicked: &mut Option<Box<dyn Any + Send>>) {
                self.bundle.end_each(panicked);
                note(panicked, || drop(self.value));
            }
        }
    };
}

with_value!(WithShared, SharedFragment, Shared);
with_value!(WithConstShared, SharedFragment, ConstShared);
with_value!(WithPerChunk, Clone, PerChunk);

// What has no value is only named where something is taken away.
macro_rules! named_alone {
    ($role:ident, $bound:path) => {
        impl<T: $bound> Sealed for $role<T> where T: Fragment {}

        // SAFETY: `ids` gives one fragment, which lies in no column; nobody can call the others, as there is no value.
        unsafe impl<T: $bound> Bundle for $role<T>
        where
            T: Fragment,
        {
            const LEN: usize = 0;
            const HAS_VALUES: bool = true;

            fn ids(
                registry: &FragmentRegistry,
                ids: &mut Vec<FragmentId>,
            ) -> Result<(), FragmentError> {
                ids.push(registry.register::<Self>()?.id());
                Ok(())
            }

            unsafe fn write(self, _: *const *mut u8, _: usize) {
                self.never()
            }

            unsafe fn take_values(
                &mut self,
                _: &FragmentRegistry,
                _: &mut dyn FnMut(&FragmentInfo, Value),
            ) -> Result<(), FragmentError> {
                self.never()
            }
        }
    };
}

named_alone!(Shared, SharedFragment);
named_alone!(ConstShared, SharedFragment);
named_alone!(PerChunk, Clone);

/// Two bundles as one: see [`Bundle::and`].
#[derive(Debug)]
pub struct Joined<A, B>(A, B, BundleIsNoFragment);

impl<A: Bundle, B: Bundle> Sealed for Joined<A, B> {}

// SAFETY: the first's columns come first, and then the second's, in `ids` as in `write`, each with
// what its own `ids` says; the values that lie in none follow, and are moved out in that order by
// `take_values`. It has no moves of its own, which nothing needs.
unsafe impl<A: Bundle, B: Bundle> Bundle for Joined<A, B> {
    const LEN: usize = {
        assert!(A::LEN + B::LEN <= COLUMNS, "{}", NO_COLUMN_LEFT);
        A::LEN + B::LEN
    };
    const HAS_VALUES: bool = A::HAS_VALUES || B::HAS_VALUES;

    fn ids(registry: &FragmentRegistry, ids: &mut Vec<FragmentId>) -> Result<(), FragmentError> {
        let first = ids.len();
        A::ids(registry, ids)?;
        let values = first + A::LEN..ids.len();
        B::ids(registry, ids)?;
        // What lies in columns comes first, of both.
        let columns = values.end + B::LEN;
        ids[values.start..columns].rotate_left(values.len());
        Ok(())
    }

    #[inline(always)]
    unsafe fn write(self, columns: *const *mut u8, row: usize) {
        // SAFETY: the caller's: the columns of the first, and behind them those of the second.
        unsafe {
            self.0.write(columns, row);
            self.1.write(columns.add(A::LEN), row);
        }
    }

    unsafe fn take_values(
        &mut self,
        registry: &FragmentRegistry,
        sink: &mut dyn FnMut(&FragmentInfo, Value),
    ) -> Result<(), FragmentError> {
        // SAFETY: the caller's.
        unsafe {
            self.0.take_values(registry, sink)?;
            self.1.take_values(registry, sink)
        }
    }

    fn end_each(self, panicked: &mut Option<Box<dyn Any + Send>>) {
        self.0.end_each(panicked);
        self.1.end_each(panicked);
    }
}

/// Values of a bundle that lie in columns, at most.
pub(crate) const COLUMNS: usize = 16;
/// What the compiler says of one with more.
pub(crate) const NO_COLUMN_LEFT: &str =
    "a bundle has 16 values at most that lie in columns: `add` the rest";

/// So many bytes ahead of a value the processor is asked for the lines that later ones will fill: entities are mostly
/// created row after row, and its own prefetcher stops at each page.
const AHEAD: usize = 4096;
/// The sizes of the values for which that is worth an instruction a line: smaller ones share their lines with many, and
/// of larger ones a copy waits for less.
const WORTH_ASKING: core::ops::RangeInclusive<usize> = 16..=1024;

/// Moves a value to row `row` of column `at`.
///
/// # Safety
/// As for [`Bundle::write`]. The column of a value of size zero need not be aligned to its type.
#[inline(always)]
unsafe fn write_value<T>(columns: *const *mut u8, at: usize, row: usize, value: T) {
    let size = size_of::<T>();
    if size == 0 {
        // Nothing to move. If it must be dropped, it is when its row ends.
        core::mem::forget(value);
    } else {
        // SAFETY: the caller's.
        let to = unsafe { (*columns.add(at)).cast::<T>().add(row) };
        if WORTH_ASKING.contains(&size) {
            for line in (0..size).step_by(LINE) {
                memory::prefetch(to.cast::<u8>().wrapping_add(AHEAD + line));
            }
        }
        // SAFETY: the caller's.
        unsafe { to.write(value) };
    }
}

/// What moves a row of values, compiled for their types. Each array begins at its offset, in the order of the bundle,
/// which counts `scale` times, behind `base`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RowMoves {
    /// To another row, whose values are gone: offsets, base, scale, from, to. Asks the processor for a last row.
    pub(crate) close: unsafe fn(*const u32, *mut u8, usize, usize, usize, usize),
    /// To an empty row of other arrays: an offset here and one there for each value, scales, base and row here, base
    /// and row there.
    pub(crate) carry: unsafe fn(*const u32, (u8, u8), *mut u8, usize, *mut u8, usize),
}

/// Where an array begins.
///
/// # Safety
/// There are so many offsets.
#[inline(always)]
unsafe fn array_at(offsets: *const u32, at: usize, base: *mut u8, scale: usize) -> *mut u8 {
    // SAFETY: the caller's.
    let offset = unsafe { *offsets.add(at) };
    base.wrapping_add(offset as usize * scale)
}

/// Moves a value from a row to another. What has no size need not move, and its array may be anywhere.
///
/// # Safety
/// The arrays have these rows, with a value and without one.
#[inline(always)]
unsafe fn move_value<T>(from: *mut u8, row: usize, to: *mut u8, there: usize) {
    if size_of::<T>() > 0 {
        let (from, to) = (from.cast::<MaybeUninit<T>>(), to.cast::<MaybeUninit<T>>());
        // SAFETY: the caller's.
        unsafe { from.add(row).copy_to_nonoverlapping(to.add(there), 1) };
    }
}

/// A tuple or a reference where a fragment is named is hardly ever what was meant. Asked when nobody has registered the
/// type before.
pub(crate) fn refuse_type<T: 'static>() -> Result<(), FragmentError> {
    let of = TypeId::of::<T>();
    if of == TypeId::of::<()>() || of == TypeId::of::<&'static str>() {
        return Ok(());
    }
    let name = type_name::<T>();
    match name.as_bytes() {
        [b'(', ..] => Err(FragmentError::TupleNamed { name: name.into() }),
        [b'&', ..] => Err(FragmentError::ReferenceNamed { name: name.into() }),
        _ => Ok(()),
    }
}

macro_rules! bundle {
    ($count:literal: $($type:ident $at:tt),*) => {
        impl<$($type: Fragment),*> Sealed for ($($type,)*) {}

        // SAFETY: `ids` and `write` go through the same types in the same order.
        unsafe impl<$($type: Fragment),*> Bundle for ($($type,)*) {
            const LEN: usize = $count;
            const MOVES: Option<RowMoves> = {
                unsafe fn close<$($type),*>(
                    offsets: *const u32,
                    base: *mut u8,
                    scale: usize,
                    from: usize,
                    hole: usize,
                    next: usize,
                ) {
                    let _ = (offsets, base, scale, from, hole, next);
                    // SAFETY: the caller's: that many arrays, of these types, with such rows.
                    $(unsafe {
                        let array = array_at(offsets, $at, base, scale);
                        memory::prefetch(array.cast::<$type>().wrapping_add(next));
                        move_value::<$type>(array, from, array, hole);
                    })*
                }

                unsafe fn carry<$($type),*>(
                    offsets: *const u32,
                    scales: (u8, u8),
                    base: *mut u8,
                    row: usize,
                    base_there: *mut u8,
                    there: usize,
                ) {
                    let (scale, scale_there) = (usize::from(scales.0), usize::from(scales.1));
                    let _ = (offsets, base, scale, row, base_there, scale_there, there);
                    // SAFETY: the caller's: that many arrays here and there, of these types, with such rows.
                    $(unsafe {
                        let from = array_at(offsets, 2 * $at, base, scale);
                        let to = array_at(offsets, 2 * $at + 1, base_there, scale_there);
                        move_value::<$type>(from, row, to, there);
                    })*
                }

                Some(RowMoves {
                    close: close::<$($type),*>,
                    carry: carry::<$($type),*>,
                })
            };

            fn ids(
                registry: &FragmentRegistry,
                ids: &mut Vec<FragmentId>,
            ) -> Result<(), FragmentError> {
                $(ids.push(registry.register_met::<$type>()?.id());)*
                let _ = (registry, ids);
                Ok(())
            }

            #[inline(always)]
            unsafe fn write(self, columns: *const *mut u8, row: usize) {
                // SAFETY: the caller's: that many columns, of these types, with such a row.
                $(unsafe { write_value(columns, $at, row, self.$at) };)*
                let _ = (columns, row);
            }

            fn end_each(self, panicked: &mut Option<Box<dyn Any + Send>>) {
                $(if const { core::mem::needs_drop::<$type>() } {
                    note(panicked, || drop(self.$at));
                })*
                let _ = panicked;
            }
        }
    };
}

bundle!(0:);
bundle!(1: A 0);
bundle!(2: A 0, B 1);
bundle!(3: A 0, B 1, C 2);
bundle!(4: A 0, B 1, C 2, D 3);
bundle!(5: A 0, B 1, C 2, D 3, E 4);
bundle!(6: A 0, B 1, C 2, D 3, E 4, F 5);
bundle!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
bundle!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
bundle!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
bundle!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
bundle!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
bundle!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
bundle!(13: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
bundle!(14: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
bundle!(15: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
bundle!(16: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
