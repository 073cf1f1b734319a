"""`nous fact recheck`: what no mind could tell is asked about again, of the mind that is set now.

every active fact with an unsure pair that this mind was not asked about ─▶ fact_unsettled (asked_again) ─▶ supersession_rechecker
"""

from collections.abc import Sequence

import providers
from events import FactUnsettled
from nous import clock, ids
from nous.settings import Settings
from providers.offline import OfflineMind
from store import answers
from store.facts import Key

from . import decision, place, screen, unheard

AT_ONCE = 500


async def recheck(settings: Settings, *, agent: str | None, is_json: bool) -> None:
    """Let every fact be checked again that no mind could tell about and the one in use was not asked about. Raises UserMistake."""
    mind = providers.mind(settings)
    model = mind.model("relation")
    await mind.close()
    async with place.database(settings) as database:
        async with database.overview() as db:
            await unheard.refuse(db, agent)
            keys = await answers.unsure(db, model=model, agent=agent)
        for start in range(0, len(keys), AT_ONCE):
            await decision.send(settings, database, await decision.commit(database, _unsettled(keys[start : start + AT_ONCE])))
    if is_json:
        screen.emit({"model": model, "facts": [{"agent_id": whose, "fact_id": fact} for whose, fact in keys]})
    elif keys:
        print(f"{screen.plural(len(keys), 'fact')} will be checked again, by {model} if the workers run with the settings that hold here")
    elif OfflineMind.is_named(model):
        again = f"with ANTHROPIC_API_KEY set, {place.command()} fact recheck has Claude judge those it could not tell about"
        print(f"nothing to check again: the offline mind, which judges by rule, has judged all of them already; {again}")
    else:
        print(f"nothing to check again: there is no pair that no mind could tell about and {model} was not asked")


def _unsettled(keys: Sequence[Key]) -> list[FactUnsettled]:
    now = clock.now()
    return [
        FactUnsettled(event_id=str(ids.new()), agent_id=agent, occurred_at=now, fact_id=fact, why="asked_again") for agent, fact in keys
    ]
