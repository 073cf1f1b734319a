"""Facts an agent might learn, of 10 to 20 words, from a small grammar: varied, and the same for the same seed."""

import random
from collections.abc import Iterator

WHO = """Alice|Bohdan|Carmen|Dmitri|Elif|Farid|Greta|Hiro|Ines|Jonas|Keiko|Liam|Maria|Nkechi|Omar|Priya|Quentin|Rosa|Samir|Tamar|Uwe|
Valeria|Wanda|Ximena|Yusuf|Zoe|her brother|his neighbour|their landlord|the new intern|my dentist|our accountant""".replace("\n", "").split("|")
WHEN = """since last spring|every second Thursday|before the school holidays|after the flood in March|during the night shift|on most weekends|
at the end of each quarter|until the lease runs out|whenever the train is late|from early October|twice a month|for the past seven years""".replace("\n", "").split("|")
WHERE = """in Lisbon|near the old harbour|on the second floor|in a village outside Graz|at the community garden|above the bakery|
in the Osaka office|behind the central station|on a farm in Galicia|at the university library|in staging|in the eu-west region""".replace("\n", "").split("|")
WHY = """because the doctor advised it|although the rent went up|so that the children can walk to school|to save money for a sailing boat|
because the old one kept failing|despite the long commute|to be closer to an ageing parent|since the contract was renewed|
as long as the weather allows|to keep the night queue short|because nobody else speaks Finnish|which surprised everyone at dinner""".replace("\n", "").split("|")
DOES = """keeps {n} {animals}|teaches {skill} to a group of {n} beginners|prefers {drink} to {drink2}|is allergic to {food} and carries an injector|
drives a {colour} {vehicle} to work|is saving {n} hundred euros for a {thing}|runs the {system} on port {port}|replaced the {system} with a {system2}|
moved the {thing} {where2}|plays the {instrument} with {who2}|reads {language} novels aloud|collects {colour} {thing}s|
reviews every change to the {system} together with {who2}|deploys the {system} at {hour} o'clock|sold a {vehicle} to {who2} for {n} hundred euros|
cooks {food} for {n} people|takes {n} milligrams of {medicine}|is learning {language} with {who2}|walks the {animal} {where2}|
broke a {bone} while repairing a {vehicle}|wants {drink} without sugar at breakfast|sets the {system} to time out after {n} seconds""".replace("\n", "").split("|")  # fmt: skip
WORDS = {
    "animals": "goats|hens|bees|greyhounds|parrots|tortoises|ponies|cats|ferrets",
    "animal": "greyhound|terrier|pony|goat|spaniel",
    "skill": "pottery|chess|first aid|watercolour|fencing|bookbinding|algebra|rowing",
    "drink": "green tea|black coffee|oat milk|cold water|mint tea|apple juice",
    "drink2": "espresso|lemonade|beer|cocoa|sparkling water|red wine",
    "food": "lentil soup|peanuts|mushroom risotto|shellfish|rye bread|dumplings|fig jam|paella",
    "colour": "red|dark green|silver|yellow|pale blue|orange|black",
    "vehicle": "van|cargo bicycle|tractor|motorcycle|estate car|scooter|rowing boat",
    "thing": "piano|greenhouse|bookcase|typewriter|telescope|wedding dress|stove|map",
    "system": "payments service|search index|mail relay|build cache|image registry|billing database|feature store|login page",
    "system2": "queue|managed database|static site|nightly job|cluster of three nodes|single binary",
    "instrument": "cello|trumpet|accordion|drums|harp|clarinet|viola",
    "language": "Finnish|Arabic|Portuguese|Korean|Welsh|Swahili|Polish",
    "medicine": "ibuprofen|iron|vitamin D|cetirizine|melatonin|metformin",
    "bone": "wrist|collarbone|toe|rib|thumb",
}
_CHOICES = {name: words.split("|") for name, words in WORDS.items()}


def sentences(seed: int) -> Iterator[str]:
    """Sentences without end, no two alike."""
    chance = random.Random(seed)
    said: set[str] = set()
    while True:
        sentence = _sentence(chance)
        if 10 <= len(sentence.split()) <= 20 and sentence not in said:
            said.add(sentence)
            yield sentence


def _sentence(chance: random.Random) -> str:
    filled = chance.choice(DOES).format(
        n=chance.randint(2, 60),
        port=chance.randint(1024, 9999),
        hour=chance.randint(1, 12),
        who2=chance.choice(WHO),
        where2=chance.choice(WHERE),
        **{name: chance.choice(words) for name, words in _CHOICES.items()},
    )
    parts = [chance.choice(WHO), filled, *(chance.choice(part) for part in (WHERE, WHEN, WHY) if chance.random() < 0.62)]
    sentence = " ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}."
