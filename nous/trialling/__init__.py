"""Trying a prompt before it is believed: two ways to ask for facts on the same conversations, and what each is worth.

    conversations ─┬─ read by criterion a ─┬─▶ answered by both ─┬─ counted ─▶ coverage, junk, duplicates, cost ─┐
                   └─ read by criterion b ─┘                     └─ probed ──▶ p@1, p@3, MRR in a store each ────┴─▶ paired ─▶ verdict

criteria   which two: those that ship, or one of a person's own
exclusion  the usual list of what not to extract
reading    a conversation, read by a mind as an episode is
worth      whether a fact says what ought to be known
counting   one reading in numbers
probing    the facts of each criterion in a store, and questions put to recall
paired     a measure of both, its difference and how sure that is
verdict    ship, do not ship, or not enough to tell
trial      all of that

The live store takes no part: nothing is read from it and nothing is written to it.
"""
