//! How states are saved: `State::register`, `State::register_with`.

use std::error::Error;
use std::sync::Arc;

use crate::entity::EntityMap;
use crate::fragment::{
    FragmentError, FragmentRegistry, Plain, Reason, Shared, StateWritten, read_plain, write_plain,
};
use crate::processor::state::next::Asked;
use crate::processor::{NextState, State, States, Transition, WithinState};
use crate::world::unknown_variant;

/// How a state becomes bytes, and what was written one.
struct Form<S> {
    write: Box<Write<S>>,
    read: Box<Read<S>>,
    /// Reads what was written when no state was written by its name, if they are now.
    read_unnamed: Option<Box<Read<S>>>,
}

type Write<S> = dyn Fn(&S, &mut Vec<u8>) -> Result<(), Reason> + Send + Sync;
type Read<S> = dyn Fn(&[u8], &EntityMap) -> Result<S, Reason> + Send + Sync;

impl<S: States + Plain> State<S> {
    /// Says that it is part of a world's [state](FragmentRegistry::register_state), by this name: it is saved and loaded, goes
    /// back with [`Simulation::roll_back`](crate::processor::Simulation::roll_back), and counts in hashes. So is what is asked
    /// for, [`NextState`], as `NAME.next`, and the last [transition](Self::transition), of which who comes before the
    /// transition hears in the next run. Who lives [within](WithinState) a state lives within it afterwards: the fragment is
    /// registered as plain, `NAME.within`, and the shared one as `NAME.within.shared`; other roles you register yourself.
    ///
    /// A world that was loaded is in its state already, which is not entered again;
    /// [`World::init_state`](crate::world::World::init_state) leaves it as it is.
    ///
    /// If nothing is said, all that stays with the world, or ends with it: one that goes back in place is in the state that it
    /// was in, and one out of a file in none.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    /// #[repr(u8)]
    /// enum Screen { Menu, Playing }
    /// megachunk::plain!(enum Screen { Menu, Playing });
    ///
    /// let mut world = World::new();
    /// State::<Screen>::register(world.registry(), "screen")?;
    /// world.init_state(Screen::Playing);
    /// let saved = world.to_snapshot(&Default::default())?;
    ///
    /// let universe = Universe::new();
    /// State::<Screen>::register(universe.registry(), "screen")?;
    /// let mut loaded = World::from_snapshot(&saved, universe, &Default::default())?;
    /// loaded.init_state(Screen::Menu);
    /// assert!(loaded.resources().get::<State<Screen>>().unwrap().is(Screen::Playing));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Of an enum files tell what its states are called. So old files are read when it has more states by now, or has them in
    /// another order, or with other numbers: each state is found by its name. A state of a file that the enum does not have any
    /// more is refused, by its name, if the world was in it, or if it is asked for, or somebody lived within it
    /// ([`StateNotRead`](crate::world::SnapshotError::StateNotRead), [`NotRead`](crate::world::SnapshotError::NotRead)):
    /// [`LoadOptions`](crate::world::LoadOptions) leave the two resources out (`skip_state` of `NAME` and `NAME.next`), and the
    /// fragments (`skip` of `NAME.within` and of `NAME.within.shared`), or make others of these (`convert` of the same names). Other types must be the same as when the file was made: who will
    /// change one takes [`register_with`](Self::register_with), and writes what he can read for ever. (An enum of one state has no bytes,
    /// so who lives within it has a tag, which is no fragment later: give it a `repr(u8)` from the beginning, or `skip` `NAME.within`.)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// mod v1 {
    ///     #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    ///     #[repr(u8)]
    ///     pub enum Screen { Menu, Playing }
    ///     megachunk::plain!(enum Screen { Menu, Playing });
    /// }
    ///
    /// #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    /// #[repr(u8)]
    /// enum Screen { Intro, Menu, Playing }
    /// megachunk::plain!(enum Screen { Intro, Menu, Playing });
    ///
    /// # let mut then = World::new();
    /// # State::<v1::Screen>::register(then.registry(), "screen")?;
    /// # then.init_state(v1::Screen::Playing);
    /// # let tree = then.create((WithinState(v1::Screen::Playing),))?;
    /// # let old_file = then.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// State::<Screen>::register(universe.registry(), "screen")?;
    /// let world = World::from_snapshot(&old_file, universe, &Default::default())?;
    /// assert!(world.resources().get::<State<Screen>>().unwrap().is(Screen::Playing));
    /// assert!(world.get::<WithinState<Screen>>(tree)?.0 == Screen::Playing);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::StateNameTaken`] or [`FragmentError::NameTaken`] if another type has one of these names;
    /// [`FragmentError::NamedOtherwise`] if one of these types was given another before, and
    /// [`FragmentError::SavedOtherwise`] if it was said before how else it is saved; [`FragmentError::TooMany`]. What comes
    /// before the one that is refused is registered.
    pub fn register(registry: &FragmentRegistry, name: &str) -> Result<(), FragmentError> {
        register_resources(registry, name, Form::<S>::plain())?;
        let within = format!("{name}.within");
        registry.register_plain_as::<WithinState<S>>(&within)?;
        registry.register_plain_as::<Shared<WithinState<S>>>(&format!("{within}.shared"))?;
        Ok(())
    }
}

impl<S: States> State<S> {
    /// The same of states that are more than their bytes, an enum whose variants have fields, say: `write` and `read` are as
    /// for [`register_state_with`](FragmentRegistry::register_state_with), of the state alone.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    /// enum Screen { Menu, Level(u8) }
    ///
    /// fn register(universe: &Universe) -> Result<(), FragmentError> {
    ///     State::register_with(
    ///         universe.registry(),
    ///         "screen",
    ///         |screen: &Screen, bytes| match screen {
    ///             Screen::Menu => {}
    ///             Screen::Level(level) => bytes.push(*level),
    ///         },
    ///         |bytes, _| match bytes {
    ///             [] => Ok(Screen::Menu),
    ///             [level] => Ok(Screen::Level(*level)),
    ///             _ => Err("no such screen"),
    ///         },
    ///     )
    /// }
    ///
    /// let mut world = World::new();
    /// register(world.universe())?;
    /// world.init_state(Screen::Level(3));
    /// let saved = world.to_snapshot(&Default::default())?;
    /// let universe = Universe::new();
    /// register(&universe)?;
    /// let loaded = World::from_snapshot(&saved, universe, &Default::default())?;
    /// assert!(loaded.resources().get::<State<Screen>>().unwrap().is(Screen::Level(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// (The only state of a type without a size is saved as a shared value, and as a fragment, which is a tag, not.)
    ///
    /// # Errors
    /// As for [`register`](Self::register).
    pub fn register_with<W, E>(
        registry: &FragmentRegistry,
        name: &str,
        write: impl Fn(&S, &mut Vec<u8>) -> W + Send + Sync + 'static,
        read: impl Fn(&[u8], &EntityMap) -> Result<S, E> + Send + Sync + 'static,
    ) -> Result<(), FragmentError>
    where
        W: StateWritten,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let form = Form {
            write: Box::new(move |state, bytes| write(state, bytes).into_result()),
            read: Box::new(move |bytes, entities| read(bytes, entities).map_err(Into::into)),
            read_unnamed: None,
        };
        let form = register_resources(registry, name, form)?;
        let within = format!("{name}.within");
        // A tag has no values to be written.
        if size_of::<S>() != 0 {
            let (write, read) = (Arc::clone(&form), Arc::clone(&form));
            registry.register_written_as::<WithinState<S>, _, _>(
                &within,
                move |within, bytes| (write.write)(&within.0, bytes),
                move |bytes, entities| (read.read)(bytes, entities).map(WithinState),
            )?;
            // For checkpoints, which clone.
            registry.register_clone::<WithinState<S>>()?;
        }
        let write = Arc::clone(&form);
        registry.register_written_as::<Shared<WithinState<S>>, _, _>(
            &format!("{within}.shared"),
            move |within, bytes| (write.write)(&within.0, bytes),
            move |bytes, entities| (form.read)(bytes, entities).map(WithinState),
        )?;
        Ok(())
    }
}

/// Says how the two resources are saved.
fn register_resources<S: States>(
    registry: &FragmentRegistry,
    name: &str,
    form: Form<S>,
) -> Result<Arc<Form<S>>, FragmentError> {
    let form = Arc::new(form);
    let (write, read) = (Arc::clone(&form), Arc::clone(&form));
    registry.register_state_with(
        name,
        move |state, bytes| write.write_state(state, bytes),
        move |bytes, entities| read.read_state(bytes, entities),
    )?;
    let (write, read) = (Arc::clone(&form), Arc::clone(&form));
    registry.register_state_with(
        &format!("{name}.next"),
        move |next, bytes| write.write_next(next, bytes),
        move |bytes, entities| read.read_next(bytes, entities),
    )?;
    Ok(form)
}

impl<S: Plain> Form<S> {
    /// Of an enum the name of the variant; else the bytes of the state, behind the number that tells its shape.
    fn plain() -> Self {
        if S::VARIANTS.is_empty() {
            return Self {
                write: Box::new(|state, bytes| {
                    bytes.extend(S::SHAPE.to_le_bytes());
                    write_plain(state, bytes)
                }),
                read: Box::new(read_shaped),
                read_unnamed: None,
            };
        }
        Self {
            write: Box::new(|state, bytes| {
                let mut value = Vec::new();
                write_plain(state, &mut value)?;
                let mut all = S::VARIANTS.iter();
                let variant = all.find(|variant| variant.bytes() == value);
                bytes.extend(
                    variant
                        .ok_or("its type has no such variant")?
                        .name()
                        .bytes(),
                );
                Ok(())
            }),
            read: Box::new(|name, entities| {
                let mut all = S::VARIANTS.iter();
                match all.find(|variant| variant.name().as_bytes() == name) {
                    Some(variant) => read_plain(variant.bytes(), entities),
                    None => Err(unknown_variant(&String::from_utf8_lossy(name)).into()),
                }
            }),
            read_unnamed: Some(Box::new(read_shaped)),
        }
    }
}

/// A plain state of its bytes, which stand behind the number that tells its shape.
fn read_shaped<S: Plain>(bytes: &[u8], entities: &EntityMap) -> Result<S, Reason> {
    let (shape, state) = bytes.split_first_chunk().ok_or(EARLY)?;
    match u64::from_le_bytes(*shape) {
        shape if shape == S::SHAPE || shape == 0 || S::SHAPE == 0 => read_plain(state, entities),
        _ => Err("its type had other variants, or other fields, when it was saved".into()),
    }
}

/// Bytes that end before what stands in them does.
const EARLY: &str = "it ends too early";

/// Which parts of a state are there.
const IS_NEW: u8 = 1;
const ENTERED: u8 = 2;
const LEFT: u8 = 4;
const ENDS: u8 = 8;

/// What there is of a next state.
const SET: u8 = 1;
const ANEW: u8 = 2;

/// Of both: states are written by their names.
const NAMED: u8 = 16;

impl<S: States> Form<S> {
    /// A byte that says what there is, and the states, each behind how many bytes it has.
    fn write_state(&self, state: &State<S>, bytes: &mut Vec<u8>) -> Result<(), Reason> {
        let entered = state.transition.map(|transition| transition.entered);
        let left = state.transition.and_then(|transition| transition.left);
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        bytes.push(
            self.named()
                | flag(state.is_new, IS_NEW)
                | flag(entered.is_some(), ENTERED)
                | flag(left.is_some(), LEFT)
                | flag(state.ends.is_some(), ENDS),
        );
        self.write_one(&state.current, bytes)?;
        [entered, left, state.ends]
            .iter()
            .flatten()
            .try_for_each(|state| self.write_one(state, bytes))
    }

    fn read_state(&self, bytes: &[u8], entities: &EntityMap) -> Result<State<S>, Reason> {
        let (&flags, mut bytes) = bytes.split_first().ok_or(EARLY)?;
        let all = IS_NEW | ENTERED | LEFT | ENDS | NAMED;
        if flags & !all != 0 || flags & (ENTERED | LEFT) == LEFT {
            return Err("no state is like this".into());
        }
        let read = self.reader(flags)?;
        let current = read_one(read, &mut bytes, entities)?;
        let mut part = |flag: u8| match flags & flag {
            0 => Ok(None),
            _ => read_one(read, &mut bytes, entities).map(Some),
        };
        let (entered, left, ends) = (part(ENTERED)?, part(LEFT)?, part(ENDS)?);
        expect_end(bytes)?;
        Ok(State {
            current,
            is_new: flags & IS_NEW != 0,
            transition: entered.map(|entered| Transition { left, entered }),
            ends,
        })
    }

    fn write_next(&self, next: &NextState<S>, bytes: &mut Vec<u8>) -> Result<(), Reason> {
        match &next.asked {
            None => bytes.push(0),
            Some(Asked { state, anew }) => {
                bytes.push(self.named() | if *anew { SET | ANEW } else { SET });
                self.write_one(state, bytes)?;
            }
        }
        Ok(())
    }

    fn read_next(&self, bytes: &[u8], entities: &EntityMap) -> Result<NextState<S>, Reason> {
        let (&flags, mut bytes) = bytes.split_first().ok_or(EARLY)?;
        let asked = match flags {
            0 => None,
            _ if flags & !(ANEW | NAMED) == SET => Some(Asked {
                state: read_one(self.reader(flags)?, &mut bytes, entities)?,
                anew: flags & ANEW != 0,
            }),
            _ => return Err("no wish is like this".into()),
        };
        expect_end(bytes)?;
        Ok(NextState { asked })
    }

    fn write_one(&self, state: &S, bytes: &mut Vec<u8>) -> Result<(), Reason> {
        let mut written = Vec::new();
        (self.write)(state, &mut written)?;
        bytes.extend((written.len() as u64).to_le_bytes());
        bytes.extend(written);
        Ok(())
    }

    /// What is said of how states are written.
    fn named(&self) -> u8 {
        match self.read_unnamed {
            Some(_) => NAMED,
            None => 0,
        }
    }

    /// What reads states that are written as these flags say.
    fn reader(&self, flags: u8) -> Result<&Read<S>, Reason> {
        match (flags & NAMED, &self.read_unnamed) {
            (0, Some(read_unnamed)) => Ok(read_unnamed),
            (0, None) | (_, Some(_)) => Ok(&self.read),
            (_, None) => Err("its states were saved by their names, and have none here".into()),
        }
    }
}

fn read_one<S>(read: &Read<S>, bytes: &mut &[u8], entities: &EntityMap) -> Result<S, Reason> {
    let (length, rest) = bytes.split_first_chunk().ok_or(EARLY)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| EARLY)?;
    let (state, rest) = rest.split_at_checked(length).ok_or(EARLY)?;
    *bytes = rest;
    read(state, entities)
}

fn expect_end(bytes: &[u8]) -> Result<(), Reason> {
    match bytes.is_empty() {
        true => Ok(()),
        false => Err("something stands behind it".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nobody() -> EntityMap {
        EntityMap::default()
    }

    #[test]
    fn what_is_written_is_read_and_each_cut_and_each_flaw_is_refused() {
        let form = Form::<u16>::plain();
        let transition = |left| Some(Transition { left, entered: 7 });
        for (transition, ends) in [
            (None, None),
            (transition(None), None),
            (transition(Some(5)), Some(5)),
            (transition(Some(5)), None),
            (None, Some(3)),
        ] {
            let state = State {
                current: 7,
                is_new: ends.is_none(),
                transition,
                ends,
            };
            let mut bytes = Vec::new();
            form.write_state(&state, &mut bytes).unwrap();
            assert_eq!(form.read_state(&bytes, &nobody()).unwrap(), state);
            for cut in 0..bytes.len() {
                assert!(form.read_state(&bytes[..cut], &nobody()).is_err(), "{cut}");
            }
            bytes.push(0);
            let refused = form.read_state(&bytes, &nobody()).unwrap_err();
            assert_eq!(refused.to_string(), "something stands behind it");
            for flags in [LEFT, 32] {
                bytes[0] = flags;
                let refused = form.read_state(&bytes, &nobody()).unwrap_err();
                assert_eq!(refused.to_string(), "no state is like this");
            }
        }
    }

    #[test]
    fn a_wish_is_read_as_it_was_written_and_other_flags_are_refused() {
        let form = Form::<u16>::plain();
        for asked in [None, Some(false), Some(true)] {
            let asked = asked.map(|anew| Asked { state: 9, anew });
            let mut bytes = Vec::new();
            form.write_next(&NextState { asked }, &mut bytes).unwrap();
            assert_eq!(
                form.read_next(&bytes, &nobody()).unwrap(),
                NextState { asked }
            );
            for flags in [ANEW, 4, 5, NAMED, SET | NAMED] {
                bytes[0] = flags;
                assert!(form.read_next(&bytes, &nobody()).is_err(), "{flags}");
            }
        }
    }

    #[test]
    fn a_state_of_a_type_with_another_shape_or_without_such_a_value_is_refused() {
        let mut bytes = Vec::new();
        (Form::<u32>::plain().write)(&7, &mut bytes).unwrap();
        let refused = (Form::<i32>::plain().read)(&bytes, &nobody()).unwrap_err();
        assert!(
            refused.to_string().contains("when it was saved"),
            "{refused}"
        );
        bytes.clear();
        (Form::<bool>::plain().write)(&true, &mut bytes).unwrap();
        assert!((Form::<bool>::plain().read)(&bytes, &nobody()).unwrap());
        *bytes.last_mut().unwrap() = 2;
        let refused = (Form::<bool>::plain().read)(&bytes, &nobody()).unwrap_err();
        assert!(refused.to_string().contains("IS_VALUE"), "{refused}");
    }
}
