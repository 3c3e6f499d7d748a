import shutil

import pytest

from tests.pipeline.scoring.support import failed
from tests.pipeline.support import call


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
