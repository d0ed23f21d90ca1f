# SPDX-License-Identifier: Apache-2.0
"""What Lathe is to reach, as a share of the machine's ceiling and as a multiple of llama.cpp, by class of processor."""
from dataclasses import dataclass

from .neighbours import COUNTS, beside, fair_part
from .runners import DEPTH, DEPTH_WRITTEN, PROMPT, WRITTEN


@dataclass(frozen=True)
class Goal:
    share: float = 0  # of the ceiling; 0: none named
    times: float = 0  # what llama.cpp does; 0: none named
    at_least: float = 0  # tokens a second
    at_most: float = 0  # milliseconds
    at_most_times: float = 0  # of the figure `of` in the same sample
    at_least_times: float = 0  # of the figure `of` in the same sample
    of: str = ""


def decode(times):
    return Goal(share=0.85, times=times)


STREAM_GOALS = {
    "vnni": {"int8": {8: 4, 16: 4, 32: 4}, "int4": {16: 2.2, 32: 2.2}},
    "plain": {"int8": {8: 2.5, 16: 2.5, 32: 2.5}, "int4": {16: 2.5, 32: 2.5}},
}

# (work, format, figure) -> goal. `plain`: no dot product of codes or of bf16, AVX2 or AVX-512.
GOALS = {
    "vnni": {
        ("single", "bf16", "pp512"): Goal(share=0.85, times=2),
        ("single", "int8", "pp512"): Goal(share=0.65, times=4.5),
        ("single", "int4", "pp512"): Goal(share=0.65, times=3),
        ("single", "bf16", "tg128"): decode(1.15),
        ("single", "int8", "tg128"): decode(1.4),
        ("single", "int4", "tg128"): decode(1.3),
        **{("server", "int8", f"server, {n} at a time, tok/s"): Goal(at_least=rate) for n, rate in ((1, 100), (4, 250), (16, 500))},
        ("server", "int8", "server, 16 at a time, ITL p99, ms"): Goal(at_most=100),
        ("stall", "int8", "longest stall, ms"): Goal(at_most=150),
    },
    "plain": {
        ("single", "bf16", "pp512"): Goal(share=0.75, times=1.5),
        ("single", "int8", "pp512"): Goal(share=0.65, times=2),
        ("single", "int4", "pp512"): Goal(times=2.2),
        ("single", "bf16", "tg128"): decode(1.08),
        ("single", "int8", "tg128"): decode(1.3),
        ("single", "int4", "tg128"): decode(1.3),
        **{("server", "int8", f"server, {n} at a time, tok/s"): Goal(times=2) for n in (1, 4, 16)},
        ("stall", "int8", "longest stall, ms"): Goal(at_most_times=3, of="quiet gap, ms"),
    },
}
STREAM_RATES = {  # tokens a second on the machine that the goals were set on, a Zen 5
    "vnni": {"int8": {8: 700, 16: 1000, 32: 1300}, "int4": {16: 1000, 32: 1400}},
    "plain": {},
}
for _kind, _formats in STREAM_GOALS.items():
    for _form, _times in _formats.items():
        _rates = STREAM_RATES[_kind].get(_form, {})
        GOALS[_kind].update({("streams", _form, f"{n} streams"): Goal(times=t, at_least=_rates.get(n, 0)) for n, t in _times.items()})

# Codes in the cache read half of what f16 does, and codes that are looked up take no more memory than codes that count.
for _of_kind in GOALS.values():
    for _figure in (f"pp{DEPTH}", f"tg{DEPTH_WRITTEN} at {DEPTH}"):
        _of_kind["depth", "int8", f"{_figure}, int8 KV"] = Goal(at_least_times=1, of=f"{_figure}, f16 KV")
    for _figure in (f"pp{PROMPT}", f"tg{WRITTEN}"):
        _of_kind["lookup", "nf4", _figure] = Goal(at_least_times=0.9, of=f"{_figure}, int4")

# A neighbour takes its fair part and no more: a tenth of what is left may be lost to waiting for each other.
for _of_kind in GOALS.values():
    for _work in ("pp512", "tg64"):
        for _n in COUNTS[1:]:
            _of_kind["neighbours", "int8", f"{_work}, {beside(_n)}"] = Goal(at_least_times=round(0.9 * fair_part(2, _n), 2),
                                                                            of=f"{_work}, alone")
