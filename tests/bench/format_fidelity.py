#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every weight format leaves of a model: perplexity, divergence, and how long greedy answers stay those of float32.

usage: format_fidelity.py --lathe PROGRAM --out FILE.md MODEL=DATASET[:LIMIT] ...

A dataset is a JSON list, or resources/demo_model/corpus: the answers that stand there, behind their
questions. Greedy answers go on from the first 24 tokens of its first texts. Codes of 8 bits are to stay within
0.2 % of the perplexity of float32.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

TEXTS, PROMPT, WRITTEN = 8, 24, 48
INT8_LIMIT = 0.002
EIGHT_BITS = {"int8_g32", "int8_g64", "int8_g128", "bitsandbytes_8bit", "dynamic_int8", "smoothquant"}
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Written by format_fidelity.py. -->
# What the weight formats leave of a model

Activations, sums and cache in f32. KL divergence in nats a token and the share of tokens with the same best one are against float32;
"greedy" is how many of {written} tokens after {prompt} of a text, or after a question, are float32's before the first that is not, the mean of {texts} texts.
Answers in `.jsonl` stand behind their questions, as the demo model has learned them; alone, in `.json`, they begin where it has learned
nothing, and their first tokens are told apart by chance.
"""
COLUMNS = "| quantization | perplexity | of float32 | KL | same best | greedy |\n|---|---|---|---|---|---|"


def lathe(args, *more):
    done = subprocess.run([args.lathe, *map(str, more), "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"lathe {' '.join(map(str, more))}\n{done.stderr}")
    return json.loads(done.stdout)


def answers_of(args, model, corpus, folder):
    """The answers of the demo model's corpus, each behind its question in the model's own chat format."""
    pairs, question = [], None
    for line in (line for file in sorted(corpus.glob("*.txt")) for line in file.read_text().splitlines()):
        if line.startswith("Q:"):
            question = line[2:].split("|")[0].strip()
        elif line.startswith("A:") and question:
            pairs.append((question, line[2:].strip()))
            question = None
    asked = "".join(json.dumps({"messages": [{"role": "user", "content": question}], "add_generation_prompt": True}) + "\n"
                    for question, _ in pairs)
    done = subprocess.run([args.lathe, "template", "--model", model], input=asked, capture_output=True, text=True, check=True)
    file = Path(folder) / "answers.jsonl"
    file.write_text("".join(json.dumps({"given": json.loads(line)["text"], "text": answer + "<|end|>"}) + "\n"
                            for line, (_, answer) in zip(done.stdout.splitlines(), pairs)))
    return file, len(pairs)


def prompts_of(args, model, dataset):
    """Questions whole, of other texts the beginning."""
    are_questions = dataset.suffix == ".jsonl"
    texts = ([json.loads(line)["given"] for line in dataset.read_text().splitlines()] if are_questions
             else json.loads(dataset.read_text()))
    done = subprocess.run([args.lathe, "tokenize", "--tokenizer", model, "--batch",
                           "--parse-special" if are_questions else "--add-special"],
                          input="".join(json.dumps(text) + "\n" for text in texts[:TEXTS]),
                          capture_output=True, text=True, check=True)
    ids = [json.loads(line) for line in done.stdout.splitlines()]
    return ids if are_questions else [of_text[:PROMPT] for of_text in ids]


def greedy(args, model, prompts, quantization):
    return [lathe(args, "complete", "--model", model, "--dtype", "float32", "--quantization", quantization, "--prompt-ids",
                  ",".join(map(str, prompt)), "--max-tokens", WRITTEN, "--temperature", 0, "--ignore-eos", "--json")["token_ids"]
            for prompt in prompts]


def equal_tokens(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), len(one))


def section(args, model, dataset, limit):
    compared = lathe(args, "eval", "compare", "--model", model, "--dtype", "float32", "--reference-dtype", "float32", "--dataset",
                     dataset, "--limit", limit, "--parse-special", "--json")["rows"]
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
        if name in EIGHT_BITS and abs(ratio - 1) > INT8_LIMIT:
            short.append(f"`{name}` {ratio - 1:+.2%}")
    lines += ["", "Formats with codes of 8 bits within 0.2 % of float32: " + ("yes." if not short else "**no**: " + ", ".join(short) + "."), ""]
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
        with tempfile.TemporaryDirectory() as folder:
            file, count = answers_of(args, model, Path(dataset), folder) if Path(dataset).is_dir() else (Path(dataset), 100)
            lines += section(args, model, file, int(limit or count))
    args.out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
