//! A walk through the crate, from `World::new()` to a city of 100,000 agents: where to begin.
//!
//! (`papers/guide.md` of the repository, of whose files it names some. Items that its chapters are about are
//! [linked at the end](#items-by-chapter).)
#![cfg_attr(
    any(not(doctest), feature = "config"),
    doc = include_str!("../papers/guide.md")
)]
//!
//! ## Items by chapter
//!
//! | chapter | items |
//! |---|---|
//! | [1. A world of entities](#1-a-world-of-entities) | [`World`], [`World::create`], [`World::create_batch`], [`Fragment`], [`Bundle`], [`FragmentRegistry::require`], [`FragmentRegistry::require_with`], [`World::add_required`] |
//! | [2. Queries](#2-queries) | [`Query`], [`World::query`], [`QueryRun::for_each`], [`QueryRun::par_for_each_slice`], [`With`], [`Changed`], [`Enabled`], [`FragmentRegistry::register_enableable`] |
//! | [3. Processors](#3-processors) | [`processor()`], [`Schedule`], [`ProcessorBuilder`], [`Phase`], [what they ask for](param), [`QueryLookup`], [`QueryLookup::peek`], [`Has`], [`Local`], [`World::resources_mut`], [`dynamic_processor`], [`dynamic_processor_with`], [`World::archetypes`], [`DynamicQuery::change`], [`DynamicChunk::peek`], [`DynamicParams::heard`](crate::processor::DynamicParams::heard), [`Schedule::processors`], [`Schedule::replace`], [`Schedule::remove_all`] |
//! | [Pools](#pools) | [`ProcessorBuilder::main_thread`], [`Tied`], [`Execution`], [`Workers`](crate::workers::Workers), [`with_workers`](crate::workers::with_workers) |
//! | [4. The loop of a game](#4-the-loop-of-a-game) | [`Simulation`], [`Rate`], [`Time`], [`App`] |
//! | [5. Commands](#5-commands-changes-from-every-thread) | [`Commands`], [`ParallelCommands`], [`QueryRun::par_for_each_init`], [`ChunkView::sort_key`], [`DynamicChunk::sort_key`], [`World::flush`], [`Target`] |
//! | [6. Observers and signals](#6-observers-and-signals) | [`World::observe`], [`Observed::SET`](crate::observer::Observed::SET), [`observing_processor`], [`World::show_existing`], [`ObservedBatch`], [`Signal`], [`Signals`], [`Signalled`], [`Heard`], [`BroadcastReader`] |
//! | [7. Relations and keys](#7-who-belongs-to-whom-and-who-is-where) | [`Relationship`], [`RelationshipIndex`], [`RelationshipIndex::par_descend`], [`RelationshipIndex::record_orphans`], [`ValueIndex`], [`ChangeLog`] |
//! | [8. Traits, configs, spawner](#8-traits-configs-spawner) | [`EntityTrait`], [the template room](template), [`Template`], [`Spawner`], [generators](template::spawner), [`Prototype`](crate::world::Prototype), [`Group`](crate::world::Group) |
//! | [9. Level of detail](#9-level-of-detail) | [`Bundle::per_chunk`], [`QueryRun::filter_chunks`], [`World::swap`], [`World::set_chunk_rule`] |
//! | [10. Determinism](#10-the-same-for-any-number-of-threads) | [`Universe::ordered`], [`World::state_hash`], [`ProcessorBuilder::pieces`], [`World::state_hashes`], [`World::differences`], [`Schedule::run_watched`], [`Simulation::roll_back_to`], [`Checkpoints`](crate::world::Checkpoints), [`Simulation::roll_back`], [`EntityMap`], [`World::continuation_hash`], [`Schedule::unsaved`] |
//! | [11. Saving and loading](#11-saving-and-loading) | [`plain!`](crate::plain), [`FragmentRegistry::register_written_as`], [`World::save`], [`World::load`], [`LoadOptions`], [`FragmentRegistry::define_struct`], [`LoadOptions::convert_bytes`], [`LoadOptions::convert_bytes_shaped`], [`LoadOptions::rename`], [`LoadOptions::convert`], [`LoadOptions::take_as_is`], [`SnapshotOptions::only`](crate::world::SnapshotOptions::only), [`World::load_remapped`], [`World::slice_to_snapshot`], [`World::save_snapshot`], [`World::to_snapshot_in`], [`SnapshotSummary`](crate::world::SnapshotSummary), [`SnapshotSummary::resource`](crate::world::SnapshotSummary::resource), [`World::unsaved`], [`World::unnamed`] |
//! | [12. Threads of your own](#12-threads-of-your-own) | [`World::parallel_commands`], [`World::parallel_commands_for`], [`ParallelCommands::downgrade`], [`World::parallel_signals`], [`World::set_flush_rounds`], [`World::pending`], [`QueryRun::par_gather_into`] |
//! | [13. Modules, tests, screens](#13-modules-tests-screens) | [`Composite`], [`World::run_once`], [`World::with_params`], [`Params`], [`exclusive_processor`], [`ProcessorBuilder::run_if`], [`ProcessorBuilder::on_start`], [states](#states-of-an-application): [`State`], [`NextState`], [`state_transition`], [`WithinState`], [`ProcessorBuilder::run_if_in_state`], [`Commands::set_state`], [`Commands::reenter_state`], [`State::register`], [`State::register_with`], [`Schedule::set_measured`], [`Schedule::explain_overlap`], [hot reload](#hot-reload): [`Schedule::stop`], [`World::take`], [`World::to_snapshot`], [`World::from_snapshot`] |
//! | [14. What one call can cost](#14-what-one-call-can-cost) | [`Universe::trim_to`], [`Universe::like`], [`Universe::like_with`], [`ChunkOptions::retain`](crate::chunk::ChunkOptions::retain), [`ChunkOptions::at_most`](crate::chunk::ChunkOptions::at_most), [`Schedule::solve`], [`Execution`] |
//! | [15. When something is wrong](#15-when-something-is-wrong) | [`World::describe`], [`World::entity`], [`EntityView::change_version`](crate::world::EntityView::change_version), [`Schedule::ran_at`], [`FragmentRegistry::register_debug`], [`Schedule::explain_match`], [`World::check`], [`World::stats`] |
//! | [16. Scripts and editors](#16-scripts-and-editors) | [`FragmentRegistry::define_struct`], [`FragmentRegistry::define_plain`], [`FragmentRegistry::make_enableable`], [`World::create_dynamic`], [`DynamicQuery`], [`DynamicChunk::switches`], [`World::set_enabled_dynamic`], [`PlainField`](crate::fragment::PlainField), [`ValuesMut::set_bytes`](crate::fragment::ValuesMut::set_bytes), [`World::observe_dynamic`], [`Values::write_to`](crate::fragment::Values::write_to), [`Value::read_from`], [`Value::read_from_remapped`], [`FragmentInfo::expect_shape`](crate::fragment::FragmentInfo::expect_shape) |

use crate::fragment::FragmentRegistry;
use crate::prelude::*;
use crate::processor::{Composite, Params, Tied, dynamic_processor_with, param};
use crate::query::{ChunkView, DynamicChunk};
use crate::template;
