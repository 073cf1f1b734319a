"""How a closed episode is read, asked about and written down. Two workers run it: the summarizer, and the resummarizer once more.

transcript  what was said, by whom and when; cut into parts where it is long
question    what a mind is asked about it, and what an answer is
scribe      asking: nothing is paid for twice
sources     which words a fact rests on, and who vouches for it
extract     a title and a summary without a mind
closed      an episode as its closing leaves it
reading     think: all of that, for a page of episodes
links       which decisions belong to an episode
excerpt     the first and last parts of what was said
ageing      less of an old transcript at hand, and all of it again
settling    write: the row, its decisions, its facts
"""
