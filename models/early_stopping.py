"""Early stopping: when to score held-out documents, and when training has converged.

Positions are documents seen, which makes a run repeatable, or seconds by the caller's clock.
"""

import math
from dataclasses import dataclass, field


@dataclass
class EarlyStopping:
    """Decides from held-out scores, the higher the better, whether training has converged.

    A check is due when the position reaches both `growth` times the last check's and a `step` past
    it. With a `patience` p, training stops once the best of the last p scores, b, is not better
    than the best before them by more than `tolerance` |b|. Without one, the rule is that of
    Aldebakel et al. 2022 (§3.4): training stops at the first score b_t, of at least four, that is
    no better than the mean of the two before it: b_t < (b_{t-1} + b_{t-2}) / 2 + tolerance |b_t|.

    Raises ValueError if a number is out of its range.
    """

    step: float  #: Minimal distance between two checks, in documents or seconds.
    growth: float = 1.1
    tolerance: float = 1e-5  #: Relative to the scores.
    patience: int | None = None
    """Checks without improvement before training stops; None: the rule of Aldebakel et al."""
    positions: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        lowest = {"step": 0.0, "growth": 1.0, "tolerance": 0.0, "patience": 1}
        for name, least in lowest.items():
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                raise ValueError(f"{name} must be finite and at least {least}, found {value}")

    def due(self, position: float) -> bool:
        """Whether to score held-out documents now."""
        last = self.positions[-1] if self.positions else 0.0
        return position >= max(self.growth * last, last + self.step)

    def record(self, position: float, score: float) -> bool:
        """Record the score at `position`, NaN as -inf; return whether to stop."""
        self.positions.append(position)
        self.scores.append(-math.inf if math.isnan(score) else score)
        if len(self.scores) <= (self.patience or 3):
            return False
        if self.patience is None:
            latest, before = self.scores[-1], (self.scores[-2] + self.scores[-3]) / 2
            return latest - self.tolerance * abs(latest) < before
        best, latest = max(self.scores[: -self.patience]), max(self.scores[-self.patience :])
        # The first comparison is for scores of -inf, whose differences are NaN.
        return latest <= best or latest - best <= self.tolerance * abs(latest)
