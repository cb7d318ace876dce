//! `Signal`: what is sent, without saying to whom.

use core::any::{TypeId, type_name};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use crate::exactly::Exactly;
use crate::signal::log::{Payloads, Store};
use crate::signal::post::Post;
use crate::signal::{ParallelSignals, SignalError};
use crate::world::World;
use crate::world::waiting::SignalName;

/// A signal of a world that carries a `P`: what senders send and readers subscribe to. A number, without the
/// world.
///
/// From [`World::signal`] or [`World::signal_of`]. It is a kind of signal, which stays as long as its world: to whom it is
/// sent says the entity.
#[doc(alias = "event")]
#[doc(alias = "message")]
pub struct Signal<P> {
    /// The world's post.
    pub(super) post: u64,
    pub(super) number: u32,
    _payload: Exactly<P>,
}

/// What a world knows of a signal.
#[derive(Debug)]
pub(super) struct Kind {
    /// `None`: it is known by what it carries.
    pub(super) name: Option<Box<str>>,
    pub(super) payload: TypeId,
    pub(super) payload_name: &'static str,
    /// The type of its [`Signal`].
    handle: TypeId,
    pub(super) new_log: fn() -> Box<dyn Store>,
}

impl Kind {
    fn new<P: Send + Sync + 'static>(name: Option<&str>) -> Self {
        Self {
            name: name.map(Into::into),
            payload: TypeId::of::<P>(),
            payload_name: type_name::<P>(),
            handle: TypeId::of::<Signal<P>>(),
            new_log: || Box::<Payloads<P>>::default(),
        }
    }

    /// What it is known by.
    pub(super) fn signal(&self) -> SignalName<&str> {
        SignalName {
            name: self.name.as_deref(),
            carries: self.payload,
        }
    }

    /// The type of its [`Signal`].
    pub(super) fn handle(&self) -> TypeId {
        self.handle
    }

    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.payload_name)
    }
}

impl Post {
    /// The signal of a name; of a type's own if there is none.
    pub(super) fn signal<P: Send + Sync + 'static>(
        &self,
        name: Option<&str>,
    ) -> Result<Signal<P>, SignalError> {
        let payload = TypeId::of::<P>();
        let is = |kind: &Kind| match (&kind.name, name) {
            (Some(known), Some(name)) => **known == *name,
            (None, None) => kind.payload == payload,
            _ => false,
        };
        let found = self.kinds.find_or_add(is, || Ok(Kind::new::<P>(name)));
        let (number, kind) = found?;
        if kind.payload == payload {
            Ok(Signal {
                post: self.number,
                number,
                _payload: PhantomData,
            })
        } else {
            Err(SignalError::Payload {
                name: kind.name().into(),
                carried: kind.payload_name,
                asked: type_name::<P>(),
            })
        }
    }

    /// The number of the signal that is known by what it carries, if somebody has asked for it.
    pub(super) fn number_of<P: 'static>(&self) -> Option<u32> {
        let payload = TypeId::of::<P>();
        let is = |kind: &Kind| kind.name.is_none() && kind.payload == payload;
        self.kinds.find(is).map(|(number, _)| number)
    }

    /// The signal that is known by what it carries.
    pub(super) fn signal_of<P: Send + Sync + 'static>(&self) -> Signal<P> {
        match self.signal(None) {
            Ok(signal) => signal,
            Err(error) => unreachable!("found by its type: {error}"),
        }
    }
}

impl World {
    /// The signal of this name, which carries a `Payload`: the one that there is, or a new one. Any thread,
    /// lock-free, O(signals of the world).
    ///
    /// A name stays as long as the world, in some 250 bytes beside its own and 16 more in each sender's memory; each
    /// look-up and each [collection](Self::collect_signals) walks all of them. So name kinds of signals, of which there are
    /// some hundreds at most, and not instances: `"door opened"`, sent to the door's entity, and not
    /// `"door 17 opened"`. What else there is to say is what it carries.
    ///
    /// # Errors
    /// [`SignalError::Payload`]: it carries something else.
    pub fn signal<Payload: Send + Sync + 'static>(
        &self,
        name: &str,
    ) -> Result<Signal<Payload>, SignalError> {
        Post::of(self).signal(Some(name))
    }

    /// The signal that is known by what it carries. Any thread, lock-free, O(signals of the world).
    #[must_use]
    pub fn signal_of<Payload: Send + Sync + 'static>(&self) -> Signal<Payload> {
        Post::of(self).signal_of()
    }
}

impl<P> Signal<P> {
    /// Whether it is one of the world that these senders are of: who has it from elsewhere asks before he
    /// [sends](crate::signal::Signals::send), which panics with another world's. Wait-free.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let (land, sea) = (World::new(), World::new());
    /// let hit = land.signal::<u32>("hit")?;
    /// assert!(hit.is_of(&land.parallel_signals()));
    /// assert!(!hit.is_of(&sea.parallel_signals()));
    /// # Ok::<(), SignalError>(())
    /// ```
    #[must_use]
    pub fn is_of(&self, signals: &ParallelSignals) -> bool {
        self.post == signals.post_number()
    }

    /// The signal, whatever it carries.
    pub(crate) fn untyped(self) -> Signal<()> {
        Signal {
            post: self.post,
            number: self.number,
            _payload: PhantomData,
        }
    }
}

impl<P> Clone for Signal<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Signal<P> {}

impl<P> PartialEq for Signal<P> {
    fn eq(&self, other: &Self) -> bool {
        (self.post, self.number) == (other.post, other.number)
    }
}

impl<P> Eq for Signal<P> {}

impl<P> Hash for Signal<P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.post, self.number).hash(state);
    }
}

impl<P> fmt::Debug for Signal<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("number", &self.number)
            .field("payload", &type_name::<P>())
            .finish_non_exhaustive()
    }
}
