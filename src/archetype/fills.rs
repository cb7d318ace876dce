//! `Fills`: columns that get values by default, of fragments that come with others: see [`FragmentRegistry::require`](crate::fragment::FragmentRegistry::require).
//!
//! Values are made before anything changes, in a [`Stock`], and moved into their rows in the middle of the change: users'
//! code has run by then, and nothing can fail any more. What was made and is not needed is dropped with the stock.
//!
//! Rows that nobody sees yet, behind the last of a chunk, are [filled](Fills::fill) where they are: whoever fills them keeps
//! [how far](Filled) it has got, and drops what is there if users' code panics.
//!
//! A tag that is a type lies nowhere, but it is a value still, which only its maker may make: it is made as the others are.
//!
//! Must hold: a stock has as many values as it was made for, of each column, until they are moved out.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use std::alloc::{alloc, dealloc, handle_alloc_error};

use smallvec::SmallVec;

use crate::archetype::{Archetype, Column};
use crate::fragment::{Bundle, DropValues, FragmentId, FragmentRegistry, Given, Maker, Need};
use crate::panics::{end_all, note, resume_alone};

/// A column, or a tag that lies in none, and what makes its values.
#[derive(Debug)]
struct Fill {
    id: FragmentId,
    /// Where the column begins.
    offset: u32,
    /// Of a value.
    layout: Layout,
    drop: Option<DropValues>,
    maker: Maker,
}

/// How far rows are filled: which values there are, if users' code panics before there are all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filled {
    /// So many columns and tags have the values of all rows.
    all: usize,
    /// So many values the next one has, those of the first rows.
    some: usize,
}

/// Columns and tags of one archetype that get values by default. Mostly none.
#[derive(Debug, Default)]
pub(crate) struct Fills(Box<[Fill]>);

impl Fills {
    /// For needs that come, which lie in these columns. (Of tags that are no types nothing is made: their name is all.)
    #[cold]
    pub(crate) fn new(registry: &FragmentRegistry, needs: &[Need], columns: &[Column]) -> Self {
        let fill = |need: &Need| {
            let info = registry.get(need.id)?;
            let at = columns.binary_search_by_key(&need.id, |column| column.id);
            let (offset, drop) = match at {
                Ok(at) => (columns[at].offset, columns[at].drop),
                Err(_) if info.is_name() => return None,
                // What has a `drop` has a column.
                Err(_) => (0, None),
            };
            Some(Fill {
                id: need.id,
                offset,
                layout: info.layout(),
                drop,
                maker: registry.maker(*need)?.clone(),
            })
        };
        Self(needs.iter().filter_map(fill).collect())
    }

    /// For needs that come to an archetype.
    #[cold]
    pub(crate) fn of(registry: &FragmentRegistry, needs: &[Need], to: &Archetype) -> Self {
        Self::new(registry, needs, &to.columns)
    }

    /// Whether nothing is filled.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fragments that are filled, those without columns among them.
    pub(crate) fn ids(&self) -> impl Iterator<Item = FragmentId> {
        self.0.iter().map(|fill| fill.id)
    }

    /// Whether one of them takes room in rows: what has no size lies nowhere, also if it has a column, for its `drop`.
    pub(crate) fn takes_room(&self) -> bool {
        self.0.iter().any(|fill| fill.layout.size() > 0)
    }

    /// Whether a fragment is filled.
    pub(crate) fn has(&self, id: FragmentId) -> bool {
        self.0.iter().any(|fill| fill.id == id)
    }

    /// Makes the values of rows, from this one on, where they belong. `array` says where a column begins. If users' code
    /// panics, `filled`, which begins as nothing, says which of them are there.
    ///
    /// # Safety
    /// The columns are those of the archetype that the fills are of; they have so many rows, which hold no values there,
    /// and which nobody sees.
    pub(crate) unsafe fn fill(
        &self,
        array: impl Fn(u32) -> *mut u8,
        first: u32,
        rows: u32,
        filled: &mut Filled,
    ) {
        for fill in &self.0 {
            let to = match fill.layout.size() {
                0 => nowhere(fill.layout).as_ptr(),
                size => array(fill.offset).wrapping_add(first as usize * size),
            };
            // SAFETY: the caller's; what has no size lies wherever its alignment allows.
            unsafe { fill.maker.make(to, rows as usize, &mut filled.some) };
            (filled.all, filled.some) = (filled.all + 1, 0);
        }
    }

    /// In how many of these rows, the first ones, there is a value of the fragment after [`fill`](Self::fill) has got so
    /// far: in all, if it is none that is filled.
    pub(crate) fn filled_rows(&self, id: FragmentId, filled: Filled, rows: u32) -> u32 {
        match self.0.iter().position(|fill| fill.id == id) {
            Some(at) if at > filled.all => 0,
            Some(at) if at == filled.all => filled.some as u32,
            _ => rows,
        }
    }

    /// Makes the values of so many rows. If users' code panics, those that it has made are dropped.
    #[inline(always)]
    pub(crate) fn stock(&self, rows: u32) -> Stock {
        if self.0.is_empty() {
            return Stock(None);
        }
        self.make(rows)
    }

    /// The value of one row, beside a bundle and what else was given with it: if users' code panics, those end, too, each
    /// value by itself.
    #[inline(always)]
    pub(crate) fn stock_beside<B: Bundle, T>(&self, bundle: B, others: T) -> (B, T, Stock) {
        if self.0.is_empty() {
            return (bundle, others, Stock(None));
        }
        self.make_beside(bundle, others)
    }

    #[cold]
    #[inline(never)]
    fn make_beside<B: Bundle, T>(&self, bundle: B, others: T) -> (B, T, Stock) {
        let given = Given::new(bundle);
        let stock = self.make(1);
        (given.into_bundle(), others, stock)
    }

    #[cold]
    #[inline(never)]
    fn make(&self, rows: u32) -> Stock {
        let mut all = Box::new(AllMade(SmallVec::new()));
        for fill in &self.0 {
            all.0.push(Made::room_for(fill, rows));
            if let Some(made) = all.0.last_mut() {
                // SAFETY: room for so many values of the column's fragment.
                unsafe {
                    fill.maker
                        .make(made.values.as_mut_ptr(), rows as usize, &mut made.count);
                }
            }
        }
        Stock(Some(all))
    }
}

/// Values that rows are going to be filled with.
#[must_use]
#[derive(Debug)]
pub(crate) struct Stock(Option<Box<AllMade>>);

/// Those of all columns; dropped each by itself.
#[derive(Debug)]
struct AllMade(SmallVec<[Made; 4]>);

/// Values of one column of up to so many bytes lie beside what is said of them: those of a single row, as a rule. The stock of
/// one entity is one piece of memory then.
const BESIDE: usize = 64;

/// Room for values of one column.
#[derive(Debug)]
enum Room {
    Beside(Beside),
    /// Of its own; or, of values without a size, none.
    Apart(NonNull<u8>),
}

/// As large an alignment as most have.
#[derive(Debug)]
#[repr(align(16))]
struct Beside([MaybeUninit<u8>; BESIDE]);

/// Those of one column.
#[derive(Debug)]
struct Made {
    /// Where the column begins.
    offset: u32,
    /// Of a value.
    layout: Layout,
    drop: Option<DropValues>,
    /// How many there is room for.
    room: usize,
    values: Room,
    /// How many there are, and how many of them were moved out, the first ones.
    count: usize,
    moved: usize,
}

// SAFETY: values of fragments are `Send`.
unsafe impl Send for Made {}
// SAFETY: shared, values are only moved out, as `Stock::move_one` says.
unsafe impl Sync for Made {}

impl Stock {
    /// Moves all values to rows one behind the other, from this one on. `array` says where a column begins.
    ///
    /// # Safety
    /// The columns are those of the archetype that the fills are of; they have as many rows as it was made for, which hold
    /// no values there.
    #[inline(always)]
    pub(crate) unsafe fn put(self, array: impl Fn(u32) -> *mut u8, first: u32) {
        if let Some(mut all) = self.0 {
            // SAFETY: the caller's.
            unsafe { all.put(&array, first) };
        }
    }

    /// The same of the first `rows` of them. The others are dropped with the stock.
    ///
    /// # Safety
    /// As for [`put`](Self::put), with so many rows, no more than it was made for.
    pub(crate) unsafe fn put_first(
        &mut self,
        array: impl Fn(u32) -> *mut u8,
        first: u32,
        rows: u32,
    ) {
        for made in self.all_mut() {
            // SAFETY: the caller's.
            unsafe { made.put(array(made.offset), first, rows as usize) };
        }
    }

    /// Moves the value of each column for the row with this number to where `to` says of the column.
    ///
    /// # Safety
    /// As for [`put`](Self::put). The value is moved out once, and then the stock is [spent](Self::spent).
    pub(crate) unsafe fn move_one(&self, number: u32, row: u32, array: impl Fn(u32) -> *mut u8) {
        for made in self.0.iter().flat_map(|all| &all.0) {
            let size = made.layout.size();
            let from = made.values.as_ptr().wrapping_add(number as usize * size);
            let to = array(made.offset).wrapping_add(row as usize * size);
            // SAFETY: the caller's.
            unsafe { from.copy_to_nonoverlapping(to, size) };
        }
    }

    /// All values were moved out.
    pub(crate) fn spent(mut self) {
        for made in self.all_mut() {
            made.moved = made.count;
        }
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Made> {
        self.0.iter_mut().flat_map(|all| &mut all.0)
    }
}

impl Room {
    fn as_ptr(&self) -> *const u8 {
        match self {
            Self::Beside(Beside(bytes)) => bytes.as_ptr().cast(),
            Self::Apart(values) => values.as_ptr(),
        }
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        match self {
            Self::Beside(Beside(bytes)) => bytes.as_mut_ptr().cast(),
            Self::Apart(values) => values.as_ptr(),
        }
    }
}

impl Made {
    fn room_for(fill: &Fill, rows: u32) -> Self {
        let room = rows as usize;
        let values = match Self::bytes(fill.layout, room) {
            Some(bytes) if bytes.size() <= BESIDE && bytes.align() <= align_of::<Beside>() => {
                Room::Beside(Beside([MaybeUninit::uninit(); BESIDE]))
            }
            // SAFETY: the size is not zero.
            Some(bytes) => match NonNull::new(unsafe { alloc(bytes) }) {
                Some(values) => Room::Apart(values),
                None => handle_alloc_error(bytes),
            },
            None => Room::Apart(nowhere(fill.layout)),
        };
        Self {
            offset: fill.offset,
            layout: fill.layout,
            drop: fill.drop,
            room,
            values,
            count: 0,
            moved: 0,
        }
    }

    /// What so many values take; `None` if that is nothing.
    fn bytes(layout: Layout, rows: usize) -> Option<Layout> {
        // Rows of a chunk have room in it.
        let bytes = layout.size() * rows;
        let layout = Layout::from_size_align(bytes, layout.align()).ok();
        layout.filter(|layout| layout.size() > 0)
    }

    /// # Safety
    /// As for [`Stock::put`].
    unsafe fn put(&mut self, array: *mut u8, first: u32, rows: usize) {
        let size = self.layout.size();
        let to = array.wrapping_add(first as usize * size);
        // SAFETY: the caller's; the values move.
        unsafe {
            self.values.as_ptr().copy_to_nonoverlapping(to, size * rows);
        }
        self.moved = rows;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let mut panicked = None;
        if let Some(drop) = self.drop {
            for at in self.moved..self.count {
                let value = self
                    .values
                    .as_mut_ptr()
                    .wrapping_add(at * self.layout.size());
                // SAFETY: a value that nobody has moved out, and nobody uses again.
                note(&mut panicked, || unsafe { drop(value, 1) });
            }
        }
        if let Room::Apart(values) = self.values
            && let Some(bytes) = Self::bytes(self.layout, self.room)
        {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(values.as_ptr(), bytes) };
        }
        resume_alone(panicked);
    }
}

/// Where values lie that have no size.
fn nowhere(layout: Layout) -> NonNull<u8> {
    NonNull::without_provenance(match layout.align().try_into() {
        Ok(align) => align,
        Err(_) => unreachable!("an alignment is a power of two"),
    })
}

impl AllMade {
    /// Moves all.
    ///
    /// # Safety
    /// As for [`Stock::put`].
    #[cold]
    #[inline(never)]
    unsafe fn put(&mut self, array: &dyn Fn(u32) -> *mut u8, first: u32) {
        for made in &mut self.0 {
            // SAFETY: the caller's.
            unsafe { made.put(array(made.offset), first, made.count) };
        }
    }
}

impl Drop for AllMade {
    fn drop(&mut self) {
        let mut panicked = None;
        end_all(&mut panicked, self.0.drain(..));
        resume_alone(panicked);
    }
}
