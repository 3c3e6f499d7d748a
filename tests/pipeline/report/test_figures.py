import itertools
import re
import unicodedata
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from matplotlib.textpath import TextPath

from models import FixedLengthPoissonMRF, LPMRFClusters, SavedModel
from pipeline.figures.style import PAPER, style
from pipeline.figures.text_width import text_width
from pipeline.figures.write import page_svg
from pipeline.report.figures import all_figures, comparison_figures
from pipeline.report.figures.alignment import MAX_PAIRS, alignment
from pipeline.report.figures.coherences import coherences
from pipeline.report.figures.comparison import comparison
from pipeline.report.figures.dependencies import dependencies
from pipeline.report.figures.likelihoods import HOLLOW, MAX_LOW_ESS, STYLES, likelihoods
from pipeline.report.figures.measures import STYLES as MEASURE_STYLES
from pipeline.report.figures.measures import measures
from pipeline.report.figures.prevalence import prevalence
from pipeline.report.figures.shapes import shapes
from pipeline.report.figures.top_words import most_relevant, top_words
from pipeline.report.figures.topic_map import FILE, MAX_NAMES, _round_shares, topic_map
from pipeline.report.figures.training_curve import training_curve
from pipeline.report.figures.word_clouds import PANEL, WIDTH, word_clouds
from pipeline.report.sections import (
    CorpusSection,
    ProvenanceSection,
    RunReport,
    TopicsSection,
    TrainingSection,
)
from pipeline.report.word_clouds import word_cloud
from pipeline.runs.topic_rows import topic_rows
from tests.pipeline.figures.test_write import elements_of
from tests.pipeline.report.made_up_sections import (
    alignment_of,
    coherence_section,
    comparison_section,
    likelihood_section,
    measures_section,
    topics_section,
    training_section,
)


def drawn(figure, *, laid_out=False):
    with rc_context(style()):
        canvas = Canvas(figsize=(10, 6), layout="constrained")
        FigureCanvasAgg(canvas)
        figure.draw(canvas)
        if laid_out:
            canvas.draw_without_rendering()
    return canvas


def texts_of(canvas):
    texts = [text for text in canvas.findobj(Text) if text.axes is not None]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def assert_all_is_on_paper(canvas):
    box = canvas.get_tightbbox().padded(-0.02)
    assert min(box.x0, box.y0) >= 0
    assert box.x1 * canvas.dpi <= canvas.bbox.width
    assert box.y1 * canvas.dpi <= canvas.bbox.height


def run_of(**sections):
    corpus = CorpusSection("store", "article", (), 10, None, (), 0)
    nothing = dict.fromkeys(("training", "documents", "likelihood", "dependencies", "shapes"))
    usual = {
        "corpus": corpus,
        "topics": topics_section(4),
        "provenance": ProvenanceSection((), (), ()),
    }
    return RunReport("run", "lda", "LDA", **{**nothing, **usual, **sections})


def test_a_run_has_the_figures_of_what_it_has():
    least = run_of(topics=replace(topics_section(4), clouds=()))
    assert [each.name for each in all_figures(least)] == ["topic-map", "prevalence", "top-words"]
    sections = {
        "training": training_section(3),
        "likelihood": likelihood_section(),
        "coherence": coherence_section(4),
    }
    names = [each.name for each in all_figures(run_of(**sections, shapes=(1.0, 0.5, 0.1, 0.0)))]
    assert names[:3] == ["training", "topic-map", "prevalence"]
    assert names[3:] == ["top-words", "word-clouds", "coherences", "likelihoods", "shapes"]
    nothing = TopicsSection((), (), (), (), (), 0, 0.0, ())
    assert all_figures(run_of(topics=nothing, training=TrainingSection((), None, "", ""))) == []


def test_a_comparison_has_an_alignment_with_each_other_run():
    section = comparison_section()
    first = replace(run_of(topics=topics_section(12)), name="gibbs-12")
    figures = comparison_figures(section, [first])
    assert [each.name for each in figures] == ["comparison", "alignment-0", "alignment-1"]
    of_all = measures_section(("gibbs-12", "online-12"))
    names = [each.name for each in comparison_figures(section, [first], of_all)]
    assert names == ["comparison", "measures", "alignment-0", "alignment-1"]
    labels = {row.number: row.label for row in first.topics.topics}
    texts = [text.get_text() for text in texts_of(drawn(figures[1]))]
    assert any(text.startswith(labels[3]) for text in texts)


@pytest.mark.parametrize(
    "figure",
    [
        topic_map(topics_section(12, hostile=True)),
        prevalence(topics_section(12, hostile=True)),
        top_words(topics_section(1, hostile=True)),
        word_clouds(topics_section(1, hostile=True)),
        training_curve(training_section(5, bound=True)),
        likelihoods(likelihood_section()),
        comparison(comparison_section()),
        coherences(coherence_section(12), {0: "<script>alert(1)</script>", 1: "$\\frac{"}),
        coherences(coherence_section(80), {}),
        measures(measures_section(("$gamma_poisson$", "<b>bold</b>", "nul\x00bell"))),
        alignment(alignment_of(9, 0), 0, {0: "<script>alert(1)</script>"}, {1: "$\\frac{"}),
        shapes(topics_section(5), (1.0, 0.3, 0.1, 1e-9, 0.0)),
    ],
    ids=lambda figure: figure.name,
)
def test_figures_are_safe_small_described_and_all_on_paper(figure):
    svg = page_svg(figure, "p")
    elements_of(svg)
    assert len(svg) < 40_000
    assert not {c for c in svg if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - {"\n"}
    assert "$\\mathdefault" not in svg
    assert "clip-path" not in svg
    assert figure.title
    assert re.search(r"\d.*\.$", figure.description)
    assert_all_is_on_paper(drawn(figure, laid_out=True))


@pytest.mark.parametrize("n_topics", [1, 2, 12, 100])
def test_the_map_of_topics(n_topics):
    section = topics_section(n_topics)
    figure = topic_map(section)
    svg = page_svg(figure, "p")
    assert len(svg) < 60_000
    root = ET.fromstring(svg)
    width, height = (float(each) for each in root.attrib["viewBox"].split()[2:])
    circles = {}
    for group in root.iter("g"):
        if group.get("data-gid"):
            (circle,) = group.findall("circle")
            x, y, r = (float(circle.attrib[name]) for name in ("cx", "cy", "r"))
            assert r <= x <= width - r
            assert r <= y <= height - r
            circles[group.attrib["data-gid"]] = x, y, r
            number = group.findtext("text")
            assert number is None or f"topic-{number}" == group.get("data-gid")
    assert set(circles) == {f"topic-{row.number}" for row in section.topics} == set(figure.marks)
    # Areas are as prevalences, but of the smallest, and places are alike but for scale.
    first = section.topics[0]
    place, of_first = np.array(first.place), np.array(circles[f"topic-{first.number}"])
    scale = []
    for row in section.topics[1:]:
        x, y, r = circles[f"topic-{row.number}"]
        if r > 4:
            share = (r / of_first[2]) ** 2
            assert share == pytest.approx(row.prevalence / first.prevalence, rel=0.1)
        apart = np.array(row.place) - place
        if np.abs(apart).min() > 0.05:
            scale += list((np.array([x, y]) - of_first[:2]) / apart / [1, -1])
    assert scale == pytest.approx(scale[:1] * len(scale), rel=0.05)


def test_no_number_of_the_map_lies_on_another():
    canvas = drawn(topic_map(topics_section(100)))
    artists = canvas.axes[0].artists + canvas.axes[0].patches
    numbers = [each._number for each in artists if getattr(each, "_number", None) is not None]
    assert len(numbers) > 40
    renderer = canvas.canvas.get_renderer()
    boxes = [number.get_window_extent(renderer) for number in numbers]
    for one, other in itertools.combinations(boxes, 2):
        middles = abs((one.x0 + one.x1) - (other.x0 + other.x1)) / 2
        wide = (one.width + other.width) / 2
        high = abs((one.y0 + one.y1) - (other.y0 + other.y1)) / 2
        assert middles >= 0.9 * wide or high >= 0.55 * (one.height + other.height) / 2


@pytest.mark.parametrize("n_topics", [12, 100])
def test_names_of_the_map_of_files_lie_on_nothing(n_topics):
    section = topics_section(n_topics)
    canvas = drawn(topic_map(section))
    (axes,) = canvas.axes
    names = [text for text in axes.texts if text.get_fontsize() == FILE.names]
    assert min(n_topics, 12) // 2 <= len(names) <= MAX_NAMES
    labels = {row.number: row.label for row in section.topics}
    circles = {artist._group: artist for artist in axes.patches if hasattr(artist, "_group")}
    renderer, to_points = canvas.canvas.get_renderer(), axes.transData.inverted()
    boxes = [name.get_window_extent(renderer).transformed(to_points) for name in names]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.padded(-1).overlaps(other.padded(-1))
    for name, box in zip(names, boxes, strict=True):
        number, _, text = name.get_text().partition(" ")
        assert labels[int(number)].startswith(text.rstrip("…"))
        for circle in circles.values():
            nearest = np.clip(circle.center, [box.x0, box.y0], [box.x1, box.y1])
            assert np.hypot(*(nearest - circle.center)) > circle.radius - 1


def test_the_map_of_a_page_is_read_where_it_is_small():
    root = ET.fromstring(page_svg(topic_map(topics_section(12)), "p"))
    width = float(root.attrib["viewBox"].split()[2])
    groups = [group for group in root.iter("g") if group.get("data-gid")]
    numbers = {id(text) for group in groups for text in group.iter("text")}
    sizes = [
        float(re.search(r"font(?:-size)?:[^;]*?([\d.]+)px", text.attrib["style"])[1])
        for text in root.iter("text")
        if id(text) not in numbers
    ]
    assert len(sizes) >= 4  # legend and note; names are said to those who point
    assert min(sizes) * 550 / width >= 11


@pytest.mark.parametrize(
    ("most", "shares"), [(0.167, [0.1, 0.02, 0.005]), (0.0306, [0.02, 0.005, 0.001]), (1.0, [1.0])]
)
def test_circles_of_the_legend_are_round_shares_of_these_topics(most, shares):
    assert _round_shares(most)[: len(shares)] == pytest.approx(shares)
    assert _round_shares(0.0) == []


def test_topics_at_one_place_are_drawn():
    section = topics_section(3)
    same = replace(section, topics=tuple(replace(row, place=(0.0, 0.0)) for row in section.topics))
    elements_of(page_svg(topic_map(same), "p"))


@pytest.mark.parametrize(("n_topics", "n_bars"), [(1, 1), (30, 30), (31, 31), (151, 0)])
def test_prevalence_has_bars_of_few_topics_and_a_line_of_many(n_topics, n_bars):
    section = topics_section(n_topics)
    (axes,) = drawn(prevalence(section)).axes
    shares = [row.prevalence for row in section.topics]
    lengths = [b.get_width() if n_topics <= 30 else b.get_height() for b in axes.patches]
    assert len(lengths) == n_bars
    assert (lengths or list(axes.lines[0].get_ydata())) == pytest.approx(shares)


def test_relevance():
    section = topics_section(5, seed=3)
    row = section.topics[2]

    def relevance(word, p):
        return 0.6 * np.log(p) + 0.4 * np.log(p / section.word_share[word])

    pairs = zip(row.words, row.probabilities, strict=True)
    scored = sorted(pairs, key=lambda pair: -relevance(*pair))
    assert most_relevant(section, row) == [(section.words[w], p) for w, p in scored[:10]]


@pytest.mark.slow
def test_words_of_the_most_prevalent_topics():
    section = topics_section(14)
    canvas = drawn(top_words(section))
    assert len(canvas.axes) == 12
    for axes, row in zip(canvas.axes, section.topics, strict=False):
        expected = most_relevant(section, row)
        assert axes.get_title("left").startswith(f"Topic {row.number} (")
        assert [bar.get_width() for bar in axes.patches] == pytest.approx([p for _, p in expected])
        assert [text.get_text() for text in axes.texts[::2]] == [word for word, _ in expected]


def test_words_of_clouds_fit_where_they_are_placed():
    section = topics_section(2, hostile=True)
    whole, narrow = section.clouds
    narrow = tuple(replace(word, width=0.5 * word.width) for word in narrow)
    section = replace(section, clouds=(whole, narrow))
    canvas = drawn(word_clouds(section))
    renderer, scale = canvas.canvas.get_renderer(), PANEL / WIDTH
    for axes, cloud in zip(canvas.axes, section.clouds, strict=True):
        assert len(axes.texts) == len(cloud)
        for text, each in zip(axes.texts, cloud, strict=True):
            box = text.get_window_extent(renderer).transformed(axes.transData.inverted())
            assert text.get_rotation() == (90 if each.is_upright else 0)
            plain = text.get_text().replace("$", "S")  # as wide, and no formula
            font = text.get_fontproperties()  # of clouds that which was measured
            path = TextPath((0, 0), plain, size=text.get_fontsize(), prop=font)
            assert path.get_extents().width / scale <= each.width
            assert (box.x0 + box.x1) / 2 == pytest.approx(each.x, abs=0.25 * each.size + 1)
            assert (box.y0 + box.y1) / 2 == pytest.approx(each.y, abs=0.25 * each.size + 1)


def test_words_of_clouds_are_apart_on_paper():
    words = ["government", "american", "establish", "independence", "force", "war", "lead"]
    cloud = word_cloud(words, [0.1 / (n + 1) for n in range(len(words))])
    canvas = drawn(word_clouds(replace(topics_section(1), clouds=(cloud,))))
    canvas.set_dpi(200)
    (axes,) = canvas.axes
    axes.set_axis_off()
    axes.set_title("", loc="left")

    def ink(*shown):
        for text in axes.texts:
            text.set_visible(text in shown)
        canvas.canvas.draw()
        return np.asarray(canvas.canvas.buffer_rgba())[..., 0] < 128

    each = [ink(text) for text in axes.texts]
    assert sum(each).max() == 1
    for text, one in zip(axes.texts, each, strict=True):
        text.set_clip_on(True)
        assert (ink(text) == one).all()  # nothing of it is outside
    axes.texts[0].set_position(axes.texts[1].get_position())
    assert sum([ink(axes.texts[0]), each[1]]).max() == 2


def test_text_width():
    assert text_width("", 10) == 0
    assert text_width("mm", 10) == pytest.approx(2 * text_width("m", 10), rel=0.05)
    assert text_width("m", 20) == pytest.approx(2 * text_width("m", 10))


def test_active_topics():
    section = topics_section(4)
    figure = shapes(section, (0.001, 2.0, 0.0, 1.0))
    numbers = [row.number for row in section.topics]
    assert "The active topics make up 99% of the sum of r, 3: 2." in figure.description
    assert f"from 2 of topic {numbers[1]} to 0 of topic {numbers[2]}" in figure.description
    (axes,) = drawn(figure).axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["active: 99% of the sum of r (2)", "inactive (2)"]
    ticks = [text.get_text() for text in axes.get_xticklabels()]
    assert ticks == [str(numbers[k]) for k in (1, 3, 0, 2)]
    assert {line.get_linestyle() for line in axes.lines} == {"None"}  # dots alone
    assert shapes(section, ()) is None


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.7, 0.9), (3.0, 0.4), (5.0, 1e-9), (2.0, 0.0)])
def test_shapes_have_labelled_ticks(values):
    (axes,) = drawn(shapes(topics_section(2), values), laid_out=True).axes
    low, high = axes.get_ylim()
    ticks = axes.yaxis.get_major_ticks()
    seen = [tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high]
    assert 3 <= len(set(seen)) == len(seen) <= 8
    assert all(seen)


def test_the_training_curve():
    section = training_section(6, bound=True)
    left, right = drawn(training_curve(section)).axes
    perplexity = [check.perplexity for check in section.checks]
    for axes, x in ((left, "documents"), (right, "seconds")):
        values, bound, kept = axes.lines
        assert list(values.get_xdata()) == [getattr(check, x) for check in section.checks]
        assert list(values.get_ydata()) == perplexity
        assert list(bound.get_ydata()) == [check.bound_perplexity for check in section.checks]
        assert list(kept.get_ydata()) == [min(perplexity)]
        assert len(axes.collections) == 1  # the band
    assert left.get_yscale() == "linear"


def test_the_training_curve_begins_at_the_first_check():
    section = training_section(6, bound=True)
    checks = tuple(
        replace(check, seconds=29.6 + 0.12 * n, documents=9000 + 100 * n)
        for n, check in enumerate(section.checks)
    )
    long = "completion of half of each document, given the other half of it, at length (a) (b)"
    canvas = drawn(training_curve(replace(section, checks=checks, measure=long)), laid_out=True)
    left, right = canvas.axes
    assert left.get_xlim() == pytest.approx((9000 - 25, 9500 + 25))
    assert right.get_xlim() == pytest.approx((29.6 - 0.03, 30.2 + 0.03))
    assert_all_is_on_paper(canvas)  # the legend, too


@pytest.mark.parametrize(("factor", "scale"), [(2.0, "linear"), (8.0, "log")])
def test_wide_ranges_are_logarithmic(factor, scale):
    canvas = drawn(training_curve(training_section(12, factor=factor)), laid_out=True)
    assert canvas.axes[0].get_yscale() == scale
    ticks = [text.get_text() for text in canvas.axes[0].get_yticklabels()]
    assert len([text for text in ticks if text]) >= 3


def test_one_check_is_a_point_and_of_many_some_are_drawn():
    figure = training_curve(training_section(1))
    assert figure.description.startswith("One check on the validation documents: perplexity 1,95")
    left, _ = drawn(figure).axes
    assert left.get_xlim()[0] == 0
    section = replace(training_section(1000, bound=True), best=780)  # no evenly spaced one
    values, _, kept = drawn(training_curve(section)).axes[0].lines
    assert len(values.get_xdata()) <= 101
    assert list(kept.get_xdata()) == [section.checks[780].documents]
    assert values.get_xdata()[-1] == section.checks[-1].documents


@pytest.mark.slow
def test_drawings_of_large_runs_are_small():
    for figure, most in (
        (training_curve(replace(training_section(1000, bound=True), best=777)), 40_000),
        (top_words(topics_section(100)), 60_000),
        (word_clouds(topics_section(100)), 70_000),
        (shapes(topics_section(100), np.linspace(0, 1, 100)), 40_000),
        (prevalence(topics_section(1000)), 80_000),
    ):
        svg = page_svg(figure, "p")
        elements_of(svg)
        assert len(svg) < most
        assert_all_is_on_paper(drawn(figure, laid_out=True))


def test_estimators_are_told_apart_by_what_they_score_and_on_which_side_they_err():
    section = likelihood_section()
    canvas = drawn(likelihoods(section))
    titles = [axes.get_title("left") for axes in canvas.axes]
    assert titles == ["whole documents", "second half of each document, given the first"]
    marks = {}
    for axes in canvas.axes:
        names = [text.get_text() for text in axes.get_yticklabels()]
        lines = [c.lines[0] for c in axes.containers]
        marks |= {name: line.get_marker() for name, line in zip(names, lines, strict=True)}
    assert marks == {row.method: STYLES[row.direction][1] for row in section.rows}
    assert len({style[0] for style in STYLES.values()}) == len(STYLES)
    assert len({style[1] for style in STYLES.values()}) == len(STYLES)
    (legend,) = canvas.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "lower bound of log p: the true value is further left" in texts
    assert not any(text.startswith("exact") for text in texts)  # nothing is
    assert HOLLOW not in texts
    assert len({axes.get_xlim() for axes in canvas.axes}) == 1


@pytest.mark.parametrize("n_hollow", [1, 2])
def test_what_is_hardly_sampled_is_hollow_and_not_called_the_truth(n_hollow):
    section = likelihood_section()
    most = int(MAX_LOW_ESS * section.documents)
    rows = tuple(
        replace(row, low_ess_documents=most + (n < n_hollow)) for n, row in enumerate(section.rows)
    )
    canvas = drawn(likelihoods(replace(section, rows=rows)))
    assert {
        name.get_text()
        for axes in canvas.axes
        for name, container in zip(axes.get_yticklabels(), axes.containers, strict=True)
        if container.lines[0].get_markerfacecolor() == PAPER
    } == {row.method for row in rows[:n_hollow]}
    texts = [text.get_text() for text in canvas.legends[0].get_texts()]
    assert HOLLOW in texts
    (unbiased,) = (text for text in texts if text.startswith("unbiased"))
    assert ("true value" in unbiased) == (n_hollow == 1)  # else all unbiased ones are hollow
    assert n_hollow == 2 or unbiased.startswith("unbiased, filled: the true value")


def test_harmonic_means_are_too_far_left_however_few_the_samples():
    section = likelihood_section()
    rows = tuple(replace(row, low_ess_documents=section.documents) for row in section.rows[3:4])
    texts = drawn(likelihoods(replace(section, rows=rows))).legends[0].get_texts()
    assert HOLLOW not in [text.get_text() for text in texts]


def test_differences_have_their_intervals():
    section = comparison_section()
    (axes,) = drawn(comparison(section)).axes
    (bars,) = axes.containers[1].lines[2]
    (segment,) = bars.get_segments()
    row = section.rows[1]
    assert [row.low, row.high] == pytest.approx(list(segment[:, 0]))
    assert axes.get_yticklabels()[0].get_text() == "gibbs-12 (best)"


def test_many_pairs_are_not_all_drawn():
    figure = alignment(alignment_of(30, 1), 7)
    assert figure.name == "alignment-7"
    assert "Of 31 pairs the first 25 are drawn." in figure.description
    (axes,) = drawn(figure).axes
    assert len(axes.lines) == MAX_PAIRS
    widths = [line.get_linewidth() for line in axes.lines]
    assert widths == sorted(widths, reverse=True)
    labels = {n: f"word {n}" for n in range(30)}
    for side in ((labels, {}), ({}, labels)):
        texts = drawn(alignment(alignment_of(30, 1), 0, *side)).axes[0].texts
        begins = {text.xyann[0] for text in texts if text.get_text().startswith("word ")}
        assert len(begins) == 1  # however many digits the numbers have
    few = drawn(alignment(alignment_of(3, 1))).axes[0]
    assert "no partner" in [text.get_text() for text in few.texts]


def test_dependencies():
    theta, dense = np.zeros(4), np.zeros((4, 4))
    dense[0, 1] = dense[1, 0] = 1.5
    dense[1, 2] = dense[2, 1] = -0.5
    field = FixedLengthPoissonMRF(theta, dense)
    words = ("$a_1$", "<b>", "العربية", "plain")
    model = SavedModel(LPMRFClusters.of_fields([field], np.zeros((1, 2)), np.ones(1)), words)
    rows = tuple(topic_rows(model, 4))
    (*_, figure) = all_figures(run_of(dependencies=rows), model)
    assert figure.name == "dependencies"
    strongest = "The strongest of 2 dependencies is in topic 0: $a_1$ and <b> are together"
    assert strongest in figure.description
    svg = page_svg(figure, "p")
    assert set(words) <= set(elements_of(svg).text)
    assert "how strongly two words depend" in svg
    assert svg.count("paint-order:stroke") == 4
    names = [each.name for each in all_figures(run_of(dependencies=rows))]
    assert "dependencies" not in names  # without the model
    assert dependencies(model, [{**row, "positive": [], "negative": []} for row in rows]) is None


def bars_of(canvas):
    return [each for axes in canvas.axes for each in axes.containers]


def is_hollow(bar):
    return bar.lines[0].get_markerfacecolor() == PAPER


def test_coherences_without_an_interval_are_hollow_and_topics_without_a_value_left_out():
    section = coherence_section(12)
    canvas = drawn(coherences(section, {}))
    bars, known = bars_of(canvas), [each for _, each in section.topics if each.value is not None]
    assert len(bars) == len(known) == 11
    for bar, of in zip(bars, known, strict=True):
        assert bar.lines[0].get_xdata() == [of.value]
        assert bar.has_xerr == (of.low is not None)
        assert is_hollow(bar) == (of.low is None)
        if of.low is not None:
            ends = bar.lines[2][0].get_segments()[0][:, 0]
            assert ends == pytest.approx([of.low, of.high])
    nothing = replace(section, topics=tuple((k, each) for k, each in section.topics[-1:]))
    assert coherences(nothing, {}) is None


def test_measures_mark_the_best_model_and_those_that_are_worse():
    section = measures_section(("a", "b", "c"))
    figure = measures(section)
    assert "nats a word from 7.300 to 7.340, a is the best" in figure.description
    assert "exclusivity" not in figure.description
    canvas = drawn(figure)
    assert [axes.get_title("left") for axes in canvas.axes] == [
        "nats a word, low is good",
        "cosine",
    ]
    nats = [bar.lines[0].get_color() for bar in canvas.axes[0].containers]
    assert nats == [MEASURE_STYLES[kind][0] for kind in ("best", "", "worse")]
    assert [is_hollow(bar) for bar in canvas.axes[1].containers] == [True] * 3
    assert measures(replace(section, columns=section.columns[2:])) is None
