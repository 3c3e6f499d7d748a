"""Buntine 2009, Table 1: estimates of short documents' likelihoods beside the exact values.

For each gamma: pairs of a model, whose topics are ~ Dirichlet(gamma) over V words, and a document
of L tokens drawn from it, a fresh pair each time. The error of an estimate is in bits a word:

    (estimate - exact) of -log2 p(document) / L
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.arrays import Floats
from evaluation.lda.exact import exact
from pipeline.figures.style import MUTED
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS, REFINED
from pipeline.reproduce.buntine2009.simulated import draw_document
from pipeline.reproduce.claims import MAX_T, Finding, Findings
from pipeline.reproduce.experiment import Experiment, Figure, Found
from pipeline.reproduce.settings import ReproduceSettings
from pipeline.reproduce.tables import Column, Headline, Table, grouped, indexed, text
from pipeline.reproduce.trials import group_of, run_trials, scaled

NAME = "buntine-table-1"
QUICK = {"n_pairs": 100}
# Mean, standard deviation and Student's t of 100 pairs, by gamma and estimator. The mean of LR at
# gamma = 1 is printed as .000796; its deviation and t say ten times that.
PUBLISHED = {
    (0.2, "HM"): (-0.3357, 0.2345, -14.3),
    (0.2, "MFI 1st"): (0.0018, 0.0114, 1.58),
    (0.2, "MFI 2nd"): (0.0016, 0.0204, 0.815),
    (0.2, "LR"): (0.0032, 0.0256, 1.26),
    (0.2, "LRS"): (0.00072, 0.0156, 0.46),
    (0.5, "HM"): (-0.210, 0.120, -17.5),
    (0.5, "MFI 1st"): (0.00131, 0.0347, 0.377),
    (0.5, "MFI 2nd"): (0.00624, 0.0244, 2.55),
    (0.5, "LR"): (0.0128, 0.0429, 2.98),
    (0.5, "LRS"): (-0.00002, 0.0233, -0.0079),
    (1.0, "HM"): (-0.109, 0.0878, -12.4),
    (1.0, "MFI 1st"): (0.0181, 0.0668, 2.70),
    (1.0, "MFI 2nd"): (0.0261, 0.0380, 6.87),
    (1.0, "LR"): (0.00796, 0.0502, 1.58),
    (1.0, "LRS"): (0.00457, 0.0317, 1.44),
    (3.0, "HM"): (-0.0440, 0.0819, -5.37),
    (3.0, "MFI 1st"): (0.0694, 0.0797, 8.71),
    (3.0, "MFI 2nd"): (0.0553, 0.0646, 8.55),
    (3.0, "LR"): (0.00926, 0.0417, 2.22),
    (3.0, "LRS"): (0.00510, 0.0259, 1.97),
}


@dataclass(frozen=True)
class Table1Budget:
    """Models and documents to draw, the paper's but for ten times as many pairs."""

    n_pairs: int = 1000
    gammas: tuple[float, ...] = (0.2, 0.5, 1.0, 3.0)
    n_topics: int = 4
    n_words: int = 1000
    length: int = 14
    alpha: float = 0.1
    n_samples: int = 200
    seed: int = 0


def _run(settings: ReproduceSettings) -> Found:
    """Compute all pairs; those of a gamma are cached together."""
    budget = scaled(Table1Budget(), settings, QUICK, n_pairs=settings.pairs)
    keys = [(gamma,) for gamma in budget.gammas]
    group = group_of(NAME, budget)
    found = run_trials(group, keys, lambda gamma: table_1(budget, gamma), NAME, "values of gamma")
    return Found(as_json(budget, found), [each["error"] for each in found.values()])


def table_1(budget: Table1Budget, gamma: float) -> dict[str, Floats]:
    """Return errors and reported standard errors (M, P) in bits a word, by estimator and pair."""
    shape = (len(ESTIMATORS), budget.n_pairs)
    found = {"error": np.empty(shape), "standard_error": np.empty(shape)}
    bits = budget.length * np.log(2.0)  # nats a document in a bit a word
    for pair in range(budget.n_pairs):
        rng = np.random.default_rng([budget.seed, budget.gammas.index(gamma), pair])
        topics, document = draw_document(budget, gamma, rng)
        truth = exact(topics, document).log_likelihood[0]
        for m, estimator in enumerate(ESTIMATORS.values()):
            seed = int(rng.integers(2**32))
            estimate = estimator(topics, document, n_samples=budget.n_samples, seed=seed)
            found["error"][m, pair] = (truth - estimate.log_likelihood[0]) / bits
            found["standard_error"][m, pair] = estimate.standard_error[0] / bits
    return found


def statistics(error: Floats, standard_error: Floats, length: int) -> dict[str, Floats]:
    """Return statistics (M,) over pairs of errors and standard errors (M, P).

    `ratio` is the mean of the estimated p(document) over the exact one. An unbiased estimator has 1
    here, and a mean error above 0 by half the variance of its log p. `coverage` is the share of
    exact values within two reported standard errors, about 0.95 if these are right.
    """
    root, relative = np.sqrt(error.shape[1]), np.exp2(-error * length)
    mean, deviation = error.mean(axis=1), error.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / (deviation / root)
    ratio, ratio_error = relative.mean(axis=1), relative.std(axis=1, ddof=1) / root
    found = {"mean": mean, "standard_deviation": deviation, "t": t}
    found["coverage"] = (np.abs(error) <= 2 * standard_error).mean(axis=1)
    return found | {"ratio": ratio, "ratio_standard_error": ratio_error}


def as_json(budget: Table1Budget, found: dict[tuple[float], Any]) -> dict[str, Any]:
    """Return a row for each gamma and estimator."""
    names, rows = ("mean", "standard_deviation", "t"), []
    for (gamma,), each in found.items():
        columns = statistics(each["error"], each["standard_error"], budget.length)
        for m, estimator in enumerate(ESTIMATORS):
            published = PUBLISHED.get((gamma, estimator))
            row = {name: float(values[m]) for name, values in columns.items()}
            theirs = published and dict(zip(names, published, strict=True))
            rows.append({"gamma": gamma, "estimator": estimator, **row, "published": theirs})
    about = {"pairs": budget.n_pairs, "samples": budget.n_samples, "tokens": budget.length}
    return {"name": NAME, **about, "rows": rows}


def _tables(result: Any) -> list[Table]:
    theirs = "published, 100 pairs"
    both = ("mean", "mean", ".5f"), ("st. dev.", "standard_deviation", ".4f"), ("t", "t", ".2f")
    columns = (
        Column("estimator", "estimator"),
        *(Column(title, key, form, group="ours") for title, key, form in both),
        Column("covered", "coverage", ".0%", group="ours"),
        Column("p / exact", "ratio", ".3f", "ratio_standard_error", group="ours"),
        *(Column(title, f"published.{key}", form, group=theirs) for title, key, form in both),
    )
    note = (
        f"Error of −log2 p a word over {result['pairs']:,} pairs of model and document of "
        f"{result['tokens']} tokens; {result['samples']} samples. Covered: truth within two "
        "standard errors that the estimator reports. p / exact: mean ratio, 1 for an unbiased "
        "estimator."
    )
    by_gamma = grouped(result["rows"], "gamma")
    return [Table(f"gamma = {gamma:g}", columns, rows, note) for gamma, rows in by_gamma.items()]


def _headline(result: Any) -> Headline:
    row = next(row for row in result["rows"] if row["estimator"] == "LRS")
    ours, theirs = (
        f"{text(of['mean'], '.5f')} (t = {text(of['t'], '.2f')})" if of else "–"
        for of in (row, row["published"])
    )
    return Headline(f"mean error of LRS at gamma = {row['gamma']:g}, bits a word", ours, theirs)


def _findings(result: Any) -> Findings:
    by_gamma = {g: indexed(of, "estimator") for g, of in grouped(result["rows"], "gamma").items()}
    gammas = np.array(list(by_gamma))

    def of(estimator: str, column: str) -> Any:
        return np.array([rows[estimator][column] for rows in by_gamma.values()])

    def claim(name: str, sentence: str, holds: Any, paper: str = "") -> Finding:
        return Finding(name, sentence, [f"gamma = {gamma}" for gamma in gammas[~holds]], paper)

    for key, name, paper in (("lrs", "LRS", "LRS is unbiased."), ("refined", REFINED, "")):
        is_centred = np.abs(of(name, "t")) < MAX_T
        yield claim(f"{key}-centred", f"mean error of {name}: |t| < {MAX_T}", is_centred, paper)
        t = (of(name, "ratio") - 1) / of(name, "ratio_standard_error")
        sentence = f"p / exact of {name} is 1: |t| < {MAX_T}"
        yield claim(f"{key}-unbiased", sentence, np.abs(t) < MAX_T)
    is_low, sentence = of("HM", "t") < -5, "mean error of HM, up to gamma = 1: t < -5"
    yield claim("hm-too-low", sentence, is_low | (gammas > 1), "The harmonic mean is biased.")
    lrs, lr = (of(name, "standard_deviation") for name in ("LRS", "LR"))
    sentence = "st. dev. of LRS no larger than of LR"
    yield claim("lrs-no-noisier", sentence, lrs <= lr, "LRS has less variance than LR.")


def _draw(figure: Any, result: Any, errors: Any) -> None:
    gammas = list(grouped(result["rows"], "gamma"))
    panels = figure.subplots(1, len(gammas), sharey=True)
    for axes, gamma, error in zip(panels, gammas, errors, strict=True):
        axes.axhline(0, color=MUTED, linewidth=0.8)
        axes.boxplot(error.T, showfliers=True, flierprops={"markersize": 2})
        axes.set_xticks(range(1, len(ESTIMATORS) + 1), ESTIMATORS, rotation=60)
        axes.set_title(f"gamma = {gamma}")
    panels[0].set_ylabel("estimate - exact of -log2 p a word")
    panels[0].set_yscale("symlog", linthresh=0.02)


EXPERIMENT = Experiment(
    NAME,
    "Table 1",
    "How far estimators of log p(document) under LDA are from the exact value.",
    *(_run, _tables, _headline, _findings),
    (Figure("", "Errors of all pairs, a panel for each gamma", _draw),),
)
