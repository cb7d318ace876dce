//! `StateForm`: how values that are no entity's become bytes, and values again.
//!
//! Of a resource, and of what a delayed signal carries, nobody knows the bytes unless it is said how they are had. Who
//! says it here says, too, that such values are part of a world's state.

use core::any::{Any, TypeId, type_name};
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::error::Error;

use crate::entity::EntityMap;
use crate::fragment::{FragmentError, FragmentRegistry, Plain, are_others};
use sealed::Sealed;

/// A value of a type that is not named.
pub(crate) type StateValue = Box<dyn Any + Send + Sync>;

/// Why a value was not written, or not read.
pub(crate) type Reason = Box<dyn Error + Send + Sync>;

mod sealed {
    pub trait Sealed {}
}

/// What a closure gives back that writes values, of the [state](FragmentRegistry::register_state_with) or of a
/// [fragment](FragmentRegistry::register_written_as): nothing, or a `Result` that says
/// whether the value can be written.
///
/// Sealed: there are no others.
#[diagnostic::on_unimplemented(
    message = "what writes a value gives back nothing, or a `Result<(), E>`, and not `{Self}`",
    label = "`E` is an error that is `Send + Sync + 'static`, a `Box<dyn Error + Send + Sync>`, or text"
)]
pub trait StateWritten: Sealed {
    /// Whether it was written.
    #[doc(hidden)]
    fn into_result(self) -> Result<(), Box<dyn Error + Send + Sync>>;
}

impl Sealed for () {}

impl StateWritten for () {
    fn into_result(self) -> Result<(), Reason> {
        Ok(())
    }
}

impl<E> Sealed for Result<(), E> {}

#[diagnostic::do_not_recommend]
impl<E: Into<Reason>> StateWritten for Result<(), E> {
    fn into_result(self) -> Result<(), Reason> {
        self.map_err(Into::into)
    }
}

type Write = dyn Fn(&dyn Any, &mut Vec<u8>) -> Result<(), Reason> + Send + Sync;
type Read = dyn Fn(&[u8], &EntityMap) -> Result<StateValue, Reason> + Send + Sync;

/// A type whose values are part of a world's state, outside of its entities.
pub(crate) struct StateForm {
    name: Box<str>,
    of: TypeId,
    type_name: &'static str,
    /// Bytes of a value, and the shape of a plain type. 0: not known.
    size: usize,
    shape: u64,
    /// Values are written as what they are in memory, and not as closures say.
    is_plain: bool,
    write: Box<Write>,
    read: Box<Read>,
}

// A value of the user's that two closures have, which any thread may call: one of them that has panicked leaves it as any
// other call leaves what many have.
impl UnwindSafe for StateForm {}
impl RefUnwindSafe for StateForm {}

impl StateForm {
    /// What the type is called in files.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The type.
    pub(crate) fn type_id(&self) -> TypeId {
        self.of
    }

    /// The type, as errors and reports call it.
    pub(crate) fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// A value's bytes, or why there are none.
    pub(crate) fn write(&self, value: &dyn Any) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        match (self.write)(value, &mut bytes) {
            Ok(()) => Ok(bytes),
            Err(reason) => Err(with_causes(&*reason)),
        }
    }

    /// The same, behind what is there; if it is refused, as many bytes are there as before or more.
    pub(crate) fn write_to(&self, value: &dyn Any, bytes: &mut Vec<u8>) -> Result<(), String> {
        (self.write)(value, bytes).map_err(|reason| with_causes(&*reason))
    }

    /// The [shape](Plain::SHAPE) of the type; 0 if that is not known.
    pub(crate) fn shape(&self) -> u64 {
        self.shape
    }

    /// Whether a value's bytes are those that it has in memory.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The value of some bytes, written when the type had this shape, which names the entities that are meant, or why there
    /// is none.
    pub(crate) fn read(
        &self,
        bytes: &[u8],
        shape: u64,
        entities: &EntityMap,
    ) -> Result<StateValue, String> {
        // Of another size that is said.
        if bytes.len() == self.size && are_others(shape, self.shape) {
            let reason =
                "its fields are others than when it was saved, though its size is the same";
            return Err(reason.into());
        }
        (self.read)(bytes, entities).map_err(|reason| with_causes(&*reason))
    }
}

/// What an error says, and what its causes say, but for those that are quoted already.
pub(super) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

impl fmt::Debug for StateForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateForm")
            .field("name", &self.name)
            .field("of", &self.type_name)
            .finish_non_exhaustive()
    }
}

impl FragmentRegistry {
    /// Says that values of this type are part of a world's state where they are no entity's: as a
    /// [resource](crate::world::Resources), and as what [delayed signals](crate::signal::Signals::send_at) carry. They
    /// are [saved](crate::world::World::save) and loaded then, handles in them come to mean [whom they
    /// meant](crate::world::World::load_remapped), and resources count in [hashes](crate::world::World::state_hash).
    /// For types that are not registered, none of this happens.
    ///
    /// It says nothing of the fragment of this type, if there is one. The same again is no error. Any thread, lock-free,
    /// O(types of which it was said).
    ///
    /// Files know it by [`type_name`], with the path, which goes with a rename or a move, and which the
    /// standard library does not promise to be the same of another compiler: where files are to last, give it a name of its
    /// own by [`register_state_as`](Self::register_state_as).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// #[repr(C)]
    /// struct Score { points: u64, leader: Entity }
    /// megachunk::plain!(Score { points, leader });
    ///
    /// let mut world = World::new();
    /// world.registry().register_state::<Score>()?;
    /// let score = Score { points: 7, leader: world.create(())? };
    /// world.resources_mut().insert(score);
    /// let saved = world.to_snapshot(&Default::default())?;
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_state::<Score>()?;
    /// let loaded = World::from_snapshot(&saved, universe, &Default::default())?;
    /// assert_eq!(loaded.resources().get(), Some(&score));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::StateNameTaken`] if another type was given its name.
    pub fn register_state<T: Plain>(&self) -> Result<(), FragmentError> {
        let registered = self.state_form(|form| form.of == TypeId::of::<T>());
        if registered.is_some() {
            return Ok(());
        }
        match self.register_state_as::<T>(type_name::<T>()) {
            // Another thread was quicker, and has given it a name.
            Err(FragmentError::NamedOtherwise { .. }) => Ok(()),
            registered => registered,
        }
    }

    /// Registers a type as [part of a world's state](Self::register_state) with a name of its own, by which values are
    /// known in files: one that stays when the type is renamed, or moved to another module. Fragments have other names,
    /// of which one may be the same.
    ///
    /// # Errors
    /// [`FragmentError::StateNameTaken`]; [`FragmentError::NamedOtherwise`] if the type was given another name before.
    pub fn register_state_as<T: Plain>(&self, name: &str) -> Result<(), FragmentError> {
        self.add_state(name, Some(T::SHAPE), write_plain::<T>, read_plain::<T>)
    }

    /// Registers a type that is more than its bytes (a list, a map, a text) as [part of a world's
    /// state](Self::register_state), with a name of its own. `write` appends the bytes of a value, which the file
    /// delimits, or says why it [cannot](StateWritten); `read` gets them, and makes a value that is the same, or says
    /// why there is none. The first registration of a type and a name counts. (A type that the program has no more, and
    /// old files have, is registered as one that reads and forgets it.)
    ///
    /// The map tells `read` [who has become whom](EntityMap::apply): for handles in the value. Where ids are the old ones
    /// it keeps them all.
    ///
    /// What `write` gives is hashed, too: it must be the same for equal values. (That of a `HashMap` is in another order each
    /// time: sort it.) If one of them panics, so does whoever saves, hashes or loads; no world and no file has changed.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// /// Who waits for whom, in order.
    /// #[derive(Debug, PartialEq)]
    /// struct Queue(Vec<Entity>);
    ///
    /// fn register(universe: &Universe) -> Result<(), WorldError> {
    ///     Ok(universe.registry().register_state_with(
    ///         "queue",
    ///         |queue: &Queue, bytes| {
    ///             bytes.extend(queue.0.iter().flat_map(|entity| entity.to_bits().to_le_bytes()));
    ///         },
    ///         |bytes, entities| {
    ///             let (handles, rest) = bytes.as_chunks();
    ///             let mut queue = Vec::new();
    ///             for &handle in handles {
    ///                 let entity = Entity::try_from_bits(u64::from_le_bytes(handle));
    ///                 let mut entity = entity.ok_or("what waits is no entity")?;
    ///                 entities.apply(&mut entity);
    ///                 queue.push(entity);
    ///             }
    ///             if rest.is_empty() { Ok(Queue(queue)) } else { Err("half an entity waits") }
    ///         },
    ///     )?)
    /// }
    ///
    /// let mut world = World::new();
    /// register(world.universe())?;
    /// let (ant, bee) = (world.create(())?, world.create(())?);
    /// world.resources_mut().insert(Queue(vec![bee, ant]));
    /// let saved = world.to_snapshot(&Default::default())?;
    /// let universe = world.universe();
    /// let (copy, entities) = World::from_snapshot_remapped(&saved, universe, &Default::default(), &Default::default())?;
    /// let expected = [bee, ant].map(|entity| entities.get(entity).unwrap());
    /// assert_eq!(copy.resources().get::<Queue>().unwrap().0, expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::StateNameTaken`] if another type has the name; [`FragmentError::NamedOtherwise`] if the type was
    /// given another one before.
    pub fn register_state_with<T, W, E>(
        &self,
        name: &str,
        write: impl Fn(&T, &mut Vec<u8>) -> W + Send + Sync + 'static,
        read: impl Fn(&[u8], &EntityMap) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<(), FragmentError>
    where
        T: Send + Sync + 'static,
        W: StateWritten,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.add_state(name, None, write, read)
    }

    /// `shape`: of a type that is written as what it is in memory.
    fn add_state<T, W, E>(
        &self,
        name: &str,
        shape: Option<u64>,
        write: impl Fn(&T, &mut Vec<u8>) -> W + Send + Sync + 'static,
        read: impl Fn(&[u8], &EntityMap) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<(), FragmentError>
    where
        T: Send + Sync + 'static,
        W: StateWritten,
        E: Into<Reason>,
    {
        let of = TypeId::of::<T>();
        let form = || StateForm {
            name: name.into(),
            of,
            type_name: type_name::<T>(),
            size: size_of::<T>(),
            shape: shape.unwrap_or(0),
            is_plain: shape.is_some(),
            write: Box::new(move |value, bytes| match value.downcast_ref() {
                Some(value) => write(value, bytes).into_result(),
                None => unreachable!("a value is written as what it is"),
            }),
            read: Box::new(move |bytes, entities| match read(bytes, entities) {
                Ok(value) => Ok(Box::new(value)),
                Err(reason) => Err(reason.into()),
            }),
        };
        let is_it = |form: &StateForm| form.of == of || *form.name == *name;
        let found = self.states.find_or_add(is_it, || Ok(form()));
        let Ok::<_, core::convert::Infallible>((_, found)) = found;
        // A type with one name, and a name of another type, may both be there.
        let of_type = self.state_form(|form| form.of == of).unwrap_or(found);
        let (known, given) = (of_type.name.clone(), name.into());
        if of_type.of != of {
            let by = of_type.type_name;
            Err(FragmentError::StateNameTaken { name: known, by })
        } else if known != given {
            Err(FragmentError::NamedOtherwise {
                name: known,
                asked: given,
            })
        } else {
            Ok(())
        }
    }

    /// The first form of which something is true.
    pub(crate) fn state_form(&self, is: impl Fn(&StateForm) -> bool) -> Option<&StateForm> {
        Some(self.states.find(is)?.1)
    }

    /// All types of which it was said that their values are part of the state, in no order.
    pub(crate) fn state_forms(&self) -> impl Iterator<Item = &StateForm> {
        self.states.iter()
    }
}

/// Appends the bytes of a plain value, if they are one.
pub(crate) fn write_plain<T: Plain>(value: &T, bytes: &mut Vec<u8>) -> Result<(), Reason> {
    // SAFETY: a plain value is nothing but its bytes, all of them written.
    let value =
        unsafe { core::slice::from_raw_parts(core::ptr::from_ref(value).cast(), size_of::<T>()) };
    expect_value::<T>(value)?;
    bytes.extend_from_slice(value);
    Ok(())
}

/// Makes a plain value of its bytes, if they are one.
pub(crate) fn read_plain<T: Plain>(bytes: &[u8], entities: &EntityMap) -> Result<T, Reason> {
    if bytes.len() != size_of::<T>() {
        let (then, now) = (bytes.len(), size_of::<T>());
        return Err(format!("it had {then} bytes when it was saved, and has {now} now").into());
    }
    expect_value::<T>(bytes)?;
    let mut bytes = bytes.to_vec();
    if let Some(map) = T::MAP_ENTITIES {
        map(&mut bytes, entities);
        // A type may want more of a value than that it names somebody.
        expect_value::<T>(&bytes)?;
    }
    // SAFETY: as many bytes as a value has, which are one.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Why a plain value is not written, or read.
pub(super) const NO_VALUE: &str = "it is no value by its type's own `Plain::IS_VALUE`";

fn expect_value<T: Plain>(bytes: &[u8]) -> Result<(), &'static str> {
    match T::IS_VALUE.is_none_or(|is_value| is_value(bytes)) {
        true => Ok(()),
        false => Err(NO_VALUE),
    }
}
