#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixtures of tests/fixtures again, beside the committed ones, and compares.

    remade_fixtures.py --source FOLDER_OF_THE_TREE MAKER...

A maker is a folder of tests/fixtures with a make_*.py, whose packages this Python needs. Weights, prompts and greedy answers
must be the same bytes (they are seeded); logits may differ by 1e-5, for libraries of another machine add in another order.
"""
import argparse
import json
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

MOST = 1e-5
VERSIONS = ("transformers_version", "torch_version", "_name_or_path")  # of libraries, which say nothing of the numbers


def floats(path):
    data = path.read_bytes()
    return struct.unpack(f"<{len(data) // 4}f", data)


def without_versions(value):
    if isinstance(value, dict):
        return {k: without_versions(v) for k, v in value.items() if k not in VERSIONS}
    return [without_versions(v) for v in value] if isinstance(value, list) else value


def is_near(a, b):
    """Numbers with a point within MOST, all else the same."""
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) <= MOST * max(1, abs(a))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_near(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_near, a, b))
    return a == b


def difference(old, new):
    """What is not the same, or None."""
    if not new.exists():
        return "was not made"
    if old.suffix == ".bin":
        a, b = floats(old), floats(new)
        largest = max(map(lambda x, y: abs(x - y), a, b)) if len(a) == len(b) else float("inf")
        return None if largest <= MOST else f"differs by {largest}"
    if old.suffix == ".json":
        a, b = (without_versions(json.loads(path.read_text())) for path in (old, new))
        return None if is_near(a, b) else "says something else"
    return None if old.read_bytes() == new.read_bytes() else "has other bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("makers", nargs="+")
    options = parser.parse_args()
    fixtures = options.source / "tests" / "fixtures"
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        # Makers find their neighbours, and the corpus of the demo model, by their own place.
        made = Path(scratch) / "tests" / "fixtures"
        shutil.copytree(fixtures, made)
        (Path(scratch) / "resources").symlink_to(options.source / "resources")
        for maker in options.makers:
            for script in sorted((made / maker).glob("make_*.py")):
                old_files = [p for p in sorted((fixtures / maker).rglob("*")) if p.is_file() and p.suffix in (".bin", ".json", ".safetensors")]
                for path in old_files:
                    (made / path.relative_to(fixtures)).unlink()
                subprocess.run([sys.executable, script], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for path in old_files:
                    told = difference(path, made / path.relative_to(fixtures))
                    if told:
                        failed += 1
                        print(f"{path.relative_to(fixtures)}: {told}")
                print(f"{maker}: {len(old_files)} files compared")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
