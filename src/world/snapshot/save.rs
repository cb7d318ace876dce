//! Worlds go into a file.

use std::io::Write;
use std::path::Path;

use crate::whole_file;
use crate::world::World;
use crate::world::snapshot::format::Header;
use crate::world::snapshot::write::Snapshot;
use crate::world::snapshot::{SnapshotError, SnapshotOptions};

impl World {
    /// Saves the world to a file, all of it unless the [options](SnapshotOptions) say that something is no part of the state:
    /// entities with their ids and versions, all their fragments, what is switched off, and the versions of the dead, so that
    /// their handles stay dead in the world that is [loaded](Self::load). (Four bytes for each slot that the universe has ever used:
    /// [`skip_dead`](SnapshotOptions::skip_dead) leaves them out, for files that come [with new
    /// ids](Self::load_remapped).)
    ///
    /// Saved too are names of entities, the world's [time](Self::time), and, of types that are
    /// [registered for it](crate::fragment::FragmentRegistry::register_state), resources and what waits for its
    /// time: [delayed signals](crate::signal::Signals::send_at) that were
    /// [collected](Self::collect_signals), for entities that are saved, too. In the loaded world they wait for the signal of
    /// the same name, or of the same type where it has none, and for those who have subscribed to it when their time comes:
    /// let readers do that, and [solve](crate::processor::Schedule::solve) schedules, before [time
    /// passes](Self::advance_time). (Those of a signal that the world was not asked for by then end unheard: the first time,
    /// an event of [`tracing`], a warning, says so. A [`Signal`](crate::signal::Signal) itself is of one world, and none of
    /// the loaded one.)
    ///
    /// Not saved: other resources and signals; versions of changes; observers;
    /// entities that are reserved and not built, that are recorded and not flushed, and those of
    /// other worlds (unless they are [saved with it](Self::save_worlds)), whose handles are dead in
    /// the loaded world. Of ids that other threads reserve or record while it saves, the handles
    /// may be given again in the loaded world. [`pending`](Self::pending) says how many commands
    /// and signals wait, [`unsaved`](Self::unsaved) what would be left out.
    ///
    /// # Going on
    ///
    /// Saved too is all that decides where a new entity comes to lie, and which id it gets:
    /// compositions that nobody has any more with what their chunks begin with, chunks without
    /// entities, which chunk is filled before which. So, if both universes are
    /// [ordered](crate::world::Universe::ordered), a loaded world goes on as the saved one: what is
    /// done to both leads to the same ids, rows and [hashes](Self::state_hash), as it does to two
    /// worlds with one past. It does not
    /// * where something is not saved that goes on to count: ids that were reserved or recorded, commands that wait; if
    ///   fragments are [skipped](SnapshotOptions); filters that ask what has changed see everything as new;
    /// * in what was said of the world: how many [rounds](Self::set_flush_rounds) a flush has, which decides when
    ///   commands that others bring about are applied, and [rules](Self::set_chunk_rule) of what chunks begin with. Say it
    ///   again (what holds for the thread and memory, as [`set_flush_threads_from`](Self::set_flush_threads_from), changes
    ///   no result);
    /// * in what is counted of delayed signals for entities that have died meanwhile: they come to nobody, and are not saved,
    ///   but where the world goes on [`Delivery::dead`](crate::signal::Delivery::dead) counts them when their time comes;
    /// * where a composition that nobody has any more cannot be saved, because of a fragment that
    ///   is not plain, or that is not registered where it is loaded: it comes back as a new one,
    ///   behind all others;
    /// * where memory for chunks has run out: chunks with few free rows are filled sooner since;
    /// * if another version of the crate, or another register of what can be switched off, lays
    ///   chunks out in another way.
    ///
    /// In other universes it depends on threads which ids are given, and chunks that have kept their columns where they
    /// were when a fragment came to all of their entities are cut up when they are loaded.
    ///
    /// O(bytes + names in its folder). The file gets its name when it is whole and on the disk, and the name is there, too,
    /// when the call returns. (Where the system cannot say so of a folder, the one before may be there again after a loss
    /// of power, whole; that is no error.) One that was there under the name stays until then, and its permissions for
    /// ever, which the new one has before anything is in it (where a system lets nobody set them, it may have fewer, never
    /// more); its owner and group, its access lists and its other names (hard links) do not: it is another file. Of calls
    /// that save to one file at once, the last one's stays. Until it is whole it is called `NAME.PROCESS-NUMBER.partial`
    /// (with the first 100 bytes of a longer `NAME`), beside its place, and so is what a program leaves that ends while it
    /// saves. The next save to that file removes those that nobody has written to for an hour, before it writes. Where the
    /// name is a link, what it leads to is replaced; where it is a device or a pipe, that is an error. It is written by
    /// calls and not through a mapping, because a full disk is then an error and no signal.
    ///
    /// So the call takes as long as the disk. A game that goes on meanwhile has the bytes in memory
    /// ([`to_snapshot_in`](Self::to_snapshot_in)), and another thread puts them on the disk
    /// ([`save_snapshot`](Self::save_snapshot)).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain::<u32>()?;
    /// let (ant, bee) = (world.create((1_u32,))?, world.create((2_u32,))?);
    /// world.destroy(ant)?;
    /// let path = std::env::temp_dir().join(format!("megachunk-save-{}", std::process::id()));
    /// world.save(&path, &Default::default()).unwrap();
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain::<u32>()?;
    /// let loaded = World::load(&path, universe, &Default::default()).unwrap();
    /// assert_eq!(loaded.get::<u32>(bee)?, &2);
    /// assert!(!loaded.exists(ant));
    /// assert_eq!(loaded.state_hash(&Default::default()).unwrap(), world.state_hash(&Default::default()).unwrap());
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError::NotPlain`] names a fragment of some entity whose bytes mean nothing, of which it was not said either
    /// [how it is written](crate::fragment::FragmentRegistry::register_written_as), or a
    /// tag that is not said to be [`Plain`](crate::fragment::Plain); [`SnapshotError::Unloadable`]
    /// one of some entity that is no value by what its own type says; [`SnapshotError::NotWritten`] one that its type could
    /// not write; [`SnapshotError::Ambiguous`];
    /// [`SnapshotError::StateNotWritten`]; [`SnapshotError::File`].
    #[doc(alias = "serialize")]
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        options: &SnapshotOptions,
    ) -> Result<(), SnapshotError> {
        Self::save_worlds(&[self], path, options)
    }

    /// The bytes that [`save`](Self::save) writes: for a network, or a store of your own.
    ///
    /// The same world gives the same bytes each time, as long as nobody changes it and no other thread uses the universe
    /// meanwhile, if what [writes values](crate::fragment::FragmentRegistry::register_state_with) of yours gives the same
    /// for the same value. (Worlds with the same [hash](Self::state_hash) may give others: these say where entities lie,
    /// too. [`continuation_hash`](Self::continuation_hash) is a hash of them.)
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    pub fn to_snapshot(&self, options: &SnapshotOptions) -> Result<Vec<u8>, SnapshotError> {
        Self::worlds_to_snapshot(&[self], options)
    }

    /// The bytes that [`to_snapshot`](Self::to_snapshot) gives, in place of what a list has: one that is used again and again
    /// keeps its room, and its memory was touched before. O(bytes).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain_as::<u32>("health")?;
    /// let _ = world.create_batch((0..10_000_u32).map(|n| (n,)))?;
    /// let mut bytes = Vec::new();
    /// world.to_snapshot_in(&mut bytes, &Default::default())?;
    /// let (room, before) = (bytes.capacity(), bytes.clone());
    /// world.to_snapshot_in(&mut bytes, &Default::default())?;
    /// assert_eq!((bytes.capacity(), &bytes), (room, &before));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`save`](Self::save). Then, and if what [writes
    /// values](crate::fragment::FragmentRegistry::register_written_as) of yours panics, the list is as it was.
    pub fn to_snapshot_in(
        &self,
        bytes: &mut Vec<u8>,
        options: &SnapshotOptions,
    ) -> Result<(), SnapshotError> {
        Snapshot::of(&[self], options)?.write_in(bytes);
        Ok(())
    }

    /// Puts the bytes of a snapshot into a file as [`save`](Self::save) puts a world there: whole, or not at all, and on the
    /// disk when the call returns. No world is lent: one goes on while another thread waits for the disk. They are what
    /// [`to_snapshot`](Self::to_snapshot), [`worlds_to_snapshot`](Self::worlds_to_snapshot) or
    /// [`slice_to_snapshot`](Self::slice_to_snapshot) gave, or came from somebody else: their header is read first (what
    /// stands behind it is looked at by who loads, as it is of any file). O(bytes + names in its folder), from any thread.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.registry().register_plain_as::<u32>("health")?;
    /// let ant = world.create((7_u32,))?;
    /// let path = std::env::temp_dir().join(format!("megachunk-beside-{}", std::process::id()));
    /// let bytes = world.to_snapshot(&Default::default())?;
    /// let saved = std::thread::scope(|scope| {
    ///     let disk = scope.spawn(|| World::save_snapshot(&bytes, &path));
    ///     // Frames go on.
    ///     *world.get_mut::<u32>(ant)? = 8;
    ///     Ok::<_, WorldError>(disk.join().expect("it does not panic"))
    /// })?;
    /// saved?;
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<u32>("health")?;
    /// assert_eq!(World::load(&path, universe, &Default::default())?.get::<u32>(ant)?, &7);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with the header, as for [`from_snapshot`](Self::from_snapshot): no file is touched then.
    /// [`SnapshotError::File`]: the file is as it was.
    pub fn save_snapshot(bytes: &[u8], path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        Header::read(bytes, bytes.len() as u64)?;
        let path = path.as_ref();
        whole_file::replace_by_steps(path, |file| file.write_all(bytes))
            .map_err(|fault| SnapshotError::file(path, fault))
    }

    /// Saves several worlds of one universe to one file, as [`save`](Self::save) does one, so that handles of entities
    /// in one of them, which others have, lead there still when they are [loaded](Self::load_worlds). An empty slice
    /// gives a file, too, from which [`load_worlds`](Self::load_worlds) makes no world. O(bytes + worlds + names in the
    /// file's folder): each slot is looked at once, however many worlds there are.
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use std::sync::Arc;
    ///
    /// let universe = Arc::new(Universe::new());
    /// universe.registry().register_plain::<Entity>()?;
    /// let (mut town, mut wild) = (World::of(&universe)?, World::of(&universe)?);
    /// let home = town.create(())?;
    /// let hunter = wild.create((home,))?;
    /// let path = std::env::temp_dir().join(format!("megachunk-worlds-{}", std::process::id()));
    /// World::save_worlds(&[&town, &wild], &path, &Default::default()).unwrap();
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain::<Entity>()?;
    /// let worlds = World::load_worlds(&path, universe, &Default::default()).unwrap();
    /// let [town, wild] = &worlds[..] else { panic!("as many as were saved, in their order") };
    /// assert!(town.exists(*wild.get::<Entity>(hunter)?));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`save`](Self::save); [`SnapshotError::OtherUniverse`]; [`SnapshotError::WorldTwice`].
    pub fn save_worlds(
        worlds: &[&Self],
        path: impl AsRef<Path>,
        options: &SnapshotOptions,
    ) -> Result<(), SnapshotError> {
        let path = path.as_ref();
        let snapshot = Snapshot::of(worlds, options)?;
        whole_file::replace_by_steps(path, |file| snapshot.write(file))
            .map_err(|fault| SnapshotError::file(path, fault))
    }

    /// The bytes that [`save_worlds`](Self::save_worlds) writes.
    ///
    /// # Errors
    /// As for [`save_worlds`](Self::save_worlds).
    pub fn worlds_to_snapshot(
        worlds: &[&Self],
        options: &SnapshotOptions,
    ) -> Result<Vec<u8>, SnapshotError> {
        let snapshot = Snapshot::of(worlds, options)?;
        let mut bytes = Vec::new();
        snapshot.write_in(&mut bytes);
        Ok(bytes)
    }
}
