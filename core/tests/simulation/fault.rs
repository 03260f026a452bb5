//! Faults that a driver could have, to see that the simulation finds them.

use crate::oracle::Rule;

/// Each leaves out, or does at the wrong time, one thing that the promise rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Ids are reserved above the ceiling.
    NoCeilingCheck,
    /// The ceiling is published before its record is flushed.
    PublishesUnflushed,
    /// The word starts at the clock, not at the durable ceiling.
    StartsAtClock,
    /// Ids are handed out of a block although its time is over.
    BlockNeverEnds,
    /// A block is used although the cache has been turned off since.
    BlockOutlivesCache,
    /// A reservation leaves the rest of the block before in place.
    BlockOutlivesReservation,
    /// The word is compared and then set, in two steps.
    LoadThenStore,
    /// A used-up millisecond is stepped over at once.
    NoWait,
    /// The wait for a word goes on counting when another word has taken its place.
    WaitOfAnotherWord,
    /// The word is read after the clock.
    WordAfterClock,
    /// A raiser does not look again under the lock, and publishes its ceiling even over a higher one.
    PublishesLower,
    /// The ceiling is raised to the millisecond that the refused id would have had, and that came from a clock
    /// which may have leapt since, or come back.
    CeilingFromAnswer,
    /// A leap of the clock is not looked for.
    NoLeapCheck,
    /// Leaps are looked for with one reading of the clock, and the ceiling made from another.
    LeapCheckedOnAnotherReading,
    /// The ceiling is raised by a clock that is beyond the format.
    RaisesOutsideTheFormat,
    /// An offset is trusted although a long time passed between the two readings it comes from.
    TrustsWideReading,
    /// The offset is noted as trusted after the raise lock is released.
    TrustsAfterRelease,
    /// The first ceiling of a server leads by the full two seconds.
    FullLeadAtStart,
    /// An advance moves the word and does not wait for the ceiling.
    AdvanceNotDurable,
    /// How far an advance goes is judged by the clock as it was before the wait for the raise lock.
    AdvanceJudgedByOldReading,
    /// An advance moves a word that is not started.
    AdvanceBeforeStart,
    /// An id is observed, and the word raised without waiting for the ceiling.
    ObservedNotDurable,
    /// An answer is made without raising the word.
    CauseForgotten,
    /// Blocks go on below an id that was observed.
    ObservedBelowBlocks,
    /// The word leaves the millisecond of an id that was observed.
    ObservedMillisecondLeft,
    /// An id ahead of the clock is refused, however little.
    NoSkewAllowed,
    /// A server takes a node number while ids of it that another server has issued are still ahead of its own.
    NodeTakenTooEarly,
}

impl Fault {
    /// Each fault, with the rule that it must be seen to break.
    pub const ALL: [(Self, Rule); 27] = [
        (Self::NoCeilingCheck, Rule::AboveWhatSurvived),
        (Self::PublishesUnflushed, Rule::AboveWhatSurvived),
        (Self::StartsAtClock, Rule::AboveWhatSurvived),
        (Self::BlockNeverEnds, Rule::MillisecondOrder),
        (Self::BlockOutlivesCache, Rule::AboveWhatWasReturned),
        (Self::BlockOutlivesReservation, Rule::SessionOrder),
        (Self::LoadThenStore, Rule::Distinct),
        (Self::NoWait, Rule::NotAheadOfClock),
        (Self::WaitOfAnotherWord, Rule::NotAheadOfClock),
        (Self::WordAfterClock, Rule::NoFalseRegression),
        (Self::PublishesLower, Rule::CeilingOnlyRises),
        (Self::CeilingFromAnswer, Rule::CeilingNotPoisoned),
        (Self::NoLeapCheck, Rule::CeilingNotPoisoned),
        (Self::LeapCheckedOnAnotherReading, Rule::CeilingNotPoisoned),
        (Self::RaisesOutsideTheFormat, Rule::CeilingNotPoisoned),
        (Self::TrustsWideReading, Rule::NoFalseStep),
        (Self::TrustsAfterRelease, Rule::TrustOnlyRenewed),
        (Self::FullLeadAtStart, Rule::NoDriftOverRestarts),
        (Self::AdvanceNotDurable, Rule::AboveWhatSurvived),
        (Self::AdvanceJudgedByOldReading, Rule::CeilingNotPoisoned),
        (Self::AdvanceBeforeStart, Rule::AboveWhatSurvived),
        (Self::ObservedNotDurable, Rule::AboveWhatSurvived),
        (Self::CauseForgotten, Rule::AfterItsCause),
        (Self::ObservedBelowBlocks, Rule::AfterItsCause),
        (Self::ObservedMillisecondLeft, Rule::AnswersStayWithTheClocks),
        (Self::NoSkewAllowed, Rule::HonestCauseTaken),
        (Self::NodeTakenTooEarly, Rule::Distinct),
    ];
}
