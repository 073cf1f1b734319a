"""Remembering: what an agent's conversations leave behind, and what it gets back when it asks."""
