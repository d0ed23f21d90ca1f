#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lathe beside llama.cpp on the same weights, in the same minutes, each as a share of what the machine can do just then.

usage: against_peer.py --lathe PROGRAM --peer FOLDER --limits PROGRAM --models FOLDER --results FILE.json
                       [--issue PROGRAM] [--load-tool openai_load.mjs] [--presets 0.5b,1.1b]
                       [--work single,streams,depth,server,stall,lookup,neighbours] [--formats bf16,int8,int4,nf4] [--rounds 5] [--threads 2]
                       [--isa avx2]

--peer holds llama-bench, llama-batched-bench and llama-server. --models holds for each preset a Hugging Face folder PRESET and
its GGUF files PRESET-bf16.gguf, PRESET-q8_0.gguf and PRESET-q4_0.gguf. --isa avx2 keeps Lathe and the ceilings to AVX2; the
peer must have been built so (-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON). The two programs take turns, and who begins changes
with each round. Samples are added to the results file as they come, so that a stopped run goes on where it ended; the tables
of against_peer.md are written anew from all files of the results folder.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

from cpu_share import Issue, Stolen, Work, limits
from peer import neighbours, stall, table
from peer.runners import FORMATS, PROMPT, WRITTEN, Lathe, LlamaCpp

SERVER_REQUESTS = {1: 4, 4: 8, 16: 32}  # by streams at a time
FLOAT_PEAKS = ("bf16_dot_avx512", "f32_fma_avx512", "f32_fma_avx2")
# Of AVX-VNNI the tool has no loop: where there is no AVX-512 beside it, shares are of vpmaddubsw and may pass 100 %.
CODE_PEAKS = ("int8_vnni_avx512", "int8_maddubs_avx2")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--lathe", "--limits", "--load-tool", "--issue"):
        p.add_argument(name, required=name in ("--lathe", "--limits"))
    for name in ("--peer", "--models", "--results"):
        p.add_argument(name, type=Path, required=True)
    p.add_argument("--presets", default="0.5b,1.1b")
    p.add_argument("--work", default=",".join(WORKS))
    p.add_argument("--formats", default=",".join(FORMATS))
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--isa", choices=("", "avx2"), default="")
    return p.parse_args()


class Ceilings:
    """What the machine reaches now: bytes a second, and operations a second of floats and of codes."""

    def __init__(self, args):
        self.args = args
        self.floats = self.highest(FLOAT_PEAKS)
        self.codes = self.highest(CODE_PEAKS)

    def highest(self, kinds):
        """The first of them that the processor has, or --isa leaves it."""
        return next(kind for kind in kinds if kind.endswith(self.args.isa) and limits(self.args.limits, kind, self.args.threads))

    def look(self, form):
        peak = self.codes if FORMATS[form].is_coded else self.floats
        return {"read": limits(self.args.limits, "dram_read", self.args.threads), "peak": limits(self.args.limits, peak, self.args.threads)}


def single(args, who, preset, form, seed):
    return who.rates(preset, form, PROMPT, WRITTEN)


def streams(args, who, preset, form, seed):
    return who.streams(preset, form)


def depth(args, who, preset, form, seed):
    return {**who.depth(preset, form, "f16"), **who.depth(preset, form, "int8")}


def server(args, who, preset, form, seed):
    figures = {}
    with who.serve(preset, form, max(SERVER_REQUESTS)) as url:
        for n, n_requests in SERVER_REQUESTS.items():
            done = subprocess.run(["node", args.load_tool, "--url", url, "--concurrency", str(n), "--requests", str(n_requests),
                                   "--model", preset, "--seed", str(seed), "--body", '{"ignore_eos":true}', "--json"],
                                  check=True, capture_output=True, text=True)
            report = json.loads(done.stdout)
            figures[f"server, {n} at a time, tok/s"] = report["out_tok_s"]
            figures[f"server, {n} at a time, ITL p99, ms"] = report["itl_ms"][2]
    return figures


def stalled(args, who, preset, form, seed):
    with who.serve(preset, form, stall.STREAMS + 1) as url:
        return stall.measure(url, preset, seed)


def lookup(args, who, preset, form, seed):
    return who.lookup(preset, form)


def neighbourhood(args, who, preset, form, seed):
    return neighbours.measure(who, preset, form)


# work: how it is measured, with which formats, whether with each preset or with the first only
WORKS = {
    "single": (single, ("bf16", "int8", "int4"), True),
    "streams": (streams, ("int8", "int4"), False),
    "depth": (depth, ("int8",), False),
    "server": (server, ("int8",), False),
    "stall": (stalled, ("int8",), False),
    "lookup": (lookup, ("nf4",), False),
    "neighbours": (neighbourhood, ("int8",), False),
}


class Results:
    def __init__(self, path):
        self.path = path
        self.all = json.loads(path.read_text()) if path.exists() else {"machine": {}, "shapes": {}, "samples": []}

    def n_of(self, **key):
        return sum(all(s[name] == value for name, value in key.items()) for s in self.all["samples"])

    def add(self, sample):
        self.all["samples"].append(sample)
        self.keep()

    def keep(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.all, indent=1) + "\n")


def rounded(figures):
    return {name: float(f"{value:.5g}") for name, value in figures.items()}


def main():
    args = arguments()
    results, ceilings, issue = Results(args.results), Ceilings(args), Issue(args.issue, args.threads)
    lathe = Lathe(args.lathe, args.models, args.threads, args.isa)
    pair = (lathe, LlamaCpp(args.peer, args.models, args.threads))
    presets, formats = args.presets.split(","), args.formats.split(",")
    if not results.all["machine"]:
        lathe.bench(presets[0], formats[0], "--pp", 0, "--tg", 8)
        results.all["machine"] = {**lathe.machine, "threads": args.threads, "floats": ceilings.floats, "codes": ceilings.codes}
    for preset in presets:
        shape = Work(args.models / preset)
        results.all["shapes"][preset] = {"weights_read": shape.layer + shape.head,
                                         "prompt_operations": shape.prompt_operations(PROMPT)}
    for work in args.work.split(","):
        measure, its_formats, of_each = WORKS[work]
        for preset in presets if of_each else presets[:1]:
            for form in (f for f in its_formats if f in formats):
                for n in range(args.rounds):
                    for who in pair if n % 2 == 0 else reversed(pair):
                        key = {"work": work, "preset": preset, "format": form, "who": who.name}
                        if results.n_of(**key) > n:
                            continue
                        print(f"{work} {preset} {form}: round {n + 1} of {args.rounds}, {who.name}", file=sys.stderr, flush=True)
                        stolen, issued, before = Stolen(), issue.look(), ceilings.look(form)
                        figures = measure(args, who, preset, form, n + 1)
                        after = ceilings.look(form)
                        results.add({**key, "figures": rounded(figures),
                                     "ceilings": rounded({name: (before[name] + after[name]) / 2 for name in before}),
                                     "stolen": round(stolen.look(), 4), "issued": round(min(issued, issue.look()), 3)})
    results.keep()
    table.write(Path(__file__).with_suffix(".md"), args.results.parent)


if __name__ == "__main__":
    main()
