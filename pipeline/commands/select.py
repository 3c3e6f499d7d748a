"""`select`: the number of topics to take."""

import os
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import ENVIRONMENT_PREFIX, asked_for, resolve
from pipeline.settings import NOT_SHARED, SelectSettings, TrainSettings

MEASURES = ("c_v", "c_npmi", "u_mass")
NOT_OF_RUNS = {ENVIRONMENT_PREFIX + name.upper() for name in NOT_SHARED}
"""Variables of the environment that are for `train` alone: --topics is a list here."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "select", "choose the number of topics", SelectSettings, run, also=TrainSettings
    )
    parser.allow_abbrev = False  # --run, which `train` has, would be taken for --runs


def run(arguments: Arguments) -> Outcome:
    """Train runs with several numbers of topics, and compare them."""
    given = vars(arguments)
    settings = resolve(SelectSettings, "select", given)
    environment = {name: text for name, text in os.environ.items() if name not in NOT_OF_RUNS}
    shared = {name: value for name, value in given.items() if name != "topics"}
    asked = asked_for(TrainSettings, "train", shared, environment)
    training = TrainSettings(**{n: v for n, v in asked.items() if n not in NOT_SHARED})
    from pipeline.selection.select import select

    return Outcome(select(settings, training), print_selection)


def print_selection(result: dict[str, Any]) -> None:
    """Print the table, the meaning of its figures, and the recommendation."""
    has_chains = "stability" in result["rows"][0]
    width = 6 if result["reference"] is None else 15  # With standard errors
    measures = "".join(f"  {measure:>{width}}" for measure in MEASURES)
    print(
        f"topics   perplexity ± s.e.   nats/word   to the best ± s.e.{measures}"
        f"  diversity  exclusivity{'  found again ± s.e.' if has_chains else ''}  seconds"
    )
    for row in result["rows"]:
        is_best = row["difference_to_best"] == 0
        print(
            f"{row['topics']:6d}"
            f"  {_with_error(row, 'perplexity', 'perplexity_', 1):>18}"
            f"  {row['nats_per_word']:10.4f}"
            f"  {'-' if is_best else _with_error(row, 'difference_to_best', 'difference_', 4):>19}"
            f"{''.join(f'  {_coherence(row[each], width):>{width}}' for each in MEASURES)}"
            f"  {row['diversity']:9.3f}"
            f"  {row['exclusivity']:11.3f}"
            f"{_found_again(row) if has_chains else ''}"
            f"  {row['seconds']:7.1f}"
        )
    window = (
        "sliding windows"
        if result["rows"][0]["c_v"]["window"] == "sliding"
        else "whole documents as windows"
    )
    where = "on the training part" if result["reference"] is None else f"in {result['reference']}"
    print(
        f"\n{result['method']} on the {result['scored']} part, {result['articles']:,} articles, "
        f"{result['tokens_scored']:,} tokens scored; coherence of {result['words']} words {where}, "
        f"{window}"
    )
    if result["reference"] is not None:
        print("± of coherence: s.e. over the reference's articles; none where it cannot be trusted")
    print(result["recommendation"])
    print(f"{result['path']}: table, plot and runs; `python -m pipeline topics {result['run']}`")


def _found_again(row: dict[str, Any]) -> str:
    return f"  {row['stability']:9.1%} ± {row['stability_standard_error']:5.1%}"


def _coherence(entry: dict[str, Any], width: int) -> str:
    if entry["mean"] is None:
        return "-"
    error = entry["standard_error_over_documents"]
    has_error = width > 6 and error is not None
    return f"{entry['mean']:.3f}" + (f" ± {error:.3f}" if has_error else "")


def _with_error(row: dict[str, Any], name: str, prefix: str, digits: int) -> str:
    error = row[f"{prefix}standard_error"]
    return f"{row[name]:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")
