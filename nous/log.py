"""Logging: one line an event, `noun.past` and its values. People on a terminal get colour, machines get JSON, `NO_COLOR` is respected."""

import logging
import os
import sys
from typing import Literal

import structlog


def configure(*, log_format: Literal["auto", "human", "json"], level: str) -> None:
    """Set up structlog to write to standard error."""
    human = log_format == "human" or (log_format == "auto" and sys.stderr.isatty())
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(colors=colour) if human else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *([] if human else [structlog.processors.dict_tracebacks]),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
