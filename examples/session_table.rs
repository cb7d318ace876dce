//! A table of sessions for many threads: ids from an `EntityIndex`, rows in chunks of a `MegachunkAllocator`, no world.
//!
//!     cargo run --release --example session_table
//!
//! Workers open sessions, look up and end those of each other. One more thread moves sessions to other rows
//! meanwhile. When it is quiet, chunks without sessions are given back, and at the end all are.
//!
//! Who may touch a row:
//!
//! * *A free row* is in the list of one desk (a thread's part of the table), and that desk's alone.
//! * *A session's row* is nobody's to change. It becomes that desk's which takes the place out of the index, by
//!   [`take_place`](EntityIndex::take_place) to end the session, or by [`relocate`](EntityIndex::relocate) to move it to
//!   another row. Either is a compare-and-swap that names the place, so that of all who try one succeeds. (To `locate` a
//!   session, `destroy` it and then free the row where it lay would be wrong: it may have moved between the first and the
//!   second, and the row that is freed is another session's by then.)
//! * *Who looks up* changes nothing and waits for nobody. It asks where the session lies, copies the row, and then
//!   asks the row whether it was this session's all the time: rows are free again, and filled again, while others read.
//! * *Chunks* go back through `&mut`, when nobody reads: a row that was located a moment ago must still be memory.

use std::collections::HashMap;
use std::error::Error;
use std::mem::{self, MaybeUninit};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, fence};
use std::thread;
use std::time::Instant;

use megachunk::chunk::{CHUNK_BYTES, ChunkError, MegachunkAllocator, RawChunks};
use megachunk::entity::{Entity, EntityIndex, Place};

/// Turns of each worker: in each it opens a session, and looks others up.
const TURNS: u64 = 200_000;
/// Sessions that live at once are no more than the places of the board.
const BOARD: usize = 20_000;
/// Rows of a chunk.
const ROWS: u32 = (CHUNK_BYTES / size_of::<Row>()) as u32;

/// What is known of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Login {
    user: u64,
    token: u64,
}

impl Login {
    /// The token is made of the handle, so that whoever reads a login can tell whether it is that session's.
    fn new(session: Entity, user: u64) -> Self {
        let token = (session.to_bits() ^ user.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { user, token }
    }
}

/// A session's row. All zero, it is free.
struct Row {
    /// Grows when the row is filled; odd while it is.
    turn: AtomicU64,
    /// The session's handle, or 0.
    owner: AtomicU64,
    user: AtomicU64,
    token: AtomicU64,
}

impl Row {
    /// Fills a row that is the caller's alone.
    fn fill(&self, session: Entity, login: Login) {
        let turn = self.turn.load(Relaxed);
        self.turn.store(turn + 1, Relaxed);
        // Who sees one of the values below sees the odd turn, too: the partner is the fence of `read`.
        fence(Release);
        let before = self.owner.swap(session.to_bits(), Relaxed);
        assert_eq!(before, 0, "a row has two owners");
        self.user.store(login.user, Relaxed);
        self.token.store(login.token, Relaxed);
        // Who sees this turn sees the values: the partner is the first load of `read`.
        self.turn.store(turn + 2, Release);
    }

    /// Frees a row that is the caller's alone.
    fn clear(&self, session: Entity) {
        let before = self.owner.swap(0, Relaxed);
        assert_eq!(before, session.to_bits(), "a row is another session's");
    }

    /// The login of a session, if this was its row all the time that this call took.
    fn read(&self, session: Entity) -> Option<Login> {
        let turn = self.turn.load(Acquire);
        let owner = self.owner.load(Relaxed);
        let login = Login {
            user: self.user.load(Relaxed),
            token: self.token.load(Relaxed),
        };
        fence(Acquire);
        let is_whole = turn.is_multiple_of(2) && self.turn.load(Relaxed) == turn;
        (is_whole && owner == session.to_bits()).then_some(login)
    }
}

/// What threads share. Chunks that it has taken are its own, and zeroed at first, until [`trim`](Table::trim).
struct Table {
    index: EntityIndex,
    chunks: MegachunkAllocator,
    /// What desks have left behind that are closed.
    left: Mutex<Left>,
}

#[derive(Default)]
struct Left {
    tickets: Vec<RawChunks>,
    free: Vec<Place>,
}

impl Table {
    fn new() -> Self {
        Self {
            index: EntityIndex::new(),
            chunks: MegachunkAllocator::new(),
            left: Mutex::default(),
        }
    }

    /// A thread's part of the table.
    fn desk(&self) -> Desk<'_> {
        Desk {
            table: self,
            own: Left::default(),
        }
    }

    fn row(&self, place: Place) -> &Row {
        let first = self.chunks.base(place.chunk()).cast::<Row>();
        // SAFETY: all places in the index and in lists are of rows of chunks that the table has taken and zeroed, and
        // gives back by `&mut self` only. Zeroes are a row, 4 KiB is more than its alignment, and all in it are atomics.
        unsafe { first.add(place.row() as usize).as_ref() }
    }

    /// The login of a session; `None` if it is over. Any thread, at any moment.
    fn look_up(&self, session: Entity) -> Option<Login> {
        loop {
            // An error: it is over. No place: it is being ended, or not open yet.
            let place = self.index.locate(session).ok()??;
            // Else it has moved or ended since.
            if let Some(login) = self.row(place).read(session) {
                return Some(login);
            }
        }
    }

    /// Moves a session to a row that is the caller's alone; the row that it has left is the caller's then. `None`: it
    /// has ended, or moved meanwhile.
    fn relocate(&self, session: Entity, to: Place) -> Option<Place> {
        let from = self.index.locate(session).ok()??;
        // A row stays as it is as long as it is that session's: so the copy is true until the session leaves it.
        let login = self.row(from).read(session)?;
        self.row(to).fill(session, login);
        match self.index.relocate(session, Some(from), Some(to)) {
            Ok(()) => {
                self.row(from).clear(session);
                Some(from)
            }
            Err(_) => {
                self.row(to).clear(session);
                None
            }
        }
    }

    /// Gives back all chunks in which no session lies; how many. Nobody reads meanwhile, as it takes `&mut`.
    fn trim(&mut self) -> Result<usize, ChunkError> {
        let left = self.left.get_mut().expect("no desk has panicked");
        let mut free_rows: HashMap<u32, u32> = HashMap::new();
        for place in &left.free {
            *free_rows.entry(place.chunk()).or_default() += 1;
        }
        let is_empty = |chunk: u32| free_rows.get(&chunk) == Some(&ROWS);
        left.free.retain(|place| !is_empty(place.chunk()));
        let before = left.tickets.len();
        let (empty, kept): (Vec<_>, Vec<_>) =
            (left.tickets.drain(..)).partition(|ticket| is_empty(ticket.run().first()));
        left.tickets = kept;
        for ticket in empty {
            // The ticket is good once; what comes of it is dropped, and the chunk is free.
            self.chunks.reclaim(ticket)?.free();
        }
        Ok(before - left.tickets.len())
    }
}

/// A thread's part of the table: its free rows, and the tickets of chunks that it has taken. So nobody waits for
/// another thread, but when a desk is closed.
struct Desk<'t> {
    table: &'t Table,
    own: Left,
}

impl Desk<'_> {
    /// A free row, which is this desk's alone.
    fn take_row(&mut self) -> Result<Place, ChunkError> {
        if self.own.free.is_empty() {
            self.take_chunk()?;
        }
        Ok(self.own.free.pop().expect("there are some now"))
    }

    /// Takes a chunk, whose rows are free.
    fn take_chunk(&mut self) -> Result<(), ChunkError> {
        let mut chunk = self.table.chunks.allocate()?;
        chunk.as_uninit().fill(MaybeUninit::new(0));
        let number = chunk.run().first();
        self.own.tickets.push(chunk.into_raw());
        let rows = (0..ROWS).rev();
        let places = rows.map(|row| Place::new(number, row).expect("no chunk has 4,095 rows"));
        self.own.free.extend(places);
        Ok(())
    }

    /// Opens a session. Others may look it up, move it and end it as soon as they have the handle.
    fn open(&mut self, user: u64) -> Result<Entity, Box<dyn Error>> {
        let place = self.take_row()?;
        let session = match self.table.index.create() {
            Ok(session) => session,
            Err(full) => {
                self.own.free.push(place);
                return Err(full.into());
            }
        };
        let login = Login::new(session, user);
        self.table.row(place).fill(session, login);
        // Who locates it from now on sees what is in the row.
        self.table.index.build(session, place)?;
        Ok(session)
    }

    /// Ends a session; whether it was this call that did.
    fn end(&mut self, session: Entity) -> bool {
        let index = &self.table.index;
        // An error: it is over. No place: somebody else ends it.
        let Ok(Some(place)) = index.take_place(session) else {
            return false;
        };
        // Who has taken the place destroys, and nobody else.
        index.destroy(session).expect("it is this call's to end");
        self.table.row(place).clear(session);
        self.own.free.push(place);
        true
    }

    /// Moves a session to a row of this desk's, if it does not end or move meanwhile; whether it did. The desk has
    /// one free row afterwards, as before: that one, or the one which the session has left.
    fn fetch(&mut self, session: Entity, to: Place) -> bool {
        let left = self.table.relocate(session, to);
        self.own.free.push(left.unwrap_or(to));
        left.is_some()
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        if let Ok(mut left) = self.table.left.lock() {
            left.tickets.append(&mut self.own.tickets);
            left.free.append(&mut self.own.free);
        }
    }
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    opened: usize,
    ended: usize,
    /// Somebody else had ended it.
    too_late: usize,
    found: usize,
    over: usize,
}

/// Numbers by chance (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// Opens sessions and pins them to the board; ends those that it takes down, looks up those of others.
fn work(table: &Table, board: &[AtomicU64], seed: u64) -> Result<Counts, String> {
    let mut desk = table.desk();
    let mut dice = Dice(seed);
    let mut counts = Counts::default();
    for turn in 0..TURNS {
        let session = desk.open(seed << 32 | turn).map_err(|e| e.to_string())?;
        counts.opened += 1;
        // Whoever takes or reads a handle, by Acquire, sees that its session was opened.
        let taken = board[dice.below(board.len())].swap(session.to_bits(), AcqRel);
        let mut end = |bits| {
            if let Some(session) = Entity::try_from_bits(bits) {
                match desk.end(session) {
                    true => counts.ended += 1,
                    false => counts.too_late += 1,
                }
            }
        };
        end(taken);
        // Now and then one that stays on the board, which others may end at this moment, too.
        if turn % 16 == 0 {
            end(board[dice.below(board.len())].load(Acquire));
        }
        for _ in 0..2 {
            let pinned = board[dice.below(board.len())].load(Acquire);
            let Some(other) = Entity::try_from_bits(pinned) else {
                continue;
            };
            match table.look_up(other) {
                Some(login) => {
                    assert_eq!(login, Login::new(other, login.user), "another's login");
                    counts.found += 1;
                }
                None => counts.over += 1,
            }
        }
    }
    Ok(counts)
}

/// Moves one session after the other to rows of its own, until it is told to stop; how many.
fn tidy(table: &Table, stop: &AtomicBool) -> Result<usize, ChunkError> {
    let mut desk = table.desk();
    let mut moved = 0;
    while !stop.load(Relaxed) {
        for session in &table.index {
            let to = desk.take_row()?;
            moved += usize::from(desk.fetch(session, to));
        }
    }
    Ok(moved)
}

/// Moves sessions that nobody else ends or moves to as few chunks as can be, which have no others.
fn gather(table: &Table, sessions: &[Entity]) -> Result<(), ChunkError> {
    let mut desk = table.desk();
    for _ in 0..sessions.len().div_ceil(ROWS as usize) {
        desk.take_chunk()?;
    }
    // Apart from the rows that sessions leave.
    let mut rows = mem::take(&mut desk.own.free);
    for &session in sessions {
        let to = rows.pop().expect("there are enough");
        assert!(desk.fetch(session, to));
    }
    desk.own.free.append(&mut rows);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let workers = thread::available_parallelism()?.get().clamp(2, 8) as u64;
    let mut table = Table::new();
    let board: Vec<AtomicU64> = (0..BOARD).map(|_| AtomicU64::new(0)).collect();

    // The day: all at once, and one that moves what they use.
    let start = Instant::now();
    let stop = AtomicBool::new(false);
    let (all, moved) = thread::scope(|scope| {
        let (table, board, stop) = (&table, &board, &stop);
        let tidying = scope.spawn(move || tidy(table, stop));
        let working: Vec<_> = (1..=workers)
            .map(|seed| scope.spawn(move || work(table, board, seed)))
            .collect();
        let counts: Vec<_> = working.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Relaxed);
        let mut all = Counts::default();
        for counts in counts {
            let counts = counts.expect("a worker's asserts hold")?;
            all.opened += counts.opened;
            all.ended += counts.ended;
            all.too_late += counts.too_late;
            all.found += counts.found;
            all.over += counts.over;
        }
        let moved = tidying.join().expect("its asserts hold")?;
        Ok::<_, Box<dyn Error>>((all, moved))
    })?;
    let took = start.elapsed().as_secs_f64();
    println!(
        "{workers} threads opened {} sessions in {took:.2} s and ended {}, {} times too late;",
        all.opened, all.ended, all.too_late
    );
    println!(
        "they looked up {}, of which {} were over, while {moved} were moved.",
        all.found + all.over,
        all.over
    );
    let living: Vec<Entity> = table.index.iter().collect();
    assert_eq!(all.opened, workers as usize * TURNS as usize);
    assert_eq!(living.len(), all.opened - all.ended);
    check(&mut table, &living);
    // Each session was pinned to one place of the board, and is over if it was taken down.
    let pinned = board.iter().map(|place| place.load(Relaxed));
    let pinned = pinned.filter_map(Entity::try_from_bits);
    assert_eq!(
        pinned.filter(|&one| table.index.exists(one)).count(),
        living.len()
    );

    // The night: few stay, in chunks of their own, and the others go back.
    let (staying, leaving) = living.split_at(living.len() / 8);
    let mut desk = table.desk();
    assert!(leaving.iter().all(|&session| desk.end(session)));
    drop(desk);
    let sparse = table.chunks.in_use();
    thread::scope(|scope| {
        let gathering = scope.spawn(|| gather(&table, staying));
        // Nobody ends any: so each is found at every moment, wherever it is just then.
        while !gathering.is_finished() {
            assert!(staying.iter().all(|&one| table.look_up(one).is_some()));
        }
        gathering.join().expect("its asserts hold")
    })?;
    let given_back = table.trim()?;
    check(&mut table, staying);
    println!(
        "{} live on, in {} chunks instead of {sparse}; {given_back} were given back.",
        staying.len(),
        table.chunks.in_use()
    );
    assert_eq!(table.chunks.in_use(), staying.len().div_ceil(ROWS as usize));

    // The end.
    let mut desk = table.desk();
    assert!(staying.iter().all(|&session| desk.end(session)));
    assert!(!staying.iter().any(|&session| desk.end(session)));
    drop(desk);
    table.trim()?;
    check(&mut table, &[]);
    assert!(table.index.is_empty());
    assert_eq!(table.chunks.in_use(), 0);
    let stats = table.chunks.stats();
    println!(
        "All are over, and all chunks back: {} in use, {} kept by this thread, {} MiB kept for whoever comes next.",
        stats.in_use, stats.cached, stats.committed_megachunks
    );
    Ok(())
}

/// While it is quiet: these sessions live, each in a row of its own, and all other rows are free.
fn check(table: &mut Table, living: &[Entity]) {
    let left = table.left.get_mut().expect("no desk has panicked");
    let rows = left.tickets.len() * ROWS as usize;
    let mut places = left.free.clone();
    let free = places.len();
    for &session in living {
        let login = table.look_up(session).expect("it lives");
        assert_eq!(login, Login::new(session, login.user));
        let place = table.index.locate(session).expect("it lives");
        places.push(place.expect("it has a row"));
    }
    assert_eq!(free + living.len(), rows);
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), rows, "a row is used by two");
}
