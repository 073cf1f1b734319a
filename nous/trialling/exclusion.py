"""What the positive question is measured against: the usual list of what not to extract. Nothing asks this but a trial (nous trial).

It stands in the same prompts, is answered in the same form and held against the same quotes, so that nothing but the criterion differs. If
it were to win, it would come back as the criterion of the prompts (spec 004).
"""

from workers.episodes.question import Criterion

VERSION = "exclusion-1"

EXCLUDED = (
    "greetings, thanks, farewells, small talk and other politeness",
    "what only holds for the moment: what somebody does just now, is about to do, or waits for",
    "requests, questions and instructions about how to answer",
    "reports of progress: that something was started, checked, updated or finished",
    "steps of the work, commands, code, logs, error messages and what tools put out",
    "general knowledge, definitions and explanations that anybody could look up",
    "advice, offers and suggestions of the assistant's that nobody took up",
    "what is only supposed, hoped, joked about or imagined",
    "statements about this conversation itself, or about what was remembered before",
    "what is true by its own words, and what has been given already in other words",
)

CRITERION = Criterion(
    VERSION,
    "give what the turns state as facts, but do not extract\n"
    + "".join(f"    - {what}\n" for what in EXCLUDED)
    + "  Give the facts that are left",
)
