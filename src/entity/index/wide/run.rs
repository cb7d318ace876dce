//! `Run`: entities made side by side, a register of slot words at a time.

use core::mem::MaybeUninit;

use crate::entity::index::batch::further;
use crate::entity::index::core::Core;
use crate::entity::{Entity, Place};
use crate::memory;

use super::lanes::Lanes;
use super::{LINE_HANDLES, LINES_AHEAD, create_singly};

/// Registers of slot words that are loaded before any of them is stored. (A load waits for a store before it that
/// lies as far behind the beginning of some other page, and large arrays begin alike.)
const AHEAD: usize = 4;

/// A run of entities while it is made: whole registers of slots, from the first on.
struct Run<L: Lanes> {
    /// The next slots.
    slots: *mut u64,
    /// Their indices.
    indices: L,
    /// Their places, if they have some, as the low halves of slot words: one less for each row further on.
    places: L,
    /// Where the next handles go.
    out: *mut Entity,
    /// The last handles, of which those behind a border may not be stored yet.
    last: L,
}

/// Whether a run is one of whole registers of slots.
#[inline(always)]
pub(super) fn is_whole<L: Lanes>(first: u32, out: &[MaybeUninit<Entity>]) -> bool {
    (first as usize | out.len()).is_multiple_of(L::COUNT)
}

/// Makes the next entity in each of whole registers of slots. See [`super::create_run`].
///
/// # Safety
/// The processor has the instructions of `L`; the run [is whole](is_whole); its slots exist, and are claimed by the
/// caller.
#[inline(always)]
pub(super) unsafe fn create_whole<L: Lanes>(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    const { assert!(L::COUNT.is_power_of_two() && size_of::<L>() == L::COUNT * size_of::<u64>()) };
    if out.is_empty() {
        return;
    }
    debug_assert!(is_whole::<L>(first, out));
    // SAFETY: the caller's; at least one register of slots, and as much room.
    unsafe {
        let run = Run::<L>::new(core, first, out.as_mut_ptr().cast(), place);
        match place {
            None => run.make::<false>(out.len() / L::COUNT),
            Some(_) => run.make::<true>(out.len() / L::COUNT),
        }
    }
}

/// [`create_whole`], and singly what comes before and behind whole registers of slots.
///
/// # Safety
/// The processor has the instructions of `L`; the run's slots exist, and are claimed by the caller.
#[inline(always)]
pub(super) unsafe fn create_ragged<L: Lanes>(
    core: &Core,
    first: u32,
    out: &mut [MaybeUninit<Entity>],
    place: Option<Place>,
) {
    let before = (first.wrapping_neg() as usize % L::COUNT).min(out.len());
    let (head, out) = out.split_at_mut(before);
    create_singly(core, first, head, place);
    let (first, place) = (first + before as u32, further(place, before));
    let behind = out.len() / L::COUNT * L::COUNT;
    let (whole, tail) = out.split_at_mut(behind);
    create_singly(core, first + behind as u32, tail, further(place, behind));
    // SAFETY: the caller's; what is left begins and ends with a register of slots.
    unsafe { create_whole::<L>(core, first, whole, place) };
}

impl<L: Lanes> Run<L> {
    /// # Safety
    /// The processor has the instructions; slot `first` exists.
    #[inline(always)]
    unsafe fn new(core: &Core, first: u32, out: *mut Entity, place: Option<Place>) -> Self {
        let lying = Place::encode(place).into();
        // SAFETY: the caller's.
        unsafe {
            Self {
                slots: core.slot_words(first),
                indices: L::ramp(first.into(), 1),
                places: L::ramp(lying, -1),
                out,
                last: L::splat(0),
            }
        }
    }

    /// Makes the whole run, so many registers of slots, at least one; with places if they are `PLACED`.
    ///
    /// # Safety
    /// The processor has the instructions; there are so many slots, claimed by the caller, and as much room.
    #[inline(always)]
    unsafe fn make<const PLACED: bool>(mut self, registers: usize) {
        // A handle is aligned to its size.
        let handle = size_of::<Entity>();
        let before_border = self.out.addr().wrapping_neg() / handle % L::COUNT;
        // SAFETY: the caller's.
        unsafe {
            let joint = match before_border {
                0 => None,
                _ => L::joint(before_border),
            };
            let Some(joint) = joint else {
                return self.make_lines::<PLACED>(registers, |handles, _| handles);
            };
            // Handles are stored aligned too: each time those of the end of one register and of the beginning of the
            // next. Only the first and the last are stored across a border, and some twice.
            let end = self.out.add((registers - 1) * L::COUNT);
            let [versions] = self.make_slots::<1, PLACED>();
            self.last = self.handles(versions);
            self.last.store_handles(self.out);
            self.out = self.out.add(before_border);
            self.make_lines::<PLACED>(registers - 1, |handles, last| handles.join(last, joint));
            self.last.store_handles(end);
        }
    }

    /// Makes the next so many registers, and stores for each what `line` gives for its handles.
    ///
    /// # Safety
    /// As in [`make`](Self::make).
    #[inline(always)]
    unsafe fn make_lines<const PLACED: bool>(
        &mut self,
        registers: usize,
        line: impl Fn(L, L) -> L,
    ) {
        // Of the first ones `expect` has spoken.
        let some = AHEAD * L::COUNT;
        let end = self.out.wrapping_add(registers * L::COUNT);
        for _ in 0..registers / AHEAD {
            let next = self.out.wrapping_add(LINES_AHEAD * LINE_HANDLES);
            if next < end {
                for line in 0..some / LINE_HANDLES {
                    memory::prefetch(next.wrapping_add(line * LINE_HANDLES));
                }
            }
            // SAFETY: the caller's.
            unsafe { self.make_some::<AHEAD, PLACED>(&line) };
        }
        for _ in 0..registers % AHEAD {
            // SAFETY: the caller's.
            unsafe { self.make_some::<1, PLACED>(&line) };
        }
    }

    /// [`make_lines`](Self::make_lines), for `REGISTERS` of them.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn make_some<const REGISTERS: usize, const PLACED: bool>(
        &mut self,
        line: &impl Fn(L, L) -> L,
    ) {
        // SAFETY: the caller's.
        unsafe {
            for versions in self.make_slots::<REGISTERS, PLACED>() {
                let handles = self.handles(versions);
                line(handles, self.last).store_handles(self.out);
                self.last = handles;
                self.out = self.out.add(L::COUNT);
            }
        }
    }

    /// The handles of the next slots that have these versions above.
    ///
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn handles(&mut self, versions: L) -> L {
        // SAFETY: the caller's.
        unsafe {
            let handles = versions.or(self.indices);
            self.indices = self.indices.add(L::splat(L::COUNT as i64));
            handles
        }
    }

    /// Makes the next entities in `REGISTERS` registers of slots; their versions, above.
    ///
    /// # Safety
    /// As in [`make`](Self::make).
    #[inline(always)]
    unsafe fn make_slots<const REGISTERS: usize, const PLACED: bool>(&mut self) -> [L; REGISTERS] {
        // SAFETY: the caller's; aligned, since a table begins on a page and the run with a whole register.
        unsafe {
            let mut versions = [L::splat(1 << 32); REGISTERS];
            for (at, version) in versions.iter_mut().enumerate() {
                // Dead slots have an even version above and zero, no place, below.
                *version = version.add(L::load(self.slots.add(L::COUNT * at)));
            }
            for version in versions {
                let words = if PLACED {
                    version.or(self.places)
                } else {
                    version
                };
                words.store(self.slots);
                self.slots = self.slots.add(L::COUNT);
                if PLACED {
                    self.places = self.places.add(L::splat(-(L::COUNT as i64)));
                }
            }
            versions
        }
    }
}
