"""`train`: articles in, topics out."""

from pathlib import Path
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import asked_for
from pipeline.settings import TrainSettings


def add(commands: Any) -> None:
    """Add the command to the parser."""
    add_command(commands, "train", "learn topics from a store of articles", TrainSettings, run)


def run(arguments: Arguments) -> Outcome:
    """Train a run, or go on with it."""
    asked = asked_for(TrainSettings, "train", vars(arguments))
    from pipeline.training.train import train

    return Outcome(train(TrainSettings(**asked), asked), print_training)


def print_training(result: dict[str, Any]) -> None:
    """Print the topics and the path of the run."""
    from pipeline.runs.topic_rows import format_topics

    print(format_topics(result["topics"]))
    print()
    if result.get("starving"):
        print(
            f"topics with less than a tenth of the average topic's tokens: {result['starving']} of "
            f"{len(result['topics'])}; fewer --topics, a lower --eta or more articles help"
        )
    if result["validation"]:
        best = result["validation"]
        print(
            f"validation perplexity {best['perplexity']:.1f} after {best['passes']:.1f} passes, "
            f"{best['seconds']:.1f} s of training: check {best['look']} of {best['looks']}"
        )
    path = Path(result["path"])
    name = path.name if path.parent == Path(TrainSettings.runs) else path
    print(f"{path}: held-out perplexity by `python -m pipeline evaluate {name}`")
