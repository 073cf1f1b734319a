"""Everything that can go wrong here and has a name. Each message says what happened, with the values, why most likely, and what to do next.

NousError
├── UserMistake          the command line prints it as one sentence and exits with 2
├── Misconfigured        a setting or a database that cannot work; refused at start, or the process stops and says so
├── Refused              it can never succeed: the event at fault is parked at once
├── Outage               something outside is away (database, broker, embedder, model): wait, never count it, never park for it
└── Contended            two writers met in the database: start again, uncounted
"""


class NousError(Exception):
    """The root of the house's errors."""


class UserMistake(NousError):
    """A person asked for something that cannot be done as asked."""


class Misconfigured(NousError):
    """A setting, or the database it points at, cannot work: what needs it is not started, or stops."""


class Refused(NousError):
    """It can never succeed, now or later: the event at fault is parked at once."""


class Outage(NousError):
    """Something outside is away for now. Work waits for it; nothing is counted, parked or lost."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} is not answering: {why}")
        self.what = what
        self.why = why


class Contended(NousError):
    """Two writers met (deadlock, lock timeout, serialisation): the loser starts again, uncounted."""


class Overlong(Contended):
    """Postgres ended a statement or a transaction that took longer than it may: the same would again, so less of it is done at once."""
