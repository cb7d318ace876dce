//! Worlds, their archetypes and their snapshots.

#![cfg(feature = "world")]

#[path = "../support/counted.rs"]
mod counted;
#[path = "../support/ending.rs"]
mod ending;
#[path = "../support/layout_oracle.rs"]
mod layout_oracle;
#[path = "../support/snapshot_world.rs"]
mod snapshot_world;

mod alike;
mod archetypes;
mod batches;
mod between;
mod brought;
mod came_again;
mod changes;
mod checkpoints;
mod chunk_fragments;
mod chunk_rules;
mod clones;
mod compacted;
mod continuation;
mod converted;
mod converted_bounds;
mod converted_choice;
mod determinism;
mod differing;
mod dynamic;
mod ended;
mod evolved;
mod far_rows;
mod features;
mod going_on;
mod handed_over;
mod left_out;
mod life;
mod listed;
mod looked_at;
mod misnamed;
mod moves;
mod names;
mod no_room;
mod plain;
mod printed;
mod refilled;
mod reflected;
mod refusals;
mod refused_moves;
mod remapped;
mod required;
mod resources_listed;
mod roles;
mod rolled_back;
mod rows;
mod shapes;
mod shown;
mod slices;
mod slices_saved;
mod snapshot_files;
mod snapshots;
mod snapshots_refused;
mod state;
mod strange_files;
mod swaps;
mod takes;
mod threads;
mod undone;
mod values;
mod whole_chunks;
mod written;
