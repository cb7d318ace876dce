//! `LoadOptions`: what of a snapshot does not come, what is called otherwise now, and what its values have become.

use core::alloc::Layout;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::fragment::{FragmentInfo, FragmentKind, Plain, StateForm};
use crate::world::snapshot::conversion::{Conversion, Form};

/// What is left out of a snapshot that is loaded, by name, what is called otherwise now, and what values are converted, or
/// taken though their fields seem to have changed. All comes, and nothing else is taken, unless you say otherwise.
///
/// A file's names are [led](Self::rename) to those of now first: all that is said here of names is said of these.
///
/// What is skipped is as if nobody had had it when the world was saved: it need not be registered, and its values are read
/// past. Entities that only that told apart have one composition then, and lie in chunks of their own no longer; the chunks
/// of those who had it are as long as the rest needs, or as the world's were [set](crate::world::World::set_chunk_size). (A world that comes without something does not [go
/// on](crate::world::World::save) as the saved one.) A name that the snapshot does not have is no error: a program says
/// here what it had once.
///
/// ```
/// use megachunk::prelude::*;
///
/// # #[derive(Clone, Copy)]
/// # #[repr(C)]
/// # struct Grid { width: u32 }
/// # megachunk::plain!(Grid { width });
/// # let mut then = World::new();
/// # then.registry().register_plain_as::<u32>("health")?;
/// # then.registry().register_plain_as::<f32>("mana")?;
/// # then.registry().register_state_as::<Grid>("grid")?;
/// # let ant = then.create((7_u32, 0.5_f32))?;
/// # then.resources_mut().insert(Grid { width: 3 });
/// # let file = then.to_snapshot(&Default::default())?;
/// // A program that has no mana any more, nor a grid.
/// let universe = || -> Result<Universe, WorldError> {
///     let universe = Universe::new();
///     universe.registry().register_plain_as::<u32>("health")?;
///     Ok(universe)
/// };
/// assert!(World::from_snapshot(&file, universe()?, &Default::default()).is_err());
/// let options = LoadOptions::new().skip("mana").skip_state("grid");
/// let world = World::from_snapshot(&file, universe()?, &options)?;
/// assert_eq!(world.get::<u32>(ant)?, &7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    skipped: BTreeSet<Box<str>>,
    skipped_states: BTreeSet<Box<str>>,
    ignored_fields: BTreeSet<Box<str>>,
    /// Forms in which a file may have values of these names that are taken as they are.
    taken: Vec<(Box<str>, Form)>,
    conversions: Vec<Conversion>,
    state_conversions: Vec<Conversion>,
    /// What names of files are now: those of one role before those of all.
    renamed: BTreeMap<Box<str>, Renamed>,
    renamed_states: BTreeMap<Box<str>, Box<str>>,
}

/// What fragments are called that have one name in files.
#[derive(Clone, Debug, Default)]
struct Renamed {
    in_any_role: Option<Box<str>>,
    in_role: Vec<(FragmentKind, Box<str>)>,
}

impl LoadOptions {
    /// All that there is, as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Without the fragments of this name, in whatever role, registered or not.
    #[must_use]
    pub fn skip(mut self, name: &str) -> Self {
        self.skipped.insert(name.into());
        self
    }

    /// Without the resource of the type that has this name as [part of the
    /// state](crate::fragment::FragmentRegistry::register_state), and without delayed signals that carry such a value.
    #[must_use]
    pub fn skip_state(mut self, name: &str) -> Self {
        self.skipped_states.insert(name.into());
        self
    }

    /// What files call `from` is `to` here: fragments of that name, in whatever role. Where names of fragments are spoken of,
    /// in the other options and in errors, those of now are meant, whatever a file calls them: it is led to them first. A name
    /// that the snapshot does not have is no error, so each file may come that was ever written; what it calls `to` already
    /// stays that. Each name is led once: of what was called `a`, then `b`, and is `c` now, say `rename("a", "c")` and
    /// `rename("b", "c")`. Of several calls for one `from` the last counts.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_plain_as::<u32>("game::Hp")?;
    /// # let ant = then.create((7_u32,))?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<u32>("health")?;
    /// // Once it had no name of its own, and files have its path.
    /// let options = LoadOptions::new().rename("game::Hp", "health");
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!(world.get::<u32>(ant)?, &7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A load fails with [`RenamedAlike`](crate::world::SnapshotError::RenamedAlike) if two names that the file has would
    /// become one in one role, and entities have both.
    #[must_use]
    pub fn rename(mut self, from: &str, to: &str) -> Self {
        self.renamed.entry(from.into()).or_default().in_any_role = Some(to.into());
        self
    }

    /// What files call `from` in this role is `to` here, whatever is [said of others](Self::rename) that are called so: where
    /// one name stands for two fragments, as the path does of a type that had two roles and no name of its own.
    ///
    /// ```
    /// use megachunk::fragment::FragmentKind;
    /// use megachunk::prelude::*;
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_plain::<u32>()?;
    /// # then.registry().register_plain::<ConstShared<u32>>()?;
    /// # let ant = then.create((7_u32,).const_shared(3_u32))?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<u32>("rank")?;
    /// universe.registry().register_plain_as::<ConstShared<u32>>("team")?;
    /// let options = LoadOptions::new()
    ///     .rename_role("u32", FragmentKind::Fragment, "rank")
    ///     .rename_role("u32", FragmentKind::ConstShared, "team");
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!((world.get::<u32>(ant)?, world.const_shared::<u32>(ant)?), (&7, &3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rename_role(mut self, from: &str, role: FragmentKind, to: &str) -> Self {
        let in_role = &mut self.renamed.entry(from.into()).or_default().in_role;
        in_role.retain(|(of, _)| *of != role);
        in_role.push((role, to.into()));
        self
    }

    /// What files call `from` is `to` here, as a type that is [part of the
    /// state](crate::fragment::FragmentRegistry::register_state): as [`rename`](Self::rename) says of fragments.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_state_as::<u64>("points")?;
    /// # then.resources_mut().insert(7_u64);
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// universe.registry().register_state_as::<u64>("score")?;
    /// let options = LoadOptions::new().rename_state("points", "score");
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!(world.resources().get::<u64>(), Some(&7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rename_state(mut self, from: &str, to: &str) -> Self {
        self.renamed_states.insert(from.into(), to.into());
        self
    }

    /// Values of fragments, and of types of the state, that have this name are taken as they are if their size and alignment
    /// are right, whatever [fields](crate::fragment::Plain::SHAPE) they had. Which bytes are a value is asked all the same.
    /// Values for which there is a [conversion](Self::convert) are converted, of fragments and [of the
    /// state](Self::convert_state).
    ///
    /// This is for tools, and for a file that somebody knows. It says nothing of which form the file has: in a program whose
    /// files last, what was written here for one change makes each later one of that name silent that leaves the size as it
    /// is, two fields that have changed places among them. There [`take_as_is`](Self::take_as_is) names the form that is
    /// meant.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// # mod then {
    /// #     #[derive(Clone, Copy)]
    /// #     #[repr(C)]
    /// #     pub(super) struct Health { pub(super) points: u32 }
    /// #     megachunk::plain!(Health { points });
    /// # }
    /// # let mut world = World::new();
    /// # world.registry().register_plain_as::<then::Health>("health")?;
    /// # let ant = world.create((then::Health { points: 7 },))?;
    /// # let file = world.to_snapshot(&Default::default())?;
    /// /// `now` was called `points` when the file was saved.
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Health { now: u32 }
    /// megachunk::plain!(Health { now });
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Health>("health")?;
    /// let options = LoadOptions::new().ignore_fields("health");
    /// let world = World::from_snapshot(&file, universe, &options)?;
    /// assert_eq!(world.get::<Health>(ant)?.now, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ignore_fields(mut self, name: &str) -> Self {
        self.ignored_fields.insert(name.into());
        self
    }

    /// Values of fragments, and of types of the state, that have this name are taken as they are where the file has them as
    /// `Old`: where a field has only got another name, or an enum another variant. The [shape](Plain::SHAPE), the size and (of
    /// fragments) the alignment in the file must be those of `Old`, and size and alignment those of the type of now: so a
    /// later change of the type is refused as if nothing was said, until it is said of the form that files have then, too (one
    /// call for each). Of an `Old` of which no shape is known, nothing is said: what has none in a file is taken in any case.
    /// Which bytes are a value of the type of now is asked all the same. Values for which there is a
    /// [conversion](Self::convert) are converted.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// /// `now` was called `points` once.
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Health { now: u32 }
    /// megachunk::plain!(Health { now });
    ///
    /// /// What files of version 1 have.
    /// mod v1 {
    ///     #[derive(Clone, Copy)]
    ///     #[repr(C)]
    ///     pub struct Health { pub points: u32 }
    ///     megachunk::plain!(Health { points });
    /// }
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_plain_as::<v1::Health>("health")?;
    /// # let ant = then.create((v1::Health { points: 7 },))?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Health>("health")?;
    /// let options = LoadOptions::new().take_as_is::<v1::Health>("health");
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!(world.get::<Health>(ant)?.now, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn take_as_is<Old: Plain>(mut self, name: &str) -> Self {
        let form = Form {
            size: size_of::<Old>() as u64,
            align: align_of::<Old>() as u64,
            shape: Old::SHAPE,
        };
        self.taken.push((name.into(), form));
        self
    }

    /// Values of fragments of this name, in whatever role, that the file has as `Old` come as `New`, which is what is
    /// registered here: files that are older than a type is now, whose fields have changed since. Which one a file has its
    /// [shape](Plain::SHAPE) says; one whose values are `New` already is loaded as it is (unless `Old` is `New`), and so is, where no shape is known
    /// of the file or of `Old`, one whose values have the right size and alignment for `New`, unless the shapes of the file
    /// and of `New` are known, and are two. (A fragment that is
    /// [defined](crate::fragment::FragmentRegistry::define_plain) at run time without a type is for
    /// [`convert_bytes`](Self::convert_bytes).) Of several calls for one name, one for each version that there was, the first is taken whose `Old` has the
    /// file's shape; if there is none, the first whose `Old` has the file's size and alignment, and of which, or of the file,
    /// no shape is known.
    ///
    /// Of a name whose [fields are ignored](Self::ignore_fields), or whose values are [taken as they are](Self::take_as_is),
    /// too, what a conversion is for is converted.
    ///
    /// Nothing is converted for what [is written](crate::fragment::FragmentRegistry::register_written_as), here or in the file: who
    /// reads it knows its older forms.
    ///
    /// A type without fields is a tag as a fragment, which is another role: one that has got its first field, or lost its last,
    /// is not converted there, and [refused](crate::world::SnapshotError::Unregistered) as any other in another role.
    ///
    /// `convert` is called once for each value that comes, also of types without bytes, before a world is made of the file:
    /// if it panics, there is no world, and none of the entities. (A shared value that nobody has does not come, and with
    /// [new ids](crate::world::World::load_remapped) no chunk does that has no entities.) Handles are those of the file, also
    /// where it is loaded with new ids: those in `New` are led to the new ones afterwards.
    ///
    /// All new values are made before the first of them comes to the world: so a load takes their memory beside that of the
    /// world, which no [summary](crate::world::SnapshotSummary) counts. How much it is is known before the first call, and it
    /// is an error ([`ConvertedTooLarge`](crate::world::SnapshotError::ConvertedTooLarge)) if values of rows and chunks would
    /// have more than the 16 GiB that a universe's chunks hold, or if all others (shared ones, those that chunks begin with,
    /// and those of [the state](Self::convert_state)) would have more than 64 MiB, sixteen times the file's bytes, or 16 KiB
    /// for each of its chunks, whichever is most.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Health { now: u32, most: u32 }
    /// megachunk::plain!(Health { now, most });
    ///
    /// /// What files of version 1 have.
    /// mod v1 {
    ///     #[derive(Clone, Copy)]
    ///     #[repr(C)]
    ///     pub struct Health { pub now: u32 }
    ///     megachunk::plain!(Health { now });
    /// }
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_plain_as::<v1::Health>("health")?;
    /// # let ant = then.create((v1::Health { now: 7 },))?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let options = LoadOptions::new()
    ///     .convert("health", |old: v1::Health| Health { now: old.now, most: 100 });
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Health>("health")?;
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!(world.get::<Health>(ant)?, &Health { now: 7, most: 100 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A conversion of a type to itself is called for the values that are of it (not for those of another shape that
    /// [`ignore_fields`](Self::ignore_fields) takes for it). So ids of assets are led over, of meshes or
    /// sounds say, that are others in each run: the program saves, beside the world, which asset each id is, makes a table of
    /// it before it loads, and the closure has that.
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Mesh { id: u32 }
    /// megachunk::plain!(Mesh { id });
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_plain_as::<Mesh>("mesh")?;
    /// # let ant = then.create((Mesh { id: 7 },))?;
    /// # let file = then.to_snapshot(&Default::default())?;
    /// // What was mesh 7 when the file was saved is mesh 40 in this run.
    /// let ids = HashMap::from([(7, 40)]);
    /// let options = LoadOptions::new().convert("mesh", move |old: Mesh| Mesh {
    ///     id: ids.get(&old.id).copied().unwrap_or(0),
    /// });
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Mesh>("mesh")?;
    /// let world = World::from_snapshot(&file, universe, &options)?;
    /// assert_eq!(world.get::<Mesh>(ant)?, &Mesh { id: 40 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn convert<Old: Plain, New: Plain>(
        mut self,
        name: &str,
        convert: impl Fn(Old) -> New + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        self.conversions.push(Conversion::new(name, convert));
        self
    }

    /// Values of a fragment of this name that the file has in so many bytes, with this alignment, come as `convert` makes them,
    /// for a fragment that is defined here at run time and is of no type, [by its fields](crate::fragment::FragmentRegistry::define_struct)
    /// or [by its layout](crate::fragment::FragmentRegistry::define_plain): what a script had once, and has otherwise now. As
    /// [`convert`](Self::convert) does with types. A size that is no multiple of the alignment is rounded up to one, as where it
    /// is defined.
    ///
    /// All that the file can have in this size and alignment comes to the first call that names them, whatever its fields
    /// were: of several versions that are laid out alike each is told by its shape, in a
    /// [call of its own](Self::convert_bytes_shaped).
    ///
    /// `convert` gets the old bytes, whatever they are, and as many as the new value has, all zero, to write. What it leaves is
    /// asked whether it is a value: a `bool` that is none, or a handle, is an error
    /// ([`NotAValue`](crate::world::SnapshotError::NotAValue)), and there is no world. Handles are those of the file; those
    /// in fields are led to the new ones afterwards where it is [loaded](crate::world::World::load_remapped) so.
    ///
    /// Values that may be meant as they are, because layout and fields are those of today, or of one of the two no fields are
    /// known, come as they are. A fragment that has become a struct without bytes, or was one, is not converted: that is a
    /// tag, which is another role, and refused as any other in another role.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::fragment::FieldDefinition;
    /// use megachunk::prelude::*;
    ///
    /// # let mut then = World::new();
    /// # let old = then.registry().define_plain("health", Layout::new::<u16>())?.id();
    /// # let value = Value::from_bytes(then.registry(), old, &7_u16.to_ne_bytes())?;
    /// # let ant = then.create_dynamic(value.into())?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// // Health was a number of 16 bits; now there is one of 32, and whether it grows again.
    /// let universe = Universe::new();
    /// let fields = [FieldDefinition::of::<u32>("points"), FieldDefinition::of::<bool>("heals")];
    /// let health = universe.registry().define_struct("health", &fields)?.id();
    /// let options = LoadOptions::new().convert_bytes("health", Layout::new::<u16>(), |old, new| {
    ///     let points = old.try_into().map_or(0, u16::from_ne_bytes);
    ///     new[..4].copy_from_slice(&u32::from(points).to_ne_bytes());
    ///     new[4] = 1;
    /// });
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// let value = world.get_dynamic(ant, health)?.bytes()?;
    /// assert_eq!((&value[..4], value[4]), (&7_u32.to_ne_bytes()[..], 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// If `convert` panics, so does whoever loads, and there is no world.
    #[must_use]
    pub fn convert_bytes(
        mut self,
        name: &str,
        old: Layout,
        convert: impl Fn(&[u8], &mut [u8]) + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        let conversion = Conversion::of_bytes(name, (old, 0), convert);
        self.conversions.push(conversion);
        self
    }

    /// As [`convert_bytes`](Self::convert_bytes), of those values only whose [shape](Plain::SHAPE) in the file is this one: for
    /// one of several versions that are laid out alike, one call for each. What was
    /// [defined by its fields](crate::fragment::FragmentRegistry::define_struct) has it as
    /// [`FragmentInfo::shape`](crate::fragment::FragmentInfo::shape), which is the same number wherever these fields are
    /// defined; and who is refused is [told](crate::world::ChangedLayout::saved_shape) which one the file has. Such a call goes
    /// before those that name no shape, whichever was first. It converts, too, where no fields of today's are known. Where the
    /// file knows no shape, or this one is 0, it says what `convert_bytes` says.
    ///
    /// ```
    /// use megachunk::fragment::FieldDefinition;
    /// use megachunk::prelude::*;
    ///
    /// # let number = FieldDefinition::of::<u32>;
    /// # let mut then = World::new();
    /// # let old = then.registry().define_struct("health", &[number("most"), number("now")])?.id();
    /// # let bytes = [100_u32, 7].map(u32::to_ne_bytes).concat();
    /// # let ant = then.create_dynamic(Value::from_bytes(then.registry(), old, &bytes)?.into())?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let fields = |names: [&'static str; 2]| names.map(FieldDefinition::of::<u32>);
    /// // What there was once is defined where nobody else looks: two versions of one layout.
    /// let once = FragmentRegistry::new();
    /// let v1 = once.define_struct("v1", &fields(["now", "most"]))?;
    /// let v2 = once.define_struct("v2", &fields(["most", "now"]))?;
    /// let options = LoadOptions::new()
    ///     .convert_bytes_shaped("health", v1.layout(), v1.shape(), |old, new| new.copy_from_slice(&old[..4]))
    ///     .convert_bytes_shaped("health", v2.layout(), v2.shape(), |old, new| new.copy_from_slice(&old[4..]));
    /// let universe = Universe::new();
    /// let health = universe.registry().define_struct("health", &[FieldDefinition::of::<u32>("now")])?.id();
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!(world.get_dynamic(ant, health)?.bytes()?, 7_u32.to_ne_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn convert_bytes_shaped(
        mut self,
        name: &str,
        old: Layout,
        shape: u64,
        convert: impl Fn(&[u8], &mut [u8]) + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        let conversion = Conversion::of_bytes(name, (old, shape), convert);
        self.conversions.push(conversion);
        self
    }

    /// Values of the type that has this name as [part of the state](crate::fragment::FragmentRegistry::register_state),
    /// resources and what delayed signals carry, that the file has as `Old` come as `New`, which is what is registered here:
    /// as [`convert`](Self::convert) does with fragments. Only where `New` is registered as its bytes, by
    /// [`register_state`](crate::fragment::FragmentRegistry::register_state) or
    /// [`register_state_as`](crate::fragment::FragmentRegistry::register_state_as): closures that
    /// [write and read](crate::fragment::FragmentRegistry::register_state_with) values know older forms themselves, and
    /// nothing is converted for them.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Grid { width: u32, height: u32 }
    /// megachunk::plain!(Grid { width, height });
    ///
    /// mod v1 {
    ///     #[derive(Clone, Copy)]
    ///     #[repr(C)]
    ///     pub struct Grid { pub side: u32 }
    ///     megachunk::plain!(Grid { side });
    /// }
    ///
    /// # let mut then = World::new();
    /// # then.registry().register_state_as::<v1::Grid>("grid")?;
    /// # then.resources_mut().insert(v1::Grid { side: 5 });
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let options = LoadOptions::new()
    ///     .convert_state("grid", |old: v1::Grid| Grid { width: old.side, height: old.side });
    /// let universe = Universe::new();
    /// universe.registry().register_state_as::<Grid>("grid")?;
    /// let world = World::from_snapshot(&old_file, universe, &options)?;
    /// assert_eq!(world.resources().get::<Grid>(), Some(&Grid { width: 5, height: 5 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn convert_state<Old: Plain, New: Plain>(
        mut self,
        name: &str,
        convert: impl Fn(Old) -> New + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        let conversion = Conversion::new(name, convert);
        self.state_conversions.push(conversion);
        self
    }

    /// Whether some values of types of the state may be converted.
    pub(super) fn converts_state(&self) -> bool {
        !self.state_conversions.is_empty()
    }

    /// How a value of so many bytes and this shape becomes one of a type of the state, if it is none.
    pub(super) fn state_conversion(
        &self,
        name: &str,
        (bytes, shape): (usize, u64),
        form: &StateForm,
    ) -> Option<&Conversion> {
        Conversion::of(&self.state_conversions, |conversion, exactly| {
            conversion.is_for_state((name, bytes, shape), form, exactly)
        })
    }

    /// How values of this form become those of a registered fragment, whose they may be as they are if they `fit`.
    pub(super) fn conversion(
        &self,
        name: &str,
        form: Form,
        info: &FragmentInfo,
        fits: bool,
    ) -> Option<&Conversion> {
        Conversion::of(&self.conversions, |conversion, exactly| {
            conversion.is_for((name, form), info, fits, exactly)
        })
    }

    /// What a fragment is called now that has this name in a file; `None` if it is that.
    pub(super) fn renamed(&self, name: &str, role: FragmentKind) -> Option<&str> {
        let renamed = self.renamed.get(name)?;
        let in_role = renamed.in_role.iter().find(|(of, _)| *of == role);
        let in_role = in_role.map(|(_, to)| to);
        in_role.or(renamed.in_any_role.as_ref()).map(|to| &**to)
    }

    /// What a type of the state is called now that has this name in a file; `None` if it is that.
    pub(super) fn renamed_state(&self, name: &str) -> Option<&str> {
        self.renamed_states.get(name).map(|to| &**to)
    }

    /// Whether some types of the state are called otherwise.
    pub(super) fn renames_states(&self) -> bool {
        !self.renamed_states.is_empty()
    }

    pub(super) fn skips(&self, name: &str) -> bool {
        self.skipped.contains(name)
    }

    pub(super) fn skips_state(&self, name: &str) -> bool {
        self.skipped_states.contains(name)
    }

    /// Whether values of a fragment that the file has in this form are taken for those of another one of that size.
    pub(super) fn takes(&self, name: &str, form: Form) -> bool {
        let is_meant = |meant: &Form| {
            (meant.size, meant.align, meant.shape) == (form.size, form.align, form.shape)
        };
        self.ignored_fields.contains(name) || self.is_taken(name, is_meant)
    }

    /// The same for a value of so many bytes and this shape, of a type of the state.
    pub(super) fn takes_state(&self, name: &str, (bytes, shape): (usize, u64)) -> bool {
        let is_meant = |meant: &Form| (meant.size, meant.shape) == (bytes as u64, shape);
        self.ignored_fields.contains(name) || self.is_taken(name, is_meant)
    }

    fn is_taken(&self, name: &str, is_meant: impl Fn(&Form) -> bool) -> bool {
        let mut taken = self.taken.iter();
        taken.any(|(of, form)| **of == *name && is_meant(form))
    }
}
