"""Refusal of files that exist."""

from corpora.formats import NotReplaceableError, check_file_target
from pipeline.errors import UsageError


def check_file(path: str, what: str, *, force: bool) -> None:
    """Raise UsageError if `what` may not go to `path`; FileNotFoundError without its folder."""
    try:
        check_file_target(path, what, replace=force)
    except FileExistsError as error:
        raise name_is_taken(error, force=force) from error


def name_is_taken(error: FileExistsError, *, force: bool) -> UsageError:
    """Return the error for people: whether --force would help."""
    is_final = force or isinstance(error, NotReplaceableError)
    hint = "choose another name" if is_final else "choose another name, or --force"
    return UsageError(f"{error}: {hint}")
