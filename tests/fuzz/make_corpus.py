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
    shard = index["weight_map"]["a"]
    keep("safetensors_index", "missing_file", b'{"metadata": {"total_size": NaN}, "weight_map": '
         + json.dumps({"a": shard, "b": "model-00002-of-00002.safetensors"}).encode() + b"}")
    keep("safetensors_index", "other_place",
         json.dumps({"weight_map": {"a": "./" + shard, "c": shard, "b": "sub/x.safetensors"}}).encode())
    keep("safetensors_index", "of_another_split",
         b"\xef\xbb\xbf" + json.dumps({"weight_map": {"a": "model-00001-of-00099.safetensors"}}).encode())
    keep("safetensors_index", "pointer",
         b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4096\n")


def text_of_gguf(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


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
    gguf_types()
    gguf_byte_level()


def gguf_file(values: list, tensors: list, data: bytes) -> bytes:
    """Values as (key, type and bytes), tensors as (name, dims, type, offset)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values:
        head += text_of_gguf(key) + value
    for name, dims, kind, offset in tensors:
        head += text_of_gguf(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)
    return head + bytes(-len(head) % 32) + data


def llama_values() -> list:
    sizes = {"context_length": 32, "embedding_length": 256, "block_count": 1, "feed_forward_length": 256,
             "attention.head_count": 2}
    values = [("general.architecture", struct.pack("<I", 8) + text_of_gguf("llama"))]
    values += [(f"llama.{key}", struct.pack("<II", 4, value)) for key, value in sizes.items()]
    return values + [("llama.attention.layer_norm_rms_epsilon", struct.pack("<If", 6, 1e-5))]


def gguf_types() -> None:
    """A row of 256 of every type that is read."""
    block_bytes = {0: 1024, 1: 512, 2: 144, 3: 160, 6: 176, 7: 192, 8: 272, 10: 84, 11: 110, 12: 144, 13: 176, 14: 210,
                   20: 144, 23: 136, 30: 512, 39: 136}
    tensors, offset = [], 0
    for kind, n_bytes in block_bytes.items():
        tensors.append((f"blk.0.attn_{kind}.weight", (256, 1), kind, offset))
        offset += (n_bytes + 31) // 32 * 32
    keep("gguf", "types", gguf_file(llama_values(), tensors, bytes(i * 7 % 256 for i in range(offset))))


def gguf_byte_level() -> None:
    def texts(items: list) -> bytes:
        return struct.pack("<IIQ", 9, 8, len(items)) + b"".join(text_of_gguf(item) for item in items)

    # Bytes as GPT-2's alphabet writes them.
    tokens = [chr(c) for c in range(0x21, 0x7F)] + ["\u0120", "he", "ll", "hell", "<|end|>"]
    values = llama_values() + [
        ("tokenizer.ggml.model", struct.pack("<I", 8) + text_of_gguf("gpt2")),
        ("tokenizer.ggml.pre", struct.pack("<I", 8) + text_of_gguf("llama-bpe")),
        ("tokenizer.ggml.tokens", texts(tokens)),
        ("tokenizer.ggml.merges", texts(["h e", "l l", "he ll"])),
        ("tokenizer.ggml.token_type", struct.pack(f"<IIQ{len(tokens)}i", 9, 5, len(tokens), *[1] * (len(tokens) - 1), 3)),
        ("tokenizer.ggml.eos_token_id", struct.pack("<II", 4, len(tokens) - 1))]
    keep("gguf", "byte_level", gguf_file(values, [("token_embd.weight", (32, len(tokens)), 2, 0)], bytes(18 * len(tokens))))


def configs() -> None:
    for name in ("llama", "gemma3", "gemma4-per-layer", "deepseek-v3", "phi3-longrope", "qwen3-moe"):
        keep("config", name, b"\0" + (TESTS / "fixtures" / "families" / name / "config.json").read_bytes())
    keep("config", "built", bytes(range(1, 120)))
    sizes = ('"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2')
    keep("config", "non_finite", b"\0\xef\xbb\xbf" + ('{"architectures": ["LlamaForCausalLM"], %s, "rope_theta": NaN, '
         '"time_step_limit": [0.0, Infinity], "other": -Infinity, "large": 1e999, '
         '"eos_token_id": [2, 999999, NaN, -1]}' % sizes).encode())
    keep("config", "window_layers", b"\0" + ('{"architectures": ["Qwen2ForCausalLM"], %s, "use_sliding_window": false, '
         '"max_window_layers": 1e99, "sliding_window": NaN}' % sizes).encode())


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
    golden = TESTS / "golden"
    # Without those that are refused: nothing behind one would be reached.
    statements = [case[1] for case in json.loads((golden / "template_statements.json").read_text()) if case[2] is not None]
    expressions = [case[0] for case in json.loads((golden / "template_expressions.json").read_text())["cases"] if case[1] is not None]
    for first in range(0, len(statements), 6):
        keep("chat_template", f"statements_{first:03}", "\n".join(statements[first:first + 6]).encode())
    for first in range(0, len(expressions), 12):
        keep("chat_template", f"expressions_{first:03}", "\n".join(
            "{{ " + expression + " }}" for expression in expressions[first:first + 12]).encode())
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


def constraints() -> None:
    schemas = {
        "object": {"type": "object", "properties": {"abc": {"type": "integer", "minimum": -3, "maximum": 700},
                   "b": {"type": ["string", "null"], "minLength": 1, "maxLength": 9}}, "required": ["abc"]},
        "recursive": {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/n"},
                      "minItems": 1, "maxItems": 3}]}}},
        "patterns": {"patternProperties": {"^a[bc]{1,3}$": {"type": "boolean"}}, "additionalProperties": False, "minProperties": 1},
        "formats": {"prefixItems": [{"format": "date-time", "type": "string"}, {"format": "ipv6", "type": "string"}], "items": False},
        "merged": {"allOf": [{"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0.5}}},
                   {"properties": {"a": {"exclusiveMinimum": 0}}, "required": ["a"]}]},
        "constants": {"oneOf": [{"const": {"a": [1, 2.5, "\u00e9"]}}, {"enum": ["ab", "abc", None, True]}]}}
    for name, schema in schemas.items():
        keep("schema", name, json.dumps(schema).encode())
    regexes = {"classes": r"[a-c\d]{2,5}(-|\+)\w*", "counts": "((ab){3,70}c?){40,}0", "unicode": r"\p{Lu}[^\x00-\x7F]+\u00e9",
               "anchors": "^(a|b)+?$", "nested": "(((a*)*b)*|c)+"}
    for name, regex in regexes.items():
        keep("regex", name, regex.encode())
    grammars = {"calls": 'root ::= item+ ("," item){0,3}\nitem ::= "a" | "(" root ")" # nested\n',
                "gbnf": 'root ::= [a-z0-9_]{2,9} "\\"" [^"\\\\]* "\\"" ws\nws ::= ([ \\t\\n] ws)?\n',
                "left": 'root ::= root "ab" | "b"\n', "ambiguous": 'root ::= root root | "a" | "ab"\n'}
    for name, grammar in grammars.items():
        keep("grammar", name, grammar.encode())
    tag = {"type": "tag", "begin": "<a>", "end": "</a>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}}}
    tags = {"older": {"triggers": ["<f"], "structures": [{"begin": "<f=a>", "schema": {"type": "object"}, "end": "</f>"}]},
            "tag": {"type": "structural_tag", "format": tag},
            "sequence": {"format": {"type": "sequence", "elements": [{"type": "const_string", "value": "ab"}, {"type": "token", "token": 257},
                         {"type": "star", "content": tag}, {"type": "optional", "content": {"type": "any_text", "excludes": ["ab"]}}]}},
            "triggered": {"format": {"type": "triggered_tags", "triggers": ["<a"], "tags": [tag], "at_least_one": True}}}
    for name, value in tags.items():
        keep("structural_tag", name, json.dumps(value).encode())


if __name__ == "__main__":
    safetensors()
    gguf()
    configs()
    tokenizers()
    templates()
    answers()
    constraints()
