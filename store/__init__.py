"""Postgres: the only place SQL is written. One noun a file, its table and its verbs together.

database    sessions: Read and Write, roles, locks, time-outs, what a database error means
facts, mentions, vectors, embedders, censors      the heart: what is remembered
reembedding                                       the vectors of another embedder, until the switch to it
lineage, forgetting, forgotten, agents, leftovers    what is erased, and what keeps it away
receipts, retries, outbox                         the bus: what became of each event
migrate, migrations/                              the shape of it all
"""
