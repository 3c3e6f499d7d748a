"""Scored models as rows: posterior log odds with errors, a recommendation, warnings.

All models have the same prior probability. The posterior log-probability of model m is
l_m - log Σ_n exp(l_n), and its variance Σ_nq (δ_mn - p_n) (δ_mq - p_q) C_nq, with the covariances C
of the estimates l (delta method). Estimates are independent, but for those of one graph that are
`pooled`: these have the covariance of their repeats.

The standard error s of a log is the relative one of the probability. It is never above 1: if one
run outweighs all others, the mean is that run's, and s is 1. The estimate is *rough* then
(`MarginalEstimate.is_unreliable`): likely too low, by an unknown amount, since few runs find where
the mass is. No model is called better than one with a rough estimate.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm as normal
from scipy.stats import t as student_t

from evaluation.allocation.marginal_estimate import TimedMarginal
from evaluation.arrays import Floats
from pipeline.allocation.candidates import Candidate, model_name

ERRORS_APART = 2.0  # Standard errors by which a difference counts as significant
FEW_PARTICLES = 10.0  # Effective sample size below which a standard error is not trusted
MAX_NAMES = 4


def rows_of(
    candidates: Sequence[Candidate], scores: Sequence[TimedMarginal]
) -> list[dict[str, Any]]:
    """Return a row for each model; missing numbers are None, as JSON has no NaN."""
    rows: list[dict[str, Any]] = [
        {
            "graph": candidate.graph,
            "rank": candidate.rank,
            "sizes": dict(candidate.sizes),
            "log_marginal": finite(score.estimate.log_marginal),
            "standard_error": finite(score.estimate.standard_error),
            "spread": finite(score.estimate.spread) if score.estimate.path else None,
            "rough": score.estimate.is_unreliable and math.isfinite(score.estimate.log_marginal),
            "direction": score.estimate.direction,
            **dict.fromkeys(("log_odds", "log_odds_standard_error")),  # Filled in below
            **_particles(score),
            "modes_found": score.estimate.n_found or None,
            "sources": score.estimate.n_sources or None,
            "seconds": score.seconds,
            "repeats": [finite(each) for each in score.estimate.repeats],
        }
        for candidate, score in zip(candidates, scores, strict=True)
    ]
    marginals = np.array([number(row["log_marginal"]) for row in rows])
    for row, odds, error in zip(rows, *log_odds(marginals, covariance_of(rows)), strict=True):
        row |= {"log_odds": finite(odds), "log_odds_standard_error": finite(error)}
    return rows


def covariance_of(rows: Sequence[dict[str, Any]]) -> Floats:
    """Return the covariance (n, n) of the log marginals of rows: of those of one graph that are
    pooled that of their repeats, each repeat for all at once; others are independent.
    """
    errors = np.array([number(row["standard_error"], math.inf) for row in rows])
    covariance = np.diag(errors**2)
    for graph in dict.fromkeys(row["graph"] for row in rows if row.get("sources")):
        pool = [n for n, row in enumerate(rows) if row.get("sources") and row["graph"] == graph]
        marginals = np.array([number(rows[n]["log_marginal"]) for n in pool])
        repeats = np.array([[number(each) for each in rows[n]["repeats"]] for n in pool])
        with np.errstate(invalid="ignore"):  # An impossible model has no deviations
            deviations = np.exp(repeats - marginals[:, np.newaxis]) - 1.0
        n_repeats = repeats.shape[1]
        of_pool = deviations @ deviations.T / (n_repeats * (n_repeats - 1))
        covariance[np.ix_(pool, pool)] = of_pool
    return covariance


def log_odds(marginals: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Log-probabilities (n,) of models given the data, and their standard errors."""
    if not np.isfinite(marginals).any():
        return np.full(len(marginals), np.nan), np.full(len(marginals), np.nan)
    odds = marginals - logsumexp(marginals)
    shares = np.exp(odds)
    # An impossible model has no error, and adds none to the errors of others.
    is_possible = np.isfinite(marginals)
    known = np.where(np.outer(is_possible, is_possible), covariance, 0.0)
    weights = np.eye(len(odds)) - shares
    with np.errstate(invalid="ignore"):
        variance = np.einsum("mn,nq,mq->m", weights, known, weights)
        variance = variance + np.where(is_possible, 0.0, np.diag(covariance))
    return odds, np.sqrt(np.maximum(variance, 0.0))


def recommend(rows: Sequence[dict[str, Any]], place: int, method: str) -> str:
    """Recommend the model at `place`, and say whether others may be as good."""
    best = rows[place]
    if best["log_marginal"] is None:
        return "none: the counts are impossible under every model"
    name = name_of(best)
    others = [row for row in rows if row is not best and row["log_marginal"] is not None]
    sentence = (
        f"{name}: the only one that is possible" if len(rows) > 1 else f"{name}: the only one"
    )
    if others:
        sentence = _compared(best, others, method)
    ranks = [row["rank"] for row in rows if row["graph"] == best["graph"]]
    if len(ranks) > 1 and best["rank"] == max(ranks):
        sentence += "; it is the largest rank tried: try larger ones too"
    return sentence


def _compared(best: dict[str, Any], others: Sequence[dict[str, Any]], method: str) -> str:
    runner_up = max(others, key=lambda row: float(row["log_marginal"]))
    gap, error = difference(best, runner_up)
    rough = [row for row in others if row["rough"]]
    near = [row for row in others if not is_significant(best, row) and row not in rough]
    above = f"{gap:.2f} ± {error:.2f} nats" if error else f"{gap:.2f} nats"
    if best["rough"] or runner_up["rough"]:
        above = f"{gap:.2f} nats, with errors that nobody knows,"
    if method == "vb":
        what = (
            f"the highest lower bound, {gap:.2f} nats above that of {name_of(runner_up)}; bounds "
            "do not tell by how much each is too low: the models themselves may stand in another "
            "order"
        )
    elif method == "exact":
        equal = f", and just as probable: {_names(near)}" if near else ""
        what = f"the most probable{equal or f', {above} above {name_of(runner_up)}'}"
    elif error is None:
        what = (
            f"the highest estimate, {above} above {name_of(runner_up)}; one run each has no error: "
            "give --repeats of 2 or more"
        )
    elif not near and not rough:
        what = f"the most probable, {above} above {name_of(runner_up)}"
    else:
        what = f"the highest estimate, {above} above {name_of(runner_up)}; but not told apart from"
        if near:
            apart = max(errors_apart(best, row) for row in near)
            what += f" {_names(near)}, less than {apart:.2g} standard errors below"
        if rough:
            what += f"{', nor from' if near else ''} {_names(rough)}, of rough estimates"
        what += f": more {effort_of(method)} or --repeats"
    return f"{name_of(best)}: {what}"


def _names(rows: Sequence[dict[str, Any]]) -> str:
    more = len(rows) - MAX_NAMES
    names = [name_of(row) for row in rows[: MAX_NAMES + (more == 1)]]
    return "; ".join([*names, *([f"{more} more"] if more > 1 else [])])


def difference(best: dict[str, Any], other: dict[str, Any]) -> tuple[float, float | None]:
    """Return the difference of two models in nats, and its standard error."""
    gap = float(best["log_marginal"] - other["log_marginal"])
    if best["standard_error"] is None or other["standard_error"] is None:
        return gap, None
    (of_best, of_both), (_, of_other) = covariance_of([best, other])
    return gap, math.sqrt(max(0.0, of_best - 2 * of_both + of_other))


def is_significant(best: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the difference exceeds its error, and the lower estimate is reliable.

    The higher estimate may be too low; that does not matter. Rounding errors are no difference.
    """
    if other["rough"]:
        return False
    gap, error = difference(best, other)
    rounding = 1e-9 * (1.0 + abs(best["log_marginal"]))
    return error is not None and gap > max(errors_apart(best, other) * error, rounding)


def errors_apart(best: dict[str, Any], other: dict[str, Any]) -> float:
    """Return by how many standard errors two models must differ to be told apart: `ERRORS_APART`,
    and of pooled estimates as many as Student's t has with the same probability.
    """
    if not _are_pooled(best, other):
        return ERRORS_APART
    return float(student_t.ppf(normal.cdf(ERRORS_APART), len(best["repeats"]) - 1))


def _are_pooled(best: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two estimates are each from the runs of both models, and others."""
    are_pooled = bool(best.get("sources") and other.get("sources"))
    return are_pooled and best["graph"] == other["graph"]


def warnings_of(
    rows: Sequence[dict[str, Any]],
    particles: int,
    best: int,
    bound: float | None = None,
    method: str = "smc",
) -> list[str]:
    """Return warnings; `bound` is a lower bound of the log marginal likelihood of row `best`.

    Annealed chains are not warned of where few are effective: they are few from the start.
    """
    found = []
    effort = effort_of(method)
    few = [
        row
        for row in rows
        if method != "annealed"
        and (row["effective_sample_size"] or math.inf) < min(FEW_PARTICLES, particles / 2)
    ]
    if few:
        worst = min(few, key=lambda row: float(row["effective_sample_size"]))
        found.append(
            f"at some token no more than {worst['effective_sample_size']:.1f} of {particles:,} "
            f"particles were effective ({name_of(worst)}, the worst of {len(few)} of {len(rows)} "
            "models): what is rare may have been missed, and errors be larger than they say; more "
            "--moves or --particles"
        )
    alone = [row for row in rows if row["rough"] and row["modes_found"] == 1]
    if alone:
        found.append(
            f"the best mode of {_names(alone)} was found by one line of searches only: there may "
            "be better ones, and the estimate be too low; more --modes"
        )
    rough = [row for row in rows if row["rough"] and row not in alone]
    if rough:
        worst = max(rough, key=lambda row: float(row["spread"] or 0.0))
        found.append(
            f"{len(rough)} of {len(rows)} estimates are rough, as one run or two outweigh the "
            f"others (the logs of runs spread by {worst['spread'] or math.inf:.1f} nats for "
            f"{name_of(worst)}): "
            f"they have no error that can be trusted, and are likely to be too low; more {effort}, "
            "or fewer tokens"
        )
    estimate, error = rows[best]["log_marginal"], rows[best]["standard_error"] or 0.0
    if bound is not None and estimate is not None and bound > estimate + 2 * error + 1e-6:
        found.append(
            f"the estimate of {name_of(rows[best])} is too low: the lower bound by vb is "
            f"{bound:.2f}; more {effort}"
        )
    impossible = [row for row in rows if row["log_marginal"] is None]
    if impossible:
        found.append(f"the counts are impossible under {', '.join(map(name_of, impossible))}")
    return found


def effort_of(method: str) -> str:
    """Setting that brings runs of a method nearer to the truth."""
    return "--modes, --sweeps" if method == "annealed" else "--moves"


def name_of(row: dict[str, Any]) -> str:
    """Name of a model in sentences."""
    return model_name(row["graph"], row["rank"])


def number(value: float | None, otherwise: float = -math.inf) -> float:
    """Return a value of a row, `otherwise` where it has none."""
    return otherwise if value is None else value


def finite(value: float) -> float | None:
    """Return the value, or None if JSON has none for it: NaN or infinity."""
    return float(value) if math.isfinite(value) else None


def _particles(score: TimedMarginal) -> dict[str, float | None]:
    """Smallest effective sample size and number of surviving ancestors, over tokens and runs."""
    path = score.estimate.path
    if path is None or not path.tokens.size:
        return {"effective_sample_size": None, "surviving_ancestors": None}
    return {
        "effective_sample_size": float(path.effective_sample_size.min()),
        "surviving_ancestors": int(path.n_ancestors[:, -1].min()),
    }
