//! Signals: a name has one number whoever asks first, who finds it sees all of it, and what is sent is collected
//! once, in the sender's order, by somebody who knows the signal.

use core::convert::Infallible;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use megachunk::sync::pool::Pool;
use megachunk::sync::roster::Roster;
use megachunk_loom_tests::Bound::{Costly, Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// A signal, and something in it that is written when it is made.
struct Kind {
    name: u32,
    written: UnsafeCell<u32>,
}

impl Kind {
    fn new(name: u32) -> Self {
        let kind = Self {
            name,
            written: UnsafeCell::new(0),
        };
        // SAFETY: nobody else has it yet.
        kind.written.with_mut(|written| unsafe { *written = name });
        kind
    }

    /// What its maker wrote.
    fn read(&self) -> u32 {
        // SAFETY: it is not changed any more: that is what the model asks.
        self.written.with(|written| unsafe { *written })
    }
}

/// The number of a name.
fn number(kinds: &Roster<Kind>, name: u32) -> u32 {
    let made = kinds.find_or_add(|kind| kind.name == name, || Ok(Kind::new(name)));
    let Ok::<_, Infallible>((number, kind)) = made;
    assert_eq!(kind.read(), name);
    number
}

#[test]
fn two_who_ask_for_one_name_get_one_number() {
    model(
        "two_who_ask_for_one_name_get_one_number",
        Exhaustive,
        || {
            let kinds = Arc::new(Roster::new());
            let other = {
                let kinds = Arc::clone(&kinds);
                thread::spawn(move || number(&kinds, 7))
            };
            let mine = number(&kinds, 7);
            assert_eq!(other.join().expect("it does not panic"), mine);
            assert_eq!(kinds.len(), 1);
        },
    );
}

#[test]
fn names_that_come_at_once_get_numbers_of_their_own() {
    model(
        "names_that_come_at_once_get_numbers_of_their_own",
        Preemptions(3),
        || {
            let kinds = Arc::new(Roster::new());
            let other = {
                let kinds = Arc::clone(&kinds);
                thread::spawn(move || (number(&kinds, 1), number(&kinds, 2)))
            };
            let (two, three) = (number(&kinds, 2), number(&kinds, 3));
            let (one, again) = other.join().expect("it does not panic");
            assert_eq!(again, two);
            let mut numbers = [one, two, three];
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2]);
            let known = kinds.get(two).map(Kind::read);
            assert_eq!(known, Some(2));
        },
    );
}

/// Letters: which signal, and which one of the sender's.
type Bag = UnsafeCell<Vec<(u32, u32)>>;

struct Post {
    kinds: Roster<Kind>,
    bags: Pool<Bag>,
}

impl Post {
    /// What a sender does: asks for the signal, takes a bag, and sends twice.
    fn send(&self, name: u32) {
        let signal = number(&self.kinds, name);
        let bag = self.bags.take(0);
        let bag = bag.unwrap_or_else(|| self.bags.lend(UnsafeCell::new(Vec::new())));
        // SAFETY: the bag is lent to this thread alone.
        bag.with_mut(|letters| unsafe {
            (*letters).push((signal, 0));
            (*letters).push((signal, 1));
        });
    }

    /// What who collects does: takes all bags, and then looks which signals there are.
    fn collect(&self) -> Vec<(u32, u32)> {
        let bags = self.bags.take_all();
        let known = self.kinds.len() as u32;
        let mut letters = Vec::new();
        for bag in &bags {
            // SAFETY: as above.
            bag.with_mut(|bag| letters.append(unsafe { &mut *bag }));
        }
        assert!(letters.iter().all(|(signal, _)| *signal < known));
        letters
    }
}

#[test]
fn what_is_sent_is_collected_once_in_order_by_who_knows_the_signal() {
    model(
        "what_is_sent_is_collected_once_in_order_by_who_knows_the_signal",
        Costly(2),
        || {
            let post = Arc::new(Post {
                kinds: Roster::new(),
                bags: Pool::new(),
            });
            let senders: Vec<_> = (1..3)
                .map(|name| {
                    let post = Arc::clone(&post);
                    thread::spawn(move || post.send(name))
                })
                .collect();
            let mut all = post.collect();
            for sender in senders {
                sender.join().expect("it does not panic");
            }
            all.extend(post.collect());
            for name in 1..3 {
                let signal = number(&post.kinds, name);
                let sent = all.iter().filter(|(of, _)| *of == signal);
                let sent: Vec<u32> = sent.map(|(_, n)| *n).collect();
                assert_eq!(sent, [0, 1]);
            }
        },
    );
}
