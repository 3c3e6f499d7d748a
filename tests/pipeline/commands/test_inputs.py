"""Commands on what people have: folders, tables, counts."""

import csv
import json
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.io import mmwrite

from corpora import Corpus
from models import load_model
from tests.pipeline.support import arrays_of, call, files_of, finish, made_up_texts, refused, spawn

MODEL = ("--topics", 3, "--seed", 5, "--threads", 1)
WORDS = ("--no-below", 1, "--no-above", 1)
ROOT = Path(__file__).parents[3]


def write_table(path, texts, delimiter=","):
    with path.open("w", newline="") as stream:
        table = csv.writer(stream, delimiter=delimiter)
        table.writerow(["name", "year", "letter"])
        table.writerows((f"letter {i}", 1900 + i, text) for i, text in enumerate(texts))
    return path


def write_counts(path, n_docs=60, seed=0):
    rng = np.random.default_rng(seed)
    words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    rates = rng.dirichlet(np.ones(6), size=3)[rng.integers(3, size=n_docs)]
    counts = np.array([rng.multinomial(30, rate) for rate in rates])
    mmwrite(path, Corpus(counts, words, [str(i) for i in range(n_docs)]).counts)
    path.with_suffix(".vocab").write_text("\n".join(words) + "\n")
    return path


def set_up(directory):
    """A folder, tables and counts; the folder and the tables hold the same texts."""
    texts = made_up_texts(60)
    folder = directory / "letters"
    (folder / "more").mkdir(parents=True)
    for i, text in enumerate(texts):
        (folder / ("more" if i % 2 else "") / f"{i:02d}.txt").write_text(text)
    write_table(directory / "letters.csv", texts)
    write_table(directory / "letters.tsv", texts, "\t")
    write_counts(directory / "cells.mtx")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A directory with inputs and a run of texts, `texts`, and of counts, `cells`."""
    directory = tmp_path_factory.mktemp("inputs")
    set_up(directory)
    for run, *given in (("texts", "letters.csv", *TABLE, *WORDS), ("cells", "cells.mtx")):
        call("train", *given, "--run", run, *MODEL, cwd=directory).succeeded()
    return directory


TABLE = ("--text-column", "letter", "--id-column", "name")


@pytest.fixture
def here(tmp_path):
    set_up(tmp_path)
    return tmp_path


def runs_in(directory):
    found = (directory / "runs").glob("*") if (directory / "runs").exists() else ()
    return sorted(each.name for each in found)


def provenance_of(directory, run):
    return json.loads((directory / "runs" / run / "provenance.json").read_text())


def test_a_folder_takes_one_short_command(here):
    ended = call("train", "letters", *WORDS, cwd=here).succeeded()
    assert ended.err.splitlines()[0] == "letters: folder of 60 texts"
    assert runs_in(here)[0] == "gibbs-25"
    again = call("train", "letters", *WORDS, cwd=here).succeeded()
    assert "run gibbs-25 is done" in again.err
    assert len(runs_in(here)) == 2


def test_the_format_of_a_table_changes_no_bit(trained, here):
    call("train", "letters.tsv", *TABLE, *WORDS, "--run", "tsv", *MODEL, cwd=here).succeeded()
    models = [
        arrays_of(d / "runs" / run / "model.npz") for d, run in ((trained, "texts"), (here, "tsv"))
    ]
    assert models[0] == models[1]


def test_a_store_as_input_is_the_run_of_its_articles(tiny_finished):
    before = files_of(tiny_finished / "runs" / "tiny" / "corpus")
    ended = call("train", "articles", "--run", "tiny", cwd=tiny_finished).succeeded()
    assert "run tiny is done" in ended.err
    assert files_of(tiny_finished / "runs" / "tiny" / "corpus") == before


def test_the_provenance_names_the_input_and_no_other_authors(trained):
    known = provenance_of(trained, "texts")
    about = {name: known["input"][name] for name in ("path", "format", "text_column", "id_column")}
    assert about == {
        "path": "letters.csv",
        "format": "csv",
        "text_column": "letter",
        "id_column": "name",
    }
    assert len(known["input"]["stamp"]) == 64
    assert "attribution" not in known["articles"]
    assert "articles" not in provenance_of(trained, "cells")


def test_a_run_goes_on_without_its_input(trained):
    assert "run texts is done" in call("train", "--run", "texts", cwd=trained).succeeded().err


@pytest.mark.parametrize(
    "other", [("letters.tsv", *TABLE), ("--articles", "letters"), ("cells.mtx",)]
)
def test_a_run_refuses_another_input(trained, other):
    message = call("train", *other, "--run", "texts", cwd=trained).failed()
    assert "was begun with input = letters.csv, not " in message


def test_a_changed_input_is_noticed(here):
    train = ("train", "letters", *WORDS, *MODEL)
    call(*train, cwd=here).succeeded()
    call(*train, "--run", "named", cwd=here).succeeded()
    (here / "letters" / "61.txt").write_text(made_up_texts(1, seed=3)[0])
    assert "its articles have changed since" in call(*train, "--run", "named", cwd=here).err
    call(*train, cwd=here).succeeded()
    runs = [name for name in runs_in(here) if not name.startswith("texts-")]
    assert runs == ["gibbs-3", "gibbs-3-2", "named"]
    n_articles = [provenance_of(here, run)["articles"]["number"] for run in runs]
    assert n_articles == [60, 61, 60]


def test_changed_counts_are_noticed(here):
    train = ("train", "cells.mtx", *MODEL)
    call(*train, cwd=here).succeeded()
    write_counts(here / "cells.mtx", n_docs=70)
    call(*train, cwd=here).succeeded()
    assert runs_in(here) == ["gibbs-3", "gibbs-3-2"]
    assert provenance_of(here, "gibbs-3-2")["corpus"]["documents"] == 70


def test_counts_are_taken_as_they_are(trained):
    corpus = Corpus.load(trained / "runs" / "cells" / "corpus")
    assert corpus.vocabulary == ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    assert (corpus.n_docs, corpus.n_tokens) == (60, 1800)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("nothing",), 3, "nothing"),
        (("letters.csv",), 3, "which column is the text?"),
        (("letters.csv", "--text-column", "body"), 3, "the columns are 'name', 'year', 'letter'"),
        (
            ("letters.csv", "--text-column", "letter", "--id-column", "year", "--articles", "x"),
            2,
            "INPUT and --articles both say what to read",
        ),
        (("cells.mtx", "--counts", "cells.mtx"), 2, "INPUT and --counts both say what to read"),
        (("cells.mtx", "--min-length", 2), 2, "--min-length is for texts"),
        (("cells.mtx", "--documents", "section"), 2, "--documents is for texts"),
        (("twice.csv",), 3, "twice.csv, line 3"),
        (("quote.csv",), 3, "quote.csv, line 2"),
        (("empty.csv",), 3, "empty.csv"),
        (("negative.mtx", "--vocabulary", "numbers"), 3, "negative.mtx, line 3"),
        (("zeros.mtx", "--vocabulary", "numbers"), 3, "no document to train on has a word"),
        (("",), 2, "INPUT is empty"),
        (("--id-column", "name"), 2, "there is no INPUT"),
        (("letters", "--follow"), 2, "--follow"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(here, given, code, message):
    head = "%%MatrixMarket matrix coordinate integer general\n"
    (here / "twice.csv").write_text("id,text\n1,one\n1,two\n")
    (here / "quote.csv").write_text('id,text\n1,"one\n')
    (here / "empty.csv").write_text("id,text\n")
    (here / "negative.mtx").write_text(f"{head}2 2 1\n1 1 -1\n")
    (here / "zeros.mtx").write_text(f"{head}2 2 0\n")
    refused(code, message, "train", *given, cwd=here).failed(code)
    assert not (here / "runs").exists()


def test_a_table_in_the_settings_file_gives_way_to_the_command_line(here):
    (here / "pipeline.toml").write_text('[train]\ninput = "letters.csv"\ntext_column = "letter"\n')
    ended = call("train", "--articles", "nothing", cwd=here)
    assert "no article store at nothing" in ended.failed(3)
    called = call("train", *WORDS, *MODEL, cwd=here).succeeded()
    assert called.err.startswith("letters.csv: CSV")


def test_the_environment_does_not_name_the_input(here):
    called = call("train", *WORDS, *MODEL, "letters", cwd=here, WIKITOPICS_INPUT="dump.xml")
    assert called.succeeded().err.startswith("letters: folder")


def test_documents_of_any_form_are_scored(trained):
    def scored(run, *given):
        return call("evaluate", run, *given, "--json", cwd=trained).succeeded().result

    own = scored("texts")
    same = scored("texts", "--documents", "letters.csv", *TABLE)
    assert (same["log_likelihood"], same["tokens"]) == (own["log_likelihood"], own["tokens"])
    assert same["left_out"] == 60 - own["documents"] - own["empty_documents"]
    folder = scored("texts", "--documents", "letters")  # the same texts under other names
    assert (folder["scored"], folder["left_out"]) == ("letters", same["left_out"])
    own = scored("cells")
    same = scored("cells", "--documents", "cells.mtx")
    assert (same["log_likelihood"], same["unit"]) == (own["log_likelihood"], "document")
    assert same["left_out"] == 60 - own["documents"]


def write_lines(path, texts):
    path.write_text("text\n" + "".join(f"{text}\n" for text in texts))
    return path.name


def test_rows_without_ids_are_known_by_their_words_and_not_by_their_numbers(trained):
    def scored(*given):
        return call("evaluate", *given, "--json", cwd=trained).succeeded().result

    texts = [*made_up_texts(58), "The river of a lake.", "The opera of a singer."]
    given = write_lines(trained / "numbered.csv", texts)
    call("train", given, "--run", "numbered", *MODEL, *WORDS, cwd=trained).succeeded()
    own = scored("numbered")
    n_used = 60 - own["documents"] - own["empty_documents"]
    same = scored("numbered", "--documents", given)
    assert (same["left_out"], same["log_likelihood"]) == (n_used, own["log_likelihood"])
    others = write_lines(trained / "others.csv", made_up_texts(60, seed=1))
    assert scored("numbered", "--documents", others)["left_out"] == 0
    # Short texts are taken for the same only where they have the same number.
    moved = write_lines(trained / "moved.csv", [*made_up_texts(5, seed=1), *texts])
    assert n_used - 2 <= scored("numbered", "--documents", moved)["left_out"] <= n_used
    assert scored("numbered", "texts", "--documents", others)["left_out"] == 0
    counts = write_counts(trained / "later.mtx", seed=1)
    assert scored("cells", "--documents", counts.name)["left_out"] == 0


def test_documents_that_cannot_be_counted_are_refused(trained):
    message = call("evaluate", "cells", "--documents", "letters", cwd=trained).failed()
    assert "no model here is one on texts" in message
    both = ("--documents", "letters", "--articles", "letters")
    assert "leave one out" in call("evaluate", "texts", *both, cwd=trained).failed()
    message = call("evaluate", "texts", "--text-column", "letter", cwd=trained).failed()
    assert "says how --documents are read" in message


def test_a_row_is_a_document_for_infer(trained):
    def inferred(run, *given):
        return call("infer", run, *given, "--json", cwd=trained).succeeded().result["texts"]

    rows = inferred("texts", "letters.csv", *TABLE)
    assert [row["title"] for row in rows] == [f"letter {i}" for i in range(60)]
    (alone,) = inferred("texts", "letters/00.txt")
    assert rows[0]["topics"] == alone["topics"]
    assert "id" not in alone
    assert [row["file"] for row in inferred("texts", "letters/00.txt", "letters")][:2] == [
        "letters/00.txt",
        "letters",
    ]


def test_counts_are_documents_for_infer_by_their_words(trained):
    def inferred(path):
        return call("infer", "cells", path, "--json", cwd=trained).succeeded().result["texts"]

    rows = inferred("cells.mtx")
    assert len(rows) == 60
    assert all(row["tokens"] == 30 for row in rows)
    corpus = Corpus.load(trained / "runs" / "cells" / "corpus")
    other = [
        {
            "id": doc_id,
            "counts": {corpus.vocabulary[w]: int(n) for w, n in enumerate(row) if n} | {"omega": 2},
        }
        for doc_id, row in zip(corpus.doc_ids, corpus.counts.toarray()[:, ::-1], strict=True)
    ]
    (trained / "other.jsonl").write_text("\n".join(map(json.dumps, other)))
    with_other = inferred("other.jsonl")
    assert all((row["tokens"], row["unknown"]) == (30, 2) for row in with_other)
    (trained / "foreign.jsonl").write_text('{"id": "a", "counts": {"omega": 2}}\n')
    message = call("infer", "cells", "foreign.jsonl", cwd=trained).failed(3)
    assert "none of its 1 words is among the 6 of run cells" in message


def test_shares_by_cvb0(trained):
    given = "cells.mtx", "--inference", "cvb0", "--json"
    rows = call("infer", "cells", *given, cwd=trained).succeeded().result["texts"]
    model = load_model(trained / "runs" / "cells" / "model.npz")
    corpus = Corpus.load(trained / "runs" / "cells" / "corpus")
    expected = model.topics.transform(corpus.counts, inference="cvb0")
    for row, shares in zip(rows, expected, strict=True):
        found = {of_topic["topic"]: of_topic["proportion"] for of_topic in row["topics"]}
        assert_allclose([found[k] for k in range(3)], shares, rtol=1e-9)
    assert rows != call("infer", "cells", "cells.mtx", "--json", cwd=trained).result["texts"]
    call("train", "cells.mtx", "--run", "factors", "--model", "gamma-poisson", *MODEL, cwd=trained)
    message = call("infer", "factors", *given, cwd=trained).failed()
    assert "--inference cvb0 is for LDA, which run factors is not" in message


def test_a_run_on_counts_reads_no_text(trained):
    message = call("infer", "cells", "letters/00.txt", cwd=trained).failed()
    assert "run cells learned from counts, cells.mtx" in message


def test_a_byte_order_mark_is_no_part_of_the_first_word(trained):
    (trained / "plain.txt").write_text("rivers meet lakes")
    (trained / "marked.txt").write_text("\ufeffrivers meet lakes", "utf-8")
    files = ("plain.txt", "marked.txt")
    texts = call("infer", "texts", *files, "--json", cwd=trained).succeeded().result["texts"]
    assert texts[0]["topics"] == texts[1]["topics"]
    assert texts[0]["tokens"] == texts[1]["tokens"] > 0


def test_a_row_is_one_document_whatever_looks_like_a_heading_in_it(here):
    text = made_up_texts(1)[0]
    rows = [{"text": f"{text}\n\n== More ==\n\n{other}"} for other in made_up_texts(20, seed=2)]
    (here / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call("train", "rows.jsonl", "--run", "rows", *WORDS, *MODEL, cwd=here).succeeded()
    corpus = Corpus.load(here / "runs" / "rows" / "corpus")
    assert list(corpus.doc_ids) == [f"en:{i}" for i in range(1, 21)]


def test_columns_of_a_text_are_refused_by_infer(trained):
    call("infer", "texts", "letters/00.txt", "--words", 2, cwd=trained).succeeded()
    message = call("infer", "texts", "-", "--text-column", "letter", cwd=trained).failed()
    assert "- is a text: leave it out" in message


@pytest.mark.usefixtures("images_left_out")
@pytest.mark.parametrize("given", [("letters.csv", *TABLE, *WORDS), ("cells.mtx",)])
def test_select_takes_an_input(here, given):
    select = ("select", *given, "--seed", 5, "--threads", 1, "--topics", "2,3", "--json")
    first = call(*select, cwd=here).succeeded()
    again = call(*select, cwd=here).succeeded()
    assert [row["topics"] for row in first.result["rows"]] == [2, 3]
    assert again.result == first.result
    assert "2 of 2 runs are done" in again.err
    assert first.err.count("letters.csv: " if "letters.csv" in given else "cells.mtx: ") == 1
    stores = [name for name in runs_in(here) if name.startswith("texts-")]
    assert len(stores) == ("letters.csv" in given)
    for run in ("topics-2", "topics-3"):
        assert provenance_of(here, f"select-gibbs/{run}")["input"]["path"] == given[0]
    path = here / given[0]
    path.write_bytes(path.read_bytes() + b"\n")
    changed = call(*select, cwd=here).succeeded()
    assert "has changed since" in changed.err
    assert changed.result == first.result


@pytest.mark.slow
def test_reports_say_what_is_not_there(trained):
    call("report", "texts", cwd=trained).succeeded()
    page = (trained / "runs" / "texts" / "report.html").read_text()
    assert "Texts of <code>letters.csv</code>" in page
    assert "train letters.csv --text-column letter --id-column name" in page
    assert "Wikipedia contributors" not in page
    call("report", "cells", cwd=trained).succeeded()
    page = (trained / "runs" / "cells" / "report.html").read_text()
    assert "Counts of <code>cells.mtx</code>" in page
    assert "The run learned from counts" in page
    assert "train --counts cells.mtx" in page
    call("topics", "cells", cwd=trained).succeeded()


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from pipeline.cli import main
from pipeline.text import inputs
inputs.SHARD_SIZE = 20
read = inputs._counted

def killed(*given):
    for number, article in enumerate(read(*given)):
        if number == 50:
            os.kill(os.getpid(), signal.SIGKILL)
        yield article

inputs._counted = killed
sys.exit(main())
"""


def test_a_killed_reader_leaves_no_store_and_the_same_command_ends_the_same(trained, here):
    train = ("train", "letters.csv", *TABLE, *WORDS, *MODEL)
    driver, runs = here / "driver.py", here / "runs"
    driver.write_text(KILLED.format(root=str(ROOT)))
    ended = finish(spawn(*train, cwd=here, program=[sys.executable, str(driver)]))
    assert ended.code == -signal.SIGKILL
    assert list(runs.glob(".texts-*.partial/store/shards/*"))
    assert not list(runs.glob("[!.]*"))
    call(*train, cwd=here).succeeded()
    models = [arrays_of(trained / "runs/texts/model.npz"), arrays_of(runs / "gibbs-3/model.npz")]
    assert models[0] == models[1]
    assert not list(runs.glob(".texts*"))
