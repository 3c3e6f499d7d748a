import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from models import FixedLengthPoissonMRF, LDATopics, SavedModel, save_model
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics
from pipeline.figures import word_graph
from pipeline.figures.word_graph import dependency_figure
from pipeline.figures.word_graph_layout import GAP, Box, laid_out
from pipeline.runs.run_directory import RunDirectory
from pipeline.runs.topic_rows import format_topics, topic_rows
from pipeline.runs.word_dependencies import Dependency, strongest_dependencies
from pipeline.settings import TrainSettings
from tests.pipeline.support import call

WORDS = ("boundary", "layer", "paper", "book", "precision", "recall")
SHARES = np.array([0.3, 0.3, 0.2, 0.1, 0.05, 0.05])
# The first topic: strongest by weight are words that it hardly has.
EDGES = {(0, 1): 0.5, (4, 5): 1.5, (0, 2): 0.25, (2, 3): -0.5, (0, 4): -0.75}
FIRST = "           "


def model_of(*edges, kind=LPMRFTopics, prevalence=None):
    fields = []
    for each in edges:
        dense = np.zeros((6, 6))
        for (s, t), weight in each.items():
            dense[s, t] = dense[t, s] = weight
        fields.append(FixedLengthPoissonMRF(np.log(SHARES), sparse.csr_array(dense), 9.0))
    k = len(edges)
    return SavedModel(
        kind.of_fields(fields, np.zeros((k, 4)), np.ones(k)), WORDS, prevalence=prevalence
    )


def run_of(directory, model, name="fields"):
    run = RunDirectory(directory / "runs" / name)
    run.create(TrainSettings(), {"seed": 0})
    save_model(run.model_path, model)
    return directory


TWO = model_of(EDGES, {}, prevalence=np.array([0.25, 0.75]))
LDA = SavedModel(LDATopics(SHARES[None], [0.1]), WORDS)


def test_sorted_by_weight_as_the_paper_does():
    found = strongest_dependencies(TWO, 2)
    assert found is not None
    assert found[0].positive == (
        *(Dependency("precision", "recall", 1.5), Dependency("boundary", "layer", 0.5)),
    )
    assert found[0].negative == (
        *(Dependency("boundary", "precision", -0.75), Dependency("paper", "book", -0.5)),
    )
    assert found[1].positive == found[1].negative == ()


def test_sorted_by_effect():
    found = strongest_dependencies(TWO, 9, "effect")
    assert found is not None
    assert [(each.first, each.weight) for each in found[0].positive] == [
        *(("boundary", 0.5), ("precision", 1.5), ("boundary", 0.25))
    ]
    assert [each.second for each in found[0].negative] == ["precision", "book"]


def test_effect_is_the_correlation_to_first_order():
    length, probability, phi = 4, np.array([0.05, 0.02, 0.93]), 0.01
    counts = np.array(
        [x for x in itertools.product(range(length + 1), repeat=3) if sum(x) == length]
    )

    def correlation(weight):
        dense = np.zeros((3, 3))
        dense[0, 1] = dense[1, 0] = weight
        field = FixedLengthPoissonMRF(np.log(probability), sparse.csr_array(dense))
        mass = np.exp(field.log_weight(counts))
        mass /= mass.sum()
        mean = mass @ counts
        covariance = (mass[:, None] * (counts - mean)).T @ (counts - mean)
        return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))

    made = correlation(phi) - correlation(0.0)
    # L tokens make L (L - 1) pairs of them, not L²; what is left out is of order L p, 0.2.
    expected = 2 * phi * (length - 1) * np.sqrt(probability[0] * probability[1])
    assert made == pytest.approx(expected, rel=0.1)


def test_equal_weights_stand_in_the_order_of_the_vocabulary_and_lda_has_none():
    model = model_of({(3, 5): 0.5, (0, 4): 0.5, (0, 1): 0.5, (2, 3): -0.5, (1, 3): -0.5})
    found = strongest_dependencies(model)
    assert found is not None
    assert [each.second for each in found[0].positive] == ["layer", "precision", "recall"]
    assert [each.first for each in found[0].negative] == ["layer", "paper"]
    assert strongest_dependencies(LDA) is None
    assert "positive" not in topic_rows(LDA, 3)[0]


def test_table_of_both_signs_of_one_and_of_long_lines():
    assert format_topics(topic_rows(TWO, 3)).splitlines() == [
        "topic  share  words",
        "    1  75.0%  boundary layer paper",
        FIRST + "   (no dependencies)",
        "    0  25.0%  boundary layer paper",
        FIRST + "+  precision+recall boundary+layer boundary+paper",
        FIRST + "-  boundary-precision paper-book",
    ]
    assert len(format_topics(topic_rows(TWO, 3, 0)).splitlines()) == 3
    lines = format_topics(topic_rows(model_of({(0, 1): 1.0}), 1)).splitlines()
    assert lines[2:] == [FIRST + "+  boundary+layer"]
    edges = dict.fromkeys(itertools.combinations(range(6), 2), 1.0)
    lines = format_topics(topic_rows(model_of(edges), 1, 15)).splitlines()[2:]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 100
    assert [line[:14].strip() for line in lines] == ["+"] + [""] * (len(lines) - 1)
    assert len(" ".join(line[14:] for line in lines).split()) == 15


@pytest.mark.parametrize("kind", [LPMRFClusters, LPMRFTopics])
def test_json(tmp_path, kind):
    run_of(tmp_path, model_of(EDGES, {}, kind=kind))
    first, second = call("topics", "fields", "--json", cwd=tmp_path).result["topics"]
    assert first["positive"][0] == {"first": "precision", "second": "recall", "weight": 1.5}
    assert [len(first[sign]) for sign in ("positive", "negative")] == [3, 2]
    assert (second["positive"], second["negative"]) == ([], [])
    argv = ("topics", "fields", "--json", "--dependencies", 1, "--by", "effect")
    first = call(*argv, cwd=tmp_path).result["topics"][0]
    assert [each["second"] for each in first["positive"]] == ["layer"]
    argv = ("topics", "fields", "--json", "--dependencies", 0)
    assert "positive" not in call(*argv, cwd=tmp_path).result["topics"][0]


def test_other_models_are_shown_as_ever(tmp_path):
    run_of(tmp_path, LDA)
    outcome = call("topics", "fields", "--words", 2, "--dependencies", 5, cwd=tmp_path)
    assert outcome.out.splitlines() == ["topic  share  words", "    0      -  boundary layer"]


@pytest.mark.slow
def test_picture(tmp_path):
    run_of(tmp_path, TWO)
    outcome = call("topics", "fields", "--picture", "new/there", cwd=tmp_path).succeeded()
    names = ["new/there/dependencies.svg", "new/there/dependencies.png"]
    assert outcome.out.splitlines()[-1] == f"pictures: {', '.join(names)}"
    before = [(tmp_path / name).read_bytes() for name in names]
    result = call("topics", "fields", "--picture", "new/there", "--json", cwd=tmp_path).result
    assert result["pictures"] == names
    assert [(tmp_path / name).read_bytes() for name in names] == before
    assert outcome.err == "drawing the dependencies of run fields into new/there\n"


def test_what_is_drawn():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    dependency_figure(TWO, topic_rows(TWO, 2))(figure)
    empty, full = figure.axes
    assert empty.get_title() == "topic 1, 75.0% of tokens: no dependencies"
    assert [text.get_text() for text in empty.texts] == ["boundary", "layer"]
    assert len(empty.lines) == 0
    assert sorted(text.get_text() for text in full.texts) == sorted(WORDS)
    bold = {text.get_text() for text in full.texts if text.get_fontweight() == "bold"}
    assert bold == {"boundary", "layer"}
    widths = {line.get_linewidth(): line.get_color() for line in full.lines}
    assert widths[4.0] == word_graph.POSITIVE
    assert widths[2.0] == word_graph.NEGATIVE  # -0.75 of 1.5
    assert len(full.lines) == 5
    place = {text.get_text(): text.get_position() for text in full.texts}
    for line, (s, t) in zip(full.lines, [(0, 4), (2, 3), (4, 5), (0, 1), (0, 2)], strict=True):
        assert [*zip(*line.get_data(), strict=True)] == [place[WORDS[s]], place[WORDS[t]]]
    sizes = [points.get_sizes()[0] for points in full.collections]
    largest, by_word = word_graph.LARGEST**2, dict(zip(place, sizes, strict=True))
    assert by_word["boundary"] == pytest.approx(largest)
    assert by_word["book"] == pytest.approx(largest / 3)


@pytest.mark.slow
def test_no_label_lies_on_another_or_leaves_its_panel():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    words, topics = tuple(f"word{n}" + "x" * int(rng.integers(9)) for n in range(60)), []
    for _ in range(4):
        dense = np.triu(rng.normal(size=(60, 60)) * (rng.random((60, 60)) < 0.02), 1)
        topics.append(FixedLengthPoissonMRF(rng.normal(size=60), dense + dense.T))
    model = SavedModel(LPMRFClusters.of_fields(topics, np.zeros((4, 2)), np.ones(4)), words)
    figure = Figure(figsize=(10, 6), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    dependency_figure(model, topic_rows(model, 10, 12))(figure)
    canvas.draw()
    for axes in figure.axes:
        panel = axes.get_window_extent()
        boxes = [text.get_window_extent() for text in axes.texts]
        assert len(boxes) > 20
        for one, other in itertools.combinations(boxes, 2):
            assert not one.overlaps(other)
        for box in boxes:
            assert panel.x0 <= box.x0 <= box.x1 <= panel.x1
            assert panel.y0 <= box.y0 <= box.y1 <= panel.y1


def test_many_topics_are_not_all_drawn(tmp_path):
    from matplotlib.figure import Figure

    model, figure = model_of({(0, 1): 0.0}, *[EDGES] * 13), Figure(figsize=(10, 6))
    dependency_figure(model, topic_rows(model, 2))(figure)
    assert len(figure.axes) == 12
    assert "2 more topics are not drawn" in [text.get_text() for text in figure.texts]


def test_words_that_look_like_formulas_and_long_ones():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    model = SavedModel(TWO.topics, (("$a_1$", "$", "w" * 200, "w" * 24, *WORDS[4:])))
    figure = Figure(figsize=(10, 6))
    canvas = FigureCanvasAgg(figure)
    dependency_figure(model, topic_rows(model, 6))(figure)
    canvas.draw()
    width = {t.get_text(): t.get_window_extent().width for t in figure.axes[0].texts}
    assert set(width) == {"$a_1$", "$", "w" * 23 + "…", "w" * 24, *WORDS[4:]}
    assert max(width.values()) < figure.axes[0].get_window_extent().width


def a_graph():
    rng = np.random.default_rng(1)
    boxes = {f"w{n}": Box(float(rng.uniform(10, 70)), float(rng.uniform(9, 20))) for n in range(50)}
    words = list(boxes)
    return boxes, [(words[a], words[b]) for a, b in rng.integers(50, size=(30, 2)) if a != b]


def test_layout_overlaps_nowhere_and_keeps_to_its_width():
    boxes, links = a_graph()
    for width in (200.0, 700.0):
        graph = laid_out(boxes, links, width)
        for height in (graph.height, 3 * graph.height):
            place = graph.spread(height)
            assert set(place) == set(boxes)
            for word, (x, y) in place.items():
                assert boxes[word].width / 2 - 1e-6 <= x <= width - boxes[word].width / 2 + 1e-6
                assert boxes[word].height / 2 <= y <= height - boxes[word].height / 2
            for a, b in itertools.combinations(boxes, 2):
                apart = np.abs(np.subtract(place[a], place[b]))
                half = [boxes[a].width + boxes[b].width, boxes[a].height + boxes[b].height]
                assert (apart - np.array(half) / 2 >= 0.5 * GAP.min()).any(), (a, b)


@pytest.mark.slow
def test_layout_is_the_same_in_every_process():
    program = (
        "import json, sys\n"
        "from pipeline.figures.word_graph_layout import Box, laid_out\n"
        "boxes, links = json.loads(sys.argv[1])\n"
        "boxes = {word: Box(*sizes) for word, sizes in boxes.items()}\n"
        "print(sorted(laid_out(boxes, links, 300.0).place.items()))"
    )
    boxes, links = a_graph()
    given = json.dumps([{word: (box.width, box.height) for word, box in boxes.items()}, links])
    assert {
        subprocess.run(
            [sys.executable, "-c", program, given],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[3])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    } == {f"{sorted(laid_out(boxes, links, 300.0).place.items())}\n"}


@pytest.mark.parametrize(
    ("model", "argv", "complaint"),
    [
        (TWO, ("--dependencies", -1), "--dependencies must be at least 1, or 0 to show none"),
        (TWO, ("--by", "size"), "--by must be one of weight, effect; found 'size'"),
        (TWO, ("--picture", "p", "--dependencies", 0), "--dependencies must be at least 1 for it"),
        (LDA, ("--picture", "p"), "'fields' depend on each other: only Poisson MRFs have them"),
        (model_of({}), ("--picture", "p"), "'fields' depend on each other: its penalty was too"),
    ],
)
def test_refusals(tmp_path, model, argv, complaint):
    run_of(tmp_path, model)
    assert complaint in call("topics", "fields", *argv, cwd=tmp_path).failed()
    assert not (tmp_path / "p").exists()


def test_a_file_in_the_place_of_the_directory(tmp_path):
    run_of(tmp_path, TWO)
    (tmp_path / "p").write_text("")
    outcome = call("topics", "fields", "--picture", "p", cwd=tmp_path)
    assert outcome.code != 0
    assert "p" in outcome.error
