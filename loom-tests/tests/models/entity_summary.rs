//! The hint tree over the claim words: no open word stays hidden, at two and at three levels.
//!
//! The model holds the words that the hints speak of: 1 = full, 0 = open. Who fills one marks it full,
//! who opens one marks it open, as the index does.

use loom::sync::Arc;
use loom::thread;
use megachunk::entity::model::HintTree;
use megachunk::sync::atomic::{AtomicU64, Ordering};
use megachunk::sync::model::Lags;
use megachunk_loom_tests::Bound::{Exhaustive, Preemptions};
use megachunk_loom_tests::model;

/// Words that can be full, the hints over them, and who changes these.
struct Words {
    words: Vec<AtomicU64>,
    hints: HintTree,
    lags: Lags,
}

impl Words {
    /// `count` words, all full but those in `open`.
    fn all_full_but(count: usize, open: &[usize]) -> Arc<Self> {
        let words = Self {
            words: (0..count).map(|_| AtomicU64::new(0)).collect(),
            hints: HintTree::new(count),
            lags: Lags::of(3),
        };
        for word in (0..count).filter(|word| !open.contains(word)) {
            words.fill(word);
        }
        Arc::new(words)
    }

    fn fill(&self, word: usize) -> bool {
        let was_open = self.words[word].swap(1, Ordering::AcqRel) == 0;
        self.hints
            .mark_full(word, || self.words[word].load(Ordering::Acquire) == 1);
        was_open
    }

    fn open(&self, word: usize) {
        if self.words[word].fetch_and(0, Ordering::AcqRel) == 1 {
            self.hints.mark_open(word);
        }
    }

    /// Says that a word is full, as a thread does that found it full before and was slow to say so.
    fn say_full(&self, thread: usize, word: usize) {
        let still_full = || self.words[word].load(Ordering::Acquire) == 1;
        self.lags
            .change(thread, || self.hints.mark_full(word, still_full));
    }

    /// Whether a thread may say that nothing is open.
    fn is_full(&self, thread: usize) -> bool {
        let search = || self.hints.find(0, self.words.len());
        self.lags.believed(thread, search) == Some(None)
    }

    /// Once all calls have returned: a search that begins anywhere finds what is open behind it.
    fn check(&self) {
        let count = self.words.len();
        let is_open = |word: &usize| self.words[*word].load(Ordering::Acquire) == 0;
        for from in 0..count {
            if let Some(open) = (from..count).find(is_open) {
                let found = self.hints.find(from, count);
                assert!(
                    found.is_some_and(|found| found <= open),
                    "word {open} is open and hidden from {from} on"
                );
            }
        }
    }
}

#[test]
fn a_word_filled_and_opened_is_not_hidden_at_two_levels() {
    model(
        "a_word_filled_and_opened_is_not_hidden_at_two_levels",
        Exhaustive,
        || {
            let words = Words::all_full_but(4, &[0]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(0)
            });
            words.fill(0);
            opener.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn the_last_word_filled_while_its_neighbour_opens_hides_nothing_at_two_levels() {
    model(
        "the_last_word_filled_while_its_neighbour_opens_hides_nothing_at_two_levels",
        Exhaustive,
        || {
            let words = Words::all_full_but(4, &[0]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(1)
            });
            words.fill(0);
            opener.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn a_word_filled_and_opened_in_another_branch_is_not_hidden_at_two_levels() {
    model(
        "a_word_filled_and_opened_in_another_branch_is_not_hidden_at_two_levels",
        Exhaustive,
        || {
            let words = Words::all_full_but(4, &[2]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(3)
            });
            words.fill(2);
            opener.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn two_openers_hide_nothing_at_two_levels() {
    model("two_openers_hide_nothing_at_two_levels", Exhaustive, || {
        let words = Words::all_full_but(4, &[]);
        let opener = thread::spawn({
            let words = Arc::clone(&words);
            move || words.open(2)
        });
        words.open(3);
        opener.join().expect("no panic");
        words.check();
    });
}

#[test]
fn two_fillers_and_an_opener_hide_nothing_at_two_levels() {
    model(
        "two_fillers_and_an_opener_hide_nothing_at_two_levels",
        Preemptions(2),
        || {
            let words = Words::all_full_but(4, &[0]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(0)
            });
            let filler = thread::spawn({
                let words = Arc::clone(&words);
                move || words.fill(0)
            });
            words.fill(0);
            opener.join().expect("no panic");
            filler.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn a_word_that_fills_opens_and_fills_hides_nothing_at_two_levels() {
    model(
        "a_word_that_fills_opens_and_fills_hides_nothing_at_two_levels",
        Preemptions(2),
        || {
            let words = Words::all_full_but(4, &[]);
            let other = thread::spawn({
                let words = Arc::clone(&words);
                move || {
                    words.open(0);
                    words.fill(0);
                }
            });
            words.open(0);
            words.fill(1);
            words.open(1);
            other.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn a_word_filled_and_opened_is_not_hidden_at_three_levels() {
    model(
        "a_word_filled_and_opened_is_not_hidden_at_three_levels",
        Exhaustive,
        || {
            let words = Words::all_full_but(8, &[0]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(0)
            });
            words.fill(0);
            opener.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn a_word_opened_in_another_branch_is_not_hidden_at_three_levels() {
    model(
        "a_word_opened_in_another_branch_is_not_hidden_at_three_levels",
        Exhaustive,
        || {
            let words = Words::all_full_but(8, &[0]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(3)
            });
            words.fill(0);
            opener.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn two_openers_and_a_filler_hide_nothing_at_three_levels() {
    model(
        "two_openers_and_a_filler_hide_nothing_at_three_levels",
        Preemptions(2),
        || {
            let words = Words::all_full_but(8, &[0]);
            let openers = [1, 2].map(|word| {
                let words = Arc::clone(&words);
                thread::spawn(move || words.open(word))
            });
            words.fill(0);
            for opener in openers {
                opener.join().expect("no panic");
            }
            words.check();
        },
    );
}

#[test]
fn a_word_filled_and_opened_in_another_branch_is_not_hidden_at_three_levels() {
    model(
        "a_word_filled_and_opened_in_another_branch_is_not_hidden_at_three_levels",
        Exhaustive,
        || {
            let words = Words::all_full_but(8, &[6]);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || words.open(7)
            });
            words.fill(6);
            opener.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn full_is_not_said_because_of_a_late_hint_that_another_thread_passed_on() {
    model(
        "full_is_not_said_because_of_a_late_hint_that_another_thread_passed_on",
        Preemptions(3),
        || {
            // A search looks at the words of the first branch itself.
            let words = Words::all_full_but(4, &[3]);
            words.words[3].store(1, Ordering::Release);
            let opener = thread::spawn({
                let words = Arc::clone(&words);
                move || {
                    words.lags.change(1, || words.open(2));
                    words.is_full(1)
                }
            });
            let late = thread::spawn({
                let words = Arc::clone(&words);
                move || words.say_full(2, 2)
            });
            words.say_full(0, 3);
            let is_full = opener.join().expect("no panic");
            assert!(!is_full, "a thread does not find what it opened itself");
            late.join().expect("no panic");
            words.check();
        },
    );
}

#[test]
fn full_is_not_said_though_the_first_who_opened_a_branch_has_not_said_so() {
    model(
        "full_is_not_said_though_the_first_who_opened_a_branch_has_not_said_so",
        Exhaustive,
        || {
            let words = Words::all_full_but(4, &[]);
            let [first, second] = [2, 3].map(|word| {
                let words = Arc::clone(&words);
                thread::spawn(move || words.lags.change(word - 2, || words.open(word)))
            });
            second.join().expect("no panic");
            assert!(!words.is_full(2), "what another thread opened is not found");
            first.join().expect("no panic");
            words.check();
        },
    );
}
