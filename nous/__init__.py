"""Nous memory: the front door (command line, settings, errors, log, clock, ids, the embedded stack)."""

__version__ = "0.1.0"
