#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the classes of Hugging Face transformers that generate text: one line each, "class<TAB>model_type<TAB>model_type of the text".

    list_classes.py [--check FILE]

With --check it compares the first three columns of FILE with the list, and fails where they differ. Needs transformers and torch.
"""
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import transformers
import transformers.models

ENDINGS = ("ForCausalLM", "ForConditionalGeneration")


def text_of(config_class):
    """model_type of the text inside a larger model; of the model itself where it has none."""
    try:
        text = config_class().get_text_config(decoder=True)
    except Exception:  # a class whose defaults make no model
        defaults = getattr(config_class, "sub_configs", {}) or {}
        text = defaults.get("text_config")
    kind = getattr(text, "model_type", "") or config_class.model_type
    return kind


def classes():
    found = {}
    for package in pkgutil.iter_modules(transformers.models.__path__):
        folder = Path(transformers.models.__path__[0]) / package.name
        for file in sorted(folder.glob("modeling_*.py")):
            names = re.findall(r"^class (\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
            wanted = [name for name in names if name.endswith(ENDINGS)]
            if not wanted:
                continue
            module = importlib.import_module(f"transformers.models.{package.name}.{file.stem}")
            for name in wanted:
                config_class = getattr(getattr(module, name), "config_class", None)
                if config_class is not None and config_class.model_type:
                    found[name] = (config_class.model_type, text_of(config_class))
    return found


def main():
    lines = [f"{name}\t{kind}\t{text}" for name, (kind, text) in sorted(classes().items())]
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        rows = [line.split("\t") for line in Path(sys.argv[2]).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        listed = ["\t".join(row[:3]) for row in rows]
        for line in sorted(set(lines) ^ set(listed)):
            print("missing in the list:" if line in lines else "not in transformers:", line)
        return 0 if lines == listed else 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
