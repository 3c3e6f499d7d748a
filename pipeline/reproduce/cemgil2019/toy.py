"""Cemgil et al. 2019, Figure 9: marginal likelihoods of two small matrices by SMC and VB.

KL-NMF of rank K = 1, …, 4 with b = a / S₊. The marginal likelihood of such small matrices is known
exactly: what are the errors of estimates, and do they prefer the same rank? Beside SMC as published
there is SMC that visits tokens sorted by cell, whose variance is far lower.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import logsumexp

from evaluation.arrays import Floats
from models.allocation.model import AllocationModel
from pipeline.figures.style import BLUE, GREEN, GRID, VERMILION
from pipeline.reproduce.cemgil2019.published import LOG_MARGINAL, PUBLISHED, RANKS, A
from pipeline.reproduce.cemgil2019.scores import NAMES, SORTED, Budget, budget_of, score
from pipeline.reproduce.claims import MAX_T, Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, number, numbers, rows_of
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Row, Table, grouped
from pipeline.reproduce.trials import group_of, run_trials

NAME = "bam-toy"
MATRICES = {
    "X1": np.array([[2, 1, 1, 0], [0, 0, 1, 2], [0, 0, 1, 1]]),
    "X2": np.array([[4, 3, 0], [0, 0, 3], [0, 0, 3]]),
}  # X⁽¹⁾ and X⁽²⁾ of the paper
METHODS = ("exact", "smc", SORTED, "vb")
BY_ORDER = METHODS[1:3]
QUICK: dict[str, Any] = {"n_repeats": 20, "n_starts": 20}
DENSE = 0.1  # Least a at which SMC must be within `TOLERANCE` nats
TOLERANCE = 0.02
SPARSE = 1.0  # Largest a at which the paper finds VB wrong on X1
SMC_IS_ACCURATE = "SMC gives the marginal likelihood of counts accurately where they are few."
VB_FAILS = "VB prefers a wrong rank for X1 at a small a, and the right one for X2."
EXACT = "Exact values of log L are published for all a."


@dataclass(frozen=True)
class ToyBudget(Budget):
    """The paper's budget."""

    n_repeats: int = 100
    a: tuple[float, ...] = A
    ranks: tuple[int, ...] = RANKS


def _run(settings: ReproduceSettings) -> Found:
    budget = budget_of(ToyBudget(), settings, QUICK)

    def compute(matrix: str, a: float, rank: int, method: str) -> Row:
        X = MATRICES[matrix]
        model = AllocationModel.nmf(len(X), len(X.T), rank, a)
        return score(model, X, method, budget, (matrix, a, rank, method), settings.threads)

    keys = product(MATRICES, budget.a, budget.ranks, METHODS)
    group = group_of(NAME, budget, ("a", "ranks"), data=dict(MATRICES))
    scores = run_trials(group, keys, compute, NAME)
    places = product(MATRICES, budget.a)
    of_places = [matrix_rows(scores, matrix, a, budget.ranks) for matrix, a in places]
    spent = {name: getattr(budget, f"n_{name}") for name in ("particles", "repeats", "starts")}
    return Found({"name": NAME, **spent, "rows": [*chain(*of_places)]})


def matrix_rows(scores: dict[Any, Row], matrix: str, a: float, ranks: tuple[int, ...]) -> list[Row]:
    """Return the log marginals of a matrix in nats, their errors and the log odds of each rank."""
    found = {method: [scores[matrix, a, rank, method] for rank in ranks] for method in METHODS}
    log = {method: numbers(each, "log_marginal") for method, each in found.items()}
    error = {method: numbers(found[method], "standard_error") for method in BY_ORDER}
    odds = {method: log_odds(values) for method, values in log.items()}
    nested: dict[str, dict[str, Any]] = {
        "standard_error": error,
        "error": {method: log[method] - log["exact"] for method in BY_ORDER},
        "t": {method: ratio_t(found[method], log["exact"]) for method in BY_ORDER},
        "log_odds": odds,
        "log_odds_standard_error": {m: log_odds_error(odds[m], error[m]) for m in BY_ORDER},
        "published": {m: [published(matrix, m, a, rank) for rank in ranks] for m in PUBLISHED},
    }
    by_method = {name: rows_of(**columns) for name, columns in nested.items()}
    return rows_of(matrix=[matrix] * len(ranks), a=[a] * len(ranks), rank=ranks, **log, **by_method)


def published(matrix: str, method: str, a: float, rank: int) -> float | None:
    """Return a published log marginal, None if there is none."""
    if a not in A or rank not in RANKS:
        return None
    return LOG_MARGINAL[matrix, method][A.index(a)][RANKS.index(rank)]


def ratio_t(scores: list[Any], exact: Floats) -> list[float]:
    """Return t of the mean over runs of p̂ / p − 1, of each score; NaN where all runs agree.
    Standard normal, about, if SMC is unbiased and its runs many. For X1 at a = 1e-5 and K = 2 one
    run in a thousand is over a hundred times the truth, and these hold a fifth of the mean: of 100
    runs t is about −8.5 without any bias.
    """
    found = []
    for each, truth in zip(scores, exact, strict=True):
        ratio = np.exp(each["repeats"] - truth)
        error = ratio.std(ddof=1) / np.sqrt(len(ratio))
        found.append((ratio.mean() - 1) / error if ratio.std(ddof=1) > 1e-12 else np.nan)
    return found


def log_odds(log_marginals: Floats) -> Floats:
    """Return log posterior probabilities of models (K,) that are as likely before."""
    return log_marginals - np.asarray(logsumexp(log_marginals, axis=-1, keepdims=True))


def log_odds_error(odds: Floats, error: Floats) -> Floats:
    """Return standard errors (K,) of log odds by the delta method, given those of log marginals."""
    share, square = np.exp(odds), error**2
    others = (share**2 * square).sum() - share**2 * square
    return np.asarray(np.sqrt((1 - share) ** 2 * square + others))


def _place(row: Any) -> str:
    return f"{row['matrix']} a = {row['a']:g}"


def _cell(row: Any) -> str:
    return f"{_place(row)} K = {row['rank']}"


def _wrong(rows: list[Any], method: str) -> list[tuple[str, Any, float, float]]:
    """Return where a method has another rank than exact, by how many nats, and their error."""
    wrong = []
    for of_place in grouped(rows, "matrix", "a").values():
        ours, right = (max(of_place, key=itemgetter(name)) for name in (method, "exact"))
        if ours is not right:
            place = f"{_place(ours)} (K = {ours['rank']} for {right['rank']}"
            gap, error = ours[method] - right[method], 0.0
            if method in BY_ORDER:
                error = float(np.hypot(*(row["standard_error"][method] for row in (ours, right))))
                place += f", by {gap:.2g} ± {error:.2g}"
            wrong.append((f"{place})", ours, gap, error))
    return wrong


def _published(rows: list[Any]) -> list[Any]:
    return [row | row["published"] for row in rows if row["published"]["exact"] is not None]


def _findings(result: Any) -> Findings:
    rows, known = result["rows"], [row for row in result["rows"] if row["published"]["vb"]]
    off = [_cell(row) for row in known if abs(row["exact"] - row["published"]["exact"]) > 1e-8]
    yield Finding("exact-as-published", "exact is as published, to 1e-8 nats", off, EXACT)
    for method in BY_ORDER:
        yield from _findings_of_smc(result, method)
    wrong = [_place(row) for _, row, *_ in _wrong(_published(rows), "smc")]
    text = "the published SMC prefers the rank that exact does"
    yield Finding("published-smc-best-rank", text, wrong)
    vb_wrong = _wrong(rows, "vb")
    sparse = dict.fromkeys(_place(r) for r in rows if r["matrix"] == "X1" and r["a"] <= SPARSE)
    wrong_at = {_place(row) for _, row, *_ in vb_wrong}
    text = f"VB prefers another rank for X1 up to a = {SPARSE:g}"
    yield Finding("vb-wrong-on-x1", text, [at for at in sparse if at not in wrong_at], VB_FAILS)
    wrong = [place for place, row, *_ in vb_wrong if row["matrix"] == "X2"]
    text = "VB prefers the rank that exact does for X2"
    yield Finding("vb-right-on-x2", text, wrong, VB_FAILS)
    above = [_cell(row) for row in rows if row["vb"] > row["exact"] + 1e-9]
    yield Finding("vb-below-exact", "VB is below exact", above)
    gains = [(row, row["vb"] - row["published"]["vb"]) for row in known]
    lower = [f"{_cell(row)} ({by:+.2g})" for row, by in gains if by < -1e-6]
    yield Finding("vb-as-published", "VB is at least as high as published, to 1e-6 nats", lower)


def _findings_of_smc(result: Any, method: str) -> Findings:
    """Decide the claims on SMC with one of the orders of tokens."""
    rows = result["rows"]

    def claim(name: str, text: str, fails_at: Sequence[str], paper: str = "") -> Finding:
        of_paper = paper if method == "smc" else ""
        return Finding(f"{method}-{name}", f"{NAMES[method]}: {text}", fails_at, of_paper)

    wrong = _wrong(rows, method)
    places = [place for place, *_ in wrong]
    yield claim("best-rank", "prefers the rank that exact does", places, SMC_IS_ACCURATE)
    beyond = [place for place, _, gap, error in wrong if gap > MAX_T * error]
    text = f"where not, by less than {MAX_T} standard errors"
    yield claim("best-rank-within-error", text, beyond)
    far = [
        f"{_cell(row)} ({row['error'][method]:+.3f} ± {row['standard_error'][method]:.3f})"
        for row in rows
        if row["a"] >= DENSE and abs(row["error"][method]) > TOLERANCE
    ]
    text = f"within {TOLERANCE} nats of exact from a = {DENSE} on"
    yield claim("within-tolerance", text, far, SMC_IS_ACCURATE)
    t = [(_cell(row), row["t"][method]) for row in rows if row["t"][method] is not None]
    biased = [f"{cell} (t = {value:.2f})" for cell, value in t if abs(value) >= MAX_T]
    yield claim("unbiased", f"p / exact is 1, |t| < {MAX_T} in all {len(t)} that vary", biased)
    equal = [row for row in rows if row["t"][method] is None]
    off = [_cell(row) for row in equal if abs(row["error"][method]) > 1e-8]
    text = "the exact value where its runs do not vary, to 1e-8 nats"
    yield claim("exact-without-variance", text, off)


def _published_error(row: Any) -> float:
    return number(row["published"]["smc"]) - number(row["published"]["exact"])


COLUMNS = (
    Column("a", "a", "g"),
    Column("K", "rank"),
    Column("exact", "exact", ".5f", "", "ours"),
    Column("SMC − exact", "error.smc", ".1e", "standard_error.smc", "ours"),
    Column("t", "t.smc", ".2f", "", "ours"),
    Column("sorted order − exact", f"error.{SORTED}", ".1e", f"standard_error.{SORTED}", "ours"),
    Column("t", f"t.{SORTED}", ".2f", "", "ours"),
    Column("VB", "vb", ".5f", "", "ours"),
    Column("exact", "published.exact", ".5f", "", "published"),
    Column("SMC − exact", _published_error, "+.1e", "", "published"),
    Column("VB", "published.vb", ".5f", "", "published"),
    *(
        Column(title, f"log_odds.{method}", ".3f", "", "log odds of K, ours")
        for title, method in zip(("exact", "SMC", "sorted", "VB"), METHODS, strict=True)
    ),
)


def _tables(result: Any) -> list[Table]:
    note = (
        f"KL-NMF of rank K, b = a / S₊; {result['particles']:,} particles, {result['repeats']} "
        "runs, ± the estimate's own standard error; VB: best of "
        f"{result['starts']} starts. t: of the mean of p / exact; far below 0 at a small a, where "
        "much of the mean is in runs that come once in a thousand. Log odds: log posterior "
        "probability of K."
    )
    return [
        Table(f"{matrix}: log marginal likelihood, nats", COLUMNS, rows, note, headings=2)
        for matrix, rows in grouped(result["rows"], "matrix").items()
    ]


def _headline(result: Any) -> Headline:
    right = []
    for rows in (result["rows"], _published(result["rows"])):
        n_places = len(grouped(rows, "matrix", "a"))
        right.append(f"{n_places - len(_wrong(rows, 'smc'))} of {n_places}")
    what = "settings (matrix and a) at which SMC prefers the rank that exact does"
    return Headline(what, *right)


def _draw(figure: Any, result: Any, matrix: str) -> None:
    of_ranks = grouped([row for row in result["rows"] if row["matrix"] == matrix], "rank")
    figure.set_size_inches(12, 8)
    grid = figure.subplots(3, len(of_ranks), sharex=True, sharey="row", squeeze=False)
    styles: dict[str, dict[str, Any]] = {
        "exact": {"color": GRID, "linewidth": 4, "marker": ""},
        "smc": {"marker": ".", "linewidth": 0.8, "color": BLUE},
        SORTED: {"marker": "+", "linewidth": 0.8, "markersize": 5, "color": GREEN},
        "vb": {"marker": "x", "linewidth": 0.8, "markersize": 4, "color": VERMILION},
    }
    for k, (rank, rows) in enumerate(of_ranks.items()):
        a, exact = numbers(rows, "a"), numbers(rows, "exact")
        for method, style in styles.items():
            value, odds = numbers(rows, method), numbers(rows, "log_odds", method)
            bars = ("standard_error", "log_odds_standard_error") if method in BY_ORDER else ()
            errors, odds_errors = [numbers(rows, bar, method) for bar in bars] or [None, None]
            grid[0, k].errorbar(a, value, yerr=errors, label=NAMES[method], **style)
            grid[1, k].errorbar(a, value - exact, yerr=errors, **style)
            grid[2, k].errorbar(a, odds, yerr=odds_errors, **style)
        grid[0, k].set_title(f"K = {rank}")
        grid[2, k].set(xlabel="a", xscale="log")
    titles = ("log marginal likelihood, nats", "above exact, nats", "log odds")
    for axes, title in zip(grid[:, 0], titles, strict=True):
        axes.set_ylabel(title)
    grid[1, 0].set_yscale("symlog", linthresh=1e-2)
    grid[2, 0].set_ylim(max(grid[2, 0].get_ylim()[0], -8.0), 0.3)
    grid[0, 0].legend()
    figure.suptitle(matrix)


def _figure(part: str, matrix: str) -> Figure:
    caption = f"Figure 9{part}: the matrix {matrix}, a column for each rank"
    return Figure(f"-{matrix}", caption, lambda figure, result, _: _draw(figure, result, matrix))


EXPERIMENT = Experiment(
    NAME,
    "Figure 9",
    "Log marginal likelihoods of two small matrices by SMC and VB beside exact ones.",
    *(_run, _tables, _headline, _findings),
    tuple(map(_figure, "ab", MATRICES)),
)
