//! Some entities of a world go into a file of their own, and nothing else of it.
//!
//! Who lies in which chunk there: those who have the same composition, shared values and chunk fragments are together in
//! one, in the order in which they were named. A file that comes with new ids says what it likes of chunks: they are cut up
//! where they come.

use std::collections::{BTreeMap, HashMap};

use crate::archetype::{Archetype, Chunk, Row, SharedId, read_bit};
use crate::chunk::MEGACHUNK_CHUNKS;
use crate::entity::Entity;
use crate::fragment::{FragmentId, FragmentInfo, FragmentSet};
use crate::hashers::ByNumbers;
use crate::world::World;
use crate::world::snapshot::besides::Besides;
use crate::world::snapshot::checksum::Checksum;
use crate::world::snapshot::format::Header;
use crate::world::snapshot::options::Purpose;
use crate::world::snapshot::write::{
    RowForm, bytes_of, format_of, is_ambiguous, list_fragments, number, templates_of,
    templates_of_world, write_composition, write_shared,
};
use crate::world::snapshot::written::{WrittenColumn, WrittenColumns};
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

impl World {
    /// Saves these entities, and nothing else of the world: what a designer copies, a group that is placed again and again
    /// (a prefab), a player's own save. [`from_snapshot_remapped`](Self::from_snapshot_remapped) and its like load the
    /// bytes, into this universe or another, with new ids; with the old ones they are not loaded
    /// ([`SnapshotError::DeadSkipped`]), because nothing is said of who was dead.
    ///
    /// Saved are the entities' fragments in all roles, what of them is switched off, and their names. Not: resources, the
    /// world's time, signals that wait. A chunk fragment has the value that it has for the entity now. Handles of others in
    /// the values stay in the file, and mean whom the one who loads it says: see
    /// [`load_remapped`](Self::load_remapped), where a map that [keeps all
    /// others](crate::entity::EntityMap::keeping_others) pastes into the same universe. Of those with the same composition,
    /// shared values and chunk fragments, those who were named first lie first.
    ///
    /// O(bytes of their values + entities log entities + fragments of their compositions): others are not looked at, however
    /// many there are. The same entities of the same world in the same order give the same bytes.
    ///
    /// ```
    /// use megachunk::entity::EntityMap;
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Wheel { of: Entity, beside: Entity }
    /// megachunk::plain!(Wheel { of, beside });
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain_as::<Wheel>("wheel")?;
    /// let road = world.create(())?;
    /// let car = world.create(())?;
    /// let wheel = world.create((Wheel { of: car, beside: road },))?;
    ///
    /// // Copy: the car and its wheel, and not the road.
    /// let copied = world.slice_to_snapshot(&[car, wheel], &Default::default())?;
    /// // Paste. Who was not copied is still who he was.
    /// let known = EntityMap::default().keeping_others();
    /// let (mut pasted, come) = World::from_snapshot_remapped(&copied, world.universe(), &known, &Default::default())?;
    /// pasted.move_all_to(&mut world)?;
    /// let (second, its) = (come.get(car).unwrap(), come.get(wheel).unwrap());
    /// let Wheel { of, beside } = *world.get::<Wheel>(its)?;
    /// assert_eq!((of, beside, world.count()), (second, road, 5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::World`] of a handle that is refused, as those of the dead are; [`SnapshotError::EntityTwice`];
    /// [`SnapshotError::NotPlain`], [`SnapshotError::Unloadable`], [`SnapshotError::NotWritten`],
    /// [`SnapshotError::Ambiguous`] of fragments of these entities.
    #[doc(alias = "copy")]
    #[doc(alias = "clipboard")]
    #[doc(alias = "prefab")]
    pub fn slice_to_snapshot(
        &self,
        entities: &[Entity],
        options: &SnapshotOptions,
    ) -> Result<Vec<u8>, SnapshotError> {
        none_twice(entities)?;
        let slice = Slice::of(self, entities, options)?;
        slice.check()?;
        Ok(slice.to_bytes())
    }
}

fn none_twice(entities: &[Entity]) -> Result<(), SnapshotError> {
    let mut sorted = entities.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(SnapshotError::EntityTwice { entity: pair[0] }),
        None => Ok(()),
    }
}

/// What is to be written.
struct Slice<'w> {
    world: &'w World,
    parts: Vec<Part<'w>>,
    /// By name and role; their places here are their numbers in the file.
    fragments: Vec<&'w FragmentInfo>,
    numbers: HashMap<FragmentId, u32, ByNumbers>,
    /// Those that could be switched off when the saving began.
    enableable: FragmentSet,
    /// Each with its fragment.
    shared: Vec<(FragmentId, SharedId)>,
    /// The shared values that closures have written.
    written: WrittenColumns,
    besides: Besides<'w>,
}

/// Those of a composition.
struct Part<'w> {
    data: &'w Archetype,
    infos: Vec<&'w FragmentInfo>,
    chunks: Vec<Together>,
}

/// Those who lie in one chunk of the file.
struct Together {
    /// The numbers of their shared values.
    key: Vec<u32>,
    /// One at least. What is one for all of them is that of the first.
    rows: Vec<Row>,
    /// The columns that closures have written, in the order of the composition's fragments, each with its fragment.
    written: Vec<(FragmentId, WrittenColumn)>,
}

impl<'w> Slice<'w> {
    fn of(
        world: &'w World,
        entities: &[Entity],
        options: &SnapshotOptions,
    ) -> Result<Self, SnapshotError> {
        let mut by_archetype: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        for &entity in entities {
            let (archetype, row) = world.find(entity)?;
            by_archetype.entry(archetype).or_default().push(row);
        }
        let mut slice = Self {
            world,
            parts: Vec::with_capacity(by_archetype.len()),
            fragments: Vec::new(),
            numbers: HashMap::default(),
            enableable: FragmentSet::new(),
            shared: Vec::new(),
            written: WrittenColumns::default(),
            besides: Besides::of_named(world, entities, options),
        };
        let mut shared_numbers = HashMap::new();
        for (archetype, rows) in by_archetype {
            let data = &world.archetypes[archetype as usize];
            let infos = options.of_archetype(world, data, Purpose::Save)?;
            let mut chunks = slice.together(data, &infos, rows, &mut shared_numbers);
            slice.write_values(data, &infos, &mut chunks)?;
            slice.fragments.extend(&infos);
            slice.parts.push(Part {
                data,
                infos,
                chunks,
            });
        }
        slice.number_fragments()?;
        Ok(slice)
    }

    /// Puts rows together that are to lie in one chunk.
    fn together(
        &mut self,
        data: &Archetype,
        infos: &[&FragmentInfo],
        rows: Vec<Row>,
        shared_numbers: &mut HashMap<SharedId, u32>,
    ) -> Vec<Together> {
        let mut chunks: Vec<Together> = Vec::new();
        let mut of_chunk: HashMap<u32, usize, ByNumbers> = HashMap::default();
        let mut alike: HashMap<(Vec<u32>, Vec<u8>), usize> = HashMap::new();
        for row in rows {
            let at = *of_chunk.entry(row.chunk).or_insert_with(|| {
                let chunk = &data.chunks[row.chunk as usize];
                let mut key = Vec::new();
                let values = &data.groups[chunk.group as usize].key;
                for info in infos {
                    if let Some(at) = data.shared_at(info.id()) {
                        let next = self.shared.len() as u32;
                        key.push(*shared_numbers.entry(values[at]).or_insert_with(|| {
                            self.shared.push((info.id(), values[at]));
                            next
                        }));
                    }
                }
                let once = chunk_values(data, chunk, infos).flatten().copied();
                let next = chunks.len();
                let at = *alike.entry((key.clone(), once.collect())).or_insert(next);
                if at == next {
                    let (rows, written) = (Vec::new(), Vec::new());
                    chunks.push(Together { key, rows, written });
                }
                at
            });
            chunks[at].rows.push(row);
        }
        chunks
    }

    /// Has closures write the values of those who lie together, and the shared ones that they have.
    fn write_values(
        &mut self,
        data: &'w Archetype,
        infos: &[&FragmentInfo],
        chunks: &mut [Together],
    ) -> Result<(), SnapshotError> {
        for &info in infos.iter().filter(|info| info.is_written()) {
            for chunk in &mut *chunks {
                if let Some(at) = data.column_of(info.id()) {
                    let (offset, size) = (data.columns[at].offset, info.layout().size());
                    let rows = chunk.rows.iter();
                    let values = rows.map(|row| {
                        let first = data.chunks[row.chunk as usize].array(offset);
                        let value = first.wrapping_add(row.row as usize * size);
                        (entity_in(data, *row), value.cast_const())
                    });
                    // SAFETY: the fragment's values, in rows of a world that is lent.
                    let column = unsafe { WrittenColumn::of(info, values) }?;
                    chunk.written.push((info.id(), column));
                } else {
                    let first = &data.chunks[chunk.rows[0].chunk as usize];
                    self.written.add_shared(self.world, data, first, info)?;
                }
            }
        }
        Ok(())
    }

    /// Gives the fragments of all parts their numbers.
    fn number_fragments(&mut self) -> Result<(), SnapshotError> {
        self.fragments.sort_unstable_by_key(|info| info.id());
        self.fragments.dedup_by_key(|info| info.id());
        self.fragments
            .sort_by(|a, b| (a.name(), a.kind()).cmp(&(b.name(), b.kind())));
        if let Some(pair) = self.fragments.windows(2).find(|pair| is_ambiguous(pair)) {
            return Err(SnapshotError::ambiguous(pair[0], pair[1]));
        }
        let ids = || self.fragments.iter().map(|info| info.id());
        self.numbers = ids().zip(0..).collect();
        let switches = self.fragments.iter().filter(|info| info.is_enableable());
        self.enableable = switches.map(|info| info.id()).collect();
        Ok(())
    }

    /// Whether all values, of those of which not all bytes are one, will be taken for values when they are loaded.
    fn check(&self) -> Result<(), SnapshotError> {
        let unloadable = |info: &FragmentInfo, entity| SnapshotError::Unloadable {
            name: info.name().into(),
            entity,
        };
        for Part {
            data,
            infos,
            chunks,
        } in &self.parts
        {
            for info in infos {
                let Some(which) = info.which_are_values() else {
                    continue;
                };
                let in_column = data.column_of(info.id()).is_some();
                for chunk in chunks {
                    // Else they have one together.
                    let asked = if in_column { chunk.rows.len() } else { 1 };
                    let values = self.values(data, info, &chunk.rows[..asked]);
                    if let Some(at) = which.first_other_of(values) {
                        let entity = entity_in(data, chunk.rows[at]);
                        return Err(unloadable(info, Some(entity)));
                    }
                }
            }
        }
        let begin = self.parts.iter();
        let begin = begin.flat_map(|part| templates_of(part.data, &part.infos));
        let mut begin = begin.chain(templates_of_world(self.world, &self.fragments));
        match begin.find(|(info, bytes)| !info.is_value(bytes)) {
            Some((info, _)) => Err(unloadable(info, None)),
            None => Ok(()),
        }
    }

    /// The values of a fragment in rows, in each of which it is, or each of which has it together with others; of a tag no
    /// bytes.
    fn values<'s>(
        &'s self,
        data: &'s Archetype,
        info: &'s FragmentInfo,
        rows: &'s [Row],
    ) -> impl Iterator<Item = &'s [u8]> {
        let size = info.layout().size();
        let column = data.column_of(info.id()).map(|at| data.columns[at].offset);
        let shared = data.shared_at(info.id());
        let once = data.chunk_value_of(info.id()).map(|value| value.offset);
        rows.iter().map(move |row| {
            let chunk = &data.chunks[row.chunk as usize];
            let value = match (column, shared, once) {
                (Some(column), ..) => chunk
                    .array(column)
                    .wrapping_add(row.row as usize * size)
                    .cast_const(),
                (_, Some(at), _) => self.world.shared_at(data, chunk, at),
                (.., Some(once)) => chunk.array(once).cast_const(),
                (None, None, None) => return &[][..],
            };
            // SAFETY: a plain value of this fragment, which changes only through `&mut` of the world.
            unsafe { bytes_of(value, size) }
        })
    }

    /// Bytes of all rows, as a file has them.
    fn row_bytes(&self) -> usize {
        let parts = self.parts.iter().flat_map(|part| {
            let form = RowForm::of(part.data, &part.infos, &self.enableable);
            let bytes = move |chunk: &Together| {
                let written = chunk.written.iter().map(|(_, column)| column.file_bytes());
                form.bytes(chunk.rows.len()) + written.sum::<u64>() as usize
            };
            part.chunks.iter().map(bytes)
        });
        parts.sum()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let rows = self.row_bytes();
        let mut out = Vec::with_capacity(Header::BYTES + rows);
        out.resize(Header::BYTES, 0);
        let mut directory = Vec::new();
        // Of no versions.
        directory.extend(Checksum::of(&[]).to_le_bytes());
        let format = format_of(&self.fragments);
        list_fragments(
            &mut directory,
            format,
            &self.fragments,
            |_| true,
            &self.enableable,
        );
        number(&mut directory, 1);
        number(&mut directory, self.world.chunks_per_chunk);
        directory.push(self.world.chunks_grow.into());
        let templates: Vec<_> = templates_of_world(self.world, &self.fragments).collect();
        number(&mut directory, templates.len());
        for (info, bytes) in templates {
            directory.extend(self.numbers[&info.id()].to_le_bytes());
            directory.extend(bytes);
        }
        number(&mut directory, self.shared.len());
        for &(fragment, value) in &self.shared {
            let fragment = self.numbers[&fragment];
            directory.extend(fragment.to_le_bytes());
            let info = self.fragments[fragment as usize];
            let value = self.world.shared.get(value);
            write_shared(info, value, &self.written, &mut directory);
        }
        number(&mut directory, self.parts.len());
        for part in &self.parts {
            self.write_part(part, &mut out, &mut directory);
        }
        self.besides.write(&mut directory);
        debug_assert_eq!(out.len(), Header::BYTES + rows);
        let header = Header {
            format,
            bytes: (out.len() + directory.len()) as u64,
            directory: out.len() as u64,
            directory_checksum: Checksum::of(&directory),
            slots: None,
        };
        out[..Header::BYTES].copy_from_slice(&header.to_bytes());
        out.reserve_exact(directory.len());
        out.extend(directory);
        out
    }

    /// A composition's chunks, and its part of the directory.
    fn write_part(&self, part: &Part<'_>, out: &mut Vec<u8>, directory: &mut Vec<u8>) {
        let Part {
            data,
            infos,
            chunks,
        } = part;
        write_composition(data, infos, |id| self.numbers[&id], directory);
        number(directory, chunks.len());
        // All may have room: each has a place among those with the same shared values.
        let mut places: HashMap<&[u32], u32> = HashMap::new();
        for chunk in chunks {
            number(directory, chunk.rows.len());
            directory.extend(chunk.run(data).to_le_bytes());
            let place = places.entry(&chunk.key).or_default();
            directory.extend(place.to_le_bytes());
            *place += 1;
            for value in &chunk.key {
                directory.extend(value.to_le_bytes());
            }
            for (_, column) in &chunk.written {
                directory.extend(column.file_bytes().to_le_bytes());
            }
            let begin = out.len();
            self.write_rows(data, infos, chunk, out);
            directory.extend(Checksum::of(&out[begin..]).to_le_bytes());
        }
    }

    /// The bytes of a chunk: see `format`.
    fn write_rows(
        &self,
        data: &Archetype,
        infos: &[&FragmentInfo],
        chunk: &Together,
        out: &mut Vec<u8>,
    ) {
        let rows = &chunk.rows[..];
        let mut written = chunk.written.iter().peekable();
        for row in rows {
            let entity = entity_in(data, *row);
            out.extend(entity.index().to_ne_bytes());
            out.extend(entity.version().to_ne_bytes());
        }
        for info in infos {
            if let Some((_, column)) = written.next_if(|(of, _)| *of == info.id()) {
                column.write_to(out);
            } else if data.column_of(info.id()).is_some() {
                self.values(data, info, rows)
                    .for_each(|value| out.extend(value));
            }
            if self.enableable.contains(info.id()) {
                out.extend(bits(data, info.id(), rows));
            }
            if data.chunk_value_of(info.id()).is_some() {
                self.values(data, info, &rows[..1])
                    .for_each(|value| out.extend(value));
            }
        }
    }
}

impl Together {
    /// How many chunks of 16 KiB they fill, as far as one chunk can.
    fn run(&self, data: &Archetype) -> u32 {
        let shortest = self
            .rows
            .len()
            .div_ceil(data.least_capacity.max(1) as usize);
        let times = shortest.next_power_of_two();
        let most = (MEGACHUNK_CHUNKS / data.run.max(1) as usize).max(1);
        // To 2 to the power of something: what is longer is cut up where it comes.
        data.run * times.min(1 << most.ilog2()) as u32
    }
}

fn entity_in(data: &Archetype, row: Row) -> Entity {
    data.chunks[row.chunk as usize].entities()[row.row as usize]
}

/// The values that a chunk has once, of the chunk fragments among these.
fn chunk_values<'s>(
    data: &'s Archetype,
    chunk: &'s Chunk,
    infos: &'s [&FragmentInfo],
) -> impl Iterator<Item = &'s [u8]> {
    infos.iter().filter_map(|info| {
        let value = chunk.array(data.chunk_value_of(info.id())?.offset);
        // SAFETY: a plain value of this fragment.
        Some(unsafe { bytes_of(value, info.layout().size()) })
    })
}

/// The enabled bits of rows; set where the archetype has none for this fragment.
fn bits(data: &Archetype, id: FragmentId, rows: &[Row]) -> Vec<u8> {
    let mut words = vec![0_u64; rows.len().div_ceil(64)];
    let bits = data.enabled_of(id);
    for (at, row) in rows.iter().enumerate() {
        let chunk = &data.chunks[row.chunk as usize];
        // SAFETY: a row of the chunk.
        let on = bits.is_none_or(|bits| unsafe { read_bit(chunk.array(bits.offset), row.row) });
        words[at / 64] |= u64::from(on) << (at % 64);
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
