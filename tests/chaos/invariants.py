"""What holds of every store at rest, whoever wrote it: each is a query for what breaks it."""

from typing import Any

from .eyes import Eyes

FACT = "(agent_id, fact_id)"
BREACHES = {
    "no twins": "SELECT agent_id, min(content) FROM heart.facts WHERE active GROUP BY agent_id, text_key HAVING count(*) > 1",
    "no fact without its vector": f"""
        SELECT f.agent_id, f.fact_id FROM heart.facts f LEFT JOIN {{vectors}} v USING {FACT} WHERE v.fact_id IS NULL""",
    "no vector without its fact": f"""
        SELECT v.agent_id, v.fact_id FROM {{vectors}} v LEFT JOIN heart.facts f USING {FACT} WHERE f.fact_id IS NULL""",
    "a vector is as current as its fact": f"""
        SELECT v.agent_id, v.fact_id FROM {{vectors}} v JOIN heart.facts f USING {FACT}
        LEFT JOIN heart.facts w ON w.agent_id = f.agent_id AND w.fact_id = f.merged_into WHERE v.current <> coalesce(w.active, f.active)""",
    "no mention without its fact": f"""
        SELECT m.agent_id, m.event_id FROM heart.fact_mentions m LEFT JOIN heart.facts f USING {FACT} WHERE f.fact_id IS NULL""",
    "no fact without a mention": f"""
        SELECT f.agent_id, f.fact_id FROM heart.facts f LEFT JOIN heart.fact_mentions m USING {FACT} WHERE m.fact_id IS NULL""",
    "active, or retired by a fact that is there": """
        SELECT f.agent_id, f.fact_id FROM heart.facts f LEFT JOIN heart.facts s ON s.agent_id = f.agent_id
        AND s.fact_id = coalesce(f.superseded_by, f.merged_into) WHERE f.active = (s.fact_id IS NOT NULL)""",
    "merged into a fact that stands for itself": """
        SELECT f.agent_id, f.fact_id FROM heart.facts f JOIN heart.facts s ON s.agent_id = f.agent_id
        AND s.fact_id = f.merged_into WHERE s.merged_into IS NOT NULL""",
    "every claim counts once": f"""
        SELECT f.agent_id, f.fact_id FROM heart.facts f WHERE f.merged_into IS NULL AND f.confirmation_count + 1 <> (
        SELECT count(*) FROM heart.fact_mentions m JOIN heart.facts p USING {FACT}
        WHERE m.agent_id = f.agent_id AND f.fact_id IN (p.fact_id, p.merged_into))""",
    "one open version of every fact, and it says what the fact says": """
        SELECT f.agent_id, f.fact_id FROM heart.facts f LEFT JOIN heart.fact_versions v ON v.agent_id = f.agent_id
        AND v.fact_id = f.fact_id AND v.recorded_to IS NULL AND v.active = f.active AND v.content = f.content WHERE v.fact_id IS NULL""",
}


async def breaches(eyes: Eyes) -> dict[str, list[Any]]:
    """What breaks each of them; nothing, where it holds."""
    vectors = await eyes.value("SELECT table_name FROM heart.embedders WHERE active")
    return {promise: [tuple(row.values()) for row in await eyes.rows(query.format(vectors=vectors))] for promise, query in BREACHES.items()}
