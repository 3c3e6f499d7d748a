import pkgutil
import subprocess
import sys

import pytest

import evaluation
import models


@pytest.mark.parametrize("package", [models, evaluation])
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


@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("import corpora; from corpora import ArticleStore", "sklearn"),
        ("from corpora import LemmaVectorizer, Corpus", ""),
        ("import evaluation", "numba scipy sklearn models.topics"),
        ("from models import load_model", "sklearn networkx models.allocation"),
        ("from evaluation import log_likelihood", "sklearn scipy.stats evaluation.allocation"),
        ("from models import *; GibbsLDA, seed_from", ""),
    ],
)
def test_what_is_not_asked_for_is_not_imported(code, unused):
    code += f"; import sys; assert not set({unused.split()}) & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
