from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.figure import Figure

from pipeline.allocation.factors import Factors
from pipeline.allocation.figures import LABEL_SIZE, MAX_LABELS, figures_of
from pipeline.figures.style import MUTED, style


def factors_of(n_words, n_documents):
    rng = np.random.default_rng(0)
    tables = {
        "k": np.array([0.6, 0.4]),
        "w": rng.dirichlet(np.ones(n_words), size=2),
        "d": rng.dirichlet(np.ones(n_documents), size=2),
    }
    header = {
        "families": {"k": ["k"], "w": ["k", "w"], "d": ["k", "d"]},
        "tied": [],
        "labels": {
            "k": ["0", "1"],
            "w": [f"$word_{w}" for w in range(n_words)],
            "d": [f"{d}" for d in range(n_documents)],
        },
    }
    return Factors(header, tables, tables, np.zeros(1))


def drawn(name, n_models, factors):
    rows, scores = [], []
    for n in range(n_models):
        tokens = np.arange(1, 9)
        path = SimpleNamespace(
            tokens=tokens, effective_sample_size=np.ones((2, 8)), n_ancestors=np.full((2, 8), n)
        )
        scores.append(SimpleNamespace(estimate=SimpleNamespace(path=path, method="smc")))
        rows.append({"graph": "nmf", "rank": n + 1, "log_marginal": -abs(n - 2.2)})
    draw = figures_of(rows, scores, 2, factors, "log p")[name]  # type: ignore[arg-type]
    with rc_context(style()):
        figure = Figure(figsize=(10, 6), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        figure.draw_without_rendering()
    return figure


def test_small_tables_share_colours_and_say_their_values():
    factors = factors_of(5, 4)
    panels = [axes for axes in drawn("factors", 3, factors).axes if axes.images]
    assert {axes.images[0].get_clim() for axes in panels} == {(0.0, 0.6)}
    for axes, name in zip(panels, "kwd", strict=True):
        lines = axes.get_xgridlines() + axes.get_ygridlines()
        assert not any(line.get_visible() for line in lines)
        expected = [f"{value:.2f}" for value in factors.tables[name].ravel()]
        assert [text.get_text() for text in axes.texts] == expected
        ticks = [tick for tick in axes.get_xticklabels() if tick.get_text()]
        assert {tick.get_rotation() for tick in ticks} == {0}
        assert min(tick.get_fontsize() for tick in ticks) >= 7


def test_labels_of_large_tables_are_turned_and_small_values_have_colours_of_their_own():
    _, words, documents = (
        axes for axes in drawn("factors", 3, factors_of(400, 12)).axes if axes.images
    )
    assert words.images[0].get_clim()[1] < 0.12
    assert documents.images[0].get_clim() == (0.0, 0.6)
    assert not words.texts
    ticks = words.get_xticklabels()
    assert len(ticks) == MAX_LABELS
    assert {tick.get_rotation() for tick in ticks} == {90}
    apart = np.diff([tick.get_window_extent().x0 for tick in ticks]) * 72 / words.figure.dpi
    assert apart.min() >= LABEL_SIZE  # none on another
    assert "(30 of 400 values)" in words.get_title()


@pytest.mark.parametrize(
    ("n_models", "names"),
    [
        (3, ["nmf, 3 (the best)", "nmf, 2", "nmf, 1"]),
        (7, ["nmf, 3 (the best)", "nmf, 4", "nmf, 2", "4 others"]),
    ],
)
def test_of_many_particle_paths_few_stand_out(n_models, names):
    figure = drawn("particles", n_models, factors_of(2, 2))
    upper, lower = figure.axes
    assert len(upper.lines) == len(lower.lines) == n_models
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    looks = [(line.get_color(), line.get_linestyle()) for line in lower.lines[:3]]
    assert len({colour for colour, _ in looks}) == len({dashes for _, dashes in looks}) == 3
    assert all(same_color(line.get_color(), MUTED) for line in lower.lines[3:])
    heights = [line.get_ydata()[0] for line in lower.lines[:3]]
    assert heights == [int(name.split()[1].strip(",")) - 1 for name in names[:3]]
