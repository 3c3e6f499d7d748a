"""What the papers claim, held against a result: whether it came out again."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.old_tables import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REPRODUCED, PARTLY, NOT = "reproduced", "partly reproduced", "not reproduced"
NOT_COMPARED, NOT_RUN, FAILED = "not compared", "not run", "failed"
VERDICTS = (REPRODUCED, PARTLY, NOT, NOT_COMPARED, NOT_RUN, FAILED)
CLOSE_UP = 0.04
"""Bits a word around the exact value that Figure 2 of Buntine 2009 shows."""

OF_PAPERS: dict[str, tuple[str, ...]] = {
    "buntine-table-1": (
        *("mean error of LRS: *", "mean error of HM, *"),
        "st. dev. of LRS no larger than of LR",
    ),
    "l2r-kl": (
        "lowest KL of the paper's estimators: L2R exact",
        *("KL of L2R below that of DS", "HM too high: *"),
    ),
    "bam-toy": (
        *("exact is as published, *", "SMC: prefers the rank that exact does"),
        *("SMC: within *", "VB prefers another rank for X1 *"),
        "VB prefers the rank that exact does for X2",
    ),
    "bam-histogram": (
        "effective parameters explain more *",
        *("modes are log a *", "modes do not overlap *"),
    ),
    "bam-parafac": (
        *("SMC is highest at the true R *", "VB is highest at the true R *"),
        "VB falls below SMC by more *",
        *("SMC takes as long on larger tensors *", "VB takes longer on larger tensors *"),
    ),
    "bam-abalone": (
        *("a = *, SMC: CP above the complete graph *", "a = *, VB: CP above the complete graph *"),
        *("classes differ in age, *", "mean ages of neighbouring classes *"),
    ),
    "bam-letters": (
        *("a = *, SMC: NMF above symmetric NMF *", "a = *, VB: NMF above symmetric NMF *"),
        *("a = *: NMF above symmetric NMF at rank 1, *", "a = *, SMC: symmetric NMF above NMF *"),
        "a = *, VB: symmetric NMF not above NMF *",
        "a = *: the best rank of VB below that of SMC",
    ),
    "bam-decompositions": (
        *("SMC: sparser than *", "SMC: higher squared loss *", "SMC: lower KL divergence *"),
        *("VB: higher squared loss *", "VB: lower KL divergence *"),
    ),
    **dict.fromkeys(
        ("lpmrf-classic3", "lpmrf-wikipedia"),
        (
            *("Multinomials as published, *", "LPMRFs as published or better, *"),
            "single LPMRF: nonzeros as published, *",
            *("LPMRF below Multinomial of its kind, *", "LPMRF topic model below LDA *"),
        ),
    ),
    "lpmrf-dependencies": ("of each topic, at least *",),
    "lpmrf-scaling": ("regressions take *", "topic matrices take *", "annealing takes *"),
}
"""Patterns of the findings that are claims of the paper. The others are bars of ours: they are of
estimators that are not in it, or say what is wrong with a figure."""


class Claim(NamedTuple):
    """A sentence, and where it does not hold."""

    text: str
    fails_at: tuple[str, ...]
    is_of_paper: bool

    @property
    def holds(self) -> bool:
        """Whether it does, everywhere."""
        return not self.fails_at


def claims_of(result: dict[str, Any]) -> list[Claim]:
    """All claims of an experiment: those of the paper first."""
    experiment = result["experiment"]
    patterns = OF_PAPERS.get(experiment, ())
    made = [
        Claim(
            each["claim"],
            tuple(_place(place) for place in each["fails_at"]),
            any(fnmatchcase(each["claim"], pattern) for pattern in patterns),
        )
        for each in result.get("findings", ())
    ]
    if experiment in _MADE:
        made += _MADE[experiment](result)
    return sorted(made, key=lambda claim: not claim.is_of_paper)


def _place(place: object) -> str:
    """Where a finding fails, in words; Table 1 of Buntine 2009 has gamma as a number."""
    return place if isinstance(place, str) else f"gamma = {place}"


def verdict_of(claims: Iterable[Claim]) -> str:
    """Whether all claims of the paper hold, some, or none; or none of them was looked at."""
    held = [claim.holds for claim in claims if claim.is_of_paper]
    if not held:
        return NOT_COMPARED
    return REPRODUCED if all(held) else PARTLY if any(held) else NOT


def _convergence(result: dict[str, Any]) -> list[Claim]:
    sizes = grouped(result["rows"], "samples")
    first, last = (
        {row["estimator"]: row["root_mean_square_error"] for row in sizes[size]}
        for size in (min(sizes), max(sizes))
    )
    most = f"{max(sizes):,} samples"
    others = [name for name in last if name not in ("HM", REFINED)]
    return [
        Claim(
            f"with {most} the errors of all but HM are below {CLOSE_UP} bits a word, the range of "
            "Figure 2",
            tuple(f"{name} ({last[name]:.4f})" for name in others if last[name] >= CLOSE_UP),
            True,
        ),
        Claim(
            f"with {most} LRS is nearer than LR and HM",
            tuple(name for name in ("LR", "HM") if last[name] <= last["LRS"]),
            True,
        ),
        Claim(
            f"errors fall from {min(sizes):,} samples on to half and less: no bias remains",
            tuple(
                f"{name} ({first[name]:.4f} to {last[name]:.4f})"
                for name in (*others, REFINED)
                if last[name] > first[name] / 2
            ),
            False,
        ),
    ]


def _model_selection(result: dict[str, Any]) -> list[Claim]:
    truth = result["true_topics"]
    return [
        Claim(
            f"{estimator} chooses {truth} topics, those of the known model",
            tuple(
                f"{row['training_documents']:,} documents ({row['topics']})"
                for row in rows
                if row["topics"] != truth
            ),
            estimator != "completion",
        )
        for estimator, rows in grouped(result["chosen"], "estimator").items()
    ]


def _l2r_convergence(result: dict[str, Any]) -> list[Claim]:
    by_corpus = {
        corpus: {
            estimator: max(of, key=lambda row: int(row["samples"]))
            for estimator, of in grouped(rows, "estimator").items()
        }
        for corpus, rows in grouped(result["rows"], "corpus").items()
    }

    def above(first: str, second: str) -> Callable[[dict[str, Any]], bool]:
        return lambda last: bool(last[first]["log_likelihood"] > last[second]["log_likelihood"])

    def is_nearer(last: dict[str, Any]) -> bool:
        return bool(abs(last["L2R"]["above_reference"]) < abs(last["DS"]["above_reference"]))

    tests: dict[str, Callable[[dict[str, Any]], bool]] = {
        "L2R is above DS with most samples": above("L2R", "DS"),
        "HM is above L2R with most samples": above("HM", "L2R"),
        f"L2R is nearer than DS to {REFINED} with most samples": is_nearer,
    }
    return [
        Claim(claim, tuple(corpus for corpus, last in by_corpus.items() if not holds(last)), True)
        for claim, holds in tests.items()
    ]


_MADE: dict[str, Callable[[dict[str, Any]], list[Claim]]] = {
    "buntine-convergence": _convergence,
    "buntine-model-selection": _model_selection,
    "l2r-convergence": _l2r_convergence,
}
"""Experiments whose results have no findings."""
