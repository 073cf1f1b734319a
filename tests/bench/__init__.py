"""Speed, measured: `python -m tests.bench [--json]`, or `make bench`. Shown, never asserted.

sentences   what is said: a small grammar, the same for the same seed
consumers   the processes that are measured: a worker with a chosen embedder, and a bare loop
stand       the stack they run on, and what is published to it and waited for
figures     what is measured, in order, and what it is held against
beside      what else the machine did meanwhile
__main__    the table
costs       what one event costs, stage by stage: a command of its own
scale       what so many agents need, counted from that: a command of its own
recalls     how long memory takes to answer, by the facts an agent has: a command of its own, which stands on
filled      a store with a million facts, filled by Postgres itself
client      clients of the API as it is served, and what each request waited
"""
