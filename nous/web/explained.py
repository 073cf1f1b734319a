"""Stories of everything that has one, by its id; and finding what somebody wrote in the field above."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nous.errors import UserMistake
from nous.stories import censor, decision, episode, evidence, fact, fact_words, kinds, procedure
from nous.stories import event as events_story
from nous.stories.ids_meant import NothingMeant, bare
from nous.stories.kinds import KINDS, Story
from nous.stories.lineage import Happening
from nous.stories.moment import Moment
from nous.stories.words import line, spoken
from recall import handles
from store import parked
from store.database import Read
from store.parked import Wanted

from . import chain, rendering
from .answers import Answer, Asked, Elsewhere

if TYPE_CHECKING:
    from .site import Site

_AN_ID = re.compile(r"(?=[0-9a-f-]*[0-9])[0-9a-f][0-9a-f-]{5,35}", re.IGNORECASE)
FOLLOWED_SHOWN = 100


async def page(site: "Site", asked: Asked) -> Answer:
    """The story of what an id means."""
    kind, agent = asked.words("kind"), asked.words("agent")
    if kind is not None and kind not in KINDS:
        raise UserMistake(f"there are no stories of {kind!r}; there are of {', '.join(KINDS)}")
    async with site.database.overview() as db:
        told = kinds.story_of(db, kind, asked["written"], agent=agent) if kind else kinds.any_story_of(db, asked["written"], agent=agent)
        return await _answer(db, await told)


async def event(site: "Site", asked: Asked) -> Answer:
    """The story of exactly this event of exactly this agent, whose ids may be anything."""
    key = (asked.words("agent") or "", asked.words("id") or "")
    async with site.database.overview() as db:
        story = await events_story.told(db, key)
        if not (story.moments or story.event.letters):
            raise NothingMeant(f"agent {key[0]!r} has no event {key[1]!r}")
        return await _answer(db, story)


async def find(site: "Site", asked: Asked) -> Elsewhere:
    """Where the answer is to what somebody wrote: words, an id or the beginning of one, what a parked delivery is called."""
    written = asked.words("q")
    if written is None:
        return Elsewhere("/facts")
    if handles.read(written):
        return Elsewhere(f"/explain/{bare(written)}")
    if not _AN_ID.fullmatch(written):
        return Elsewhere(rendering.address("/facts", q=written))
    async with site.database.overview() as db:
        is_parked = len(await parked.named(db, written, Wanted())) == 1 if len(written) == parked.HANDLE_LENGTH else False
    return Elsewhere(rendering.address(f"/parked/{written}" if is_parked else f"/explain/{written}"))


async def of_a_fact(db: Read, story: fact.Story) -> Answer:
    """A fact's story."""
    late = fact_words.late(story)
    steps = [
        (one, Moment(one.at, spoken(one.happened), one.receipt.worker, fact_words.lines(story, one)), one.receipt.event_id in late)
        for one in story.steps
    ]
    shown = {"story": story, "fact": story.fact, "chain": await chain.drawn(db, story), "steps": steps}
    return Answer("story_fact.html", shown, story.as_data())


async def _answer(db: Read, story: Story) -> Answer:
    match story:
        case fact.Story():
            return await of_a_fact(db, story)
        case episode.Story():
            return Answer("story_episode.html", {"story": story, "episode": story.episode}, story.as_data())
        case decision.Story():
            return Answer("story_decision.html", {"story": story, "decision": story.decision}, story.as_data())
        case procedure.Story():
            return Answer("story_procedure.html", {"story": story, "procedure": story.procedure}, story.as_data())
        case censor.Story():
            return Answer("story_censor.html", {"censor": story.censor, "moments": list(_of_a_censor(story))}, story.as_data())
        case events_story.Story():
            followed = list(_followed(story.event, 1))
            shown = {"story": story, "event": story.event, "followed": followed[:FOLLOWED_SHOWN], "more": len(followed) > FOLLOWED_SHOWN}
            return Answer("story_event.html", shown, story.as_data())


def _of_a_censor(story: censor.Story) -> Iterator[Moment]:
    for one in story.steps:
        lines = [*evidence.in_words(one.receipt, {}), *([line(one.occurred, "faint")] if one.occurred else [])]
        yield Moment(one.at, spoken(one.receipt.outcome), one.receipt.worker, lines, {"event_id": one.receipt.event_id})


def _followed(event: Happening, depth: int) -> Iterator[tuple[int, Happening]]:
    for one in event.follows:
        yield depth, one
        yield from _followed(one, depth + 1)
