"""Memory over HTTP: what an agent in any language says and asks, for the agent its token speaks for, and nobody else's.

    request ──▶ limits ──▶ who ──▶ a route ──▶ recall, store, people ──▶ JSON
                  │         │        └─ what went wrong ─▶ problems: application/problem+json, in plain words
                  │         └─ no token, another agent's, too often: refused
                  └─ too large: refused

application   the routes put together
service       what they work with, and how it is opened and closed
who           whom a request speaks for
paths         ids in a path, whatever characters they have
known         tokens that were good a moment ago
limits        how large, how often, and how many that wait
measured      how long it took
health        whether it can work, and what it counted
problems      what went wrong, as RFC 9457 has it
sessions, events, recalling, memories, facts    the routes
telling       events that the routes themselves publish
"""
