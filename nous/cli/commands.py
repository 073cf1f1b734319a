"""What a person can type: every command, its arguments and its help, in the order of `nous --help`.

What a command does is in a module of its own, imported when the command runs.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import typer

from .endings import INCOMPLETE, Commands
from .paragraphs import wrap_at_the_terminal

START, SAY, SEE, REPLAY, DECIDE = "Run", "Publish", "Look", "Replay", "Decide"

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Agent = Annotated[str | None, typer.Option("--agent", help="Only this agent's.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many.", show_default="100 on a terminal, else all")]

app = typer.Typer(
    cls=Commands,
    help="Memory for LLM agents that looks after itself. Start with: nous demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us: what is printed goes nowhere
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as the process lives
        getattr(sys, name).reconfigure(errors="backslashreplace")
    app(prog_name="nous")


@app.callback(invoke_without_command=True)
def root(wants_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if wants_version:
        from importlib.metadata import version as installed

        print(f"nous {installed('nous-memory')}")
        raise typer.Exit


# ── run ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel=START)
def demo(is_json: Json = False) -> None:
    """See it work: two weeks of one agent's facts, and what became of them.

    Uses the stack that runs, or starts one for its duration. Running it again changes nothing.
    """
    from .demo import run
    from .place import settings
    from .report import print_report

    print_report(run(settings()), is_json=is_json)


@app.command(rich_help_panel=START)
def up() -> None:
    """The whole stack in one terminal; Ctrl-C stops all of it.

    Postgres, Valkey and every worker. The data stays in NOUS_HOME (.nous), where other commands find the stack by themselves.
    """
    from .place import settings
    from .running import up as run

    run(settings())


@app.command(rich_help_panel=START)
def work(
    names: Annotated[list[str] | None, typer.Argument(metavar="WORKER", help="Which workers; all when none is named.")] = None,
) -> None:
    """Workers alone, on a stack that runs elsewhere.

    The stack is the one that NOUS_DATABASE_URL and NOUS_REDIS_URL name, or else the one that runs in NOUS_HOME. SIGTERM finishes what
    is in flight.
    """
    from .place import settings
    from .running import work as run

    run(settings(), names or ())


@app.command(rich_help_panel=START)
def serve() -> None:
    """Memory over HTTP: sessions, events, recall, for agents in any language.

    On the stack that NOUS_DATABASE_URL and NOUS_REDIS_URL name, or else the one that runs in NOUS_HOME; at NOUS_API_HOST and
    NOUS_API_PORT. On this machine alone no token is asked for, elsewhere every request needs one (nous token new).
    """
    from .place import settings
    from .serve import serve as run

    run(settings())


@app.command(rich_help_panel=START)
def mcp(
    agent: Annotated[str | None, typer.Option("--agent", help="The agent that is spoken for, over stdio.", show_default=False)] = None,
    is_http: Annotated[bool, typer.Option("--http", help="Over HTTP, on this machine, each request with a token.")] = False,
) -> None:
    """Memory for any client of the Model Context Protocol.

    Over stdio, as a client starts it; on the stack that NOUS_DATABASE_URL and NOUS_REDIS_URL name, or else the one that runs in
    NOUS_HOME. With --http at http://127.0.0.1, NOUS_MCP_PORT; the agent is that of the token (nous token new).
    """
    from .mcp import serve as run
    from .place import settings

    run(settings(), agent=agent, is_http=is_http)


@app.command(rich_help_panel=START)
def migrate(is_json: Json = False) -> None:
    """Bring the database to the shape this version needs."""
    from .migrate import migrate as run
    from .place import settings

    asyncio.run(run(settings(), is_json=is_json))


@app.command(rich_help_panel=START)
def partition(
    parts: Annotated[int | None, typer.Argument(metavar="PARTS", min=1, max=64, help="Into how many; 1 is one table each.")] = None,
    is_abandoned: Annotated[bool, typer.Option("--abandon", help="Undo what was begun and has not ended.")] = False,
    batch: Annotated[int, typer.Option("--batch", min=1, max=100_000, help="About how many facts are copied at once.")] = 2_000,
    is_json: Json = False,
) -> None:
    """Keep facts in parts, by hash of the agent, instead of in one table each.

    Workers go on meanwhile. Killed, it goes on where it was when it is run again. Without a number it says how the tables stand; when
    parts are worth it is in docs/scale.md.
    """
    from nous.errors import UserMistake

    from . import partition as run
    from .place import settings

    if is_abandoned and parts is not None:
        raise UserMistake("--abandon undoes what was begun, whatever it was; leave out the number")
    if is_abandoned:
        asyncio.run(run.abandon(settings(), is_json=is_json))
    elif parts is None:
        asyncio.run(run.show(settings(), is_json=is_json))
    else:
        asyncio.run(run.to(settings(), parts, batch=batch, is_json=is_json))


@app.command(rich_help_panel=START)
def reembed(
    name: Annotated[str | None, typer.Option("--to", metavar="NAME", help="The embedder to change to, as NOUS_EMBEDDER names it.")] = None,
    is_check: Annotated[bool, typer.Option("--check", help="With --to: only say what it would take and change.")] = False,
    dropped: Annotated[str | None, typer.Option("--drop", metavar="NAME", help="Remove the vectors of an embedder not in use.")] = None,
    batch: Annotated[int, typer.Option("--batch", min=1, max=5000, help="Texts embedded and kept at once.")] = 256,
    is_json: Json = False,
) -> None:
    """Change the embedder: give every fact a vector of another one, then switch.

    Workers go on with the old vectors until the switch. Killed, it goes on where it was when it is run again. After the switch workers
    need NOUS_EMBEDDER set to the new one. Without an option it says which embedders have vectors.
    """
    from nous.errors import UserMistake

    from . import reembed as run
    from .place import settings

    if is_check and name is None:
        raise UserMistake("--check says what a change would take, so it needs --to NAME too")
    if name is not None and dropped is not None:
        raise UserMistake("--to and --drop were both given; change first, and drop the old vectors when you are sure")
    if dropped is not None:
        asyncio.run(run.drop(settings(), dropped, is_json=is_json))
    elif name is None:
        asyncio.run(run.show(settings(), is_json=is_json))
    elif is_check:
        asyncio.run(run.check(settings(), name, is_json=is_json))
    else:
        asyncio.run(run.to(settings(), name, batch=batch, is_json=is_json))


# ── publish ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel=SAY)
def publish(
    event: Annotated[str, typer.Argument(help="Which event, such as fact_learned.", show_default=False)],
    fields: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="One event, field by field.")] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", help="One JSON object a line; - reads standard input.")] = None,
    with_ids: Annotated[bool, typer.Option("--ids", help="Print event id and entry id of each, a line an event.")] = False,
    is_json: Json = False,
) -> None:
    """Publish events from a file, or one typed as key=value.

    A file may be of any size, a JSON object a line. Rejected lines are told with their numbers, the rest is sent, the exit code is 1.

    {"agent_id": "me", "content": "My cat is called Mimi."}

    An event without an event_id gets one; publishing it again has no second effect.
    A fact_learned without a fact_id gets the one that follows from agent_id and content.
    A field that is a list is written as JSON, or as key=value several times.
    """
    from nous.errors import UserMistake

    from .place import settings
    from .publish import publish_file, publish_one

    if file and fields:
        raise UserMistake(f"--file and key=value ({fields[0]}) were both given, and not both can be published: leave one out")
    if not file and not fields:
        raise UserMistake(f"say what to publish: nous publish {event} --file events.jsonl, or nous publish {event} key=value ...")
    if fields:
        publish_one(settings(), event, fields, is_json=is_json)
    elif file and not publish_file(settings(), event, file, is_json=is_json, with_ids=with_ids):
        raise typer.Exit(INCOMPLETE)


@app.command(rich_help_panel=SAY)
def wait(timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds.")] = 60, is_json: Json = False) -> None:
    """Wait until every worker is through.

    Exits with 1 at the timeout, saying what is left. What is parked waits for a person and does not count.
    """
    from .place import settings
    from .standing import tell_waited
    from .standing import wait as run

    waited = asyncio.run(run(settings(), timeout_s=timeout))
    tell_waited(waited, timeout_s=timeout, is_json=is_json)
    if waited.left:
        raise typer.Exit(INCOMPLETE)


Whose = Annotated[str, typer.Option("--agent", help="Whose it is.", show_default=False)]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The conversation's id, as its reporter calls it.", show_default=False)]
At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="When, with its time zone; now when absent.")]

session = typer.Typer(help="Report a conversation by hand, turn by turn, and see what is kept of it.", no_args_is_help=True)
app.add_typer(session, name="session", rich_help_panel=SAY)


@session.command("turn")
def session_turn(
    session_id: SessionId,
    agent: Whose,
    user: Annotated[str, typer.Option("--user", help="What the user said.", show_default=False)],
    assistant: Annotated[str | None, typer.Option("--assistant", help="What was answered; the turn waits for it when absent.")] = None,
    used: Annotated[list[str] | None, typer.Option("--tool", help="A tool that was used; any number of times.")] = None,
    frame: Annotated[str | None, typer.Option("--frame", help="The frame the turn was held in, such as decision.")] = None,
    turn_id: Annotated[str | None, typer.Option("--id", help="The turn's own id: reported again under it, it counts once.")] = None,
    at: At = None,
    is_json: Json = False,
) -> None:
    """Report a turn: what the user said, and the answer.

    The first turn begins the session and opens its episode, unless another of the last 48 hours began with the same words.
    """
    from .moments import typed
    from .place import settings
    from .session import turn

    when = typed("--at", at)
    asyncio.run(
        turn(
            settings(),
            session_id,
            agent=agent,
            user=user,
            assistant=assistant,
            used=used or (),
            frame=frame,
            turn_id=turn_id,
            at=when,
            is_json=is_json,
        )
    )


@session.command("end")
def session_end(
    session_id: SessionId,
    agent: Whose,
    reflection: Annotated[str | None, typer.Option("--reflection", help="What was learned; 500 characters are kept.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="How it ended.", show_default="success")] = None,
    at: At = None,
    is_json: Json = False,
) -> None:
    """End a session: its episode is closed and summarised, or put aside when it was next to nothing.

    A session of which nothing is heard for an hour (NOUS_SESSION_SILENCE_S) is ended by the workers.
    """
    from .moments import typed
    from .place import settings
    from .session import end

    when = typed("--at", at)
    if not asyncio.run(end(settings(), session_id, agent=agent, reflection=reflection, outcome=outcome, at=when, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


@session.command("list")
def session_list(agent: Agent = None, limit: Limit = None, is_json: Json = False) -> None:
    """List sessions, the latest first."""
    from .place import settings
    from .session import list_sessions

    asyncio.run(list_sessions(settings(), agent=agent, limit=limit, is_json=is_json))


@session.command("show")
def session_show(session_id: SessionId, agent: Whose, is_json: Json = False) -> None:
    """Show a session's turns in order, word for word in JSON."""
    from .place import settings
    from .session import show

    asyncio.run(show(settings(), session_id, agent=agent, is_json=is_json))


# ── look ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@app.command(rich_help_panel=SEE)
def status(
    is_watched: Annotated[
        bool, typer.Option("--watch", help="Look again every second, until Ctrl-C; with --json a JSON object a line.")
    ] = False,
    is_json: Json = False,
) -> None:
    """How far every worker is: lag, pending, retrying, parked."""
    from .place import settings
    from .standing import status as run

    if is_watched:
        from .watch import watch

        watch(settings(), is_json=is_json)
        return
    asyncio.run(run(settings(), is_json=is_json))


@app.command(rich_help_panel=SEE)
def workers(is_json: Json = False) -> None:
    """Who listens to what, what it does, and how it can end."""
    from .table import workers_table

    workers_table(is_json=is_json)


@app.command(rich_help_panel=SEE)
def recall(
    question: Annotated[str, typer.Argument(help="The question, or the turn, as it would be said.", show_default=False)],
    agent: Annotated[str, typer.Option("--agent", help="Whose memory is asked.", show_default=False)],
    frame: Annotated[str | None, typer.Option("--frame", help="conversation, question, task, decision, creative or debug.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", metavar="TOKENS", help="Most tokens; the frame's own when absent.")] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind of memory; may be given again.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What was true then.")] = None,
    explains: Annotated[bool, typer.Option("--explain", help="Every factor, and what dropped what was found and not told.")] = False,
    is_json: Json = False,
) -> None:
    """What an agent is told of a question; nothing is counted by looking."""
    from .moments import typed
    from .place import settings
    from .recall import Wanted
    from .recall import recall as print_recalled

    wanted = Wanted(agent, question, frame, budget, kinds or None, typed("--as-of", as_of), explains)
    asyncio.run(print_recalled(settings(), wanted, is_json=is_json))


@app.command(rich_help_panel=SEE)
def facts(
    agent: Agent = None,
    with_inactive: Annotated[
        bool, typer.Option("--all", help="Those that are superseded, merged or archived too, with what became of them.")
    ] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What was true then, as far as is known.")] = None,
    known_at: Annotated[str | None, typer.Option("--known-at", metavar="TIME", help="What had been recorded by then.")] = None,
    only_pinned: Annotated[bool, typer.Option("--pinned", help="Only what is pinned, which upkeep lets be.")] = False,
    limit: Limit = None,
    is_json: Json = False,
) -> None:
    """What is remembered, agent by agent; now, or at another time.

    A TIME has its time zone, as in 2026-03-01T09:30Z; a date alone is its midnight in UTC. --as-of asks about the world, --known-at
    about this memory: both together ask what was taken to be true of one moment at another.
    """
    from .facts import Wanted, list_facts
    from .moments import typed
    from .place import settings

    wanted = Wanted(agent, with_inactive, typed("--as-of", as_of), typed("--known-at", known_at), only_pinned)
    asyncio.run(list_facts(settings(), wanted, limit=limit, is_json=is_json))


@app.command(rich_help_panel=SEE)
def episodes(
    agent: Agent = None,
    with_inactive: Annotated[bool, typer.Option("--all", help="Those that were put aside too, and why.")] = False,
    limit: Limit = None,
    is_json: Json = False,
) -> None:
    """Conversations worth remembering, the latest first."""
    from .episode import list_episodes
    from .place import settings

    asyncio.run(list_episodes(settings(), agent=agent, with_inactive=with_inactive, limit=limit, is_json=is_json))


@app.command(rich_help_panel=SEE)
def decisions(
    agent: Agent = None,
    only_noise: Annotated[bool, typer.Option("--noise", help="Only those that read like status reports, and why.")] = False,
    limit: Limit = None,
    is_json: Json = False,
) -> None:
    """What agents decided and what came of it, the latest first.

    What reads like a status report is kept and marked: recall prefers the others.
    """
    from .decisions import list_decisions
    from .place import settings

    asyncio.run(list_decisions(settings(), agent=agent, only_noise=only_noise, limit=limit, is_json=is_json))


@app.command(rich_help_panel=SEE)
def procedures(agent: Agent = None, limit: Limit = None, is_json: Json = False) -> None:
    """How agents do things, and how often that worked."""
    from .place import settings
    from .procedures import list_procedures

    asyncio.run(list_procedures(settings(), agent=agent, limit=limit, is_json=is_json))


@app.command(rich_help_panel=SEE)
def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="KIND|ID",
            help="fact, episode, decision, procedure, passage, censor or event; looked for when absent.",
            show_default=False,
        ),
    ],
    id_: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="Its id, one it was published under, the beginning of one, or as recall tells it.", show_default=False
        ),
    ] = None,
    agent: Agent = None,
    is_json: Json = False,
) -> None:
    """How a fact, an episode, a decision or anything else came to be so.

    In the order of time: each event that touched it, what it was compared with, what the guard found, what a mind was asked and answered
    and what that cost, what people decided, what followed, and where the words stand that it rests on.

    Of an event: what came, what every worker made of it, where it waits, what led to it and what followed from it.
    """
    from .explain import explain as run
    from .place import settings

    asyncio.run(run(settings(), what if id_ else None, id_ or what, agent=agent, is_json=is_json))


@app.command(rich_help_panel=SEE)
def answers(
    agent: Agent = None,
    days: Annotated[int, typer.Option("--days", min=1, max=3660, help="So many days, today among them.")] = 30,
    is_json: Json = False,
) -> None:
    """What minds were asked and what it cost: by day, worker, agent and model.

    In US dollars, at the prices that NOUS_MIND_PRICE_IN and NOUS_MIND_PRICE_OUT say. The offline mind is free.
    """
    from .answers import list_answers
    from .place import settings

    asyncio.run(list_answers(settings(), agent=agent, days=days, is_json=is_json))


@app.command(rich_help_panel=SEE)
def trial(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="JSON lines, or folders of .jsonl files, of transcripts; - is standard input.", show_default=False
        ),
    ],
    a: Annotated[str, typer.Option("--a", metavar="PROMPT", help="What is in use: positive, exclusion, or a text file.")] = "positive",
    b: Annotated[str, typer.Option("--b", metavar="PROMPT", help="What would take its place, named in the same way.")] = "exclusion",
    is_json: Json = False,
) -> None:
    """Try two prompts on the same transcripts: which is to be shipped.

    Both are put to the mind that is set; positive is the question that is in use, exclusion a list of what not to extract. A JSON object
    a line, of which all but the transcript may be absent:

    {"transcript": "User: My cat is called Mimi.", "gold": ["The user's cat is called Mimi."], "started_at": "2026-03-01T10:00Z",
    "agent_id": "a", "probes": [{"question": "What is the cat called?", "answers": ["The user's cat is called Mimi."]}]}

    Every question is asked once and paid for. The live store is neither read nor written: probes are put to a store that is made for it.

    Exit code 0: ship b. 1: do not ship, or not enough to tell. 2: a mistake in what was asked. 3: the mind is away. The rule, and what
    each figure means: docs/trials.md.
    """
    from .place import settings
    from .trial import run

    if not asyncio.run(run(settings(), files, a=a, b=b, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


upkeep = typer.Typer(no_args_is_help=True)
app.add_typer(upkeep, name="upkeep", rich_help_panel=START, help="Look after memory: what ages, was never asked for, or piles up.")


@upkeep.command("run")
def upkeep_run(
    task: Annotated[list[str] | None, typer.Option("--task", help="Only this task; any number of times.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only this agent's memory, now.")] = None,
    is_now: Annotated[bool, typer.Option("--now", help="Again, though it was begun in this period already.")] = False,
    is_dry: Annotated[
        bool, typer.Option("--dry-run", help="Look: each memory, what would be done and why, by the settings of this shell.")
    ] = False,
    is_json: Json = False,
) -> None:
    """Begin the upkeep that is due; the workers do it.

    nous up and nous work begin it by themselves (NOUS_UPKEEP_CLOCK). Each task is begun once in its period, whoever begins it; what was
    missed is caught up with by the next run.
    """
    from .place import settings
    from .upkeep import look, run

    if is_dry:
        asyncio.run(look(settings(), names=task or (), agent=agent, is_json=is_json))
    else:
        asyncio.run(run(settings(), names=task or (), agent=agent, is_now=is_now, is_json=is_json))


@upkeep.command("status")
def upkeep_status(is_json: Json = False) -> None:
    """What each task of upkeep does, and when it was begun last."""
    from .place import settings
    from .upkeep import status

    asyncio.run(status(settings(), is_json=is_json))


audit = typer.Typer(invoke_without_command=True)
app.add_typer(audit, name="audit", rich_help_panel=SEE)


@audit.callback()
def audit_store(
    context: typer.Context,
    agent: Agent = None,
    sample: Annotated[int, typer.Option("--sample", min=1, max=1_000_000, help="Facts that are compared with their nearest.")] = 2_000,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Longest that facts are compared; then fewer are.")] = 40.0,
    longest: Annotated[int, typer.Option("--longest", min=1, max=10_000, help="Steps of a chain that are still healthy.")] = 20,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", metavar="NAME[=LIMIT]", help="Only these findings decide; nothing, none does. Any number of times."),
    ] = None,
    shows_history: Annotated[bool, typer.Option("--history", help="The audits that were made instead, the latest first.")] = False,
    limit: Limit = None,
    is_json: Json = False,
) -> None:
    """How healthy the store is, without a mind: twins, links, contradictions, junk, use.

    Exits with 1 when a finding is above its limit, and says what mends it. A LIMIT is a number of things, or a share under 1; what is
    found by a sample is above it when the whole of its interval is. Nothing is changed, but for the figures that --history shows.
    """
    if context.invoked_subcommand is not None:
        return
    from .audit import Asked, history, run
    from .place import settings

    if shows_history:
        asyncio.run(history(settings(), agent=agent, limit=limit, is_json=is_json))
        return
    asked = Asked(agent=agent, sample=sample, seconds=seconds, longest=longest, fail_on=fail_on or ())
    if not asyncio.run(run(settings(), asked, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


@audit.command("merges")
def audit_merges(
    sample: Annotated[int, typer.Option("--sample", min=1, max=10_000, help="So many merges, drawn by chance.")] = 50,
    is_again: Annotated[bool, typer.Option("--again", help="Those that were judged instead, the latest first, to say otherwise.")] = False,
    agent: Agent = None,
    is_json: Json = False,
) -> None:
    """Look at facts that were merged, and say of each whether it is one: y, n, s to skip, b to go back, q to quit.

    What you say is kept, and nous calibrate --thresholds goes by it; said again, the later holds. A merge that is wrong is undone by the
    command it names. With --json the pairs are printed and nothing is asked.
    """
    from .audit_merges import run
    from .place import settings

    asyncio.run(run(settings(), sample=sample, agent=agent, is_again=is_again, is_json=is_json))


@app.command(rich_help_panel=SEE)
def calibrate(
    ranking: Annotated[
        str | None,
        typer.Option(
            "--ranking",
            metavar="FILE",
            help="JSON lines of questions and the ids of what answers them; - is standard input.",
            show_default=False,
        ),
    ] = None,
    is_thresholds: Annotated[bool, typer.Option("--thresholds", help="Fit the thresholds of the embedder instead.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", help="Only this agent's questions, for this agent's ranking.")] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option("--pairs", metavar="FILE", help="Labelled pairs beside those shipped, - is standard input; any number of times."),
    ] = None,
    without_shipped: Annotated[bool, typer.Option("--without-shipped", help="Leave the shipped pairs out.")] = False,
    languages: Annotated[
        list[str] | None, typer.Option("--language", metavar="CODE", help="Only pairs in this language, as en; any number of times.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", metavar="NAME", help="Only this threshold; any number of times.")] = None,
    applies: Annotated[
        bool, typer.Option("--apply/--dry-run", help="Keep what was fitted (a ranking only if it is better); else it is only told.")
    ] = False,
    resets: Annotated[
        bool, typer.Option("--reset", help="Undo --apply: the thresholds as shipped, or without --thresholds the ranking as before.")
    ] = False,
    is_json: Json = False,
) -> None:
    """Fit what memory goes by: ranking to questions, or thresholds to pairs.

    --ranking FILE, questions whose answers are known:

    {"agent_id": "my-agent", "question": "How does Mara take her coffee?", "relevant": ["5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10"]}

    The store is searched for each as recall does. Fitted on one half of the questions and held against the other, both ways; what is no
    better there is not kept. What is kept has its date and figures, and the latest holds.

    --thresholds, pairs known to be one thing or two: those shipped, those of --pairs, and the merges that were judged (nous audit merges):

    {"kind": "fact", "one": "Noor is vegetarian.", "other": "Noor eats no meat.", "relation": "same"}

    Kinds are fact, subject, opening and repeat; relations same, update, compatible and different. What is kept is kept under the
    embedder's name in the store, and workers, APIs and MCP servers take it when they are started again.

    --thresholds --reset lets the shipped ones hold again, or only those of --only. --reset alone lets every agent rank as shipped, and with
    --agent lets that one rank as all others do.
    """
    from nous.errors import UserMistake

    from . import calibrate as of_ranking
    from . import calibrate_reset
    from . import calibrate_thresholds as of_thresholds
    from .place import settings

    if resets:
        if applies or ranking is not None or (is_thresholds and agent is not None):
            raise UserMistake("--reset fits nothing: it goes with --thresholds and --only, or alone, or with --agent")
        undone = calibrate_reset.of_thresholds(settings(), only or (), is_json=is_json) if is_thresholds else None
        asyncio.run(undone or calibrate_reset.of_ranking(settings(), agent=agent, is_json=is_json))
        return
    if is_thresholds == (ranking is not None):
        raise UserMistake("say what to fit: --ranking FILE for the order of what is recalled, or --thresholds for what counts as one fact")
    if is_thresholds:
        asked = of_thresholds.Asked(pairs or (), without_shipped, languages or (), only or (), applies)
        done = asyncio.run(of_thresholds.run(settings(), asked, is_json=is_json))
    else:
        done = asyncio.run(of_ranking.run(settings(), ranking or "", agent=agent, applies=applies, is_json=is_json))
    if not done:
        raise typer.Exit(INCOMPLETE)


# ── replay ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

ReplayName = Annotated[str, typer.Argument(metavar="NAME", help="The replay's name.", show_default=False)]


@app.command(rich_help_panel=REPLAY)
def replay(
    streams: Annotated[list[str] | None, typer.Argument(metavar="STREAM...", help="Only root events of these streams.")] = None,
    into: Annotated[str, typer.Option("--into", metavar="NAME", help="A name for the store it makes.")] = "replay",
    agent: Agent = None,
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Only what arrived then or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only what arrived before.")] = None,
    event: Annotated[list[str] | None, typer.Option("--event", metavar="ID", help="Only these root events.")] = None,
    before: Annotated[str | None, typer.Option("--until", metavar="EVENT", help="Stop before this event of its agent.")] = None,
    order: Annotated[
        Literal["applied", "occurred", "arrived"],
        typer.Option("--order", help="As it was applied, by the events' own time, or as they arrived."),
    ] = "applied",
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Under another setting.")] = None,
    source: Annotated[
        str, typer.Option("--source", metavar="FILE", help="archive, streams (what stands in them now), or a file of nous export.")
    ] = "archive",
    asks: Annotated[bool, typer.Option("--ask", help="Ask the mind what was never asked before.")] = False,
    steps: Annotated[bool, typer.Option("--step", help="Show each decision as it is made.")] = False,
    is_json: Json = False,
) -> None:
    """Do it all again, into a fresh store beside the live one.

    Recorded events go through the real workers, with the clock of the events and the answers that minds gave. As applied, it ends in
    the same store; nous diff NAME shows what another order or another setting would have made of the same events. The live store and
    its streams are only read.

    nous replay --into stricter --set CONFIRM_SIMILARITY=0.97

    By the events' own time (--order occurred) each is settled before the next comes: what differs, arrival alone had changed. From a file
    or the streams there are no receipts to go by, so it is as they arrived.
    """
    from nous.replaying.wanted import Wanted

    from .moments import between
    from .place import settings
    from .replay import ARCHIVE, Asked, run

    has_receipts = source == ARCHIVE
    wanted = Wanted(frozenset(streams or ()), *between(since, until), frozenset(event or ()), before)
    by = "arrived" if order == "applied" and not has_receipts else order
    asked = Asked(wanted, agent, into, by, asks, steps, sets or (), source)
    if not asyncio.run(run(settings(), asked, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


@app.command(rich_help_panel=REPLAY)
def diff(name: ReplayName, agent: Agent = None, limit: Limit = None, is_json: Json = False) -> None:
    """What a replay holds otherwise than the live store, each with the receipts of both.

    Exits with 1 when anything does.
    """
    from .diff import run
    from .place import settings

    if not asyncio.run(run(settings(), name, agent=agent, limit=limit, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


replays = typer.Typer(help="List and drop the stores that replays have made.", no_args_is_help=True)
app.add_typer(replays, name="replays", rich_help_panel=REPLAY)


@replays.command("list")
def replays_list(is_json: Json = False) -> None:
    """List the replays beside the live store."""
    from .place import settings
    from .replays import list_replays

    asyncio.run(list_replays(settings(), is_json=is_json))


@replays.command("drop")
def replays_drop(name: ReplayName) -> None:
    """Drop a replay's store."""
    from .place import settings
    from .replays import drop

    asyncio.run(drop(settings(), name))


@app.command(rich_help_panel=REPLAY)
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; - is standard output.", show_default=False)],
    agent: Agent = None,
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Only what arrived then or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only what arrived before.")] = None,
    is_json: Json = False,
) -> None:
    """Write the archive as JSON lines, every event raw as it came.

    Agent by agent, in the order of arrival.
    """
    from .export import run
    from .moments import between
    from .place import settings

    first, end = between(since, until)
    asyncio.run(run(settings(), file, agent=agent, since=first, until=end, is_json=is_json))


@app.command("import", rich_help_panel=REPLAY)
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of nous export; - is standard input.", show_default=False)],
    publishes: Annotated[bool, typer.Option("--publish", help="Send the root events to their streams too.")] = False,
    is_json: Json = False,
) -> None:
    """Keep the events of an export in this archive; what is there already stays as it is.

    A file with a line that is no event of an export is not taken at all. With --publish, running workers make memory of the events: each
    has one effect, however often it is sent.
    """
    from .importing import run
    from .place import settings

    asyncio.run(run(settings(), file, publishes=publishes, is_json=is_json))


# ── decide ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

Because = Annotated[str, typer.Option("--because", "--reason", help="Why; it is kept.", show_default=False)]
BecauseAlone = Annotated[str, typer.Option("--because", help="Why; it is kept.", show_default=False)]
FactId = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, one it was published under, the beginning of one, or as recall tells it: f-5b0f0d3e.")
]

fact = typer.Typer(help="Merge, split, retire, restore: what two facts are to each other. Pin one, or forget it.", no_args_is_help=True)
app.add_typer(fact, name="fact", rich_help_panel=DECIDE)


@fact.command("restore")
def fact_restore(id_: FactId, reason: Because, agent: Agent = None, is_json: Json = False) -> None:
    """Let a retired fact be true again, or undo what upkeep did to one.

    One that another fact retired is then true beside it, and no mind is asked about the two again. Another fact may retire it; that is
    decided in the same way. One that upkeep demoted counts in full, and one that it archived is active again.
    """
    from .fact_decision import restore
    from .place import settings

    asyncio.run(restore(settings(), id_, reason=reason, agent=agent, is_json=is_json))


@fact.command("split")
def fact_split(id_: FactId, reason: Because, agent: Agent = None, is_json: Json = False) -> None:
    """Make a wording that became part of a fact a fact of its own.

    ID is the id the wording was published under. No mind is asked about the two again.
    """
    from .fact_decision import split
    from .place import settings

    asyncio.run(split(settings(), id_, reason=reason, agent=agent, is_json=is_json))


OtherId = Annotated[str, typer.Argument(metavar="OTHER", help="The id of the other one, or the beginning of it.", show_default=False)]
InsteadId = Annotated[
    str, typer.Option("--for", metavar="OTHER", help="The fact that is true instead: its id, or the beginning of it.", show_default=False)
]


@fact.command("merge")
def fact_merge(id_: FactId, other: OtherId, reason: Because, agent: Agent = None, is_json: Json = False) -> None:
    """Make one fact of two that say the same.

    The older stays, with every wording of both and everything that was said of them. No mind is asked about the two again. Undone by
    nous fact split.
    """
    from .fact_mending import merge
    from .place import settings

    asyncio.run(merge(settings(), id_, other, reason=reason, agent=agent, is_json=is_json))


@fact.command("retire")
def fact_retire(id_: FactId, by: InsteadId, reason: Because, agent: Agent = None, is_json: Json = False) -> None:
    """Say that a fact is no longer true since another one was claimed.

    It stays, with the time in which it was true: until OTHER was first claimed after it. One that was claimed before ID ends nothing: then
    say it again first. No mind is asked about the two again. Undone by nous fact restore.
    """
    from .fact_mending import retire
    from .place import settings

    asyncio.run(retire(settings(), id_, by=by, reason=reason, agent=agent, is_json=is_json))


MayBecause = Annotated[str, typer.Option("--because", "--reason", help="Why, if it is to be kept.")]


@fact.command("pin")
def fact_pin(id_: FactId, reason: MayBecause = "", agent: Agent = None, is_json: Json = False) -> None:
    """Keep a fact from upkeep: it is neither demoted nor archived.

    However old it is, and though nobody asks for it. A later claim still retires it. nous facts --pinned lists what is pinned.
    """
    from .fact_upkeep import pin
    from .place import settings

    asyncio.run(pin(settings(), id_, is_pinned=True, reason=reason, agent=agent, is_json=is_json))


@fact.command("unpin")
def fact_unpin(id_: FactId, reason: MayBecause = "", agent: Agent = None, is_json: Json = False) -> None:
    """Let upkeep look after a fact again that was pinned."""
    from .fact_upkeep import pin
    from .place import settings

    asyncio.run(pin(settings(), id_, is_pinned=False, reason=reason, agent=agent, is_json=is_json))


IsDry = Annotated[bool, typer.Option("--dry-run", help="Only say what would be forgotten.")]
IsSure = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
ReasonKept = Annotated[
    str, typer.Option("--because", "--reason", help="Why, without the words themselves; it is kept.", show_default=False)
]


@fact.command("forget")
def fact_forget(
    id_: FactId, reason: ReasonKept, is_dry: IsDry = False, is_sure: IsSure = False, agent: Agent = None, is_json: Json = False
) -> None:
    """Erase a fact, with what it comes from and what comes from it.

    Its mentions and events, its words in episodes, and facts that rest on the same words there; in Postgres, Redis and replay stores. Then
    its words are looked for everywhere. Exits with 1 when something is left; run again, it does what is left.
    """
    from .forget import forget
    from .place import settings

    if not asyncio.run(forget(settings(), id_, reason=reason, agent=agent, is_dry=is_dry, is_sure=is_sure, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


@fact.command("recheck")
def fact_recheck(agent: Agent = None, is_json: Json = False) -> None:
    """Ask the mind that is set now about what no mind could tell.

    For a store that ran offline and has a model now. What it costs is in nous answers, and what is over the budget waits.
    """
    from .fact_recheck import recheck
    from .place import settings

    asyncio.run(recheck(settings(), agent=agent, is_json=is_json))


agents = typer.Typer(help="Forget an agent, whole.", no_args_is_help=True)
app.add_typer(agents, name="agent", rich_help_panel=DECIDE)


@agents.command("forget")
def agent_forget(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Its name.", show_default=False)],
    reason: ReasonKept,
    is_dry: IsDry = False,
    is_sure: IsSure = False,
    is_json: Json = False,
) -> None:
    """Erase everything of an agent: memory, conversations, events, receipts.

    What was published before and arrives later is refused; what the agent says afterwards is a new memory. What it cost stays in the
    totals.
    """
    from .forget_agent import forget
    from .place import settings

    if not asyncio.run(forget(settings(), agent, reason=reason, is_dry=is_dry, is_sure=is_sure, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


EpisodeId = Annotated[str, typer.Argument(metavar="ID", help="Its id, the beginning of it, or as recall tells it.", show_default=False)]

episode = typer.Typer(
    help="Show an episode, restore one put aside as noise, have an old one whole again, read what no mind has read.", no_args_is_help=True
)
app.add_typer(episode, name="episode", rich_help_panel=DECIDE)


@episode.command("show")
def episode_show(id_: EpisodeId, agent: Agent = None, is_json: Json = False) -> None:
    """Show an episode: its summary, how it ended, and what was said."""
    from .episode import show
    from .place import settings

    asyncio.run(show(settings(), id_, agent=agent, is_json=is_json))


@episode.command("resummarize")
def episode_resummarize(agent: Agent = None, is_json: Json = False) -> None:
    """Let the mind in use now read the episodes that were summarised without one, and learn from them."""
    from .episode_resummarize import resummarize
    from .place import settings

    asyncio.run(resummarize(settings(), agent=agent, is_json=is_json))


@episode.command("restore")
def episode_restore(id_: EpisodeId, reason: Because, agent: Agent = None, is_json: Json = False) -> None:
    """Make an episode active again that was put aside as noise.

    If its session has ended it is closed as that was, and summarised.
    """
    from .episode import restore
    from .place import settings

    asyncio.run(restore(settings(), id_, reason=reason, agent=agent, is_json=is_json))


@episode.command("thaw")
def episode_thaw(
    id_: EpisodeId,
    reason: Because,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Until when it does not age again.", show_default="for 30 days")
    ] = None,
    agent: Agent = None,
    is_json: Json = False,
) -> None:
    """Have all that was said in an old episode at hand again.

    Of an episode 30 days old only the first and last parts are at hand, of one 90 days old nothing; the whole is put away for a year
    (NOUS_EPISODE_TRIM_DAYS, NOUS_EPISODE_ARCHIVE_DAYS, NOUS_TRANSCRIPT_COLD_DAYS). With --until it stays whole, aged or not.
    """
    from .episode import thaw
    from .place import settings

    asyncio.run(thaw(settings(), id_, reason=reason, until=until, agent=agent, is_json=is_json))


ProcedureId = Annotated[str, typer.Argument(metavar="ID", help="Its id, the beginning of it, or as recall tells it.", show_default=False)]

procedure = typer.Typer(help="Put the notes of a procedure back as they were before they were put together.", no_args_is_help=True)
app.add_typer(procedure, name="procedure", rich_help_panel=DECIDE)


@procedure.command("restore")
def procedure_restore(id_: ProcedureId, reason: Because, agent: Agent = None, is_json: Json = False) -> None:
    """Undo the last time the notes of a procedure were put together.

    Its notes are as they were, with those heard since behind them; patterns that were promoted then are notes again. The old notes stand in
    nous explain procedure ID.
    """
    from .place import settings
    from .procedure import restore

    asyncio.run(restore(settings(), id_, reason=reason, agent=agent, is_json=is_json))


DeadId = Annotated[str, typer.Argument(metavar="ID", help="As the list shows it, or the beginning of it, or the event's id.")]
DeadIds = Annotated[list[str] | None, typer.Argument(metavar="ID...", help="As the list shows them, or event ids.", show_default=False)]
OfWorker = Annotated[str | None, typer.Option("--worker", help="Only what this worker parked.")]
OnStream = Annotated[str | None, typer.Option("--stream", help="Only what came on this stream.")]
OfReason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Only what has this in its reason.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only what was parked then or later.")]
All = Annotated[bool, typer.Option("--all", help="All that fits the other options.")]

dead = typer.Typer(help="What no worker could work: see why, have it worked again, or drop it.", no_args_is_help=True)
app.add_typer(dead, name="dead", rich_help_panel=DECIDE)


@dead.command("list")
def dead_list(
    worker: OfWorker = None,
    stream: OnStream = None,
    agent: Agent = None,
    reason: OfReason = None,
    since: Since = None,
    only_counts: Annotated[bool, typer.Option("--counts", help="Only how many, by worker and reason.")] = False,
    dropped: Annotated[bool, typer.Option("--dropped", help="What was dropped instead.")] = False,
    limit: Limit = None,
    is_json: Json = False,
) -> None:
    """List what is parked, the latest first, and count it by reason.

    Reasons that differ only in the values they name are counted as one.
    """
    from .dead import wanted
    from .dead_listing import print_counts, print_list
    from .place import settings

    which = wanted(worker, stream, agent, reason, since)
    if only_counts:
        asyncio.run(print_counts(settings(), which, is_json=is_json))
    else:
        asyncio.run(print_list(settings(), which, dropped=dropped, limit=limit, is_json=is_json))


@dead.command("show")
def dead_show(id_: DeadId, worker: OfWorker = None, agent: Agent = None, is_json: Json = False) -> None:
    """Show one whole: why, how often, its body as it came, and what to do.

    Also one that was dropped or settled since; found soonest by its event id and --agent.
    """
    from .dead import wanted
    from .dead_show import show
    from .place import settings

    asyncio.run(show(settings(), id_, wanted(worker, agent=agent), is_json=is_json))


@dead.command("retry")
def dead_retry(
    ids: DeadIds = None,
    is_all: All = False,
    worker: OfWorker = None,
    stream: OnStream = None,
    agent: Agent = None,
    reason: OfReason = None,
    since: Since = None,
    is_json: Json = False,
) -> None:
    """Have it worked again, once the cause is mended.

    By the worker that parked it and no other, under the same event id, its attempts counted anew. What happened before is kept. What
    was dropped can be retried by its id too. Exits with 1 if the body of one is nowhere to be found.
    """
    from .dead import retry, wanted
    from .place import settings

    which = wanted(worker, stream, agent, reason, since)
    if not asyncio.run(retry(settings(), ids or (), which, is_all=is_all, is_json=is_json)):
        raise typer.Exit(INCOMPLETE)


@dead.command("drop")
def dead_drop(
    because: BecauseAlone,
    ids: DeadIds = None,
    is_all: All = False,
    worker: OfWorker = None,
    stream: OnStream = None,
    agent: Agent = None,
    reason: OfReason = None,
    since: Since = None,
    is_sure: IsSure = False,
    is_json: Json = False,
) -> None:
    """Decide that it is not wanted: it is settled, and never worked.

    What was said stays in the archive. Undone by nous dead retry ID. --all without another filter asks first.
    """
    from .dead import drop, wanted
    from .place import settings

    which = wanted(worker, stream, agent, reason, since)
    asyncio.run(drop(settings(), ids or (), which, is_all=is_all, because=because, is_sure=is_sure, is_json=is_json))


Stream = Annotated[str, typer.Argument(metavar="STREAM", help="Its stream, such as fact_learned.", show_default=False)]

group = typer.Typer(help="Consumer groups: which holds its stream back, and dropping one whose reader is gone.", no_args_is_help=True)
app.add_typer(group, name="group", rich_help_panel=DECIDE)


@group.command("list")
def group_list(is_json: Json = False) -> None:
    """List every group of every stream, those that keep it from being trimmed first.

    A stream is trimmed up to what every group has passed. "Holds back" counts what all others have passed.
    """
    from .group import list_groups
    from .place import settings

    asyncio.run(list_groups(settings(), is_json=is_json))


@group.command("drop")
def group_drop(
    stream: Stream,
    name: Annotated[str, typer.Argument(metavar="GROUP", help="As the list shows it.", show_default=False)],
    is_forced: Annotated[bool, typer.Option("--force", help="Also a worker's, or one that was heard of lately.")] = False,
    is_json: Json = False,
) -> None:
    """Remove a group whose reader is gone for good, so that its stream is trimmed again.

    What it had not read or acknowledged stays in the archive.
    """
    from .group import drop
    from .place import settings

    asyncio.run(drop(settings(), stream, name, is_forced=is_forced, is_json=is_json))


censor = typer.Typer(help="Add, list and relax the warnings an agent trips.", no_args_is_help=True)
app.add_typer(censor, name="censor", rich_help_panel=DECIDE)


@censor.command("add")
def censor_add(
    agent: Annotated[str, typer.Option("--agent", help="Whose it is.", show_default=False)],
    pattern: Annotated[str, typer.Option("--pattern", help="What it watches for.", show_default=False)],
    reason: Annotated[str, typer.Option("--reason", "--because", help="Why it is there.", show_default=False)],
    severity: Annotated[Literal["warn", "block", "absolute"], typer.Option("--severity", help="What it does.")] = "warn",
    threshold: Annotated[
        int | None, typer.Option("--threshold", min=1, help="A warning that fired so often becomes a block.", show_default="5")
    ] = None,
    id_: Annotated[UUID | None, typer.Option("--id", help="Its id; a new one when absent.")] = None,
    is_json: Json = False,
) -> None:
    """Add a censor."""
    from .censor import add
    from .place import settings

    asyncio.run(
        add(settings(), agent=agent, pattern=pattern, reason=reason, severity=severity, threshold=threshold, censor=id_, is_json=is_json)
    )


@censor.command("list")
def censor_list(agent: Agent = None, is_json: Json = False) -> None:
    """List censors with their counts."""
    from .censor import list_censors
    from .place import settings

    asyncio.run(list_censors(settings(), agent=agent, is_json=is_json))


@censor.command("relax")
def censor_relax(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Its id, or the beginning of it.")],
    reason: Annotated[str, typer.Option("--reason", "--because", help="Why; it is kept.", show_default=False)],
    agent: Agent = None,
    is_json: Json = False,
) -> None:
    """Turn a block back into a warning, whose count starts anew."""
    from .censor import relax
    from .place import settings

    asyncio.run(relax(settings(), censor=id_, reason=reason, agent=agent, is_json=is_json))


token = typer.Typer(help="Make, list and revoke what agents show to speak over HTTP.", no_args_is_help=True)
app.add_typer(token, name="token", rich_help_panel=DECIDE)


@token.command("new")
def token_new(
    agent: Annotated[str, typer.Option("--agent", help="For whom its holder speaks.", show_default=False)],
    name: Annotated[str, typer.Option("--name", help="Where it is used, for the list.")] = "",
    days: Annotated[float | None, typer.Option("--days", min=0.01, help="After so many it is good no more.", show_default="never")] = None,
    is_json: Json = False,
) -> None:
    """Make a token for an agent and print it, this once: only a hash of it is kept."""
    from .place import settings
    from .token import new

    asyncio.run(new(settings(), agent=agent, name=name, days=days, is_json=is_json))


@token.command("list")
def token_list(agent: Agent = None, is_json: Json = False) -> None:
    """List tokens, the revoked ones too."""
    from .place import settings
    from .token import list_tokens

    asyncio.run(list_tokens(settings(), agent=agent, is_json=is_json))


@token.command("revoke")
def token_revoke(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Its id as the list shows it, or the beginning of it.")],
    agent: Agent = None,
    is_json: Json = False,
) -> None:
    """End a token: what is asked with it is refused from now on."""
    from .place import settings
    from .token import revoke

    asyncio.run(revoke(settings(), id_, agent=agent, is_json=is_json))


wrap_at_the_terminal(app)
