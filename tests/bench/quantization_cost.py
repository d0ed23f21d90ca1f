#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quantization-cost template as the tables of resources/manual/quantization.md: what each quantization costs in quality, and what it gives.

usage: quantization_cost.py --lathe PROGRAM MODEL=DATASET ...

A dataset is a JSON list of texts, or resources/demo_model/corpus: the answers that stand there, behind their questions.
Run it on a machine without other work: speeds are means of runs, and stderr names the cells that something else disturbed.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from format_fidelity import answers_of

STREAMS = ("1", "8")
REQUESTS, REPEATS = 64, 5  # small models: runs of the template's own few requests would end within milliseconds
HEAD = ("| quantization | perplexity | mean KL, nats | 99 % KL | same best token | tok/s of 1 / 8 streams | prefill tok/s | load s "
        "| weights, MB |\n" + "|---" * 9 + "|")


def sweep(args, model, dataset, folder):
    command = [args.lathe, "sweep", "--model", model, "--template", "quantization-cost", "--quality-dataset", dataset, "--no-cache",
               "--requests", REQUESTS, "--repeats", REPEATS,
               "--journal", Path(args.journals or folder) / f"{Path(model).name}.jsonl", "--json"]
    if dataset.suffix == ".jsonl":
        command.append("--parse-special")
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}")
    return json.loads(done.stdout)


def rounded(value):
    """Four digits, with commas."""
    return f"{float(f'{value:.4g}'):,.0f}" if value >= 1000 else f"{value:.4g}"


def rows(result):
    cells = {(cell["variables"]["quantization"], cell["variables"]["concurrency"]): cell["metrics"] for cell in result["cells"]}
    for name in dict.fromkeys(quantization for quantization, _ in cells):
        one, many = (cells[name, streams] for streams in STREAMS)

        def mean(metric, cell=one):
            return cell[metric]["mean"]
        yield (f"| `{name}` | {mean('perplexity'):.4g} ± {mean('perplexity_ci95'):.2g} | {mean('kl_mean'):.5f} | {mean('kl_99'):.4f} "
               f"| {100 * mean('same_best'):.1f} % | {rounded(mean('output_tok_s'))} / {rounded(mean('output_tok_s', many))} "
               f"| {rounded(mean('prefill_tok_s'))} | {mean('load_s'):.3f} | {mean('weight_bytes') / 1e6:.2f} |")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lathe", required=True)
    p.add_argument("--journals", help="folder that keeps them: the Bench page opens a journal")
    p.add_argument("models", nargs="+", metavar="MODEL=DATASET")
    args = p.parse_args()
    for one in args.models:
        model, dataset = one.split("=", 1)
        with tempfile.TemporaryDirectory() as folder:
            file, count = (answers_of(args, model, Path(dataset), folder) if Path(dataset).is_dir()
                           else (Path(dataset), len(json.loads(Path(dataset).read_text()))))
            result = sweep(args, model, file, folder)
        print(f"{Path(model).name}, {count} texts of {file.name}\n", HEAD, *rows(result), "", sep="\n")
        for cell in result["cells"]:
            if cell.get("warnings"):
                print(f"{cell['variables']}: the machine disturbed it: {cell['warnings']}", file=sys.stderr)


if __name__ == "__main__":
    main()
