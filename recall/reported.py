"""What an agent reports of a conversation, checked and mended before it is kept: words are mended, ids never are.

Each of these raises UserMistake in words for what does not do.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from events.base import AgentId
from events.episodes import MAX_TRANSCRIPT_CHARACTERS
from events.wire import MAX_CLOCK_AHEAD, is_storable, mended
from nous import clock
from nous.errors import UserMistake
from nous.fence import without_recalled

USER, ASSISTANT = "user", "assistant"
ID_CHARACTERS = 256
SHORT_CHARACTERS = 1_000  # as in an event
LESSON_CHARACTERS = 500  # of a reflection (spec 000, A4)
FIRST_MOMENT = datetime.fromtimestamp(0, UTC)

_AGENT_ID: TypeAdapter[str] = TypeAdapter(AgentId)


@dataclass(frozen=True)
class Said:
    """One utterance, as Postgres can hold it. `own` is what its speaker said: all but what was recalled into it."""

    agent: str
    session_id: str
    speaker: str
    content: str
    own: str
    at: datetime
    turn_id: str | None


def utterance(agent: str, session_id: str, speaker: str, said: str, *, at: datetime | None, turn_id: str | None) -> Said:
    """What was said, word for word but for NUL and lone surrogates."""
    require_ids(agent, session_id, turn_id)
    if len(said) > MAX_TRANSCRIPT_CHARACTERS:
        size, most = f"{len(said):,}", f"{MAX_TRANSCRIPT_CHARACTERS:,}"
        raise UserMistake(f"what the {speaker} said has {size} characters and the limit is {most}; report it as several turns")
    content = mended(said)
    return Said(agent, session_id, speaker, content, without_recalled(content), moment(at), turn_id)


def require_ids(agent: str, session_id: str, turn_id: str | None = None) -> None:
    """Refuse an id that is none; one that were mended could be another's."""
    try:
        _AGENT_ID.validate_python(agent)
    except ValidationError:
        raise UserMistake(
            f"the agent {agent[:80]!r} does not do; an agent has 1 to 128 characters, none of them a control character"
        ) from None
    for what, written in (("session", session_id), ("turn", turn_id)):
        if written is not None and not (written.strip() and len(written) <= ID_CHARACTERS and is_storable(written)):
            needs = f"an id has 1 to {ID_CHARACTERS} characters that are not all blank, no NUL and no lone surrogate"
            raise UserMistake(f"the {what} {written[:80]!r} does not do; {needs}")


def short(what: str, written: str | None) -> str | None:
    """A name or a few words; None for nothing."""
    if written is not None and len(written) > SHORT_CHARACTERS:
        raise UserMistake(f"{what} has {len(written):,} characters and the limit is {SHORT_CHARACTERS:,}")
    return mended(written or "").strip() or None


def lesson(reflection: str | None) -> str | None:
    """The first 500 characters of a reflection; None for nothing."""
    return mended(reflection or "").strip()[:LESSON_CHARACTERS] or None


def moment(at: datetime | None) -> datetime:
    """`at` in UTC, now if absent; one that lies ahead of our clock is taken as five minutes ahead, as an event's is.

    One before 1970 is a field that nobody filled in, such as Go's zero time.
    """
    if at is None:
        return clock.now()
    if at.tzinfo is None:
        raise UserMistake(f"{at.isoformat()} has no time zone, so it is no one moment; add Z or an offset such as +02:00")
    try:
        at = at.astimezone(UTC)
    except OverflowError:
        raise UserMistake(f"{at.isoformat()} is outside the years 1 to 9999 once its offset is applied") from None
    if at < FIRST_MOMENT:
        raise UserMistake(
            f"{at.isoformat()} lies before 1970, so nobody set it, most likely; leave the time out, which means now, or set it"
        )
    return min(at, clock.now() + MAX_CLOCK_AHEAD)
