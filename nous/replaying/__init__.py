"""Replaying: recorded events through the real workers into a store of their own, and what differs from the live one."""
