"""The command line: settings, run directories, progress; and `train` for texts in memory."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.runs.run import Run as Run
    from pipeline.training.train_texts import train as train
else:
    from importlib import import_module

    MODULES = {"Run": "pipeline.runs.run", "train": "pipeline.training.train_texts"}

    def __getattr__(name: str) -> Any:  # when first used: the command line does without
        if name not in MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(MODULES[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *MODULES})


__all__ = ["Run", "train"]
