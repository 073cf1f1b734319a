"""Every setting, its unit and its default, read from the environment (`NOUS_...`).

Names end in their unit where they have one. Commands that share a `NOUS_HOME` find the embedded stack that runs there, so
`database_url` and `redis_url` are only needed for a stack of one's own.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

EmbedderName = Literal["use-multilingual-v3", "minilm-l6-v2", "openai", "zero"]


MindName = Literal["auto", "offline", "claude"]


class Settings(BaseSettings):
    """What an operator can set; the environment wins over the defaults below."""

    model_config = SettingsConfigDict(env_prefix="NOUS_", frozen=True, extra="ignore")

    home: Path = Field(default=Path(".nous"), description="Where the embedded stack keeps its data.")
    database_url: str | None = Field(default=None, description="postgresql://... ; the embedded Postgres when absent.")
    redis_url: str | None = Field(default=None, description="redis://host:port/db ; the embedded Valkey when absent.")

    embedder: EmbedderName = Field(
        default="use-multilingual-v3", description="Which embedder gives a fact its vector; zero is for benchmarks."
    )
    embedder_threads: int = Field(default=1, ge=1, description="Parts of a batch embedded at once, each in a process that holds the model.")
    embedder_url: str = Field(default="http://127.0.0.1:8080/v1", description="openai: base URL of the embeddings API.")
    embedder_model: str = Field(default="", description="openai: model name; it is stored with every vector.")
    embedder_dimension: int = Field(default=0, ge=0, description="openai: length of its vectors.")
    embedder_api_key: SecretStr = Field(default=SecretStr(""), description="openai: bearer token.")
    embedder_batch: int = Field(default=128, ge=1, description="openai: most texts in one request.")
    embedder_timeout_s: float = Field(default=30.0, gt=0, description="openai: time limit of one call, with all its requests and tries.")

    confirm_similarity: float | None = Field(
        default=None, ge=0, le=1, description="Cosine; absent what `nous calibrate` kept, else the embedder's own."
    )
    check_similarity: float | None = Field(
        default=None, ge=0, le=1, description="Cosine; absent what `nous calibrate` kept, else the embedder's own."
    )
    episode_similarity: float | None = Field(
        default=None, ge=0, le=1, description="Cosine; absent what `nous calibrate` kept, else the embedder's own."
    )
    subject_similarity: float | None = Field(
        default=None, ge=0, le=1, description="Letters two subjects share, of which facts are compared; absent what was kept, else 0.8."
    )
    repeated_overlap: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of words above which a memory was just said, if no embedder can say; what was kept, else 0.5.",
    )
    thresholds_of: str = Field(
        default="", description="The name of the embedder that the thresholds set here were fitted for; with another one nothing starts."
    )

    session_silence_s: float = Field(default=3600.0, gt=0, description="A session of which nothing was heard for so long has ended.")
    remember_phrases: tuple[str, ...] = Field(
        default=(), description="What else asks for something to be remembered, in any language, as a JSON list of phrases."
    )
    episode_prior_turns: int = Field(default=1, ge=1, description="Finished turns after which a conversation is an episode by itself.")

    frames_folder: Path | None = Field(
        default=None, description="Folder of frame instructions (decision.md, task.md, debug.md, ...) told instead of those shipped."
    )

    recall_plans: dict[str, dict[str, Any]] = Field(
        default={}, description="Other plans of recall by agent, `*` for all, as JSON: tokens, sections, limit and more (recall/plans.py)."
    )
    recall_token_margin: float = Field(
        default=1.51, ge=1, description="By how much the model's tokenizer may count more than o200k_base, which a budget is held against."
    )
    recall_patience_s: float = Field(
        default=5.0, gt=0, description="How long recall waits for the embedder; then it searches words alone, and says so."
    )
    recall_mind: bool = Field(
        default=False, description="Whether the mind picks what of a long memory is told; if not, the sentences most like the question."
    )

    mind: MindName = Field(
        default="auto", description="Who judges how facts stand to each other; auto is claude with ANTHROPIC_API_KEY set, else offline."
    )
    mind_model: str = Field(default="claude-sonnet-4-6", description="claude: the model asked.")
    mind_relation_model: str = Field(default="", description="claude: a cheaper model for judging pairs of facts; mind_model when absent.")
    mind_timeout_s: float = Field(default=120.0, gt=0, description="claude: time limit of one question, with all its tries.")
    mind_concurrency: int = Field(default=8, ge=1, description="claude: questions one process asks at the same time.")
    mind_tools: bool = Field(default=True, description="claude: force a tool call; false asks for JSON in text, for servers without tools.")
    mind_tokens_per_hour: int = Field(default=2_000_000, ge=0, description="Budget of all agents together; what is over it waits.")
    mind_agent_tokens_per_hour: int = Field(default=500_000, ge=0, description="Budget of one agent; what is over it waits.")
    mind_price_in: float = Field(default=3.0, ge=0, description="US dollars for a million tokens read, for the cost that is shown.")
    mind_price_out: float = Field(default=15.0, ge=0, description="US dollars for a million tokens written, for the cost that is shown.")
    summary_part_characters: int = Field(
        default=40_000, ge=1_000, description="Longest transcript summarised in one question; a longer one is summarised in parts."
    )
    many_valued: tuple[str, ...] = Field(
        default=(), description="Attributes of many values at once, beside those known, as a JSON list of names."
    )

    janitor: Literal["dry-run", "demote", "archive"] = Field(
        default="dry-run",
        description="What is done with old facts that were never found: only told, demoted (they count for less), or archived later too.",
    )
    janitor_assistant_derived_days: float = Field(
        default=90.0, gt=0, description="Age at which a fact that an assistant derived is old; of days in which it was not heard."
    )
    janitor_episode_summary_days: float = Field(default=180.0, gt=0, description="The same of a fact taken from an episode.")
    janitor_user_stated_days: float = Field(default=365.0, gt=0, description="The same of a fact that the user stated.")
    janitor_user_stated: bool = Field(default=False, description="Whether what the user stated is demoted and archived at all.")
    janitor_assistant_derived_factor: float = Field(
        default=0.5, ge=0, le=1, description="What the confidence of such a fact is multiplied with once it is demoted."
    )
    janitor_episode_summary_factor: float = Field(default=0.7, ge=0, le=1, description="The same of a fact taken from an episode.")
    janitor_user_stated_factor: float = Field(default=0.8, ge=0, le=1, description="The same of a fact that the user stated.")
    janitor_archive_days: float = Field(
        default=180.0, gt=0, description="Days after which what was demoted, and still never found, is archived where that is allowed."
    )
    procedure_notes: int = Field(default=10, ge=5, description="Notes of a procedure above which they are put together by the mind.")
    procedure_effective: float = Field(
        default=0.8, ge=0, le=1, description="Share of its uses that worked from which on a procedure's patterns are promoted to its core."
    )

    upkeep_clock: bool = Field(default=True, description="Whether upkeep begins by itself; false where something else runs it on time.")

    episode_trim_days: int = Field(
        default=30, ge=1, le=36_500, description="Age of an episode, from when it began, at which its first and last parts stay at hand."
    )
    episode_archive_days: int = Field(
        default=90, ge=1, le=36_500, description="Age at which nothing of its transcript stays at hand, only summary, lessons and links."
    )
    episode_trimmed_characters: int = Field(
        default=2_000, ge=200, description="How much of a trimmed transcript stays at hand, first and last parts together."
    )
    episode_aged_passages: bool = Field(
        default=True, description="Whether an aged episode is found by all that was said in it while its transcript is put away."
    )
    transcript_cold_days: int = Field(
        default=365, ge=0, le=36_500, description="How long a transcript that was put away is kept before it is let go of; 0 for ever."
    )

    page: int = Field(default=256, ge=1, le=5000, description="Entries a worker fetches and works at once.")
    pages_in_flight: int = Field(default=2, ge=1, description="Pages one worker of one process works at the same time.")
    time_limit_s: float = Field(default=60.0, gt=0, description="Longest a page, or one delivery alone, may be worked.")
    claim_after_s: float = Field(default=30.0, gt=0, description="Idle time after which a dead replica's work is taken over.")
    max_attempts: int = Field(default=5, ge=1, description="Failed attempts after which an event is parked.")
    max_deaths: int = Field(default=3, ge=1, description="Replicas that died of one event worked alone, after which it is parked.")
    retry_base_s: float = Field(default=1.0, gt=0, description="Wait before the second attempt; doubles from there, with jitter.")
    retry_cap_s: float = Field(default=300.0, gt=0, description="Longest wait between attempts.")
    graceful_s: float = Field(default=20.0, gt=0, description="How long a stop waits for work in flight.")
    stream_partitions: int = Field(
        default=0,
        ge=0,
        le=1024,
        description="Over how many partitions, by agent, streams are spread that are written here; 0 for none. For a Redis Cluster.",
    )
    stream_keep_s: float = Field(
        default=60.0, ge=0, description="How long an entry stays in its stream at least; it goes once everybody has passed it."
    )
    database_pool: int = Field(default=4, ge=1, description="Postgres connections of one worker process; no overflow.")

    http_port: int = Field(default=0, ge=0, le=65535, description="Where a worker process serves /metrics, /health and /ready; 0 for none.")
    http_host: str = Field(default="127.0.0.1", description="The address it serves them on; 0.0.0.0 for every address of the machine.")

    api_port: int = Field(default=8378, ge=0, le=65535, description="Where `nous serve` serves the API; 0 for a free port.")
    api_host: str = Field(default="127.0.0.1", description="The address it serves it on; on any but loopback every request needs a token.")
    api_token_required: bool = Field(default=False, description="Whether requests need a token on loopback too, as behind a proxy.")
    api_requests_per_minute: int = Field(default=600, ge=1, description="Of one token, or one agent without; each process counts its own.")
    api_body_bytes: int = Field(default=8_388_608, ge=1_024, description="Longest body of a request.")
    api_request_s: float = Field(
        default=30.0, gt=0, description="How long a request's headers, and then its body, may take to arrive; 408 after that."
    )
    api_connections: int = Field(default=800, ge=1, description="Most connections of one `nous serve` at once; 503 beyond them.")
    api_trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Addresses or networks, comma-separated, of proxies whose X-Forwarded-For says who asks; * trusts everybody's.",
    )
    api_database_pool: int = Field(
        default=8, ge=1, description="Postgres connections of one `nous serve`, and of one `nous mcp`; one more while a fact is forgotten."
    )

    mcp_port: int = Field(
        default=8379, ge=0, le=65535, description="Where `nous mcp --http` serves, on 127.0.0.1 alone; 0 for a free port."
    )

    web_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Where the page for operators is served, on 127.0.0.1 alone: by `nous up` at 8377 unless set, by `nous work`"
        " and `nous serve` only if set; a free one when it is taken; 0 for none.",
    )

    log_format: Literal["auto", "human", "json"] = Field(default="auto", description="auto is human on a terminal, JSON elsewhere.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="The least important line that is logged.")
