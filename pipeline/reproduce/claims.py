"""Claims: what a paper says, and a function that decides it from the numbers of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REPRODUCED, PARTLY, NOT = "reproduced", "partly reproduced", "not reproduced"
NOT_COMPARED, NOT_RUN, FAILED = "not compared", "not run", "failed"
VERDICTS = (REPRODUCED, PARTLY, NOT, NOT_COMPARED, NOT_RUN, FAILED)


class Claim(NamedTuple):
    """Something that should hold of a result."""

    name: str
    text: str | Callable[[Any], str]
    """The claim as it is checked; a function of the result if it has numbers of that."""
    fails_at: Callable[[Any], Iterable[str] | None]
    """Decides it: the places in a result where it does not hold, none if it holds everywhere. None
    if the result has nothing to decide it by."""
    paper: str = ""
    """The sentence of the paper that it checks; empty for a bar of ours."""


class Finding(NamedTuple):
    """A claim, decided."""

    name: str
    text: str
    fails_at: tuple[str, ...]
    paper: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim holds everywhere."""
        return not self.fails_at

    def as_json(self) -> dict[str, Any]:
        """Return what files have of it."""
        found = {"name": self.name, "claim": self.text, "fails_at": list(self.fails_at)}
        return found | ({"paper": self.paper} if self.paper else {})


def decided(claims: Iterable[Claim], result: Any) -> list[Finding]:
    """Return the claims that a result can decide."""
    found = []
    for claim in claims:
        fails_at = claim.fails_at(result)
        if fails_at is not None:
            text = claim.text if isinstance(claim.text, str) else claim.text(result)
            found.append(Finding(claim.name, text, tuple(fails_at), claim.paper))
    return found


def verdict_of(findings: Iterable[Finding]) -> str:
    """Return whether all claims of the paper hold, some, or none; or none was decided."""
    held = [each.holds for each in findings if each.paper]
    if not held:
        return NOT_COMPARED
    return REPRODUCED if all(held) else PARTLY if any(held) else NOT
