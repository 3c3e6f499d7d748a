"""`topics`: what a run has learned."""

from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import TopicsSettings

FILES = {
    "csv": "words of the topics, a row for each topic and word: CSV, or .tsv",
    "documents": "shares of topics in each document, a row for each: CSV, .tsv or .parquet",
    "graphml": "topics and words as a network, for Gephi and networkx",
}
"""Options that name a file, with their help. They are no settings: neither the environment nor
pipeline.toml makes a file."""


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
    group = parser.add_argument_group("files for other tools")
    for option, what in FILES.items():
        group.add_argument(f"--{option}", default="", metavar="FILE", help=what)
    group.add_argument("--force", action="store_true", help="replace files that are there already")


def run(arguments: Arguments) -> Outcome:
    """Read the topics of a run."""
    settings = resolve(TopicsSettings, "topics", vars(arguments))
    from pipeline.exports.files import Files
    from pipeline.runs.topics import topics

    names = {option: getattr(arguments, option) for option in (*FILES, "force")}
    files = Files(**names, words=settings.words, threads=settings.threads)
    return Outcome(topics(settings, arguments.run_name, files), print_topics)


def print_topics(result: dict[str, Any]) -> None:
    """Print the table of topics."""
    from pipeline.runs.topic_rows import format_topics

    print(format_topics(result["topics"]))
    if "coherence" in result:
        from pipeline.runs.coherence_lines import format_summary

        print(f"\n{format_summary(result['coherence'], result['topics'])}")
    if "over" in result:
        from pipeline.runs.topics_over import format_groups

        print(f"\n{format_groups(result['over']['column'], result['over']['groups'])}")
    if "pictures" in result:
        print(f"pictures: {', '.join(result['pictures'])}")
    for each in result.get("files", ()):
        sizes = (f"{n:,} {name}" for name, n in each.items() if name != "file")
        print(f"{each['file']}: {', '.join(sizes)}")
