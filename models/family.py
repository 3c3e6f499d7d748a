"""The protocol of a family of topic models: what it learns, by which trainers, and how they train.

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

AUTO = "auto"
"""Value of a setting that leaves its trainer's default, where the trainer knows it."""


class Step(Protocol):
    """Report of a training step."""

    @property
    def n_documents(self) -> int:
        """Documents seen so far, each as often as it was."""

    @property
    def n_passes(self) -> float:
        """Passes over the corpus so far, or rounds."""


@dataclass(frozen=True)
class Schedule:
    """Length of training, if nothing ends it early."""

    max_passes: int
    """All passes over the corpus, or rounds, of all stages."""
    unit: str = "pass"
    """Name of one pass."""
    n_stages: int = 1
    """Stages that have the most passes asked for, each."""
    n_before: int = 0
    """Passes of a first stage of another kind, whose number is fixed."""
    before: str = ""
    """Description of that stage, such as "20 passes of LDA"."""
    after: str = ""
    """Description of the passes after it, such as "with dependencies"."""


class Trainer(Protocol):
    """An estimator of topics, by scikit-learn's conventions, whose training can be interrupted."""

    n_jobs: int | None
    state_: Any

    @property
    def topics_(self) -> TopicWords:
        """Learned topics."""

    @property
    def schedule(self) -> Schedule:
        """Length of training with these settings, if nothing ends it early."""

    @property
    def is_ready(self) -> bool:
        """Whether the topics of the present state may be validated."""

    def check_settings(self) -> None:
        """Raise ValueError or TypeError, naming the setting, if one is out of its range."""

    def iterate(self, X: Any, y: object = None, state: Any = None) -> Iterator[Step]:
        """Train, yielding after each step; `state` is where an earlier training went so far."""

    def resume(self, X: Any, state: Any) -> Self:
        """Become fitted by taking over the state of an earlier training on the same data."""

    def set_params(self, **parameters: Any) -> Self:
        """Change settings."""


@dataclass(frozen=True)
class ValidationInterval:
    """Least distance of two validations while training."""

    documents: int
    """Interval in documents, for large corpora."""
    passes: int
    """Interval in passes over the corpus, for small corpora."""
    growth: float | None = None
    """Factor by which distances grow; None: that of `EarlyStopping`."""


def _nothing(_: Mapping[str, Any]) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class TrainerSpec:
    """A trainer of a family: how it is named and built, and how often its topics are validated."""

    name: str
    """No other trainer has it."""
    title: str
    """The model and how it is learned, for people."""
    model: str
    """The value of the setting `model` that asks for it."""
    import_estimator: Callable[[], Callable[..., Trainer]]
    """Function that imports its class. Saved models are read without: scikit-learn takes long."""
    state: type
    """The dataclass that training continues from, whose name no other trainer's class has unless
    it is the same."""
    settings: tuple[str, ...]
    """Settings of training that are parameters of the estimator by the same name."""
    interval: ValidationInterval
    decides: tuple[str, ...] = ()
    """Those of them that "auto" leaves to the trainer, besides None, which leaves any."""
    passes: str = "n_iter"
    """The parameter that is the most passes of a stage."""
    chosen_by: Mapping[str, str] = field(default_factory=dict)
    """Values of further settings that ask for it, where `model` has several trainers."""
    implied: Callable[[Mapping[str, Any]], Mapping[str, Any]] = _nothing
    """Function of the parameters that are given to the parameters that follow from these."""
    distributes_e_step: bool = False
    """Whether `iterate` takes `expect`, which lets others make its E-steps."""
    needs_document_per_topic: bool = False
    """Whether training needs as many documents with a token as there are topics."""
    empties_topics: bool = False
    """Whether topics without tokens are part of the model, and no sign of bad settings."""

    @property
    def estimator(self) -> Callable[..., Trainer]:
        """Its class."""
        return self.import_estimator()

    def is_asked_for(self, settings: Mapping[str, Any]) -> bool:
        """Whether settings of training, by name, ask for this trainer."""
        return settings["model"] == self.model and all(
            settings[name] == value for name, value in self.chosen_by.items()
        )

    def build(self, settings: Mapping[str, Any], n_jobs: int | None) -> Trainer:
        """The estimator with settings of training, by name.

        A text that is a number is given as one.
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
    """Classes of what is learned, by the name that saved models have for each."""
    trainers: tuple[TrainerSpec, ...] = field(repr=False)


def _number_or_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return value
