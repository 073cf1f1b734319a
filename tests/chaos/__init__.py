"""Proof under faults: many producers, several replicas of every worker, and all that can break broken on purpose (docs/reliability.md).

lives ─▶ producers ──XADD──▶ Valkey ◀──cable──▶ replicas ◀──cable──▶ Postgres        servers, replicas, mind
            │ log                 ▲                 ▲                    ▲
            │                     └───── faults, at moments that a seed gives ─▶ what was lost, by name: told to the producers again
            ▼
    what must be true (model) ──── compared with ────▶ what is (check) ──▶ report
"""
