//! What the entities of the world's model tests are made of: a fragment of each kind, and the ledger
//! that counts those which must be dropped.
//!
//! Every value is made from a number, its *payload*, and tells it again: the model keeps payloads only.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use megachunk::prelude::*;
use megachunk::world::Universe;

/// Which user's code panicked on the ledger's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fused {
    /// What makes values: a constructor in an iterator, a closure.
    Make,
    /// A `Drop`.
    Drop,
    /// A `Clone`.
    Clone,
    /// What makes a value that is required.
    Fill,
}

/// Who is alive among the values that count themselves, and when user's code is to panic.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    alive: Mutex<BTreeMap<u64, &'static str>>,
    next: AtomicU64,
    /// Calls of user's code until one panics; 0 for never.
    fuse: AtomicU32,
    /// Values that were dropped twice, or never made.
    wrongs: AtomicU32,
    /// User's code has panicked.
    burnt: AtomicBool,
}

impl Ledger {
    /// Lets the `calls`-th call from now on panic; 0: none.
    pub(crate) fn arm(&self, calls: u32) {
        self.fuse.store(calls, Ordering::Relaxed);
    }

    /// User's code is called.
    pub(crate) fn burn(&self, what: Fused) {
        // A second panic would end the program.
        if std::thread::panicking() {
            return;
        }
        let one_less = |left: u32| left.checked_sub(1);
        let left = self
            .fuse
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if left == Ok(1) {
            self.burnt.store(true, Ordering::Relaxed);
            // Not `panic!`: that would print, and a fuzzer would call it a crash.
            resume_unwind(Box::new(what));
        }
    }

    /// Whether user's code has panicked since this was asked last.
    pub(crate) fn has_burnt(&self) -> bool {
        self.burnt.swap(false, Ordering::Relaxed)
    }

    /// How many values of a name are alive.
    pub(crate) fn alive(&self, name: &str) -> usize {
        let alive = self.alive.lock().unwrap();
        alive.values().filter(|known| **known == name).count()
    }

    /// Values that were dropped more than once.
    pub(crate) fn wrongs(&self) -> u32 {
        self.wrongs.load(Ordering::Relaxed)
    }
}

/// What makes a value count: it enters the ledger, and leaves it when it is dropped.
#[derive(Debug)]
pub(crate) struct Token {
    ledger: Arc<Ledger>,
    serial: u64,
    name: &'static str,
    panics: bool,
}

impl Token {
    /// Enters a value; `panics` if its drop may.
    pub(crate) fn new(ledger: &Arc<Ledger>, name: &'static str, panics: bool) -> Self {
        let serial = ledger.next.fetch_add(1, Ordering::Relaxed);
        ledger.alive.lock().unwrap().insert(serial, name);
        Self {
            ledger: Arc::clone(ledger),
            serial,
            name,
            panics,
        }
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        self.ledger.burn(Fused::Clone);
        Self::new(&self.ledger, self.name, self.panics)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if self
            .ledger
            .alive
            .lock()
            .unwrap()
            .remove(&self.serial)
            .is_none()
        {
            self.ledger.wrongs.fetch_add(1, Ordering::Relaxed);
        }
        if self.panics {
            self.ledger.burn(Fused::Drop);
        }
    }
}

/// Small, and nothing but its bytes.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Small(pub(crate) u32);
megachunk::plain!(Small { 0 });

/// On the heap.
#[derive(Clone, Debug)]
pub(crate) struct Text(pub(crate) String);

/// Counts itself.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) value: u32,
    _token: Token,
}

/// A tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag;
megachunk::plain!(Tag {});

/// A tag that must be dropped, and cannot be cloned.
#[derive(Debug)]
pub(crate) struct Guard(());

thread_local! {
    static GUARDS: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

impl Guard {
    fn new() -> Self {
        GUARDS.set(GUARDS.get() + 1);
        Self(())
    }

    /// Lets this thread forget how many it made: they go to another one, which is told by `put`.
    pub(crate) fn take() -> i64 {
        GUARDS.replace(0)
    }

    /// So many come from another thread.
    pub(crate) fn put(count: i64) {
        GUARDS.set(GUARDS.get() + count);
    }

    /// How many there are on this thread.
    pub(crate) fn alive() -> i64 {
        GUARDS.get()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDS.set(GUARDS.get() - 1);
    }
}

/// A matrix.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(crate) struct Matrix(pub(crate) [u32; 16]);
megachunk::plain!(Matrix { 0 });

/// Aligned to what chunks have at most.
#[derive(Clone, Copy, Debug)]
#[repr(align(4096))]
pub(crate) struct Page(pub(crate) u32);

/// Can be switched off.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Switch(pub(crate) u16);
megachunk::plain!(Switch { 0 });

/// A tag that can be switched off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Awake;
megachunk::plain!(Awake {});

/// A value that entities share; counts itself.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) number: u32,
    _token: Token,
}

/// A team that is in no ledger of a test, to compare with.
pub(crate) fn team(number: u32) -> Team {
    Team::made(number, &Arc::new(Ledger::default()))
}

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Team {}

impl std::hash::Hash for Team {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // All in one place: equality must decide.
        (self.number / 2).hash(state);
    }
}

/// A value that entities share for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct Species(pub(crate) u32);
megachunk::plain!(Species { 0 });

/// One a chunk; counts itself.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    pub(crate) value: u32,
    _token: Token,
}

impl Weather {
    pub(crate) fn new(value: u32, ledger: &Arc<Ledger>) -> Self {
        Self {
            value,
            _token: Token::new(ledger, "Weather", false),
        }
    }
}

/// What a fragment is called in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Small,
    Text,
    Counted,
    Tag,
    Guard,
    Matrix,
    Page,
    Switch,
    Awake,
    Team,
    Species,
    Weather,
}

impl Kind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Small,
        Self::Text,
        Self::Counted,
        Self::Tag,
        Self::Guard,
        Self::Matrix,
        Self::Page,
        Self::Switch,
        Self::Awake,
        Self::Team,
        Self::Species,
        Self::Weather,
    ];

    /// Whether values of it lie in rows.
    pub(crate) fn has_column(self) -> bool {
        !matches!(
            self,
            Self::Tag | Self::Awake | Self::Team | Self::Species | Self::Weather
        )
    }

    /// Whether it is saved: values are nothing but their bytes, and nothing must be dropped.
    pub(crate) fn is_plain(self) -> bool {
        matches!(
            self,
            Self::Small | Self::Tag | Self::Matrix | Self::Switch | Self::Awake | Self::Species
        )
    }

    /// Whether it can be switched off.
    pub(crate) fn is_enableable(self) -> bool {
        matches!(self, Self::Switch | Self::Awake)
    }

    /// What of a payload a value of this kind keeps.
    pub(crate) fn keeps(self, payload: u32) -> u32 {
        match self {
            Self::Tag | Self::Guard | Self::Awake => 0,
            Self::Switch => payload & 0xffff,
            Self::Team => payload % 5,
            Self::Species => payload % 3,
            _ => payload,
        }
    }
}

/// Which fragment `get_mut` is to change.
pub(crate) fn get_mut_kind(which: u8) -> Kind {
    [
        Kind::Small,
        Kind::Text,
        Kind::Counted,
        Kind::Matrix,
        Kind::Page,
    ][usize::from(which) % 5]
}

/// Which fragment is to be switched: the last can not be.
pub(crate) fn switch_kind(which: u8) -> Kind {
    [Kind::Switch, Kind::Awake, Kind::Small][usize::from(which) % 3]
}

/// Says of the registry what the model assumes: what can be cloned, what switched off.
pub(crate) fn register(universe: &Universe) -> Result<(), WorldError> {
    let registry = universe.registry();
    registry.register_plain::<Small>()?;
    registry.register_clone::<Text>()?;
    registry.register_clone::<Counted>()?;
    registry.register_plain::<Tag>()?;
    registry.register_plain::<Matrix>()?;
    registry.register_clone::<Page>()?;
    registry.register_plain::<Switch>()?;
    registry.register_plain::<Awake>()?;
    registry.register_plain::<ConstShared<Species>>()?;
    registry.register_enableable::<Switch>()?;
    registry.register_enableable::<Awake>()?;
    Ok(())
}

/// Makes the value of a kind from a payload.
pub(crate) trait Made {
    fn made(payload: u32, ledger: &Arc<Ledger>) -> Self;
}

macro_rules! made {
    ($($kind:ident: $payload:ident, $ledger:ident => $make:expr;)*) => {
        $(impl Made for $kind {
            fn made($payload: u32, $ledger: &Arc<Ledger>) -> Self {
                let _ = ($payload, $ledger);
                $make
            }
        })*
    };
}

made! {
    Small: payload, _ledger => Small(payload);
    Text: payload, _ledger => Text(payload.to_string());
    Counted: payload, ledger => Counted { value: payload, _token: Token::new(ledger, "Counted", true) };
    Tag: _payload, _ledger => Tag;
    Guard: _payload, _ledger => Guard::new();
    Matrix: payload, _ledger => Matrix([payload; 16]);
    Page: payload, _ledger => Page(payload);
    Switch: payload, _ledger => Switch(payload as u16);
    Awake: _payload, _ledger => Awake;
    Team: payload, ledger => Team {
        number: Kind::Team.keeps(payload),
        _token: Token::new(ledger, "Team", false),
    };
    Species: payload, _ledger => Species(Kind::Species.keeps(payload));
    Weather: payload, ledger => Weather::new(payload, ledger);
}

/// What is done with a bundle type that a number stands for.
pub(crate) trait WithShape {
    type Out;
    fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> Self::Out;
}

macro_rules! shapes {
    ($(#[$doc:meta])* $dispatch:ident, $kinds:ident, $number:ident, $count:ident = $all:literal once $once:literal:
        $($shape:literal: ($($column:ident)*) $([$role:ident $value:ident])*;)*) => {
        $(#[$doc])*
        const $count: u8 = $all;

        /// The shape that a byte stands for. (As with operations, a new one comes last: bytes that are no shape's number
        /// mean what they did when there were no more than the first.)
        pub(crate) fn $number(byte: u8) -> u8 {
            if byte < $count { byte } else { byte % $once }
        }

        /// The kinds of a shape, in the order of its tuple.
        pub(crate) fn $kinds(shape: u8) -> &'static [Kind] {
            match $number(shape) {
                $($shape => &[$(Kind::$column,)* $(Kind::$value),*],)*
                _ => unreachable!(),
            }
        }

        /// Does it with the bundle type of a shape.
        pub(crate) fn $dispatch<W: WithShape>(shape: u8, with: W) -> W::Out {
            match $number(shape) {
                $($shape => with.with(|_payload, _ledger| ($($column::made(_payload, _ledger),)*)
                    $(.$role($value::made(_payload, _ledger)))*),)*
                _ => unreachable!(),
            }
        }
    };
}

shapes! {
    /// Bundle types that come, go and are created.
    with_shape, kinds_of, shape_of, SHAPES = 21 once 21:
    0: (Small);
    1: (Text);
    2: (Counted);
    3: (Tag);
    4: (Matrix);
    5: (Page);
    6: (Switch);
    7: (Awake);
    8: (Guard);
    9: ();
    10: (Small Text);
    11: (Counted Small);
    12: (Small Counted);
    13: (Counted Matrix Tag);
    14: (Switch Awake Text Guard);
    15: (Page Counted Text Matrix Switch Tag Small);
    16: (Small Text Small);
    17: () [shared Team];
    18: (Counted) [const_shared Species];
    19: (Text) [per_chunk Weather];
    20: (Small Switch) [shared Team] [const_shared Species] [per_chunk Weather];
}

shapes! {
    /// Bundle types for calls on all that a query matches: few, because each is compiled with each filter; and
    /// without values that cannot be changed, because entities may have others.
    with_core, core_kinds_of, core_shape_of, CORE_SHAPES = 8 once 8:
    0: (Small);
    1: (Tag);
    2: (Counted Small);
    3: (Text) [per_chunk Weather];
    4: () [shared Team];
    5: (Small Text Small);
    6: (Switch Awake Text Guard);
    7: (Matrix Counted Tag);
}

shapes! {
    /// Bundle types that a swap takes away.
    with_gone, gone_kinds_of, gone_shape_of, GONE_SHAPES = 4 once 4:
    0: (Tag);
    1: (Counted Small);
    2: (Switch Text);
    3: () [shared Team] [per_chunk Weather];
}
