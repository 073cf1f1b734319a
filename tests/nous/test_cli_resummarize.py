"""`nous episode resummarize`: what no mind has read is published to be read, each episode once, and nothing else."""

from store import episodes
from store.database import Database
from tests.factories import an_episode
from tests.nous.conftest import Nous

CLAUDE = {"NOUS_MIND": "claude", "ANTHROPIC_API_KEY": "sk-ant-none"}
SETTLED = {"summary": "S.", "written_by": "extract", "settled_by": "event", "detail": "User: hi"}


async def test_every_episode_that_no_mind_has_read_is_published_and_no_other(nous: Nous, database: Database) -> None:
    due = [an_episode(agent_id=agent, **SETTLED) for agent in ("a", "b")]
    others = [
        an_episode(agent_id="a", **SETTLED, model="a-model"),
        an_episode(agent_id="a", **SETTLED, active=False, put_aside="short"),
        an_episode(agent_id="a", **SETTLED | {"detail": None}),
        an_episode(agent_id="a"),
    ]
    async with database.write(["a", "b"]) as db:
        for one in (*due, *others):
            await episodes.put(db, one)
    told = await nous.json("episode", "resummarize", **CLAUDE)
    assert told["episodes"] == [{"agent_id": one.agent_id, "episode_id": str(one.episode_id)} for one in due]
    shown = await nous("episode", "resummarize", "--agent", "b", **CLAUDE)
    assert shown.stdout.startswith("1 episode will be summarised again, by claude-")
    async with database.write(["c"]) as db:
        await episodes.put(db, an_episode(agent_id="c", **SETTLED, model="a-model"))
    shown = await nous("episode", "resummarize", "--agent", "c", **CLAUDE)
    assert shown.stdout.startswith("nothing to summarise again")
    refused = await nous("episode", "resummarize", "--agent", "nobody", **CLAUDE)
    assert (refused.exit_code, "Nothing is kept of agent 'nobody'" in refused.output) == (2, True)


async def test_without_a_mind_it_says_what_to_set(nous: Nous) -> None:
    shown = await nous("episode", "resummarize", NOUS_MIND="offline")
    assert shown.exit_code == 2
    assert "set ANTHROPIC_API_KEY here and where the workers run, and NOUS_MIND=claude if NOUS_MIND is set" in " ".join(
        shown.output.split()
    )
