# SPDX-License-Identifier: Apache-2.0
"""The two programs that are compared, each behind the same four questions: a prompt and an answer, many streams, a long
context, a server."""
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROMPT, WRITTEN = 512, 128  # of one request
STREAMS = (8, 16, 32)
STREAM_PROMPT, STREAM_WRITTEN = 128, 64
DEPTH, DEPTH_WRITTEN = 2048, 64


@dataclass(frozen=True)
class Format:
    """Weights of the same size on both sides."""
    lathe: str
    peer: str
    bytes_each: float  # of a weight, scales and all

    @property
    def is_coded(self):
        return self.lathe != "none"


FORMATS = {
    "bf16": Format("none", "bf16", 2),
    "int8": Format("int8_g32", "q8_0", 34 / 32),
    "int4": Format("int4_g32", "q4_0", 18 / 32),
    "nf4": Format("bitsandbytes_4bit", "", 18 / 32),  # which llama.cpp does not have
}


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr[-2000:]}")
    return done.stdout


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextmanager
def server(command, port, seconds=300):
    """The address of a server that answers /health."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, OSError):
                pass
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"no server came of {' '.join(map(str, command))}")
            time.sleep(0.3)
        yield url
    finally:
        process.terminate()
        process.wait()


class Lathe:
    name = "lathe"

    def __init__(self, program, models, threads, isa=""):
        self.program, self.models, self.threads = program, models, threads
        self.isa = ["--isa", isa] if isa else []
        self.machine = {}  # what it says of the machine, ceilings of its own among it

    def options(self, preset, form):
        return ["--model", self.models / preset, "--quantization", FORMATS[form].lathe, "--threads", self.threads, *self.isa]

    def bench(self, preset, form, *more):
        """Tokens a second of each run, all streams together, by kind and number of streams."""
        result = json.loads(output_of([self.program, "bench", *self.options(preset, form), "--repeats", 1, "--json", "-q", *more]))
        self.machine = result["machine"]
        return {(run["kind"], run["concurrency"]): run["samples_tok_s"][0] for run in result["runs"]}

    def rates(self, preset, form, n_prompt, n_written, *more):
        rates = self.bench(preset, form, "--pp", n_prompt, "--tg", n_written, *more)
        return {f"pp{n_prompt}": rates["pp", 1], f"tg{n_written}": rates["tg", 1]}

    def streams(self, preset, form):
        rates = self.bench(preset, form, "--pp", 0, "--tg", STREAM_WRITTEN, "--depth", STREAM_PROMPT, "--concurrency",
                           ",".join(map(str, STREAMS)))
        return {f"{n} streams": rates["tg", n] for n in STREAMS}

    def depth(self, preset, form, kv):
        cache = ("--kv-cache-dtype", {"f16": "float16", "int8": "int8"}[kv])
        prompt = self.bench(preset, form, "--pp", DEPTH, "--tg", 0, *cache)
        answer = self.bench(preset, form, "--pp", 0, "--tg", DEPTH_WRITTEN, "--depth", DEPTH, *cache)
        return {f"pp{DEPTH}, {kv} KV": prompt["pp", 1], f"tg{DEPTH_WRITTEN} at {DEPTH}, {kv} KV": answer["tg", 1]}

    def lookup(self, preset, form):
        """Beside int4 in the same minute, the head in 16 bits with both: NF4 leaves it so."""
        rates = self.rates(preset, form, PROMPT, WRITTEN)
        counted = self.rates(preset, "int4", PROMPT, WRITTEN, "--keep-head")
        return {**rates, **{f"{figure}, int4": rate for figure, rate in counted.items()}}

    @contextmanager
    def serve(self, preset, form, streams):
        port = free_port()
        command = [self.program, "serve", *self.options(preset, form), "--port", port, "--max-num-seqs", streams, "-q"]
        with server(command, port) as url:
            yield url


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, programs, models, threads):
        self.programs, self.models, self.threads = programs, models, threads

    def model(self, preset, form):
        return self.models / f"{preset}-{FORMATS[form].peer}.gguf"

    def bench(self, preset, form, *more):
        return json.loads(output_of([self.programs / "llama-bench", "-m", self.model(preset, form), "-t", self.threads,
                                     "-r", 1, "-o", "json", *more]))

    def rates(self, preset, form, n_prompt, n_written):
        return {f"pp{r['n_prompt']}" if r["n_prompt"] else f"tg{r['n_gen']}": r["avg_ts"]
                for r in self.bench(preset, form, "-p", n_prompt, "-n", n_written)}

    def streams(self, preset, form):
        lines = output_of([self.programs / "llama-batched-bench", "-m", self.model(preset, form), "-t", self.threads,
                           "-c", max(STREAMS) * (STREAM_PROMPT + STREAM_WRITTEN), "-b", 2048, "-ub", 512,
                           "-npp", STREAM_PROMPT, "-ntg", STREAM_WRITTEN, "-npl", ",".join(map(str, STREAMS)),
                           "--output-format", "jsonl"]).splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        return {f"{r['pl']} streams": r["speed_tg"] for r in rows}

    def depth(self, preset, form, kv):
        cache = {"f16": "f16", "int8": "q8_0"}[kv]
        more = ("-ctk", cache, "-ctv", cache, "-fa", "1")
        prompt, = self.bench(preset, form, "-p", DEPTH, "-n", 0, *more)
        answer, = self.bench(preset, form, "-p", 0, "-n", DEPTH_WRITTEN, "-d", DEPTH, *more)
        return {f"pp{DEPTH}, {kv} KV": prompt["avg_ts"], f"tg{DEPTH_WRITTEN} at {DEPTH}, {kv} KV": answer["avg_ts"]}

    def lookup(self, preset, form):
        return {}

    @contextmanager
    def serve(self, preset, form, streams):
        port = free_port()
        command = [self.programs / "llama-server", "-m", self.model(preset, form), "-t", self.threads, "-np", streams,
                   "-c", streams * 768 if streams > 4 else streams * 2560, "--port", port, "--no-ui"]
        with server(command, port) as url:
            yield url
