"""Protocol of a family of topic models: its classes of topics and its trainers.

A family is a folder of `models` whose module `family` has a `FAMILY`, and a folder of `evaluation`
whose module `scoring` has the `SCORINGS` of its kinds of topics. `models.families.FAMILIES` and
`evaluation.methods.SCORINGS` list them. Nothing else depends on which families there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from models.topics import TopicWords

AUTO = "auto"  # Value of a setting that stands for its trainer's default


class Step(Protocol):
    """Report of a step of training."""

    @property
    def n_documents(self) -> int:
        """Documents seen, counted once for each visit."""

    @property
    def n_passes(self) -> float:
        """Passes over the corpus, or rounds."""


@dataclass(frozen=True)
class Schedule:
    """Length of training without early stopping."""

    max_passes: int  # All passes over the corpus, or rounds, of all stages
    unit: str = "pass"
    n_stages: int = 1  # Stages, each of at most the same number of passes
    n_before: int = 0  # Passes of a first stage of another kind
    before: str = ""  # Its description, such as "20 passes of LDA"
    after: str = ""  # Description of the passes after it, such as "with dependencies"


class Trainer(Protocol):
    """An estimator of topics, by scikit-learn's conventions, whose training can be interrupted."""

    n_jobs: int | None
    state_: Any

    @property
    def topics_(self) -> TopicWords:
        """Learned topics."""

    @property
    def schedule(self) -> Schedule:
        """Length of training with these settings, without early stopping."""

    @property
    def is_ready(self) -> bool:
        """Whether the topics of the present state may be validated."""

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""

    def iterate(self, X: Any, y: object = None, state: Any = None) -> Iterator[Step]:
        """Train, yielding after each step; continue from the `state` of an earlier training."""

    def finish(self) -> bool:
        """Compute the final topics when training has ended, if they are other than the present
        ones; return whether they are. A second call changes nothing, further training undoes it.
        """

    def resume(self, X: Any, state: Any) -> Self:
        """Become fitted by taking over the state of an earlier training on the same data."""

    def set_params(self, **parameters: Any) -> Self:
        """Change settings."""


@dataclass(frozen=True)
class ValidationInterval:
    """Minimal distance between two validations during training."""

    documents: int  # Distance in documents seen, for a large corpus
    passes: int  # Distance in passes over the corpus, for a small one
    growth: float | None = None  # Factor by which distances grow; None: that of `EarlyStopping`


@dataclass(frozen=True)
class TrainerSpec:
    """A trainer of a family: its names, settings and estimator, and its validation interval."""

    name: str
    title: str  # Model and learning method, for people
    model: str  # Value of the setting `model` that selects it
    import_estimator: Callable[[], Callable[..., Trainer]]
    """Function that imports its class: saved models are loaded without it."""
    state: type  # State of training; trainers with different classes have different names of these
    settings: tuple[str, ...]  # Settings that are parameters of the estimator by the same name
    interval: ValidationInterval
    decides: tuple[str, ...] = ()
    """Settings that "auto" leaves at the trainer's default; None does so for all settings."""
    eta: float | None = None  # Default of the parameter `eta`, known without the import
    passes: str = "n_iter"  # Parameter with the maximal number of passes of a stage
    chosen_by: Mapping[str, str] = field(default_factory=dict)
    """Values of further settings that select it, where `model` has several trainers."""
    above: Mapping[str, int] = field(default_factory=dict)
    """Settings that select it if each is above a number; it then comes before other trainers."""
    implied: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _: {}
    """Function from the given parameters to those that follow from them."""
    distributes_e_step: bool = False
    """Whether `iterate` takes `submit_e_step`, which begins E-steps elsewhere."""
    needs_document_per_topic: bool = False
    """Whether training needs at least one document with a token for each topic."""
    empties_topics: bool = False
    """Whether topics without tokens are normal, not a sign of bad settings."""
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the estimator by which it takes several steps in a moment."""
    ways: tuple[Mapping[str, Any], ...] = ()
    """Further settings, each of which takes training another way, by other kernels."""

    @property
    def estimator(self) -> Callable[..., Trainer]:
        """Class of the trainer."""
        return self.import_estimator()

    def is_asked_for(self, settings: Mapping[str, Any]) -> bool:
        """Whether settings of training, by name, select this trainer."""
        return (
            settings["model"] == self.model
            and all(settings[name] == value for name, value in self.chosen_by.items())
            and all(settings.get(name, least) > least for name, least in self.above.items())
        )

    def build(self, settings: Mapping[str, Any], n_jobs: int | None) -> Trainer:
        """Return the estimator with settings of training, by name.
        A text that is a number becomes a number.
        """
        given = {
            name: _number_or_text(settings[name])
            for name in self.settings
            if settings[name] is not None and not (name in self.decides and settings[name] == AUTO)
        }
        return self.estimator(
            settings["topics"],
            **given,
            **self.implied(given),
            **{self.passes: settings["max_passes"]},
            random_state=settings["seed"],
            n_jobs=n_jobs,
        )


@dataclass(frozen=True)
class Family:
    """A family of topic models."""

    name: str
    topics: Mapping[str, type[TopicWords]] = field(repr=False)
    trainers: tuple[TrainerSpec, ...] = field(repr=False)


def _number_or_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
