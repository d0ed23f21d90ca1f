#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares grammar_bench with xgrammar and llguidance (PyPI) on the same schemas and the same vocabulary, one thread each.

    python3 -m venv V && V/bin/pip install xgrammar llguidance jsonschema
    V/bin/python tests/bench/grammar_peers.py --bench build/dev/bench/bench.engine.grammar --tokenizer TOKENIZER

Each library walks through random answers under its own masks, without free white space, which even draws would not leave. Columns: milliseconds to compile (best of 5); the slowest mask of
the first answer, and median and 99th percentile of the masks after it, in microseconds; answers that ended, and those of them
that python-jsonschema calls invalid.
"""
import argparse
import ctypes
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path

import jsonschema

PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 30}, "age": {"type": "integer", "minimum": 0,
          "maximum": 150}, "email": {"type": "string", "maxLength": 40}}, "required": ["name", "age"], "additionalProperties": False}
ORDER = {"type": "object", "properties": {
    "id": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{6}$"}, "state": {"enum": ["new", "paid", "sent", "returned"]},
    "lines": {"type": "array", "minItems": 1, "maxItems": 5, "items": {"type": "object", "properties": {
        "sku": {"type": "string", "maxLength": 12}, "count": {"type": "integer", "minimum": 1, "maximum": 99},
        "price": {"type": "number"}}, "required": ["sku", "count", "price"], "additionalProperties": False}},
    "buyer": PERSON}, "required": ["id", "state", "lines", "buyer"], "additionalProperties": False}
TREE = {"$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"}, "children": {
    "type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/node"}}}, "required": ["value", "children"],
    "additionalProperties": False}}, "$ref": "#/$defs/node"}
UNION = {"anyOf": [{"type": "object", "properties": {"kind": {"const": kind}, kind: {"type": type_name}},
                    "required": ["kind", kind], "additionalProperties": False}
                   for kind, type_name in (("text", "string"), ("count", "integer"), ("share", "number"), ("flag", "boolean"))]}
WIDE = {"type": "object", "properties": {f"field_{i}": {"type": ("string", "integer", "boolean", "number")[i % 4],
        "description": "One of many fields of a wide record."} for i in range(80)}, "additionalProperties": False,
        "required": [f"field_{i}" for i in range(0, 80, 2)]}
SCHEMAS = {"person": PERSON, "order": ORDER, "tree": TREE, "union": UNION, "wide, 80 properties": WIDE}
N_COMPILED = 5


def best_of(work):
    best, result = float("inf"), None
    for _ in range(N_COMPILED):
        begin = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - begin)
    return best * 1e3, result


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0


def allowed_tokens(mask):
    return [32 * at + bit for at, word in enumerate(mask) if word for bit in range(32) if word >> bit & 1]


def walk(new_matcher, choice, vocabulary, eos):
    """A matcher has mask() -> words of 32 bits, accept(token). Timed: mask() alone."""
    drawn, first_us, us, answers = random.Random(1), [], [], []
    for n in range(choice.walks):
        matcher, answer = new_matcher(), b""
        for _ in range(choice.tokens):
            begin = time.perf_counter()
            matcher.fill()
            (us if n else first_us).append((time.perf_counter() - begin) * 1e6)
            tokens = allowed_tokens(matcher.words())
            may_end = eos in tokens
            tokens = [token for token in tokens if token != eos]
            if not tokens or (may_end and drawn.random() < 0.5):
                if may_end:
                    answers.append(answer.decode("utf-8", "replace"))
                break
            token = drawn.choice(tokens)
            answer += vocabulary[token]
            matcher.accept(token)
    return {"first_answer_max_us": quantile(first_us, 1), "mask_p50_us": quantile(us, 0.5), "mask_p99_us": quantile(us, 0.99),
            "answers": answers}


def measure_xgrammar(schemas, choice, vocabulary, eos):
    import numpy
    import xgrammar

    info = xgrammar.TokenizerInfo(list(vocabulary), vocab_type=xgrammar.VocabType.RAW, vocab_size=len(vocabulary),
                                  stop_token_ids=[eos])

    class Matcher:
        def __init__(self, grammar):
            self.matcher = xgrammar.GrammarMatcher(grammar)
            self.bits = xgrammar.allocate_token_bitmask(1, len(vocabulary))

        def fill(self):
            self.matcher.fill_next_token_bitmask(self.bits)

        def words(self):
            return self.bits[0].numpy().astype(numpy.uint32).tolist()

        def accept(self, token):
            assert self.matcher.accept_token(token)

    rows = {}
    for name, schema in schemas.items():
        compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        ms, grammar = best_of(lambda: compiler.compile_json_schema(json.dumps(schema), any_whitespace=False))
        rows[name] = {"compile_ms": ms} | walk(lambda: Matcher(grammar), choice, vocabulary, eos)
    return rows


def measure_llguidance(schemas, choice, vocabulary, eos):
    import llguidance
    import numpy

    class Tokens:
        eos_token_id, bos_token_id, tokens, special_token_ids = eos, None, [bytes(t) for t in vocabulary], [eos]

        def __call__(self, text):
            return [self.tokens.index(bytes([byte])) for byte in (text if isinstance(text, bytes) else text.encode())]

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))

    class Matcher:
        def __init__(self, grammar):
            self.matcher = llguidance.LLMatcher(tokenizer, grammar)
            self.bits = numpy.zeros((len(vocabulary) + 31) // 32, dtype=numpy.int32)

        def fill(self):
            self.matcher.unsafe_compute_mask_ptr(self.bits.ctypes.data_as(ctypes.c_void_p).value, self.bits.nbytes)

        def words(self):
            return self.bits.astype(numpy.uint32).tolist()

        def accept(self, token):
            assert self.matcher.consume_token(token)

    rows = {}
    for name, schema in schemas.items():
        def compiled(schema=schema):
            grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema), defaults={"whitespace_flexible": False})
            Matcher(grammar)
            return grammar
        ms, grammar = best_of(compiled)
        rows[name] = {"compile_ms": ms} | walk(lambda: Matcher(grammar), choice, vocabulary, eos)
    return rows


def measure_lathe(schemas, choice, folder):
    files = {}
    for at, (name, schema) in enumerate(schemas.items()):
        path = folder / f"{at}.json"
        path.write_text(json.dumps({"json": schema, "whitespace": "none"}))
        files[str(path)] = name
    shown = subprocess.run([choice.bench, choice.tokenizer, *files, "--walks", str(choice.walks), "--tokens", str(choice.tokens),
                            "--vocabulary", str(folder / "vocabulary")], capture_output=True, text=True, check=True).stdout
    return {files[row["file"]]: row for row in map(json.loads, shown.splitlines())}


def n_invalid(answers, schema):
    validator = jsonschema.Draft202012Validator(schema)

    def is_valid(answer):
        try:
            return validator.is_valid(json.loads(answer))
        except ValueError:
            return False
    return sum(not is_valid(answer) for answer in answers)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--walks", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=200)
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables = {"lathe": measure_lathe(SCHEMAS, choice, Path(folder))}
        vocabulary = [bytes.fromhex(line) for line in (Path(folder) / "vocabulary").read_text().splitlines()]
    eos = len(vocabulary)  # an end token of its own, as control tokens have no bytes here
    vocabulary.append(b"</s>")
    tables["xgrammar"] = measure_xgrammar(SCHEMAS, choice, vocabulary, eos)
    tables["llguidance"] = measure_llguidance(SCHEMAS, choice, vocabulary, eos)
    print(f"{len(vocabulary) - 1} tokens\n")
    print("| schema | library | compile ms | first answer, max us | mask p50 us | p99 us | ended | invalid |")
    print("|---|---|---|---|---|---|---|---|")
    for name, schema in SCHEMAS.items():
        for library, rows in tables.items():
            row = rows[name]
            print(f"| {name} | {library} | {row['compile_ms']:.2f} | {row['first_answer_max_us']:.0f} | {row['mask_p50_us']:.1f} | "
                  f"{row['mask_p99_us']:.0f} | {len(row['answers'])} | {n_invalid(row['answers'], schema)} |")


if __name__ == "__main__":
    main()
