"""Made-up sections of a report, for any number of topics."""

import math

import numpy as np

from pipeline.report import sections

HOSTILE = (
    *("$x_1$", "<b>bold</b>", "<script>alert(1)</script>", "العربية", "\u202eevil\u202c"),
    *("nul\x00bell\x07", "Donaudampfschifffahrtsgesellschaftskapitänsmütze", "quo\"te's"),
    *("a&amp;b", "$\\frac{1}{0$", "line\u2028break", "half\ud800"),
)
SYLLABLES = ("ta", "ri", "mon", "den", "lo", "ve", "sur", "ka", "pi", "ne", "gra", "ol")


def words_of(n, rng, *, hostile=False):
    made = list(HOSTILE) if hostile else []
    while len(made) < n:
        made.append("".join(rng.choice(SYLLABLES, size=int(rng.integers(1, 5)))))
    return tuple(made[:n])


def topics_section(n_topics, seed=0, *, hostile=False):
    rng = np.random.default_rng(seed)
    words = words_of(max(120, 8 * n_topics), rng, hostile=hostile)
    prevalence = np.sort(rng.gamma(1.0, size=n_topics))[::-1]
    prevalence /= prevalence.sum()
    numbers = rng.permutation(n_topics).tolist()
    places = rng.normal(size=(n_topics, 2)) * [1.0, 0.6]
    places = (places - places.min(axis=0)) / max(float(np.ptp(places, axis=0).max()), 1e-9)
    topics, clouds = [], []
    for k in range(n_topics):
        of = rng.choice(len(words), size=30, replace=False)
        if hostile and k == 0:
            of[: len(HOSTILE)] = range(len(HOSTILE))
        p = np.sort(rng.gamma(0.6, size=30))[::-1] * 0.02 + 1e-5
        names = [words[w] for w in of]
        label, place = ", ".join(names[:3]), tuple(places[k].tolist())
        row = sections.TopicRow(
            *(numbers[k], float(prevalence[k]), label, place),
            *(tuple(of.tolist()), tuple(p.tolist()), ()),
        )
        topics.append(row)
        clouds.append(cloud_of(names, p))
    share = rng.gamma(1.0, size=len(words))
    share = tuple((share / share.sum()).tolist())
    return sections.TopicsSection(tuple(topics), words, share, (), (), 0, 0.31, tuple(clouds))


def cloud_of(words, probability):
    cloud = []
    x = y = 0.0
    for word, p in zip(words, probability, strict=True):
        size = max(8.0, 40 * math.sqrt(p / probability[0]))
        width = 0.6 * size * len(word)
        if width > 380:
            size, width = size * 380 / width, 380
        if x + width > 392:
            x, y = 0.0, y + size + 2
        if y + size > 215:
            break
        cloud.append(
            sections.CloudWord(word, x + width / 2 + 4, y + size / 2 + 2, size, width, False)
        )
        x += width + 6
    cloud.append(sections.CloudWord("upright", 392, 200, 12, 0.6 * 12 * 7, is_upright=True))
    return tuple(cloud)


def training_section(n_checks, *, bound=False, factor=1.3, seed=0):
    """Perplexities that fall from 1,500 times `factor` to 1,500, and rise a little in the end."""
    rng, checks = np.random.default_rng(seed), []
    for n in range(n_checks):
        fallen = math.exp(-5 * n / max(n_checks - 1, 1))
        perplexity = 1500 * factor**fallen * (1 + 0.002 * rng.normal()) + 0.5 * max(n - 8, 0)
        checks.append(
            sections.CheckRow(
                *(2252 * (n + 1), 4.0 * (n + 1), 0.51 + 0.03 * n, perplexity, 0.03 * perplexity),
                bound_perplexity=1.12 * perplexity if bound else None,
            )
        )
    best = min(range(n_checks), key=lambda n: checks[n].perplexity)
    return sections.TrainingSection(
        tuple(checks), best, "completion of half of each document", "It ended."
    )


def likelihood_section():
    whole, half = "whole documents", "second half of each document, given the first"
    rows = [
        sections.LikelihoodRow(
            *(method, direction, half if method == "completion" else whole),
            *(math.exp(nats), 0.03 * math.exp(nats), nats, 0.03),
            *(monte_carlo, 0, 1.0, "A sentence."),
        )
        for method, direction, nats, monte_carlo in (
            ("left-to-right-sequential", "unbiased", 7.402, 0.004),
            ("left-to-right-particle", "unbiased", 7.41, 0.011),
            ("variational-bound", "lower bound", 7.512, None),
            ("harmonic-mean", "upward biased", 7.05, 0.02),
            ("mean-field-is-1", "biased", 7.43, 0.03),
            ("completion", "plug-in", 7.39, None),
        )
    ]
    return sections.LikelihoodSection(tuple(rows), 18, 62, 62, 9698, 0.08, "Plain sentences.")


def comparison_of(differences, alignments):
    """Runs by name with their difference to the best and half of its interval, the best first."""
    rows = []
    for name, difference in differences.items():
        above, half = difference or (0.0, 0.0)
        limits = (above, above - half, above + half, 0.9991) if difference else (None,) * 4
        nats = 7.3147 + above
        rows.append(sections.ComparisonRow(name, math.exp(nats), 45.0, nats, 0.002, *limits))
    return sections.ComparisonSection(
        *("left-to-right-sequential", "unbiased", 18, 62, 9698, tuple(rows)),
        *("Plain sentences.", alignments),
    )


def comparison_section():
    long = "a-run-with-a-name-that-is-longer-than-anyone-would-like-it"
    others = {"online-12": (0.021, 0.015), long: (0.055, 0.03), "$gamma_poisson$": (0.19, 0.05)}
    aligned = alignment_of(12, 0), alignment_of(30, 1, "online-12")
    return comparison_of({"gibbs-12": None, **others}, aligned)


def alignment_of(n_pairs, seed, second="$gamma_poisson$", first="gibbs-12"):
    rng = np.random.default_rng(seed)
    distances = np.sort(rng.uniform(0.15, 0.95, size=n_pairs)).tolist()
    words, others = words_of(60, rng, hostile=True), rng.permutation(n_pairs).tolist()
    pairs = [
        sections.AlignedTopics(n, others[n], distances[n], words[n : n + 5]) for n in range(n_pairs)
    ] + [sections.AlignedTopics(n_pairs, None, None, ())]
    return sections.Alignment(first, second, tuple(pairs), float(np.mean(distances)))


def coherence_section(n_topics, seed=0):
    """Coherences of which every fourth has no interval, and the last no value."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.uniform(-0.4, 0.5, size=n_topics - 1))[::-1].tolist()
    found = [
        sections.Measured(value, why="few documents")
        if n % 4 == 3
        else sections.Measured(value, value - 0.06, value + 0.06)
        for n, value in enumerate(values)
    ]
    rows = zip(range(n_topics), [*found, sections.Measured(None, why="no words")], strict=True)
    where = "the 62 documents of the test part, each a window"
    mean = sections.Measured(float(np.mean([0.0, *values])), -0.05, 0.12)
    return sections.CoherenceSection("c_npmi", 10, where, tuple(rows), mean)


def measures_section(models):
    """Three measures of these models, of which the first is the best and the last is worse."""
    n = len(models)
    nats = [sections.Measured(7.3 + 0.02 * i, 7.25 + 0.02 * i, 7.35 + 0.02 * i) for i in range(n)]
    alike = [sections.Measured(0.7 + 0.01 * i, why="two models") for i in range(n)]
    none = [sections.Measured(None, why="no weights")] * n
    meaning = "held-out likelihood"
    columns = (
        sections.MeasureColumn(
            *("nats a word", meaning, "low", "documents", tuple(nats), models[0], models[-1:])
        ),
        sections.MeasureColumn("cosine", "agreement", "", "models", tuple(alike)),
        sections.MeasureColumn("exclusivity", "words of a topic", "", "", tuple(none)),
    )
    return sections.MeasuresSection(tuple(models), columns, 62, "the scored documents", ("Why.",))
