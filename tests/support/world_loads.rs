//! Worlds that are saved and loaded with options: without some fragments, so that compositions that only these told apart
//! become one, and chunks without entities stand among others; without names; where two tags have changed their names; from
//! a file; and by way of universes in which fragments are of other types, or of none.

use std::alloc::Layout;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use megachunk::entity::EntityMap;
use megachunk::fragment::{FieldDefinition, FragmentId, FragmentRegistry};
use megachunk::prelude::*;
use megachunk::world::{LoadOptions, SnapshotError, SnapshotOptions, Universe};

use crate::world_bulk::{id, kinds_in};
use crate::world_changes::Changes;
use crate::world_fragments::{Awake, Kind, Matrix, Small, Species, Switch, Tag};
use crate::world_machine::{Machine, WORLDS, begin, universe_for};
use crate::world_naive::Naive;
use crate::world_probes::{self, Watch};
use crate::world_required::requiring;
use crate::world_row::Row;

/// What the bits of the number say with which a [load](crate::world_more::MoreOp::Load) is made: with new ids, beside the
/// worlds that are.
const NEW_IDS: u8 = 1 << 0;
/// What is left out is not saved at all, but for a load to leave it out.
const ON_SAVING: u8 = 1 << 1;
const WITHOUT_NAMES: u8 = 1 << 2;
/// What the file calls a tag is a switch, and the other way round.
const RENAMED: u8 = 1 << 3;
const THROUGH_A_FILE: u8 = 1 << 4;
/// By way of a universe with [`Points`].
const OLD_TYPES: u8 = 1 << 5;
/// By way of a universe in which structs are defined at run time.
const DEFINED: u8 = 1 << 6;

/// What [`Small`] was once, under another name.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
struct Points {
    points: u32,
}
megachunk::plain!(Points { points });
const POINTS: &str = "points, as they were";

/// A file that ends with this.
struct PassingFile(PathBuf);

impl PassingFile {
    fn of(bytes: &[u8]) -> Self {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let name = format!("megachunk-oracle-{}-{number}", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        World::save_snapshot(bytes, file.path()).unwrap();
        file
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PassingFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What is called as this kind of fragment is.
fn name_of(kind: Kind, registry: &FragmentRegistry) -> &str {
    registry.get(id(kind, registry)).unwrap().name()
}

/// All that is saved, but what files have in place of small values and switches.
fn register_others(registry: &FragmentRegistry) {
    registry.register_plain::<Tag>().unwrap();
    registry.register_plain::<Matrix>().unwrap();
    registry.register_plain::<Awake>().unwrap();
    registry.register_enableable::<Awake>().unwrap();
    registry.register_plain::<ConstShared<Species>>().unwrap();
}

/// The bytes of all of these.
fn saved(worlds: &[World]) -> Vec<u8> {
    worlds.iter().for_each(|world| world.check().unwrap());
    let all: Vec<&World> = worlds.iter().collect();
    World::worlds_to_snapshot(&all, &SnapshotOptions::new()).unwrap()
}

impl Machine {
    /// Saves both worlds, and goes on with what is loaded, with options.
    pub(crate) fn load(&mut self, left_out: u16, how: u8) {
        let says = |bit: u8| how & bit != 0;
        let left_out = kinds_in(left_out & 0x7fff);
        let mut model = self.model.clone();
        let (mut bytes, expected) = self.save_without(&left_out, how, &mut model);
        let mut load = LoadOptions::new();
        if says(OLD_TYPES) {
            (bytes, load) = self.by_way_of_old_types(&bytes, &model);
        }
        if says(DEFINED) {
            bytes = self.by_way_of_structs(&bytes, &load, &mut model);
            load = LoadOptions::new();
        }
        let mut refused = false;
        if says(RENAMED) {
            let registry = self.universe.registry();
            let [tag, awake] = [Kind::Tag, Kind::Awake].map(|kind| name_of(kind, registry));
            load = load.rename(tag, awake).rename(awake, tag);
            // What is left out is called as it is now. A tag cannot be off.
            let comes = says(ON_SAVING) || !left_out.contains(&Kind::Tag);
            refused = rename_tags(&mut model) && comes;
        }
        if !says(ON_SAVING) {
            let registry = self.universe.registry();
            let names = left_out.iter().map(|&kind| name_of(kind, registry));
            load = names.fold(load, LoadOptions::skip);
            leave_out(&mut model, &left_out);
        }
        let file = says(THROUGH_A_FILE).then(|| PassingFile::of(&bytes));
        let file = file.as_ref().map(PassingFile::path);
        let loaded = match says(NEW_IDS) {
            true => {
                let (universe, known) = (&self.universe, EntityMap::default());
                let loaded = match file {
                    Some(file) => World::load_worlds_remapped(file, universe, &known, &load),
                    None => World::worlds_from_snapshot_remapped(&bytes, universe, &known, &load),
                };
                loaded.map(|(worlds, entities)| (worlds, Some(entities)))
            }
            false => {
                let universe = requiring(self, self.model.required);
                let loaded = match file {
                    Some(file) => World::load_worlds(file, universe, &load),
                    None => World::worlds_from_snapshot(&bytes, universe, &load),
                };
                loaded.map(|worlds| (worlds, None))
            }
        };
        let (loaded, entities) = match loaded {
            Ok(loaded) => loaded,
            Err(error) => {
                let error = match error {
                    SnapshotError::In { error, .. } => *error,
                    error => error,
                };
                let is_off = matches!(error, SnapshotError::NotEnableable { .. });
                return assert!(refused && is_off, "{error}");
            }
        };
        assert!(!refused, "a tag was loaded that is off");
        if entities.is_none() && how & (RENAMED | DEFINED) == 0 {
            let options = self.plain_options();
            for (world, expected) in loaded.iter().zip(expected) {
                assert_eq!(world.state_hash(&options).unwrap(), expected);
            }
        }
        match entities {
            None => model.reload(),
            Some(entities) => model.reload_as(|entity| entities.get(entity).unwrap()),
        }
        self.model = model;
        (0..WORLDS).for_each(|at| self.end_recorded(at));
        self.go_on_with(loaded);
    }

    /// Goes on with worlds that were loaded, of this universe or of another one.
    pub(crate) fn go_on_with(&mut self, mut loaded: Vec<World>) {
        assert_eq!(loaded.len(), WORLDS);
        if !Arc::ptr_eq(&self.universe, loaded[0].universe()) {
            self.universe = Arc::clone(loaded[0].universe());
            self.queries = world_probes::all(&loaded[0]).unwrap();
        }
        for (at, world) in loaded.iter_mut().enumerate() {
            begin(world, at, self.hands, self.ears.as_ref());
        }
        self.watches = loaded
            .iter()
            .map(|world| Watch::new(world).unwrap())
            .collect();
        self.changes = loaded.iter().map(Changes::new).collect();
        self.forks = [false; WORLDS];
        self.worlds = loaded;
    }

    /// The bytes of both worlds, and the hashes of what is to come of them.
    fn save_without(
        &self,
        left_out: &[Kind],
        how: u8,
        model: &mut Naive,
    ) -> (Vec<u8>, [u64; WORLDS]) {
        let registry = self.universe.registry();
        let (mut options, mut comes) = (self.plain_options(), self.plain_options());
        for &kind in left_out {
            comes = comes.skip(id(kind, registry));
        }
        if how & WITHOUT_NAMES != 0 {
            options = options.skip_names();
            model.forget_names();
        }
        for at in 0..WORLDS {
            model.rows_mut(at).for_each(|(_, row)| row.keep_plain());
        }
        if how & ON_SAVING != 0 {
            let stays = Kind::ALL
                .into_iter()
                .filter(|kind| kind.is_plain() && !left_out.contains(kind));
            options = options.only(stays.map(|kind| id(kind, registry)));
            leave_out(model, left_out);
        }
        let both = [&self.worlds[0], &self.worlds[1]];
        let bytes = World::worlds_to_snapshot(&both, &options).unwrap();
        let hashes = both.map(|world| world.state_hash(&comes).unwrap());
        (bytes, hashes)
    }

    /// Loads worlds where small values are [`Points`], and saves them: with what loads them here.
    fn by_way_of_old_types(&self, bytes: &[u8], model: &Naive) -> (Vec<u8>, LoadOptions) {
        let universe = universe_for(self.hands);
        let registry = universe.registry();
        registry.register_plain_as::<Points>(POINTS).unwrap();
        registry.register_plain::<Switch>().unwrap();
        registry.register_enableable::<Switch>().unwrap();
        register_others(registry);
        let small = name_of(Kind::Small, self.universe.registry());
        let load = LoadOptions::new()
            .rename(small, POINTS)
            .take_as_is::<Small>(POINTS);
        let worlds = World::worlds_from_snapshot(bytes, universe, &load).unwrap();
        for (at, world) in worlds.iter().enumerate() {
            for (entity, row) in model.rows(at) {
                let points = world.get::<Points>(entity).ok();
                assert_eq!(points.map(|points| points.points), row.get(Kind::Small));
            }
        }
        let back = LoadOptions::new()
            .rename(POINTS, small)
            .take_as_is::<Points>(small);
        (saved(&worlds), back)
    }

    /// Loads worlds where small values and switches are structs that are defined at run time, changes them, and saves them.
    fn by_way_of_structs(&self, bytes: &[u8], load: &LoadOptions, model: &mut Naive) -> Vec<u8> {
        let universe = universe_for(self.hands);
        let (small, switch) = define(&universe, self.universe.registry());
        let mut worlds = World::worlds_from_snapshot(bytes, universe, load).unwrap();
        for (at, world) in worlds.iter_mut().enumerate() {
            begin(world, at, self.hands, None);
            self.change_structs((at, world), [small, switch], model);
            expect_structs((at, world), [small, switch], model);
        }
        saved(&worlds)
    }

    /// Changes values of structs, and who has one: at once, and by a recorder.
    fn change_structs(
        &self,
        (at, world): (usize, &mut World),
        [small, switch]: [FragmentId; 2],
        model: &mut Naive,
    ) {
        expect_structs((at, world), [small, switch], model);
        let builder = DynamicQuery::builder(world).write(small);
        let mut query = builder.build().unwrap();
        query.on(world).unwrap().for_each_chunk(|mut chunk| {
            let bytes = chunk.write(small).unwrap().bytes().unwrap();
            for value in bytes.chunks_exact_mut(4) {
                let was = u32::from_ne_bytes([value[0], value[1], value[2], value[3]]);
                value.copy_from_slice(&was.wrapping_add(3).to_ne_bytes());
            }
        });
        for (_, row) in model.rows_mut(at) {
            if let Some(value) = row.get_mut(Kind::Small) {
                *value = value.wrapping_add(3);
            }
        }
        let all = |has: bool, kind| {
            let rows = model.rows(at);
            let all = rows.filter(|(_, row)| row.has(kind) == has);
            all.map(|(entity, _)| entity).collect::<Vec<_>>()
        };
        let (without_small, with_switch) = (all(false, Kind::Small), all(true, Kind::Switch));
        let value = |id, bytes: &[u8]| Value::from_bytes(world.registry(), id, bytes).unwrap();
        let mut commands = world.commands();
        for &entity in without_small.iter().skip(1).step_by(2) {
            let come = value(small, &entity.index().to_ne_bytes());
            commands.add_dynamic(entity, come.into()).unwrap();
        }
        for &entity in with_switch.iter().step_by(3) {
            commands.remove_dynamic(entity, &[switch]).unwrap();
        }
        drop(commands);
        let report = world.flush();
        assert!(report.refused.is_empty(), "{report:?}");
        if let Some(&first) = without_small.first() {
            let value = Value::from_bytes(world.registry(), small, &first.index().to_ne_bytes());
            world.add_dynamic(first, value.unwrap().into()).unwrap();
        }
        let come = without_small.iter().skip(1).step_by(2);
        for &entity in come.chain(without_small.first()) {
            let row = model.row_mut(at, entity).unwrap();
            row.set(Kind::Small, entity.index());
        }
        for &entity in with_switch.iter().step_by(3) {
            model.row_mut(at, entity).unwrap().remove(&[Kind::Switch]);
        }
    }
}

/// Defines what stands for small values and switches.
fn define(universe: &Universe, here: &FragmentRegistry) -> (FragmentId, FragmentId) {
    let registry = universe.registry();
    let define = |kind, field| {
        let info = registry.define_struct(name_of(kind, here), &[field]);
        info.unwrap().id()
    };
    let small = define(Kind::Small, FieldDefinition::of::<u32>("0"));
    let switch = define(Kind::Switch, FieldDefinition::of::<u16>("0"));
    assert_eq!(
        registry.get(small).unwrap().layout(),
        Layout::new::<Small>()
    );
    registry.make_enableable(switch).unwrap();
    register_others(registry);
    (small, switch)
}

/// The structs of entities are as the naive world has them.
fn expect_structs((at, world): (usize, &World), [small, switch]: [FragmentId; 2], model: &Naive) {
    assert_eq!(world.count(), model.rows(at).count());
    for (entity, row) in model.rows(at) {
        let bytes = |id| {
            let value = world.get_dynamic(entity, id).ok()?;
            Some(value.bytes().unwrap().to_vec())
        };
        let value = row.get(Kind::Small);
        assert_eq!(bytes(small), value.map(|value| value.to_ne_bytes().into()));
        let value = row.get(Kind::Switch);
        let value = value.map(|value| (value as u16).to_ne_bytes().into());
        assert_eq!(bytes(switch), value);
        let is_on = world.is_enabled_dynamic(entity, switch).ok();
        let expected = row.has(Kind::Switch).then(|| row.is_on(Kind::Switch));
        assert_eq!(is_on, expected);
        assert_eq!(world.fragments(entity).unwrap().count(), row.len());
    }
}

/// Nobody has these any more.
fn leave_out(model: &mut Naive, kinds: &[Kind]) {
    for at in 0..WORLDS {
        model
            .rows_mut(at)
            .for_each(|(_, row)| _ = row.remove(kinds));
    }
}

/// The one tag is the other; whether one was off that then cannot be.
fn rename_tags(model: &mut Naive) -> bool {
    let mut is_off = false;
    let mut rename = |row: &mut Row| {
        let [tag, awake] = [Kind::Tag, Kind::Awake].map(|kind| row.has(kind));
        is_off |= row.is_off(Kind::Awake);
        row.remove(&[Kind::Tag, Kind::Awake]);
        if tag {
            row.set(Kind::Awake, 0);
        }
        if awake {
            row.set(Kind::Tag, 0);
        }
    };
    for at in 0..WORLDS {
        model.rows_mut(at).for_each(|(_, row)| rename(row));
    }
    is_off
}
