# SPDX-License-Identifier: Apache-2.0
"""Writes weight_formats.json: what weights become in the formats that a load rounds to, as bits of f32.

The formulas are the published ones, in numpy and with PyTorch's float8_e4m3fn; nothing here is taken from this program.
  fp8_channel   (vLLM, compressed-tensors FP8_DYNAMIC): scale = max |w| / 448 of an output, e4m3 nearest to w / scale
  int8_channel  (SmoothQuant): scale = max(max |w|, 1e-5) / 127 of an output, whole number nearest to w / scale
  int8_g32      (GGUF Q8_0): scale = f16(max |w| / 127) of 32 weights
  int4_g32      (GGUF Q4_0): scale = f16(w / -8) for the first w of the largest magnitude, whole numbers from -8 to 7
  *_asym        (AWQ, GPTQ): scale = f16((greatest - least) / (2^bits - 1)), both with 0, zero = nearest(-least / scale)
Ties go to the even number. Groups take the number that is nearest under the scale as it is stored.

Needs: pip install torch==2.13.0 numpy
usage: make_weight_format_goldens.py OUTPUT
"""
import json
import sys

import numpy as np
import torch

K = 72  # two groups and a part of one
F16_MOST = np.float32(65504)


def f32(numbers):
    return np.asarray(numbers, dtype=np.float32)


def bits(numbers):
    """As eight hexadecimal digits each."""
    return "".join(f"{number:08x}" for number in f32(numbers).reshape(-1).view(np.uint32).tolist())


def stored(scale):
    """As f16 holds it; one that is too large is the largest."""
    with np.errstate(over="ignore"):
        return np.clip(np.float32(np.float16(scale)), -F16_MOST, F16_MOST)


def nearest(steps, least, most):
    return np.rint(np.clip(steps, least, most)).astype(np.int32)


def fp8_channel(row):
    scale = np.abs(row).max() / np.float32(448)
    if scale == 0:
        return np.zeros_like(row)
    steps = torch.from_numpy(np.clip(row / scale, -448, 448).astype(np.float32))
    return steps.to(torch.float8_e4m3fn).to(torch.float32).numpy() * scale


def int8_channel(row):
    scale = np.maximum(np.abs(row).max(), np.float32(1e-5)) / np.float32(127)
    return f32(nearest(row / scale, -127, 127)) * scale


def int8_group(group):
    scale = stored(np.abs(group).max() / np.float32(127))
    return f32(nearest(group / scale, -127, 127)) * scale if scale != 0 else np.zeros_like(group)


def int4_group(group):
    scale = stored(group[np.abs(group).argmax()] / np.float32(-8))
    codes = nearest(group / scale, -8, 7) if scale != 0 else np.zeros(group.shape, np.int32)
    return f32(codes) * scale


def asymmetric_group(bits_of_code):
    most = 2**bits_of_code - 1

    def group_of(group):
        least, greatest = min(float(group.min()), 0.0), max(float(group.max()), 0.0)
        scale = stored((greatest - least) / most)  # of doubles: the difference of the largest floats is one
        if scale == 0:
            return np.zeros_like(group)
        zero = nearest(f32(-least) / scale, 0, most)
        codes = nearest(group / scale, -int(zero), most - int(zero)) + zero
        return f32(codes - zero) * scale

    return group_of


def in_groups(of_group):
    return lambda row: np.concatenate([of_group(row[i : i + 32]) for i in range(0, K, 32)])


FORMATS = {
    "fp8_channel": fp8_channel,
    "int8_channel": int8_channel,
    "int8_g32": in_groups(int8_group),
    "int4_g32": in_groups(int4_group),
    "int8_g32_asym": in_groups(asymmetric_group(8)),
    "int4_g32_asym": in_groups(asymmetric_group(4)),
}


def filled(numbers):
    """The numbers again and again, up to a row."""
    return f32(np.resize(f32(numbers), K))


def rows():
    random = np.random.default_rng(1)
    normal = f32(random.standard_normal(K) * 0.02)
    outlier = normal.copy()
    outlier[40] = 3
    e4m3 = torch.arange(0, 127, dtype=torch.uint8).view(torch.float8_e4m3fn).to(torch.float32).numpy()
    edges = np.concatenate([[448], (e4m3[1:] + e4m3[:-1])[:12] / 2, -(e4m3[1:] + e4m3[:-1])[60:119] / 2])
    halves = np.concatenate([[127], np.arange(-15, 16) + 0.5])
    fours = np.concatenate([[8, -8], np.arange(-15, 15) / 2])
    return {
        "normal": normal,
        "outlier": outlier,
        "halfway between numbers of e4m3": f32(edges),
        "halfway between codes of 8 bits": filled(halves),
        "halfway between codes of 4 bits, both signs largest": filled(fours),
        "halfway between zero points": filled(np.concatenate([[-7.5, 7.5], np.arange(-15, 15) / 2])),
        "halfway between zero points of 8 bits": filled(np.concatenate([[-127.5, 127.5], np.arange(-15, 15) + 0.5])),
        "a group of zeros": np.where(np.arange(K) // 32 == 1, np.float32(0), normal),
        "zeros of both signs": filled([0.0, -0.0]),
        "one side": f32(random.uniform(0.5, 0.9, K)),
        "the other side": f32(-random.uniform(0.5, 0.9, K)),
        "tiny": f32(random.standard_normal(K) * 1e-6),
        "denormal": f32(random.standard_normal(K) * 1e-40),
        "huge": f32(np.clip(random.standard_normal(K), -3, 3) * 1e38),
    }


def main():
    tensor = rows()
    book = {"k": K, "rows": list(tensor), "source": {name: bits(row) for name, row in tensor.items()}}
    with np.errstate(all="ignore"):
        for name, rounded in FORMATS.items():
            book[name] = {row: bits(rounded(weights)) for row, weights in tensor.items()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(book, file, indent=1)
        file.write("\n")


main()
