//! Which public types are `Send`, `Sync`, `Unpin`, `UnwindSafe` and `RefUnwindSafe`, and which are not: what programs build
//! on, though no line of the library says it. A type that gets a field must not lose one of these by the way.

#![cfg(feature = "world")]

use core::marker::PhantomData;

/// A type that is asked for a trait.
struct Asked<T: ?Sized>(PhantomData<fn(&T)>);

/// The method of `$yes` is found before that of `$no`, if the type has the trait: it needs one reference less.
macro_rules! ask_for {
    ($($ask:ident: $auto:path, $yes:ident $no:ident;)*) => {$(
        trait $yes {
            fn $ask(&self) -> bool { true }
        }
        trait $no {
            fn $ask(&self) -> bool { false }
        }
        impl<T: ?Sized + $auto> $yes for Asked<T> {}
        impl<T: ?Sized> $no for &Asked<T> {}
    )*};
}

ask_for! {
    is_send: Send, IsSend NotSend;
    is_sync: Sync, IsSync NotSync;
    is_unpin: Unpin, IsUnpin NotUnpin;
    is_unwind_safe: std::panic::UnwindSafe, IsUnwindSafe NotUnwindSafe;
    is_ref_unwind_safe: std::panic::RefUnwindSafe, IsRefUnwindSafe NotRefUnwindSafe;
}

/// A letter for each that a type has, and `-` for what it has not: `Send`, `sYnc`, `unPin`, `Unwind`- and
/// `RefUnwindSafe`.
macro_rules! letters {
    ($of:ty) => {{
        let asked = &Asked::<$of>(PhantomData);
        let has = [
            asked.is_send(),
            asked.is_sync(),
            asked.is_unpin(),
            asked.is_unwind_safe(),
            asked.is_ref_unwind_safe(),
        ];
        let letters = has.into_iter().zip("SYPUR".chars());
        letters
            .map(|(has, letter)| if has { letter } else { '-' })
            .collect::<String>()
    }};
}

macro_rules! table {
    ($room:ident: $($letters:literal $of:ty;)*) => {
        #[test]
        fn $room() {
            let rows = [$((stringify!($of), letters!($of), $letters)),*];
            let others = rows.into_iter().filter(|(_, is, was)| is != was);
            assert_eq!(others.collect::<Vec<_>>(), [], "what it is, and was");
        }
    };
}

#[test]
fn what_has_none_is_seen_to_have_none() {
    use std::cell::Cell;
    type Bare = (
        std::marker::PhantomPinned,
        *mut u8,
        Cell<u8>,
        &'static mut u8,
    );
    assert_eq!(
        (letters!(Bare), letters!(u8)),
        ("-----".into(), "SYPUR".into())
    );
}

mod of_entity {
    use super::*;
    use megachunk::entity::*;

    table! { entity:
        "SYPUR" Created<'static>;
        "SYPUR" DestroyReport;
        "SYPUR" Entity;
        "SYPUR" EntityError;
        "SYPUR" EntityFault;
        "SYPUR" EntityIndex;
        "SYPUR" EntityMap;
        "SYPUR" EntityMapIter<'static>;
        "SYPUR" Full;
        "SYPUR" IndexOptions;
        "SYPUR" Live<'static>;
        "SYPUR" NoEntity;
        "SYPUR" ParseEntityError;
        "SYPUR" Place;
        "SYPUR" RelocateError;
        "S-P--" Session<'static>;
    }
}

mod of_chunk {
    use super::*;
    use megachunk::chunk::*;

    table! { chunk:
        "SYPUR" ChunkError;
        "SYPUR" ChunkOptions;
        "SYPUR" ChunkStats;
        "SYPUR" Chunks<'static>;
        "SYPUR" MegachunkAllocator;
        "SYPUR" RawChunks;
        "SYPUR" Run;
    }
}

mod of_fragment {
    use super::*;
    use megachunk::fragment::*;

    table! { fragment:
        "SYPUR" DynamicBundle;
        "SYPUR" FieldDefinition<'static>;
        "SYPUR" FragmentDefinition<'static>;
        "SYPUR" FragmentError;
        "SYPUR" FragmentId;
        "SYPUR" FragmentInfo;
        "SYPUR" FragmentKind;
        "SYPUR" FragmentRegistry;
        "SYPUR" FragmentSet;
        "SYPUR" FragmentSetIter<'static>;
        "SYPUR" PlainField;
        "SYPUR" PlainVariant;
        "SYPUR" Value;
        "SYPUR" Values<'static>;
        "SYP-R" ValuesMut<'static>;
    }
}

mod of_archetype {
    use super::*;
    use megachunk::archetype::*;

    table! { archetype:
        "SYPUR" ChunkLayout;
        "SYPUR" Content<'static>;
    }
}

mod of_command {
    use super::*;
    use megachunk::command::*;

    table! { command:
        "SYPUR" Author;
        "S-PUR" Commands<'static>;
        "SYPUR" Dropped;
        "SYPUR" FlushReport;
        "SYPUR" ParallelCommands;
        "SYPUR" RecordedBatch;
        "SYPUR" Refused;
        "SYPUR" WeakCommands;
    }
}

mod of_index {
    use super::*;
    use megachunk::index::*;

    struct Child(megachunk::Entity);
    impl Relationship for Child {
        fn target(&self) -> megachunk::Entity {
            self.0
        }
    }

    table! { index:
        "SYP--" ChangeLog<u32>;
        "SYPUR" Descendants<'static>;
        "SYPUR" LoggedEntities<'static>;
        "SYPUR" RelationshipIndex<Child>;
        "SYP--" ValueIndex<u32, u32>;
        "SYPUR" ValueRange<'static, u32>;
    }
}

mod of_observer {
    use super::*;
    use megachunk::observer::*;

    table! { observer:
        "SYPUR" Observed;
        "SYP--" ObservedBatch<'static>;
        "SYPUR" ObserverId;
        "SYPUR" ObserverInfo<'static>;
    }
}

mod of_processor {
    use super::*;
    use megachunk::processor::param::{Local, Seen};
    use megachunk::processor::*;

    table! { processor:
        "SYP--" App;
        "SYP--" AppError;
        "S-P--" Broken;
        "S-P--" Composite;
        "SYP--" DynamicParams<'static>;
        "SYPUR" Execution;
        "SYP-R" Local<'static, u32>;
        "SYPUR" Params<(&'static u32, Local<'static, u32>)>;
        "SYPUR" MatchExplanation;
        "SYPUR" NetModes;
        "SYPUR" NextState<u32>;
        "SYPUR" Overlap;
        "SYPUR" Phase;
        "S-P--" ProcessorBuilder;
        "SYP--" ProcessorError;
        "SYPUR" ProcessorInfo<'static>;
        "SYPUR" QueryExplanation;
        "SYPUR" Rate;
        "SYPUR" Relation;
        "SYP--" Schedule;
        "SYP--" ScheduleError;
        "SYPUR" ScheduleReport;
        "SYPUR" Seen;
        "SYP--" Simulation;
        "SYPUR" SimulationReport;
        "SYPUR" SolveError;
        "SYPUR" Standing;
        "SYPUR" State<u32>;
        "SYPUR" Target;
        "SYPUR" Tied<std::rc::Rc<u32>>;
        "SYPUR" Time;
        "SYPUR" Timing;
        "SYPUR" Trace;
        "SYPUR" Transition<u32>;
        "SYPUR" WithinState<u32>;
    }
}

mod of_workers {
    use super::*;
    use megachunk::workers::*;

    table! { workers:
        "SYPUR" Job;
        "SYP--" std::sync::Arc<dyn Workers>;
    }
}

mod of_query {
    use super::*;
    use megachunk::query::*;

    table! { query:
        "SYPUR" Access;
        "SYP--" ChunkView<'static>;
        "SYP--" DynamicChange<'static>;
        "SYP--" DynamicChunk<'static>;
        "SYPUR" DynamicFilter;
        "SYPUR" DynamicQuery;
        "SYP--" DynamicQueryBuilder<'static>;
        "SYP--" DynamicResources<'static>;
        "SYP--" DynamicRun<'static>;
        "S-PUR" Has<u32>;
        "SYPUR" Mismatch;
        "SYPUR" NearMiss;
        "SYPUR" NoMatch;
        "SYPUR" Query<&'static u32>;
        "SYP--" QueryChange<'static>;
        "SYPUR" QueryError;
        "--P--" QueryItems<'static, &'static u32, ()>;
        "--P--" QueryIter<'static, &'static u32, ()>;
        "SYP--" QueryLookup<'static, &'static u32>;
        "SYP--" QueryRun<'static, &'static mut u32>;
        "SYPUR" Requirements;
        "SYPUR" ResourceAccess;
        "SYPUR" ResourceId;
        "SYPUR" Switch<'static>;
        "SYPUR" Switches<'static>;
    }
}

mod of_signal {
    use super::*;
    use megachunk::signal::*;

    table! { signal:
        "SYPUR" BroadcastReader<u32>;
        "SYPUR" Delivery;
        "SYP--" Heard<'static, u32>;
        "SYPUR" ParallelSignals;
        "SYP--" Received<'static>;
        "SYPUR" Signal<u32>;
        "SYPUR" SignalError;
        "SYPUR" SignalKind<'static>;
        "SYPUR" SignalReader;
        "SYP--" Signalled<'static>;
        "S-P--" Signals<'static>;
    }
}

mod of_template {
    use super::*;
    use megachunk::template::*;

    table! { template:
        "--P--" BuildContext<'static>;
        "SYPUR" ConfigPlace;
        "SYP--" Template;
        "SYP--" TemplateBuilder;
        "SYPUR" TemplateError;
        "SYPUR" TemplateErrors;
        "SYPUR" TemplateFault;
        "SYPUR" TraitError;
    }
}

mod of_spawner {
    use super::*;
    use megachunk::template::spawner::*;

    table! { spawner:
        "SYPUR" AlongLines;
        "SYPUR" Disc;
        "SYPUR" Each<fn(usize) -> [f32; 3]>;
        "SYPUR" Grid;
        "SYPUR" PointsFile;
        "SYPUR" PoissonDisc;
        "SYPUR" Random;
        "SYPUR" SpawnError;
        "SYP--" SpawnJob;
        "SYPUR" SpawnPoint;
        "SYPUR" Spawned;
        "SYPUR" SpawnedIter<'static>;
        "SYP--" Spawner;
    }
}

mod of_world {
    use super::*;
    use megachunk::world::*;
    use megachunk::{Flaw, FlawPlace, IntegrityError};

    table! { world:
        "SYPUR" ArchetypeStats;
        "SYP--" ArchetypeView<'static>;
        "SYPUR" Batch;
        "SYPUR" Budget;
        "SYPUR" ChangedLayout;
        "SYPUR" Checkpoint;
        "SYPUR" CheckpointError;
        "SYPUR" Checkpoints;
        "SYPUR" ChunkRows;
        "SYPUR" CompactReport;
        "SYPUR" Difference<'static>;
        "SYPUR" DifferingPart<'static>;
        "SYP--" EntityView<'static>;
        "SYP--" EntityViewMut<'static>;
        "SYPUR" FileStep;
        "SYPUR" Flaw;
        "SYPUR" FlawPlace;
        "SYPUR" FragmentSummary;
        "SYPUR" IntegrityError;
        "SYPUR" Lack;
        "SYPUR" LoadOptions;
        "SYPUR" MissingFragment;
        "SYPUR" Pending;
        "SYPUR" Prototype;
        "SYP--" Resources;
        "SYPUR" SliceReport;
        "SYPUR" SnapshotError;
        "SYPUR" SnapshotOptions;
        "SYPUR" SnapshotState<'static>;
        "SYPUR" SnapshotSummary;
        "SYPUR" StateFragment<'static>;
        "SYPUR" StateHashes;
        "SYPUR" StateHashesIter<'static>;
        "SYPUR" StatePart;
        "SYPUR" SystemError;
        "SYPUR" Unsaved;
        "SYPUR" Version;
        "SYP--" World;
        "SYPUR" WorldError;
        "SYPUR" WorldStats;
    }
}
