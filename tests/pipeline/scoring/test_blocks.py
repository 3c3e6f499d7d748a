import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from corpora import Corpus
from evaluation import LikelihoodEstimate, log_likelihood
from evaluation.document_blocks import DocumentBlock
from evaluation.partial_estimate import PartialEstimate
from evaluation.scorer import Scorer
from models import LDATopics
from pipeline.scoring import blocks as block_scores
from pipeline.scoring.blocks import PerplexitySoFar, WordBlocks, scored_here, to_score
from tests.pipeline.scoring.support import counts_of

WORDS = ("b", "new", "a", "e")


def corpus_of(n_docs, seed=0):
    counts = np.random.default_rng(seed).poisson(0.8, (n_docs, 5))
    counts[::7] = 0
    return Corpus(counts, tuple("abcde"), tuple(f"{d}" for d in range(n_docs)))


def scorer_of(topics, method="completion"):
    return Scorer(topics, method, 5, None, "sequence", 2**30, 3)


@pytest.mark.parametrize("is_mapped", [False, True])
@pytest.mark.parametrize("n_docs", [0, 1, 50, 700])
def test_blocks_of_words_are_the_counts_of_words(n_docs, is_mapped, tmp_path):
    corpus = corpus_of(n_docs)
    if is_mapped:
        corpus.save(tmp_path)
        corpus = Corpus.load(tmp_path, mmap=True)
    blocks = WordBlocks(corpus, WORDS)
    expected, found = counts_of(corpus, WORDS, len(WORDS)), list(blocks)
    assert len(found) == len(blocks) == len(blocks.bounds)
    assert (np.concatenate([each.counts.toarray() for each in found]) == expected.toarray()).all()
    assert (blocks.used() == (expected.toarray() > 0).any(axis=0)).all()
    n_tokens_before = 0
    for block, (first, last) in zip(found, blocks.bounds, strict=True):
        assert block.counts.dtype == np.int64
        assert block.counts.has_canonical_format
        assert block.n_documents == last - first
        assert (block.first_document, block.n_tokens_before) == (first, n_tokens_before)
        n_tokens_before += block.counts.sum()
    assert n_tokens_before == expected.sum()


@pytest.mark.parametrize("method", ["completion", "left-to-right-particle"])
@pytest.mark.parametrize("at_least", [0, 33])
def test_scored_here_is_what_log_likelihood_gives(method, at_least):
    rng = np.random.default_rng(1)
    models = [LDATopics(rng.dirichlet(np.ones(n), 3), np.full(3, 0.5)) for n in (4, 6)]
    corpus = corpus_of(70)
    blocks = WordBlocks(corpus, WORDS, at_least)
    assert len(blocks) > 2
    scores = [PartialEstimate(70) for _ in models]
    items = to_score(blocks, scores)
    for number, *found in scored_here([scorer_of(each, method) for each in models], items, 1):
        scores[number].add(*found)
    for number, model in enumerate(models):
        counts = counts_of(corpus, WORDS, model.n_words)
        expected = log_likelihood(model, counts, method, n_samples=5, random_state=3)
        found = scores[number].estimate()
        assert (found.log_likelihood == expected.log_likelihood).all()
        assert (found.n_tokens == expected.n_tokens).all()


def test_a_block_keeps_its_place_when_it_is_widened():
    counts = counts_of(corpus_of(9), WORDS, 4)
    wide = DocumentBlock(counts, 40, 123).widened(6)
    assert wide.counts.shape == (9, 6)
    assert (wide.first_document, wide.n_tokens_before) == (40, 123)
    assert (wide.counts.toarray()[:, :4] == counts.toarray()).all()
    assert not wide.counts.toarray()[:, 4:].any()


def part(log_likelihood, n_tokens):
    values = (np.array([log_likelihood]), np.zeros(1), np.array([n_tokens]))
    return LikelihoodEstimate(*values, "exact", "sequence", "exact")


def test_perplexity_so_far():
    one, several = PerplexitySoFar(["a"]), PerplexitySoFar(["a", "b", "c", "d"])
    assert str(one) == str(several) == ""
    one.add(0, part(-4 * np.log(1000.0), 4))
    one.add(0, part(0.0, 0))
    assert str(one) == "perplexity 1,000.0"
    one.add(0, part(-8 * np.log(10.0), 8))
    assert str(one) == f"perplexity {1000 ** (1 / 3) * 10 ** (2 / 3):.1f}"
    several.add(1, part(-np.log(8.0), 1))
    assert str(several) == "perplexity b 8.0"
    for number in (0, 2, 3):
        several.add(number, part(-np.log(4.0), 1))
    assert str(several) == "perplexity a 4.0, b 8.0, c 4.0"
    several.add(0, part(-np.inf, 1))
    assert str(several) == "perplexity b 8.0, c 4.0, d 4.0"


@pytest.mark.parametrize(("seconds", "sizes"), [(0.0, [4, 16, 64, 16]), (2.0, [4] * 25)])
def test_parts_take_some_seconds(monkeypatch, seconds, sizes):
    now, seen = 0.0, []

    class Slow:
        def score(self, block, n_jobs):
            nonlocal now
            assert n_jobs == 1
            now += seconds * block.n_documents
            seen.append(block.n_documents)
            return block.counts.toarray()

    monkeypatch.setattr(block_scores, "working_clock", lambda: now)
    block = DocumentBlock(counts_of(corpus_of(100), WORDS, 4), 40, 7)
    found = list(scored_here([None, Slow()], [(1, block)], 1))
    assert seen == sizes
    assert [first for _, first, _ in found] == [40 + sum(sizes[:i]) for i in range(len(sizes))]
    assert (np.concatenate([part for *_, part in found]) == block.counts.toarray()).all()
    assert {number for number, *_ in found} == {1}


def test_linear_algebra_has_one_thread_as_on_workers():
    class Looking:
        def score(self, block, n_jobs):
            del block, n_jobs
            return [each["num_threads"] for each in threadpool_info()]

    block = DocumentBlock(counts_of(corpus_of(9), WORDS, 4))
    with threadpool_limits(2):
        found = [threads for *_, threads in scored_here([Looking()], [(0, block)], 1)]
    assert found
    assert set(found[0]) == {1}
