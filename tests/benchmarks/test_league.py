"""The league's cells and its page, of tiny corpora and trainers that make topics up."""

import json
import re
import shutil
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from benchmarks.league import cells, page, tables
from benchmarks.league.__main__ import main, show
from benchmarks.league.cells import Cell, fill
from benchmarks.league.corpora import CORPORA, Parts, halves
from benchmarks.league.tables import Entry, Row, Table, store, stored, table_of
from models import LDATopics

WORDS = tuple(f"w{w}" for w in range(12))


def made_up(sharpness):
    def train(counts, n_topics, seed):
        rng = np.random.default_rng(seed)
        truth = np.kron(np.eye(n_topics), np.ones(counts.shape[1] // n_topics))
        return LDATopics.from_weights(sharpness * truth + rng.random(truth.shape) + 0.1, 0.5)

    return train


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    topic_of = np.arange(90) % 3
    counts = np.array([rng.poisson(0.2 + 2 * (np.arange(12) // 4 == k)) for k in topic_of])
    counts = sparse.csr_array(counts.astype(np.int32))
    return Parts(counts[:30], counts[30:], WORDS, tuple(f"label{k}" for k in topic_of[30:]))


def test_a_league_is_filled_once_and_its_page_says_who_is_best(parts, tmp_path):
    trainers = {"sharp": made_up(20.0), "blunt": made_up(0.5)}
    with (
        mock.patch.object(cells, "TRAINERS", trainers),
        mock.patch.object(page, "TRAINERS", trainers),
        mock.patch.object(tables, "TRAINERS", trainers),
    ):
        for trainer in trainers:
            for seed in (1, 2, 3):
                cell = Cell("made-up", 3, trainer, seed)
                assert fill(cell, parts, tmp_path)
                assert not fill(cell, parts, tmp_path)
        argv = ["league", "--output", str(tmp_path), "--show", str(tmp_path / "docs" / "page.md")]
        with mock.patch.object(sys, "argv", argv):
            main()
            main()  # the tables are in the folder of cells now
        table = table_of(tmp_path / "made-up" / "3")
    text = (tmp_path / "docs" / "page.md").read_text("utf-8")
    assert stored(tmp_path / "docs" / "page" / "made-up-3.json") == table
    content = json.loads((tmp_path / "made-up" / "3" / "sharp-1.json").read_text())
    assert content["figures"]["nats a word"]["value"] > 0
    command = "--corpora made-up --topics 3 --seeds 1 2 3\n"
    assert f"    python -m benchmarks.league --output DIR {command}" in text
    assert "page, of 6 models." in text
    line = next(line for line in text.splitlines() if line.startswith("| made-up "))
    sizes = [each.strip() for each in line.split("|")[2:-1]]
    assert sizes == ["30", f"{parts.train.sum():,}", "12", "60", "3", "1, 2, 3"]
    assert "### made-up, K = 3" in text
    assert "Seeds 1, 2, 3; 60 held-out documents." in text
    rows = {
        line.split("|")[1].strip(): line.split("|")[2].strip()
        for line in text.splitlines()
        if "±" in line and line.startswith("|")
    }
    assert rows["sharp"].startswith("**")
    assert not rows["blunt"].startswith("**")
    of_columns = [
        [each.strip() for each in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith(("| trainer", "| sharp", "| blunt"))
    ]
    columns = dict(zip(of_columns[0], zip(*of_columns[1:], strict=True), strict=True))
    assert all(re.fullmatch(r"-?\d\.\d{3}", each) for each in columns["c_npmi"])
    assert not any("±" in each for each in columns["exclusivity"])  # of three topics
    assert "±" in columns["purity"][0]
    assert any("**" in each for each in columns["purity"])
    assert not any("±" in each or "**" in each for each in columns["found again"])  # of three seeds


def test_a_folder_without_figures_has_no_page(tmp_path):
    argv = ["league", "--output", str(tmp_path), "--show", str(tmp_path / "page.md")]
    with (
        mock.patch.object(sys, "argv", argv),
        pytest.raises(SystemExit, match="has no figures of the league"),
    ):
        main()
    assert not (tmp_path / "page.md").exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(2, "No such file", "kos.gz"), r"kos\.gz: no such file.*--corpora"),
        (ImportError("No module named 'peer'"), r"'peer': `pip install .*--trainers"),
    ],
)
def test_a_corpus_or_a_peer_that_is_not_here_is_named(tmp_path, error, message):
    argv = ["league", "--output", str(tmp_path), "--corpora", "kos"]
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(CORPORA, kos=mock.Mock(side_effect=error)),
        pytest.raises(SystemExit, match=message),
    ):
        main()


@pytest.mark.parametrize(("option", "value"), [("topics", "0"), ("seeds", "-1")])
def test_numbers_of_topics_and_seeds_are_checked_first(option, value, capsys):
    argv = ["league", f"--{option}", "3", value]
    with mock.patch.object(sys, "argv", argv), pytest.raises(SystemExit, match="2"):
        main()
    assert f"--{option} must be at least {int(value) + 1}, found {value}" in capsys.readouterr().err


def test_a_page_without_a_suffix_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="name a file, such as"):
        show(tmp_path, tmp_path / "page")


@pytest.fixture(scope="module")
def filled(parts, tmp_path_factory):
    """Two cells of a trainer, filled once for all tests."""
    folder = tmp_path_factory.mktemp("league")
    with mock.patch.object(cells, "TRAINERS", {"sharp": made_up(20.0)}):
        for seed in (1, 2):
            fill(Cell("made-up", 3, "sharp", seed), parts, folder)
    return folder


@pytest.fixture
def league(filled, tmp_path):
    """A copy of two cells of a trainer, and that trainer alone."""
    trainers = {"sharp": made_up(20.0)}
    with (
        mock.patch.object(cells, "TRAINERS", trainers),
        mock.patch.object(page, "TRAINERS", trainers),
        mock.patch.object(tables, "TRAINERS", trainers),
    ):
        yield Path(shutil.copytree(filled, tmp_path / "league"))


def shown(output):
    """Return the message with which `--show` ends."""
    argv = ["league", "--output", str(output), "--show", str(output / "page.md")]
    with mock.patch.object(sys, "argv", argv), pytest.raises(SystemExit) as ended:
        main()
    return str(ended.value)


def without(content, name):
    return {key: each for key, each in content.items() if key != name}


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (lambda _: "", "JSONDecodeError"),
        (lambda _: '{"corpus": "made-u', "JSONDecodeError"),
        (lambda _: "[]", "TypeError"),
        (lambda content: json.dumps(without(content, "words")), "KeyError: 'words'"),
        (lambda content: json.dumps(without(content, "figures")), "KeyError: 'figures'"),
        (lambda content: json.dumps({**content, "figures": {"ari": {}}}), "KeyError"),
        (lambda content: json.dumps({**content, "figures": {"ari": None}}), "TypeError"),
        (lambda content: json.dumps({**content, "trainer": "unknown"}), "trainer='unknown'"),
        (lambda content: json.dumps({**content, "seed": 1}), "seed=1"),
        (
            lambda content: json.dumps({**content, "figures": without(content["figures"], "ari")}),
            "lacks ari",
        ),
    ],
)
def test_a_broken_cell_is_named_and_can_be_made_again(league, parts, broken, why):
    path = league / "made-up" / "3" / "sharp-2.json"
    path.write_text(broken(json.loads(path.read_text())))
    message = shown(league)
    assert str(path) in message
    assert why in message
    assert "delete it, and give the same command without --show" in message
    path.unlink()
    assert fill(Cell("made-up", 3, "sharp", 2), parts, league)
    show(league, league / "page.md")


def test_a_cell_of_no_known_trainer_is_named(league):
    path = league / "made-up" / "3" / "other-1.json"
    content = json.loads((path.parent / "sharp-1.json").read_text())
    path.write_text(json.dumps({**content, "trainer": "other"}))
    assert "other-1.json: damaged, or no cell of the league" in shown(league)


@pytest.mark.parametrize("data", [None, b"PK"])
def test_a_missing_or_damaged_model_is_named(league, parts, data):
    path = league / "made-up" / "3" / "sharp-2.npz"
    path.unlink()
    if data is not None:
        path.write_bytes(data)
    assert f"delete {path} and the .json beside it" in shown(league)
    if data is not None:
        path.with_suffix(".json").unlink()
        with pytest.raises(cells.LeagueFileError, match=r"delete .*npz"):
            fill(Cell("made-up", 3, "sharp", 2), parts, league)


@pytest.mark.parametrize("text", ["", "{}", '{"corpus": "made-up", "rows": []}'])
def test_a_damaged_table_is_named(league, text):
    show(league, league / "page.md")
    path = league / "page" / "made-up-3.json"
    path.write_text(text)
    assert f"{path}: a damaged table of the league" in shown(league)


def test_halves_share_no_document_and_keep_words_of_training_documents():
    counts = sparse.csr_array(np.eye(50, 12, dtype=np.int32) + 1)
    counts = sparse.csr_array(sparse.hstack([counts, np.eye(50, 1, dtype=np.int32)]))
    found = halves(counts, (*WORDS, "rare"), [str(d) for d in range(50)])
    assert (found.train.shape[0], found.test.shape[0], len(found.labels)) == (40, 10, 10)
    assert found.words == WORDS


def test_few_trainers_give_no_interval_of_a_correlation():
    names = [f"trainer {n}" for n in range(8)]
    table = dict(zip(names, enumerate([0.0, 2.0, 1.0, 3.0, 5.0, 4.0, 7.0, 6.0]), strict=True))
    same = dict(zip(names, enumerate(range(8)), strict=True))
    with mock.patch.object(page, "TRAINERS", names), mock.patch.object(page, "DRAWS", 50):
        low, high = map(float, page._interval([table]).split(" to "))
        assert page._interval([same]) == "–"
        table.popitem()
        assert page._interval([table]) == "–"
    assert 0 < low < high <= 1


def table(n_topics, values):
    """Return a table of trainers' losses and purities."""
    rows = {
        name: Row((1,), 1.0, {page.LOWER: Entry(loss), "purity": Entry(purity, 0.1, True)})
        for name, (loss, purity) in values.items()
    }
    return Table("made-up", n_topics, dict.fromkeys(cells.SIZES, 9), rows)


def test_tables_that_lack_trainers_count_in_no_correlation():
    values = {"a": (1.0, 3.0), "b": (2.0, 2.0), "c": (3.0, 1.0), "d": (4.0, 0.0)}
    lacking = {name: (loss, -purity) for name, (loss, purity) in values.items() if name != "d"}
    with mock.patch.object(page, "TRAINERS", list(values)):
        alone = table(7, {"e": (1.0, 1.0)})
        text = page.page([table(3, values), table(5, lacking), alone])
    assert "K = 7" not in text
    assert re.search(r"\| purity +\| 1 +\| +\+1\.00 \|", text)


def test_a_stored_table_gives_way_to_one_of_as_many_models_only(tmp_path):
    fewer, more = (dict.fromkeys(names, (1.0, 1.0)) for names in ("a", "ab"))
    store(table(3, more), tmp_path)
    store(table(3, fewer), tmp_path)
    assert stored(tmp_path / "made-up-3.json") == table(3, more)
    other = table(3, dict.fromkeys("bc", (2.0, 1.0)))
    store(other, tmp_path)
    assert stored(tmp_path / "made-up-3.json") == other
