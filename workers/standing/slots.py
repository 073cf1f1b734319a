"""What follows from what was claimed and how texts stand to each other. Pure: the same claims and relations end in the same state.

    relations ──classes──▶ texts that say one thing
    claims    ──walk─────▶ stretches: a class is claimed until a later claim of another class says otherwise
    rows      ──home─────▶ each stretch has one fact that stands for it; the other rows of the stretch are merged into it

        A ●────●        ●───────▶ still true      A, then B, then A again: two stretches of A, with B between them.
        B       ●───────┤                         The first A is superseded by B, B by the second A.
              time ───▶

A later claim retires an earlier one, never the other way round, in whatever order they arrive; a claim of an assistant never retires
what a user stated, and is marked as disputing it. What a person decided of two texts holds against every model.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from nous import ids
from nous.text import content_hash
from store.facts import Fact
from store.mentions import Said
from store.relations import CONFLICTING, MERGING, Relation

from . import trust

Moment = tuple[datetime, str]
"""When something was claimed, and by which event: no two claims of an agent are at one moment."""


@dataclass(frozen=True)
class Settled:
    """What is to be written: facts as they stand now, new ones among them, and the mentions that belong to another fact now."""

    facts: dict[UUID, Fact]
    copies: dict[UUID, UUID]
    moved: dict[str, UUID]


def settle(facts: Iterable[Fact], said: Iterable[Said], relations: Iterable[Relation]) -> Settled:
    """How these facts of an agent stand, given every claim of them and every relation among their texts.

    A row that was claimed on both sides of another claim becomes two: `copies` tells which new fact is a copy of which.
    """
    slot = Slot({fact.fact_id: fact for fact in facts}, sorted(said, key=moment), list(relations))
    stretches = slot.stretches()
    homes = Homes(slot)
    for stretch in stretches:
        homes.take_in(stretch)
    settled = {fact.fact_id: fact for stretch in stretches for fact in homes.standing(stretch)}
    return Settled(settled, homes.copies, homes.moved)


def numbered(facts: Mapping[UUID, Fact], said: Iterable[Said], relations: Iterable[Relation]) -> dict[bytes, int]:
    """The texts of these facts, each with the number of its class: those of one number say one thing."""
    return Slot(dict(facts), sorted(said, key=moment), list(relations)).classes


def moment(claim: Said) -> Moment:
    """When and by which event it was claimed."""
    return claim.at, claim.event_id


# ── classes: texts that say one thing ─────────────────────────────────────────────────────────────────────────────────────


def classes(texts: Mapping[bytes, Moment], relations: Sequence[Relation]) -> dict[bytes, int]:
    """A class for each text, numbered in the order they were first claimed; `texts` tells when that was.

    Texts that are the same are joined, the earliest claimed first, but never so that two come together that are known to be two.
    """
    members = {key: {key} for key in texts}
    apart: dict[bytes, set[bytes]] = {key: set() for key in texts}
    for relation in relations:
        if relation.relation not in MERGING:
            apart[relation.low_key].add(relation.high_key)
            apart[relation.high_key].add(relation.low_key)
    same = [relation for relation in relations if relation.relation in MERGING]
    for relation in sorted(same, key=lambda one: sorted((texts[one.low_key], texts[one.high_key]))):
        left, right = members[relation.low_key], members[relation.high_key]
        if left is not right and not any(apart[key] & right for key in left):
            left |= right
            for key in right:
                members[key] = left
    first: dict[int, int] = {}
    return {key: first.setdefault(id(members[key]), len(first)) for key in sorted(texts, key=texts.__getitem__)}


# ── stretches: while a class is claimed and nothing later says otherwise ──────────────────────────────────────────────────


@dataclass(eq=False)
class Stretch:
    """Claims of one class with none between them that retires them; `ended_by` is the claim that does, after the last."""

    number: int
    claims: list[Said]
    ended_by: Said | None = None
    disputes: "Stretch | None" = None
    rows: list[UUID] = field(default_factory=list)

    @property
    def survivor(self) -> UUID:
        """The row that stands for all of it: the one of the earliest claim."""
        return self.rows[0]

    @property
    def is_stated_by_user(self) -> bool:
        """Whether a user vouches for it."""
        return any(claim.provenance == trust.USER for claim in self.claims)

    def may_be_ended_by(self, claim: Said) -> bool:
        """An assistant's claim never retires what a user stated."""
        return claim.provenance != trust.ASSISTANT or not self.is_stated_by_user


class Slot:
    """Facts whose texts merge or conflict, with every claim of them, in order."""

    def __init__(self, facts: dict[UUID, Fact], said: Sequence[Said], relations: Sequence[Relation]) -> None:
        self.facts = facts
        self.said = said
        first: dict[bytes, Moment] = {}
        for claim in said:
            first.setdefault(facts[claim.fact_id].text_key, moment(claim))
        self.relations = [one for one in relations if one.low_key in first and one.high_key in first]
        self.classes = classes(first, self.relations)
        self.rivals = self._rivals()
        self.refining = [one for one in self.relations if one.relation == "refines" and one.richer_key]

    def class_of(self, claim: Said) -> int:
        """The class of what was claimed."""
        return self.classes[self.facts[claim.fact_id].text_key]

    def stretches(self) -> list[Stretch]:
        """Every stretch of every class."""
        claims: dict[int, list[Said]] = {}
        for claim in self.said:
            claims.setdefault(self.class_of(claim), []).append(claim)
        found = [stretch for number in sorted(claims) for stretch in self._of_class(number, claims)]
        self._dispute(found)
        return found

    def _rivals(self) -> dict[int, set[int]]:
        """For each class those that conflict with it, unless a person said of two of their texts that both are true."""
        rivals: dict[int, set[int]] = {number: set() for number in self.classes.values()}
        reconciled = set()
        for one in self.relations:
            left, right = self.classes[one.low_key], self.classes[one.high_key]
            if left != right and one.relation in CONFLICTING:
                rivals[left].add(right)
                rivals[right].add(left)
            elif one.relation == "compatible" and one.decided_by == "person":
                reconciled |= {(left, right), (right, left)}
        return {number: {other for other in others if (number, other) not in reconciled} for number, others in rivals.items()}

    def _of_class(self, number: int, claims: Mapping[int, list[Said]]) -> list[Stretch]:
        against = sorted((claim for rival in self.rivals[number] for claim in claims[rival]), key=moment)
        moments = [moment(claim) for claim in against]
        found: list[Stretch] = []
        for claim in claims[number]:
            if found and not self._has_ended(found[-1], claim, against, moments):
                found[-1].claims.append(claim)
            else:
                found.append(Stretch(number, [claim]))
        if found:
            found[-1].ended_by = _first_to_end(found[-1], against, moments)
        return found

    def _has_ended(self, stretch: Stretch, claim: Said, against: Sequence[Said], moments: Sequence[Moment]) -> bool:
        ending = _first_to_end(stretch, against, moments)
        if ending is None or moment(ending) > moment(claim):
            return False
        stretch.ended_by = ending
        return True

    def _dispute(self, found: Sequence[Stretch]) -> None:
        """Of two that conflict and both stand, one is the user's: the other disputes it."""
        open_: dict[int, Stretch] = {stretch.number: stretch for stretch in found if stretch.ended_by is None}
        for stretch in open_.values():
            rivals = [open_[rival] for rival in self.rivals[stretch.number] if rival in open_]
            stated = [rival for rival in rivals if rival.is_stated_by_user]
            if stated and not stretch.is_stated_by_user:
                stretch.disputes = max(stated, key=lambda rival: moment(rival.claims[-1]))


def _first_to_end(stretch: Stretch, against: Sequence[Said], moments: Sequence[Moment]) -> Said | None:
    later = range(bisect_right(moments, moment(stretch.claims[-1])), len(against))
    return next((against[at] for at in later if stretch.may_be_ended_by(against[at])), None)


# ── homes: one fact for each stretch ──────────────────────────────────────────────────────────────────────────────────────


class Homes:
    """Gives each stretch its rows. A row is at home where the event is that it began with; claims made elsewhere move to a row there."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.rows = dict(slot.facts)
        self.copies: dict[UUID, UUID] = {}
        self.moved: dict[str, UUID] = {}
        self.of_row: dict[UUID, list[Said]] = {}
        self.stretch_of: dict[str, Stretch] = {}

    def take_in(self, stretch: Stretch) -> None:
        """Find a row for each claim of the stretch, and the one that stands for them all: the row of the earliest claim."""
        at_home = {claim.fact_id for claim in stretch.claims if self.rows[claim.fact_id].stored_by == claim.event_id}
        by_text = {self.rows[row].text_key: row for row in sorted(at_home, key=str, reverse=True)}
        for claim in stretch.claims:
            row = claim.fact_id if claim.fact_id in at_home else by_text.get(self.rows[claim.fact_id].text_key)
            if row is None:
                row = self._copied(claim)
                by_text[self.rows[row].text_key] = row
            if row != claim.fact_id:
                self.moved[claim.event_id] = row
            if row not in self.of_row:  # no row is of two stretches
                stretch.rows.append(row)
            self.of_row.setdefault(row, []).append(claim)
            self.stretch_of[claim.event_id] = stretch

    def standing(self, stretch: Stretch) -> list[Fact]:
        """The rows of the stretch as they stand, once every stretch has been taken in."""
        ended = stretch.ended_by
        by = self.stretch_of[ended.event_id].survivor if ended else None
        one = self._told(self.rows[stretch.survivor], stretch.claims)
        survivor = self._as_kept_up(self._worded(one, stretch), stretch)
        standing = replace(
            survivor,
            active=ended is None and survivor.archived_at is None,
            archived_at=None if ended else survivor.archived_at,
            superseded_by=by,
            valid_to=ended.at if ended else None,
            merged_into=None,
            disputes=stretch.disputes.survivor if stretch.disputes else None,
        )
        return [standing, *(self._merged(row, stretch.survivor) for row in stretch.rows[1:])]

    def _merged(self, row: UUID, into: UUID) -> Fact:
        told = _in_own_words(self._told(self.rows[row], self.of_row[row]))
        merged = replace(told, active=False, superseded_by=None, valid_to=None, merged_into=into, disputes=None)
        return replace(merged, demoted_at=None, demoted_to=None, archived_at=None)

    def _as_kept_up(self, survivor: Fact, stretch: Stretch) -> Fact:
        """What upkeep did to the survivor lasts until another fact that it let be says the same: then it was heard again."""
        others = [self.rows[row] for row in stretch.rows if row != survivor.fact_id]
        since = max((other.created_at for other in others if other.active and other.demoted_at is None), default=None)
        return survivor if since is None else survivor.at_hand(since=since)

    def _told(self, row: Fact, claims: Sequence[Said]) -> Fact:
        """The row with what its claims add up to."""
        provenance, confidence = trust.of(claims)
        first, last = claims[0], claims[-1]
        return replace(
            row,
            provenance=provenance,
            confidence=confidence,
            valid_from=first.at,
            claimed_at=last.at,
            claimed_by=last.event_id,
            confirmation_count=len(claims) - 1,
            last_confirmed=last.at if len(claims) > 1 else None,
        )

    def _worded(self, survivor: Fact, stretch: Stretch) -> Fact:
        """The survivor in the richest wording of its stretch; an assistant's never replaces a user's."""
        own = _in_own_words(survivor)
        keys = {self.rows[row].text_key: row for row in reversed(stretch.rows)}
        inside = [one for one in self.slot.refining if one.low_key in keys and one.high_key in keys]
        richer = {one.richer_key for one in inside}
        poorer = {key for one in inside for key in (one.low_key, one.high_key) if key != one.richer_key}
        fit = [row for row in stretch.rows if self.rows[row].text_key in richer - poorer and self._may_word(row, stretch)]
        if not fit or fit[0] == survivor.fact_id:
            return own
        wording = _in_own_words(self.rows[fit[0]])
        return replace(own, content=wording.content, content_hash=wording.content_hash, own_content=own.content)

    def _may_word(self, row: UUID, stretch: Stretch) -> bool:
        return not (self._voucher(row, stretch) == trust.ASSISTANT and self._voucher(stretch.survivor, stretch) == trust.USER)

    def _voucher(self, row: UUID, stretch: Stretch) -> str:
        """Who vouches for the words of this row; which of several rows of these words a claim came to makes no difference."""
        key = self.rows[row].text_key
        provenance, _ = trust.of([claim for claim in stretch.claims if self.rows[claim.fact_id].text_key == key])
        return provenance

    def _copied(self, claim: Said) -> UUID:
        """A row of the same text for a claim that was made in another stretch than its row's."""
        origin = self.rows[claim.fact_id]
        made = ids.derived("fact", origin.agent_id, claim.event_id)
        self.rows[made] = replace(_in_own_words(origin), fact_id=made, stored_by=claim.event_id)
        self.copies[made] = origin.fact_id
        return made


def _in_own_words(fact: Fact) -> Fact:
    if fact.own_content is None:
        return fact
    return replace(fact, content=fact.own_content, content_hash=content_hash(fact.own_content), own_content=None)
