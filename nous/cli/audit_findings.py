"""What an audit can find, as a closed list: what each finding means, what mends it, and the limit above which the store is not healthy.

A limit is a number of things, or a share where it is under 1. What comes from a sample is above its limit when the whole of its 95 percent
interval is: chance alone fails no run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nous.errors import UserMistake
from store.audit import Seen

from . import screen
from .shares import Share

NOTHING = "nothing"
"""As --fail-on, no finding decides."""


@dataclass(frozen=True)
class Way:
    """One way to mend a finding: a command, in which `{first}` and `{other}` are ids, and when it is the one."""

    do: str
    when: str


@dataclass(frozen=True)
class Kind:
    """Something that can be found. `limit` None: told, and decides nothing unless it is asked to. Every one of `mend` can be undone."""

    name: str
    meaning: str
    mend: tuple[Way, ...]
    limit: float | None = None


ONE_FACT = Way("nous fact merge {first} {other} --because '…'", "where the two are one fact; undone by nous fact split")
ONE_HOLDS = Way(
    "nous fact retire {first} --for {other} --because '…'",
    "where the first is over since the second was claimed; an assistant's claim ends no user's; undone by nous fact restore",
)
ASK = Way("nous fact recheck", "asks a mind, where one is set, about what none could tell; nous status tells what waits for one")
LOOK = Way("nous explain fact {first}", "what it says, where that comes from, and what is near it")


KINDS: Mapping[str, Kind] = {
    one.name: one
    for one in (
        Kind(
            "likely_twins",
            "true facts that have another as near as one fact, and nobody settled whether the two are one",
            (LOOK, ONE_FACT, ONE_HOLDS, ASK),
            0.02,
        ),
        Kind(
            "without_vector",
            "true facts without a vector of the embedder in use: found by words alone, and their twins are not seen",
            (Way("nous reembed --to NAME", "with the name of the embedder in use; makes what is missing"),),
            0,
        ),
        Kind(
            "vectors_not_in_use",
            "vectors of another embedder, kept from before a change: they cost space and nothing else",
            (Way("nous reembed --drop NAME", "once you are sure of the one in use; nous reembed --to makes them again"),),
        ),
        Kind(
            "dangling_links",
            "links to a fact, an episode or a session that is not there. Please report it",
            (
                Way("nous explain {first}", "tells how it came about"),
                Way("nous replay", "and nous diff after it show what it ought to be"),
            ),
            0,
        ),
        Kind(
            "unrecorded_decisions",
            "decisions that an episode names and nobody recorded",
            (Way("nous publish decision_recorded", "with that id, by the agent or by hand"),),
        ),
        Kind(
            "rings",
            "facts that were retired by what they had retired: none of them is ever true. Please report it",
            (Way("nous fact restore {first} --because '…'", "makes one of them true again"),),
            0,
        ),
        Kind(
            "long_chains",
            "facts at the end of a long row, each retired by the next: something that changes so often is a reading, not a fact",
            (Way("nous explain fact {first}", "shows the row; let the agent keep such values elsewhere"),),
            0,
        ),
        Kind(
            "contradictions",
            "places for one value (a subject's attribute) that hold two true facts: one is wrong, or both are one; nobody settled which",
            (
                LOOK,
                ONE_HOLDS,
                ONE_FACT,
                ASK,
                Way("NOUS_MANY_VALUED='[\"NAME\"]'", "of every process, where such an attribute has several values at once"),
            ),
            0.01,
        ),
        Kind(
            "junk",
            "true facts that are no claim: too short, a question, no content, a status report, a tautology, an echo of the prompt",
            (
                LOOK,
                Way("nous fact merge {first} ID --because '…'", "where another fact says it properly; undone by nous fact split"),
                Way("nous trial FILE", "compares two prompts, where they come from episodes"),
            ),
            0.05,
        ),
        Kind(
            "never_drawn_on",
            "true facts that were held against answers time and again, and no answer drew on them",
            (LOOK, Way("nous calibrate --ranking FILE", "where they take the place of better ones")),
        ),
        Kind(
            "redundant_added",
            "facts added in the last four weeks that say what was known: merged since, or still beside a twin",
            (Way("nous calibrate --thresholds", "fits what is confirmed at once to your facts"),),
            0.10,
        ),
    )
}


@dataclass(frozen=True)
class Finding:
    """What was found of one kind. `estimate` is how many there are in all where `share` is of a sample, and not of all.

    `detail` says of what kinds those are that were counted; `not_counted`, what was found beside them and is none.
    """

    kind: Kind
    share: Share
    is_sampled: bool = False
    estimate: int | None = None
    detail: Mapping[str, int] = field(default_factory=dict)
    not_counted: Mapping[str, int] = field(default_factory=dict)
    first: Sequence[Seen] = ()
    limit: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it is above its limit; by a sample, surely."""
        if self.limit is None or not self.share.count:
            return False
        if not 0 < self.limit < 1:
            return self._at_least > self.limit
        return (self.share.interval[0] if self.is_sampled else self.share.count / max(self.share.of, 1)) > self.limit

    @property
    def _at_least(self) -> float:
        """How many there are in all; by a sample, surely."""
        if not self.is_sampled:
            return self.share.count
        if self.estimate is None:
            return self.share.interval[0] * self.share.of
        return max(self.share.count, self.share.interval[0] / (self.share.value or 1.0) * self.estimate)

    @property
    def mend(self) -> list[Way]:
        """What mends it, with the ids of the first."""
        first = self.first[0] if self.first else None
        ids = {"{first}": str(first.id) if first else "ID", "{other}": str(first.other) if first and first.other else "OTHER"}
        return [Way(_filled(way.do, ids), way.when) for way in self.kind.mend]

    def as_figures(self) -> dict[str, object]:
        """For the row that is kept."""
        return {"count": self.share.count, "of": self.share.of, "estimate": self.estimate, "over": self.is_over}

    def as_data(self) -> dict[str, object]:
        """For a machine."""
        return {
            "finding": self.kind.name,
            "meaning": self.kind.meaning,
            "mend": [vars(way) for way in self.mend],
            "count": self.share.count,
            "of": self.share.of,
            "share": None if self.share.value is None else screen.rounded(self.share.value),
            "interval": [screen.rounded(end) for end in self.share.interval] if self.is_sampled else None,
            "sampled": self.is_sampled,
            "estimate": self.estimate,
            "detail": dict(self.detail),
            "not_counted": dict(self.not_counted),
            "limit": self.limit,
            "over": self.is_over,
            "first": [{name: value for name, value in vars(one).items() if value is not None} for one in self.first],
        }


def _filled(command: str, ids: Mapping[str, str]) -> str:
    for name, id_ in ids.items():
        command = command.replace(name, id_)
    return command


def limits(fail_on: Sequence[str]) -> dict[str, float | None]:
    """The limit of each kind: as stated above, or only of those named, each `NAME` or `NAME=LIMIT`. Raises UserMistake."""
    if not fail_on:
        return {name: kind.limit for name, kind in KINDS.items()}
    chosen: dict[str, float | None] = dict.fromkeys(KINDS)
    for written in fail_on:
        name, _, limit = written.partition("=")
        if name == NOTHING and len(fail_on) == 1:
            return chosen
        if name not in KINDS:
            raise UserMistake(f"--fail-on {name!r} is no finding{screen.meant(name, KINDS)}; they are {screen.listed(KINDS)}, or {NOTHING}")
        chosen[name] = _number(written, limit) if limit else KINDS[name].limit or 0.0
    return chosen


def _number(written: str, limit: str) -> float:
    try:
        number = float(limit)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UserMistake(f"--fail-on {written!r} does not do: a limit is a number of things, as 10, or a share of them, as 0.05")
    return number
