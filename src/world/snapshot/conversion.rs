//! `Conversion`: values that a file has of a type as it was become those of the type as it is.
//!
//! All are converted before anything is made of the file: users' code that panics leaves nothing behind.

use core::alloc::Layout;
use core::any::{TypeId, type_name};
use core::fmt;
use core::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::fragment::{FragmentInfo, IsValue, Plain, StateForm, are_others, is_type};
use crate::world::snapshot::SnapshotError;
use crate::world::snapshot::variants::{SavedVariant, Variants};

/// How values of one type, of the fragments or the part of the state that a name means, become values of another.
#[derive(Clone)]
pub(super) struct Conversion {
    name: Box<str>,
    old: Old,
    new: TypeId,
    new_size: usize,
    /// Whether a fragment's values are of the new type, or, where bytes are made, of none.
    makes: fn(&FragmentInfo) -> bool,
    convert: Arc<Convert>,
    /// Those of an enum whose values are found by their names.
    variants: Option<Arc<Variants>>,
}

/// Converts a value, from bytes to bytes, as many as the two types have; whether the old ones are a value.
type Convert = dyn Fn(&[u8], &mut [u8]) -> bool + Send + Sync + UnwindSafe + RefUnwindSafe;

/// The type that a file has.
#[derive(Clone, Copy)]
struct Old {
    id: TypeId,
    name: &'static str,
    layout: Layout,
    shape: u64,
    is_value: Option<IsValue>,
}

impl Conversion {
    pub(super) fn new<O: Plain, N: Plain>(
        name: &str,
        function: impl Fn(O) -> N + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        let convert = move |from: &[u8], to: &mut [u8]| {
            assert_eq!((from.len(), to.len()), (size_of::<O>(), size_of::<N>()));
            let mut old = MaybeUninit::<O>::uninit();
            let bytes = old.as_mut_ptr().cast::<u8>();
            // A copy: somebody may change the file.
            // SAFETY: room for as many bytes, which all are written before they are looked at.
            let copied = unsafe {
                bytes.copy_from_nonoverlapping(from.as_ptr(), from.len());
                core::slice::from_raw_parts(bytes, from.len())
            };
            if !O::IS_VALUE.is_none_or(|is_value| is_value(copied)) {
                return false;
            }
            // SAFETY: its bytes are a value, as was just seen.
            let new = function(unsafe { old.assume_init() });
            let bytes = (&raw const new).cast::<u8>();
            // SAFETY: as many bytes; a plain value is nothing else, without padding.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(bytes, to.len()) };
            true
        };
        Self {
            name: name.into(),
            old: Old {
                id: TypeId::of::<O>(),
                name: type_name::<O>(),
                layout: Layout::new::<O>(),
                shape: O::SHAPE,
                is_value: O::IS_VALUE,
            },
            new: TypeId::of::<N>(),
            new_size: size_of::<N>(),
            makes: is_type::<N>,
            convert: Arc::new(convert),
            variants: None,
        }
    }

    /// Of values that were laid out so, and have this shape (0: any), of a fragment that is defined at run time here: from
    /// bytes to bytes.
    pub(super) fn of_bytes(
        name: &str,
        (old, shape): (Layout, u64),
        function: impl Fn(&[u8], &mut [u8]) + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        /// What stands for the type of the old bytes, and of the new ones: no type, and not the same.
        struct OldBytes;
        struct NewBytes;

        let convert = move |from: &[u8], to: &mut [u8]| {
            // A copy: somebody may change the file.
            let copied: SmallVec<[u8; 64]> = from.into();
            function(&copied, to);
            true
        };
        Self {
            name: name.into(),
            old: Old {
                id: TypeId::of::<OldBytes>(),
                name: "",
                layout: old.pad_to_align(),
                shape,
                is_value: None,
            },
            new: TypeId::of::<NewBytes>(),
            // Who makes values of a fragment says how many they have.
            new_size: 0,
            makes: |info| info.is_plain() && info.value_type().is_none(),
            convert: Arc::new(convert),
            variants: None,
        }
    }

    /// The same, for values of this fragment, which it [makes](Self::is_for).
    pub(super) fn making(&self, info: &FragmentInfo) -> Self {
        Self {
            new_size: info.layout().size(),
            ..self.clone()
        }
    }

    /// Of an enum that a fragment's values are of, and of which a file tells which variants it had: each becomes the one that
    /// is called so here. `None` if nothing is told, or it is none.
    pub(super) fn by_variants(
        saved: &[SavedVariant],
        size: u64,
        info: &FragmentInfo,
    ) -> Option<Self> {
        let here = info.told_variants();
        if saved.is_empty() || here.is_empty() {
            return None;
        }
        let size = usize::try_from(size).ok()?;
        let variants = Arc::new(Variants::new(saved, here));
        let known = Arc::clone(&variants);
        let convert = move |from: &[u8], to: &mut [u8]| match known.here(from) {
            Some(bytes) => {
                to.copy_from_slice(bytes);
                true
            }
            None => false,
        };
        Some(Self {
            name: info.name().into(),
            old: Old {
                id: TypeId::of::<Variants>(),
                name: info.plain_type_name().unwrap_or_default(),
                layout: Layout::from_size_align(size, 1).ok()?,
                shape: 0,
                is_value: None,
            },
            new: TypeId::of::<Variants>(),
            new_size: info.layout().size(),
            // It is of this file alone, and asked for by nobody.
            makes: |_| false,
            convert: Arc::new(convert),
            variants: Some(variants),
        })
    }

    /// The one of several that is for something: the first that is so `exactly`, because both shapes are known; if there is
    /// none, the first that may be.
    pub(super) fn of(all: &[Self], is_for: impl Fn(&Self, bool) -> bool) -> Option<&Self> {
        let first = |exactly| all.iter().find(|one| is_for(one, exactly));
        first(true).or_else(|| first(false))
    }

    /// Whether it is for values that a file has in this form, of a registered fragment: `exactly`, or because of the file or
    /// of the old type no shape is known. Those that `fit` that may be meant as they are: then they are.
    pub(super) fn is_for(
        &self,
        (name, form): (&str, Form),
        info: &FragmentInfo,
        fits: bool,
        exactly: bool,
    ) -> bool {
        let (size, align) = (
            self.old.layout.size() as u64,
            self.old.layout.align() as u64,
        );
        *self.name == *name
            && (form.size, form.align) == (size, align)
            && self.has_shape(form.shape, info.shape(), fits, exactly)
            && (self.makes)(info)
    }

    /// Whether it is for a value that a file has, of a type that is part of the state: as for those of fragments.
    pub(super) fn is_for_state(
        &self,
        (name, bytes, shape): (&str, usize, u64),
        form: &StateForm,
        exactly: bool,
    ) -> bool {
        let fits = bytes == self.new_size && !are_others(shape, form.shape());
        // Bytes that closures write and read mean what these say.
        let is_new = form.type_id() == self.new && form.is_plain();
        *self.name == *name
            && bytes == self.old.layout.size()
            && self.has_shape(shape, form.shape(), fits, exactly)
            && is_new
    }

    /// Whether values of this shape are of the old type, and not of the one that is `here`, which they may `fit`, unless
    /// both are one.
    fn has_shape(&self, saved: u64, here: u64, fits: bool, exactly: bool) -> bool {
        let fits = fits && self.old.id != self.new;
        match (saved, self.old.shape) {
            (0, _) | (_, 0) => !exactly && !fits,
            (saved, old) => exactly && saved == old && !(fits && saved == here),
        }
    }

    /// Bytes of a value of the new type.
    pub(super) fn new_size(&self) -> usize {
        self.new_size
    }

    /// A value of the new type of one of the old, which are from `at` in the file.
    pub(super) fn convert_state(&self, value: &[u8], at: u64) -> Result<Vec<u8>, SnapshotError> {
        let converted = self.convert(value, 1, at);
        converted.map_err(|error| match error {
            SnapshotError::NotAValue { .. } => SnapshotError::StateNotRead {
                name: self.name.clone(),
                at,
                reason: error.to_string().into(),
            },
            error => error,
        })
    }

    /// Whether bytes, so many values one behind the other, are values of the old type. They are from `at` in the file.
    pub(super) fn check(&self, values: &[u8], count: usize, at: u64) -> Result<(), SnapshotError> {
        let size = self.old.layout.size();
        let value = |row: usize| &values[row * size..][..size];
        let wrong = match (&self.variants, self.old.is_value) {
            (Some(variants), _) => (0..count).find(|&row| !variants.has(value(row))),
            (None, Some(is_value)) => (0..count).find(|&row| !is_value(value(row))),
            (None, None) => None,
        };
        match wrong {
            None => Ok(()),
            Some(row) => Err(self.not_a_value(at, row)),
        }
    }

    /// The error that says why a value of several, which begin at `at` in the file, becomes none here.
    #[cold]
    fn refuse(&self, value: &[u8], at: u64, row: usize) -> SnapshotError {
        let why = self.variants.as_ref();
        match why.and_then(|variants| variants.why_not_here(value)) {
            Some(reason) => SnapshotError::NotRead {
                name: self.name.clone(),
                entity: None,
                at: at + (row * self.old.layout.size()) as u64,
                reason: reason.into(),
            },
            None => self.not_a_value(at, row),
        }
    }

    /// The error that says that one of several values, which begin at `at` in the file, is none of the old type.
    fn not_a_value(&self, at: u64, row: usize) -> SnapshotError {
        SnapshotError::NotAValue {
            name: self.name.clone(),
            of: self.old.name,
            entity: None,
            at: at + (row * self.old.layout.size()) as u64,
        }
    }

    /// Values of the new type of so many of the old one, which are from `at` in the file: each is looked at, and converted if
    /// it is one.
    pub(super) fn convert(
        &self,
        values: &[u8],
        count: usize,
        at: u64,
    ) -> Result<Vec<u8>, SnapshotError> {
        let (old, size) = (self.old.layout.size(), self.new_size);
        let mut new = zeroes((count as u64).saturating_mul(size as u64))?;
        for row in 0..count {
            let to = &mut new[row * size..][..size];
            let from = &values[row * old..][..old];
            if !(self.convert)(from, to) {
                return Err(self.refuse(from, at, row));
            }
        }
        Ok(new)
    }
}

/// So many bytes: how many a file decides.
fn zeroes(bytes: u64) -> Result<Vec<u8>, SnapshotError> {
    let mut zeroes = Vec::new();
    let room = usize::try_from(bytes).unwrap_or(usize::MAX);
    let reserved = zeroes.try_reserve_exact(room);
    reserved.map_err(|_| SnapshotError::NoMemory { bytes })?;
    zeroes.resize(room, 0);
    Ok(zeroes)
}

/// In which form a file has values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) size: u64,
    pub(super) align: u64,
    /// 0: not known.
    pub(super) shape: u64,
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("name", &self.name)
            .field("of", &self.old.name)
            .finish_non_exhaustive()
    }
}
