//! The id workloads, and what takes part in them.

use std::io;
use std::sync::Arc;

use super::Unsupported;
use crate::cli::measure::Subject;
use crate::trace::Trace;

mod batch;
mod churn;
mod contender;
mod larson;
mod lookup;
mod near_full;
mod pair;
mod relay;
mod reserve;
mod scale;
mod seam;
mod sessions;
#[cfg(feature = "probe")]
mod stall;
mod trace;

pub use contender::{Abilities, IdContender, IdSession};
pub use seam::{PlainPages, Recipe, Seam, SeamSession, SmallPages, Usual};
pub use sessions::Sessions;

/// "1m" in the workloads' names.
const MILLION: usize = 1_000_000;
/// Bytes of memory that an allocator takes for an id, rounded up.
const BYTES: usize = 9;

/// A workload on ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdWorkload {
    /// Create one, destroy it; 1,000 others live.
    Pair,
    /// The same; one million others live.
    PairMillion,
    /// 64 created singly, 64 destroyed singly; 1,000 others live.
    OneByOne,
    /// So many created in one call and destroyed in another; 1,000 others live.
    Few(usize),
    /// Batches of 64.
    Batch64,
    /// Batches of 8,192.
    Batch8192,
    /// One million in one batch, warm.
    BatchMillion,
    /// One million in one batch, from nothing.
    ColdMillion,
    /// One million destroyed in random order and created again, singly.
    ChurnSingle,
    /// The same, eight in a call.
    ChurnEights,
    /// The same in one batch.
    ChurnBatch,
    /// Of one million so many random ones destroyed in a call, and as many created in another, again and again.
    Replace(usize),
    /// Sets of 1,000 whose random members are replaced and which wander between threads: each holds two, one in hand and
    /// one in its mailbox.
    Larson,
    /// Half of the threads create what the other half destroys.
    ProducerConsumer,
    /// One million reserved one by one.
    ReserveMillion,
    /// One million handles, half of them dead, asked for in random order.
    ExistsMillion,
    /// One million handles located in random order.
    LocateMillion,
    /// Ids replaced while all but a few are taken.
    NearFull,
    /// Ids replaced while another thread stands still in the middle of a call.
    Stall,
    /// So many created, looked up and destroyed.
    Scale(usize),
}

impl IdWorkload {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 27] = [
        Self::Pair,
        Self::PairMillion,
        Self::OneByOne,
        Self::Few(2),
        Self::Few(8),
        Self::Few(32),
        Self::Batch64,
        Self::Batch8192,
        Self::BatchMillion,
        Self::ColdMillion,
        Self::ChurnSingle,
        Self::ChurnEights,
        Self::ChurnBatch,
        Self::Replace(8),
        Self::Replace(1_000),
        Self::Larson,
        Self::ProducerConsumer,
        Self::ReserveMillion,
        Self::ExistsMillion,
        Self::LocateMillion,
        Self::NearFull,
        Self::Stall,
        Self::Scale(10_000),
        Self::Scale(100_000),
        Self::Scale(1_000_000),
        Self::Scale(10_000_000),
        Self::Scale(100_000_000),
    ];

    /// The rows that it fills: one for each phase that is timed apart.
    #[must_use]
    pub fn rows(self) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Pair => &["pair"],
            Self::PairMillion => &["pair_1m"],
            Self::OneByOne => &["one_by_one"],
            Self::Few(batch) => return vec![format!("few/{batch}")],
            Self::Batch64 => &["batch_64/create", "batch_64/destroy"],
            Self::Batch8192 => &["batch_8192/create", "batch_8192/destroy"],
            Self::BatchMillion => &["batch_1m/create", "batch_1m/destroy"],
            Self::ColdMillion => &["cold_1m"],
            Self::ChurnSingle => &["random_destroy_1m/single", "recreate_1m/single"],
            Self::ChurnEights => &["random_destroy_1m/eights", "recreate_1m/eights"],
            Self::ChurnBatch => &["random_destroy_1m/batch", "recreate_1m/batch"],
            Self::Replace(batch) => return vec![format!("replace_1m/{batch}")],
            Self::Larson => &["larson"],
            Self::ProducerConsumer => &["producer_consumer"],
            Self::ReserveMillion => &["reserve_1m"],
            Self::ExistsMillion => &["exists_1m"],
            Self::LocateMillion => &["locate_1m"],
            Self::NearFull => &["near_full"],
            Self::Stall => &["stall"],
            Self::Scale(live) => {
                let phases = ["create", "lookup", "destroy"];
                return phases.map(|phase| format!("scale/{live}/{phase}")).into();
            }
        };
        names.iter().map(ToString::to_string).collect()
    }

    /// The first word of its rows' names.
    #[must_use]
    pub fn family(self) -> String {
        let rows = self.rows();
        let name = rows[0].split('/').next();
        name.unwrap_or_default().to_owned()
    }

    /// Whether it is only run when its name is asked for: it takes minutes and gigabytes.
    #[must_use]
    pub fn is_on_request(self) -> bool {
        matches!(self, Self::Scale(_))
    }

    /// Whether a quick run has no time for it.
    #[must_use]
    pub fn is_slow(self) -> bool {
        matches!(self, Self::NearFull | Self::ChurnEights | Self::Replace(_))
    }

    /// What one operation is: an id's whole life, or one id created, destroyed or looked up.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Pair
            | Self::PairMillion
            | Self::OneByOne
            | Self::Few(_)
            | Self::Replace(_)
            | Self::Larson
            | Self::ProducerConsumer
            | Self::NearFull
            | Self::Stall => "ns/life",
            Self::ExistsMillion | Self::LocateMillion => "ns/lookup",
            _ => "ns/id",
        }
    }

    /// Whether the workload means something on `threads` threads.
    #[must_use]
    pub fn runs_on(self, threads: usize) -> bool {
        match self {
            Self::ColdMillion | Self::Scale(_) => threads == 1,
            Self::ProducerConsumer => threads.is_multiple_of(2),
            _ => true,
        }
    }

    /// Memory that each contender may need while the others need theirs, in bytes.
    #[must_use]
    pub fn memory(self) -> u64 {
        match self {
            // 134 million slots of up to twelve bytes, and a growing table that is copied.
            Self::NearFull => 3 << 30,
            // One after the other: see `memory_at_once`.
            Self::Scale(_) => 0,
            _ => 100 << 20,
        }
    }

    /// Memory that one contender at a time may need, in bytes: handles and slots, and a growing
    /// table that is copied.
    #[must_use]
    pub fn memory_at_once(self) -> u64 {
        match self {
            Self::Scale(live) => live as u64 * 40,
            _ => 0,
        }
    }

    /// Whether a contender that can do so much takes part.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn admits(self, able: Abilities) -> Result<(), Unsupported> {
        let needs = |ability: bool, otherwise: &'static str| match ability {
            true => Ok(()),
            false => Err(Unsupported::because(otherwise)),
        };
        let batches = || needs(able.batches, "has no batch calls");
        let exists = || needs(able.exists, "cannot tell live ids from dead ones");
        match self {
            Self::Few(_)
            | Self::Batch64
            | Self::Batch8192
            | Self::BatchMillion
            | Self::ColdMillion
            | Self::ChurnEights
            | Self::ChurnBatch
            | Self::Replace(_) => batches(),
            Self::ExistsMillion => exists(),
            Self::LocateMillion => needs(able.places, "keeps no places"),
            Self::NearFull => {
                batches()?;
                needs(able.limit.is_some(), "has no limit that can be reached")
            }
            Self::Scale(_) => batches().and_then(|()| exists()),
            Self::Stall => needs(cfg!(feature = "probe"), "needs a build with `probe`"),
            _ => Ok(()),
        }
    }

    /// Sets `C` up for the workload on `threads` threads.
    ///
    /// # Errors
    /// Why `C` cannot take part.
    pub fn set_up<C: IdContender>(self, threads: usize) -> Result<Arc<dyn Subject>, Unsupported> {
        self.admits(C::ABILITIES)?;
        Ok(match self {
            Self::Pair => Arc::new(pair::Pair::<C>::new(1_000)),
            Self::PairMillion => Arc::new(pair::Pair::<C>::new(MILLION)),
            Self::OneByOne => Arc::new(pair::OneByOne::<C>::new(1_000)),
            Self::Few(batch) => Arc::new(batch::Few::<C>::new(batch)),
            Self::Batch64 => Arc::new(batch::Batch::<C>::new(64, threads)),
            Self::Batch8192 => Arc::new(batch::Batch::<C>::new(8_192, threads)),
            Self::BatchMillion => Arc::new(batch::Batch::<C>::million(threads)),
            Self::ColdMillion => Arc::new(batch::Cold::<C>::new()),
            Self::ChurnSingle => Arc::new(churn::Churn::<C>::new(1, threads)),
            Self::ChurnEights => Arc::new(churn::Churn::<C>::new(8, threads)),
            Self::ChurnBatch => Arc::new(churn::Churn::<C>::new(MILLION, threads)),
            Self::Replace(batch) => Arc::new(churn::Replace::<C>::new(batch, threads)),
            Self::Larson => Arc::new(larson::Larson::<C>::new(threads)),
            Self::ProducerConsumer => Arc::new(relay::ProducerConsumer::<C>::new(threads)),
            Self::ReserveMillion => Arc::new(reserve::Reserve::<C>::new(threads)),
            Self::ExistsMillion => Arc::new(lookup::Exists::<C>::new(threads)),
            Self::LocateMillion => Arc::new(lookup::Locate::<C>::new(threads)),
            Self::NearFull => {
                let limit = C::ABILITIES.limit.unwrap_or_default();
                Arc::new(near_full::NearFull::<C>::new(limit, threads))
            }
            Self::Scale(live) => Arc::new(scale::Scale::<C>::new(live)),
            #[cfg(feature = "probe")]
            Self::Stall => Arc::new(stall::Stall::<C>::new(threads)?),
            #[cfg(not(feature = "probe"))]
            Self::Stall => unreachable!("admits nobody without `probe`"),
        })
    }
}

/// Creates `live` ids in the quickest way that `contender` has, and keeps nothing back.
fn populated<C: IdContender>(contender: &C, live: usize) -> Vec<C::Id> {
    let mut session = contender.session();
    let mut ids = vec![C::placeholder(); live];
    if C::ABILITIES.batches {
        session.create_slice(&mut ids);
    } else {
        ids.fill_with(|| session.create());
    }
    session.flush();
    ids
}

/// A contender by its type alone, so that a list can hold several.
pub trait IdEntrant: Send + Sync {
    /// The name in tables.
    fn name(&self) -> &'static str;
    /// Whether the probe counts everything that it does.
    fn is_counted(&self) -> bool;
    /// Whether it can take part in `workload`.
    fn is_admitted(&self, workload: IdWorkload) -> bool;
    /// See [`IdContender::try_room`].
    ///
    /// # Errors
    /// What the system says.
    fn try_room(&self) -> io::Result<()>;
    /// See [`IdWorkload::set_up`].
    ///
    /// # Errors
    /// Why the contender cannot take part.
    fn set_up(&self, workload: IdWorkload, threads: usize)
    -> Result<Arc<dyn Subject>, Unsupported>;
    /// Sets the contender up to replay `trace` on `threads` threads.
    ///
    /// # Errors
    /// The trace cannot be divided among so many threads.
    fn set_up_trace(&self, trace: &Trace, threads: usize) -> Result<Arc<dyn Subject>, Unsupported>;
}

/// What a replay of `trace` costs without any allocator: to be subtracted.
///
/// # Errors
/// The trace cannot be divided among so many threads.
pub fn rehearsal(trace: &Trace, threads: usize) -> Result<Arc<dyn Subject>, Unsupported> {
    Ok(Arc::new(trace::Rehearsal::new(trace, threads)?))
}

/// The entrant for `C`.
#[must_use]
pub fn entrant<C: IdContender>() -> Box<dyn IdEntrant> {
    struct Entrant<C>(core::marker::PhantomData<fn() -> C>);

    impl<C: IdContender> IdEntrant for Entrant<C> {
        fn name(&self) -> &'static str {
            C::NAME
        }

        fn is_counted(&self) -> bool {
            C::COUNTED
        }

        fn is_admitted(&self, workload: IdWorkload) -> bool {
            workload.admits(C::ABILITIES).is_ok()
        }

        fn try_room(&self) -> io::Result<()> {
            C::try_room()
        }

        fn set_up(
            &self,
            workload: IdWorkload,
            threads: usize,
        ) -> Result<Arc<dyn Subject>, Unsupported> {
            workload.set_up::<C>(threads)
        }

        fn set_up_trace(
            &self,
            trace: &Trace,
            threads: usize,
        ) -> Result<Arc<dyn Subject>, Unsupported> {
            Ok(Arc::new(trace::Recorded::<C>::new(trace, threads)?))
        }
    }

    Box::new(Entrant::<C>(core::marker::PhantomData))
}
