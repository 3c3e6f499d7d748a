import numpy as np
import pytest
from gensim.models import LdaModel

from models import GammaPoissonTopics, LPMRFClusters, LPMRFTopics
from pipeline.errors import UsageError
from pipeline.exports import gensim_model
from pipeline.runs.loaded_run import LoadedRun
from pipeline.runs.model_files import read_model
from tests.pipeline.exports.made_up_run import made_up_run


def bags_of(counts):
    return [
        list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        for row in (counts[[d]] for d in range(counts.shape[0]))
    ]


def shares(model, bags):
    model.random_state = np.random.RandomState(0)
    gamma, _ = model.inference(bags)
    return gamma / gamma.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["tiny", "gibbs"])
def test_topics_inference_and_words_of_a_run(tiny_gibbs, name, tmp_path):
    run = LoadedRun.find(str(tiny_gibbs / "runs"), name)
    topics, model = run.model.topics, gensim_model(run)
    assert isinstance(model, LdaModel)
    assert model.get_topics() == pytest.approx(topics.topic_word, rel=1e-5, abs=1e-9)
    assert model.alpha == pytest.approx(topics.alpha, rel=1e-6)
    counts = run.parts.test.counts
    assert counts.shape[0] > 3
    ours = topics.proportions(counts)
    model.iterations, model.gamma_threshold = 200, 1e-4
    assert shares(model, bags_of(counts)) == pytest.approx(ours, abs=2e-3)
    dictionary = model.id2word
    assert [dictionary[w] for w in range(len(dictionary))] == list(run.model.vocabulary)
    word = run.model.vocabulary[3]
    assert dictionary.doc2bow([word, "no such word", word]) == [(3, 2)]
    train = run.parts.train.counts.toarray()
    assert dictionary.num_docs == len(train)
    assert [dictionary.dfs[w] for w in range(train.shape[1])] == (train > 0).sum(axis=0).tolist()
    assert [dictionary.cfs[w] for w in range(train.shape[1])] == train.sum(axis=0).tolist()
    assert model.expElogbeta == pytest.approx(topics.topic_word, rel=1e-6)
    assert model.state.numdocs == len(train)
    assert model.state.get_lambda().sum(axis=1) == pytest.approx(
        run.model.prevalence * train.sum() + float(run.settings.eta) * train.shape[1], rel=1e-4
    )
    model.save(str(tmp_path / "model.gensim"))
    assert np.array_equal(
        shares(LdaModel.load(str(tmp_path / "model.gensim")), bags_of(counts)),
        shares(model, bags_of(counts)),
    )
    again = read_model(tmp_path / "model.gensim")
    assert again.vocabulary == run.model.vocabulary
    assert again.topics.topic_word == pytest.approx(topics.topic_word, rel=1e-5, abs=1e-9)


def test_training_goes_on(tiny_gibbs):
    run = LoadedRun.find(str(tiny_gibbs / "runs"), "gibbs")
    model = gensim_model(run)
    model.update(bags_of(run.parts.validation.counts))
    found = model.get_topics()
    assert np.isfinite(found).all()
    assert (found > 0).all()
    assert not np.allclose(found, run.model.topics.topic_word, rtol=1e-3)


@pytest.mark.parametrize("kind", [GammaPoissonTopics, LPMRFClusters, LPMRFTopics])
def test_other_models_are_refused(kind):
    with pytest.raises(UsageError, match="made-up is no LDA, which is all that gensim's"):
        gensim_model(made_up_run(kind))
