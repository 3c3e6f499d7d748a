"""Topics by the columns that articles of a wiki have: categories, quality, time."""

import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import pipeline
from corpora import ArticleStore
from corpora.articles.page_columns import QUALITY_TEMPLATES
from pipeline.runs.mean_shares import PARTS, nearly_all_differ, parts_of
from pipeline.runs.table import Table
from tests.pipeline.support import call, inside

GUIDE = (Path(__file__).parents[3] / "docs/guides/download.md").read_text("utf-8")


@pytest.fixture(scope="module")
def run(finished):
    return pipeline.Run("small", runs=finished / "runs", quiet=True)


@pytest.fixture(scope="module")
def articles(finished):
    return list(ArticleStore(finished / "articles"))


def test_a_document_counts_in_each_of_its_categories(run, articles):
    documents = run.documents
    found = run.topics_over("categories", groups=1000)
    members = {}
    for article in articles:
        for name in article.columns.get("categories", ()):
            members.setdefault(name, []).append(article.page_id)
    assert set(found.categories) == set(members)
    for row in found.itertuples():
        of_group = documents.loc[documents.id.isin(members[row.categories])]
        of_rows = [
            np.average(each[f"topic_{row.topic}"], weights=each.tokens)
            for _, each in of_group.groupby("id")
        ]
        assert row.documents == len(of_rows) == len(members[row.categories])
        assert math.isclose(row.share, np.mean(of_rows), rel_tol=1e-9)
    sizes = found.documents[found.topic == 0].tolist()
    assert sizes == sorted(sizes, reverse=True)
    shown = run.topics_over("categories")
    assert shown.categories.nunique() == 20
    assert shown.equals(found.iloc[: len(shown)])
    assert run.topics_over("categories", groups=2).categories.nunique() == 2


def test_year_is_that_of_the_revision(run, articles):
    found = run.topics_over("year")
    assert found.year.unique().tolist() == sorted({a.timestamp[:4] for a in articles})
    assert found.equals(run.topics_over("timestamp", "year").rename(columns={"timestamp": "year"}))
    with pytest.raises(ValueError, match="at least 1, found 0"):
        run.topics_over("year", groups=0)


def test_numbers_that_nearly_all_differ_are_put_into_parts(run, articles):
    found = run.topics_over("length", groups=4)
    lengths = sorted(article.columns["length"] for article in articles)
    least = [lengths[len(lengths) * part // 4] for part in range(4)]
    assert found.length.unique().tolist() == least
    sizes = found.documents[found.topic == 0].tolist()
    assert sum(sizes) == len(lengths)
    assert max(sizes) - min(sizes) <= 1
    assert run.topics_over("length").length.nunique() == PARTS


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(11), True),
        (range(10), False),
        ([1990 + i for i in range(20)] * 3, False),
        (list(range(1500)) * 3, True),
        ([*range(20), None, None], True),
        ([*range(20), "a"], False),
        ([*range(20), math.nan], False),
        (map(str, range(20)), False),
        ([None], False),
    ],
)
def test_what_nearly_all_differs(values, expected):
    assert nearly_all_differ(list(values)) is expected


def test_parts_of_numbers_with_many_the_same():
    assert parts_of([9, 0, 0, 0, None, 5, 7], 3) == [7, 0, 0, 0, None, 0, 7]
    assert parts_of([0, 0, 0, 1], 9) == [0, 0, 0, 1]


def test_the_command_prints_the_same(run, finished):
    printed = call("topics", "small", "--over", "quality", "--threads", 1, cwd=finished)
    lines = printed.succeeded().out.splitlines()[-3:]
    assert lines[0].startswith("quality   documents  largest topics")
    told = call("topics", "small", "--over", "quality", "--json", cwd=finished).succeeded().result
    table = run.topics_over("quality")
    assert told["over"]["column"] == "quality"
    for row in told["over"]["groups"]:
        expected = table[table.quality == row["group"]]
        np.testing.assert_allclose(row["shares"], expected.share, rtol=1e-9)
        assert row["documents"] == expected.documents.iloc[0]
        line = next(line for line in lines if line.startswith(row["group"]))
        assert f"{max(row['shares']):.1%}" in line
    one = call("topics", "small", "--over", "categories", "--groups", 1, cwd=finished)
    assert len(one.succeeded().out.splitlines()) == 4 + 1 + 1 + 2


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("--over", "nothing"), "no column 'nothing' with values came along"),
        (("--over", "quality", "--period", "year"), "which is no date"),
        (("--over", "quality", "--groups", "0"), "at least 1, found 0"),
        (("--over", "length", "--period", "week"), "must be one of year"),
        (("--groups", "3"), "need --over COLUMN"),
    ],
)
def test_columns_that_cannot_be(finished, argv, why):
    assert why in call("topics", "small", *argv, cwd=finished).failed(2)


def test_the_guide(finished):
    part = (
        GUIDE.partition("## What comes along")[2].partition("## Text")[0].replace("demo", "small")
    )
    commands = re.findall(r"^    python -m pipeline (.+)", part, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        call(*shlex.split(command), cwd=finished).succeeded()
    (program,) = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    with inside(finished):
        exec(compile(program, "guide", "exec"), {})
    listed = re.search(r"templates of (\d+) Wikipedias: ([a-z,\s]+),", part)
    assert listed is not None
    languages = set(re.findall(r"[a-z]{2,}", listed[2])) - {"and"}
    assert languages == {line.split()[0] for line in QUALITY_TEMPLATES.strip().splitlines()}
    assert int(listed[1]) == len(languages)


def test_a_table_without_pandas_holds_several_values():
    table = Table.of({"categories": [("A", "B"), ("C", "D"), None]})
    assert table["categories"].tolist() == [("A", "B"), ("C", "D"), None]
    assert "A, B" in table._repr_html_()
