//! `RecordedBatch`: the entities that one call of a recorder has created.

use crate::command::Commands;
use crate::command::lane::AllMade;
use crate::entity::Entity;
use crate::world::Handles;

/// The entities of one [`Commands::create_batch`] or [`create_copies`](Commands::create_copies), in
/// order. Names only: it keeps nothing alive. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct RecordedBatch {
    spans: AllMade,
    recorder: Recorder,
}

/// A recorder that was opened: its queue's identity, and its number there.
type Recorder = (u64, u64);

fn recorder(commands: &Commands<'_>) -> Recorder {
    (commands.queue.identity, commands.precedence.number)
}

impl RecordedBatch {
    pub(super) fn new(spans: AllMade, commands: &Commands<'_>) -> Self {
        Self {
            spans,
            recorder: recorder(commands),
        }
    }

    /// How many entities were created.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.iter().map(|&(_, _, count)| count as usize).sum()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The handles, in the order of the bundles or numbers, from the recorder that created them. Another one has none
    /// of them: then there is nothing to iterate over.
    pub fn iter<'c>(
        &'c self,
        commands: &'c Commands<'_>,
    ) -> impl ExactSizeIterator<Item = Entity> + 'c {
        Handles::new(self.slices(commands))
    }

    /// The handles as a list, which outlives the recorder. O(entities).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut commands = world.commands();
    /// let ants = commands.create_batch((0..1_000_u32).map(|n| (n,)))?.to_vec(&commands);
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.get::<u32>(ants[999])?, &999);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn to_vec(&self, commands: &Commands<'_>) -> Vec<Entity> {
        Handles::new(self.slices(commands)).into_vec()
    }

    /// As many neighbours at a time as there are.
    fn slices<'c>(
        &'c self,
        commands: &'c Commands<'_>,
    ) -> impl Iterator<Item = &'c [Entity]> + Clone + 'c {
        let is_its_own = self.recorder == recorder(commands);
        let spans = if is_its_own { &self.spans[..] } else { &[] };
        let privates = &commands.lane.privates;
        spans
            .iter()
            .map(move |&(private, first, count)| -> &'c [Entity] {
                let private = privates.get(private as usize);
                let rows = first as usize..(first + count) as usize;
                let entities = private.and_then(|private| private.chunk.entities().get(rows));
                entities.unwrap_or(&[])
            })
    }
}
