//! The archetype room: compositions, the layout of their chunks, and the chunks themselves.
//!
//! An *archetype* is a set of fragments. All entities that have exactly this set lie in its chunks:
//! the handles first, then one array a fragment ([`ChunkLayout`]). Rows are dense: who leaves is
//! replaced by the last entity of the same chunk. An *edge* is what it takes to move an entity from one
//! archetype to another, computed once.
//!
//! A [universe](crate::world::Universe) is what stands under several worlds: the entity index, the mega-chunk allocator, the
//! registry of fragments, and the directory that says whose a chunk is.

#[expect(clippy::module_inception, reason = "the noun of the room")]
mod archetype;
mod bits;
mod chunk;
mod chunk_list;
mod close;
mod column;
mod directory;
mod draft;
mod edge;
mod fills;
pub(crate) mod fold;
mod from_last;
mod gaps;
mod having;
mod layout;
mod mover;
mod open;
mod record;
mod refit;
mod runs;
#[cfg(test)]
pub(crate) mod scarce;
mod shortest;
mod stagger;
pub(crate) mod universe;
mod world_numbers;

pub use layout::{ChunkLayout, Content, MAX_ALIGN};
pub(crate) use universe::Universe;

pub(crate) use archetype::{Archetype, ChunkValue, Ends, Group, Row, SharedId};
pub(crate) use bits::{EnabledBits, read_bit, set_bits, write_bit};
pub(crate) use chunk::{AGING, Chunk, LONG_AGO, NOT_OPEN, READ_ON, is_newer};
pub(crate) use chunk_list::ChunkList;
pub(crate) use column::{Column, copy_row, copy_value};
pub(crate) use directory::{ARCHETYPES, Finder, ROWS_PER_CHUNK, WorldMark, place};
pub(crate) use draft::Draft;
pub(crate) use edge::{Carry, Change, Edge, Edges};
pub(crate) use fills::{Filled, Fills, Stock};
pub(crate) use from_last::FromLast;
pub(crate) use gaps::Move;
pub(crate) use having::{Cursor, Having, HavingLists, Lists, NO_COLUMN, STRETCH, Walk};
pub(crate) use layout::number_of;
pub(crate) use mover::{Carrier, Mover};
pub(crate) use record::ChunkRecord;
pub(crate) use refit::{Refit, Refitting};
pub(crate) use runs::{Rows, copy_bits, copy_rows};
pub(crate) use shortest::Shortest;
pub(crate) use stagger::begin;
