"""`topics`: what a run has learned."""

from typing import Any

from pipeline.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import TopicsSettings


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "topics",
        "top words, shares and dependencies of words of a run's topics",
        TopicsSettings,
        run,
        arguments="RUN",
    )
    parser.add_argument("run_name", metavar="RUN", help="name or path of a run")


def run(arguments: Arguments) -> Outcome:
    """Read the topics of a run."""
    settings = resolve(TopicsSettings, "topics", vars(arguments))
    from pipeline.runs.topics import topics

    return Outcome(topics(settings, arguments.run_name), print_topics)


def print_topics(result: dict[str, Any]) -> None:
    """Print the table of topics."""
    from pipeline.runs.topics import format_topics

    print(format_topics(result["topics"]))
    if "pictures" in result:
        print(f"pictures: {', '.join(result['pictures'])}")
