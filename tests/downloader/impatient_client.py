"""A client for tests: as impatient as a test, and with next to no backoff."""

import random

from downloader.http_client import PoliteClient, user_agent
from downloader.rate_limit import RateLimiter

PATIENT = {"patience": 8, "deadline": 5, "read_timeout": 5}
"""Settings of a client for a server that answers well, but may take its time on a busy machine."""

UNHURRIED = {"deadline": 5, "read_timeout": 5}
"""The same for one with little patience, as all that the server ever sends may be failures."""
FAULTY = {"patience": 20, "deadline": 2, "read_timeout": 1}
"""For a server that falls silent, and has to be told from one that a busy machine delays."""


class SmallJitter(random.Random):
    def random(self):
        return 0.0002


def new_client(directory, **settings):
    defaults = {"patience": 0.5, "deadline": 0.3, "read_timeout": 0.2, "connect_timeout": 0.5}
    pace = RateLimiter(directory / "pace", 10**9, 10**9)
    return PoliteClient(
        user_agent("ada@lovelace.org.uk"), pace, rng=SmallJitter(), **(defaults | settings)
    )


def body(answer):
    return answer.body
