#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many streams through the openai client, a quarter of them closed by the client in mid-stream.

Every other stream must be complete and equal to its solo run, the KV cache must be empty afterwards, and the
inter-token times of the survivors are laid beside those of the same streams with nobody closing.

    openai_streams.py --url http://127.0.0.1:8000 [--api-key KEY]
    openai_streams.py --serve build/release/bin/lathe --model DIR [-- further flags of lathe serve]

Needs: pip install openai. Exit code: 0 when texts and cache are right (and, with --judge-speed, the p99 is within the limit).
"""
import argparse
import asyncio
import re
import subprocess
import sys
import time
import urllib.request

import openai

STARTS = ["Once upon a time", "One day, a big dog", "Lily and Tom", "The little bird", "In the garden", "A boy had a red ball",
          "Mom said to", "It was a sunny day"]


def prompt_of(i):
    """A prompt of its own for each stream; the lengths differ so that the batch is ragged."""
    return " ".join([STARTS[(i + j) % len(STARTS)] + "." for j in range(i % 5)] + [STARTS[i % len(STARTS)]]) + " " * (i // 40)


def request_of(i, args):
    """Even streams are greedy, odd ones sampled with a seed: both must repeat exactly."""
    sampling = {"temperature": 0} if i % 2 == 0 else {"temperature": 0.8, "seed": 1000 + i}
    return dict(model=args.served_model, max_tokens=args.max_tokens, stream=True, stream_options={"include_usage": True},
                extra_body={"return_token_ids": True, "ignore_eos": True}, **sampling)


class Stream:
    def __init__(self):
        self.ids, self.times, self.text, self.finish, self.usage, self.closed = [], [], "", None, None, False

    def gaps(self):
        return [b - a for a, b in zip(self.times, self.times[1:])]


async def run_stream(client, i, args, close_after=None):
    """One stream to its end, or closed by us after so many tokens."""
    result = Stream()
    if args.chat:
        stream = await client.chat.completions.create(messages=[{"role": "user", "content": prompt_of(i)}], **request_of(i, args))
    else:
        stream = await client.completions.create(prompt=prompt_of(i), **request_of(i, args))
    async for chunk in stream:
        if chunk.usage is not None:
            result.usage = chunk.usage
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        ids = getattr(choice, "token_ids", None) or []
        result.text += (choice.delta.content or "") if args.chat else choice.text
        result.finish = choice.finish_reason or result.finish
        if ids:
            result.ids += ids
            result.times.append(time.perf_counter())
        if close_after is not None and len(result.ids) >= close_after:
            result.closed = True
            await stream.close()
            break
    return result


async def run_all(client, args, closing):
    """All streams at once; `closing` maps a stream's number to the tokens after which it is closed."""
    return await asyncio.gather(*(run_stream(client, i, args, closing.get(i)) for i in range(args.streams)))


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def metric(args, name):
    request = urllib.request.Request(args.url + "/metrics", headers={"Authorization": "Bearer " + args.api_key})
    text = urllib.request.urlopen(request, timeout=10).read().decode()
    return float(re.search(r"^" + re.escape(name) + r"(?:\{[^}]*\})? (\S+)$", text, re.M).group(1))


def wait_until_idle(args):
    for _ in range(200):
        if metric(args, "vllm:num_requests_running") == 0 and metric(args, "vllm:num_requests_waiting") == 0:
            break
        time.sleep(0.05)
    return metric(args, "vllm:kv_cache_usage_perc")


def differences(name, streams, solo, skip=()):
    """Complains about every stream that is not complete or not the solo run's."""
    complaints = []
    for i, stream in enumerate(streams):
        if i in skip:
            continue
        if stream.finish is None or stream.usage is None:
            complaints.append(f"{name}: stream {i} was cut")
        elif stream.ids != solo[i].ids or stream.text != solo[i].text:
            at = next((k for k, (a, b) in enumerate(zip(stream.ids, solo[i].ids)) if a != b), min(len(stream.ids), len(solo[i].ids)))
            complaints.append(f"{name}: stream {i} differs from its solo run at token {at} of {len(solo[i].ids)}")
        elif stream.usage.completion_tokens != len(stream.ids):
            complaints.append(f"{name}: stream {i} has {len(stream.ids)} tokens, its usage says {stream.usage.completion_tokens}")
    return complaints


async def measure(args):
    client = openai.AsyncOpenAI(base_url=args.url + "/v1", api_key=args.api_key, max_retries=0, timeout=600)
    args.served_model = (await client.models.list()).data[0].id
    started = time.perf_counter()
    solo = [await run_stream(client, i, args) for i in range(args.streams)]
    print(f"solo: {args.streams} runs of {args.max_tokens} tokens in {time.perf_counter() - started:.1f} s", flush=True)
    closing = {i: 1 + (i * 7) % (args.max_tokens // 2) for i in range(0, args.streams, 4)}
    complaints, p99 = [], {}
    survivors = [i for i in range(args.streams) if i not in closing]
    for round_number in range(args.rounds):
        for name, closed in (("nobody closes", {}), ("a quarter closes", closing)):
            started = time.perf_counter()
            streams = await run_all(client, args, closed)
            seconds = time.perf_counter() - started
            usage = wait_until_idle(args)
            complaints += differences(name, streams, solo, closed)
            if usage != 0:
                complaints.append(f"{name}: vllm:kv_cache_usage_perc stays at {usage}")
            n_closed = sum(stream.closed for stream in streams)
            if n_closed != len(closed):
                complaints.append(f"{name}: {n_closed} of {len(closed)} streams were closed in mid-stream")
            gaps = [1000 * gap for i in survivors for gap in streams[i].gaps()]
            p99.setdefault(name, []).append(percentile(gaps, 0.99))
            print(f"round {round_number + 1}, {name}: {seconds:.1f} s, {n_closed} closed, inter-token of the same {len(survivors)} "
                  f"streams p50 {percentile(gaps, 0.5):.1f} ms, p99 {percentile(gaps, 0.99):.1f} ms, KV usage after it {usage:g}", flush=True)
    await client.close()
    ratio = min(p99["a quarter closes"]) / min(p99["nobody closes"])
    print(f"p99 with closing / without: {ratio:.2f} (best of {args.rounds} rounds each)")
    if args.judge_speed and not ratio <= 2:
        complaints.append(f"the p99 of the survivors is {ratio:.2f} times that of the undisturbed run, more than 2")
    for complaint in complaints[:20]:
        print("FAIL", complaint)
    print(f"{len(complaints)} complaints over {2 * args.rounds * args.streams} streams")
    return 1 if complaints else 0


def start_server(args, flags):
    command = [args.serve, "serve", "--model", args.model, "--port", "0", "--max-num-seqs", str(args.streams)] + flags
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    match = re.search(r"listening on (http://\S+)", line)
    if not match:
        sys.exit(f"the server did not start: {line!r}, exit code {server.wait()}")
    args.url = match.group(1)
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", help="a running server, without /v1")
    parser.add_argument("--serve", help="the lathe program; a server is started and stopped")
    parser.add_argument("--model", help="with --serve")
    parser.add_argument("--api-key", default="none")
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--max-tokens", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--chat", action="store_true", help="/v1/chat/completions in place of /v1/completions")
    parser.add_argument("--judge-speed", action="store_true", help="fail when the p99 more than doubles")
    args, flags = parser.parse_known_args()
    if not args.url and not (args.serve and args.model):
        parser.error("give --url, or --serve and --model")
    server = start_server(args, [flag for flag in flags if flag != "--"]) if args.serve else None
    try:
        code = asyncio.run(measure(args))
    finally:
        if server:
            server.terminate()
            started = time.monotonic()
            stopped = server.wait(timeout=30)
            print(f"server left with {stopped} after {time.monotonic() - started:.1f} s")
    sys.exit(code)


if __name__ == "__main__":
    main()
