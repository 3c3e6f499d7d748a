"""Estimates of several models, each from the annealed runs of all.

Models of the same graph that differ in their priors, or in how many values hidden indices have,
share allocations: up to *labels*, the names of hidden values, an allocation that uses C values of
an index is one of every model that has C or more. A run of model q ends with an unbiased estimate
Z_q of its probability, and with an allocation S_q, so that the mean of Z_q f(S_q) is, for any f,
Σ_S π_q(S) f(S). So

    Σ_q Z_q c_q π_m(S_q) / Σ_n c_n π_n(S_q)

is an unbiased estimate of the probability of model m, whatever the numbers c are (multiple
importance sampling; Veach & Guibas 1995): each allocation is counted by the runs that are likely to
end there. Runs give several S, whose average is taken. A mode that the searches of one model find,
or a run that ends where few do, counts for all models.

Here c_n = min(1, Z_n / p_n) / (v_n p_n), with p_n = p_n(X), the mean Z_n of the model's runs and
their relative variance v_n: models whose runs vary, or are lower than all others say, count less.
(With equal v it is the balance heuristic.) `VARIANCE`, that of the ratios, is added to v_n, but not
in estimates of model n itself, which so keep an estimate that is nearly exact. A tenth of the
repeats, or one of few, has c from the others, for which the equation is solved for all models at
once (Shirts & Chodera 2008): so a repeat is unbiased.

Labels are summed over: allocations have n! / (n - C)! times the probability, for each class of
exchangeable indices with n values, C of them in use.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from evaluation.allocation.marginal_estimate import MarginalEstimate
from evaluation.arrays import Bools, Floats
from evaluation.monte_carlo.log_mean import log_mean_of
from models.allocation.allocations import Allocations
from models.allocation.cell_counts import CellCounts
from models.allocation.exchangeable import exchangeable_classes
from models.allocation.model import AllocationModel

N_FOLDS = 10  # Repeats whose c are found together, from the others, are a tenth at least
N_ITERATIONS = 1000  # at most, to solve for the probabilities of all models
TOLERANCE = 1e-6  # nats
VARIANCE = 0.05  # Relative, of the ratios of probabilities of a run's draws
LEAST_VARIANCE = 1e-12


def pool_marginals(
    models: Sequence[AllocationModel], estimates: Sequence[MarginalEstimate]
) -> list[MarginalEstimate]:
    """Return estimates of the models, each from the runs of all, given the estimate of each by
    `log_marginal(model, X, "annealed")`, of the same X and with as many repeats.

    The repeats of all models are dependent: the n-th of each are of the same runs. Estimates of one
    repeat, of one model or without an error stay as they are. Raises ValueError if models do not
    share allocations, or estimates have none, or different numbers of repeats.
    """
    if not share_allocations(models):
        raise ValueError(
            "models must be of one graph, with as many values of each index that is visible or "
            "not exchangeable"
        )
    allocations = [each.allocations for each in estimates if each.allocations is not None]
    if len(allocations) < len(estimates):
        raise ValueError(
            "estimates must have allocations, as those of method annealed have, but for impossible "
            "models and tables of very many tokens"
        )
    numbers = {len(each.repeats) for each in estimates}
    if len(numbers) > 1:
        raise ValueError(f"estimates must have as many repeats each, found {sorted(numbers)}")
    (n_repeats,) = numbers
    if n_repeats < 2 or len(models) < 2:
        return list(estimates)
    runs = _Runs(
        np.array([each.repeats for each in estimates]),
        np.array([_densities(models, each) for each in allocations]),
    )
    repeats = np.zeros((n_repeats, len(models)))
    fold = np.arange(n_repeats) % N_FOLDS
    for n in range(min(N_FOLDS, n_repeats)):
        rule = runs.some(fold != n).solved()
        repeats[fold == n] = runs.some(fold == n).balanced(rule)
    shares = runs.shares()
    return [
        _pooled(each, repeats[:, m], shares[m]) if each.standard_error > 0.0 else each
        for m, each in enumerate(estimates)
    ]


def share_allocations(models: Sequence[AllocationModel]) -> bool:
    """Return whether allocations of the models are the same but for labels: whether they have the
    same graph and visible values, and as many hidden values of each index that is not exchangeable.
    """
    classes = _classes_of(models)
    named = {name for names in classes for name in names}
    for model in models:
        same = ("parents", "visible", "tied", "shape")
        if any(getattr(model, name) != getattr(models[0], name) for name in same):
            return False
        found = {name for names in exchangeable_classes(model) for name in names}
        for name in model.hidden:
            size = model.cardinalities[name]
            if name in named:
                if size > 1 and name not in found:
                    return False
            elif size != models[0].cardinalities[name]:
                return False
    return True


def _classes_of(models: Sequence[AllocationModel]) -> list[tuple[str, ...]]:
    """Return the classes of exchangeable indices of any model, which have several values there."""
    return sorted({names for model in models for names in exchangeable_classes(model)})


class _Rule(NamedTuple):
    """Numbers by which runs count."""

    log_c: Floats  # (n_models,), log of c, for the estimates of other models
    log_more: Floats  # (n_models,), log of what c is more for the model's own estimate


class _Runs(NamedTuple):
    """Runs of all models."""

    logs: Floats  # (n_models, n_repeats), log of the estimate of each run
    densities: Floats
    """(n_models, n_repeats, n_draws, n_models), log-probability of the draws of each run under each
    model, up to labels."""

    def some(self, is_taken: Bools) -> "_Runs":
        """Return the runs of some repeats."""
        return _Runs(self.logs[:, is_taken], self.densities[:, is_taken])

    def terms(self, rule: _Rule) -> Floats:
        """Return the log of what each run adds to the estimate of each model: (n_models, n_repeats,
        n_models).
        """
        mixture = logsumexp(self.densities + rule.log_c, axis=3, keepdims=True)
        mixture = np.logaddexp(mixture, self.densities + rule.log_more)
        ratios = logsumexp(self.densities - mixture, axis=2) - math.log(self.densities.shape[2])
        log_c = np.repeat(rule.log_c[:, np.newaxis], len(rule.log_c), axis=1)
        np.fill_diagonal(log_c, np.logaddexp(rule.log_c, rule.log_more))
        return np.asarray(self.logs[:, :, np.newaxis] + log_c[:, np.newaxis] + ratios)

    def balanced(self, rule: _Rule) -> Floats:
        """Return the log of the estimate of each model by each repeat: (n_repeats, n_models)."""
        return np.asarray(logsumexp(self.terms(rule), axis=0))

    def solved(self) -> _Rule:
        """Return the c with the probabilities that these runs give by it."""
        log_n = math.log(self.logs.shape[1])
        own = logsumexp(self.logs, axis=1) - log_n
        ratios = np.exp(self.logs - own[:, np.newaxis])
        variance = ratios.var(axis=1, ddof=1) if ratios.shape[1] > 1 else np.ones(len(ratios))
        variance = np.maximum(variance, LEAST_VARIANCE)
        more = VARIANCE / (variance * (variance + VARIANCE))  # 1 / v less 1 / (v + VARIANCE)
        levels = own
        for _ in range(N_ITERATIONS):
            log_c = np.minimum(0.0, own - levels) - levels
            rule = _Rule(log_c - np.log(variance + VARIANCE), log_c + np.log(more))
            before, levels = levels, logsumexp(self.balanced(rule), axis=0) - log_n
            if np.abs(levels - before).max() < TOLERANCE:
                break
        return rule

    def shares(self) -> Floats:
        """Return the share that the runs of each model have in each estimate: (of, from)."""
        terms = logsumexp(self.terms(self.solved()), axis=1)
        shares: Floats = np.exp(terms - logsumexp(terms, axis=0)).T
        return shares


def _densities(models: Sequence[AllocationModel], found: CellCounts) -> Floats:
    """Return the log-probability of each draw's allocation, up to labels, under each model:
    (n_repeats, n_draws, n_models).
    """
    n_repeats, n_draws = found.shape[:2]
    n, of = n_repeats * n_draws, found.cells[:, 0] * n_draws + found.cells[:, 1]
    columns = dict(zip(models[0].indices, found.cells[:, 2:].T, strict=True))
    used = {}
    for names in _classes_of(models):
        values = np.stack([columns[name] for name in names])
        n_values = values.max(initial=0) + 1
        pairs, place = np.unique(of * n_values + values, return_inverse=True)
        used[names] = np.bincount(pairs // n_values, minlength=n)
        labels = place.reshape(values.shape) - (np.cumsum(used[names]) - used[names])[of]
        columns |= dict(zip(names, labels, strict=True))
    allocations = Allocations(of, columns, found.counts, n)
    densities = np.zeros((n, len(models)))
    for m, model in enumerate(models):
        densities[:, m] = allocations.log_probabilities(model)
        for names, n_used in used.items():
            left = model.cardinalities[names[0]] - n_used
            copies = gammaln(model.cardinalities[names[0]] + 1) - gammaln(np.maximum(left, 0) + 1)
            densities[:, m] = np.where(left < 0, -np.inf, densities[:, m] + copies)
    return densities.reshape(n_repeats, n_draws, len(models))


def _pooled(own: MarginalEstimate, repeats: Floats, shares: Floats) -> MarginalEstimate:
    log_marginal, error, _ = log_mean_of(repeats)
    return replace(
        own,
        log_marginal=log_marginal,
        standard_error=error,
        repeats=repeats,
        genealogy_error=math.nan,
        n_sources=float(1.0 / (shares**2).sum()),
    )
