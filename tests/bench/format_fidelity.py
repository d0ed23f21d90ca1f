#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every weight format leaves of a model: perplexity, divergence, and how long greedy answers stay those of float32.

usage: format_fidelity.py --lathe PROGRAM --out FILE.md MODEL=DATASET[:LIMIT] ...

A dataset is what `lathe eval` reads. Greedy answers go on from the first 24 tokens of its first texts. int8 is to stay within
0.2 % of the perplexity of float32.
"""
import argparse
import json
import subprocess
from pathlib import Path

TEXTS, PROMPT, WRITTEN = 8, 24, 48
INT8_LIMIT = 0.002
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by format_fidelity.py. -->
# What the weight formats leave of a model

Activations, sums and cache in f32. KL divergence in nats a token and the share of tokens with the same best one are against float32;
"greedy" is how many of {written} tokens after {prompt} of a text are float32's before the first that is not, the mean of {texts} texts.
"""
COLUMNS = "| quantization | perplexity | of float32 | KL | same best | greedy |\n|---|---|---|---|---|---|"


def lathe(args, *more):
    done = subprocess.run([args.lathe, *map(str, more), "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"lathe {' '.join(map(str, more))}\n{done.stderr}")
    return json.loads(done.stdout)


def texts_of(dataset):
    if dataset.suffix == ".json":
        return json.loads(dataset.read_text())[:TEXTS]
    return [json.loads(line)["text"] for line in dataset.read_text().splitlines()[:TEXTS]]


def prompts_of(args, model, dataset):
    lines = "".join(json.dumps(text) + "\n" for text in texts_of(dataset))
    done = subprocess.run([args.lathe, "tokenize", "--tokenizer", model, "--batch", "--add-special"], input=lines,
                          capture_output=True, text=True, check=True)
    return [json.loads(line)[:PROMPT] for line in done.stdout.splitlines()]


def greedy(args, model, prompts, quantization):
    return [lathe(args, "complete", "--model", model, "--dtype", "float32", "--quantization", quantization, "--prompt-ids",
                  ",".join(map(str, prompt)), "--max-tokens", WRITTEN, "--temperature", 0, "--ignore-eos", "--json")["token_ids"]
            for prompt in prompts]


def equal_tokens(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), len(one))


def section(args, model, dataset, limit):
    compared = lathe(args, "eval", "compare", "--model", model, "--dtype", "float32", "--dataset", dataset, "--limit", limit,
                     "--json")["rows"]
    prompts = prompts_of(args, model, dataset)
    exact = greedy(args, model, prompts, "none")
    base = next(row for row in compared if row["quantization"] == "none")["tested"]["perplexity"]
    lines, short = [f"## {Path(model).name}, {limit} texts of {dataset.name}", "", COLUMNS], []
    for row in compared:
        name = row["quantization"]
        ratio = row["tested"]["perplexity"] / base
        same = [equal_tokens(a, b) for a, b in zip(exact, greedy(args, model, prompts, name))]
        lines.append(f"| `{name}` | {row['tested']['perplexity']:.4f} | {ratio:.4f} | {row['kl']:.5f} | "
                     f"{100 * row['same_best']:.1f} % | {sum(same) / len(same):.1f} |")
        if name.startswith("int8_") and abs(ratio - 1) > INT8_LIMIT:
            short.append(f"`{name}` {ratio - 1:+.2%}")
    lines += ["", "int8 in groups within 0.2 % of float32: " + ("yes." if not short else "**no**: " + ", ".join(short) + "."), ""]
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--lathe", required=True)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("models", nargs="+", metavar="MODEL=DATASET[:LIMIT]")
    args = p.parse_args()
    lines = [HEAD.format(written=WRITTEN, prompt=PROMPT, texts=TEXTS)]
    for one in args.models:
        model, dataset = one.split("=", 1)
        dataset, _, limit = dataset.partition(":")
        lines += section(args, model, Path(dataset), int(limit or 100))
    args.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
