"""Facts an agent might learn, of 10 to 20 words, from a small grammar: varied, and the same for the same seed."""

import random
from collections.abc import Iterator

FEWEST_WORDS, MOST_WORDS = 10, 20

_WORDS = {
    "who": "Alice, Bohdan, Carmen, Dmitri, Elif, Farid, Greta, Hiro, Ines, Jonas, Keiko, Liam, Maria, Nkechi, Omar, Priya, Quentin, Rosa,"
    " Samir, Tamar, Uwe, Valeria, Wanda, Ximena, Yusuf, Zoe, her brother, his neighbour, their landlord, the new intern, my dentist",
    "does": "keeps {number} {animals}; teaches {skill} to a group of {number} beginners; prefers {drink} to {other drink};"
    " is allergic to {food} and carries an injector; drives a {colour} {vehicle} to work; is saving {number} hundred euros for a {thing};"
    " runs the {system} on port {port}; replaced the {system} with a {replacement}; lent the {thing} to {who};"
    " plays the {instrument} with {who}; reads {language} novels aloud; collects {colour} postcards;"
    " reviews every change to the {system} together with {who}; deploys the {system} at {hour} o'clock;"
    " sold a {vehicle} to {who} for {number} hundred euros; cooks {food} for {number} people; takes {number} milligrams of {medicine};"
    " is learning {language} with {who}; broke a {bone} while repairing a {vehicle}; wants {drink} without sugar at breakfast;"
    " sets the {system} to time out after {number} seconds",
    "where": "in Lisbon, near the old harbour, on the second floor, in a village outside Graz, at the community garden, above the bakery,"
    " in the Osaka office, behind the central station, on a farm in Galicia, at the university library, in staging, in the eu-west region",
    "when": "since last spring, every second Thursday, before the school holidays, after the flood in March, during the night shift,"
    " on most weekends, at the end of each quarter, until the lease runs out, whenever the train is late, from early October",
    "why": "because the doctor advised it, although the rent went up, so that the children can walk to school, despite the long commute,"
    " because the old one kept failing, to save money for a sailing boat, to be closer to an ageing parent, which surprised everyone",
    "animals": "goats, hens, bees, greyhounds, parrots, tortoises, ponies, cats, ferrets",
    "skill": "pottery, chess, first aid, watercolour, fencing, bookbinding, algebra, rowing",
    "drink": "green tea, black coffee, oat milk, cold water, mint tea, apple juice",
    "other drink": "espresso, lemonade, beer, cocoa, sparkling water, red wine",
    "food": "lentil soup, peanuts, mushroom risotto, shellfish, rye bread, dumplings, fig jam, paella",
    "colour": "red, dark green, silver, yellow, pale blue, orange, black",
    "vehicle": "van, cargo bicycle, tractor, motorcycle, estate car, scooter, rowing boat",
    "thing": "piano, greenhouse, bookcase, typewriter, telescope, wedding dress, stove, map",
    "system": "payments service, search index, mail relay, build cache, image registry, billing database, feature store, login page",
    "replacement": "queue, managed database, static site, nightly job, cluster of three nodes, single binary",
    "instrument": "cello, trumpet, accordion, drums, harp, clarinet, viola",
    "language": "Finnish, Arabic, Portuguese, Korean, Welsh, Swahili, Polish",
    "medicine": "ibuprofen, iron, vitamin D, cetirizine, melatonin, metformin",
    "bone": "wrist, collarbone, toe, rib, thumb",
}
_CHOICES = {name: words.split("; " if ";" in words else ", ") for name, words in _WORDS.items()}


def sentences(seed: int) -> Iterator[str]:
    """Sentences without end, no two alike."""
    chance = random.Random(seed)
    said: set[str] = set()
    while True:
        sentence = _sentence(chance)
        if FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS and sentence not in said:
            said.add(sentence)
            yield sentence


def _sentence(chance: random.Random) -> str:
    picked: dict[str, object] = {name: chance.choice(words) for name, words in _CHOICES.items()}
    numbers = {"number": chance.randint(2, 60), "port": chance.randint(1024, 9999), "hour": chance.randint(1, 12)}
    does = str(picked["does"]).format(**picked, **numbers)
    circumstances = [str(picked[name]) for name in ("where", "when", "why") if chance.random() < 0.62]
    sentence = " ".join([chance.choice(_CHOICES["who"]), does, *circumstances])
    return f"{sentence[0].upper()}{sentence[1:]}."
