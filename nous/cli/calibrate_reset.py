"""`nous calibrate --reset`: what was kept by --apply holds no more, and what it stood over holds again.

    --thresholds --reset   a row more of heart.thresholds, without those that were kept (or without those of --only) ─▶ as shipped
    --reset                a row more of bus.weights, with none ─▶ an agent ranks as every other does, and all do as shipped

The rows before stay, to be looked at; what is set in the environment goes before either, as it did.
"""

from collections.abc import Mapping, Sequence

import providers
from nous import clock
from nous.errors import UserMistake
from nous.settings import Settings
from store import thresholds, weights
from store.thresholds import FittedThresholds
from store.weights import EVERYBODY, FittedWeights

from . import calibrate_thresholds, named, place, screen, unheard


async def of_thresholds(settings: Settings, only: Sequence[str], *, is_json: bool) -> None:
    """Let the thresholds of the embedder in use be as shipped again, all or `only` these.

    Raises UserMistake when none was kept, and when none is shipped.
    """
    calibrate_thresholds.require_known(only)
    name = providers.unfitted(settings).name
    async with place.database(settings) as database:
        async with database.read(()) as db:
            kept = (await thresholds.latest(db)).get(name)
        shipped = await calibrate_thresholds.in_force(settings.model_copy(update=dict.fromkeys(thresholds.NAMES)), None)
        left = _left(kept.values if kept else {}, only, shipped)
        gone = {one: value for one, value in (kept.values if kept else {}).items() if one not in left}
        if kept is None or not gone:
            raise UserMistake(f"nothing is kept of {screen.listed(only) if only else 'the thresholds'} for {name}: what is shipped holds")
        if lost := [one for one in ("confirm_similarity", "check_similarity") if one in gone and shipped[one] is None]:
            raise UserMistake(f"{name} is shipped without {screen.listed(lost)}, and nothing starts without; fit or set others instead")
        async with database.switching() as db:
            await thresholds.put(db, FittedThresholds(name, left, clock.now(), {one: kept.figures.get(one) for one in left}))
    if is_json:
        screen.emit({"embedder": name, "reset": {one: {"was": value, "is": shipped[one]} for one, value in gone.items()}, "kept": left})
        return
    for one, value in gone.items():
        back = shipped[one]
        print(f"{screen.spoken(one)}: {value:g} was kept, {'what is shipped' if back is None else f'{back:g}, as shipped,'} holds again")
    calibrate_thresholds.tell_when_taken(f"so it is for {name}")


def _left(kept: Mapping[str, float], only: Sequence[str], shipped: Mapping[str, float | None]) -> dict[str, float]:
    """What stays kept. Twins are never looked for above what is confirmed: where what stays would be so, neither does."""
    left = {name: value for name, value in kept.items() if only and name not in only}
    confirm, check = ({**shipped, **left}[name] for name in ("confirm_similarity", "check_similarity"))
    if confirm is not None and check is not None and check > confirm:
        return {name: value for name, value in left.items() if name not in ("confirm_similarity", "check_similarity")}
    return left


async def of_ranking(settings: Settings, *, agent: str | None, is_json: bool) -> None:
    """Let an agent rank as all others do, or all as shipped. Raises UserMistake when nothing was kept."""
    whose = EVERYBODY if agent is None else named.valid(agent)
    async with place.database(settings) as database:
        async with database.overview() as db:
            await unheard.refuse(db, agent)
        async with database.read([whose]) as db:
            kept = await weights.of(db, whose)
        if kept is None or kept.agent_id != whose:
            raise UserMistake(f"no ranking was kept for {'every agent' if agent is None else f'agent {agent!r}'}, so there is none to undo")
        async with database.write([whose]) as db:
            await weights.put(db, FittedWeights(whose, {}, {}, 0, clock.now()))
    if is_json:
        screen.emit({"agent": agent, "was": kept.weights})
        return
    who, how = (screen.shown(agent), "as every agent without weights of its own does") if agent else ("every agent", "as shipped")
    print(f"{who} ranks {how}, from now on; what was fitted on {kept.fitted_at:%Y-%m-%d} holds no more")
