//! Orders of groups: what is said of all that are in one.

use crate::processor::solver::GroupOrder;
use crate::processor::{Schedule, Target};

impl Schedule {
    /// Says that all of a group run before something. A group that nobody is in is a mistake as any other name that
    /// nobody has, unless it is [optional](Target::optional).
    ///
    /// It holds until it is [taken back](Self::remove_group_orders), also when all of the group are removed. Said again,
    /// it is kept once, and the order need not be solved anew. O(orders of groups).
    pub fn group_before(
        &mut self,
        group: impl Into<Target>,
        target: impl Into<Target>,
    ) -> &mut Self {
        self.order_group(group.into(), vec![target.into()], Vec::new())
    }

    /// Says that all of a group run after something; the group as for [`group_before`](Self::group_before).
    pub fn group_after(
        &mut self,
        group: impl Into<Target>,
        target: impl Into<Target>,
    ) -> &mut Self {
        self.order_group(group.into(), Vec::new(), vec![target.into()])
    }

    pub(in crate::processor) fn order_group(
        &mut self,
        group: Target,
        before: Vec<Target>,
        after: Vec<Target>,
    ) -> &mut Self {
        let order = GroupOrder {
            path: group.name().into(),
            optional: group.is_optional(),
            before,
            after,
        };
        if !self.groups.contains(&order) {
            self.groups.push(order);
            self.plan = None;
        }
        self
    }

    /// Takes back what was said of a group by [`group_before`](Self::group_before) and
    /// [`group_after`](Self::group_after), and by [composites](crate::processor::Composite) of this name; how many orders that were,
    /// of which a composite has given one. What its processors ask for themselves stays, and so does what others ask for
    /// by its name. O(orders of groups).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("draw", || {}));
    /// schedule.add(processor("fall", || {}).group("Physics")).group_before("Physics", "draw");
    /// schedule.run(&mut world)?;
    /// // Without physics, nobody is in the group that is to run before.
    /// schedule.remove(&mut world, "fall")?;
    /// assert!(schedule.run(&mut world).is_err());
    /// assert_eq!(schedule.remove_group_orders("Physics"), 1);
    /// schedule.run(&mut world)?;
    /// # Ok::<(), ScheduleError>(())
    /// ```
    pub fn remove_group_orders(&mut self, group: &str) -> usize {
        let before = self.groups.len();
        self.groups.retain(|order| order.path != group);
        let removed = before - self.groups.len();
        if removed > 0 {
            self.plan = None;
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::{Composite, processor};
    use crate::world::World;

    #[test]
    fn equal_orders_of_a_group_are_kept_once_and_leave_the_plan() {
        let mut world = World::new();
        let mut schedule = Schedule::new();
        schedule.add(processor("draw", || {}));
        schedule.add(processor("fall", || {}).group("Physics"));
        let order = |schedule: &mut Schedule| {
            schedule.group_before("Physics", "draw");
            schedule.group_before("Physics", Target::from("draw").flushed());
            schedule.group_after("Physics", Target::from("ghost").optional());
            schedule.group_before(Target::from("Mods").optional(), "draw");
            schedule.add_composite(Composite::new("Nobody", []).before("draw"));
        };
        order(&mut schedule);
        schedule.run(&mut world).unwrap();
        for _ in 0..100 {
            order(&mut schedule);
        }
        assert_eq!(schedule.groups.len(), 5);
        assert!(schedule.plan.is_some(), "nothing has changed");
        assert_eq!(schedule.remove_group_orders("Physics"), 3);
        assert_eq!(schedule.remove_group_orders("Physics"), 0);
        assert!(schedule.plan.is_none());
        schedule.run(&mut world).unwrap();
    }
}
