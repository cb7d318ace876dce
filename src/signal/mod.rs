//! The signal room: words from anybody to entities, heard by whoever asked for them.
//!
//! A [`Signal`] has a name or is known by the type of what it carries. Any thread [sends](Signals) it to
//! entities, without a lock, at once or for a [time](crate::world::World::time) that is still to come. A
//! [`SignalReader`] that has subscribed gets, each time it is run, every signalled entity that its query matches
//! once, with all that was sent to it since. What is [broadcast](Signals::broadcast) goes to nobody in particular, and is
//! [heard](Heard) in the same way.
//!
//! Sending is as recording commands is: a *mailbag* is lent to one sender after the other, from a
//! lock-free [pool](crate::sync::pool). Who has the world to itself collects the bags: by the place
//! of the sender's processor in its schedule, by sort key, by when senders opened, then in the
//! order of sending; and puts each signal into the *log* of its kind, where every reader has its
//! own place. So what readers get depends on no thread.

mod collect;
mod error;
mod heard;
mod kind;
mod log;
mod mailbag;
mod moving;
mod post;
mod reader;
mod sender;
mod signal_kind;
mod signalled;
mod subscriptions;
mod time;

use crate::entity::Entity;

pub(crate) use collect::is_collected;
pub use error::SignalError;
pub use heard::{BroadcastReader, Heard};
pub use kind::Signal;
pub use reader::{Delivery, Received, SignalReader};
pub use sender::{ParallelSignals, Signals};
pub use signal_kind::SignalKind;
pub use signalled::Signalled;

/// To whom is sent what is broadcast: a handle that nobody has, and nobody can make.
pub(crate) const EVERYBODY: Entity = Entity::EVERYBODY;
