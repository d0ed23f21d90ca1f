#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools and reasoning as the openai client sees them: whole, streamed, put together by the client itself, and refused.

    openai_tools.py --serve build/ci/tests/clients.scripted_tools

Needs: pip install openai. Exit code: 0 when everything is as it should be.
"""
import argparse
import json
import re
import subprocess
import sys

import openai

TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Of a city.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}}]
QUESTION = [{"role": "user", "content": "Rain in Zürich?"}]
ARGUMENTS = {"city": "Zürich", "days": 2}
REASONING = "Somebody asks for the weather."


def check(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print("ok", what)


def check_calls(calls, n, what):
    check(len(calls) == n and len({call.id for call in calls}) == n, f"{what}: {n} calls with ids of their own")
    for call in calls:
        check(call.type == "function" and call.function.name == "weather", f"{what}: the function is named")
        check(json.loads(call.function.arguments) == ARGUMENTS, f"{what}: arguments")


def ask(client, **more):
    return client.chat.completions.create(model="fake", messages=QUESTION, tools=TOOLS, **more)


def run_whole(client):
    choice = ask(client).choices[0]
    check(choice.finish_reason == "tool_calls", "whole: finish reason")
    check(choice.message.content == "I look.", "whole: content beside the calls")
    check(choice.message.reasoning == choice.message.reasoning_content == REASONING, "whole: reasoning")
    check_calls(choice.message.tool_calls, 2, "whole")
    one = ask(client, parallel_tool_calls=False).choices[0]
    check_calls(one.message.tool_calls, 1, "without parallel calls")
    none = ask(client, tool_choice="none").choices[0]
    check(not none.message.tool_calls and "<tool_call>" in none.message.content, "none: nothing is read")
    return choice.message


def run_round_trip(client, message):
    messages = QUESTION + [message.model_dump(exclude_none=True)]
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "dry"} for call in message.tool_calls]
    answer = client.chat.completions.create(model="fake", messages=messages, tools=TOOLS).choices[0]
    check(answer.message.content == "It is dry." and answer.finish_reason == "stop", "round trip: results are answered")


def run_stream(client):
    calls, reasoning, content, finish = {}, "", "", None
    for chunk in ask(client, stream=True):
        delta = chunk.choices[0].delta
        reasoning += getattr(delta, "reasoning", None) or ""
        content += delta.content or ""
        finish = chunk.choices[0].finish_reason or finish
        for part in delta.tool_calls or []:
            if part.id:
                calls[part.index] = part
            else:
                calls[part.index].function.arguments += part.function.arguments
    check(finish == "tool_calls" and content.strip() == "I look." and reasoning == REASONING, "stream: texts and end")
    check_calls(list(calls.values()), 2, "stream")


def run_accumulated(client):
    with client.chat.completions.stream(model="fake", messages=QUESTION, tools=TOOLS) as stream:
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    check(choice.finish_reason == "tool_calls", "put together by the client: finish reason")
    check_calls(choice.message.tool_calls, 2, "put together by the client")


def run_refused(client):
    for choice in ("required", {"type": "function", "function": {"name": "weather"}}):
        check(ask(client, tool_choice=choice).choices[0].finish_reason == "tool_calls", f"a call is demanded: {choice}")
    try:
        ask(client, tool_choice={"type": "function", "function": {"name": "other"}})
        check(False, "a function that is no tool")
    except openai.BadRequestError as error:
        check(error.param == "tool_choice.function.name", "a function that is no tool")
    try:
        client.chat.completions.create(model="fake", messages=QUESTION, tools=[{"type": "function", "function": {"name": ""}}])
        check(False, "a tool without a name")
    except openai.BadRequestError as error:
        check(error.param == "tools[0].function.name", "a tool without a name")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--serve", required=True, help="the scripted server; it is started and stopped")
    args = parser.parse_args()
    server = subprocess.Popen([args.serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"listening on (http://\S+)", server.stdout.readline()).group(1)
        with openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=60) as client:
            message = run_whole(client)
            run_round_trip(client, message)
            run_stream(client)
            run_accumulated(client)
            run_refused(client)
    finally:
        server.stdin.close()
        check(server.wait(timeout=60) == 0, "the server ends")


if __name__ == "__main__":
    main()
