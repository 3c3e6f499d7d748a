"""Messages for people who call from Python: names of arguments in place of those of options."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.errors import UsageError

OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")
COMMAND = re.compile(r"(`[^`]*`)")


@contextmanager
def python_names() -> Iterator[None]:
    """Let a UsageError of the block name arguments: `no_below` for `--no-below`."""
    try:
        yield
    except UsageError as error:
        error.args = (with_python_names(str(error)),)
        raise


def with_python_names(message: str) -> str:
    """Return a message with the names of arguments; commands between backticks stay."""
    parts = COMMAND.split(message)
    for i in range(0, len(parts), 2):
        parts[i] = OPTION.sub(lambda option: option[1].replace("-", "_"), parts[i])
    return "".join(parts)
