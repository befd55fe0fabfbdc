"""Deliberately broken mechanisms: the mistakes that this field's libraries have shipped, and their cousins.

Each is a small step away from a sound mechanism, and `sottovoce.testing.check` must catch it.

>>> from sottovoce.testing import check
>>> check(SetBitNeverCleared(3, 1.0))  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
sottovoce.testing.rules.BrokenRule: SetBitNeverCleared breaks every_draw_gives_the_channel...
"""

from __future__ import annotations

from sottovoce.testing.broken.compound import AbsenceNotRandomized, AsksWhatItHolds, LevelByValue, PartsNotAdded
from sottovoce.testing.broken.frequency import (
    DrawsWhatItNeeds,
    EpsilonRoundedDown,
    ExcludedMemberStillDrawn,
    ExcludedValueStillDrawn,
    LastBitNotRandomized,
    LawThatLeaks,
    OverflowingTally,
    PacksTheSetBits,
    RoundedOnTheWire,
    RoundedToNearest,
    SetBitNeverCleared,
    SharedCoins,
    SwappedProbabilities,
    TwoDecimals,
    WideReports,
    WrongDecoder,
    ZeroCohortRejected,
    ZeroIsNotHashed,
    ZeroPlaneRejected,
    ZeroRowRejected,
)
from sottovoce.testing.broken.longitudinal import (
    AnswerPerBucket,
    AnswerPerPlace,
    ChargesOneReport,
    CohortDrawnAgain,
    ColumnsNeverFreeze,
    ColumnsPerBucket,
    DrawsBeyondItsChanges,
    ForgetsInTheWaves,
    ForgetsOldValues,
    InstantaneousSkipped,
    OneAnswerForTheRest,
    OneBitOfTheFilter,
    PermanentRedrawn,
    TellsEveryChange,
)
from sottovoce.testing.broken.numeric import EndsTellTheirKind, WindowCutAtTheEnds, WindowStillDrawn
from sottovoce.testing.broken.text import (
    CohortByValue,
    CutsWhatIsLonger,
    EndForgotten,
    GroupByLength,
    LuckyCohort,
    OneBitCounted,
    SaltedByTheAnswer,
)

__all__ = [
    "AbsenceNotRandomized",
    "AnswerPerBucket",
    "AnswerPerPlace",
    "AsksWhatItHolds",
    "ChargesOneReport",
    "CohortByValue",
    "CohortDrawnAgain",
    "ColumnsNeverFreeze",
    "ColumnsPerBucket",
    "CutsWhatIsLonger",
    "DrawsBeyondItsChanges",
    "DrawsWhatItNeeds",
    "EndForgotten",
    "EndsTellTheirKind",
    "EpsilonRoundedDown",
    "ExcludedMemberStillDrawn",
    "ExcludedValueStillDrawn",
    "ForgetsInTheWaves",
    "ForgetsOldValues",
    "GroupByLength",
    "InstantaneousSkipped",
    "LastBitNotRandomized",
    "LawThatLeaks",
    "LevelByValue",
    "LuckyCohort",
    "OneAnswerForTheRest",
    "OneBitCounted",
    "OneBitOfTheFilter",
    "OverflowingTally",
    "PacksTheSetBits",
    "PartsNotAdded",
    "PermanentRedrawn",
    "RoundedOnTheWire",
    "RoundedToNearest",
    "SaltedByTheAnswer",
    "SetBitNeverCleared",
    "SharedCoins",
    "SwappedProbabilities",
    "TellsEveryChange",
    "TwoDecimals",
    "WideReports",
    "WindowCutAtTheEnds",
    "WindowStillDrawn",
    "WrongDecoder",
    "ZeroCohortRejected",
    "ZeroIsNotHashed",
    "ZeroPlaneRejected",
    "ZeroRowRejected",
]
