#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that `lathe convert` writes, read by gguf-py: the numbers of each tensor are those of the folder that --dequantize gives, and a
file of an encoder says what llama.cpp looks for.

    against_gguf_py.py --lathe build/release/bin/lathe --fixtures tests/fixtures

Needs: pip install gguf.
Exit code: 0 when all numbers are equal, bit by bit, and each type is there that was asked for.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import gguf
import numpy

# source, quantization, the type that its matrices have then
CASES = [("models/tiny-llama", "int8_g32", "Q8_0"), ("models/tiny-llama", "int4_g32", "Q4_0"),
         ("models/tiny-llama3-rope", "int4_g32", "Q4_0"), ("quantized/gptq-4bit", "none", "Q4_0"),
         ("quantized/gptq-8bit", "none", "Q8_0"), ("quantized/mxfp4", "int8_g32", "Q8_0"), ("quantized/mxfp4", "none", "MXFP4"),
         ("gguf/mxfp4.gguf", "none", "MXFP4"), ("gguf/qwen3.gguf", "none", "BF16")]
NAMES = {"model.embed_tokens.": "token_embd.", "model.norm.": "output_norm.", "lm_head.": "output.", "model.layers.": "blk.",
         "input_layernorm.": "attn_norm.", "self_attn.q_proj.": "attn_q.", "self_attn.k_proj.": "attn_k.",
         "self_attn.v_proj.": "attn_v.", "self_attn.o_proj.": "attn_output.", "self_attn.q_norm.": "attn_q_norm.",
         "self_attn.k_norm.": "attn_k_norm.", "mlp.down_proj.": "ffn_down.", "mlp.gate_proj.": "ffn_gate.", "mlp.up_proj.": "ffn_up.",
         "mlp.gate_up_proj.": "ffn_up."}
ENCODER_NAMES = {"encoder.layer.": "blk.", "embeddings.word_embeddings.": "token_embd.", "embeddings.position_embeddings.": "position_embd.",
                 "embeddings.token_type_embeddings.": "token_types.", "embeddings.LayerNorm.": "token_embd_norm.",
                 "attention.self.query.": "attn_q.", "attention.self.key.": "attn_k.", "attention.self.value.": "attn_v.",
                 "attention.output.dense.": "attn_output.", "attention.output.LayerNorm.": "attn_output_norm.",
                 "intermediate.dense.": "ffn_up.", "output.dense.": "ffn_down.", "output.LayerNorm.": "layer_output_norm."}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able"] + [f"t{i}" for i in range(7, 96)]
ENCODER_VALUES = {"general.architecture": "bert", "bert.pooling_type": 1, "bert.attention.causal": False,
                  "bert.attention.layer_norm_epsilon": float(numpy.float32(1e-12)), "bert.context_length": 128,
                  "tokenizer.ggml.model": "bert", "tokenizer.ggml.token_type_count": 2, "tokenizer.ggml.padding_token_id": 0,
                  "tokenizer.ggml.unknown_token_id": 1, "tokenizer.ggml.bos_token_id": 2, "tokenizer.ggml.cls_token_id": 2,
                  "tokenizer.ggml.eos_token_id": 3, "tokenizer.ggml.seperator_token_id": 3, "tokenizer.ggml.mask_token_id": 4}


def floats(data, dtype):
    if dtype == "BF16":
        return (numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
    assert dtype == "F32", dtype
    return numpy.frombuffer(data, numpy.float32)


def safetensors(path):
    """Tensors of a file as f32, by their names."""
    data = path.read_bytes()
    n = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = floats(data[8 + n + begin:8 + n + end], entry["dtype"]).reshape(entry["shape"])
    return tensors


def gguf_name(name, tensors):
    for long, short in NAMES.items():
        name = name.replace(long, short, 1)
    rest = name.replace("post_attention_layernorm.", "ffn_norm.")
    return rest if rest in tensors else name


def in_pairs(numbers, n_heads):
    """As files of Llama have the rows of a head of Q or K: 0, d/2, 1, d/2 + 1..."""
    halves = numbers.reshape(n_heads, 2, len(numbers) // n_heads // 2, -1)
    return halves.swapaxes(1, 2).reshape(numbers.shape)


def convert(lathe, *arguments):
    subprocess.run([lathe, "convert", "--quiet", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def compare(lathe, source, quantization, kind):
    """Returns how many tensors were compared, after all of them were equal."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        convert(lathe, "--model", source, "--quantization", quantization, "--output", folder / "codes.gguf")
        convert(lathe, "--model", source, "--quantization", quantization, "--dequantize", "--dtype", "float32", "--output",
                folder / "numbers")
        reader = gguf.GGUFReader(folder / "codes.gguf")
        tensors = {t.name: t for t in reader.tensors}
        heads = {f"attn_{part}.": int(reader.fields[f"llama.attention.{key}"].contents())
                 for part, key in (("q", "head_count"), ("k", "head_count_kv"))} if "llama.block_count" in reader.fields else {}
        kinds = {t.tensor_type.name for t in tensors.values()}
        assert kind in kinds, f"{source}: {kind} is not among {kinds}"
        n = 0
        for name, want in safetensors(folder / "numbers" / "model.safetensors").items():
            tensor = tensors.get(gguf_name(name, tensors))
            if tensor is None:  # of experts, which lie in one tensor there, or under a name that other tests check
                continue
            for part, n_heads in heads.items():
                want = in_pairs(want, n_heads) if part in tensor.name else want
            if tensor.tensor_type == gguf.GGMLQuantizationType.F32:
                got = tensor.data
            else:
                got = gguf.dequantize(tensor.data, tensor.tensor_type)
            # Embeddings are no matrices of a product: in the type of the file they are rounded.
            if not numpy.array_equal(got.reshape(want.shape), want):
                assert name.startswith("model.embed_tokens"), f"{source} {quantization}: {name} differs"
            n += 1
        return n


def compare_encoder(lathe, source):
    """Returns how many tensors an encoder's file has, after all of them and what it says were as expected."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(source, folder / "encoder")
        (folder / "encoder/vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
        convert(lathe, "--model", folder / "encoder", "--dtype", "float32", "--output", folder / "encoder.gguf")
        reader = gguf.GGUFReader(folder / "encoder.gguf")
        for key, want in ENCODER_VALUES.items():
            got = reader.fields[key].contents()
            assert got == want, f"{key}: {got}, expected {want}"
        tokens = reader.fields["tokenizer.ggml.tokens"].contents()
        types = reader.fields["tokenizer.ggml.token_type"].contents()
        assert tokens == PIECES[:5] + ["\u2581un", "able"] + [f"\u2581{piece}" for piece in PIECES[7:]], tokens
        assert types == [int(gguf.TokenType.CONTROL)] * 5 + [int(gguf.TokenType.NORMAL)] * 91, types
        tensors = {t.name: t.data for t in reader.tensors}
        for name, want in safetensors(source / "model.safetensors").items():
            if name.startswith("pooler."):  # pooling takes no part of it
                continue
            for long, short in ENCODER_NAMES.items():
                name = name.replace(long, short, 1)
            assert numpy.array_equal(tensors.pop(name).reshape(want.shape), want), name
        assert not tensors, f"more tensors: {list(tensors)}"
        return len(reader.tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True)
    parser.add_argument("--fixtures", required=True, type=pathlib.Path)
    options = parser.parse_args()
    for source, quantization, kind in CASES:
        n = compare(options.lathe, options.fixtures / source, quantization, kind)
        print(f"{source} {quantization}: {n} tensors equal")
        if n < 5:
            sys.exit(f"{source}: only {n} tensors were compared")
    print(f"embeddings/bert: {compare_encoder(options.lathe, options.fixtures / 'embeddings/bert')} tensors equal, and what it says")


if __name__ == "__main__":
    main()
