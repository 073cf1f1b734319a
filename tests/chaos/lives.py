"""What one producer publishes in its life, drawn by a seed: events of every kind that agents publish, and what should never be published.

facts that stay        said again and again, in other letters: one fact, a mention each time
facts that change      where somebody lives (in two wordings), how many a team are: the claim made last is true
conversations          each with one thing worth knowing
censors                fire, some of them wrongly
decisions, procedures  reviewed and used, before they are recorded or after
malformed, poison      no event at all; an event that its worker fails on, or dies of
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from tests.system.replica import FAIL, KILL

from .malformed import Fields, malformed

EVENTS_PER_AGENT = 500
STAYING = 4
CHANGING = 3
CITIES = ("Oslo", "Bergen", "Rome", "Lima")
MALFORMED_SHARE = 0.02  # of facts, which are half of all events
OVERTAKING = 40  # places that an event may be published before or after its turn
SHARES = {"stays": 52, "changes": 2, "fires": 18, "decides": 9, "proceeds": 18, "talks": 1}
THRESHOLD = 5


@dataclass(eq=False)
class Said:
    """One event on its way: `body` is what it says of itself, without its time, or `fields` when it is malformed."""

    stream: str
    agent: str
    body: dict[str, Any] = field(default_factory=dict)
    fields: Fields | None = None
    wrong: str | None = None
    event_id: str = ""
    sent: Fields | None = None
    entries: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether its worker can work it."""
        return self.wrong is None


def agents(producer: int, events: int) -> list[str]:
    """The agents one producer speaks for; nobody else does."""
    return [f"agent-{producer}-{number}" for number in range(max(events // EVENTS_PER_AGENT, 1))]


def censors_of(agent: str) -> list[UUID]:
    """The censors that an agent has from the beginning."""
    return [_id(agent, "censor", number) for number in range(2)]


def a_life(producer: int, events: int, seed: int, *, fails: int, kills: int) -> list[Said]:
    """Everything one producer publishes, in order."""
    dice = Random(f"{seed} {producer}")
    speakers = [_Speaker(agent, dice) for agent in agents(producer, events)]
    told = [dice.choice(speakers).speaks() for _ in range(events - fails - kills)]
    told = [_spoilt(said, dice) if said.stream == "fact_learned" and dice.random() < MALFORMED_SHARE else said for said in told]
    poison = [dice.choice(speakers).poison(FAIL) for _ in range(fails)] + [dice.choice(speakers).poison(KILL) for _ in range(kills)]
    for said in poison:
        told.insert(dice.randrange(len(told) + 1), said)
    return _shuffled(told, dice)


class _Speaker:
    """One agent: what it has spoken of so far."""

    def __init__(self, agent: str, dice: Random) -> None:
        self.agent = agent
        self.dice = dice
        self.spoken = 0
        self.waiting: list[Said] = []
        self.procedures = 0

    def speaks(self) -> Said:
        """Its next event; what belongs together follows from what it said before."""
        if self.waiting:
            return self.waiting.pop()
        self.spoken += 1
        (what,) = self.dice.choices(list(SHARES), weights=list(SHARES.values()))
        said: Said = getattr(self, f"_{what}")()
        return said

    def poison(self, word: str) -> Said:
        """A fact that its worker cannot work, and that is no fault of the body."""
        self.spoken += 1
        return self._fact(f"{word} {self.spoken}", "poison", wrong=word)

    def _stays(self) -> Said:
        number = self.dice.randrange(STAYING)
        content = f"Shelf {number} in the hall holds jar {number * 7 + 3}"
        content = self.dice.choice([content, content.upper(), f"  {content}", content.replace(" ", "  ")])
        return self._fact(content, f"shelf {number}")

    def _changes(self) -> Said:
        number = self.dice.randrange(CHANGING)
        if number == 0:
            return self._fact(f"Team Lisbon has {self.dice.randrange(3, 9)} members", "Team Lisbon", attribute="size")
        person, city = f"{('Ada', 'Ben')[number - 1]}{self.agent.replace('-', '')}", self.dice.choice(CITIES)
        return self._fact(self.dice.choice([f"{person} lives in {city}.", f"{city} is where {person} lives."]), person)

    def _fires(self) -> Said:
        body: dict[str, Any] = {"censor_id": str(self.dice.choice(censors_of(self.agent))), "was_blocked": False}
        if self.dice.random() < 0.2:
            body["false_positive"] = True
        return self._event("censor_triggered", body)

    def _decides(self) -> Said:
        decision = str(_id(self.agent, "decision", self.spoken))
        outcomes = self.dice.choices(("success", "partial", "failure"), k=self.dice.randrange(3))
        self.waiting += [self._event("decision_reviewed", {"decision_id": decision, "outcome": one}) for one in outcomes]
        return self._event(
            "decision_recorded",
            {"decision_id": decision, "description": f"Postgres for part {self.spoken}, not SQLite", "reasons": ["It grows."]},
        )

    def _proceeds(self) -> Said:
        if not self.procedures or self.dice.random() < 0.1:
            self.procedures += 1
            procedure = str(_id(self.agent, "procedure", self.procedures))
            return self._event("procedure_learned", {"procedure_id": procedure, "name": f"Release {self.procedures}", "goals": ["Ship"]})
        procedure = str(_id(self.agent, "procedure", self.dice.randint(1, self.procedures)))
        return self._event("procedure_used", {"procedure_id": procedure, "worked": self.dice.choice([True, False])})

    def _talks(self) -> Said:
        talk = f"User: I keep the keys in drawer {self.spoken}. Which way did we go?\nAssistant: We went by train, I believe.\nUser: Right."
        return self._event("episode_closed", {"episode_id": str(_id(self.agent, "episode", self.spoken)), "transcript": talk})

    def _fact(self, content: str, subject: str, *, wrong: str | None = None, **over: Any) -> Said:
        fact = str(_id(self.agent, "fact", self.spoken))
        body = {"fact_id": fact, "content": content, "subject": subject, "provenance": "user_stated", **over}
        said = self._event("fact_learned", body)
        said.wrong = wrong
        return said

    def _event(self, stream: str, body: dict[str, Any]) -> Said:
        event_id = f"{self.agent}/{stream}/{self.spoken}/{self.dice.getrandbits(40):x}"
        return Said(stream, self.agent, {"agent_id": self.agent, "event_id": event_id, **body}, event_id=event_id)


def _spoilt(said: Said, dice: Random) -> Said:
    """Instead of what it would have said, something that is no event."""
    wrong, fields = malformed(dice, said.body)
    return Said(said.stream, said.agent, fields=fields, wrong=wrong)


def _shuffled(told: list[Said], dice: Random) -> list[Said]:
    """Nearly in order: each a little earlier or later than its turn, so that some overtake what they are about."""
    places = sorted(range(len(told)), key=lambda at: at + dice.uniform(0, OVERTAKING))
    return [told[at] for at in places]


def _id(*parts: object) -> UUID:
    return UUID(int=Random("|".join(map(str, parts))).getrandbits(128), version=4)


def spread(count: int, over: int) -> Iterator[int]:
    """How many of `count` each of `over` gets."""
    for number in range(over):
        yield count // over + (number < count % over)
