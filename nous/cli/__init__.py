"""The `nous` command.

    commands   what a person can type: every command, its arguments and its help, in the order of `nous --help`
    endings    how a command ends: what a mistake, an outage and a surprise look like, and their exit codes
    place      which stack a command talks to: the one the environment names, or the one that runs in NOUS_HOME
    screen     printing: for a person, for a pipe, as JSON

and a module or two for what each command does; they are imported when their command runs, so `nous --help` is quick
"""

from .commands import app, main

__all__ = ["app", "main"]
