"""Other systems beside this one: the same facts, the same embedder, a model that answers at once. `make peers`, or `python -m bench.peers`.

    small.jsonl, --data ─▶ cases ─▶ rounds, each said by one writer or by two at once
                                      │
             ┌────────────────────────┴──────────────┐
             ▼                                       ▼
    ours: streams, workers, Postgres        driven ─▶ drivers/*: a peer, in a virtual environment of its own
             │                                       │
             └──────▶ served, on loopback: embeddings, and a model that knows the labels ◀──────┘
             │                                       │
             └──────────── what each tells as true ──┴─▶ judged: twins, updates lost, facts lost ─▶ table

cases      pairs of facts with what ought to become of them, and the agents and moments they are said by
model      what a model that knows the labels answers, in the form each system asks for
served     the embedder and the model over HTTP, and a tally of what they were asked
judged     what became of the pairs, counted
ours       this system: real workers, as an operator starts them
driven     a peer: its driver run in its own environment
drivers    the only files that import a peer; they import nothing of ours
"""
