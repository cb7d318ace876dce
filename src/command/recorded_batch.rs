//! `RecordedBatch`: the entities that one call of a recorder has created.

use crate::command::Commands;
use crate::command::lane::AllMade;
use crate::entity::Entity;

/// The entities of one [`Commands::create_batch`] or [`create_copies`](Commands::create_copies), in
/// order. Names only: it keeps nothing alive.
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
    pub fn iter<'c>(&'c self, commands: &'c Commands<'_>) -> impl Iterator<Item = Entity> + 'c {
        let is_its_own = self.recorder == recorder(commands);
        let spans = if is_its_own { &self.spans[..] } else { &[] };
        spans
            .iter()
            .flat_map(|&(private, first, count)| {
                let private = commands.lane.privates.get(private as usize);
                let rows = first as usize..(first + count) as usize;
                let entities = private.and_then(|private| private.chunk.entities().get(rows));
                entities.unwrap_or(&[])
            })
            .copied()
    }
}
