#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First inputs for the fuzz targets, out of the fixtures beside them: small, and right, so that mutations reach far.

usage: make_corpus.py"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
CORPUS = HERE / "corpus"


def keep(target: str, name: str, data: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def safetensors() -> None:
    header = {"a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
              "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]}, "__metadata__": {"format": "pt"}}
    text = json.dumps(header).encode()
    keep("safetensors", "two_tensors", b"\0" + struct.pack("<Q", len(text)) + text + bytes(22))
    keep("safetensors", "built", bytes([1, 3, 0, 1, 97, 2, 0, 3, 2, 1, 9, 0, 5, 1, 98, 1, 0, 4, 9, 9, 1, 1, 99]))
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00001.safetensors"}}
    keep("safetensors_index", "one_shard", json.dumps(index).encode())
    keep("safetensors_index", "leads_out", json.dumps({"weight_map": {"a": "../a.safetensors"}}).encode())


def text_of_gguf(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf() -> None:
    sizes = {"context_length": 32, "embedding_length": 8, "block_count": 1, "feed_forward_length": 8,
             "attention.head_count": 2}
    values = text_of_gguf("general.architecture") + struct.pack("<I", 8) + text_of_gguf("llama")
    for key, value in sizes.items():
        values += text_of_gguf(f"llama.{key}") + struct.pack("<II", 4, value)
    values += text_of_gguf("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)
    values += text_of_gguf("tokenizer.ggml.model") + struct.pack("<I", 8) + text_of_gguf("llama")
    values += text_of_gguf("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 3) + b"".join(
        text_of_gguf(token) for token in ("<unk>", "a", "b"))
    values += text_of_gguf("tokenizer.ggml.scores") + struct.pack("<IIQfff", 9, 6, 3, 0, -1, -2)
    tensors = text_of_gguf("token_embd.weight") + struct.pack("<IQQIQ", 2, 8, 3, 0, 0)
    tensors += text_of_gguf("blk.0.attn_q.weight") + struct.pack("<IQQIQ", 2, 32, 1, 8, 96)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 10) + values + tensors
    keep("gguf", "llama", head + bytes(-len(head) % 32) + bytes(160))
    keep("gguf", "built", bytes(range(256)) * 2)


def configs() -> None:
    for name in ("llama", "gemma3", "deepseek-v3", "phi3-longrope", "qwen3-moe"):
        keep("config", name, b"\0" + (TESTS / "fixtures" / "families" / name / "config.json").read_bytes())
    keep("config", "built", bytes(range(1, 120)))


def tokenizers() -> None:
    bpe = {"added_tokens": [{"id": 0, "content": "<s>", "special": True}],
           "normalizer": {"type": "NFC"},
           "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
               {"type": "Split", "pattern": {"Regex": r"\p{L}+|\s+|."}, "behavior": "Isolated", "invert": False},
               {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]},
           "decoder": {"type": "ByteLevel"},
           "model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "b": 2, "ab": 3}, "merges": ["a b"]}}
    keep("tokenizer_json", "byte_level", json.dumps(bpe).encode())
    unigram = {"added_tokens": [], "normalizer": {"type": "Lowercase"},
               "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
               "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["\u2581", -1], ["h", -2.5], ["he", -3]]}}
    keep("tokenizer_json", "unigram", json.dumps(unigram).encode())
    wordpiece = {"added_tokens": [], "normalizer": {"type": "BertNormalizer", "lowercase": True},
                 "pre_tokenizer": {"type": "BertPreTokenizer"},
                 "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "he": 1, "##l": 2}}}
    keep("tokenizer_json", "wordpiece", json.dumps(wordpiece).encode())

    def piece(text: str, score: float, kind: int) -> bytes:
        body = b"\x0a" + bytes([len(text.encode())]) + text.encode() + b"\x15" + struct.pack("<f", score)
        body += b"\x18" + bytes([kind])
        return b"\x0a" + bytes([len(body)]) + body

    pieces = [piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3)]
    pieces += [piece(f"<0x{i:02X}>", 0, 6) for i in range(256)]
    pieces += [piece("\u2581", -1, 1), piece("h", -2, 1), piece("e", -3, 1), piece("he", -4, 1)]
    trainer = b"\x12\x02\x18\x02"  # BPE
    keep("sentencepiece", "bpe", b"".join(pieces) + trainer)


def templates() -> None:
    folder = TESTS / "golden" / "templates"
    for path in sorted(folder.glob("*.jinja"))[:4] if folder.is_dir() else []:
        keep("chat_template", path.stem, path.read_bytes())
    keep("chat_template", "usual", b"""{{ bos_token }}{% for message in messages %}{% if loop.first and message.role == 'system' %}
{%- set ns = namespace(found=true) %}{% endif %}<|{{ message['role'] }}|>{{ message.content | trim }}{{ eos_token }}
{% endfor %}{% if tools %}{{ tools | tojson(indent=2) }}{% endif %}{% if add_generation_prompt %}<|assistant|>{% endif %}""")
    keep("chat_template", "macros", b"""{%- macro show(x, n=2) -%}{{ x[:n] ~ caller() }}{%- endmacro -%}
{% call show('abc') %}{{ range(3) | list | join(',') }}{% endcall %}{{ 'a'.split('b')[0] | upper }}
{% set d = {'k': [1, 2.5, none]} %}{% for k, v in d.items() %}{{ '%s=%s' | format(k, v) }}{% endfor %}
{{ raise_exception('no') if messages | length > 9 }}""")


def answers() -> None:
    texts = ['<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>', "<think>hm</think>yes",
             "[f(a=1, b='x')]", '<|python_tag|>{"name": "f", "parameters": {}}', "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]",
             "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"]
    for format_number in range(16):
        text = texts[format_number % len(texts)]
        head = bytes([1]) + struct.pack("<H", format_number) + bytes([1]) + struct.pack("<H", format_number) + bytes([3, 4])
        keep("answer", f"format_{format_number}", head + text.encode())


if __name__ == "__main__":
    safetensors()
    gguf()
    configs()
    tokenizers()
    templates()
    answers()
