#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders that `lathe convert` makes of GGUF files, opened by transformers: logits are those of the folder that the file was made of.

    against_transformers.py --lathe build/release/bin/lathe --fixtures tests/fixtures

Needs: pip install torch transformers sentencepiece protobuf. Families whose GGUF files leave out a part of the config (windows) are not among them.
Exit code: 0 when all logits are equal, and the tokenizer and chat template of a file come back as transformers reads them.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers

FAMILIES = ["llama", "llama-yarn", "mixtral", "qwen3", "qwen3-moe", "gemma", "phi", "phi3", "stablelm", "olmo2", "exaone4", "granite", "cohere",
            "glm", "glm4", "seed-oss", "deepseek-v2", "deepseek-v2-groups", "deepseek-v3", "gpt2", "gpt-neox", "bloom", "falcon-7b",
            "falcon-11b", "falcon-40b", "qwen2-moe-sparse", "mpt", "qwen3-5", "qwen3-5-moe", "qwen3-next", "lfm2", "lfm2-moe", "gemma3n"]
TOLERANCE = 1e-5  # numbers of the metadata have 24 bits


def logits(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    ids = torch.tensor([[i * 7 % 90 + 3 for i in range(20)]])
    with torch.inference_mode():
        return model.eval()(ids).logits


def convert(lathe, *arguments):
    subprocess.run([lathe, "convert", "--quiet", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def check_family(lathe, fixtures, name, folder):
    convert(lathe, "--model", fixtures / "gguf" / f"{name}.gguf", "--output", folder / name)
    worst = (logits(folder / name) - logits(fixtures / "families" / name)).abs().max().item()
    print(f"{name}: {worst:.1e}")
    return worst <= TOLERANCE


def check_tokenizer(lathe, fixtures, folder):
    """A file that we write, and the folder that it becomes."""
    source = fixtures / "models" / "tiny-llama"
    convert(lathe, "--model", source, "--output", folder / "tiny.gguf")
    convert(lathe, "--model", folder / "tiny.gguf", "--output", folder / "tiny")
    meant, got = (transformers.AutoTokenizer.from_pretrained(path) for path in (source, folder / "tiny"))
    texts = ["Once upon a time, there was a girl.", "  two  blanks", "naïve 🙂", ""]
    same = [meant(text)["input_ids"] == got(text)["input_ids"] for text in texts]
    print(f"tokenizer: {sum(same)} of {len(same)} texts, chat template {'equal' if meant.chat_template == got.chat_template else 'differs'}")
    return all(same) and meant.chat_template == got.chat_template


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True)
    parser.add_argument("--fixtures", required=True, type=pathlib.Path)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        results = [check_family(options.lathe, options.fixtures, name, folder) for name in FAMILIES]
        results.append(check_tokenizer(options.lathe, options.fixtures, folder))
    sys.exit(0 if all(results) else "not all are equal")


if __name__ == "__main__":
    main()
