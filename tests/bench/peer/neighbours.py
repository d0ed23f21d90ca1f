# SPDX-License-Identifier: Apache-2.0
"""What a program is left with when other programs want the same cores."""
import subprocess
import sys
from contextlib import contextmanager

COUNTS = (0, 1, 2)
PROMPT, WRITTEN = 512, 64


@contextmanager
def busy_processes(n):
    """n processes of one thread that never wait."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def beside(n):
    return "alone" if n == 0 else f"beside {n}"


def fair_part(threads, n):
    """Of what it does alone, where the host divides its time evenly and has as many cores as the program has threads."""
    return threads / (threads + n)


def measure(who, preset, form):
    figures = {}
    for n in COUNTS:
        with busy_processes(n):
            figures |= {f"{work}, {beside(n)}": rate for work, rate in who.rates(preset, form, PROMPT, WRITTEN).items()}
    return figures
