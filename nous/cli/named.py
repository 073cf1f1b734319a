"""The agent that a person names with --agent."""

from pydantic import TypeAdapter, ValidationError

from events.base import AgentId
from nous.errors import UserMistake

_AGENT: TypeAdapter[str] = TypeAdapter(AgentId)


def valid(agent: str) -> str:
    """It. Raises UserMistake when no agent can be called so."""
    try:
        return _AGENT.validate_python(agent)
    except ValidationError:
        raise UserMistake(
            f"--agent {agent[:80]!r} does not do; an agent has 1 to 128 characters, none of them a control character"
        ) from None
