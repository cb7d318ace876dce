//! The fragments of a file, each with what is registered under its name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::entity::EntityMap;
use crate::fragment::{
    FragmentId, FragmentInfo, FragmentKind, FragmentRegistry, MapPlain, WhichAreValues, are_others,
};
use crate::world::snapshot::conversion::{Conversion, Form};
use crate::world::snapshot::format::{Header, Reader, bit_bytes, kind_of_byte};
use crate::world::snapshot::fragment_keys::hash_of;
use crate::world::snapshot::options::{Purpose, readable};
use crate::world::snapshot::read::yes_or_no;
use crate::world::snapshot::variants::{SavedVariant, read_variants};
use crate::world::snapshot::{ChangedLayout, LoadOptions, MissingFragment, SnapshotError};

/// What is registered, by name and role: one fragment, unless the program has taken one name twice.
type Known<'r> = HashMap<(&'r str, FragmentKind), Vec<&'r FragmentInfo>>;

/// A fragment of a file.
pub(super) struct SavedFragment {
    pub(super) name: Box<str>,
    pub(super) name_hash: u64,
    /// `None` if it is left out, or if it does not fit the registry and no entity has it.
    pub(super) known: Option<FragmentId>,
    /// It is to be left out, whoever has it.
    pub(super) skipped: bool,
    pub(super) kind: FragmentKind,
    /// Bytes of a value as the file has it, and as it is here.
    pub(super) size: usize,
    pub(super) size_here: usize,
    /// As the file has it, and as it is here.
    pub(super) align: u64,
    pub(super) align_here: u64,
    /// As the file has it; 0: not known.
    pub(super) shape: u64,
    /// The type of its values, if they are of one.
    of: Option<&'static str>,
    /// Which bytes are a value, if not all are.
    is_value: Option<WhichAreValues>,
    /// What changes the entities that a value names, if it can name some.
    map_entities: Option<MapPlain>,
    /// Makes of values that the file has what they are here, if that is something else.
    pub(super) conversion: Option<Conversion>,
    pub(super) enableable: bool,
    /// It could be switched off, and cannot be here.
    pub(super) always_on: bool,
    /// Values are written as closures say: each has its own length.
    pub(super) is_written: bool,
}

impl SavedFragment {
    /// Whether it has a column in chunks whose bytes the file tells, as it does of nothing else.
    pub(super) fn is_written_column(&self) -> bool {
        self.is_written && self.kind == FragmentKind::Fragment
    }

    /// Bytes of it in a chunk with so many entities, but for values that are written: see
    /// [`bytes_of`](crate::world::snapshot::read::SavedChunk::bytes_of). It is one whose values, and bits, are in no shared
    /// part.
    pub(super) fn bytes_in(&self, len: u32) -> usize {
        let values = match self.kind {
            _ if self.is_written => 0,
            FragmentKind::Fragment => self.size * len as usize,
            FragmentKind::Chunk => self.size,
            _ => 0,
        };
        let bits = if self.enableable {
            bit_bytes(len.into())
        } else {
            0
        };
        values + bits as usize
    }

    /// Nobody has it, and it does not come: another one has its name.
    #[cold]
    fn leave_out(&mut self) {
        (self.size_here, self.align_here) = (self.size, self.align);
        (self.known, self.of, self.is_value) = (None, None, None);
        (self.map_entities, self.conversion) = (None, None);
        self.always_on = false;
    }

    /// The error that says that somebody has it off, and nobody can here.
    pub(super) fn not_enableable(&self) -> SnapshotError {
        SnapshotError::NotEnableable {
            name: self.name.clone(),
        }
    }

    /// The error that says that the bytes from `at` on are no value.
    #[cold]
    pub(super) fn not_read(&self, at: u64, reason: String) -> SnapshotError {
        SnapshotError::NotRead {
            name: self.name.clone(),
            entity: None,
            at,
            reason: reason.into(),
        }
    }

    /// Whether bytes as the file has them, one value behind the other, are values. They are from `at` there.
    pub(super) fn check_saved(&self, values: &[u8], at: u64) -> Result<(), SnapshotError> {
        match &self.conversion {
            None => self.check(values, at),
            Some(conversion) => {
                let count = values.len().checked_div(self.size).unwrap_or(1);
                conversion.check(values, count, at)
            }
        }
    }

    /// Whether there are values here of what some have become that are from `at` in the file: asked at once if they have no
    /// bytes, for there is nothing to look at when the rows come.
    pub(super) fn check_converted(&self, at: u64) -> Result<(), SnapshotError> {
        match self.size_here {
            0 => self.check(&[], at),
            _ => Ok(()),
        }
    }

    /// Whether bytes, one value behind the other, are values here. They are from `at` in the file, or those are of which they
    /// were made.
    pub(super) fn check(&self, values: &[u8], at: u64) -> Result<(), SnapshotError> {
        let Some(which) = &self.is_value else {
            return Ok(());
        };
        match which.first_other(values, self.size_here) {
            None => Ok(()),
            Some(row) => Err(SnapshotError::NotAValue {
                name: self.name.clone(),
                of: self.of.unwrap_or_default(),
                entity: None,
                at: at + (row * self.size) as u64,
            }),
        }
    }

    /// Changes the entities that values name, one value behind the other, to those that they have become; whether they can
    /// name any.
    pub(super) fn map(&self, values: &mut [u8], entities: &EntityMap) -> bool {
        let Some(map) = &self.map_entities else {
            return false;
        };
        map.apply_to_each(values, self.size_here, entities);
        true
    }
}

/// Reads the fragments of a file, and finds them among those that are registered. Without a registry all are taken as the
/// file has them, and for known.
pub(super) fn read_fragments(
    reader: &mut Reader<'_>,
    header: Header,
    registered: Option<(&FragmentRegistry, &LoadOptions)>,
) -> Result<Vec<SavedFragment>, SnapshotError> {
    let mut fragments: Vec<SavedFragment> = Vec::new();
    let mut known = Known::new();
    for info in registered.iter().flat_map(|(registry, _)| registry.iter()) {
        known
            .entry((info.name(), info.kind()))
            .or_default()
            .push(info);
    }
    // All that are missing are told; if none is, all that have changed.
    let (mut missing, mut here, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen: HashMap<(Box<str>, FragmentKind), Seen> = HashMap::new();
    let too_many = reader.damaged("there are more fragments than a registry holds");
    let count = reader.u32("the directory ends early")?;
    if count as usize > FragmentRegistry::CAPACITY {
        return Err(too_many);
    }
    for _ in 0..count {
        let known = registered.map(|(_, options)| (&known, options));
        let (mut fragment, this) = match read_fragment(reader, header, known) {
            Ok((fragment, saved_as)) => (fragment, saved_as.at(fragments.len())),
            Err(SnapshotError::Unregistered { fragments, .. }) => {
                for MissingFragment { name, .. } in &fragments {
                    let roles = FragmentKind::ALL.into_iter();
                    let is_there =
                        |role| known.is_some_and(|(known, _)| known.contains_key(&(&**name, role)));
                    let there = roles.filter(|&role| is_there(role));
                    here.extend(there.map(|role| (name.clone(), role)));
                }
                // Two that are renamed to one are that one.
                let new = fragments.into_iter().filter(|new| !missing.contains(new));
                missing.extend(new.collect::<Vec<_>>());
                continue;
            }
            Err(SnapshotError::Layout { fragments }) => {
                changed.extend(fragments);
                continue;
            }
            Err(error) => return Err(error),
        };
        match seen.entry((fragment.name.clone(), fragment.kind)) {
            Entry::Vacant(new) => _ = new.insert(this),
            Entry::Occupied(other) if other.get().saved_as.name == this.saved_as.name => {
                return Err(reader.damaged("a fragment stands there twice"));
            }
            // What nobody has is in no one's way.
            Entry::Occupied(_) if !this.saved_as.is_needed => fragment.leave_out(),
            Entry::Occupied(mut other) if !other.get().saved_as.is_needed => {
                fragments[other.get().at].leave_out();
                other.insert(this);
            }
            Entry::Occupied(other) => {
                let names = [&other.get().saved_as.name, &this.saved_as.name];
                let name = &fragment.name;
                return Err(SnapshotError::RenamedAlike {
                    from: names.map(|saved| saved.as_ref().unwrap_or(name).clone()),
                    role: Some(fragment.kind),
                    to: fragment.name,
                });
            }
        }
        fragments.push(fragment);
    }
    if !missing.is_empty() {
        return Err(SnapshotError::Unregistered {
            fragments: missing.into(),
            here: here.into(),
        });
    }
    match changed.is_empty() {
        true => Ok(fragments),
        false => Err(SnapshotError::Layout {
            fragments: changed.into(),
        }),
    }
}

/// How a file has a fragment that is known by another name, perhaps.
struct SavedAs {
    /// What the file calls it, if that is something else.
    name: Option<Box<str>>,
    /// Some entity has it.
    is_needed: bool,
}

impl SavedAs {
    fn at(self, at: usize) -> Seen {
        Seen { saved_as: self, at }
    }
}

/// A fragment that was read, and its place among all of them.
struct Seen {
    saved_as: SavedAs,
    at: usize,
}

/// What a file says of a fragment.
struct Told {
    name: Box<str>,
    kind: FragmentKind,
    enableable: bool,
    align: u64,
    size: u64,
    /// 0: not known.
    shape: u64,
    is_written: bool,
    /// Those of the enum that its values are of, if they are told.
    variants: Box<[SavedVariant]>,
}

impl Told {
    /// As the file has it: `known` if it is to be taken for that, though nobody asks which one it is; `skipped` if it is
    /// to be left out.
    fn unfound(self, known: bool, skipped: bool, size: usize) -> SavedFragment {
        SavedFragment {
            name_hash: hash_of(&self.name),
            name: self.name,
            known: known.then_some(FragmentId::from_number(0)),
            skipped,
            kind: self.kind,
            size,
            size_here: size,
            align: self.align,
            align_here: self.align,
            shape: self.shape,
            of: None,
            is_value: None,
            map_entities: None,
            conversion: None,
            enableable: self.enableable,
            always_on: false,
            is_written: self.is_written,
        }
    }
}

/// Reads a fragment, and finds it among those that are registered; and what the file calls it, if it is called otherwise
/// now. One that no entity has, or that is left out, need not be there.
fn read_fragment(
    reader: &mut Reader<'_>,
    header: Header,
    known: Option<(&Known<'_>, &LoadOptions)>,
) -> Result<(SavedFragment, SavedAs), SnapshotError> {
    const EARLY: &str = "the directory ends early";
    let begin = reader.clone();
    let kind = kind_of_byte(reader.u8(EARLY)?);
    let kind = kind.ok_or_else(|| begin.damaged("there is no such role"))?;
    let is_needed = yes_or_no(reader)?;
    let enableable = yes_or_no(reader)?;
    let align = u64::from(reader.u32(EARLY)?);
    let size = reader.u64(EARLY)?;
    let shape = match header.has_shapes() {
        true => reader.u64(EARLY)?,
        false => 0,
    };
    let is_written = header.has_written() && yes_or_no(reader)?;
    let length = reader.u32(EARLY)? as usize;
    // A copy: bytes of the file may be no text any more when they are looked at again.
    let name = String::from_utf8(reader.take(length, EARLY)?.to_vec())
        .map_err(|_| begin.damaged("a fragment's name is no text"))?;
    let one_by_one = matches!(kind, FragmentKind::Fragment | FragmentKind::Tag);
    if enableable && !one_by_one {
        return Err(begin.damaged("what is switched off is a fragment or a tag"));
    }
    // Of what has no bytes a file could have any number, in any number of chunks.
    if one_by_one && (size == 0) != (kind == FragmentKind::Tag) {
        return Err(begin.damaged("a fragment has bytes, and a tag has none"));
    }
    if is_written && matches!(kind, FragmentKind::Tag | FragmentKind::Chunk) {
        return Err(begin.damaged("what is written is a fragment, or a shared one"));
    }
    let (name, saved_name) = match known.and_then(|(_, options)| options.renamed(&name, kind)) {
        Some(now) if now != name => (now.into(), Some(name.into_boxed_str())),
        _ => (name.into_boxed_str(), None),
    };
    let saved_as = SavedAs {
        name: saved_name,
        is_needed,
    };
    let skipped = known.is_some_and(|(_, options)| options.skips(&name));
    let variants = match header.has_variants() {
        true => read_variants(reader, size)?,
        false => Box::default(),
    };
    let told = Told {
        shape,
        is_written,
        name,
        kind,
        enableable,
        align,
        size,
        variants,
    };
    let size = usize::try_from(size).map_err(|_| begin.damaged("no value is so large"));
    let known = match known {
        None => return Ok((told.unfound(true, false, size?), saved_as)),
        Some(_) if skipped => return Ok((told.unfound(false, true, size?), saved_as)),
        Some(known) => known,
    };
    let fragment = match find_fragment(&told, known) {
        Ok((info, conversion)) => SavedFragment {
            name: info.name().into(),
            name_hash: hash_of(info.name()),
            known: Some(info.id()),
            skipped: false,
            kind,
            size: size?,
            size_here: info.layout().size(),
            align,
            align_here: info.layout().align() as u64,
            shape,
            of: info.plain_type_name(),
            is_value: info.which_are_values().cloned(),
            map_entities: info.map_entities().cloned(),
            conversion,
            enableable,
            always_on: enableable && !info.is_enableable(),
            is_written,
        },
        Err(_) if !is_needed => told.unfound(false, false, size?),
        Err(error) => return Err(error),
    };
    Ok((fragment, saved_as))
}

/// The registered fragment of which a file tells, and what makes its values of those of the file, if these are others.
fn find_fragment<'r>(
    told: &Told,
    (known, options): (&Known<'r>, &LoadOptions),
) -> Result<(&'r FragmentInfo, Option<Conversion>), SnapshotError> {
    let (name, kind) = (told.name.clone(), told.kind);
    let info = match known.get(&(&*name, kind)).map(Vec::as_slice) {
        Some([info]) => *info,
        None | Some([]) => {
            // Those of other names are for who reads them all.
            let missing = MissingFragment {
                name,
                kind,
                size: told.size,
                align: told.align,
                shape: told.shape,
                is_written: told.is_written,
            };
            return Err(SnapshotError::Unregistered {
                fragments: [missing].into(),
                here: Box::default(),
            });
        }
        Some([one, other, ..]) => return Err(SnapshotError::ambiguous(one, other)),
    };
    // Asked once, and first: another thread may say meanwhile how values are saved, and what was said stays. Until then a
    // fragment is refused, whatever is said of it while it is looked at: bytes of the file are never taken for plain values
    // of a type that is written by now.
    let is_readable = readable(info, Purpose::Save);
    #[cfg(test)]
    tests::after_it_was_asked(info);
    let not_plain = |name| Err(SnapshotError::NotPlain { name });
    if !is_readable && told.is_written {
        return not_plain(name);
    }
    if is_readable && told.is_written != info.is_written() {
        return Err(SnapshotError::WrittenOtherwise {
            name,
            kind,
            is_written: told.is_written,
        });
    }
    if is_readable && told.is_written {
        // In whatever form: who reads it knows.
        return Ok((info, None));
    }
    let (size, align) = (info.layout().size(), info.layout().align());
    let same_layout = (told.size, told.align) == (size as u64, align as u64);
    let fits = same_layout && !are_others(told.shape, info.shape());
    let form = Form {
        size: told.size,
        align: told.align,
        shape: told.shape,
    };
    let conversion = options.conversion(&name, form, info, fits);
    // What is converted is, also where nobody asks for fields.
    let fits = fits || (same_layout && options.takes(&name, form));
    let conversion = match conversion {
        None if !fits => Conversion::by_variants(&told.variants, told.size, info),
        conversion => conversion.map(|conversion| conversion.making(info)),
    };
    if !fits && conversion.is_none() {
        let changed = ChangedLayout {
            name,
            kind: info.kind(),
            saved_size: told.size,
            saved_align: told.align,
            saved_shape: told.shape,
            size,
            align,
            shape: info.shape(),
        };
        return Err(SnapshotError::Layout {
            fragments: [changed].into(),
        });
    }
    match is_readable {
        true => Ok((info, conversion)),
        false => not_plain(name),
    }
}

#[cfg(test)]
mod tests {
    use core::cell::RefCell;
    use std::sync::Arc;

    use super::*;
    use crate::archetype::Universe;
    use crate::world::World;
    use crate::world::snapshot::SnapshotOptions;

    type Hook = Box<dyn Fn(&FragmentInfo)>;

    std::thread_local! {
        /// What another thread does when it was asked whether a fragment is readable, and nothing else yet.
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    pub(super) fn after_it_was_asked(info: &FragmentInfo) {
        HOOK.with_borrow(|hook| hook.iter().for_each(|hook| hook(info)));
    }

    /// Writes and reads a number, which is plain data elsewhere.
    fn register_written(registry: &FragmentRegistry, name: &str) {
        let write = |number: &u64, bytes: &mut Vec<u8>| bytes.extend(number.to_le_bytes());
        let read = |bytes: &[u8], _: &EntityMap| bytes.try_into().map(u64::from_le_bytes);
        let registered = registry.register_written_as::<u64, _, _>(name, write, read);
        registered.unwrap();
    }

    /// Loads a file in whose universe there is only the type, of which a thread says how it is saved when it was asked.
    fn loaded_while(file: &[u8], say: fn(&FragmentRegistry, &str)) -> SnapshotError {
        let universe = Arc::new(Universe::new());
        universe.registry().register::<u64>().unwrap();
        let registering = Arc::clone(&universe);
        HOOK.set(Some(Box::new(move |info| {
            say(registering.registry(), info.name());
        })));
        let refused = World::from_snapshot_remapped(
            file,
            &universe,
            &EntityMap::default(),
            &Default::default(),
        )
        .unwrap_err();
        HOOK.set(None);
        let info = universe.registry().of::<u64>().unwrap();
        assert!(info.is_written() || info.is_plain());
        refused
    }

    #[test]
    fn what_is_said_of_a_type_while_a_file_is_read_is_for_the_next_file() {
        let register_plain = |registry: &FragmentRegistry, _: &str| {
            registry.register_plain::<u64>().unwrap();
        };
        let name = core::any::type_name::<u64>();
        for is_written in [false, true] {
            let universe = Arc::new(Universe::new());
            match is_written {
                true => register_written(universe.registry(), name),
                false => register_plain(universe.registry(), name),
            }
            let mut world = World::of(&universe).unwrap();
            world.create((7_u64,)).unwrap();
            let file = world.to_snapshot(&SnapshotOptions::new()).unwrap();
            for say in [register_written, register_plain] {
                let refused = loaded_while(&file, say);
                let is_it =
                    matches!(&refused, SnapshotError::NotPlain { name: of } if **of == *name);
                assert!(is_it, "{refused}");
            }
        }
    }
}
