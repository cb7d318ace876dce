//! An entity component system on a lock-free entity index and a mega-chunk allocator, both model-checked.
//!
//! To learn it, begin with [the guide](guide), a walk in small steps.
//!
//! * [`World`](world::World): entities with fragments, in chunks, queried a chunk at a time.
//! * [`EntityIndex`]: 134,217,728 generational ids that any thread may create, destroy and look up
//!   at any moment without a lock. A handle that is dead stays dead for ever.
//! * [`MegachunkAllocator`]: 1,048,576 chunks of 16 KiB that any thread may take and give back,
//!   singly or in contiguous runs of up to 64.
//!
#![cfg_attr(feature = "world", doc = "```")]
#![cfg_attr(not(feature = "world"), doc = "```ignore")]
//! use megachunk::prelude::*;
//!
//! struct Position(f32);
//! struct Velocity(f32);
//! struct Asleep; // A tag: it has no size.
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut world = World::new();
//!     let ants = world.create_batch((0..1_000).map(|n| (Position(n as f32), Velocity(1.0))))?;
//!     let first = ants.iter(&world).next().expect("there are a thousand");
//!     world.add(first, (Asleep,))?;
//!
//!     let mut awake = Query::<(&mut Position, &Velocity), Without<Asleep>>::new(&world)?;
//!     awake.on(&mut world).for_each(|(position, velocity)| position.0 += velocity.0);
//!     // The same on all cores, where there are many thousands: `par_for_each`.
//!
//!     assert_eq!(world.get::<Position>(first)?.0, 0.0);
//!     world.destroy(first)?;
//!     assert_eq!(awake.on(&mut world).count(), 999);
//!     Ok(())
//! }
//! ```
//!
//! The index and the allocator stand alone. The rooms of the crate, from the ground up:
//!
//! | room | what it holds |
//! |---|---|
//! | [`entity`] | [`Entity`], [`EntityIndex`], the [`EntityAllocator`](entity::EntityAllocator) seam and, behind it, [references](entity::reference) to measure against |
//! | [`chunk`] | [`MegachunkAllocator`], its [memory](chunk::memory), the [`ChunkAllocator`](chunk::ChunkAllocator) seam and [references](chunk::reference) |
//! | [`fragment`] | what entities are made of: [registry](fragment::FragmentRegistry), [sets](fragment::FragmentSet), [bundles](fragment::Bundle) |
//! | [`archetype`] | compositions, and the [layout](archetype::ChunkLayout) of their chunks |
//! | [`world`] | [`World`](world::World): creates, destroys, changes, lends; the [`Universe`](world::Universe) under several worlds |
//! | [`query`] | [`Query`](query::Query): what is lent of which entities |
//! | [`index`] | from [values](index::ValueIndex) and [named entities](index::RelationshipIndex) back to those who have and name them, and [from a version](index::ChangeLog) to those who have changed since |
//! | [`command`] | [`Commands`](command::Commands): recorded by any thread, applied by a flush |
//! | [`observer`] | [observers](world::World::observe) of what comes, goes and is set, in batches |
//! | [`signal`] | [`Signal`](signal::Signal)s, sent by any thread, got once by each [reader](signal::SignalReader) |
//! | [`processor`] | [`Schedule`](processor::Schedule): what runs each frame, in which order, and what at the same time |
//! | [`template`] | [traits](template::EntityTrait) that build [templates](template::Template), entity configs as files |
//! | [`workers`] | [`Workers`](workers::Workers): an engine's own threads, for parallel work in place of rayon's |
#![cfg_attr(
    feature = "trace",
    doc = "| [`trace`] | lifetimes recorded from real programs, and replaying them on an allocator |"
)]
#![cfg_attr(
    feature = "cli",
    doc = "| [`cli`] | the `megachunk` program and the workloads it shares with the benches |"
)]
//! | *for the models* | what may change in any version: |
//! | [`sync`] | atomics, cells and threads: `std`'s, a model checker's, or counting ones ([`sync::probe`]) |
//! | [`memory`] | address space that costs nothing until it is touched |
//!
//! # What stays
//! Within a major version (before 1.0: within a minor one) a program that compiles goes on to compile, and to mean what the
//! documentation says. What comes new are items, fields and variants of what is `#[non_exhaustive]`, and methods with a body
//! of the traits that say that they are open.
//!
//! For ever, in each version that follows:
//! * the numbers of a `template::spawner::Random`, of a seed and a number;
//! * the [bits](Entity::to_bits) of an [`Entity`];
//! * a snapshot that a published version has written is read by all later ones.
//!
//! In any version these may change, or go:
//! * [`sync`] and [`memory`], which are public for the models and benches of this repository, and `cli` and
//!   `trace::replay`, which are for the program;
//! * the seams of who is measured, [`EntityAllocator`](entity::EntityAllocator) and
//!   [`ChunkAllocator`](chunk::ChunkAllocator), and the [references](entity::reference) behind
//!   [both](chunk::reference);
//! * what is there for the macros, and for the models, and shown in no documentation (`#[doc(hidden)]`);
//! * the texts of errors, reports and explanations: programs ask for variants and fields;
//! * which [`FlawPlace`]s there are; how much is kept for a thread ([`CACHED_IDS`](entity::CACHED_IDS),
//!   [`CACHED_CHUNKS`](chunk::CACHED_CHUNKS)).
//!
//! The least version of Rust (now 1.90) rises with a minor version, not with a patch, and only to one that has been stable
//! for half a year.
//!
//! # Features
//! * `world`, on by default: the store. Without it [`sync`], [`memory`], [`entity`] and [`chunk`] alone, which
//!   are compiled in a quarter of the time.
//! * `serde`: serialization of [`Entity`], [`Place`](entity::Place), [`Version`](world::Version) and what is counted:
//!   [`WorldStats`](world::WorldStats), [`ArchetypeStats`](world::ArchetypeStats),
//!   [`ChunkRows`](world::ChunkRows), [`ChunkStats`](chunk::ChunkStats), [`CompactReport`](world::CompactReport),
//!   [`Pending`](world::Pending), [`SnapshotSummary`](world::SnapshotSummary) with its
//!   [`FragmentSummary`](world::FragmentSummary) and [`FragmentKind`](fragment::FragmentKind), and of
//!   [`StateHashes`](world::StateHashes) with their [`StatePart`](world::StatePart).
//! * `probe`: counts read-modify-writes and lets a test freeze a thread at any step; slow.
//! * `inventory`: `register_processor!`, for processors that register themselves where they are written.
//! * `config`: entity configs as TOML files: [`template`].
//! * `trace`: traces of object lifetimes, read and replayed on any entity allocator.
//! * `cli`: the program.
//!
//! # What it tells
//! Through [`tracing`], to who listens. Targets, names and fields stay what they are here, wherever the code is that tells;
//! messages are constant, and for people. What a cause is known of is in `error`; `world` is the
//! [label](world::World::set_label) of a world, or else its number.
//!
//! | target | level | kind | name | fields | what it says |
//! |---|---|---|---|---|---|
//! | `megachunk::schedule` | debug | span | `simulation` | `world`, `name` | a simulation of an app advances |
//! | `megachunk::schedule` | debug | span | `tick` | `world`, `tick` | a tick of a simulation |
//! | `megachunk::schedule` | debug | span | `run` | `world`, `tick` | a schedule's run; the tick that the world tells of, if it does |
//! | `megachunk::schedule` | debug | span | `solve` | `world`, `anew`, `archetypes` | the order is solved anew, or so many new archetypes are looked at |
//! | `megachunk::schedule` | debug | span | `phase` | `world`, `name` | a phase that has processors |
//! | `megachunk::schedule` | debug | span | `processor` | `name` | a processor's run, in its phase, or its conditions |
//! | `megachunk::schedule` | error | span | `help` | | a thread that is in another span does a part of what was begun in the one round this, or in none; no error |
//! | `megachunk::schedule` | debug | event | `execution_tried` | `world`, `beside`, `first` | [`Execution::Auto`](processor::Execution::Auto) tries processors the other way, of which this is the first |
//! | `megachunk::schedule` | warn | event | `simulation_replaced` | `world`, `name` | an app drops a simulation for another of this name |
//! | `megachunk::schedule` | warn | event | `no_threads` | `error` | the system has no threads for parallel work |
//! | `megachunk::schedule` | warn | event | `workers_panicked` | `method`, `error` | a method of a program's own [workers](workers) panicked; the panic ends there |
//! | `megachunk::flush` | debug | span | `flush` | `world`, `commands`, `created`, `destroyed`, `refused` | a flush of a schedule |
//! | `megachunk::flush` | warn | event | `commands_refused` | `world`, `of`, `refused`, `dead`, `error`, `entity`, `recorded` | how many a flush has refused, and the first of them |
//! | `megachunk::flush` | warn | event | `flush_too_deep` | `world`, `deepest` | a closure flushes in so many flushes that it is left to them |
//! | `megachunk::flush` | debug | event | `flush_unfinished` | `world`, `rounds`, `recorders` | commands are left to the next flush |
//! | `megachunk::flush` | error | event | `world_replaced` | `world` | a closure put another world in the place of its own |
//! | `megachunk::flush` | debug | event | `commands_lost` | `world`, `entities`, `commands` | a world has ended, or gone back to a checkpoint, with commands that were not flushed |
//! | `megachunk::signal` | debug | span | `collect` | `world`, `signals` | so many signals are collected |
//! | `megachunk::signal` | warn | event | `signals_heap_up` | `world`, `signal`, `waiting` | a reader does not get its signals |
//! | `megachunk::signal` | warn | event | `signals_unheard` | `world`, `signals`, `count` | delayed signals of a file that nobody has asked for |
//! | `megachunk::observer` | debug | span | `observer` | `world`, `name`, `entities` | an observer's call: a processor's name, or where the observer was made |
//! | `megachunk::observer` | error | event | `observer_waits` | `world`, `name`, `error` | an observer in a schedule cannot be started yet |
//! | `megachunk::world` | debug | event | `composition_added` | `world`, `archetype`, `fragments` | entities have fragments that none had together before |
//! | `megachunk::world` | warn | event | `tied_leaked` | `dropped` | a value that is [tied](processor::Tied) to a thread was dropped on another |
//! | `megachunk::world` | error | event | `drop_panicked` | `world`, `dropped`, `error` | the `drop` of a user's value panicked where nobody can be told |
//! | `megachunk::template` | error | event | `trait_panicked` | `template`, `class`, `place` | a trait panicked; the panic goes on |
//! | `megachunk::memory` | warn | event | `addresses_refused` | `error` | no address space for all chunks at once |
//! | `megachunk::memory` | debug | event | `no_huge_pages` | `whose`, `error` | the system has no huge pages for something |
//! | `megachunk::file` | debug | event | `name_unsure` | `path`, `error` | a file is whole; whether its name is on the disk is not known |
//!
//! While nobody listens, a span or event is a relaxed load; nothing, where `tracing` is compiled without it.
//!
//! What a thread does for others, while it waits or has nothing to do, a piece of another processor's loop, say, is told in
//! their span, to who hears them: a subscriber of one thread alone ([`with_default`](tracing::subscriber::with_default))
//! hears what helps that thread, and one of a thread that helps does not. A filter
//! by targets has to let `help` through for that (`mygame=info,megachunk::schedule=error`): without it, what is done for a
//! span that the thread is in already, or for a caller in none, is told in the span in which it waits.
//!
//! Who listens must not wait for a rayon pool: the thread that tells it something would do what else there is in the pool
//! meanwhile, which may want what that thread holds in the middle of its work, or tell the same listener something.
//!
//! # One copy in a process
//! A host and a library that it loads at run time, each of which links this crate statically, have a copy of it each, with
//! statics and thread-locals of its own. Both number their indices, allocators, registries and worlds from the same number
//! on, and each copy's threads find what they keep of a structure by that number. What follows:
//!
//! * As long as each copy is used with nothing but what it has made itself, they share nothing, and all is well: two
//!   programs in one process.
//! * A world, universe, index, allocator, query, recorder or reader that one copy has made, used through the other's code,
//!   is **undefined behaviour**: a thread takes what it keeps of one structure for what it keeps of another, and world and
//!   fragment numbers no longer tell whose something is. Neither the compiler nor a check sees it: such a reference
//!   comes through a pointer of the loader's, with `unsafe` of yours, and promises more than the type of what it points to.
//!   (Two *versions* of the crate in one binary are no such case: their types differ.)
//!
//! So who loads code has the crate in one dynamic library, which host and game link: a crate of yours with `crate-type =
//! ["dylib"]` that says `pub use megachunk;`, and `-C prefer-dynamic` for all three, built by one compiler. How code is then
//! replaced while the program runs is told in the [guide](guide#hot-reload).
//!
//! # Where the arguments are
//! In `papers/`. `entity-index.md`, `mega-chunk.md`, `archetype-storage.md`,
//! `structural-changes.md`, `signals.md` and `processors.md` tell each protocol's state, orderings,
//! linearization points and proof sketch, and what was checked how; `modelled.md` says which code
//! loom's models run, and which they do not; `checked.md` what the last whole run of `check` found;
//! `figures.md` what was measured; `measured.md` what was tried for speed, and what it gained or lost. What all stand on is in
//! `reading-list.md`, and `guide.md` is [the guide](guide).

// Where documentation is built for the public, with a nightly toolchain: each item says which feature it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
// The lower rooms serve worlds with much that nobody outside can call.
#![cfg_attr(
    not(feature = "world"),
    expect(dead_code, unused_imports, reason = "only worlds call it")
)]

// `megachunk city` is an example's source, which sees the crate from outside.
#[cfg(feature = "cli")]
extern crate self as megachunk;

#[cfg(not(target_pointer_width = "64"))]
compile_error!("megachunk needs a 64-bit target: an index and 16 GiB of chunks are addresses");

#[cfg(all(feature = "world", not(loom)))]
pub mod archetype;
pub mod chunk;
#[cfg(all(feature = "world", not(loom)))]
pub mod command;
pub mod entity;
#[cfg(all(feature = "world", not(loom)))]
mod exactly;
#[cfg(all(feature = "world", not(loom)))]
mod file_bytes;
mod first_few;
mod flaw;
#[cfg(feature = "world")]
pub mod fragment;
// For readers only: no program sees it.
#[cfg(all(doc, feature = "world"))]
pub mod guide;
#[cfg_attr(loom, expect(dead_code, reason = "models have no world"))]
mod hashers;
#[cfg(all(feature = "world", not(loom)))]
pub mod index;
#[cfg(all(feature = "world", not(loom)))]
mod markup;
pub mod memory;
#[cfg(all(feature = "world", not(loom)))]
pub mod observer;
#[cfg(any(feature = "world", loom))]
#[cfg_attr(loom, expect(dead_code, reason = "models have few values"))]
mod panics;
pub mod prelude;
#[cfg(all(feature = "world", not(loom)))]
pub mod processor;
#[cfg(all(feature = "world", not(loom)))]
pub mod query;
#[cfg(all(feature = "world", not(loom)))]
mod shown;
#[cfg(all(feature = "world", not(loom)))]
pub mod signal;
#[cfg(all(feature = "world", not(loom)))]
mod span;
pub mod sync;
#[cfg(all(feature = "world", not(loom)))]
pub mod template;
#[cfg(all(feature = "world", not(loom)))]
mod whole_file;
#[cfg(feature = "world")]
pub mod workers;
#[cfg(all(feature = "world", not(loom)))]
pub mod world;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "trace")]
pub mod trace;

pub use chunk::{Chunks, MegachunkAllocator};
pub use entity::{Entity, EntityIndex};
pub use flaw::{Flaw, FlawPlace, IntegrityError};

/// The tests' value that counts itself.
#[cfg(all(test, feature = "world", not(loom)))]
#[path = "../tests/support/counted.rs"]
mod counted;

/// The README's examples, run as tests.
#[cfg(all(doctest, feature = "world"))]
#[doc = include_str!("../README.md")]
struct Readme;
