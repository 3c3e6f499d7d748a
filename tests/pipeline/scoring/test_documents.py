import csv
import shutil

import pytest
from scipy import sparse

from corpora import ArticleStore, read_corpus
from tests.pipeline.scoring.support import failed, load_documents
from tests.pipeline.support import call, made_up_texts


def test_a_model_without_words_takes_them_from_a_file_or_from_the_documents(zoo):
    def scored(*argv):
        outcome = call("evaluate", *argv, "--threads", 1, "--json", cwd=zoo).succeeded()
        return outcome.result["log_likelihood"], outcome.err

    expected, _ = scored("model.npz", "--counts", "docs.jsonl")
    by_file, said = scored("lda-c", "--counts", "docs.jsonl", "--vocabulary", "words.txt")
    assert by_file == pytest.approx(expected, rel=1e-6)
    assert "does not name its words" not in said
    by_order, said = scored("lda-c", "--counts", "docs.mtx")
    assert by_order == pytest.approx(scored("model.npz", "--counts", "docs.mtx")[0], rel=1e-6)
    assert "lda-c does not name its words: taken for those of docs.mtx, in their order\n" in said
    # The vocabulary beside the documents is theirs, whatever the model's is.
    (zoo / "reversed.txt").write_text("\n".join(reversed((zoo / "words.txt").read_text().split())))
    argv = ("lda-c", "--counts", "docs.mtx", "--vocabulary", "reversed.txt")
    assert scored(*argv)[0] != pytest.approx(by_order, rel=1e-3)
    (zoo / "docs.vocab").unlink()
    assert by_order == scored("lda-c", "--counts", "docs.mtx", "--vocabulary", "words.txt")[0]
    assert by_order == scored("lda-c", "--counts", "docs.mtx", "--vocabulary", "numbers")[0]
    # The control: the documents of docs.jsonl have their words in another order.
    assert scored("lda-c", "--counts", "docs.jsonl")[0] != pytest.approx(expected, rel=1e-3)


def test_the_words_of_models_are_not_those_of_documents_that_name_their_own(zoo):
    load_documents(zoo).save(zoo / "counts.npz")
    sparse.save_npz(zoo / "docs.npz", read_corpus(zoo / "docs.mtx").counts)
    (zoo / "docs.vocab").unlink()
    found = [
        call("evaluate", "lda-c", *argv, "--vocabulary", "words.txt", "--json", cwd=zoo).succeeded()
        for argv in (
            ("--documents", "counts.npz"),
            ("--counts", "counts.npz"),
            ("--documents", "docs.jsonl"),
            ("--documents", "docs.mtx"),
            ("--documents", "docs.npz"),
            ("--counts", "docs.npz"),
        )
    ]
    values = [each.result["log_likelihood"] for each in found]
    assert values[:3] == [values[0]] * 3
    assert values[3:] == pytest.approx([values[0]] * 3, rel=0.02)  # other halves of documents
    argv = ("train", "counts.npz", "--vocabulary", "words.txt", "--run", "x")
    assert "holds its own words: leave the vocabulary out" in call(*argv, cwd=zoo).failed()


def test_integer_ids_of_a_table_are_not_those_of_pages(tiny):
    articles = list(ArticleStore(tiny / "articles"))
    texts = [each.text for each in articles]
    rows = [(i + 1, text) for i, text in enumerate(texts[::-1])]  # ids of other pages

    def evaluated(name, head, rows):
        with (tiny / name).open("w", newline="") as stream:
            csv.writer(stream).writerows([head, *rows])
        argv = ("evaluate", "tiny", "--documents", name, "--threads", 1, "--json")
        return call(*argv, cwd=tiny).succeeded().result

    expected = call("evaluate", "tiny", "--articles", "articles", "--json", cwd=tiny).result
    by_words = evaluated("own.csv", ("id", "text"), rows)
    assert by_words["left_out"] == expected["left_out"] > 0
    assert by_words["perplexity"] == pytest.approx(expected["perplexity"], rel=0.05)
    new = [(i + 1, text) for i, text in enumerate(made_up_texts(60, 40, seed=9))]
    assert evaluated("new.csv", ("id", "text"), new)["left_out"] == 0
    # The control: a column of page ids.
    assert evaluated("pages.csv", ("page_id", "text"), new)["left_out"] == expected["left_out"]


def test_words_that_do_not_fit(zoo):
    (zoo / "few.txt").write_text("a\nb\n")
    argv = ("lda-c", "--counts", "docs.jsonl", "--vocabulary", "few.txt")
    assert "lda-c has 30 words, few.txt 2" in failed(3, *argv, cwd=zoo)
    (zoo / "few.jsonl").write_text('{"counts": {"a": 2, "b": 3}}\n')
    error = failed(3, "lda-c", "--counts", "few.jsonl", cwd=zoo)
    assert "lda-c does not name its 30 words, and few.jsonl has 2: give --vocabulary" in error
    error = failed(3, "model.npz", "--counts", "few.jsonl", cwd=zoo)
    assert "few.jsonl has no word in common with the model: 'a', 'b' there, 'word" in error
    (zoo / "docs.vocab").unlink()
    assert "no vocabulary beside it" in failed(3, "model.npz", "--counts", "docs.mtx", cwd=zoo)
    assert "nosuch.mtx" in failed(3, "model.npz", "--counts", "nosuch.mtx", cwd=zoo)
    shutil.copy(zoo / "docs.jsonl", zoo / "docs.txt")
    assert "--counts: the name of docs.txt" in failed(
        2, "model.npz", "--counts", "docs.txt", cwd=zoo
    )


def test_models_need_documents(zoo):
    assert "give documents, --counts FILE" in failed(2, "model.npz", cwd=zoo)
    assert "name a RUN too" in failed(2, "model.npz", "--articles", "articles", cwd=zoo)
    argv = ("model.npz", "--articles", "articles", "--counts", "docs.jsonl")
    assert "leave one out" in failed(2, *argv, cwd=zoo)


def test_a_run_and_its_own_file_are_one_model(tiny):
    shutil.copy(tiny / "runs/tiny/model.npz", tiny / "copy.npz")
    alone = call("evaluate", "tiny", "--json", cwd=tiny).succeeded().result
    for documents in ((), ("--articles", "articles"), ("--counts", "runs/tiny/corpus")):
        argv = ("evaluate", "tiny", "copy.npz", *documents, "--threads", 1, "--json")
        result = call(*argv, cwd=tiny).succeeded().result
        assert [row["run"] for row in result["models"]] == ["tiny", None]
        for row in result["models"]:
            for key in set(row) - {"run", "model"}:  # all figures
                assert row[key] == alone[key], key
        (difference,) = result["differences"]
        assert difference["model"] == "copy.npz"
        assert (difference["nats_per_word"], difference["probability"]) == (0, 0.5)
        assert difference["p_value"] == difference["perplexity_ratio"] == 1
        # What the run was trained with is left out, whichever way it comes in.
        assert result["left_out"] == (60 - alone["documents"] if documents else 0)


def test_no_run_among_the_models_saw_a_document(tiny):
    argv = ("--articles", "articles", "--topics", 2, "--seed", 6, "--threads", 1, "--no-below", 1)
    argv += ("--documents", "article", "--no-above", 1, "--bigrams", "none", "--test", 0.05)
    call("train", "--run", "second", *argv, cwd=tiny).succeeded()
    first = call("evaluate", "tiny", "--json", cwd=tiny).succeeded().result
    both = call("evaluate", "tiny", "second", "--json", cwd=tiny).succeeded().result
    assert 0 < both["left_out"] == first["documents"] - both["documents"]
    shares = {row["model"]: row["unknown_share"] for row in both["models"]}
    assert shares["second"] > shares["tiny"] == first["unknown_share"]  # it knows no bigrams
