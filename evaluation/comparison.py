"""Several models on the same documents: which is best, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluation.paired_difference import PairedDifference, paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluation.estimate import LikelihoodEstimate


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models by name, each against the best."""

    estimates: Mapping[str, LikelihoodEstimate]
    best: str
    """The model with the fewest nats a word; of equal ones the first."""
    against_best: Mapping[str, PairedDifference]
    """For every other model, in the order of `estimates`, what it costs more than the best.

    The `probability` is that the best is better than this one. As the best was chosen on these
    documents, among many models of about equal worth it says too much.
    """

    def between(self, first: str, second: str) -> PairedDifference:
        """What model `first` costs more than model `second`."""
        return paired_difference(self.estimates[first], self.estimates[second])


def compare(estimates: Mapping[str, LikelihoodEstimate]) -> Comparison:
    """Models that scored the same documents by the same method, compared document by document.

    The errors of the differences hold both what other documents would change and the Monte Carlo
    error of these estimates, which is in the spread of what documents gain. Not in them is what all
    documents have in common, the bias of the method. An "unbiased" method is so of the probability:
    its logarithm is too low by about half its squared standard error, and more so for the model
    that is harder to sample. Where the sum over documents of half the difference of the squared
    standard errors is not small against the difference itself, take more samples.

    Parameters
    ----------
    estimates : mapping of str to LikelihoodEstimate
        By the names of the models. Documents must be independent: see
        `LikelihoodEstimate.by_group`.

    Raises
    ------
    ValueError
        If there is no estimate, or two are not of the same tokens by the same method.
    """
    if not estimates:
        raise ValueError("there is nothing to compare")
    best = min(estimates, key=lambda name: estimates[name].nats_per_word)
    against_best = {}
    for name, estimate in estimates.items():
        if name != best:
            try:
                against_best[name] = paired_difference(estimate, estimates[best])
            except ValueError as error:
                raise ValueError(f"{name} and {best}: {error}") from error
    return Comparison(dict(estimates), best, against_best)
