//! Sessions on an entity index: opened, used, and dropped with what they kept.

use megachunk::entity::{Entity, EntityIndex};

use super::{Entities, Progress, Scenario, Subject};

/// An entity index, used through a session for each operation; helpers use sessions and do without.
#[derive(Debug)]
pub struct Sessions(Entities<EntityIndex>);

impl Subject for Sessions {
    type Handles = Vec<Entity>;
    const ROOM: &'static str = "entity";
    const NAME: &'static str = "sessions";

    fn fresh() -> Self {
        Self(Entities::fresh())
    }

    fn in_use(&self) -> i64 {
        self.0.in_use()
    }

    fn scenarios() -> Vec<Scenario<Self>> {
        let nothing = |_: &Self| (Vec::new(), 0);
        let hundred = |sessions: &Self| (sessions.create(100), 100);
        vec![
            Scenario::new("session-first-ever", nothing, |sessions, _| {
                let mut session = sessions.index().session();
                session.create().expect("a stall test is far from full");
                1
            }),
            Scenario::new("session-batch", hundred, |sessions, _| {
                sessions.create(64).len() as i64
            }),
            // More than a session keeps, so that it is emptied in between.
            Scenario::new("session-destroy-50", hundred, |sessions, entities| {
                let mut session = sessions.index().session();
                let died = entities[..50].iter();
                -(died
                    .filter(|&&entity| session.destroy(entity).is_ok())
                    .count() as i64)
            }),
        ]
    }

    fn help(&self, helper: usize, entities: &Vec<Entity>, progress: &Progress) -> i64 {
        let mut session = self.index().session();
        let own: Vec<Entity> = (0..70)
            .map(|_| progress.operation(|| session.create().expect("far from full")))
            .collect();
        let mut created = own.len() as i64;
        for &entity in own.iter().chain(entities) {
            created -= i64::from(progress.operation(|| session.destroy(entity).is_ok()));
        }
        progress.batch(|| drop(session));
        created + self.0.help(helper, entities, progress)
    }
}

impl Sessions {
    fn index(&self) -> &EntityIndex {
        &self.0.0
    }

    /// So many entities, through a session that is dropped then.
    fn create(&self, count: usize) -> Vec<Entity> {
        let mut out = vec![Entity::PLACEHOLDER; count];
        let created = self.index().session().create_slice(&mut out);
        created.expect("a stall test is far from full");
        out
    }
}
