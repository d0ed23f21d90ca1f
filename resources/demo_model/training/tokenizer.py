# SPDX-License-Identifier: Apache-2.0
"""The demo model's vocabulary and its chat format: training, loading, encoding of conversations."""
import io
import random

import sentencepiece as spm

from corpus import SYSTEM_MESSAGES, augment

BOS, END, SYSTEM, USER, ASSISTANT = "<s>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"

# The user's text follows its control token after a space and the assistant's does not: so a word has the same
# piece at the start of a question as inside it, and an answer starts without a space.
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ '<|system|> ' + message['content'] | trim + eos_token }}"
    "{% elif message['role'] == 'user' %}{{ '<|user|> ' + message['content'] | trim + eos_token }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] | trim + eos_token }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def training_lines(entries, seed):
    """Answers count once per wording, so that words of answers become whole pieces; plus augmented questions."""
    rng = random.Random(seed)
    for entry in entries:
        for turn in entry.turns:
            for question in turn.questions:
                yield " " + augment(question, rng)
                yield " " + augment(question, rng).lower()
            yield turn.answer
            yield turn.answer
    yield from SYSTEM_MESSAGES


def train(entries, vocab_size, seed):
    """Returns the bytes of a tokenizer.model.

    Text reaches the pieces unchanged (identity, no added or removed spaces), so decoding gives back every byte.
    Turn marks are control symbols: typed text can never be encoded to them.
    """
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=training_lines(entries, seed), model_writer=model, model_type="bpe", vocab_size=vocab_size,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False,
        split_digits=True, character_coverage=1.0, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, bos_piece=BOS, eos_piece=END,
        control_symbols=[SYSTEM, USER, ASSISTANT], minloglevel=2)
    return model.getvalue()


class Tokenizer:
    def __init__(self, model_bytes):
        self.pieces = spm.SentencePieceProcessor(model_proto=model_bytes)
        self.bos, self.end = self.pieces.piece_to_id(BOS), self.pieces.piece_to_id(END)
        self.unknown = self.pieces.unk_id()  # no text has it, thanks to byte fallback
        self.mark = {role: self.pieces.piece_to_id(f"<|{role}|>") for role in ("system", "user", "assistant")}

    def message(self, role, text):
        """Ids of one message without its end mark."""
        return [self.mark[role]] + self.pieces.encode(text if role == "assistant" else " " + text)

    def prompt(self, messages):
        """messages: (role, text) pairs; the ids that the chat template gives with add_generation_prompt."""
        ids = [self.bos]
        for role, text in messages:
            ids += self.message(role, text) + [self.end]
        return ids + [self.mark["assistant"]]

    def decode(self, ids):
        return self.pieces.decode(ids)
