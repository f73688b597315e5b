"""Shared by the benchmarks of whole programs: alternating runs, progress, and the table at the end."""

import json
import os
import statistics
import sys
import time


def in_turn(repetitions, contestants, report=lambda what: None):
    """Runs each contestant once per repetition; gives the medians of what they returned, by name."""
    rounds = []
    for repetition in range(repetitions):
        report(f"round {repetition + 1} of {repetitions}")
        rounds.append({name: measure() for name, measure in contestants.items()})
    return {
        name: {figure: statistics.median(turn[name][figure] for turn in rounds) for figure in rounds[0][name]}
        for name in contestants
    }


class Progress:
    """Shows what is being measured; on a terminal, overwrites the line before."""

    def __init__(self):
        self.start = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def __call__(self, what):
        line = f"{time.monotonic() - self.start:4.0f} s  {what}"
        print(f"\r\033[K{line}" if self.is_terminal else line, end="" if self.is_terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def end(self):
        if self.is_terminal:
            print("\r\033[K", end="", file=sys.stderr)


class Report:
    def __init__(self):
        self.figures = []

    def add(self, name, value, unit, beside=None, ratio=None, at_least=None, at_most=None):
        judged = value if ratio is None else ratio
        met = (at_least is None or judged >= at_least) and (at_most is None or judged <= at_most)
        bound = {"at_least": at_least} if at_least is not None else {"at_most": at_most}
        if at_least is None and at_most is None:
            bound = {}
        self.figures.append(
            {"name": name, "value": value, "unit": unit, "beside": beside, "ratio": ratio, **bound, "met": met}
        )

    def print(self):
        def number(value):
            if value is None:
                return ""
            if 0 < abs(value) < 0.1:
                return f"{value:.4f}"
            return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"

        print(f"{'':44}{'sluice':>12}{'beside':>12}  {'unit':12}{'ratio':>8}  wanted")
        for figure in self.figures:
            wanted = ""
            if "at_least" in figure:
                wanted = f">= {figure['at_least']}"
            elif "at_most" in figure:
                wanted = f"<= {figure['at_most']}"
            mark = "" if figure["met"] else "  MISSED"
            print(
                f"{figure['name']:44}{number(figure['value']):>12}{number(figure['beside']):>12}  {figure['unit']:12}"
                f"{number(figure['ratio']):>8}  {wanted}{mark}"
            )

    def write(self, folder, name, setup):
        """Writes the figures to a file of this name and prints its path."""
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"setup": setup, "figures": self.figures}, file, indent=2)
            file.write("\n")
        print(f"All figures: {path}")
