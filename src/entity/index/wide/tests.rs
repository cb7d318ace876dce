//! Wide and single accesses do the same.

use super::lanes::Lanes;
use super::*;
use crate::entity::index::batch::overwritten;
use crate::entity::index::cache::Cache;
use crate::entity::{EntityIndex, index::Shared};

/// The index's core, with a block to work in.
fn core(index: &EntityIndex) -> &Core {
    let shared: &Shared = &index.shared;
    assert!(shared.core.open_block(&mut Cache::new(1)).is_some());
    &shared.core
}

/// Makes a run without places.
fn make(core: &Core, first: u32, out: &mut [Entity]) {
    // SAFETY: runs write handles.
    create_run(core, first, unsafe { overwritten(out) }, None);
}

fn word(core: &Core, index: u32) -> u64 {
    assert!(core.has_slot(index));
    // SAFETY: just checked.
    unsafe { core.slot(index) }.load(Ordering::Relaxed)
}

/// Runs of every length and start, each with the next versions.
fn runs_of_every_length_and_start(
    run: impl Fn(&Core, u32, &mut [MaybeUninit<Entity>], Option<Place>),
) {
    let index = EntityIndex::new();
    let core = core(&index);
    let mut versions = [0_u32; 64];
    for len in 0..=40 {
        for (first, begin) in
            (0..=(64 - len)).flat_map(|first| [first, first / 8].map(|b| (first, b % 8)))
        {
            // Slices begin anywhere in a cache line, wherever the slots begin in theirs.
            let mut room = vec![Entity::PLACEHOLDER; len + 10];
            let out = &mut room[1 + begin..][..len];
            let place = Place::new(7, 2_000).filter(|_| (len + first / 3) % 3 != 0);
            // SAFETY: runs write handles.
            run(core, first as u32, unsafe { overwritten(out) }, place);
            for (at, entity) in out.iter().enumerate() {
                let lane = first + at;
                assert_eq!(entity.index() as usize, lane);
                assert_eq!(entity.version(), versions[lane] + 1);
                let lies = slot::pack(entity.version(), further(place, at));
                assert_eq!(word(core, entity.index()), lies);
                core.bury(entity.index(), entity.version());
                versions[lane] += 2;
            }
            out.fill(Entity::PLACEHOLDER);
            assert!(room.iter().all(|&entity| entity == Entity::PLACEHOLDER));
        }
    }
}

#[test]
fn a_run_of_any_length_and_start_gives_the_next_versions() {
    runs_of_every_length_and_start(create_run);
}

#[test]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn a_run_of_fours_gives_the_next_versions_where_lines_are_wider() {
    if Width::available() >= Width::Wide {
        // SAFETY: the processor has AVX2.
        runs_of_every_length_and_start(|core, first, out, place| unsafe {
            avx2::create_run(core, first, out, place);
        });
    }
}

thread_local! {
    /// Stores of handles across a border of arrays.
    static STORED_ACROSS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// `N` words in an array instead of a register: what runs do with registers that this processor lacks.
#[derive(Clone, Copy)]
struct Array<const N: usize>([u64; N]);

impl<const N: usize> Array<N> {
    fn lanes(word: impl Fn(usize) -> u64) -> Self {
        Self(core::array::from_fn(word))
    }
}

impl<const N: usize> Lanes for Array<N> {
    const COUNT: usize = N;

    type Joint = usize;

    unsafe fn splat(word: i64) -> Self {
        Self([word.cast_unsigned(); N])
    }

    unsafe fn ramp(first: i64, step: i64) -> Self {
        Self::lanes(|lane| (first + lane as i64 * step).cast_unsigned())
    }

    unsafe fn add(self, other: Self) -> Self {
        Self::lanes(|lane| self.0[lane].wrapping_add(other.0[lane]))
    }

    unsafe fn or(self, other: Self) -> Self {
        Self::lanes(|lane| self.0[lane] | other.0[lane])
    }

    unsafe fn load(words: *const u64) -> Self {
        assert!(words.addr().is_multiple_of(8 * N));
        // SAFETY: the caller's.
        Self(unsafe { words.cast::<[u64; N]>().read() })
    }

    unsafe fn store(self, words: *mut u64) {
        assert!(words.addr().is_multiple_of(8 * N));
        // SAFETY: the caller's.
        unsafe { words.cast::<[u64; N]>().write(self.0) };
    }

    unsafe fn store_handles(self, out: *mut Entity) {
        if !out.addr().is_multiple_of(8 * N) {
            STORED_ACROSS.set(STORED_ACROSS.get() + 1);
        }
        // SAFETY: the caller's.
        unsafe { out.cast::<[u64; N]>().write(self.0) };
    }

    unsafe fn joint(before_border: usize) -> Option<usize> {
        assert!(before_border > 0 && before_border < N);
        Some(before_border)
    }

    unsafe fn join(self, before: Self, before_border: usize) -> Self {
        let both = [before.0, self.0];
        Self::lanes(|lane| both.as_flattened()[before_border + lane])
    }
}

/// Wherever slots and slice begin, no more than the first and the last handles are stored across a border.
#[test]
#[cfg(not(miri))]
fn a_run_in_registers_of_any_size_gives_the_next_versions() {
    fn check<const N: usize>() {
        let mut borders = [[0; 2]; N];
        let borders = core::cell::RefCell::new(&mut borders);
        runs_of_every_length_and_start(|core, first, out, place| {
            let head = (first.wrapping_neg() as usize % N).min(out.len());
            let border = out[head..].as_ptr().addr().wrapping_neg() / 8 % N;
            if out.len() - head >= 2 * N {
                borders.borrow_mut()[border][usize::from(place.is_some())] += 1;
            }
            STORED_ACROSS.set(0);
            // SAFETY: an array takes no instructions that a processor may lack.
            unsafe { run::create_ragged::<Array<N>>(core, first, out, place) };
            assert!(STORED_ACROSS.get() <= 2);
        });
        // That all were tried.
        assert!(borders.borrow().as_flattened().iter().all(|&runs| runs > 0));
    }
    check::<2>();
    check::<4>();
    check::<8>();
}

/// Where the processor has registers as wide, an array does what they do.
#[test]
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn registers_do_what_arrays_do() {
    use core::arch::x86_64::{__m256i, __m512i};

    unsafe fn compare<L: Lanes, const N: usize>() {
        let words = |lanes: L| {
            let mut words = [0_u64; N];
            // SAFETY: the caller's; there is room.
            unsafe { lanes.store_handles(words.as_mut_ptr().cast()) };
            words
        };
        assert_eq!(L::COUNT, N);
        // SAFETY: the caller's.
        unsafe {
            let (first, second) = (L::ramp(5, 7), L::ramp(1 << 40, -3));
            let (one, two) = (Array::<N>::ramp(5, 7), Array::<N>::ramp(1 << 40, -3));
            assert_eq!(words(first), one.0);
            assert_eq!(words(L::splat(-9)), Array::<N>::splat(-9).0);
            assert_eq!(words(first.add(second)), one.add(two).0);
            assert_eq!(words(first.or(second)), one.or(two).0);
            for before_border in 1..N {
                let Some(joint) = L::joint(before_border) else {
                    continue;
                };
                let joined = two.join(one, before_border);
                assert_eq!(words(second.join(first, joint)), joined.0);
            }
        }
    }

    if Width::available() >= Width::Wide {
        // SAFETY: the processor has AVX2.
        unsafe { compare::<__m256i, 4>() };
    }
    if Width::available() == Width::Line {
        // SAFETY: the processor has AVX-512.
        unsafe { compare::<__m512i, 8>() };
    }
}

/// Handles are stored as aligned lines wherever the slice begins, and nothing beside it is touched.
#[test]
fn runs_fill_slices_that_begin_anywhere_in_a_cache_line() {
    let index = EntityIndex::new();
    let core = core(&index);
    let mut room = vec![Entity::PLACEHOLDER; 2_048 + 24];
    let mut version = 1;
    for len in [16, 24, 32, 40, 48, 64, 72, 104, 136, 1_000, 2_048] {
        for begin in 0..8 {
            let place = Place::new(3, 100).filter(|_| (begin + len / 8) % 2 == 1 && len < 1_000);
            let out = &mut room[8 + begin..][..len];
            // SAFETY: runs write handles.
            create_run(core, 4_096, unsafe { overwritten(out) }, place);
            for (at, entity) in out.iter().enumerate() {
                assert_eq!(*entity, Entity::new(4_096 + at as u32, version).unwrap());
                let lies = slot::pack(version, further(place, at));
                assert_eq!(word(core, entity.index()), lies);
                core.bury(entity.index(), version);
            }
            out.fill(Entity::PLACEHOLDER);
            assert!(room.iter().all(|&entity| entity == Entity::PLACEHOLDER));
            // All slots have the same version again.
            for index in 4_096 + len as u32..4_096 + 2_048 {
                core.bury(index, version);
            }
            version += 2;
        }
    }
}

#[test]
fn whole_groups_are_buried_by_version_and_by_handle() {
    let index = EntityIndex::new();
    let core = core(&index);
    let mut group = [Entity::PLACEHOLDER; 16];
    let dead = |group: &[Entity; 16]| {
        group
            .iter()
            .all(|entity| word(core, entity.index()) == slot::dead(entity.version()))
    };
    make(core, 32, &mut group);
    bury_group(core, 2, &group.map(Entity::version));
    assert!(dead(&group));
    make(core, 32, &mut group);
    assert!(!dead(&group));
    bury_handles(core, &group);
    assert!(dead(&group));
}

#[test]
fn wide_and_single_looks_see_the_same() {
    let index = EntityIndex::new();
    let core = core(&index);
    let mut group = [Entity::PLACEHOLDER; 16];
    for round in 0..5_u32 {
        for entity in &group[(round % 3) as usize..] {
            if *entity != Entity::PLACEHOLDER {
                core.bury(entity.index(), entity.version());
            }
        }
        let out = &mut group[(round % 3) as usize..];
        // SAFETY: runs write handles.
        create_singly(core, round % 3, unsafe { overwritten(out) }, None);
        let mut expected = Expected::default();
        for (lane, entity) in group.iter().enumerate() {
            if round >> (lane % 3) & 1 == 1 {
                expected[lane] = entity.version() + (lane as u32 & 4) / 2;
            }
        }
        let seen = look(core, 0, &expected);
        for (lane, &expected) in expected.iter().enumerate().filter(|(_, e)| **e != 0) {
            let version = slot::version(word(core, lane as u32));
            assert_eq!(seen.equal >> lane & 1 == 1, version == expected);
            assert_eq!(seen.phases >> lane & 1, u64::from(version >> 1 & 1));
            assert_eq!(seen.last >> lane & 1, 0);
        }
    }
}

#[test]
fn whole_groups_are_recognized_only_in_order_and_before_their_last_versions() {
    let index = EntityIndex::new();
    let mut word = [Entity::PLACEHOLDER; 64];
    make(core(&index), 64, &mut word);
    core(&index).bury(67, 1);
    make(core(&index), 67, &mut word[3..4]);
    if Width::available() == Width::Single {
        return;
    }
    let look = |word: &[Entity]| look_at_groups(core(&index), word);
    assert_eq!(look(&word), (4, 1 << 3));
    assert_eq!(look(&word[16..48]), (2, 0));
    word.swap(33, 42);
    assert_eq!(look(&word).0, 2);
    word.swap(33, 42);
    let last = slot::pack(slot::LAST_VERSION, None);
    // SAFETY: slot 64 exists.
    unsafe { core(&index).slot(64) }.store(last, Ordering::Relaxed);
    word[0] = Entity::new(64, slot::LAST_VERSION).unwrap();
    assert_eq!(look(&word).0, 0);
}

#[test]
fn owned_groups_are_buried_in_order_and_before_their_last_versions() {
    let index = EntityIndex::new();
    let core = core(&index);
    if Width::available() == Width::Single {
        return;
    }
    let mut all = [Entity::PLACEHOLDER; 80];
    make(core, 64, &mut all);
    let place = Place::new(7, 3);
    let lies = |entity: &Entity| word(core, entity.index()) == slot::pack(entity.version(), place);
    let place_all = |all: &[Entity]| {
        for entity in all {
            let word = slot::pack(entity.version(), place);
            // SAFETY: their slots exist.
            unsafe { core.slot(entity.index()) }.store(word, Ordering::Relaxed);
        }
    };
    let skips = |entity: &Entity| word(core, entity.index()) == slot::dead(entity.version() + 2);
    // Whole groups from the first handle on, and nothing behind them.
    for (first, len, buried) in [
        (0, 80, 80),
        (16, 47, 32),
        (1, 79, 0),
        (64, 15, 0),
        (0, 0, 0),
    ] {
        place_all(&all);
        assert_eq!(bury_owned(core, &all[first..first + len]), buried);
        assert!(all[first..first + buried].iter().all(skips));
        assert!(all[..first].iter().all(lies));
        assert!(all[first + buried..].iter().all(lies));
    }
    // One that stands elsewhere, or is of a late version, is the end.
    for at in [0, 15, 16, 31, 79] {
        for late in [false, true] {
            place_all(&all);
            let mut other = all;
            let version = slot::LAST_VERSION - 2;
            other[at] = match late {
                true => Entity::new(all[at].index(), version).unwrap(),
                false => Entity::new(all[at].index() ^ 4, all[at].version()).unwrap(),
            };
            // The handle at the beginning says where to begin.
            let expected = if at == 0 && !late { 0 } else { at / 16 * 16 };
            assert_eq!(bury_owned(core, &other), expected, "{at} {late}");
            assert!(all[..expected].iter().all(skips) && all[expected..].iter().all(lies));
        }
    }
}
