from unittest import mock

import numpy as np
import pytest

from evaluation.methods import scoring_of
from evaluation.scorer import Scorer
from pipeline.cache import partial_scores
from pipeline.cache.keys import SCORES
from pipeline.cache.results import ResultCache
from pipeline.errors import ClusterLostError, Interrupted, UsageError
from pipeline.progress import Progress
from pipeline.scoring import blocks as block_scores
from pipeline.scoring import evaluate as evaluate_module
from pipeline.scoring import score as scoring
from tests.pipeline.cluster.backwards import Backwards, instead_of_a_cluster
from tests.pipeline.report.made_up_runs import true_topics
from tests.pipeline.scoring.support import N_DOCUMENTS
from tests.pipeline.support import call

ARGV = ("evaluate", "model.npz", "truth.npz", "--counts", "docs.jsonl", "--json", "--samples", 5)
ON_CLUSTER = ("--cluster", "local:2")
N_SCORES = 2 * N_DOCUMENTS
SMALLER = 5


@pytest.fixture(autouse=True)
def _small_blocks():
    with (
        mock.patch.object(scoring, "DOCUMENTS_A_THREAD", SMALLER),
        mock.patch.object(block_scores, "MIN_DOCUMENTS", 100),
        mock.patch("evaluation.document_blocks.MIN_DOCUMENTS", 1),
    ):
        yield


def run(zoo, *more, threads=1):
    n_scored, score = 0, Scorer.score

    def noted(scorer, block, n_jobs):
        nonlocal n_scored
        found = score(scorer, block, n_jobs)
        n_scored += block.n_documents
        return found

    with mock.patch.object(Scorer, "score", noted), instead_of_a_cluster(Backwards()):
        outcome = call(*ARGV, *more, "--threads", threads, "--per-document", "a.tsv", cwd=zoo)
    return outcome, n_scored


def interrupted(zoo, *more, after=7, error=None, threads=1):
    effects = [None] * (after - 1) + [Interrupted(2) if error is None else error]
    with mock.patch.object(Progress, "update", side_effect=effects):
        outcome, n_scored = run(zoo, *more, threads=threads)
    assert outcome.code == 130 if error is None else outcome.code not in (0, 130)
    return outcome, n_scored


def cached_files():
    return sorted((ResultCache().directory / SCORES).glob("*"))


@pytest.fixture
def undisturbed(zoo):
    outcome, n_scored = run(zoo)
    assert n_scored == N_SCORES
    assert not (zoo / "runs").exists()
    ResultCache().clear()
    return outcome.succeeded().result, (zoo / "a.tsv").read_bytes()


def assert_goes_on(zoo, undisturbed, n_left, *more, **how):
    (zoo / "a.tsv").unlink()
    outcome, n_scored = run(zoo, *more, **how)
    assert (outcome.succeeded().result, (zoo / "a.tsv").read_bytes()) == undisturbed
    assert n_scored == n_left
    assert known() == N_SCORES
    return outcome


@pytest.mark.parametrize("after", [1, 2, 7, 24])
def test_only_what_is_left_is_scored(zoo, undisturbed, after):
    outcome, n_scored = interrupted(zoo, after=after)
    assert "what was done is kept" in outcome.err
    assert n_scored == after * SMALLER
    outcome = assert_goes_on(zoo, undisturbed, N_SCORES - n_scored)
    assert f"{n_scored} of the scores are there from before" in outcome.err


def test_again_and_again_here_and_on_a_cluster(zoo, undisturbed):
    n_left = N_SCORES
    for more, threads in (((), 1), (ON_CLUSTER, 1), ((), 2), ((), 3)):
        _, n_scored = interrupted(zoo, *more, after=3, threads=threads)
        assert n_scored >= 3
        n_left = N_SCORES - known()
    assert 0 < n_left < N_SCORES / 2
    assert_goes_on(zoo, undisturbed, n_left, *ON_CLUSTER)


def known():
    return sum(int(np.load(path)["is_known"].sum()) for path in cached_files())


def test_a_cluster_that_is_lost(zoo, undisturbed):
    outcome, _ = interrupted(zoo, *ON_CLUSTER, error=ClusterLostError("the scheduler is gone"))
    assert outcome.code == 75
    assert_goes_on(zoo, undisturbed, N_SCORES - known())


@pytest.mark.parametrize("seconds", [0, 1000])
def test_saved_now_and_then(zoo, seconds):
    seen = []

    def update(*_):
        seen.append(known())

    with (
        mock.patch.object(partial_scores, "SAVE_SECONDS", seconds),
        mock.patch.object(Progress, "update", update),
    ):
        run(zoo)[0].succeeded()
    assert seen == [0 if seconds else i * SMALLER for i in range(1, N_SCORES // SMALLER + 1)]


@pytest.mark.parametrize(
    "more",
    [
        *(("--seed", 1), ("--samples", 6), ("--smoothing", 1e-6)),
        *(("--method", "left-to-right-particle"), ("--counts", "fewer.jsonl")),
    ],
    ids=lambda more: more[0],
)
def test_scores_of_something_else_are_let_be(zoo, more):
    lines = (zoo / "docs.jsonl").read_text().splitlines(keepends=True)
    (zoo / "fewer.jsonl").write_text("".join(lines[:-1]))
    interrupted(zoo)
    before = {path: path.read_bytes() for path in cached_files()}
    outcome, n_scored = run(zoo, *more)
    outcome.succeeded()
    assert n_scored >= N_SCORES - 2
    assert {path: path.read_bytes() for path in cached_files() if path in before} == before
    assert len(cached_files()) == 4
    assert "from before" not in outcome.err


def test_scores_that_can_be_of_no_use_are_not_kept(zoo):
    with mock.patch.object(evaluate_module, "compare", side_effect=UsageError("no such thing")):
        outcome, _ = run(zoo)
    assert outcome.code == 2
    assert not cached_files()


def test_what_was_complete_before_stays(zoo, undisturbed):
    run(zoo)
    with mock.patch.object(evaluate_module, "compare", side_effect=UsageError("no such thing")):
        run(zoo)
    outcome, n_scored = run(zoo)
    assert (outcome.succeeded().result, n_scored) == (undisturbed[0], 0)


def test_the_same_command_again_scores_nothing(zoo, undisturbed):
    run(zoo)
    seconds = [float(np.load(path)["seconds"]) for path in cached_files()]
    assert min(seconds) > 0
    (zoo / "a.tsv").unlink()
    for more, threads in (((), 2), (ON_CLUSTER, 1)):
        outcome, n_scored = run(zoo, *more, threads=threads)
        assert (outcome.succeeded().result, (zoo / "a.tsv").read_bytes()) == undisturbed
        assert n_scored == 0
        assert f"{N_SCORES} of the scores are there from before" in outcome.err
    assert [float(np.load(path)["seconds"]) for path in cached_files()] == seconds


def test_seconds_are_of_all_commands(zoo):
    now = 0.0

    def monotonic():
        nonlocal now
        now += 1.0
        return now

    with mock.patch.object(partial_scores, "time", mock.Mock(monotonic=monotonic)):
        interrupted(zoo, after=6)
        first = sum(float(np.load(path)["seconds"]) for path in cached_files())
        assert first == 6  # a tick a block
        run(zoo)[0].succeeded()
    assert sum(float(np.load(path)["seconds"]) for path in cached_files()) == N_SCORES / SMALLER


def test_of_several_models_each_has_its_own(zoo, undisturbed):
    _, n_scored = interrupted(zoo, after=6)
    with mock.patch(f"{__name__}.ARGV", [each for each in ARGV if each != "model.npz"]):
        outcome, n_more = run(zoo)
    outcome.succeeded()
    assert n_more == N_DOCUMENTS - n_scored // 2
    assert_goes_on(zoo, undisturbed, N_DOCUMENTS - n_scored // 2)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_file_is_as_good_as_none(zoo, undisturbed, damage):
    _, n_scored = interrupted(zoo, after=6)
    path = cached_files()[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    spoiled = {"cut": data[:-9], "flip": data, "empty": b"", "other": None}[damage]
    path.write_bytes((zoo / "model.npz").read_bytes() if spoiled is None else spoiled)
    outcome = assert_goes_on(zoo, undisturbed, N_SCORES - n_scored // 2)
    assert f"{path.name} cannot be used, its result is computed again" in outcome.err


def test_no_place_for_them(zoo):
    directory = ResultCache().directory
    directory.parent.mkdir(exist_ok=True)
    directory.write_text("")
    with mock.patch.object(partial_scores, "SAVE_SECONDS", 0):
        outcome, _ = interrupted(zoo)
    assert outcome.err.count("results are not cached, and will be computed again") == 1
    run(zoo)[0].succeeded()
    assert directory.read_text() == ""


def test_what_follows_the_scores_is_interrupted(zoo, undisturbed):
    with mock.patch.object(evaluate_module, "certify", side_effect=Interrupted(15)):
        outcome, _ = run(zoo, "--certify", "--method", "left-to-right-sequential")
    assert outcome.code == 143
    assert known() == N_SCORES
    with mock.patch.object(evaluate_module, "compare", side_effect=Interrupted(15)):
        run(zoo)
    assert known() == 2 * N_SCORES
    outcome, n_scored = run(zoo)
    assert (outcome.succeeded().result, n_scored) == (undisturbed[0], 0)


@pytest.mark.usefixtures("images_left_out")
def test_a_report_after_an_evaluate_scores_nothing(tiny):
    with mock.patch.object(Scorer, "score", autospec=True, side_effect=Scorer.score) as made:
        for method in scoring_of(true_topics()).shown:
            call("evaluate", "tiny", "--method", method, "--threads", 1, cwd=tiny).succeeded()
            assert made.called
            made.reset_mock()
        argv = ("report", "tiny", "--page-only", "--threads", 1)
        call(*argv, cwd=tiny).succeeded()
        assert not made.called
        call(*argv, "--seed", 3, cwd=tiny).succeeded()
        assert made.called
