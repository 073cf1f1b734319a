"""Stories: how memory came to be as it is, read from receipts, the archive and what was said, in the order of time.

    an id, or the beginning of one ──▶ ids_meant ──▶ what it means
                                                       │
    fact  episode  decision  procedure  censor  event ─┴─▶ told(db, ...) ──▶ a story: as_data() for machines, moments for a page

kinds      everything that has a story
ids_meant  which thing a person means
words      lines of a story, and the words for counts, times and quotes
moment     one thing that happened: when, what, and what is to be said of it
evidence   what a receipt says, in words
source     where the words of a fact stand, back to who said them
asked      what a mind was asked, what it answered, and what that cost
fact_words a step of a fact's story in lines
lineage    what led to an event, and what followed from it
"""
