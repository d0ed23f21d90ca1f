# SPDX-License-Identifier: Apache-2.0
"""Writes bitsandbytes.json: what the bitsandbytes package makes of a few tensors, as bits of f32.

Needs: pip install torch==2.13.0 bitsandbytes==0.50.2 (on a CPU)
usage: make_quantization_goldens.py OUTPUT
"""
import json
import sys

import torch
import bitsandbytes.functional as bnb


def bits(tensor):
    """As eight hexadecimal digits each."""
    numbers = tensor.detach().to(torch.float32).reshape(-1).view(torch.int32).tolist()
    return "".join(f"{number & 0xFFFFFFFF:08x}" for number in numbers)


def four_bits(weights, quant_type):
    codes, state = bnb.quantize_4bit(weights, blocksize=64, quant_type=quant_type)
    return bits(bnb.dequantize_4bit(codes, state))


def nested(weights):
    """Scales of double quantization, as they come back."""
    _, state = bnb.quantize_4bit(weights, blocksize=64, quant_type="nf4", compress_statistics=True)
    scales = bnb.dequantize_blockwise(state.absmax, state.state2) + state.offset
    return {"mean": bits(state.offset), "scales": bits(scales)}


def eight_bits(weights):
    codes, scales, _ = bnb.int8_vectorwise_quant(weights.to(torch.float16))
    return bits(bnb.int8_vectorwise_dequant(codes, scales))


def tensors():
    torch.manual_seed(1)
    normal = torch.randn(8, 128) * 0.02
    outliers = torch.randn(4, 192) * 0.02
    outliers[2, 70] = 3.0
    # Halfway between two numbers of a book, and the book's own numbers.
    book = bnb.get_4bit_type("nf4", device="cpu")
    halves = torch.cat([book, (book[1:] + book[:-1]) / 2, torch.linspace(-1, 1, 33)]).reshape(1, 64)
    return {
        "normal": normal,
        "blocks that run on into the next row": torch.randn(16, 52) * 0.02,
        "outliers": outliers,
        "steps on the edge": steps_on_the_edge(),
        "halves": halves,
        "halves of fp4": halves_of_fp4(),
        "zeros": torch.zeros(2, 64),
    }


def steps_on_the_edge():
    """Rows in which 127 / scale in f32 and 1 / scale * 127 give different codes: the package takes the second."""
    found = []
    while len(found) < 2:
        rows = (torch.randn(1000, 64) * 0.3).to(torch.float16)
        codes, scales, _ = bnb.int8_vectorwise_quant(rows)
        divided = torch.div(torch.tensor(127.0), scales)
        other = torch.round(rows.float() * divided.reshape(-1, 1)).to(torch.int8)
        found += [row.float() for row in rows[(codes != other).any(dim=1)]]
    return torch.stack(found[:2])


def many_blocks():
    """As quantization_goldens_test.cpp makes them: the scales of 41 rows of 7 blocks lie in two blocks of their own."""
    places = torch.arange(41 * 448, dtype=torch.int64)
    numbers = ((places * 2654435761 % 2**32) // 2**8).to(torch.float32) / 2**24 - 0.5
    return (numbers * (1 + places // 64 * 7 % 13).to(torch.float32)).reshape(41, 448)


def halves_of_fp4():
    book = torch.sort(bnb.get_4bit_type("fp4", device="cpu")).values
    return torch.cat([book, (book[1:] + book[:-1]) / 2, torch.linspace(-1, 1, 33)]).reshape(1, 64)


def main():
    book = {"dynamic_map": bits(bnb.create_dynamic_map()), "many_blocks": nested(many_blocks()), "tensors": []}
    for name, weights in tensors().items():
        book["tensors"].append({
            "name": name,
            "rows": weights.shape[0],
            "k": weights.shape[1],
            "source": bits(weights),
            "nf4": four_bits(weights, "nf4"),
            "fp4": four_bits(weights, "fp4"),
            "nested": nested(weights),
            "llm_int8": eight_bits(weights),
        })
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(book, file, indent=1)
        file.write("\n")


main()
