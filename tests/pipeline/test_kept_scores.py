"""An `evaluate` that is interrupted: the same command goes on, and says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

from pipeline import block_scores, kept_scores, scoring
from pipeline.block_scores import Scorer
from pipeline.cluster.errors import ClusterLostError
from pipeline.commands import evaluate as evaluate_module
from pipeline.errors import Interrupted, UsageError
from pipeline.progress import Progress
from tests.pipeline.cluster.backwards import Backwards, instead_of_a_cluster
from tests.pipeline.evaluate_support import N_DOCUMENTS, succeeded
from tests.pipeline.support import call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pipeline.support import Outcome

ARGV = ("evaluate", "model.npz", "truth.npz", "--counts", "docs.jsonl", "--json", "--samples", 5)
ON_CLUSTER = ("--cluster", "local:2")
N_SCORES = 2 * N_DOCUMENTS
SMALLER = 5
"""Documents of a block."""


@pytest.fixture(autouse=True)
def _small_blocks() -> Iterator[None]:
    """As if a thread had few documents; with two of them there are more."""
    with (
        mock.patch.object(scoring, "DOCUMENTS_A_THREAD", SMALLER),
        mock.patch.object(block_scores, "FEWEST_DOCUMENTS", 100),
        mock.patch("evaluation.document_blocks.LEAST_DOCUMENTS", 1),
    ):
        yield


def run(zoo: Path, *more: object, threads: int = 1) -> tuple[Outcome, int]:
    """What the command says, and how many documents it scored."""
    n_scored = 0
    score = Scorer.score

    def noted(scorer: Scorer, block: Any, n_jobs: int) -> Any:
        nonlocal n_scored
        found = score(scorer, block, n_jobs)
        n_scored += block.shape[0]
        return found

    with mock.patch.object(Scorer, "score", noted), instead_of_a_cluster(Backwards()):
        outcome = call(*ARGV, *more, "--threads", threads, "--per-document", "a.tsv", cwd=zoo)
    return outcome, n_scored


def interrupted(
    zoo: Path, *more: object, after: int = 7, error: BaseException | None = None, threads: int = 1
) -> tuple[Outcome, int]:
    """The same, ended when so many blocks were scored."""
    effects = [None] * (after - 1) + [Interrupted(2) if error is None else error]
    with mock.patch.object(Progress, "update", side_effect=effects):
        outcome, n_scored = run(zoo, *more, threads=threads)
    assert outcome.code == 130 if error is None else outcome.code not in (0, 130)
    return outcome, n_scored


def kept_in(zoo: Path) -> list[Path]:
    return sorted((zoo / "runs" / kept_scores.DIRECTORY).glob("*"))


@pytest.fixture
def undisturbed(zoo: Path) -> tuple[dict[str, Any], bytes]:
    outcome, n_scored = run(zoo)
    assert n_scored == N_SCORES
    assert not (zoo / "runs").exists()
    return succeeded(outcome).result, (zoo / "a.tsv").read_bytes()


def assert_goes_on(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes], n_left: int, *more: object, **how: Any
) -> Outcome:
    (zoo / "a.tsv").unlink()
    outcome, n_scored = run(zoo, *more, **how)
    assert (succeeded(outcome).result, (zoo / "a.tsv").read_bytes()) == undisturbed
    assert n_scored == n_left
    assert not (zoo / "runs" / kept_scores.DIRECTORY).exists()
    return outcome


@pytest.mark.parametrize("after", [1, 2, 7, 24])
def test_only_what_is_left_is_scored(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes], after: int
) -> None:
    outcome, n_scored = interrupted(zoo, after=after)
    assert "what was done is kept" in outcome.err
    assert n_scored == after * SMALLER
    outcome = assert_goes_on(zoo, undisturbed, N_SCORES - n_scored)
    assert f"{n_scored} of the scores are there from before" in outcome.err


def test_again_and_again_here_and_on_a_cluster(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes]
) -> None:
    """Blocks have other bounds each time, and come in another order."""
    n_left = N_SCORES
    for more, threads in (((), 1), (ON_CLUSTER, 1), ((), 2), ((), 3)):
        _, n_scored = interrupted(zoo, *more, after=3, threads=threads)
        assert n_scored >= 3
        n_left = N_SCORES - known(zoo)
    assert 0 < n_left < N_SCORES / 2
    assert_goes_on(zoo, undisturbed, n_left, *ON_CLUSTER)


def known(zoo: Path) -> int:
    """Scores in the files."""
    return sum(int(np.load(path)["is_known"].sum()) for path in kept_in(zoo))


def test_a_cluster_that_is_lost(zoo: Path, undisturbed: tuple[dict[str, Any], bytes]) -> None:
    outcome, _ = interrupted(zoo, *ON_CLUSTER, error=ClusterLostError("the scheduler is gone"))
    assert outcome.code == 75
    assert_goes_on(zoo, undisturbed, N_SCORES - known(zoo))


@pytest.mark.parametrize("seconds", [0, 1000])
def test_saved_now_and_then(zoo: Path, seconds: float) -> None:
    """A process that is killed does not come to save what it has."""
    seen: list[int] = []

    def update(*_: object) -> None:
        seen.append(known(zoo))

    with (
        mock.patch.object(kept_scores, "SAVE_SECONDS", seconds),
        mock.patch.object(Progress, "update", update),
    ):
        succeeded(run(zoo)[0])
    assert seen == [0 if seconds else i * SMALLER for i in range(N_SCORES // SMALLER)]


@pytest.mark.parametrize(
    "more",
    [
        ("--seed", 1),
        ("--samples", 6),
        ("--smoothing", 1e-6),
        ("--method", "left-to-right-particle"),
        ("--counts", "fewer.jsonl"),
    ],
    ids=lambda more: more[0],
)
def test_scores_of_something_else_are_let_be(zoo: Path, more: tuple[object, ...]) -> None:
    lines = (zoo / "docs.jsonl").read_text().splitlines(keepends=True)
    (zoo / "fewer.jsonl").write_text("".join(lines[:-1]))
    interrupted(zoo)
    kept = kept_in(zoo)
    outcome, n_scored = run(zoo, *more)
    succeeded(outcome)
    assert n_scored >= N_SCORES - 2
    assert kept == kept_in(zoo)
    assert "from before" not in outcome.err


def test_scores_that_can_be_of_no_use_are_not_kept(zoo: Path) -> None:
    """The same command would fail in the same way."""
    with mock.patch.object(evaluate_module, "compare", side_effect=UsageError("no such thing")):
        outcome, _ = run(zoo)
    assert outcome.code == 2
    assert not (zoo / "runs").exists()


def test_of_several_models_each_has_its_own(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes]
) -> None:
    _, n_scored = interrupted(zoo, after=6)
    argv = [each for each in ARGV if each != "model.npz"]
    with mock.patch("tests.pipeline.test_kept_scores.ARGV", argv):
        outcome, n_more = run(zoo)
    succeeded(outcome)
    assert n_more == N_DOCUMENTS - n_scored // 2
    assert len(kept_in(zoo)) == 1
    assert_goes_on(zoo, undisturbed, N_SCORES - n_scored // 2)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_file_is_as_good_as_none(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes], damage: str
) -> None:
    _, n_scored = interrupted(zoo, after=6)
    path = kept_in(zoo)[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    spoiled = {"cut": data[:-9], "flip": data, "empty": b"", "other": None}[damage]
    path.write_bytes((zoo / "model.npz").read_bytes() if spoiled is None else spoiled)
    outcome = assert_goes_on(zoo, undisturbed, N_SCORES - n_scored // 2)
    assert f"{path.name} cannot be used, its documents are scored again" in outcome.err


def test_what_a_killed_command_was_writing_is_deleted(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes]
) -> None:
    """That of another command, which may be at it, is not."""
    _, n_scored = interrupted(zoo)
    kept = kept_in(zoo)[0]
    for name in (kept.name, "other.npz"):
        kept.with_name(f".{name}.0123abcd.partial").write_bytes(b"PK")
    with pytest.raises(AssertionError, match="exists"):
        assert_goes_on(zoo, undisturbed, N_SCORES - n_scored)
    assert [path.name for path in kept_in(zoo)] == [".other.npz.0123abcd.partial"]


def test_no_place_for_them(zoo: Path) -> None:
    (zoo / "runs").write_text("")
    with mock.patch.object(kept_scores, "SAVE_SECONDS", 0):
        outcome, _ = interrupted(zoo)
    assert outcome.err.count("scores are not kept, should this command be interrupted") == 1
    succeeded(run(zoo)[0])
    assert (zoo / "runs").read_text() == ""


def test_what_follows_the_scores_is_interrupted(
    zoo: Path, undisturbed: tuple[dict[str, Any], bytes]
) -> None:
    with mock.patch.object(evaluate_module, "certify", side_effect=Interrupted(15)):
        outcome, _ = run(zoo, "--certify", "--method", "left-to-right-sequential")
    assert outcome.code == 143
    assert known(zoo) == N_SCORES
    with mock.patch.object(evaluate_module, "compare", side_effect=Interrupted(15)):
        run(zoo)
    assert known(zoo) == 2 * N_SCORES
    outcome, n_scored = run(zoo)
    assert (succeeded(outcome).result, n_scored) == (undisturbed[0], 0)
