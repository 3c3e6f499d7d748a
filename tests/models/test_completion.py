import numpy as np
import pytest
from scipy import sparse

from models import GammaPoissonTopics, LDATopics
from models.completion import score_per_word
from tests.small_models import TOPICS, documents, model_of


def test_the_topics_that_made_the_documents_score_best():
    rng = np.random.default_rng(0)
    topic_word = rng.dirichlet(np.full(40, 0.1), 4)
    proportions = rng.dirichlet(np.full(4, 0.1), size=300)
    counts = sparse.csr_array(rng.multinomial(60, proportions @ topic_word))
    right = LDATopics(topic_word, np.full(4, 0.1))
    merged = LDATopics.from_weights(topic_word[:2] + topic_word[2:], 0.1)
    wrong = LDATopics(topic_word[:, rng.permutation(40)], np.full(4, 0.1))
    assert score_per_word(right, counts) > score_per_word(merged, counts)
    assert score_per_word(merged, counts) > score_per_word(wrong, counts)


def test_the_length_of_documents_is_not_scored():
    counts = documents(50)
    topics = model_of(LDATopics)
    one = LDATopics(topics.topic_word[:1], [1.0])
    longer = GammaPoissonTopics(7 * topics.topic_word[:1], [1.0], [0.3])
    assert score_per_word(one, counts) == pytest.approx(score_per_word(longer, counts), rel=1e-12)


@pytest.mark.parametrize("name", [n for n, kind in TOPICS.items() if model_of(kind).half is None])
def test_topics_without_a_model_of_half_a_document_are_refused(name):
    topics = model_of(TOPICS[name])
    with pytest.raises(TypeError, match=f"{type(topics).__name__} is no model of half"):
        score_per_word(topics, documents())


def test_no_tokens_and_no_whole_numbers_are_refused():
    with pytest.raises(ValueError, match="no document has a token"):
        score_per_word(model_of(LDATopics), sparse.csr_array((3, 6), dtype=int))
    with pytest.raises(ValueError, match="whole numbers"):
        score_per_word(model_of(LDATopics), documents() * 0.5)
