"""The folder `bench` is no installed package: it is found from the repository."""

import sys

from tests.conftest import repository

ROOT = str(repository())
if ROOT not in sys.path:
    sys.path.append(ROOT)
