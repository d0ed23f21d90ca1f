#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of this machine's measured ceilings `lathe bench` reaches: decode against memory reads, prefill against
arithmetic, many streams against one.

usage: cpu_share.py --lathe PROGRAM --limits PROGRAM --model FOLDER [--isa avx2,avx512] [--rounds 5] [--out FILE.json]
                    [--issue PROGRAM] [--max-stolen 0.03] [--min-issue 0.9] [--patience 15]

--limits is tools/cpu_limits.c of the shared folder, built (cc -O2 -pthread). Ceilings are measured before and after each
sample, and the sample is judged by the mean of the two: a shared machine changes from minute to minute. The model is a
bf16 Llama folder with more weights than the caches hold. One line a figure, as median (lowest to highest) of the rounds.

On a virtual machine the host may give its processors to others ("steal" of /proc/stat). Threads that wait for each other
lose twice by that, the loops of the ceilings once. So a sample in which more than --max-stolen of the time was stolen is
measured again, for at most --patience minutes an instruction set; after that it counts, and the figures say how much was
stolen. A neighbour on the other hardware thread of the same core takes no time but instructions: --issue (the program
kernels/issue_bench.cpp) sees it, and a sample before or after which a processor issued less than --min-issue of the most
that it was ever seen to issue is measured again likewise.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

STREAMS, PROMPT, WRITTEN = 16, 512, 48
STOLEN = "stolen by the host"
ISSUED = "instructions issued, of the most"


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lathe", required=True)
    p.add_argument("--limits", required=True)
    p.add_argument("--model", type=Path, required=True)
    p.add_argument("--isa", default="", help="with commas between; empty: the best there is")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--issue", help="kernels/issue_bench.cpp, built; without it neighbours on the same core are not seen")
    p.add_argument("--max-stolen", type=float, default=0.03)
    p.add_argument("--min-issue", type=float, default=0.9)
    p.add_argument("--patience", type=float, default=15, help="minutes")
    p.add_argument("--out", type=Path)
    return p.parse_args()


class Stolen:
    """The share of this machine's working time that the host has taken since the last look."""

    def __init__(self):
        self.before = self.counters()

    @staticmethod
    def counters():
        """Of all processors: stolen time, and all time but idle."""
        user, nice, system, _, _, irq, soft_irq, stolen = map(int, Path("/proc/stat").read_text().split()[1:9])
        return stolen, user + nice + system + irq + soft_irq + stolen

    def look(self):
        before, self.before = self.before, self.counters()
        return (self.before[0] - before[0]) / max(1, self.before[1] - before[1])


class Issue:
    """The share of its instructions that the busiest core lets through, of the most that this machine was seen to issue."""

    def __init__(self, program, threads):
        self.command = [program, str(threads)] if program else None
        self.most = max((self.measure() for _ in range(20)), default=1) if program else 1

    def measure(self):
        done = subprocess.run(self.command, check=True, capture_output=True, text=True)
        return min(json.loads(done.stdout)["instructions_a_cycle"])

    def look(self):
        if not self.command:
            return 1
        now = self.measure()
        self.most = max(self.most, now)
        return now / self.most


class Work:
    """Bytes that one decode step reads, and operations of a prompt, from the shapes in config.json."""

    def __init__(self, folder):
        c = json.loads((folder / "config.json").read_text())
        h, f, layers = c["hidden_size"], c["intermediate_size"], c["num_hidden_layers"]
        heads, kv = c["num_attention_heads"], c["num_key_value_heads"]
        d = c.get("head_dim") or h // heads
        self.layer = layers * (h * (heads + 2 * kv) * d + heads * d * h + 3 * h * f)
        self.head = c["vocab_size"] * h
        self.attention = 2 * layers * heads * d  # operations for one pair of tokens: half of 4, for the causal mask

    def decode_bytes(self):
        return 2 * (self.layer + self.head)

    def prompt_operations(self, n):
        return 2 * (self.layer * n + self.head) + self.attention * n * n


def limits(program, kind, threads):
    done = subprocess.run([program, "--json", "--repeats", "3", "--only", kind, "--threads", str(threads)],
                          check=True, capture_output=True, text=True)
    return next((v["median"] * 1e9 for v in json.loads(done.stdout).values()), 0.0)


def bench(args, isa, *more):
    environment = dict(os.environ, LATHE_ISA=isa) if isa else dict(os.environ)
    done = subprocess.run([args.lathe, "bench", "--model", str(args.model), "--threads", str(args.threads),
                           "--repeats", "1", "--json", *more], check=True, capture_output=True, text=True, env=environment)
    result = json.loads(done.stdout)
    return result["machine"], {(run["kind"], run["concurrency"]): run["samples_tok_s"][0] for run in result["runs"]}


def peak_kind(isa):
    return {"avx2": "f32_fma_avx2", "avx2_vnni": "f32_fma_avx2", "avx512": "f32_fma_avx512", "avx512_vnni": "f32_fma_avx512",
            "avx512_bf16": "bf16_dot_avx512", "avx512_amx": "bf16_dot_avx512"}[isa]


def measure_streams(args, work, isa, report):
    reads = [limits(args.limits, "dram_read", args.threads)]
    machine, rates = bench(args, isa, "--pp", "0", "--tg", str(WRITTEN), "--concurrency", f"1,{STREAMS}")
    reads.append(limits(args.limits, "dram_read", args.threads))
    one, many = rates["tg", 1], rates["tg", STREAMS]
    report["device"], report["isa"] = machine["device"], machine["isa"]
    return {
        "DRAM read, GB/s": statistics.mean(reads) * 1e-9,
        "decode, tok/s": one,
        "decode, share of DRAM read": one * work.decode_bytes() / statistics.mean(reads),
        f"{STREAMS} streams, tok/s": many,
        f"{STREAMS} streams, times one": many / one,
    }


def measure_prompt(args, work, isa, report):
    kind = peak_kind(report["isa"])
    peaks = [limits(args.limits, kind, args.threads)]
    _, prompt = bench(args, isa, "--pp", str(PROMPT), "--tg", "0")
    peaks.append(limits(args.limits, kind, args.threads))
    read = prompt["pp", 1]
    return {
        f"{kind}, GFLOP/s": statistics.mean(peaks) * 1e-9,
        f"pp{PROMPT}, tok/s": read,
        f"pp{PROMPT}, share of {kind}": read / PROMPT * work.prompt_operations(PROMPT) / statistics.mean(peaks),
    }


def undisturbed(args, issue, patient_until, report, measure_sample):
    """The figures of a sample during which the host took little, or of the first one after `patient_until`."""
    while True:
        stolen = Stolen()
        before = issue.look()
        figures = measure_sample()
        issued = min(before, issue.look())
        share = stolen.look()
        is_quiet = share <= args.max_stolen and issued >= args.min_issue
        if is_quiet or time.monotonic() >= patient_until:
            return {**figures, STOLEN: share, ISSUED: issued}
        report["repeated_samples"] += 1
        print(f"  again: {share:.1%} of it was stolen, {issued:.0%} of the instructions issued", file=sys.stderr, flush=True)


def measure(args, work, isa):
    issue = Issue(args.issue, args.threads)
    report = {"model": args.model.name, "threads": args.threads, "repeated_samples": 0, "figures": {}}
    patient_until = time.monotonic() + 60 * args.patience
    for n in range(args.rounds):
        print(f"{isa or 'best'}: round {n + 1} of {args.rounds}", file=sys.stderr, flush=True)
        for measure_sample in (measure_streams, measure_prompt):
            figures = undisturbed(args, issue, patient_until, report, lambda: measure_sample(args, work, isa, report))
            for name, value in figures.items():
                report["figures"].setdefault(name, []).append(round(value, 4))
    return report


def main():
    args = arguments()
    work = Work(args.model)
    reports = []
    for isa in args.isa.split(","):
        report = measure(args, work, isa)
        print(f"{report['device']}, {report['isa']}, {args.threads} threads, {args.model.name}")
        for name, values in report["figures"].items():
            print(f"  {name:32} {statistics.median(values):10.3f}  ({min(values):.3f} to {max(values):.3f})")
        reports.append(report)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(reports, indent=1) + "\n")


if __name__ == "__main__":
    main()
