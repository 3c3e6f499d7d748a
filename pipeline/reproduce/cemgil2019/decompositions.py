"""Cemgil et al. 2019, Figure 16: factors by SMC, annealing and VB beside those of least squares.

The factors of NMF as an allocation model i ← k → j are W = θ_{i|k} and H = T θ_{j|k} θ_k, of a
sample of letter pairs, over strengths a of the prior. The peers have none and minimise |X − W H|²:
alternating projected gradients (Lin 2007), as in the paper, and coordinate descent of scikit-learn,
which has no projected gradients any more.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from evaluation.arrays import Floats, Ints, Rng
from models.allocation.allocation_factors import AllocationFactors
from models.allocation.model import AllocationModel
from models.parallel import effective_n_jobs, for_blocks
from pipeline.allocation.letter_pairs import letter_pairs
from pipeline.figures.style import series_style
from pipeline.reproduce.cemgil2019.letters import draw_pairs
from pipeline.reproduce.cemgil2019.scores import ANNEALED, NAMES, WITH_MOVES, Budget, budget_of
from pipeline.reproduce.claims import Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found, data_note, numbers, plain
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, grouped
from pipeline.reproduce.trials import group_of, run_trials, trial_seed

NAME = "bam-decompositions"
QUICK: dict[str, Any] = {"n_repeats": 5, "n_starts": 20, "n_moves": 20}
QUICK |= {"n_modes": 4, "n_sweeps": 300}
SMC, SMC_WITH_MOVES, ANNEALING, VB = (
    NAMES[method] for method in ("smc", WITH_MOVES, ANNEALED, "vb")
)
BAYESIAN = (SMC, SMC_WITH_MOVES, ANNEALING, VB)  # Methods of `AllocationFactors`
OF_FACTORS = {SMC: "smc", SMC_WITH_MOVES: "smc", ANNEALING: "annealed", VB: "vb"}
PROJECTED_GRADIENT, COORDINATE_DESCENT = "ALS-PGD", "least squares, CD"
PEERS = (PROJECTED_GRADIENT, COORDINATE_DESCENT)  # Methods without a prior, whose a is None
TITLES = {
    "sparsity": "Hoyer sparsity, mean of both factors",
    "squared_loss": "squared loss",
    "kl_divergence": "KL divergence, nats",
}  # The paper's measures
FLOOR = float(np.finfo(np.float32).eps)  # Least expectation in KL divergences, as in scikit-learn
SUFFICIENT, SHRINK = 0.01, 0.1
"""σ and β of Armijo's rule: required share of what the slope promises, factor between lengths."""
MAX_STEPS, MAX_TRIALS = 1000, 20  # Steps of one least squares problem, lengths tried for a step
ENDS = ("", "_standard_error")
SPARSER = "Factors of SMC are sparser than those of least squares for a range of a."
NEARER = "Factors of SMC and VB have a higher squared loss and a lower KL divergence."
CLAIMS: dict[str, tuple[str, str, int, dict[str, str]]] = {
    "sparser": ("sparser", "sparsity", 1, dict.fromkeys((SMC,), SPARSER)),
    "sparser-unscaled": ("sparser, all as they come,", "unscaled_sparsity", 1, {}),
    "higher-loss": ("higher squared loss", "squared_loss", 1, dict.fromkeys((SMC, VB), NEARER)),
    "lower-kl": ("lower KL divergence", "kl_divergence", -1, dict.fromkeys((SMC, VB), NEARER)),
}  # Comparison with projected gradients, the value compared, its sign, and methods of the paper


@dataclass(frozen=True)
class FactorBudget(Budget):
    """The paper's budget. Runs are on the same sample, each with its own random numbers."""

    n_repeats: int = 20
    n_tokens: int = 2000
    rank: int = 3
    strengths: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # Values of a


class FactorQuality(NamedTuple):
    """Measures of one factorisation."""

    sparsity: float  # Hoyer's, the mean of both factors, the columns of W scaled to sum to 1
    unscaled_sparsity: float  # Factors as they come: least squares leave the scale to chance
    squared_loss: float
    kl_divergence: float
    n_impossible: float  # Tokens in cells of expectation 0: KL divergence is infinite but for FLOOR


def _run(settings: ReproduceSettings) -> Found:
    budget = budget_of(FactorBudget(), settings, QUICK)
    source, pairs = letter_pairs(settings.table, settings.threads)
    X = draw_pairs(pairs, budget.n_tokens, budget.seed)

    def compute(method: str, a: float | None) -> dict[str, Any]:
        return {"runs": qualities(X, method, a, budget, settings.threads)}

    keys: list[tuple[str, float | None]] = [(method, None) for method in PEERS]
    keys += [(method, a) for a, method in product(budget.strengths, BAYESIAN)]
    group = group_of(NAME, budget, ("strengths",), X=X)
    found = run_trials(group, keys, compute, NAME, "methods")
    rows = [row_of(method, a, each["runs"]) for (method, a), each in found.items()]
    of_data = {"source": source, "tokens": budget.n_tokens, "rank": budget.rank}
    return Found({"name": NAME, **of_data, **budget.as_json(), "rows": rows})


def row_of(method: str, a: float | None, runs: Floats) -> dict[str, Any]:
    """Return means over runs (n_repeats, 5) of the fields of `FactorQuality`, and their errors."""
    mean = FactorQuality(*plain(runs.mean(axis=0)))
    error = FactorQuality(*plain(runs.std(axis=0, ddof=1) / np.sqrt(len(runs))))
    means = {name: getattr(mean, name) for name in TITLES}
    errors = {f"{name}_standard_error": getattr(error, name) for name in TITLES}
    others = {"unscaled_sparsity": mean.unscaled_sparsity}
    others["tokens_held_impossible"] = mean.n_impossible
    return {"method": method, "a": a, **means, **errors, **others}


def qualities(
    X: Ints, method: str, a: float | None, budget: FactorBudget, n_jobs: int | None = None
) -> Floats:
    """Return (n_repeats, 5), the fields of `FactorQuality` of each run. Threads are of the runs of
    SMC, of the searches of annealing, and of the starts of VB.
    """
    found = np.empty((budget.n_repeats, len(FactorQuality._fields)))
    is_smc = method in (SMC, SMC_WITH_MOVES)

    def work(start: int, stop: int) -> None:
        for repeat in range(start, stop):
            factors = factors_of(X, method, a, repeat, budget, None if is_smc else n_jobs)
            found[repeat] = factor_quality(X, *factors)

    for_blocks(work, len(found), 1, effective_n_jobs(n_jobs) if is_smc else 1)
    return found


def factors_of(
    X: Ints, method: str, a: float | None, repeat: int, budget: FactorBudget, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Return W (I, K) and H (K, J) of one run."""
    seed = trial_seed(budget.seed, method, a, repeat)
    if method == PROJECTED_GRADIENT:
        return projected_gradient_nmf(X, budget.rank, np.random.default_rng(seed))
    if a is None:
        return _coordinate_descent(X, budget.rank, seed)
    factors = AllocationFactors(
        AllocationModel.nmf(len(X), len(X.T), budget.rank, a=a),
        method=OF_FACTORS[method],
        n_starts=budget.n_modes if method == ANNEALING else budget.n_starts,
        n_sweeps=budget.n_sweeps,
        **budget.of_smc(method == SMC_WITH_MOVES),
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(X)
    return bayesian_factors(factors.tables_, int(X.sum()))


def bayesian_factors(tables: dict[str, Floats], n_tokens: int) -> tuple[Floats, Floats]:
    """Return W = θ_{i|k} (I, K) and H = T θ_{j|k} θ_k (K, J), given the tables of NMF."""
    return tables["i"].T, n_tokens * tables["k"][:, None] * tables["j"]


def _coordinate_descent(X: Ints, rank: int, seed: int) -> tuple[Floats, Floats]:
    solver = NMF(rank, init="random", solver="cd", tol=1e-6, max_iter=2000, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its loss is in the table
        W = solver.fit_transform(X.astype(np.float64))
    return W, solver.components_


def projected_gradient_nmf(
    X: ArrayLike, n_components: int, rng: Rng, *, n_rounds: int = 1000, tolerance: float = 1e-5
) -> tuple[Floats, Floats]:
    """Return W (I, K) and H (K, J), from starts whose product is as large as X on average. |X − W
    H|² is minimised over H ≥ 0 with W fixed, and the other way round, until `n_rounds` or a
    projected gradient of `tolerance` times the first (Lin 2007, algorithms 2 and 4).
    """
    X = np.asarray(X, dtype=np.float64)
    scale = np.sqrt(X.mean() / n_components)
    W = scale * np.abs(rng.standard_normal((X.shape[0], n_components)))
    H = scale * np.abs(rng.standard_normal((n_components, X.shape[1])))
    first = _projected_norm(X, W, H)
    limit_W = limit_H = max(1e-3, tolerance) * first
    for _ in range(n_rounds):
        if _projected_norm(X, W, H) <= tolerance * first:
            break
        solved, n_steps = _least_squares(X.T, H.T, W.T, limit_W)
        W = solved.T
        limit_W *= SHRINK if n_steps == 0 else 1.0
        H, n_steps = _least_squares(X, W, H, limit_H)
        limit_H *= SHRINK if n_steps == 0 else 1.0
    return W, H


def _least_squares(X: Floats, W: Floats, H: Floats, limit: float) -> tuple[Floats, int]:
    """Return the H ≥ 0 of least |X − W H|² / 2, from the start `H`, and its steps (algorithm 4)."""
    WtX, WtW, step = W.T @ X, W.T @ W, 1.0
    for n_steps in range(MAX_STEPS):
        gradient = WtW @ H - WtX
        if np.linalg.norm(gradient[(gradient < 0) | (H > 0)]) <= limit:
            return H, n_steps
        best, grows = None, True
        for trial in range(MAX_TRIALS):
            tried = np.maximum(H - step * gradient, 0.0)
            move = tried - H
            change = (1 - SUFFICIENT) * (gradient * move).sum() + 0.5 * (move * (WtW @ move)).sum()
            falls = bool(change < 0)
            grows = grows and (trial > 0 or falls)
            if grows and (not falls or (best is not None and (best == tried).all())):
                step *= SHRINK
                break
            if falls:
                best = tried  # the longest step so far that falls enough
                if not grows:
                    break
            step = step / SHRINK if grows else step * SHRINK
        if best is None:
            return H, n_steps
        H = best
    return H, MAX_STEPS


def _projected_norm(X: Floats, W: Floats, H: Floats) -> float:
    """Return the norm of the gradient in W and H, less what leads to negative factors (eq. 14)."""
    pairs = ((W, (W @ H - X) @ H.T), (H, W.T @ (W @ H - X)))
    return float(np.sqrt(sum((g[(g < 0) | (at > 0)] ** 2).sum() for at, g in pairs)))


def factor_quality(X: ArrayLike, W: ArrayLike, H: ArrayLike) -> FactorQuality:
    """Return the measures of W H ≈ X. The scale of each component is arbitrary, and sparsity
    depends on it: the columns of W are made to sum to 1, as those of a conditional probability
    table do, and H takes the scale. Raises ValueError if a number is negative or not finite, or the
    shapes do not fit.
    """
    X, W, H = (np.asarray(each, dtype=np.float64) for each in (X, W, H))
    for name, array in (("X", X), ("W", W), ("H", H)):
        if array.ndim != 2 or not np.isfinite(array).all() or (array < 0).any():
            raise ValueError(f"{name} must be a matrix of finite numbers, none negative")
    if X.shape != (W.shape[0], H.shape[1]) or W.shape[1] != H.shape[0]:
        raise ValueError(f"W {W.shape} times H {H.shape} must have the shape of X, {X.shape}")
    scale = W.sum(axis=0)
    normalised, scaled = W / np.where(scale > 0, scale, 1.0), H * scale[:, None]
    expected = normalised @ scaled
    return FactorQuality(
        (hoyer_sparsity(normalised) + hoyer_sparsity(scaled)) / 2,
        (hoyer_sparsity(W) + hoyer_sparsity(H)) / 2,
        squared_loss(X, expected),
        kl_divergence(X, np.maximum(expected, FLOOR)),
        float(X[expected == 0].sum()),
    )


def hoyer_sparsity(values: ArrayLike) -> float:
    """Return (√n − |x|₁ / |x|₂) / (√n − 1) of n numbers: 0 of equal ones, 1 if all but one are 0.
    Hoyer 2004. It is not defined, NaN, of zeros only and of a single number.
    """
    x = np.abs(np.asarray(values, dtype=np.float64)).ravel()
    length = float(np.sqrt((x**2).sum()))
    if x.size < 2 or length == 0:
        return float("nan")
    return float((np.sqrt(x.size) - x.sum() / length) / (np.sqrt(x.size) - 1))


def squared_loss(X: ArrayLike, expected: ArrayLike) -> float:
    """Return |X − X̂|², the squared Frobenius norm."""
    return float(((np.asarray(X, dtype=np.float64) - np.asarray(expected)) ** 2).sum())


def kl_divergence(X: ArrayLike, expected: ArrayLike) -> float:
    """Return Σ X log(X / X̂) − X + X̂, in nats; infinite if X̂ is 0 where X is not."""
    X, expected = np.asarray(X, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return float((xlogy(X, X) - xlogy(X, expected) - X + expected).sum())


def _findings(result: Any) -> Findings:
    of_methods = grouped(result["rows"], "method")
    for method, (name, claim) in product(_methods_in(of_methods), CLAIMS.items()):
        sentence, key, sign, papers = claim
        values = numbers(of_methods[method], key)
        peer = numbers(of_methods[PROJECTED_GRADIENT], key)
        rows = zip(of_methods[method], sign * values > sign * peer, strict=True)
        failed = [f"a = {row['a']:g}" for row, holds in rows if not holds]
        text = f"{method}: {sentence} than {PROJECTED_GRADIENT}"
        yield Finding(name, text, failed, papers.get(method, ""))


def _methods_in(of_methods: Mapping[str, Any]) -> list[str]:
    """Return the Bayesian methods of a result; those of former versions had no annealing."""
    return [method for method in BAYESIAN if method in of_methods]


def _tables(result: Any) -> list[Table]:
    columns = (
        Column("method", "method"),
        Column("a", "a", "g"),
        Column("sparsity", "sparsity", ".4f", "sparsity_standard_error"),
        Column("unscaled", "unscaled_sparsity", ".4f"),
        Column("squared loss", "squared_loss", ".1f", "squared_loss_standard_error"),
        Column("KL divergence", "kl_divergence", ".2f", "kl_divergence_standard_error"),
        Column("impossible", "tokens_held_impossible", ".2f"),
    )
    note = (
        f"Letter pairs of {result['source']}. Means ± standard errors of {result['repeats']} runs; "
        f"of {SMC} the most probable of {result['particles']:,} particles, or with moves of "
        f"{result['particles_with_moves']:,}, {result['moves']} tokens resampled after each; of "
        f"{ANNEALING} the mean of a chain at the best of {result.get('modes', 0)} modes, about "
        f"{result.get('sweeps', 0):,} sweeps; of {VB} the best of {result['starts']} starts. "
        f"{PEERS[0]}: alternating projected gradients (Lin 2007); {PEERS[1]}: "
        "coordinate descent of scikit-learn, which minimises the same loss. Sparsity: Hoyer's, "
        "mean of both factors, the columns of W scaled to sum to 1; unscaled: of factors as they "
        "come. Impossible: mean number of tokens in cells that are expected to be empty, for which "
        f"KL divergence takes {FLOOR:.1e} for the expectation."
    )
    title = f"NMF of rank {result['rank']} of {result['tokens']:,} letter pairs"
    return [Table(title, columns, result["rows"], note, headings=2)]


def _headline(result: Any) -> Headline:
    of_methods = grouped(result["rows"], "method")
    peer = next(row["sparsity"] for row in result["rows"] if row["a"] is None)
    found = []
    for method in _methods_in(of_methods)[:-1]:
        sparsity = [row["sparsity"] for row in of_methods[method]]
        found.append(f"{method} {sum(each > peer for each in sparsity)} of {len(sparsity)}")
    what = "values of a at which factors are sparser than those of least squares"
    return Headline(what, ", ".join(found), "SMC: a considerable range")


def _draw(figure: Any, result: Any, _: Any) -> None:
    of_methods = grouped(result["rows"], "method")
    panels = figure.subplots(1, len(TITLES))
    for axes, (measure, title) in zip(panels, TITLES.items(), strict=True):
        for method in _methods_in(of_methods):
            level, error = (numbers(of_methods[method], measure + end) for end in ENDS)
            axes.errorbar(numbers(of_methods[method], "a"), level, yerr=error, label=method)
        for p, peer in enumerate(PEERS):
            (row,) = of_methods[peer]
            level, error = row[measure], row[f"{measure}_standard_error"]
            colour = series_style(len(BAYESIAN) + p)["color"]
            axes.axhline(level, color=colour, linestyle=("--", ":")[p], label=peer)
            axes.axhspan(level - error, level + error, color=colour, alpha=0.2, linewidth=0)
        axes.set(xscale="log", xlabel="a", title=title)
    panels[0].legend()


EXPERIMENT = Experiment(
    NAME,
    "Figure 16",
    "How sparse and how near factors by SMC, annealing, VB and least squares are.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "Figure 16: sparsity, squared loss and KL divergence against a", _draw),),
    data=lambda result: data_note("the letter pairs of Norvig (2013)", result["source"]),
)
