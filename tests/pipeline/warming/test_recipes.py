"""What the recipes compile is all that trainers and estimators need."""

import numpy as np
import pytest
from numba.core import event

from evaluation import log_likelihood
from evaluation.methods import SCORINGS
from models.families import trainers
from models.kernel import kernel
from pipeline.training.validation import validation_of
from pipeline.warming.recipes import all_recipes, parameters_of
from tests.small_models import documents, model_of, training_counts


class Compiled(event.Listener):
    """Names of the kernels that are compiled, not loaded."""

    def __init__(self):
        self.names = []

    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if not function.__module__.startswith("numba"):
            self.names.append(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, event):
        pass


@pytest.fixture(scope="module")
def after_all_recipes():
    for recipe in all_recipes():
        recipe.run()


def test_a_kernel_that_is_compiled_is_noticed():
    def double(array):
        return array * 2

    with event.install_listener("numba:compile", Compiled()) as compiled:
        kernel(double)(np.ones(2))
    assert len(compiled.names) == 1


def test_every_trainer_and_every_method_has_a_recipe():
    names = {recipe.name for recipe in all_recipes()}
    assert len(names) == len(all_recipes())
    assert names >= {f"training, {spec.name}" for spec in trainers()}
    kinds = [(each.topics.__name__, method.name) for each in SCORINGS for method in each.methods]
    assert names >= {f"{method}, {kind}" for kind, method in kinds}


@pytest.mark.usefixtures("after_all_recipes")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_other_data_of_other_types_compile_nothing(dtype):
    """A kernel is compiled once, whatever the types and flags of the arrays that users pass."""
    with event.install_listener("numba:compile", Compiled()) as compiled:
        for spec in trainers():
            estimator = spec.estimator(4, **parameters_of(spec, {}), n_jobs=2)
            estimator.fit(training_counts(n_docs=50).astype(dtype))
            validation_of(estimator.topics_, training_counts(20, seed=3).astype(dtype), 2)
        for scoring in SCORINGS:
            for method in scoring.methods:
                counts = documents(seed=2).astype(dtype)
                log_likelihood(model_of(scoring.topics), counts, method.name, n_samples=3)
    assert compiled.names == []
