import numpy as np

from models.allocation.exchangeable import exchangeable_classes
from models.allocation.model import AllocationModel


def test_labels_that_the_prior_tells_apart_stay_as_they_are():
    prior = {"k": [1.0, 2.0], "i": np.ones((2, 3)), "j": np.ones((2, 3))}
    nmf = AllocationModel.nmf(3, 3, 2)
    told_apart = AllocationModel(nmf.parents, nmf.cardinalities, nmf.visible, prior=prior)
    assert exchangeable_classes(told_apart) == ()
    prior["k"] = [1.5, 1.5]
    flat = AllocationModel(nmf.parents, nmf.cardinalities, nmf.visible, prior=prior)
    assert exchangeable_classes(flat) == (("k",),)
    tied = AllocationModel(
        {"h": (), "i": ("h",), "j": ("h",)}, {"h": 3, "i": 3, "j": 3}, ("i",), tied=[("i", "j")]
    )
    assert exchangeable_classes(tied) == (("h",),)  # j is on the same axis as i, which is visible
