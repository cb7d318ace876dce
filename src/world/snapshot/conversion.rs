//! `Conversion`: values that a file has of a type as it was become those of the type as it is.
//!
//! All are converted before anything is made of the file: users' code that panics leaves nothing behind.

use core::alloc::Layout;
use core::any::{TypeId, type_name};
use core::fmt;
use core::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::fragment::{FragmentInfo, IsValue, Plain, StateForm, is_type};
use crate::world::snapshot::SnapshotError;

/// How values of one type, of the fragments or the part of the state that a name means, become values of another.
#[derive(Clone)]
pub(super) struct Conversion {
    name: Box<str>,
    old: Old,
    new: TypeId,
    new_size: usize,
    /// Whether a fragment's values are of the new type: of none, as of one that is defined by its layout alone, will not do.
    makes: fn(&FragmentInfo) -> bool,
    /// The function, to tell it from others.
    address: usize,
    convert: Arc<Convert>,
}

/// Converts a value that has been checked, from bytes to bytes: as many as the two types have.
type Convert = dyn Fn(&[u8], &mut [u8]) + Send + Sync + UnwindSafe + RefUnwindSafe;

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
    pub(super) fn new<O: Plain, N: Plain>(name: &str, function: fn(O) -> N) -> Self {
        let convert = move |from: &[u8], to: &mut [u8]| {
            assert_eq!((from.len(), to.len()), (size_of::<O>(), size_of::<N>()));
            let is_value = O::IS_VALUE.is_none_or(|is_value| is_value(from));
            assert!(is_value, "the caller has seen that it is a value");
            let mut old = MaybeUninit::<O>::uninit();
            let bytes = old.as_mut_ptr().cast::<u8>();
            // SAFETY: as many bytes, which are a value, as was just seen.
            let old = unsafe {
                bytes.copy_from_nonoverlapping(from.as_ptr(), from.len());
                old.assume_init()
            };
            let new = function(old);
            let bytes = (&raw const new).cast::<u8>();
            // SAFETY: as many bytes; a plain value is nothing else, without padding.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(bytes, to.len()) };
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
            address: function as usize,
            convert: Arc::new(convert),
        }
    }

    /// Whether it is for values that a file has in this form, of a registered fragment. Those that `fit` that may be meant
    /// as they are: if of the file or of the old type no shape is known, they are.
    pub(super) fn is_for(&self, name: &str, form: Form, info: &FragmentInfo, fits: bool) -> bool {
        let (size, align) = (
            self.old.layout.size() as u64,
            self.old.layout.align() as u64,
        );
        let is_old = match (form.shape, self.old.shape) {
            (0, _) | (_, 0) => !fits,
            (saved, old) => saved == old && !(fits && saved == info.shape()),
        };
        *self.name == *name
            && (form.size, form.align) == (size, align)
            && is_old
            && (self.makes)(info)
    }

    /// Whether it is for a value that a file has, of a type that is part of the state.
    pub(super) fn is_for_state(
        &self,
        name: &str,
        bytes: usize,
        shape: u64,
        form: &StateForm,
    ) -> bool {
        let fits = bytes == self.new_size;
        let is_old = match (shape, self.old.shape) {
            (0, _) | (_, 0) => !fits,
            (saved, old) => saved == old && !(fits && saved == form.shape()),
        };
        // Bytes that closures write and read mean what these say.
        let is_new = form.type_id() == self.new && form.is_plain();
        *self.name == *name && bytes == self.old.layout.size() && is_old && is_new
    }

    /// A value of the new type of one of the old, which are from `at` in the file.
    pub(super) fn convert_state(&self, value: &[u8], at: u64) -> Result<Vec<u8>, SnapshotError> {
        let converted = self.convert(value, 1, self.new_size, at);
        converted.map_err(|error| SnapshotError::StateNotRead {
            name: self.name.clone(),
            at,
            reason: error.to_string().into(),
        })
    }

    /// Whether bytes, so many values one behind the other, are values of the old type. They are from `at` in the file.
    pub(super) fn check(&self, values: &[u8], count: usize, at: u64) -> Result<(), SnapshotError> {
        let size = self.old.layout.size();
        let value = |row: usize| &values[row * size..][..size];
        let is_wrong = |is_value: IsValue| (0..count).find(|&row| !is_value(value(row)));
        match self.old.is_value.and_then(is_wrong) {
            None => Ok(()),
            Some(row) => Err(SnapshotError::NotAValue {
                name: self.name.clone(),
                of: self.old.name,
                at: at + (row * size) as u64,
            }),
        }
    }

    /// Values of the new type, each of `size` bytes, of so many of the old one, which are from `at` in the file.
    pub(super) fn convert(
        &self,
        values: &[u8],
        count: usize,
        size: usize,
        at: u64,
    ) -> Result<Vec<u8>, SnapshotError> {
        // A copy: somebody may change the file.
        let values = values[..count * self.old.layout.size()].to_vec();
        self.check(&values, count, at)?;
        let mut new = vec![0; count * size];
        for row in 0..count {
            let old = self.old.layout.size();
            let to = &mut new[row * size..][..size];
            (self.convert)(&values[row * old..][..old], to);
        }
        Ok(new)
    }
}

/// In which form a file has values.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) size: u64,
    pub(super) align: u64,
    /// 0: not known.
    pub(super) shape: u64,
}

impl PartialEq for Conversion {
    fn eq(&self, other: &Self) -> bool {
        let key = |of: &Self| (of.old.id, of.new, of.address);
        self.name == other.name && key(self) == key(other)
    }
}

impl Eq for Conversion {}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion")
            .field("name", &self.name)
            .field("of", &self.old.name)
            .finish_non_exhaustive()
    }
}
