"""Scores of a reading test as text."""

from __future__ import annotations

from typing import Any

from evaluation.topics.reading.question import RATING


def print_scores(result: dict[str, Any]) -> None:
    """Print the scores of models, their differences, agreement, and the topics of each."""
    n_answers = sum(each["answers"] for each in result["readers"])
    n_readers = len(result["readers"])
    print(
        f"test {result['test']}: {_counted(n_readers, 'reader')}, {_counted(n_answers, 'answer')}"
    )
    for task in dict.fromkeys(each["task"] for each in result["scores"]):
        _print_task(task, result)
    for row in result["scores"]:
        _print_units(row)
    _print_readers(result)


def _print_task(task: str, result: dict[str, Any]) -> None:
    rows = [each for each in result["scores"] if each["task"] == task]
    chances = {f"{each['chance']:.0%}" for each in rows if "chance" in each}
    guessed = f", {' or '.join(sorted(chances))} by guessing" if chances else ", from 1 to 3"
    name = "rating" if task == RATING else "precision"
    print(f"\n{task}: {name}{guessed}; interval of 95 %")
    width = max(len(each["model"]) for each in rows)
    for row in rows:
        about = f"{_counted(row['units'], 'question')}, {_counted(row['answers'], 'answer')}"
        print(f"  {row['model']:{width}s}  {_with_interval(row, name)}  {about}")
        if "log_odds" in row:
            odds, chance = _with_interval(row["log_odds"], "value"), row["log_odds_of_chance"]
            print(f"  {'':{width}s}  topic log odds {odds}, {chance:.2f} by guessing")
    for each in result["differences"]:
        if each["task"] == task:
            print(f"  {each['first']} - {each['second']}: {_with_interval(each, 'difference')}")
    for each in result["agreement"]:
        if each["task"] == task:
            print(f"  {_agreed(each)}")


def _agreed(row: dict[str, Any]) -> str:
    alpha = "not defined" if row["alpha"] is None else f"{row['alpha']:z.2f}"
    text = f"agreement of readers: alpha {alpha}, {_counted(row['questions'], 'question')}"
    if row["repeated"]:
        text += f"; repeated questions answered alike: {row['repeated_same']} of {row['repeated']}"
    return text


def _print_units(row: dict[str, Any]) -> None:
    name = "rating" if row["task"] == RATING else "precision"
    what = "document" if row["task"] == "topic-intrusion" else "topic"
    print(f"\n{row['model']}, {row['task']}, each {what}, the worst first")
    width = max(len(each["unit"]) for each in row["of_each"])
    for each in sorted(row["of_each"], key=lambda one: one[name]):
        shown = " ".join(each["shown"].split())
        figures = f"{each[name]:.2f}"
        if each["low"] is not None:
            figures += f" ({each['low']:.2f} to {each['high']:.2f})"
        print(f"  {each['unit']:>{width}s}  {figures:20s}  {each['answers']:3d}  {shown[:80]}")


def _print_readers(result: dict[str, Any]) -> None:
    print("\nreaders")
    for each in result["readers"]:
        right = "" if each["share_right"] is None else f", {each['share_right']:.0%} right"
        took = "" if not each["seconds"] else f", {each['seconds'] / 60:.0f} min"
        print(f"  {each['reader']}: {_counted(each['answers'], 'answer')}{right}{took}")


def _with_interval(row: dict[str, Any], name: str) -> str:
    if row["low"] is None:
        return f"{row[name]:.2f} (no interval: {row['no_interval']})"
    return f"{row[name]:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
