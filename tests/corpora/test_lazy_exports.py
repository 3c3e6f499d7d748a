import pkgutil

import pytest

import corpora
import evaluation
import models
from tests.fork_server import ForkServer


@pytest.mark.parametrize("package", [corpora, models, evaluation])
def test_every_public_name_is_there_and_no_module_hides_it(package):
    assert {"load_model", "log_likelihood"} & set(package.__all__)
    for name in package.__all__:
        assert getattr(package, name).__name__ == name or name == "Topics"
    assert set(package.__all__) <= set(dir(package))
    assert not set(package.__all__) & {each.name for each in pkgutil.iter_modules(package.__path__)}
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'no'"):
        package.no  # noqa: B018


def test_renamed_classes_are_there_by_their_former_names():
    with pytest.deprecated_call(match=r"models\.PoissonMRFMixture is now LPMRFClusters"):
        assert models.PoissonMRFMixture is models.LPMRFClusters


def test_modules_of_a_package_are_there_unasked():
    assert corpora.formats.registry.read_corpus is corpora.read_corpus
    assert callable(corpora.split)
    with pytest.raises(AttributeError, match="'corpora' has no attribute 'nothing'"):
        corpora.nothing  # noqa: B018


@pytest.fixture(scope="module")
def servers():
    """Processes that have imported nothing, numba, and all that the longest imports take."""
    numba = "import numba, scipy.sparse"
    with (
        ForkServer("import numpy") as bare,
        ForkServer(numba) as some,
        ForkServer(f"{numba}, networkx, scipy.stats, sklearn.base") as others,
    ):
        yield bare, some, others


@pytest.mark.parametrize(
    ("imported", "code", "unused"),
    [
        (0, "import evaluation", "numba scipy sklearn models.topics"),
        (
            0,
            "import corpora.worker_process; from corpora import ArticleStore",
            "scipy sklearn spacy",
        ),
        (0, "import downloader.live", "scipy sklearn corpora.formats"),
        (1, "from models import load_model", "sklearn networkx models.allocation"),
        (1, "from evaluation import log_likelihood", "sklearn scipy.stats evaluation.allocation"),
        (2, "from corpora import LemmaVectorizer, Corpus", ""),
        (2, "from models import *; GibbsLDA, seed_from", ""),
    ],
)
def test_what_is_not_asked_for_is_not_imported(servers, imported, code, unused):
    code += f"; import sys; assert not set({unused.split()}) & set(sys.modules)"
    servers[imported].run(code)
