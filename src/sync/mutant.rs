//! Mutants: the faults that the models must find.
//!
//! A check that has never failed proves little. Each mutant is one small, well known way to get a
//! protocol wrong (a weaker ordering, a dropped recheck, a decision taken on the wrong word), put
//! in at the very spot where it would be made. The mutation gate of the package `loom-tests`
//! runs the models against each and fails if one survives.
//!
//! Protocol code asks `active` or `ordering` at the mutated spot. What must always hold: both
//! are constants in every build but the model checkers', so that the product carries no trace of
//! them; there the environment variable `MEGACHUNK_MUTANT` names the mutant, so that **one** build
//! serves all of them (a `cfg` per mutant would need one build each, some twenty minutes in all).
//! A name that is used and not in [`MUTANTS`] cannot be chosen; one that is there and not used is a
//! mutant that survives, which fails the gate.

use super::atomic::Ordering;

/// Every mutant: its name, and what it breaks.
#[cfg(any(loom, shuttle, feature = "probe"))]
pub const MUTANTS: &[(&str, &str)] = &[
    (
        "bag_reads_then_writes",
        "what is in a bag is taken by a read and a write",
    ),
    (
        "batch_claims_past_its_hands",
        "a batch claims more than it needs, though its thread has slots in hand",
    ),
    (
        "batch_forgets_broken_surplus",
        "as `batch_forgets_surplus`, of a word where slots are free singly",
    ),
    (
        "batch_forgets_surplus",
        "a batch that needs a part of a claimed word loses the rest",
    ),
    (
        "batch_lag_not_said",
        "as `lag_not_said`, by a batch that dies",
    ),
    ("batch_no_generation", "as `no_generation`, in a batch"),
    ("batch_no_retire", "as `no_retire`, in a batch"),
    ("batch_relaxed", "as `kill_relaxed`, in a batch"),
    ("batch_release", "as `kill_release`, in a batch"),
    (
        "bury_relaxed",
        "who finds an entity of a batch dead does not see what its destroyer did before",
    ),
    (
        "bury_without_second_look",
        "an entity created while its phase was read is taken for condemned",
    ),
    (
        "caller_looks_late",
        "who has called asks who is inside after it has looked for what was left, not before",
    ),
    (
        "claim_relaxed",
        "a claim does not see what the last owner of the slots did",
    ),
    (
        "claim_takes_all",
        "a claim takes slots that others have: it ignores what was there",
    ),
    (
        "claimed_untold",
        "a recorder gives slots back, and those who look for the lowest are not told",
    ),
    (
        "close_lag_not_said",
        "as `lag_not_said`, by who says that a claim word or a span is closed",
    ),
    (
        "commit_late",
        "chunks are given out before their memory is committed",
    ),
    (
        "create_relaxed",
        "who sees an entity does not see what its creator did before",
    ),
    ("death_relaxed", "as `bury_relaxed`, of one entity"),
    (
        "decommit_early",
        "a mega-chunk is opened before its memory is given back",
    ),
    (
        "decommit_keeps_flag",
        "a mega-chunk whose memory was given back counts as committed",
    ),
    (
        "decommit_unheld",
        "memory is given back because the mask was seen empty, not held",
    ),
    (
        "discard_relaxed",
        "who discards the memory of free chunks does not see their last use",
    ),
    (
        "discard_unheld",
        "the memory of free chunks is discarded while others may take them",
    ),
    (
        "doorbell_wakes_nobody",
        "a vertex is left without its thread being woken",
    ),
    (
        "end_asked_before_giving_back",
        "who gives something back beside an end has asked before whether it was said",
    ),
    (
        "end_passes_by_what_is_away",
        "an end passes by a slot that looks empty",
    ),
    (
        "failed_batch_keeps_ids",
        "a batch that fails loses the ids it took (as published)",
    ),
    (
        "failed_batch_takes_built",
        "a batch that fails destroys ids that another thread has built meanwhile",
    ),
    (
        "failed_commit_clears_own_bit_only",
        "when memory is refused only the request's own bits are cleared (as published)",
    ),
    ("few_bury_relaxed", "as `bury_relaxed`, in a small batch"),
    (
        "few_ignores_phase",
        "as `kill_ignores_phase`, in a small batch",
    ),
    ("few_no_generation", "as `no_generation`, in a small batch"),
    ("few_no_retire", "as `no_retire`, in a small batch"),
    ("few_relaxed", "as `kill_relaxed`, in a small batch"),
    ("few_release", "as `kill_release`, in a small batch"),
    (
        "flush_forgets_magazine",
        "a thread that ends takes the slots that it freed last with it",
    ),
    (
        "fragment_enter_relaxed",
        "who finds a fragment may not find it by its number",
    ),
    (
        "fragment_name_is_enough",
        "who finds a type by its name does not enter it under its type",
    ),
    (
        "fragment_name_of_two_types",
        "a type gets the name that another one has just got",
    ),
    ("fragment_role_first", "a type is found before its name is"),
    (
        "free_lag_not_said",
        "as `lag_not_said`, by who gives chunks back",
    ),
    (
        "free_unchecked_hint",
        "a free that makes a longer run does not clear the hints",
    ),
    (
        "free_words_believe_hints",
        "free claim words are told by hints, whoever lags",
    ),
    (
        "gate_closes_on_somebody",
        "a gate is closed though somebody was inside at the look, and is still",
    ),
    (
        "gate_enters_closed",
        "who comes when a gate is closed goes inside",
    ),
    (
        "gate_forgets_entries",
        "a gate is closed though somebody has come and gone since the look",
    ),
    (
        "gate_leaves_relaxed",
        "who closes a gate does not see what was done inside",
    ),
    (
        "gate_looks_relaxed",
        "who closes a gate has looked without seeing what was done inside",
    ),
    (
        "gate_wakes_nobody",
        "the last one to leave a gate does not wake its owner",
    ),
    (
        "give_relaxed",
        "the next user of a chunk does not see what the last one did",
    ),
    (
        "graph_forgets_to_rewind",
        "a vertex's count is not put back for the next round",
    ),
    (
        "graph_relaxed",
        "who counts a vertex down last does not see what the others did",
    ),
    (
        "half_pair_stays_held",
        "a mega-chunk whose neighbour could not be held stays taken",
    ),
    (
        "help_relaxed",
        "as `bury_relaxed`, where another thread helped",
    ),
    (
        "helper_keeps_place",
        "who has helped is counted among those at work for ever",
    ),
    (
        "helpers_panic_is_lost",
        "a helper's panic ends with the helper",
    ),
    (
        "helpers_panic_kept_late",
        "a helper's panic is kept for who has called when the helper has left",
    ),
    (
        "helpers_without_end",
        "who comes helps, however many are at work",
    ),
    (
        "hints_agreed_relaxed",
        "who says above what hints below say has not seen that they lag",
    ),
    (
        "hints_clear_relaxed",
        "who sets a hint over chunks again does not see what was given back",
    ),
    (
        "hints_clear_release",
        "who leaves a hint over chunks to another thread has not seen that it lags",
    ),
    (
        "hints_group_relaxed",
        "as `hints_set_relaxed`, over a group",
    ),
    (
        "hints_no_group_recheck",
        "a hint over a group is set without a second look (as published)",
    ),
    (
        "hints_no_recheck",
        "a hint is set without a second look at the mask (as published)",
    ),
    (
        "hints_set_relaxed",
        "the second look may see a mask as it was before",
    ),
    (
        "hints_skip_if_clear",
        "who made a longer run leaves a hint alone that looks clear",
    ),
    (
        "hold_relaxed",
        "who holds a mega-chunk to give its memory back does not see its last user",
    ),
    (
        "idle_asked_late",
        "who asks whether all were idle counts idle ones that it has not counted as opened",
    ),
    (
        "idle_relaxed",
        "who sees that somebody was idle does not see that it was opened",
    ),
    (
        "job_counts_for_ever",
        "a job that was run or dropped is counted among those that wait",
    ),
    (
        "kill_again_relaxed",
        "as `kill_relaxed`, by who was beaten once",
    ),
    (
        "kill_ignores_phase",
        "destroying looks at the version only: a double free succeeds twice",
    ),
    (
        "kill_ignores_version",
        "destroying looks at the phase only: a stale handle kills the next owner",
    ),
    (
        "kill_relaxed",
        "destroying does not see the slot as the last destroyer left it",
    ),
    (
        "kill_release",
        "who sees a death does not see what its destroyer saw",
    ),
    (
        "kill_takes_loss_for_win",
        "a lost compare-and-swap of a death counts as won",
    ),
    (
        "kill_without_bury",
        "a slot is passed on while its word still names the dead entity",
    ),
    (
        "lag_not_said",
        "a thread between a change and its hint does not say so",
    ),
    (
        "learn_lag_not_said",
        "as `lag_not_said`, by a search that found no run",
    ),
    (
        "leaving_no_fence",
        "who sees that a chunk left a cache may not see that chunks are leaving",
    ),
    (
        "leaving_not_said",
        "while chunks leave a cache nobody is told what is in use",
    ),
    (
        "look_up_by_claim",
        "a look-up asks the claim word, not the version (as published)",
    ),
    (
        "lowest_believes_hints",
        "a search for the lowest passes by what hints say is full, though they may lag",
    ),
    (
        "lowest_by_store",
        "a search's end is stored, whatever was given back meanwhile",
    ),
    (
        "lowest_claim_by_and",
        "the lowest slot of a word is claimed, whoever has claimed it meanwhile",
    ),
    (
        "lowest_claim_relaxed",
        "the lowest slot of a word is claimed without seeing what was done to it before",
    ),
    (
        "lowest_found_early",
        "a batch of the lowest says what it has found before it has given back what is left of that",
    ),
    (
        "lowest_quiet_not_compared",
        "a search for the lowest does not ask again whether hints have lagged",
    ),
    (
        "lowest_relaxed",
        "a search for the lowest does not see what was given back before",
    ),
    (
        "lowest_seen_late",
        "a batch of the lowest does not notice what was given back beside it",
    ),
    (
        "no_full_scan",
        "\"full\" is reported on the word of the hints",
    ),
    (
        "no_generation",
        "a death leaves no trace in the group once its bit has flipped back",
    ),
    (
        "no_help",
        "a condemned entity is refused as dead while look-ups still find it alive",
    ),
    (
        "no_mask_scan",
        "\"exhausted\" is reported on the word of the hints",
    ),
    (
        "no_retire",
        "versions wrap: an old handle lives again (as published)",
    ),
    (
        "node_acquire_relaxed",
        "a thread does not see its cache as the last owner left it",
    ),
    (
        "node_release_relaxed",
        "a thread that ends does not show its cache to the next owner",
    ),
    (
        "open_relaxed",
        "who claims a word that was given back whole does not see what its last owners did",
    ),
    (
        "open_release",
        "who opens words of a span that another thread has just opened has not seen that the hints lag",
    ),
    (
        "opened_before_commit",
        "a block is said to be open before it has memory",
    ),
    (
        "opened_known_relaxed",
        "as `opened_read_relaxed`, by whom finds that it is open already",
    ),
    (
        "opened_read_relaxed",
        "who sees that a block is open may not find its memory",
    ),
    (
        "opened_relaxed",
        "as `opened_read_relaxed`, by whom opens it",
    ),
    (
        "opening_relaxed",
        "who sees that something was opened does not see that its lane is gone",
    ),
    (
        "opening_takes_what_waits",
        "who opens beside a collection keeps what the collection was to have",
    ),
    (
        "owned_death_relaxed",
        "as `bury_relaxed`, of an entity of a world",
    ),
    (
        "owned_lag_not_said",
        "as `lag_not_said`, where a world's entities die",
    ),
    (
        "part_given_back_whole",
        "a claim word is given back whole of which only a part is owned",
    ),
    (
        "place_stored_late",
        "who guesses a handle can find an entity of a world before it has its place",
    ),
    (
        "pool_give_blindly",
        "an item that comes back to a slot drives out one that came meanwhile",
    ),
    (
        "pool_give_relaxed",
        "who takes an item does not see what the one before it did with it",
    ),
    (
        "pool_give_release",
        "who gives an item back behind a sweep does not see what was done before that",
    ),
    (
        "pool_list_relaxed",
        "as `pool_take_relaxed`, of items without a slot",
    ),
    (
        "pool_put_back_blindly",
        "a collection puts an idle item back over one that has come to lie in its place",
    ),
    (
        "pool_put_back_relaxed",
        "who takes an idle item does not see that a collection has looked into it",
    ),
    (
        "pool_rest_is_lost",
        "who takes one of several things without a place leaves the others nowhere if one has come meanwhile",
    ),
    (
        "pool_sees_twice",
        "an item that a collection meets twice is counted twice",
    ),
    (
        "pool_spare_relaxed",
        "who takes a thing that had no place does not see how it was left",
    ),
    (
        "pool_sweep_acquire",
        "who gives an item back behind a sweep does not see what its caller had done before",
    ),
    (
        "pool_take_first",
        "a thread takes the first item that it keeps, with what waits in it",
    ),
    (
        "pool_take_later",
        "who collects has what a thread has left after something that it misses",
    ),
    (
        "pool_take_older",
        "a thread goes on with the older of two items that it keeps",
    ),
    ("pool_take_relaxed", "the same, by the taker"),
    (
        "pool_take_unasked",
        "whether an item is kept for another thread is not asked once more when it is taken",
    ),
    (
        "publish_by_store",
        "a place is stored, not compared and swapped: it can hit the next owner",
    ),
    (
        "publish_relaxed",
        "who sees a place does not see what was written there",
    ),
    (
        "publish_second_look",
        "a publish that took effect is refused if the entity died since",
    ),
    (
        "queue_reads_then_writes",
        "what is in a queue is taken by a read and a write",
    ),
    (
        "queue_relaxed",
        "who takes a vertex does not see what was done before it was put there",
    ),
    (
        "quiet_no_fence",
        "a search that was misled by a hint does not see that its setter lags",
    ),
    (
        "quiet_not_compared",
        "a search does not ask whether somebody lagged while it went on",
    ),
    (
        "refreshed_claimed_twice",
        "what is out of date is claimed by a read and a write",
    ),
    (
        "refreshed_lent_early",
        "a thing is lent while it is brought up to date",
    ),
    (
        "refreshed_lent_relaxed",
        "who is lent a thing does not see what was done to bring it up to date",
    ),
    ("refreshed_said_relaxed", "the same, by who did that"),
    (
        "release_lag_not_said",
        "as `lag_not_said`, by who gives slots of one word back",
    ),
    (
        "release_relaxed",
        "the next owner of a slot does not see what the last one did",
    ),
    (
        "release_release",
        "who gives a slot back to a word where another thread has just done so has not seen that the hints lag",
    ),
    (
        "relocate_relaxed",
        "as `publish_relaxed`, of a place that is changed",
    ),
    (
        "reopen_lag_not_said",
        "as `lag_not_said`, by who held a mega-chunk for its memory",
    ),
    (
        "required_after_settled",
        "a fragment is required when it was worked out already what comes with the one that requires it",
    ),
    (
        "returned_not_claimed",
        "who gave a run of chunks back has it again without asking whose it is now",
    ),
    (
        "rewind_keeps_claims",
        "a world that cannot go back keeps the slots that it claimed for that",
    ),
    (
        "rewind_keeps_phases",
        "the next entity of a slot that went back is condemned from the beginning",
    ),
    (
        "rewind_looks_first",
        "a world goes back over slots that it saw free, whoever has claimed them since",
    ),
    (
        "rewind_owns_all",
        "a world goes back over entities of another world as if they were its own",
    ),
    (
        "rewind_phases_relaxed",
        "who finds a phase that was taken back may find the entity alive that had it since",
    ),
    (
        "rewind_refused_untold",
        "as `claimed_untold`, by a world that could not go back",
    ),
    (
        "rewind_relaxed",
        "as `create_relaxed`, of an entity that comes back",
    ),
    (
        "rewind_untold",
        "as `claimed_untold`, by a world that goes back",
    ),
    (
        "roster_add_relaxed",
        "who finds a thing in a list that others add to does not see all of it",
    ),
    ("roster_find_relaxed", "the same, by the finder"),
    (
        "roster_looks_at_youngest",
        "who was too late looks at the youngest thing only, and adds one that is there below it",
    ),
    (
        "roster_no_second_look",
        "two threads add the same thing at once, and it is there twice",
    ),
    (
        "search_ends_at_the_last",
        "a search that did not begin at the first place does not go on there",
    ),
    (
        "session_keeps_its_slots",
        "a session that is dropped takes the slots that it kept with it",
    ),
    (
        "set_place_relaxed",
        "as `publish_relaxed`, of a place that a world sets",
    ),
    (
        "settled_though_missing",
        "who collects says that nothing is left although somebody has a thing",
    ),
    (
        "shares_counted_by_pieces",
        "a share is counted out with each piece that is taken of it",
    ),
    (
        "shares_read_then_write",
        "numbers of a share are taken by a read and a write",
    ),
    (
        "span_close_relaxed",
        "the second look may see the claim word as it was before",
    ),
    (
        "span_look_relaxed",
        "who says that a span is closed has not seen that its hints lag",
    ),
    (
        "span_no_recheck",
        "a claim word is marked closed without a second look at it",
    ),
    (
        "span_opened_in_secret",
        "a span that opens is not reported to the hints above it",
    ),
    (
        "span_skip_if_clear",
        "an opener of a claim word leaves its hint alone that looks clear",
    ),
    (
        "spill_lag_not_said",
        "as `lag_not_said`, by a thread whose magazine is full",
    ),
    (
        "summary_clear_one_level",
        "an opened child is not reported to the levels above",
    ),
    (
        "summary_clear_relaxed",
        "who sets a hint again does not see the child opened",
    ),
    (
        "summary_clear_release",
        "who leaves a word of hints to another thread has not seen that it lags",
    ),
    (
        "summary_look_relaxed",
        "who says above that a word of hints is full has not seen that it lags",
    ),
    (
        "summary_no_recheck",
        "a hint is set without a second look at the child (as published)",
    ),
    ("summary_no_recheck_above", "the same, over a hint word"),
    (
        "summary_set_relaxed",
        "the second look may see the child as it was before",
    ),
    (
        "summary_skip_if_clear",
        "an opener leaves a hint alone that looks clear",
    ),
    (
        "switch_counted_first",
        "a fragment that can be switched off is counted before it has its number",
    ),
    (
        "switch_relaxed",
        "who sees the count of fragments that can be switched off may not see their numbers",
    ),
    (
        "take_relaxed",
        "who takes a chunk does not see its last user, nor its memory",
    ),
    (
        "turned_away_asks_nobody",
        "who finds enough at work does not ask those below it",
    ),
    (
        "waiting_helper_takes_place",
        "who waits in the middle of a call and runs another job of it takes another's place",
    ),
    (
        "whole_claim_by_or",
        "a claim of whole words takes what it saw, not what it got",
    ),
    ("whole_claim_relaxed", "as `claim_relaxed`, for whole words"),
    (
        "word_ignores_phase",
        "as `kill_ignores_phase`, for a whole word at once",
    ),
    (
        "word_passed_on_unburied",
        "a word of a batch is passed on while its slots still name the dead",
    ),
    (
        "word_relaxed",
        "as `kill_relaxed`, for a whole word at once",
    ),
    (
        "word_release",
        "as `kill_release`, for a whole word at once",
    ),
];

/// Whether the fault `name` is in force.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
#[must_use]
pub(crate) fn active(_name: &'static str) -> bool {
    false
}

/// Whether the fault `name` is in force.
#[cfg(any(loom, shuttle))]
#[must_use]
pub(crate) fn active(name: &'static str) -> bool {
    // The façade's types would be part of the model; this choice is made before any model runs.
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| {
        let chosen = std::env::var("MEGACHUNK_MUTANT").ok()?;
        assert!(
            chosen == LOOKS_ACQUIRE || MUTANTS.iter().any(|(listed, _)| *listed == chosen),
            "MEGACHUNK_MUTANT names no mutant: `{chosen}`"
        );
        Some(chosen)
    });
    chosen.as_deref() == Some(name)
}

/// `sound`, or [`Ordering::Release`] while the mutant `name` is in force.
#[inline(always)]
#[must_use]
pub(crate) fn released(name: &'static str, sound: Ordering) -> Ordering {
    if active(name) {
        Ordering::Release
    } else {
        sound
    }
}

/// `sound`, or [`Ordering::Relaxed`] while the mutant `name` is in force.
#[inline(always)]
#[must_use]
pub(crate) fn ordering(name: &'static str, sound: Ordering) -> Ordering {
    if active(name) {
        Ordering::Relaxed
    } else {
        sound
    }
}

/// Mutants of who goes by a hint that another thread has changed, and does not pass on what that one did before. Under
/// them looks at hints acquire (`looks_acquire`).
#[cfg(any(loom, shuttle, feature = "probe"))]
pub const NOT_PASSED_ON: &[&str] = &[
    "hints_agreed_relaxed",
    "hints_clear_release",
    "open_release",
    "release_release",
    "span_look_relaxed",
    "summary_clear_release",
    "summary_look_relaxed",
];

/// No mutant, but the way to look at hints that those of [`NOT_PASSED_ON`] have: what kills one of them must hold under it.
#[cfg(any(loom, shuttle, feature = "probe"))]
pub const LOOKS_ACQUIRE: &str = "looks_acquire";

/// Whether looks at hints acquire at once, and no fence does it after them: under the mutants of whom passes nothing on.
/// The fence of loom acquires also what others saw from whom the caller has acquired, so that they could not fail to.
#[cfg(any(loom, shuttle))]
#[must_use]
pub(crate) fn looks_acquire() -> bool {
    active(LOOKS_ACQUIRE) || NOT_PASSED_ON.iter().any(|name| active(name))
}

/// Whether looks at hints acquire at once: only in models.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
#[must_use]
pub(crate) fn looks_acquire() -> bool {
    false
}

/// The order of a look at a hint, which a fence follows where it matters.
#[inline(always)]
#[must_use]
pub(crate) fn look() -> Ordering {
    if looks_acquire() {
        Ordering::Acquire
    } else {
        Ordering::Relaxed
    }
}
