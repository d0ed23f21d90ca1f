#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server's protocols as their authors' clients see them: openai's responses and embeddings, anthropic's messages, ollama's
chats and embeddings.

    protocols.py --serve build/ci/tests/clients.scripted_tools
    protocols.py --url http://127.0.0.1:8000 --model NAME [--words]

The scripted server calls a tool twice, and speaks when it has the result. --words: a real model, which may say anything; tools
are left out. Needs: pip install openai anthropic ollama. Exit code: 0 when everything is as it should be.
"""
import argparse
import json
import re
import struct
import subprocess
import sys

import anthropic
import ollama
import openai

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
FUNCTION = {"name": "weather", "description": "Of a city.", "parameters": SCHEMA}
QUESTION = "Rain in Zürich?"
ARGUMENTS = {"city": "Zürich", "days": 2}
REASONING = "Somebody asks for the weather."


def check(condition, what):
    if not condition:
        sys.exit(f"FAIL {what}")
    print("ok", what)


def responses_with_tools(client, model):
    tools = [{"type": "function", **FUNCTION}]
    first = client.responses.create(model=model, input=QUESTION, tools=tools)
    kinds = [item.type for item in first.output]
    check(kinds == ["reasoning", "message", "function_call", "function_call"], f"responses: items {kinds}")
    check(first.output[0].content[0].text == REASONING, "responses: reasoning")
    calls = [item for item in first.output if item.type == "function_call"]
    check(all(json.loads(call.arguments) == ARGUMENTS for call in calls), "responses: arguments")
    check(first.usage.output_tokens_details.reasoning_tokens > 0, "responses: reasoning tokens")
    outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "dry"} for call in calls]
    second = client.responses.create(model=model, input=outputs, previous_response_id=first.id, tools=tools)
    check(second.output_text == "It is dry.", "responses: the previous one is continued")
    with client.responses.stream(model=model, input=QUESTION, tools=tools) as stream:
        events = list(stream)
        final = stream.get_final_response()
    check([item.type for item in final.output] == kinds, "responses: a stream adds up to the same items")
    check([event.sequence_number for event in events if hasattr(event, "sequence_number")] == sorted(
        event.sequence_number for event in events if hasattr(event, "sequence_number")), "responses: sequence numbers")


def responses_of_words(client, model):
    first = client.responses.create(model=model, input="Once upon a time", max_output_tokens=16, metadata={"k": "v"})
    check(first.status in ("completed", "incomplete") and first.usage.output_tokens > 0, f"responses: {first.status}")
    again = client.responses.retrieve(first.id)
    check(again.output_text == first.output_text and again.metadata == {"k": "v"}, "responses: retrieved")
    items = client.responses.input_items.list(first.id)
    check(items.data[0].content[0].text == "Once upon a time", "responses: input items")
    text = "".join(event.delta for event in client.responses.create(model=model, input="Hi", max_output_tokens=16, stream=True)
                   if event.type == "response.output_text.delta")
    check(isinstance(text, str), "responses: streamed")
    late = client.responses.create(model=model, input="Hi", max_output_tokens=400, background=True)
    check(late.status in ("queued", "in_progress"), "responses: in the background")
    check(client.responses.cancel(late.id).status in ("cancelled", "completed", "incomplete"), "responses: cancelled")
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
        check(False, "responses: a deleted response is gone")
    except openai.NotFoundError:
        check(True, "responses: a deleted response is gone")
    try:
        client.responses.create(model=model, input=[{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])
        check(False, "responses: images are refused")
    except openai.BadRequestError as error:
        check("input[0].content[0].type" in str(error), "responses: images are refused by name")


def messages_with_tools(client, model):
    tools = [{"name": "weather", "description": "Of a city.", "input_schema": SCHEMA}]
    question = [{"role": "user", "content": QUESTION}]
    first = client.messages.create(model=model, max_tokens=500, messages=question, tools=tools)
    kinds = [block.type for block in first.content]
    check(kinds == ["thinking", "text", "tool_use", "tool_use"], f"messages: blocks {kinds}")
    check(first.stop_reason == "tool_use" and first.content[2].input == ARGUMENTS, "messages: a call")
    results = [{"type": "tool_result", "tool_use_id": block.id, "content": "dry"} for block in first.content[2:]]
    answer = [{"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]},
              {"role": "user", "content": results}]
    second = client.messages.create(model=model, max_tokens=500, messages=question + answer, tools=tools)
    check(second.content[0].text == "It is dry." and second.stop_reason == "end_turn", "messages: the result is answered")
    with client.messages.stream(model=model, max_tokens=500, messages=question, tools=tools) as stream:
        final = stream.get_final_message()
    check([block.type for block in final.content] == kinds and final.content[2].input == ARGUMENTS,
          "messages: a stream adds up to the same blocks")


def messages_of_words(client, model):
    question = [{"role": "user", "content": "Once upon a time"}]
    first = client.messages.create(model=model, max_tokens=16, messages=question, system="Be brief.")
    check(first.stop_reason in ("end_turn", "max_tokens") and first.usage.output_tokens > 0, "messages: a text")
    with client.messages.stream(model=model, max_tokens=16, messages=question) as stream:
        text = "".join(stream.text_stream)
    check(isinstance(text, str), "messages: streamed")
    check(client.messages.count_tokens(model=model, messages=question).input_tokens > 0, "messages: tokens are counted")
    image = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}]
    try:
        client.messages.create(model=model, max_tokens=16, messages=[{"role": "user", "content": image}])
        check(False, "messages: images are refused")
    except anthropic.BadRequestError as error:
        check("messages[0].content[0].type" in str(error), "messages: images are refused by name")
    try:
        client.messages.create(model="another", max_tokens=16, messages=question)
        check(False, "messages: an unknown model")
    except anthropic.NotFoundError:
        check(True, "messages: an unknown model is NotFoundError")


def ollama_with_tools(client, model):
    tools = [{"type": "function", "function": FUNCTION}]
    question = [{"role": "user", "content": QUESTION}]
    first = client.chat(model=model, messages=question, tools=tools)
    check(first.message.thinking == REASONING, "ollama: thinking")
    check([dict(call.function.arguments) for call in first.message.tool_calls] == [ARGUMENTS] * 2, "ollama: calls")
    more = [first.message, {"role": "tool", "tool_name": "weather", "content": "dry"}]
    check(client.chat(model=model, messages=question + more, tools=tools).message.content == "It is dry.",
          "ollama: the result is answered")
    parts = list(client.chat(model=model, messages=question, tools=tools, stream=True))
    check(parts[-1].done and sum(len(part.message.tool_calls or []) for part in parts) == 2, "ollama: streamed calls")


def ollama_of_words(client, model):
    check(model in [entry.model for entry in client.list().models], "ollama: list")
    check(model in [entry.model for entry in client.ps().models], "ollama: ps")
    shown = client.show(model)
    check("completion" in shown.capabilities and shown.modelinfo["general.architecture"], "ollama: show")
    answer = client.generate(model=model, prompt="Once upon a time", options={"num_predict": 16}, keep_alive="5m")
    check(answer.done and answer.eval_count > 0 and answer.total_duration > 0, "ollama: generate")
    parts = list(client.generate(model=model, prompt="Once upon a time", raw=True, stream=True, options={"num_predict": 8}))
    check(parts[-1].done_reason in ("stop", "length"), "ollama: raw and streamed")
    chat = client.chat(model=model, messages=[{"role": "user", "content": "Hi"}], options={"num_predict": 8})
    check(chat.message.role == "assistant", "ollama: chat")
    try:
        client.chat(model="another", messages=[{"role": "user", "content": "Hi"}])
        check(False, "ollama: an unknown model")
    except ollama.ResponseError as error:
        check(error.status_code == 404 and "another" in error.error, "ollama: an unknown model is a 404 with words")


def vectors_of_openai(client, model):
    answer = client.embeddings.create(model=model, input=["Once upon a time", "Hi"])  # the package asks for base64
    numbers = client.embeddings.create(model=model, input=["Once upon a time", "Hi"], encoding_format="float")
    check([item.index for item in answer.data] == [0, 1] and answer.usage.prompt_tokens > 0, "embeddings: a list")
    packed = [struct.pack(f"<{len(item.embedding)}f", *item.embedding) for item in numbers.data]
    check([struct.pack(f"<{len(item.embedding)}f", *item.embedding) for item in answer.data] == packed,
          "embeddings: base64 has the bits of the numbers")
    check(len(client.embeddings.create(model=model, input=[65, 66]).data) == 1, "embeddings: token ids")
    try:
        client.embeddings.create(model=model, input="Hi", dimensions=1)
        check(False, "embeddings: dimensions of a model without them are refused")
    except openai.BadRequestError as error:
        check(error.param == "dimensions", "embeddings: dimensions are refused by name")


def vectors_of_ollama(client, model):
    answer = client.embed(model=model, input=["Once upon a time", "Hi"])
    length = sum(x * x for x in answer.embeddings[0]) ** 0.5
    check(len(answer.embeddings) == 2 and abs(length - 1) < 1e-5 and answer.prompt_eval_count > 0, "ollama: embed")
    check(len(client.embeddings(model=model, prompt="Hi").embedding) == len(answer.embeddings[0]), "ollama: embeddings")


def run(url, model, words):
    responses = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    messages = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    chats = ollama.Client(host=url)
    for ask, client in [(responses_of_words, responses), (messages_of_words, messages), (ollama_of_words, chats),
                        (vectors_of_openai, responses), (vectors_of_ollama, chats)]:
        ask(client, model)
    if words:
        return
    for ask, client in [(responses_with_tools, responses), (messages_with_tools, messages), (ollama_with_tools, chats)]:
        ask(client, model)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", help="the program of scripted_tools.cpp")
    parser.add_argument("--url")
    parser.add_argument("--model", default="fake")
    parser.add_argument("--words", action="store_true")
    args = parser.parse_args()
    if args.url:
        return run(args.url, args.model, args.words)
    server = subprocess.Popen([args.serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        run(re.search(r"http://\S+", server.stdout.readline()).group(), args.model, args.words)
    finally:
        server.stdin.close()
        server.wait(20)


if __name__ == "__main__":
    main()
