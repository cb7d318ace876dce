//! `Forms`: how the arrays of an archetype's chunks are copied.

use crate::archetype::{Archetype, Chunk};
use crate::entity::Entity;
use crate::fragment::{CloneValue, DropValues, FragmentInfo, FragmentKind};
use crate::world::World;

/// What an array, or a value, of each chunk of an archetype is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Handles,
    /// Values of a fragment.
    Column,
    /// What is switched on.
    Bits,
    /// The value of a chunk fragment.
    Once,
}

/// How an array of each chunk is copied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) kind: Kind,
    offset: u32,
    /// Bytes of a value.
    pub(super) size: usize,
    pub(super) align: usize,
    /// `None`: values are nothing but their bytes.
    pub(super) clone: Option<CloneValue>,
    pub(super) drop: Option<DropValues>,
    /// Which of a chunk's versions says that it has changed, if not the one of rows.
    pub(super) version: usize,
}

/// The forms of all arrays of an archetype, the handles' first.
#[derive(Debug, Default)]
pub(super) struct Forms {
    pub(super) all: Vec<Form>,
    /// A fragment whose values cannot be copied: nobody may have it then.
    pub(super) refused: Option<Box<str>>,
}

impl Form {
    /// Where the array begins in a chunk.
    pub(super) fn array(&self, chunk: &Chunk) -> *mut u8 {
        match self.kind {
            Kind::Handles => chunk.handles().cast(),
            _ => chunk.array(self.offset),
        }
    }

    /// How many values it has in a chunk with so many rows.
    pub(super) fn count(&self, rows: u32) -> usize {
        match self.kind {
            Kind::Handles | Kind::Column => rows as usize,
            Kind::Bits => rows.div_ceil(u64::BITS) as usize,
            Kind::Once => 1,
        }
    }

    /// How many bytes these are.
    pub(super) fn bytes(&self, rows: u32) -> usize {
        self.size * self.count(rows)
    }

    /// Whether a chunk may have something else in it than at a version, behind which its world's is.
    pub(super) fn is_written_since(&self, chunk: &Chunk, version: u32) -> bool {
        match self.kind {
            // Nobody says when such a value is changed.
            Kind::Once => true,
            Kind::Handles => chunk.is_moved_since(version),
            Kind::Column | Kind::Bits => {
                chunk.is_moved_since(version)
                    || crate::archetype::is_newer(chunk.version(self.version), version)
            }
        }
    }
}

impl Forms {
    /// Those of an archetype. O(fragments).
    pub(super) fn of(world: &World, data: &Archetype) -> Self {
        let registry = world.registry();
        let mut forms = Self {
            all: Vec::from([Form::of_words::<Entity>(Kind::Handles, 0, 0)]),
            refused: None,
        };
        for &id in &*data.ids {
            let Some(info) = registry.get(id) else {
                continue;
            };
            let has_values = matches!(info.kind(), FragmentKind::Fragment | FragmentKind::Tag);
            if has_values && !info.is_plain() && info.value_clone().is_none() {
                forms.refused.get_or_insert_with(|| info.name().into());
            }
        }
        for (version, column) in data.columns.iter().enumerate() {
            if let Some(info) = registry.get(column.id) {
                let form = Form::of_values(Kind::Column, column.offset, info);
                forms.all.push(Form { version, ..form });
            }
        }
        for bits in &data.enabled {
            let version = bits.version as usize;
            forms
                .all
                .push(Form::of_words::<u64>(Kind::Bits, bits.offset, version));
        }
        for value in &data.chunk_values {
            if let Some(info) = registry.get(value.id) {
                forms
                    .all
                    .push(Form::of_values(Kind::Once, value.offset, info));
            }
        }
        forms
    }
}

impl Form {
    fn of_words<T>(kind: Kind, offset: u32, version: usize) -> Self {
        Self {
            kind,
            offset,
            size: size_of::<T>(),
            align: align_of::<T>(),
            clone: None,
            drop: None,
            version,
        }
    }

    fn of_values(kind: Kind, offset: u32, info: &FragmentInfo) -> Self {
        Self {
            kind,
            offset,
            size: info.layout().size(),
            align: info.layout().align(),
            clone: (!info.is_plain()).then(|| info.value_clone()).flatten(),
            drop: info.drop_values(),
            version: 0,
        }
    }
}
