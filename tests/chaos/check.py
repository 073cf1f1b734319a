"""What is, compared with what must be: every difference is a line; none is what was promised.

receipts   one for each accepted event and worker that listens; parked are what is malformed or poison, with their reasons
archive    every accepted body, every derived event
memory     mentions, what is true now, censors, decisions, procedures, episodes: as the model has them

What holds of every store is in invariants.py, what is open still in rest.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import workers
from store import archive

from .eyes import Eyes
from .lives import Said
from .mind import stated
from .model import Expected, archived_body, differences, folded, key

SHOWN = 5
Wrong = dict[str, list[str]]


@dataclass
class Verdict:
    """What is wrong, by the promise it breaks; and what was counted on the way."""

    wrong: Wrong = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def found(self, promise: str, breaches: Any) -> None:
        """Note the breaches of a promise, if there are any."""
        if breaches:
            shown = [f"{one}: {breaches[one]}" for one in breaches] if isinstance(breaches, Mapping) else list(map(str, breaches))
            self.wrong[promise] = [f"{len(shown)} in all", *shown[:SHOWN]]


async def receipts(eyes: Eyes, known: Expected, verdict: Verdict) -> None:
    """One for each event and worker, and parked ones for a reason."""
    rows = await eyes.rows("SELECT worker, agent_id, event_id, stream, entry_id, ending, reason, derived FROM bus.receipts")
    listeners = workers.consumers()
    told = Counter((row["worker"], row["agent_id"], row["event_id"]) for row in rows)
    verdict.found("one receipt for each worker and event", {one: count for one, count in told.items() if count > 1})
    wanted = {(worker, agent, event) for stream, agent, event in known.events for worker in listeners.get(stream, ())}
    derived = {tuple(said.split(":", 1)): row["agent_id"] for row in rows for said in row["derived"]}
    wanted |= {(worker, agent, event) for (stream, event), agent in derived.items() for worker in listeners.get(stream, ())}
    parked = [row for row in rows if row["ending"] == "parked"]
    bodies = await _parked_bodies(eyes, parked)
    malformed = {(row["worker"], row["agent_id"], row["event_id"]) for row in parked if bodies.get(_at(row)) in known.malformed}
    verdict.found("a receipt for every accepted event", sorted(wanted - told.keys()))
    verdict.found("no receipt of what nobody said", sorted(told.keys() - wanted - malformed))
    poison = {(agent, event) for (_, agent, event), wrong in known.events.items() if wrong}
    innocent = [
        (row["worker"], row["event_id"], row["reason"]) for row in parked if _id(row) not in malformed and _id(row)[1:] not in poison
    ]
    verdict.found("nothing is parked but what is malformed or poison", innocent)
    verdict.found("poison is parked", sorted(poison - {(row["agent_id"], row["event_id"]) for row in parked}))
    verdict.found("every malformed body is parked", sorted(known.malformed - {bodies.get(_at(row)) for row in parked}, key=repr))
    verdict.found("what is parked has a reason", [_id(row) for row in parked if not row["reason"]])
    verdict.counts |= {"receipts": len(rows), "parked": len(parked), "parked, malformed": len(malformed), "parked, poison": len(poison)}


async def archived(eyes: Eyes, log: Sequence[Said], verdict: Verdict) -> None:
    """Every accepted body; and every derived event, whatever Redis lost."""
    digests = {bytes(row["digest"]) for row in await eyes.rows("SELECT digest FROM bus.events")}
    verdict.found("the archive holds every accepted body", [key(one) for one in log if archive.digest(archived_body(one)) not in digests])
    kept = {f"{row['stream']}:{row['event_id']}" for row in await eyes.rows("SELECT stream, event_id FROM bus.events")}
    derived = [one for row in await eyes.rows("SELECT derived FROM bus.receipts") for one in row["derived"]]
    verdict.counts |= {"events archived": len(digests), "events that workers derived": len(derived)}
    verdict.found("the archive holds every derived event", [one for one in derived if one not in kept])


async def memory(eyes: Eyes, known: Expected, verdict: Verdict) -> None:
    """What is remembered, against the model."""
    mentions = await eyes.rows(
        "SELECT agent_id, event_id, mention_id, outcome FROM heart.fact_mentions WHERE coalesce(source, '') NOT LIKE 'episode:%'"
    )
    heard = {(row["agent_id"], row["event_id"]): str(row["mention_id"]) for row in mentions}
    verdict.found("each accepted fact is one mention", differences(known.mentions, heard))
    facts = await eyes.rows("SELECT agent_id, content FROM heart.facts WHERE active")
    now: dict[tuple[str, str], list[str]] = {}
    for row in facts:
        whom, value = stated(row["content"])
        if whom is not None:
            now.setdefault((row["agent_id"], whom), []).append(value)
    verdict.found(
        "of what changes, what was claimed last is true, and it alone",
        differences({one: [value] for one, value in known.true_now.items()}, now),
    )
    stays = Counter((row["agent_id"], folded(row["content"])) for row in facts if "holds jar" in folded(row["content"]))
    verdict.found("what stays is one fact, and active", differences(dict.fromkeys(known.staying, 1), stays))
    rows = await eyes.rows("SELECT agent_id, censor_id::text, activation_count, false_positive_count, severity FROM heart.censors")
    verdict.found(
        "censors have fired as often as they were told", differences(known.censors, {(r[0], r[1]): (r[2], r[3], r[4]) for r in rows})
    )
    rows = await eyes.rows("SELECT agent_id, decision_id::text, outcome FROM brain.decisions")
    verdict.found("decisions came out as they were reviewed last", differences(known.decisions, {(r[0], r[1]): r[2] for r in rows}))
    rows = await eyes.rows("SELECT agent_id, procedure_id::text, activation_count, success_count, failure_count FROM heart.procedures")
    verdict.found(
        "procedures were used as often as they were told", differences(known.procedures, {(r[0], r[1]): (r[2], r[3], r[4]) for r in rows})
    )
    rows = await eyes.rows("SELECT agent_id, episode_id::text, settled_by, written_by FROM heart.episodes")
    verdict.found("every conversation is an episode", known.episodes ^ {(r[0], r[1]) for r in rows})
    verdict.found("every episode was summarised by a mind", [(r[1], r[3]) for r in rows if r[2] is None or r[3] != "mind"])
    learned = Counter(r[0] for r in await eyes.rows("SELECT source FROM heart.fact_mentions WHERE source LIKE 'episode:%'"))
    verdict.found("of each conversation one thing was learned", differences({f"episode:{one}": 1 for _, one in known.episodes}, learned))
    verdict.counts |= {
        "facts": await eyes.value("SELECT count(*) FROM heart.facts"),
        "facts true now": len(facts),
        "mentions": len(mentions),
    }
    verdict.counts |= {"censors": len(known.censors), "decisions": len(known.decisions), "procedures": len(known.procedures)}
    verdict.counts |= {"episodes": len(known.episodes)}


async def _parked_bodies(eyes: Eyes, parked: Sequence[Any]) -> dict[tuple[str, str, str], bytes]:
    """The archived body of each parked delivery."""
    ids = [row["event_id"] for row in parked]
    rows = await eyes.rows("SELECT agent_id, event_id, stream, body FROM bus.events WHERE event_id = ANY($1)", ids)
    return {_at(row): bytes(row["body"]) for row in rows}


def _at(row: Any) -> tuple[str, str, str]:
    return row["stream"], row["agent_id"], row["event_id"]


def _id(row: Any) -> tuple[str, str, str]:
    return row["worker"], row["agent_id"], row["event_id"]
