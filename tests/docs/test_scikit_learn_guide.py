"""The guide's programs, with some articles of the sample."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import LatentDirichletAllocation

import models
from downloader import sources
from tests.pipeline.support import inside

GUIDE = (Path(__file__).parents[2] / "docs/guides/scikit-learn.md").read_text("utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
N_ARTICLES = 5
read_source = sources.read_source


@pytest.mark.slow
@pytest.mark.usefixtures("annotated_once")
def test_all_programs_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sources, "read_source", lambda *names: read_source(*names, limit=N_ARTICLES)
    )
    monkeypatch.setattr(models, "GibbsLDA", partial(models.GibbsLDA, n_iter=10))
    assert len(PROGRAMS) == 6
    names, printed = {"__name__": "guide"}, []
    with inside(tmp_path):
        for program in PROGRAMS:
            exec(program, names)
            printed.append(capsys.readouterr().out.splitlines())
    assert [len(lines) for lines in printed] == [0, 20, 1, 6, 1, 2]
    assert names["shares"].shape == (1, 20)
    assert printed[2][0] == f"{names['search'].best_params_} {names['search'].best_score_}"
    table = np.array([re.findall(r"-?[\d.]+", line) for line in printed[3]], dtype=float)
    assert table[:, 0].tolist() == [5, 10, 20, 40, 80, 160]
    best = names["search"].best_index_
    assert table[:, 1].argmax() == best
    assert (table[:, 2] >= 0).all()
    assert table[best, 2:].tolist() == [0, 0]
    assert float(printed[4][0]) < 0
    few, many = (np.array(line.split(), dtype=float) for line in printed[5])
    assert few[1] > many[1]  # what scikit-learn would choose by
    assert 10 * few[3] < many[2]
    assert any((tmp_path / "cache").rglob("*.pkl"))


def test_the_figures_of_scikit_learn_depend_on_how_many_texts_are_given():
    counts = np.random.default_rng(0).poisson(0.5, (60, 30))
    model = LatentDirichletAllocation(3, random_state=0).fit(counts)
    once, twice = model.score(counts), model.score(np.vstack([counts, counts]))
    thrice = model.score(np.vstack([counts, counts, counts]))
    assert thrice - twice == pytest.approx(twice - once)  # the share of the texts
    assert 2 * once - twice < 0  # that of the topics
    assert model.perplexity(np.vstack([counts, counts])) < model.perplexity(counts)
