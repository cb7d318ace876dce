//! The processors of a schedule by their names: to switch, to take out, to put another in one's place.

use crate::panics::{Panicked, end_all, note, resume};
use crate::processor::entry::Entry;
use crate::processor::executor::MemberCell;
use crate::processor::solver::nearest;
use crate::processor::{ProcessorBuilder, Schedule, ScheduleError};
use crate::world::World;

impl Schedule {
    pub(in crate::processor) fn find(&self, name: &str) -> Result<usize, ScheduleError> {
        let at = self.entries.iter().position(|entry| entry.name == name);
        at.ok_or_else(|| ScheduleError::NoProcessor {
            name: name.into(),
            nearest: nearest(name, self.entries.iter().map(|entry| &*entry.name)).map(Into::into),
        })
    }

    /// The processor of this name, or those of the group with this path. (No order has a name for both.)
    fn find_all(&self, name: &str) -> Result<Vec<usize>, ScheduleError> {
        let found = self.find(name);
        if found.is_err() {
            let entries = self.entries.iter().enumerate();
            let members = entries.filter(|(_, entry)| entry.is_in(name));
            let members: Vec<usize> = members.map(|(at, _)| at).collect();
            if !members.is_empty() {
                return Ok(members);
            }
        }
        found.map(|at| vec![at])
    }

    /// Takes a processor out, after its [stop](crate::processor::Processor::stop) if it has been started. What was said of
    /// its group stays: see [`remove_group_orders`](Self::remove_group_orders).
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`]; [`ScheduleError::OtherWorld`] if it has run on another one, which still lives.
    ///
    /// # Panics
    /// If its stop panics, with its name; or the `drop` of what it consists of. It is out then.
    pub fn remove(&mut self, world: &mut World, name: &str) -> Result<(), ScheduleError> {
        let at = self.find(name)?;
        self.take_out(world, &[at])
    }

    /// Takes a processor out, or all of a group and of the groups in it, if the name is the path of one, as
    /// [`set_enabled`](Self::set_enabled) switches them; how many. As if each was [removed](Self::remove), in the order in
    /// which they were added, but all are stopped before the first is out. What was said of the group stays: see
    /// [`remove_group_orders`](Self::remove_group_orders). O(processors taken out · processors).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut schedule = Schedule::new();
    /// schedule.add(processor("draw", || {}));
    /// schedule.add(processor("a quest", || {}).group("Mods.Quests"));
    /// schedule.add(processor("a hat", || {}).group("Mods.Hats"));
    /// assert_eq!(schedule.run(&mut world)?.ran, 3);
    /// assert_eq!(schedule.remove_all(&mut world, "Mods")?, 2);
    /// assert_eq!(schedule.run(&mut world)?.ran, 1);
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either; [`ScheduleError::OtherWorld`] if it has run on
    /// another one, which still lives. Nothing is taken out then.
    ///
    /// # Panics
    /// If a stop panics, with its processor's name, or the `drop` of what one consists of; the first of these panics goes
    /// on when all are out.
    pub fn remove_all(&mut self, world: &mut World, name: &str) -> Result<usize, ScheduleError> {
        let all = self.find_all(name)?;
        self.take_out(world, &all)?;
        Ok(all.len())
    }

    /// Stops these, and takes them out. Their numbers grow.
    fn take_out(&mut self, world: &mut World, all: &[usize]) -> Result<(), ScheduleError> {
        let mut panicked = None;
        if self.is_of(world)? {
            for &at in all {
                note(&mut panicked, || self.stop_one(world, at));
            }
        }
        self.plan = None;
        let last_first = all.iter().rev();
        let gone = last_first.map(|&at| (self.entries.remove(at), self.crew.remove(at)));
        let gone: Vec<_> = gone.collect();
        // What users gave ends when the processors are gone as a whole: it may panic.
        for (entry, member) in gone.into_iter().rev() {
            self.let_go(entry, member, &mut panicked);
        }
        resume(panicked);
        Ok(())
    }

    /// Ends what a processor consists of that is out. Panics of users' `drop`s are noted.
    fn let_go(&mut self, entry: Entry, mut member: MemberCell, panicked: &mut Panicked) {
        self.keep_calls(&entry, &mut member);
        end_all(panicked, [entry.on_start, entry.on_stop]);
        note(panicked, || drop(member));
    }

    /// Puts a processor in the place of the one that has its name, which is stopped, if it has been started, and dropped:
    /// for code that is loaded anew while the program runs. Where an order leaves it to who was added first, the new one
    /// counts as added when the old one was, also among [observers](crate::processor::observing_processor): so one that does
    /// the same gives the same results. All else, its phase, group, order, conditions, and whether it is switched on, is as
    /// its own builder says.
    ///
    /// It begins anew: it is started by the next run; to its queries all [has changed](crate::query::Changed); signals that
    /// waited for the old one are gone, and it hears those that are sent after the next run has begun; its timings begin
    /// with 0. O(processors), and the order is solved anew.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// world.resources_mut().insert(String::new());
    /// let says = |name: &str, word: &'static str| {
    ///     processor(name, move |said: &mut String| said.push_str(word))
    /// };
    /// let mut schedule = Schedule::new();
    /// schedule.add(says("greet", "hello ")).add(says("whom", "world "));
    /// schedule.run(&mut world)?;
    /// schedule.replace(&mut world, says("greet", "goodbye "))?;
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.resources().get::<String>().unwrap(), "hello world goodbye world ");
    /// # Ok::<(), ScheduleError>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if no processor has the name of the new one; [`ScheduleError::OtherWorld`] if it has
    /// run on another one, which still lives. The new one is dropped then.
    ///
    /// # Panics
    /// If the stop of the old one panics, with its name; or the `drop` of what it consists of. It is replaced then.
    pub fn replace(
        &mut self,
        world: &mut World,
        processor: ProcessorBuilder,
    ) -> Result<(), ScheduleError> {
        let at = self.find(&processor.name)?;
        let mut panicked = None;
        if self.is_of(world)? {
            note(&mut panicked, || self.stop_one(world, at));
        }
        let precedence = self.entries[at].precedence;
        let (entry, member) = self.hired(processor, precedence);
        let entry = core::mem::replace(&mut self.entries[at], entry);
        let member = core::mem::replace(&mut self.crew[at], member);
        self.plan = None;
        self.restless = true;
        self.let_go(entry, member, &mut panicked);
        resume(panicked);
        Ok(())
    }

    /// Switches a processor on or off; or all of a group, if the name is the path of one, and of
    /// the groups in it, as if each was named. Switched off it is stopped with the next run, and
    /// passed by; who is ordered against it keeps its place.
    ///
    /// What its queries look for changes since, and signals that it [hears](ProcessorBuilder::hears), wait for its next
    /// run: its subscriptions stay, and so do all signals that come meanwhile, 16 bytes each and what they carry, for as
    /// long as it is off: see [`SignalReader`](crate::signal::SignalReader). [`discard_signals`](Self::discard_signals)
    /// lets them go; so does the processor when it is [removed](Self::remove). A processor that is off for long and
    /// wants none of them is to be removed, or in a [net mode](Self::set_net_modes) that is not played.
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either.
    pub fn set_enabled(&mut self, name: &str, enabled: bool) -> Result<(), ScheduleError> {
        for at in self.find_all(name)? {
            self.entries[at].enabled = enabled;
        }
        self.restless = true;
        Ok(())
    }

    /// Whether a processor, or each of a group, is switched on.
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either.
    pub fn is_enabled(&self, name: &str) -> Result<bool, ScheduleError> {
        let all = self.find_all(name)?;
        Ok(all.into_iter().all(|at| self.entries[at].enabled))
    }

    /// Collects what was sent, and lets all signals go that wait for a processor, or for all of a group, if the name is the
    /// path of one: what it [hears](ProcessorBuilder::hears) and has not got, switched off, say; how many, those that wait
    /// for several counted for each. It hears on: see [`SignalReader::discard`](crate::signal::SignalReader::discard).
    /// O(processors + what they hear), what is dropped, and what [collecting](World::collect_signals) takes.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let boar = world.create((10_u32,))?;
    /// let mut schedule = Schedule::new();
    /// schedule.add(
    ///     processor("wound", |mut wounded: Signalled<&mut u32>| {
    ///         let _ = wounded.deliver(|health, received| *health -= received.len() as u32);
    ///     })
    ///     .hears::<()>("hit")
    ///     .enabled(false),
    /// );
    /// schedule.run(&mut world)?;
    /// let hit = world.signal::<()>("hit")?;
    /// world.signals().send(hit, boar, ());
    /// assert_eq!(schedule.discard_signals(&mut world, "wound")?, 1);
    /// schedule.set_enabled("wound", true)?;
    /// schedule.run(&mut world)?;
    /// assert_eq!(world.get::<u32>(boar)?, &10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ScheduleError::NoProcessor`] if there is no such group either; [`ScheduleError::OtherWorld`] if it has run on
    /// another one, which still lives.
    ///
    /// # Panics
    /// If the `drop` of what a signal carried panics: all is gone then.
    pub fn discard_signals(
        &mut self,
        world: &mut World,
        name: &str,
    ) -> Result<usize, ScheduleError> {
        let all = self.find_all(name)?;
        if !self.is_of(world)? {
            return Ok(0);
        }
        let (mut count, mut panicked) = (0, None);
        note(&mut panicked, || world.collect_signals());
        for at in all {
            let runner = &mut self.crew[at].get_mut().runner;
            count += runner.discard(world, &mut panicked);
        }
        resume(panicked);
        Ok(count)
    }
}
