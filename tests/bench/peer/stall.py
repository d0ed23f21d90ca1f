# SPDX-License-Identifier: Apache-2.0
"""What streams feel when a long prompt arrives: some decode, the prompt is sent, and the longest gap after that is told."""
import http.client
import json
import random
import statistics
import threading
import time
from urllib.parse import urlparse

STREAMS, LONG_PROMPT = 3, 1529
SHORT_PROMPT, WRITTEN = 64, 450
QUIET_SECONDS = 3


def completion(url, model, n_prompt, n_written, seed, on_token):
    """Streams one completion of drawn token ids and calls on_token(time) for each piece of it."""
    draw = random.Random(seed)
    body = {"model": model, "prompt": [draw.randrange(300, 20_000) for _ in range(n_prompt)], "max_tokens": n_written,
            "stream": True, "ignore_eos": True, "temperature": 0}
    connection = http.client.HTTPConnection(urlparse(url).netloc, timeout=600)
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise RuntimeError(f"HTTP {answer.status}: {answer.read()[:300]}")
    for line in answer:
        if line.startswith(b"data: {"):
            on_token(time.monotonic())
    connection.close()


def measure(url, model, seed):
    """Milliseconds: the usual gap between tokens before the prompt comes, and the longest after that."""
    times = [[] for _ in range(STREAMS)]
    threads = [threading.Thread(target=completion, args=(url, model, SHORT_PROMPT, WRITTEN, seed + i, times[i].append))
               for i in range(STREAMS)]
    for thread in threads:
        thread.start()
    while any(len(t) < 2 for t in times):
        if not all(thread.is_alive() for thread in threads):
            raise RuntimeError("a stream ended before it began to write")
        time.sleep(0.01)
    time.sleep(QUIET_SECONDS)
    sent = time.monotonic()
    completion(url, model, LONG_PROMPT, 2, seed + STREAMS, lambda _: None)
    answered = time.monotonic()
    for thread in threads:
        thread.join()
    gaps = [(b, 1000 * (b - a)) for t in times for a, b in zip(t, t[1:])]
    quiet = [gap for end, gap in gaps if end < sent]
    beside = [gap for end, gap in gaps if end >= sent]
    if not beside or all(t[-1] < answered for t in times):
        raise RuntimeError("the streams ended before the long prompt was read: make them longer")
    return {"quiet gap, ms": statistics.median(quiet[STREAMS:]), "longest stall, ms": max(beside)}
