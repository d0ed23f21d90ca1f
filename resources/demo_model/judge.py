#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the bundled demo model: asks the held-out questions through the server and looks for key phrases.

    judge.py build/release/bin/lathe

An item of heldout.json is right when, of each of its groups of key_phrases, at least one alternative is in the answer
(upper and lower case count as equal). An item whose wording is in the corpus is no test and makes the run fail.
Exit code: 0 at 80 % or more, 1 below or when something failed, 2 for wrong usage.
"""
import argparse
import itertools
import json
import re
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

MODEL_DIR = Path(__file__).resolve().parent
REQUIRED_SHARE = 0.8
START_SECONDS, REQUEST_SECONDS, STOP_SECONDS = 120, 120, 10


def normalise(text):
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def expand(wording):
    """Every text that a wording with {a;b} stands for."""
    parts = re.split(r"\{([^{}]*)\}", wording)
    return ["".join(c) for c in itertools.product(*(p.split(";") if i % 2 else [p] for i, p in enumerate(parts)))]


def corpus_wordings(folder=MODEL_DIR / "corpus"):
    wordings = set()
    for path in folder.glob("*.txt"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("Q:", "F:")):
                wordings.update(normalise(text) for w in line[2:].split("|") for text in expand(w))
    return wordings


def read_heldout(path=MODEL_DIR / "heldout.json"):
    return json.loads(path.read_text(encoding="utf-8"))


def is_right(answer, key_phrases):
    answer = answer.lower()
    return all(any(phrase.lower() in answer for phrase in group) for group in key_phrases)


def judge(items, ask, required=REQUIRED_SHARE):
    """ask: question -> answer. Prints the table; returns whether the model passes."""
    known = corpus_wordings()
    leaked = [item["question"] for item in items if normalise(item["question"]) in known]
    by_topic = {}
    for item in items:
        answer = ask(item["question"])
        right = is_right(answer, item["key_phrases"])
        by_topic.setdefault(item["topic"], []).append(right)
        print(f"{'right' if right else 'WRONG':6} {item['question']}\n       {answer}", flush=True)
    print()
    for topic, marks in by_topic.items():
        print(f"{topic:24} {sum(marks):3} of {len(marks):3}")
    n_right = sum(sum(marks) for marks in by_topic.values())
    print(f"{'all':24} {n_right:3} of {len(items):3}  ({100 * n_right / len(items):.1f} %, needed {100 * required:.0f} %)")
    for question in leaked:
        print(f"the corpus has this wording, so it tests nothing: {question}")
    return bool(items) and not leaked and n_right >= required * len(items)


class Server:
    """`lathe serve` on the demo model, on a free port, for the time of a with statement."""

    def __init__(self, lathe, model):
        self.command = [lathe, "serve", "--model", str(model), "--port", "0"]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace")
        self.lines, self.ready, self.address = [], threading.Event(), None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if not self.ready.wait(START_SECONDS) or self.address is None:
            self.__exit__()
            raise RuntimeError("lathe serve did not get ready; it said:\n" + "".join(self.lines[-20:]))
        return self

    def read(self):
        """Reads for as long as the server runs, so that it never blocks on a full pipe."""
        for line in self.process.stdout:
            self.lines.append(line)
            found = re.search(r"listening on (http://\S+)", line)
            if found and self.address is None:
                self.address = found.group(1).rstrip("/")
                self.ready.set()
        self.ready.set()

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(STOP_SECONDS)

    def call(self, path, body=None):
        request = urllib.request.Request(self.address + path, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as response:
            return json.load(response)

    def model_name(self):
        return self.call("/v1/models")["data"][0]["id"]

    def ask(self, model, question):
        answer = self.call("/v1/chat/completions", {
            "model": model, "temperature": 0, "max_tokens": 160, "messages": [{"role": "user", "content": question}]})
        return answer["choices"][0]["message"]["content"] or ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lathe", help="path of the lathe program")
    parser.add_argument("--model", type=Path, default=MODEL_DIR, help="model folder (default: the bundled one)")
    parser.add_argument("--required", type=float, default=REQUIRED_SHARE, help="share that must be right")
    args = parser.parse_args()
    try:
        with Server(args.lathe, args.model) as server:
            name = server.model_name()
            passed = judge(read_heldout(), lambda question: server.ask(name, question), args.required)
    except (OSError, RuntimeError, ValueError, KeyError, IndexError) as error:
        print(f"judge.py: {error}", file=sys.stderr)
        return 1
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
