#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random tokenizers with added tokens through `lathe tokenize` and `lathe detokenize`, and through the tokenizers library.

    added_tokens_against_library.py --lathe build/release/bin/lathe [--count 20000] [--seed 1] [--show 5]

Needs: pip install tokenizers sentencepiece. Each tokenizer has 400 texts, a random model (byte-level BPE, BPE of characters,
WordPiece, Unigram), normalizer, pre-tokenizer and set of added tokens with random flags. The texts are made of the tokens, of
what becomes them when it is normalized, and of characters next to them. Special tokens are read and not read. Left out: two
added tokens with one normal form, of which the library takes either. Exit code: 0 when all ids and texts are equal.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

COUNT = 400
CONTENTS = ["<new>", "<NEW>", "<ne", "ew>b", "yesterday", "Yesterday", "Cat", "cats", "a cat", " cat", "cat ", "caf\u00e9", "cafe\u0301",
            "CAF\u00c9", "\ufb01n", "<s>", "</s>", "<|im_end|>", "<|IM|>", "x", "xy", "  ", "\n\n", "\u2460", "\u4e16", "\u4e16\u754c", "\u00df", "[MASK]",
            "<x<new>", "\u2581<s>", "\u2581a", "a\u2581b", "\u0130x", "\u212b", "_id", "42", "\u00bd", "q", "<a><b>", "<b>", "\U0001f600", "\u0e33"]
AROUND = ["a", "b", " ", "  ", "\t", "\n", "_", "-", "1", ".", "\u00e9", "e\u0301", "\u0301", "\u4e16", "\u754c", "Word", "WORD", "word", "q", "x", "xx", "\u2581",
          "\u00a0", "\u3000", "\u200b", "\u200d", "\ufeff", "\x00", "\x07", "\u00df", "\u1e9e", "\u0130", "\ufb01", "\u2460", "\U0001f600", "<", ">", "\u0e33", "\u0903", "\u203f"]
LETTERS = [chr(c) for c in range(33, 127)] + [" ", "\u2581", "\u00e9", "\u0301", "\u4e16", "\u754c", "\u00df", "\n", "\t", "\ufb01", "\u2460"]


def byte_alphabet():
    shown = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters = {byte: chr(byte) for byte in shown}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(shown)))
    return letters


ALPHABET = byte_alphabet()


def charsmap():
    """The table of nmt_nfkc, out of a model that is trained for it."""
    import base64
    import io
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["hello world", "abc abd"] * 50), model_writer=model, vocab_size=20,
                                             hard_vocab_limit=False, minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    return base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.charsmap = charsmap()

    def simple_normalizer(self):
        string = lambda text: {"String": text}
        return self.random.choice([
            {"type": "Lowercase"}, {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"}, {"type": "StripAccents"},
            {"type": "Prepend", "prepend": "x"}, {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": string(" "), "content": "\u2581"}, {"type": "Replace", "pattern": string("q"), "content": ""},
            {"type": "Replace", "pattern": string("<x"), "content": "<"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            {"type": "Replace", "pattern": {"Regex": "[A-Z]"}, "content": "u"},
            {"type": "Strip", "strip_left": True, "strip_right": self.random.random() < 0.5}, self.bert(),
            {"type": "Precompiled", "precompiled_charsmap": self.charsmap}])

    def bert(self):
        return {"type": "BertNormalizer", "clean_text": self.random.random() < 0.8, "handle_chinese_chars": self.random.random() < 0.7,
                "strip_accents": self.random.choice([None, True, False]), "lowercase": self.random.random() < 0.7}

    def normalizer(self):
        kind = self.random.random()
        if kind < 0.1:
            return None
        if kind < 0.6:
            return self.simple_normalizer()
        return {"type": "Sequence", "normalizers": [self.simple_normalizer() for _ in range(self.random.randint(1, 3))]}

    def model(self):
        """Pre-tokenizer, decoder, model, all pieces."""
        kind = self.random.choice(["bytes", "characters", "wordpiece", "unigram"])
        bpe = dict(type="BPE", dropout=None, unk_token=None, continuing_subword_prefix=None, end_of_word_suffix=None, fuse_unk=False,
                   byte_fallback=False, ignore_merges=False, merges=[])
        if kind == "bytes":
            level = {"type": "ByteLevel", "add_prefix_space": self.random.random() < 0.3, "trim_offsets": True,
                     "use_regex": self.random.random() < 0.7}
            vocab = {letter: id for id, letter in enumerate(ALPHABET.values())}
            return level, level, {**bpe, "vocab": vocab}, list(vocab)
        scheme = self.random.choice(["first", "always", "never"])
        space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": self.random.random() < 0.7}
        decoder = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": True}
        if kind == "characters":
            pieces = ["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)] + LETTERS
            vocab = {piece: id for id, piece in enumerate(pieces)}
            pre = self.random.choice([None, space])
            return pre, decoder, {**bpe, "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab}, pieces
        if kind == "unigram":
            pieces = ["<unk>"] + LETTERS + ["\u2581a", "wor", "word", "cat", "\u2581cat"]
            scores = [0.0] + [-10.0] * len(LETTERS) + [-8.5, -17.0, -18.0, -16.0, -15.0]
            model = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [[p, s] for p, s in zip(pieces, scores)]}
            return space, decoder, model, pieces
        pieces = ["[UNK]", "a", "b", "x", "cat", "word", "new", "##s", "##x", "##b", "e", "<", ">", "-", "1", "yesterday", "\u4e16"]
        vocab = {piece: id for id, piece in enumerate(pieces)}
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                 "vocab": vocab}
        return {"type": "BertPreTokenizer"}, {"type": "WordPiece", "prefix": "##", "cleanup": False}, model, pieces

    def added(self, pieces):
        tokens = []
        for content in self.random.sample(CONTENTS, self.random.randint(1, 9)):
            if content in pieces:
                continue
            flag = lambda likely: self.random.random() < likely
            edge = content.strip() != content  # white space that is both a token and taken along makes the library panic
            if edge and any(token["lstrip"] or token["rstrip"] for token in tokens):
                continue
            takes = 0.0 if any(token["content"].strip() != token["content"] for token in tokens) or edge else 0.2
            tokens.append(dict(id=len(pieces) + len(tokens), content=content, single_word=flag(0.2), lstrip=flag(takes), rstrip=flag(takes),
                               normalized=flag(0.6), special=flag(0.3)))
        return tokens

    def tokenizer(self):
        from tokenizers import Tokenizer
        while True:
            pre, decoder, model, pieces = self.model()
            tokens = self.added(pieces)
            file = dict(version="1.0", truncation=None, padding=None, added_tokens=tokens, normalizer=self.normalizer(), pre_tokenizer=pre,
                        post_processor=None, decoder=decoder, model=model)
            made = Tokenizer.from_str(json.dumps(file))
            normalize = made.normalizer.normalize_str if made.normalizer else lambda text: text
            forms = [normalize(token["content"]) for token in tokens if token["normalized"]]
            if tokens and len(set(forms)) == len(forms):
                return file, made, tokens, forms

    def text(self, tokens, forms):
        parts = []
        for _ in range(self.random.randint(0, 9)):
            if self.random.random() < 0.45:
                content = self.random.choice([token["content"] for token in tokens] + forms)
                parts.append(self.random.choice([content, content, content.upper(), content.lower(), content[:-1], content.title()]))
            else:
                parts.append(self.random.choice(AROUND))
        return "".join(parts)


def run(lathe, command, path, values, *flags):
    done = subprocess.run([lathe, command, "--tokenizer", str(path), "--batch", *flags],
                          input="".join(json.dumps(value) + "\n" for value in values), capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"lathe {command} --tokenizer {path}: exit code {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def readable(made, texts):
    """Those that the library reads, and their ids: where one token begins in the white space that another takes, it may panic."""
    pairs = []
    for text in texts:
        try:
            pairs.append((text, made.encode(text, add_special_tokens=False).ids))
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
    return [text for text, _ in pairs], [ids for _, ids in pairs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5)
    args = parser.parse_args()
    maker = Maker(args.seed)
    n_wrong = n_lost = n_shown = n_all = 0
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "tokenizer.json"
        while n_all < args.count:
            file, made, tokens, forms = maker.tokenizer()
            path.write_text(json.dumps(file), encoding="utf-8")
            texts = [maker.text(tokens, forms) for _ in range(COUNT)]
            n_all += COUNT
            for flags in ([], ["--parse-special"]):
                made.encode_special_tokens = not flags
                texts, wanted = readable(made, texts)
                got = run(args.lathe, "tokenize", path, texts, *flags)
                back = run(args.lathe, "detokenize", path, wanted)
                for text, one, other, again in zip(texts, wanted, got, back):
                    decoded = made.decode(one, skip_special_tokens=False)
                    is_lost = decoded != again and "\ufffd" not in decoded  # letters of an added token that became bytes
                    n_wrong += one != other
                    n_lost += is_lost
                    if (one != other or is_lost) and n_shown < args.show:
                        n_shown += 1
                        names = lambda ids: [made.id_to_token(id) for id in ids]
                        print(f"{flags} text {text!r}\n  lathe   {names(other)}\n  library {names(one)}\n  texts {again!r}, {decoded!r}\n"
                              f"  added {tokens}\n  {json.dumps({k: v for k, v in file.items() if k in ('normalizer', 'pre_tokenizer')})[:400]}")
    print(f"seed {args.seed}: {n_all} texts, read with and without special tokens: {n_wrong} other ids, {n_lost} other texts")
    return 1 if n_wrong or n_lost else 0


if __name__ == "__main__":
    sys.exit(main())
