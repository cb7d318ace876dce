//! An allocator that does everything that a session can through one that stays open, or through a few and now and then
//! through the index itself: what one keeps, the next call of another does not see.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::entity_ops::Subject;
use megachunk::entity::{
    DestroyReport, Entity, EntityAllocator, EntityError, EntityFault, EntityIndex, Full, Place,
    RelocateError, Session,
};

/// The entity index, and sessions of it: with one of them alone that makes all calls.
pub(crate) struct InSessions<const SESSIONS: usize> {
    /// Before the index, so that they end first.
    sessions: [Mutex<Session<'static>>; SESSIONS],
    turn: AtomicUsize,
    index: Arc<EntityIndex>,
}

impl<const SESSIONS: usize> InSessions<SESSIONS> {
    /// What makes the next call: one of the sessions, or `None`, the index itself. Threads that meet at a session do
    /// not wait for each other.
    fn next<R>(&self, call: impl FnOnce(Option<&mut Session<'static>>) -> R) -> R {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // In no order that calls may have, too.
        let turn = turn.wrapping_mul(0x9E37_79B9) >> 16;
        let session = self
            .sessions
            .get(turn % (SESSIONS + usize::from(SESSIONS > 1)));
        match session.and_then(|session| session.try_lock().ok()) {
            Some(mut session) => call(Some(&mut *session)),
            None => call(None),
        }
    }
}

impl<const SESSIONS: usize> EntityAllocator for InSessions<SESSIONS> {
    const NAME: &'static str = "in_sessions";

    fn fresh() -> Self {
        let index = Arc::new(EntityIndex::new());
        // SAFETY: what an `Arc` holds does not move, and lives until the sessions, which nobody is given, have ended.
        let lasting: &'static EntityIndex = unsafe { &*Arc::as_ptr(&index) };
        Self {
            sessions: [(); SESSIONS].map(|()| Mutex::new(lasting.session())),
            turn: AtomicUsize::new(0),
            index,
        }
    }

    fn capacity(&self) -> usize {
        EntityIndex::CAPACITY
    }

    fn create(&self) -> Result<Entity, Full> {
        self.next(|session| match session {
            Some(session) => session.create(),
            None => self.index.create(),
        })
    }

    fn create_slice(&self, out: &mut [Entity]) -> Result<(), Full> {
        self.next(|session| match session {
            Some(session) => session.create_slice(out),
            None => self.index.create_slice(out),
        })
    }

    fn destroy(&self, entity: Entity) -> Result<(), EntityError> {
        self.next(|session| match session {
            Some(session) => session.destroy(entity),
            None => self.index.destroy(entity),
        })
    }

    fn destroy_slice(&self, entities: &[Entity]) -> DestroyReport {
        self.next(|session| match session {
            Some(session) => session.destroy_slice(entities),
            None => self.index.destroy_slice(entities),
        })
    }

    fn exists(&self, entity: Entity) -> bool {
        self.next(|session| match session {
            Some(session) => session.exists(entity),
            None => self.index.exists(entity),
        })
    }

    fn locate(&self, entity: Entity) -> Result<Option<Place>, EntityError> {
        self.next(|session| match session {
            Some(session) => session.locate(entity),
            None => self.index.locate(entity),
        })
    }

    fn publish(&self, entity: Entity, place: Place) -> Result<(), EntityError> {
        self.index.publish(entity, place)
    }

    fn count(&self) -> usize {
        self.index.count()
    }

    /// Of one session, or of this thread.
    fn flush(&self) {
        self.next(|session| match session {
            Some(session) => session.flush(),
            None => self.index.flush(),
        });
    }
}

impl<const SESSIONS: usize> Subject for InSessions<SESSIONS> {
    fn build(&self, entity: Entity, place: Place) -> Option<Result<(), EntityError>> {
        Some(self.index.build(entity, place))
    }

    fn relocate(
        &self,
        entity: Entity,
        from: Option<Place>,
        to: Option<Place>,
    ) -> Option<Result<(), RelocateError>> {
        Some(self.index.relocate(entity, from, to))
    }

    fn take_place(&self, entity: Entity) -> Option<Result<Option<Place>, EntityError>> {
        Some(self.index.take_place(entity))
    }

    fn living(&self) -> Option<Vec<Entity>> {
        Some(self.index.iter().collect())
    }

    fn check(&self) {
        self.index.check().expect("an index without contradictions");
    }
}

#[test]
fn what_a_session_reserves_is_built_once() {
    let index = EntityIndex::new();
    let mut session = index.session();
    let place = Place::new(3, 4).unwrap();
    let reserved = session.reserve().unwrap();
    assert!(session.exists(reserved));
    assert_eq!((session.locate(reserved), index.count()), (Ok(None), 1));
    index.build(reserved, place).unwrap();
    assert_eq!(session.locate(reserved), Ok(Some(place)));
    let again = index.build(reserved, place).unwrap_err();
    assert_eq!(again.fault, EntityFault::AlreadyBuilt);
    session.destroy(reserved).unwrap();
    assert_eq!(index.count(), 0);
}
