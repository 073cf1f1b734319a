"""What a receipt says, in words: why, what was compared with which score, what the guard found, what a mind answered, what changed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from store.parked import DROPPED
from store.receipts import OPERATOR, Receipt

from .words import Line, line, listed, moment, one_line, plural, quoted

CANDIDATES_SHOWN = 3
TELLING = {"same": 0, "refines": 0, "updates": 0, "contradicts": 0, "unsure": 1, "compatible": 2}
"""Which relations to show first."""


def in_words(receipt: Receipt, wordings: Mapping[str, str]) -> list[Line]:
    """All that is worth a line of a receipt, whatever it is about."""
    about = wordings.get(str(receipt.about)) if receipt.about else None
    return [
        *([line(f"about {quoted(about)} ({receipt.about})")] if about else []),
        *because(receipt, wordings),
        *parked_before(receipt),
        *compared(receipt, wordings),
        *asked(receipt),
        *changed(receipt.evidence.get("changed", ()), wordings, whose="fact"),
        *_of_an_episode(receipt),
        *_of_a_decision(receipt),
        *_counted(receipt),
        *_decided(receipt),
    ]


def because(receipt: Receipt, wordings: Mapping[str, str]) -> list[Line]:
    """The reason, with what a fact says beside each id that it names; of what a person dropped, where it was not wanted."""
    if receipt.outcome == "forgotten" and receipt.worker != OPERATOR:
        return [line("what it said, and what became of it here, was forgotten since")]
    if not receipt.reason or receipt.evidence.get("dropped"):  # which says it better
        return []
    reason = receipt.reason
    for fact_id, content in wordings.items():
        reason = reason.replace(fact_id, f"{fact_id} “{content}”")
    told = f"not to be worked by {receipt.worker}, because" if by(receipt) != receipt.worker else "because"
    return [line(f"{told}: {one_line(reason)}")]


def by(receipt: Receipt) -> str:
    """Who ended it: the worker it came to, or the person who dropped it."""
    return str(receipt.evidence.get("by", OPERATOR)) if receipt.outcome == DROPPED else receipt.worker


def parked_before(receipt: Receipt) -> list[Line]:
    """Every time it was parked or dropped before, the earliest first: when, after how many attempts, why, and when it was retried."""
    return [line(_parked_before(one), "faint") for one in receipt.evidence.get("was_parked", ())]


def _parked_before(past: Mapping[str, Any]) -> str:
    after = f" after {plural(past['attempts'], 'attempt')}" if isinstance(past.get("attempts"), int) else ""
    why = f", because: {one_line(past['reason'])}" if past.get("reason") else ""
    again = f"; retried {_at(past['retried_at'])}" if past.get("retried_at") else ""
    return f"{past['what']} before, {_at(past['at'])}{after}{why}{again}"


def _at(written: str) -> str:
    return moment(datetime.fromisoformat(written))


# ── compared ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def compared(receipt: Receipt, wordings: Mapping[str, str]) -> list[Line]:
    """What it was compared with: by a mind, how the two stand; by the deduplicator, those that came near, or the nearest."""
    candidates = [{**one, "content": wordings.get(one["fact_id"])} for one in receipt.evidence.get("candidates", ())]
    if any("relation" in one for one in candidates):
        return _all_judged(candidates)
    floor = receipt.evidence.get("check_similarity", 0)
    near = [one for one in candidates if one["similarity"] >= floor]
    if not near:
        return [_candidate(one, "nothing near; the nearest was ") for one in candidates[:1]]
    more = [line(f"and {len(near) - CANDIDATES_SHOWN} more", "faint")] if len(near) > CANDIDATES_SHOWN else []
    return [*(_candidate(one, "near ") for one in near[:CANDIDATES_SHOWN]), *more]


def _all_judged(candidates: Iterable[Mapping[str, Any]]) -> list[Line]:
    """The most telling, and of the others how many stand how."""
    ranked = sorted((one for one in candidates if "relation" in one), key=lambda one: TELLING.get(one["relation"], 0))
    left = Counter(one["relation"] for one in ranked[CANDIDATES_SHOWN:])
    rest = ", ".join(f"{count} more {relation}" for relation, count in left.items())
    return [*map(_judged, ranked[:CANDIDATES_SHOWN]), *([line(f"and {rest}", "faint")] if rest else [])]


def _candidate(one: Mapping[str, Any], how: str) -> Line:
    wording = quoted(one["content"] or one["fact_id"])
    finding = f"  {one_line(one['guard'])}" if one.get("guard") else ""
    return Line(((f"{how}{one['similarity']:.3f} {wording}", "faint"), (finding, "telling")))


def _judged(one: Mapping[str, Any]) -> Line:
    wording = quoted(one["content"] or one["fact_id"])
    is_telling = TELLING.get(one["relation"], 0) == 0
    said = f": {one_line(one['reason'])}" if one.get("reason") else ""
    return Line(
        (
            (one["relation"], "telling" if is_telling else "faint"),
            (f"  {wording} ({one['why']}, {one['similarity']:.3f}), by {one['decided_by']}{said}", "faint"),
        )
    )


def asked(receipt: Receipt, more: str = "") -> list[Line]:
    """Which mind answered about its candidates, and what that took; `more` is added to it."""
    evidence = receipt.evidence
    if "model" not in evidence or not evidence.get("candidates"):
        return []
    tokens_in, tokens_out = evidence.get("tokens_in", 0), evidence.get("tokens_out", 0)
    if not tokens_in and not tokens_out:
        return [line(f"mind: {evidence['model']}, no tokens{more}", "faint")]
    took = f"{evidence.get('milliseconds', 0) / 1000:.1f} s"
    return [line(f"mind: {evidence['model']}, {tokens_in:,} tokens in, {tokens_out:,} out, {took}{more}", "faint")]


# ── changed ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def changed(changes: Iterable[Mapping[str, Any]], wordings: Mapping[str, str], *, whose: str = "this fact") -> list[Line]:
    """How facts stand since; `whose` is what they are called, with what they say when that is `fact`."""
    lines = []
    for one in changes:
        name = f"fact {quoted(wordings.get(one['fact_id'], one['fact_id']))}" if whose == "fact" else whose
        if words := _in_short(one, wordings):
            lines.append(line(f"{name}: {words}", "telling"))
    return lines


def _in_short(change: Mapping[str, Any], wordings: Mapping[str, str]) -> str:
    now = change["now"]
    told = []
    for name, how in (("superseded_by", "superseded by"), ("merged_into", "merged into"), ("disputes", "disputes")):
        if now.get(name):
            told.append(f"{how} {quoted(wordings.get(now[name], now[name]))}")
    if now.get("active"):
        told.append("active")
    told += _kept_up(now, change["was"])
    if now.get("valid_to"):
        told.append(f"true until {now['valid_to'][:16].replace('T', ' ')}")
    if change["was"] and now.get("content"):
        told.append(f"worded {quoted(now['content'])}")
    return ", ".join(told)


def _kept_up(now: Mapping[str, Any], was: Mapping[str, Any]) -> list[str]:
    """What upkeep did to a fact, or what ended that, or may not be done."""
    told = []
    if now.get("archived_at"):
        told.append("archived: it was active, is so no longer, and is restorable")
    if now.get("demoted_to") is not None:
        told.append(f"demoted: its confidence {_counted_for(was)} before, and counts for {now['demoted_to']:g} of it since")
    if was.get("archived_at") and not now.get("archived_at"):
        told.append("no longer archived: active again")
    if was.get("demoted_to") is not None and now.get("demoted_to") is None:
        told.append(f"no longer demoted: its confidence {_counted_for(was)} before, and counts in full since")
    if "pinned_at" in now:
        told.append("pinned" if now["pinned_at"] else "no longer pinned")
    return told


def _counted_for(was: Mapping[str, Any]) -> str:
    return "counted in full" if was.get("demoted_to") is None else f"counted for {was['demoted_to']:g} of it"


# ── of other kinds ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_an_episode(receipt: Receipt) -> list[Line]:
    evidence = receipt.evidence
    lines = []
    if "questions" in evidence:
        read = f"{plural(evidence.get('turns', 0), 'utterance')}, {plural(evidence.get('characters', 0), 'character')}"
        by = f" by {evidence['model']} in {plural(evidence['questions'], 'question')}" if evidence.get("model") else " without a mind"
        lines.append(line(f"read {read}{by}", "faint"))
        lines.append(line(f"learned {plural(evidence.get('facts', 0), 'fact')}"))
    if away := evidence.get("put_away"):
        lines.append(line(f"put away: {away['characters']:,} characters, {away['bytes']:,} bytes in {away['compressed']:,}"))
    if gone := evidence.get("let_go"):
        lines.append(line(f"let go of: {gone['characters']:,} characters, {gone['compressed']:,} bytes"))
    if dropped := evidence.get("dropped"):
        lines.append(line(f"dropped {_times(dropped)}", "telling"))
    if decisions := evidence.get("decisions"):
        lines.append(line("decisions: " + ", ".join(f"{one} ({how})" for one, how in decisions.items())))
    return lines


def _times(counts: Mapping[str, int]) -> str:
    return listed(f"{plural(count, 'fact')} ({why})" for why, count in sorted(counts.items()))


def _of_a_decision(receipt: Receipt) -> list[Line]:
    evidence = receipt.evidence
    lines = []
    if "outcome_before" in evidence:
        lines.append(line(f"outcome: {evidence['outcome_before']} before, {evidence['outcome']} in this review"))
        if evidence.get("note"):
            lines.append(line(quoted(evidence["note"])))
    if episodes := evidence.get("episodes"):
        lines.append(line("episodes: " + ", ".join(f"{one} ({how})" for one, how in episodes.items())))
    return lines


def _counted(receipt: Receipt) -> list[Line]:
    evidence = receipt.evidence
    lines = []
    if "success_count" in evidence:
        known = evidence["success_count"] + evidence.get("failure_count", 0)
        lines.append(line(f"used {plural(evidence['activation_count'], 'time')}, {evidence['success_count']} of {known} worked"))
        if evidence.get("note"):
            lines.append(line(quoted(evidence["note"])))
    elif "activation_count" in evidence:
        matched = f", on {quoted(evidence['matched_text'])}" if evidence.get("matched_text") else ""
        lines.append(line(f"fired {plural(evidence['activation_count'], 'time')}{matched}"))
    lines += [
        line(f"{name.removesuffix('_before').replace('_', ' ')} before: {_plainly(value)}", "faint")
        for name, value in evidence.items()
        if name.endswith("_before") and name != "outcome_before" and name != "note_before"
    ]
    return lines


def _decided(receipt: Receipt) -> list[Line]:
    """What a person's decision changed."""
    before, after = receipt.evidence.get("before"), receipt.evidence.get("after")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return []
    names = [name for name in after if before.get(name) != after[name]]
    return [line(f"{name.replace('_', ' ')}: {_plainly(before.get(name))} before, {_plainly(after[name])} since") for name in names]


def _plainly(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "; ".join(map(str, value)) or "nothing"
    return one_line(str(value))
