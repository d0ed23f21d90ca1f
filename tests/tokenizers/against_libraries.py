#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random texts through `lathe tokenize` and `lathe detokenize`, and through the libraries that the tokenizers come from.

    against_libraries.py --lathe build/release/bin/lathe --shared ../shared [--count 20000] [--seed 1] [--only gpt2,qwen2]

Needs: pip install tokenizers sentencepiece tiktoken. The texts hold all scripts of Unicode, emoji, control characters, broken
UTF-8 (repaired, as the libraries want it), long runs and pieces of the real texts in the shared folder. Characters are those
that Python's own tables know, so that newer tables of one side are no difference. WordPiece is trained here, the others are
real ones. Exit code: 0 when all ids are equal, and all texts come back where the tokenizer loses nothing.
"""
import argparse
import json
import pathlib
import random
import string
import subprocess
import sys
import tempfile
import unicodedata

EMOJI = ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "🧑‍🚀", "🫠", "1️⃣"]
WORDS = ["the", "The", "HELLO", "don't", "I'M", "we'LL", "naïve", "Straße", "ΣΊΣΥΦΟΣ", "привет", "こんにちは", "世界", "안녕", "مرحبا", "हिन्दी",
         "ไทย", "ﬁ", "①", "İstanbul", "ǅ", "x_y", "foo(bar)", "1234567", "3.14", "٣٤", "½", "_", "--", "...", "http://a.b/c?d=e", "▁", "▁a"]
SPACES = [" ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", " \n ", "\u00a0", "\u3000", "\u2028", "\u0085", "\u200b", "\u180e", "\ufeff"]
CONTROLS = [chr(c) for c in list(range(1, 32)) + [0, 127, 0x80, 0x9F, 0xAD, 0x200D, 0x202E, 0xFFFD, 0xE000]]


def assigned():
    """Code points of every script, by block of 256."""
    blocks = {}
    for code in range(0x110000):
        if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co"):
            blocks.setdefault(code >> 8, []).append(code)
    return list(blocks.values())


class Texts:
    def __init__(self, seed, shared):
        self.random = random.Random(seed)
        self.blocks = assigned()
        self.lines = []
        for name in sorted((shared / "data/tokenizers/vectors").glob("*.inp")):
            self.lines += name.read_text(encoding="utf-8", errors="replace").split("\n__ggml_vocab_test__\n")

    def script(self):
        block = self.random.choice(self.blocks)
        return "".join(chr(self.random.choice(block)) for _ in range(self.random.randint(1, 12)))

    def broken(self):
        data = bytearray(self.random.choice(WORDS + EMOJI).encode())
        for _ in range(self.random.randint(1, 3)):
            data.insert(self.random.randint(0, len(data)), self.random.randint(0x80, 0xFF))
        return bytes(data).decode("utf-8", "replace")

    def run(self):
        return self.random.choice(["a", " ", "0", "\n", "é", "世", "!", "\t", "ab", "😀"]) * self.random.randint(2, 300)

    def line(self):
        line = self.random.choice(self.lines)
        begin = self.random.randint(0, len(line))
        return line[begin:begin + self.random.randint(1, 80)]

    def part(self):
        kinds = [(self.script, 6), (lambda: self.random.choice(WORDS), 8), (lambda: self.random.choice(SPACES), 8),
                 (lambda: self.random.choice(EMOJI), 2), (lambda: self.random.choice(CONTROLS), 1), (self.broken, 1),
                 (self.line, 2), (lambda: "".join(self.random.choices("abcdefgXYZ0123456789 .,'\"", k=self.random.randint(1, 20))), 4)]
        if self.random.random() < 0.02:
            return self.run()
        return self.random.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    def text(self):
        return "".join(self.part() for _ in range(self.random.randint(0, 12)))


def run(lathe, command, path, lines, *flags):
    done = subprocess.run([lathe, command, "--tokenizer", str(path), "--batch", *flags], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"lathe {command} --tokenizer {path}: exit code {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def of_file(path):
    import tokenizers
    made = tokenizers.Tokenizer.from_file(str(path))
    return lambda text: made.encode(text, add_special_tokens=False).ids


def of_sentencepiece(path):
    import sentencepiece
    made = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return made.encode


def of_ranks(path, pattern, nfc):
    import base64
    import tiktoken
    ranks = {base64.b64decode(piece): int(rank) for piece, rank in
             (line.split() for line in path.read_bytes().splitlines() if line)}
    made = tiktoken.Encoding(name=path.name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: made.encode(unicodedata.normalize("NFC", text) if nfc else text, disallowed_special=())


def of_vocabulary_and_merges(folder, pattern):
    """The tokenizer that transformers builds for Qwen2 over these files."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers
    made = tokenizers.Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(tokenizers.Regex(pattern), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    return lambda text: made.encode(text, add_special_tokens=False).ids


def train_wordpiece(folder, texts):
    """A small BERT of its own, uncased, over the texts themselves."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=8000, special_tokens=special, show_progress=False))
    path = folder / "tokenizer.json"
    made.save(str(path))
    return path


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def newer_than_bert():
    """Characters that came after the tables of the library's BERT parts (those of Unicode 8): it calls them letters, or leaves
    them whole (U+11938 of Unicode 13)."""
    from tokenizers import normalizers, pre_tokenizers
    strip = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    split = pre_tokenizers.BertPreTokenizer()
    nfd = normalizers.NFD()
    newer = set()
    for code in (code for block in assigned() for code in block):
        category = unicodedata.category(chr(code))
        gone = strip.normalize_str("x" + chr(code) + "y") == "xy"
        alone = len(split.pre_tokenize_str("x" + chr(code) + "y")) == 3
        mine = category in ("Mn", "Cf") if category[0] in "MC" else False
        punctuation = category[0] == "P" or code < 0x80 and chr(code) in string.punctuation
        if (category in ("Mn", "Mc", "Cf") and gone != mine) or alone != punctuation or \
                nfd.normalize_str(chr(code)) != unicodedata.normalize("NFD", chr(code)):
            newer.add(chr(code))
    return newer


def newer_than_nfc():
    """Marks that came after the tables of the library's normal forms: it leaves them where they stand."""
    from tokenizers import normalizers
    nfc = normalizers.NFC()
    marks = [chr(code) for block in assigned() for code in block if unicodedata.combining(chr(code))]
    return {mark for mark in marks for text in ("x\u0345" + mark, "x" + mark + "\u0334")
            if nfc.normalize_str(text) != unicodedata.normalize("NFC", text)}


# Characters whose texts are left out, by case.
NEWER = {"bert": newer_than_bert, "qwen2": newer_than_nfc}


def cases(data, scratch, texts):
    """Name, the path for Lathe, the library's encoder, whether all valid text comes back."""
    yield "llama-2", data / "llama-2/tokenizer.model", of_sentencepiece(data / "llama-2/tokenizer.model"), True
    yield "llama-3", data / "llama-3/tokenizer.model", of_ranks(data / "llama-3/tokenizer.model", LLAMA3, False), True
    yield "qwen2", data / "qwen2", of_vocabulary_and_merges(data / "qwen2", QWEN2), False
    yield "qwen", data / "qwen2/qwen.tiktoken", of_ranks(data / "qwen2/qwen.tiktoken", QWEN2, True), False
    yield "gpt2", data / "gpt2/tokenizer.json", of_file(data / "gpt2/tokenizer.json"), True
    yield "phi-3", data / "phi-3-mini/tokenizer.json", of_file(data / "phi-3-mini/tokenizer.json"), True
    yield "t5", data / "t5-small/tokenizer.json", of_file(data / "t5-small/tokenizer.json"), False
    bert = train_wordpiece(scratch, texts[: len(texts) // 2])
    yield "bert", bert, of_file(bert), False


def compare(lathe, path, encode, texts, lossless):
    ids = run(lathe, "tokenize", path, [json.dumps(text) for text in texts])
    wrong = [i for i, text in enumerate(texts) if ids[i] != encode(text)]
    lost = []
    if lossless:
        back = run(lathe, "detokenize", path, [json.dumps(one) for one in ids])
        lost = [i for i, text in enumerate(texts) if back[i] != text and "▁" not in text]  # which stands for a space
    return ids, wrong, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    data = args.shared / "data/tokenizers"
    if not data.is_dir():
        print("skipped: needs ../shared/data")
        return 0
    source = Texts(args.seed, args.shared)
    texts = [source.text() for _ in range(args.count)]
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for name, path, encode, lossless in cases(data, pathlib.Path(scratch), texts):
            if args.only and name not in args.only.split(","):
                continue
            newer = NEWER.get(name, set)()
            kept = [text for text in texts if not newer.intersection(text + unicodedata.normalize("NFD", text))]
            ids, wrong, lost = compare(args.lathe, path, encode, kept, lossless)
            failed = failed or bool(wrong or lost)
            came_back = f", {len(kept) - len(lost)} came back" if lossless else ""
            left_out = f", {len(texts) - len(kept)} left out: characters that the library's tables lack" if newer else ""
            print(f"{name:8} {len(kept) - len(wrong)} of {len(kept)} equal{came_back}{left_out}", flush=True)
            for i in wrong[:5]:
                print(f"  text {kept[i]!r}\n  lathe   {ids[i]}\n  library {encode(kept[i])}")
            for i in lost[:5]:
                print(f"  lost {kept[i]!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
