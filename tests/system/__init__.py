"""Whole processes: replicas that are killed, servers that go away, floods and bad input."""
