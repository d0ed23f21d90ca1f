# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of against_peer.md from the files of samples, one section a machine."""
import json
from collections import defaultdict
from statistics import median

from .goals import GOALS, Goal
from .runners import FORMATS, PROMPT

HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by against_peer.py from results/peer_*.json; what stands under "What binds" comes from results/peer_*.md. -->
# Lathe and llama.cpp on the same weights

Both programs in turn, with the machine's ceilings measured before and after each of them; weights are random
(`make_random_llama.py`), the same on both sides. int8 is `int8_g32` beside Q8_0, int4 `int4_g32` beside Q4_0. A figure is the
median, the best of the samples in brackets; shares are of the read bandwidth (decode) or of the arithmetic peak (prompts) that
was measured around the sample itself. Rates are tokens a second. A goal that is a part of another of our figures ("of alone",
"of int4") is judged by the median of what each sample has of its own, which is not the ratio of the two medians.

Classes of processor that are not below were never run.
"""

ENOUGH = 5  # samples of a figure
# What the table has of a class that was measured in full, and the checkpoints of each.
WORKS = {"single": ("0.5b", "1.1b"), "streams": ("0.5b",), "server": ("0.5b",), "stall": ("0.5b",), "depth": ("0.5b",),
         "lookup": ("0.5b",), "neighbours": ("0.5b",)}

ROW = "| {work} | {model} | {lathe} | {peer} | {times} | {share} | {peer_share} | {goal} |"
COLUMNS = ("| work | model | Lathe | llama.cpp | times | Lathe's share | llama.cpp's share | goal |\n"
           "|---|---|---|---|---|---|---|---|")


def is_milliseconds(figure):
    return figure.endswith(", ms")


class Machine:
    def __init__(self, name, results):
        self.name = name  # of the class of processor, for many call themselves the same
        self.facts, self.shapes = results["machine"], results["shapes"]
        self.kind = "vnni" if "vnni" in self.facts["codes"] else "plain"
        self.samples = results["samples"]
        self.figures = defaultdict(lambda: defaultdict(list))  # (work, preset, format, figure) -> who -> samples
        for sample in self.samples:
            for figure in sample["figures"]:
                key = (sample["work"], sample["preset"], sample["format"], figure)
                self.figures[key][sample["who"]].append(sample)

    def peak(self, sample):
        """Operations a second. Without VNNI the tool has a loop for AVX2 only; Lathe's own may be the faster one."""
        if FORMATS[sample["format"]].is_coded and self.kind == "plain":
            return max(sample["ceilings"]["peak"], self.facts["int8_gop_s"] * 1e9)
        return sample["ceilings"]["peak"]

    def share(self, figure, sample):
        """Of what binds it, or none where more than one thing does."""
        shape, rate = self.shapes[sample["preset"]], sample["figures"][figure]
        if sample["work"] != "single":
            return None
        if figure == f"pp{PROMPT}":
            return rate / PROMPT * shape["prompt_operations"] / self.peak(sample)
        return rate * shape["weights_read"] * FORMATS[sample["format"]].bytes_each / sample["ceilings"]["read"]

    def tiles(self):
        """What AMX could do by Lathe's own loops: the ceilings above, and the goals, are those of vectors."""
        if "amx" not in self.facts["isa"]:
            return ""
        return (f"Tiles of AMX: {self.facts['bf16_gflop_s']:,.0f} GFLOP/s in bf16, {self.facts['int8_gop_s']:,.0f} GOP/s in codes "
                "(Lathe's own loops; shares and goals are of vectors). ")

    def gaps(self):
        """What was not run, and what was run too seldom."""
        n = {}  # (work, preset) -> samples of the figure that has the fewest
        for (work, preset, _, _), of_key in self.figures.items():
            fewest = min(len(samples) for samples in of_key.values())
            n[work, preset] = min(n.get((work, preset), fewest), fewest)
        missing = [f"{work} ({preset})" for work, presets in WORKS.items() for preset in presets if (work, preset) not in n]
        few = [f"{work} ({preset}): {n_samples}" for (work, preset), n_samples in n.items() if n_samples < ENOUGH]
        return ((f"Not run: {', '.join(missing)}. " if missing else "")
                + (f"Fewer than {ENOUGH} samples: {', '.join(few)}. " if few else ""))

    def row(self, key):
        work, preset, form, figure = key
        best = min if is_milliseconds(figure) else max
        text, middle, shares = {}, {}, {}
        for who in ("lathe", "llama.cpp"):
            samples = self.figures[key][who]
            rates = [s["figures"][figure] for s in samples]
            shares[who] = [self.share(figure, s) for s in samples]
            middle[who] = median(rates) if rates else None
            text[who] = f"{number(median(rates))} ({number(best(rates))})" if rates else "not measured"
            shares[who] = median(shares[who]) if rates and shares[who][0] is not None else None
        times = middle["lathe"] / middle["llama.cpp"] if middle["lathe"] and middle["llama.cpp"] else None
        return ROW.format(
            work=f"{form}: {figure}", model=preset, lathe=text["lathe"], peer=text["llama.cpp"],
            times=f"{times:.2f}" if times else "", share=percent(shares["lathe"]), peer_share=percent(shares["llama.cpp"]),
            goal=self.verdict(GOALS[self.kind].get((work, form, figure)), times, shares["lathe"], middle["lathe"], key))

    def verdict(self, goal: Goal | None, times, share, middle, key):
        if goal is None or middle is None:
            return ""
        parts = []
        if goal.share:
            parts.append(told(f"{goal.share:.0%}", share is not None and share >= goal.share))
        if goal.times:
            parts.append(told(f"{goal.times:g}x", times is not None and times >= goal.times))
        if goal.at_least:
            parts.append(told(f"{goal.at_least:g} tok/s", middle >= goal.at_least))
        if goal.at_most:
            parts.append(told(f"at most {goal.at_most:g} ms", middle <= goal.at_most))
        if goal.at_most_times:
            quiet = median(s["figures"][goal.of] for s in self.figures[key]["lathe"])
            parts.append(told(f"at most {goal.at_most_times:g} times the quiet gap", middle <= goal.at_most_times * quiet))
        if goal.at_least_times:
            parts.append(self.part_kept(goal, key))
        return ", ".join(parts)

    def part_kept(self, goal, key):
        """Of its own figure in the same sample, for both programs."""
        own, peer = (median([s["figures"][key[3]] / s["figures"][goal.of] for s in self.figures[key][who]] or [0])
                     for who in ("lathe", "llama.cpp"))
        beside = f", llama.cpp {peer:.0%}" if peer else ""
        return told(f"{goal.at_least_times:.0%} of {goal.of.split(', ')[-1]}: {own:.0%}{beside}", own >= goal.at_least_times)

    def section(self):
        f = self.facts
        ceilings = [s["ceilings"] for s in self.samples]
        floats = [s["ceilings"]["peak"] for s in self.samples if not FORMATS[s["format"]].is_coded]
        codes = [self.peak(s) for s in self.samples if FORMATS[s["format"]].is_coded]
        return [
            f"## {f['device']} ({self.name}), {f['isa']}, {f['threads']} threads", "",
            f"Reads {median(c['read'] for c in ceilings) * 1e-9:.1f} GB/s"
            + (f"; floats {median(floats) * 1e-9:.0f} GFLOP/s ({f['floats']})" if floats else "")
            + (f"; codes {median(codes) * 1e-9:.0f} GOP/s" if codes else "") + f". {self.tiles()}{self.gaps()}"
            f"The host took {median(s['stolen'] for s in self.samples):.1%} of the time (median), and let "
            f"{median(s['issued'] for s in self.samples):.0%} of the instructions through.", "",
            COLUMNS, *(self.row(key) for key in self.figures), ""]


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def percent(share):
    return f"{share:.0%}" if share is not None else ""


def told(words, is_met):
    return f"{words} {'met' if is_met else '**short**'}"


def write(to, folder):
    lines = [HEAD]
    for path in sorted(folder.glob("peer_*.json")):
        lines += Machine(path.stem.removeprefix("peer_"), json.loads(path.read_text())).section()
        notes = path.with_suffix(".md")
        if notes.exists():
            lines += ["### What binds", "", notes.read_text().strip(), ""]
    to.write_text("\n".join(lines))
