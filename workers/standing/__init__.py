"""How facts stand to each other: which are one, which are no longer true. Shared by the workers that ask and that look again.

candidates  which facts a new one may merge or conflict with
question    the one question that is asked about a pair, and its prompt
counsel     kept answers, the budget, and then the mind
slots       what follows from claims and relations; pure, and the same in whatever order they came
settling    writes what follows
check       the three together, as a worker runs them
"""
