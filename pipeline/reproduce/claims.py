"""Claims: sentences about a result, each with the places where it does not hold."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

MAX_T = 2.58  # |t| exceeds it once in a hundred times without bias
REPRODUCED, PARTLY, NOT = "reproduced", "partly reproduced", "not reproduced"
NOT_COMPARED, NOT_RUN, FAILED = "not compared", "not run", "failed"
VERDICTS = (REPRODUCED, PARTLY, NOT, NOT_COMPARED, NOT_RUN, FAILED)


class Finding(NamedTuple):
    """Decided claim."""

    name: str
    text: str
    fails_at: Sequence[str]  # Places where it does not hold
    paper: str = ""  # Sentence of the paper that it checks; empty for a claim of ours

    @property
    def holds(self) -> bool:
        """Whether the claim holds everywhere."""
        return not self.fails_at

    def as_json(self) -> dict[str, Any]:
        """Return the claim as it is stored."""
        places = list(self.fails_at)
        return {"name": self.name, "claim": self.text, "fails_at": places, "paper": self.paper}


Findings = Iterator[Finding]


def findings_of(result: Any) -> list[Finding]:
    """Return the stored claims of a result, those of the paper first. Results of older versions
    have neither names nor sentences of the paper; see `is_older`.
    """
    found = [
        Finding(each.get("name", ""), each["claim"], tuple(each["fails_at"]), each.get("paper", ""))
        for each in result.get("findings", ())
    ]
    return sorted(found, key=lambda finding: not finding.paper)


def is_older(result: Any) -> bool:
    """Return whether a result is of a version that did not say which claims are the paper's."""
    return any("name" not in each for each in result.get("findings", [{}]))


def verdict_of(findings: Iterable[Finding]) -> str:
    """Return whether all claims of the paper hold, some, or none; or none was decided."""
    held = [each.holds for each in findings if each.paper]
    if not held:
        return NOT_COMPARED
    return REPRODUCED if all(held) else PARTLY if any(held) else NOT
