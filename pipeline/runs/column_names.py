"""Names of columns that came along with texts, beside those of our tables."""

import re
from collections.abc import Collection


def free_names(names: Collection[str], taken: re.Pattern[str]) -> list[str]:
    """Return a name for each: one that is `taken` gets a _ at its end, so that all differ."""
    free: list[str] = []
    for name in names:
        each = name
        while taken.fullmatch(each) or (each != name and each in names):
            each += "_"
        free.append(each)
    return free
