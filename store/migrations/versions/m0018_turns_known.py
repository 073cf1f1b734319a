"""Turns that are recognised though their words are not at hand, and transcripts that were let go of.

heart.turns_known          ids and times of turns whose words are put away, let go of or forgotten, with a digest of the words
heart.episodes.let_go_at   since when its whole transcript is kept nowhere; NULL while it is, and for one that was never put away

Turns that had aged before become known too, as far as they are put away; of one in which a mark stands for forgotten words, at hand or
put away, the id alone.
"""

import json
import zlib
from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import text

from store import keys

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

KNOWN = "heart.turns_known"
OURS = ("heart.episodes", "heart.sessions", "heart.turns", "heart.transcripts_cold", "bus.receipts", KNOWN)
MARK = "[forgotten]"
ROWS_AT_ONCE = 50


def upgrade() -> None:
    """Apply."""
    op.execute(
        f"""
CREATE TABLE {KNOWN} (
    agent_id    text NOT NULL,
    session_key uuid NOT NULL,
    turn_id     text NOT NULL,
    speaker     text NOT NULL,
    said_at     timestamptz NOT NULL,
    digest      bytea,
    CONSTRAINT pk_turns_known PRIMARY KEY (agent_id, session_key, turn_id, speaker),
    CONSTRAINT fk_turns_known_session FOREIGN KEY (agent_id, session_key)
        REFERENCES heart.sessions (agent_id, session_key) ON DELETE CASCADE
)"""
    )
    op.execute(f"ALTER TABLE {KNOWN} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {KNOWN} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY admitted ON {KNOWN} TO nous_worker"
        " USING (agent_id = ANY ((SELECT heart.admitted())::text[]))"
        " WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))"
    )
    op.execute(f"CREATE POLICY overview ON {KNOWN} FOR SELECT TO nous_operator USING (true)")
    op.execute(f"GRANT SELECT ON {KNOWN} TO nous_operator")
    op.execute(f"GRANT SELECT, INSERT, UPDATE ON {KNOWN} TO nous_worker")
    for statement in keys.erasable(KNOWN):
        op.execute(statement)
    op.execute("ALTER TABLE heart.episodes ADD COLUMN let_go_at timestamptz")
    for table in OURS:  # an owner that is forced finds no row
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        "UPDATE heart.episodes e SET let_go_at = r.occurred_at FROM bus.receipts r WHERE r.agent_id = e.agent_id"
        " AND r.about = e.episode_id AND r.worker = 'transcript_remover' AND r.outcome = 'let_go' AND e.aged IS NOT NULL"
    )
    op.execute(
        f"INSERT INTO {KNOWN} SELECT agent_id, session_key, turn_id, speaker, said_at, NULL FROM heart.turns"
        f" WHERE turn_id IS NOT NULL AND position('{MARK}' IN content) > 0"
    )
    for rows in _put_away():
        op.get_bind().execute(_KNOW, {"rows": json.dumps(rows)})
    for table in OURS:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


_KNOW = text(
    f"INSERT INTO {KNOWN} SELECT q.* FROM json_populate_recordset(CAST(NULL AS {KNOWN}), CAST(:rows AS json)) q"
    " JOIN heart.sessions s ON s.agent_id = q.agent_id AND s.session_key = q.session_key ON CONFLICT DO NOTHING"
)
_PAGE = text(
    "SELECT agent_id, episode_id, packed FROM heart.transcripts_cold WHERE (agent_id, episode_id) > (:agent, CAST(:episode AS uuid))"
    f" ORDER BY agent_id, episode_id LIMIT {ROWS_AT_ONCE}"
)


def _put_away() -> Iterator[list[dict[str, Any]]]:
    """The known turns of what is put away, a page at a time."""
    agent, episode = "", "00000000-0000-0000-0000-000000000000"
    while page := list(op.get_bind().execute(_PAGE, {"agent": agent, "episode": episode})):
        yield [one for row in page for one in _turns(row.agent_id, row.packed)]
        agent, episode = page[-1].agent_id, str(page[-1].episode_id)


def _turns(agent: str, packed: bytes) -> list[dict[str, Any]]:
    """What is to be known of each turn of a transcript; nothing of one that is in no shape to be read."""
    try:
        turns = json.loads(zlib.decompress(packed))["turns"]
    except (zlib.error, ValueError):
        return []
    rows = []
    for session_key, _, speaker, content, said_at, turn_id, _ in turns:
        digest = None if MARK in content else keys.turn_digest(session_key, turn_id or "", speaker, content)
        told = {"agent_id": agent, "session_key": session_key, "turn_id": turn_id, "speaker": speaker, "said_at": said_at}
        rows += [{**told, "digest": digest and f"\\x{digest.hex()}"}] if turn_id is not None else []
    return rows


def downgrade() -> None:
    """Undo."""
    op.execute("ALTER TABLE heart.episodes DROP COLUMN let_go_at")
    op.execute(f"DROP TABLE {KNOWN}")
