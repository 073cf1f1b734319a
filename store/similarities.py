"""Similarities: how near the nearest fact was at the deduplicator, and what became of the claim, from the latest receipts.

Receipts have no index by time, so the end of their table is read instead of all of it: they are written there in order, but for those
that take the place of others.
"""

from dataclasses import dataclass

from sqlalchemy import text

from .database import Read

BLOCKS_READ = 6_000  # of 8 KiB: about 40,000 receipts


@dataclass(frozen=True)
class Step:
    """How many claims had their nearest fact at `similarity` up to the next step, of one outcome, under these thresholds.

    `apart` of them were kept apart by the guard although they were alike.
    """

    outcome: str
    similarity: float
    confirm_similarity: float
    check_similarity: float
    embedder: str
    claims: int
    apart: int


async def latest(db: Read, *, agent: str | None, width: float, limit: int) -> list[Step]:
    """The latest `limit` claims that were compared with anything, in steps `width` wide; those under 0 as 0. Needs an overview."""
    blocks = (await db.execute(text("SELECT pg_relation_size('bus.receipts') / current_setting('block_size')::int"))).scalar_one()
    rows = await db.execute(
        text(
            "WITH read AS (SELECT outcome, evidence, recorded_at FROM bus.receipts WHERE ctid >= CAST(:first AS tid)"
            "  AND worker = 'deduplicator' AND (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            "  AND jsonb_array_length(coalesce(evidence -> 'candidates', '[]')) > 0 ORDER BY recorded_at DESC LIMIT :limit),"
            " best AS (SELECT outcome, evidence, n.similarity FROM read CROSS JOIN LATERAL"
            "  (SELECT CAST(c ->> 'similarity' AS float) AS similarity"
            "   FROM jsonb_array_elements(evidence -> 'candidates') c ORDER BY 1 DESC LIMIT 1) n)"
            " SELECT outcome, floor(least(greatest(similarity, 0), 0.9999) / :width + 1e-9) * :width AS similarity,"
            " CAST(evidence ->> 'confirm_similarity' AS float) AS confirm_similarity,"
            " CAST(evidence ->> 'check_similarity' AS float) AS check_similarity, evidence ->> 'embedder' AS embedder, count(*) AS claims,"
            " count(*) FILTER (WHERE outcome = 'stored' AND similarity >= CAST(evidence ->> 'confirm_similarity' AS float)) AS apart"
            " FROM best GROUP BY 1, 2, 3, 4, 5 ORDER BY 2, 1"
        ),
        {"first": (max(blocks - BLOCKS_READ, 0), 0), "agent": agent, "width": width, "limit": limit},
    )
    return [Step(**row._mapping) for row in rows]
