"""Figure 3 of Inouye et al. 2015, on Classic3 and on Wikipedia: run, as a table and as pictures."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evaluation.poisson_mrf.field_selection import PENALTIES
from pipeline.errors import UsageError
from pipeline.reproduce.cemgil2019.rank_scores_view import print_findings
from pipeline.reproduce.inouye2015 import published as lpmrf_published
from pipeline.reproduce.inouye2015.claims import findings_of
from pipeline.reproduce.inouye2015.counts import counts_of, split_of
from pipeline.reproduce.inouye2015.figures import draw_likelihood, draw_published
from pipeline.reproduce.inouye2015.models import FEW, FIELDS, MULTINOMIAL, Cell, Effort
from pipeline.reproduce.inouye2015.perplexity import Perplexities, PerplexitySettings
from pipeline.reproduce.inouye2015.runs import cached_score, cached_selection, runs_of
from pipeline.reproduce.panels import finite

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pipeline.cache.results import ResultCache
    from pipeline.reproduce.inouye2015.perplexity import HeldOut
    from pipeline.reproduce.settings import ReproduceSettings

    Floats = NDArray[np.float64]

QUICK_EFFORT: dict[str, Any] = {
    "n_temperatures": 20,
    "round_temperatures": 10,
    "likelihood_temperatures": 30,
    "selection_samples": 50,
    "selection_temperatures": 10,
    "lda_sweeps": 200,
}
QUICK_GRID: dict[str, Any] = {
    "penalties": PENALTIES[7::3],
    "length_scales": (1.0, 1.5, 2.0),
    "patience": 1,
}
TOPICS = {
    ("lpmrf-classic3", "quick"): (3,),
    ("lpmrf-classic3", "full"): (3, 10, 20),
    ("lpmrf-wikipedia", "quick"): (),
    ("lpmrf-wikipedia", "full"): (),
}
"""Of Wikipedia single distributions are published only."""
WITHOUT = math.inf, 1.0
"""λ and c of multinomials."""
TITLES = {
    "single": "{}",
    "mixture": "{} mixture",
    "topics": "{} topic model",
    "gibbs": "{} topic model, Gibbs sampling",
}
BASES = {MULTINOMIAL: "Multinomial", FIELDS: "LPMRF", FEW: "LPMRF, few temperatures"}


def title_of(cell: Cell) -> str:
    """A model's name in tables."""
    if (cell.kind, cell.base) == ("gibbs", MULTINOMIAL):
        return "LDA, Gibbs sampling"
    return TITLES[cell.kind].format(BASES[cell.base])


def protocol(settings: ReproduceSettings, experiment: str, split: HeldOut) -> PerplexitySettings:
    """What the scale and what was asked for stand for.

    Raises
    ------
    UsageError
        If λ and c are to be what they cannot be.
    """
    is_quick = settings.scale == "quick"
    if settings.select == "published" and not split.is_classic3:
        shape, n_tokens = lpmrf_published.SHAPE, lpmrf_published.N_TOKENS
        raise UsageError(
            "--select published: lambda and c were published of Classic3 only, "
            f"{shape[0]:,} documents of {shape[1]:,} words and {n_tokens:,} tokens"
        )
    n_topics = TOPICS[experiment, settings.scale]
    try:
        return PerplexitySettings(
            (settings.topics,) if settings.topics else n_topics,
            Effort(**(QUICK_EFFORT if is_quick else {})),
            **(QUICK_GRID if is_quick else {}),
            given=_given(settings),
            by_published=split.is_classic3
            and (settings.select == "published" or (settings.select == "auto" and is_quick)),
            seed=settings.seed,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _given(settings: ReproduceSettings) -> tuple[float, float] | None:
    penalty, scale = settings.penalty, settings.length_scale
    if penalty is None and scale is None:
        return None
    if penalty is None or scale is None:
        raise UsageError("--penalty and --length-scale belong together: give both or neither")
    for name, value in (("--penalty", penalty), ("--length-scale", scale)):
        if not 0 < value < math.inf:
            raise UsageError(f"{name} must be positive and finite, found {value:g}")
    if settings.select != "auto":
        raise UsageError(
            f"--select {settings.select} says where lambda and c come from: leave it out, or "
            "--penalty and --length-scale"
        )
    return penalty, scale


def run(settings: ReproduceSettings, cache: ResultCache, experiment: str) -> Perplexities:
    """All models in turn; what is in the cache is taken from it."""
    _given(settings)  # at once: counts may have to be downloaded
    corpus = counts_of(settings, experiment)
    split = split_of(corpus)
    wanted = protocol(settings, experiment, split)
    group = runs_of(cache, wanted, split)
    selections, chosen = {}, {}
    for key in dict.fromkeys(cell.chosen_for for cell in wanted.cells):
        source = wanted.source_of(*key)
        if source == "validation":
            found = cached_selection(group, *key, split, wanted, n_jobs=settings.threads)
            selections[key] = found
            chosen[key] = found.penalty, found.length_scale
        else:
            chosen[key] = wanted.given or lpmrf_published.CHOSEN[key]
    scores = {}
    for cell in wanted.cells:
        pair = WITHOUT if cell.base == MULTINOMIAL else chosen[cell.chosen_for]
        scores[cell] = cached_score(group, cell, split, wanted, pair, n_jobs=settings.threads)
    return Perplexities(experiment, corpus.name, wanted, split, scores, selections)


def as_json(found: Perplexities) -> dict[str, Any]:
    """A row for each model, paired differences, selections, and what should hold."""
    split, scores = found.split, found.scores
    return {
        "name": found.name,
        "corpus": {
            "name": found.corpus,
            "is_classic3": split.is_classic3,
            "words": split.train.shape[1],
            "training_documents": split.train.shape[0],
            "training_tokens": int(split.train.sum()),
            "test_documents": split.test.shape[0],
            "test_tokens": int(split.test.sum()),
        },
        "effort": asdict(found.settings.effort),
        "rows": [_row(found, cell) for cell in scores],
        "differences": [
            {
                "first": title_of(each.first),
                "second": title_of(each.second),
                "topics": each.first.n_topics,
                "nats_per_word": finite(each.difference.nats_per_word),
                "standard_error": finite(each.difference.standard_error),
                "p_value": finite(each.difference.p_value),
            }
            for each in found.differences()
        ],
        "selections": [
            {
                "kind": kind,
                "topics": n_topics,
                "penalty": each.penalty,
                "length_scale": each.length_scale,
                "penalties": each.penalties,
                "length_scales": each.length_scales,
                "perplexity": [[finite(value) for value in row] for row in each.perplexity],
                "pairs_of_words": each.n_interactions.tolist(),
            }
            for (kind, n_topics), each in found.selections.items()
        ],
        "findings": findings_of(found, title_of),
    }


def _row(found: Perplexities, cell: Cell) -> dict[str, Any]:
    score, published = found.scores[cell], found.published(cell)
    summed, likelihood = score.summed, None
    if summed is not None:
        squares = float((summed.standard_error**2).sum())
        likelihood = {
            "method": summed.method,
            "perplexity": finite(summed.perplexity),
            "standard_error": finite(summed.perplexity_standard_error),
            "bag_perplexity": finite(found.bag_perplexity(cell)),
            "nats_per_word": finite(summed.nats_per_word),
            "too_many_nats_per_word": 0.5 * squares / summed.total_tokens,
        }
    of_fields = cell.base != MULTINOMIAL
    figure_3 = lpmrf_published.FIGURE_3[found.name] if cell.kind == "single" else {}
    return {
        "model": title_of(cell),
        "kind": cell.kind,
        "base": cell.base,
        "topics": cell.n_topics,
        "penalty": score.penalty if of_fields else None,
        "length_scale": score.length_scale if of_fields else None,
        "from": found.settings.source_of(*cell.chosen_for) if of_fields else None,
        "nonzeros": score.n_nonzeros,
        "test": float(score.test.mean()),
        "train": float(score.train.mean()),
        "runs": len(score.test),
        "test_standard_deviation": _deviation(score.test),
        "train_standard_deviation": _deviation(score.train),
        "published": None if published is None else {"test": published[0], "train": published[1]},
        "figure_3": figure_3.get(cell.base),
        "likelihood": likelihood,
        "log_partition_too_low_by": score.missing,
        "seconds": score.seconds,
    }


def _deviation(runs: Floats) -> float | None:
    return float(runs.std(ddof=1)) if len(runs) > 1 else None


def print_result(result: dict[str, Any]) -> None:
    """A table of models, what they gain, and what should hold."""
    corpus = result["corpus"]
    test, training = (
        f"{corpus[f'{part}_documents']:,} documents of {corpus[f'{part}_tokens']:,} tokens"
        for part in ("test", "training")
    )
    print(
        f"{corpus['name']}, {corpus['words']:,} words: perplexity of {test},\n"
        f"and of the {training} that models are fitted to.\n"
        "Published measure: counts of words, tokens shared out at their best: no likelihood.\n"
        "Likelihood: summed over clusters or over topics of tokens; of counts, and of tokens in "
        "order ± over documents.\n"
        "Lack: nats that the log-partition function is too low by at least, at the mean length; "
        "above 0 no figure\nof the line is of probabilities that sum to 1.\n"
    )
    print(
        f"{'':59s}{'published measure':>19s}{'by the authors':>19s}{'likelihood':>24s}\n"
        f"{'model':34s}{'K':>3s}{'lambda':>9s}{'c':>5s}{'nonzeros':>9s}{'test':>9s}{'train':>9s}"
        f"{'test':>9s}{'train':>9s}{'counts':>9s}{'in order':>9s}{'±':>6s}{'lack':>8s}"
        f"{'seconds':>9s}"
    )
    for row in result["rows"]:
        print(_line(row))
    if result["differences"]:
        print("\nmore nats a word (negative: the first is better), ± over documents")
    for each in result["differences"]:
        print(
            f"{each['first']} against {each['second']}, K = {each['topics']}: "
            f"{_text(each['nats_per_word'], '+.4f')} ± {_text(each['standard_error'], '.4f')}"
        )
    for each in result["selections"]:
        print(
            f"\n{each['kind']}, K = {each['topics']}: validation perplexity for c = "
            + ", ".join(f"{scale:g}" for scale in each["length_scales"])
        )
        for penalty, row in zip(each["penalties"], each["perplexity"], strict=True):
            values = "".join(f"{_text(value, '.3f'):>10s}" for value in row)
            print(f"lambda = {penalty:8.6f}{values}")
    print_findings(result["findings"])


def _line(row: dict[str, Any]) -> str:
    theirs, summed = row["published"] or {}, row["likelihood"] or {}
    return (
        f"{row['model']:34s}{row['topics']:3d}{_text(row['penalty'], '.5f'):>9s}"
        f"{_text(row['length_scale'], 'g'):>5s}{row['nonzeros']:9d}"
        f"{row['test']:9.4f}{row['train']:9.4f}"
        f"{_text(theirs.get('test'), 'g'):>9s}{_text(theirs.get('train'), 'g'):>9s}"
        f"{_text(summed.get('bag_perplexity'), '.3f'):>9s}"
        f"{_text(summed.get('perplexity'), '.2f'):>9s}"
        f"{_text(summed.get('standard_error'), '.1f'):>6s}"
        f"{row['log_partition_too_low_by']:8.1f}{row['seconds']:9.1f}"
    )


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def pictures(found: Perplexities) -> dict[str, Callable[[Any], None]]:
    """Figure 3: single distributions, and over K; the same by the likelihood."""
    return {
        found.name: lambda figure: draw_published(figure, found),
        f"{found.name}-likelihood": lambda figure: draw_likelihood(figure, found),
    }


@dataclass(frozen=True)
class Experiment:
    """One of both, with what `reproduce` asks of a module."""

    name: str

    def run(self, settings: ReproduceSettings, cache: ResultCache) -> Perplexities:
        """All models in turn."""
        return run(settings, cache, self.name)

    as_json = staticmethod(as_json)
    print_result = staticmethod(print_result)
    pictures = staticmethod(pictures)


CLASSIC3, WIKIPEDIA = Experiment("lpmrf-classic3"), Experiment("lpmrf-wikipedia")
