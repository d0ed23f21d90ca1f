# SPDX-License-Identifier: Apache-2.0
"""Conversations -> training rows without padding waste: several conversations share a row, none sees another."""
import torch

USER_WEIGHT = 0.05  # a little loss on questions helps the model to know words; the answers are what counts


PROBE_TOKENS = 8  # of an answer: enough to tell it from most others
NO_ANSWER = -100  # the number at places where no answer begins
ANSWERS_PER_TOKEN = 1 / 12  # room for the places where answers begin; no row of real samples has more


class Sample:
    """One conversation: ids, and per id the loss weight of predicting it.

    A probe has only the first tokens of its last answer. They decide which answer it becomes, and that is what takes
    long to learn: the rest of an answer follows by itself.
    """

    def __init__(self, tokenizer, messages, numbers, probe=False):
        """numbers: of each answer of the corpus, see corpus.answer_numbers()."""
        self.ids, self.weights = [tokenizer.bos], [0.0]
        self.answers, self.hideable = {}, []  # place of an assistant's mark -> number of the answer; places of question tokens
        for number, (role, text) in enumerate(messages, 1):
            ids = tokenizer.message(role, text) + [tokenizer.end]
            if probe and number == len(messages):
                ids = ids[:1 + PROBE_TOKENS]
            weight = 1.0 if role == "assistant" else USER_WEIGHT
            if role == "assistant":
                self.answers[len(self.ids)] = numbers[text]
            elif role == "user":
                self.hideable += range(len(self.ids) + 1, len(self.ids) + len(ids) - 1)
            self.ids += ids
            self.weights += [0.0] + [weight] * (len(ids) - 1)
            if role != "assistant":
                self.weights[-1] = 0.0  # where a question ends is not the model's business


class Packer:
    """Rows of n tokens from a stream of samples; samples longer than a row are left out.

    A share of the questions' tokens, `hidden`, is replaced by `unknown`: as no single word can be trusted to be there,
    the model learns to weigh all of them.
    """

    def __init__(self, samples, n, n_rows, unknown, hidden, rng):
        self.samples, self.pool, self.n, self.n_rows = samples, [], n, n_rows
        self.unknown, self.hidden, self.rng = unknown, hidden, rng

    def next_batch(self):
        # A pool of several batches finds a good fit for the end of every row.
        while len(self.pool) < 12 * self.n_rows:
            sample = next(self.samples)
            if len(sample.ids) <= self.n:
                self.pool.append(sample)
        return self.batch()

    @staticmethod
    def take_row(pool, room):
        """The oldest sample first, then always the longest that still fits."""
        row = [pool.pop(0)]
        room -= len(row[0].ids)
        while True:
            fitting = [i for i, s in enumerate(pool) if len(s.ids) <= room]
            if not fitting:
                return row
            best = max(fitting, key=lambda i: len(pool[i].ids))
            room -= len(pool[best].ids)
            row.append(pool.pop(best))

    def batch(self):
        """ids and targets [rows, n], loss weights [rows, n], mask [rows, 1, n, n] (true: may see), and where answers
        begin: places in the flattened rows and numbers, both [rows * n * ANSWERS_PER_TOKEN], filled up with NO_ANSWER."""
        n, n_rows = self.n, self.n_rows
        ids = torch.zeros(n_rows, n, dtype=torch.long)
        weights = torch.zeros(n_rows, n)
        owner = torch.full((n_rows, n), -1)
        answers, unseen = [], []
        for r in range(n_rows):
            at = 0
            for k, sample in enumerate(self.take_row(self.pool, n)):
                end = at + len(sample.ids)
                ids[r, at:end] = torch.tensor(sample.ids)
                weights[r, at:end] = torch.tensor(sample.weights)
                owner[r, at:end] = k
                answers += [(r * n + at + i, number) for i, number in sample.answers.items()]
                unseen += [r * n + at + i for i in sample.hideable if self.rng.random() < self.hidden]
                at = end
        mask = (owner[:, :, None] == owner[:, None, :]) & torch.ones(n, n, dtype=torch.bool).tril()
        # Position i predicts token i + 1; the first token of a conversation has weight 0, so no row leaks over.
        targets, weights = ids.roll(-1, 1), weights.roll(-1, 1)
        weights[:, -1] = 0.0
        ids.view(-1)[unseen] = self.unknown
        return ids, targets, weights, mask[:, None], *self.padded(answers)

    def padded(self, answers):
        """Always the same shape, so that compiled code fits every batch."""
        room = int(self.n_rows * self.n * ANSWERS_PER_TOKEN)
        answers = answers[:room] + [(0, NO_ANSWER)] * (room - len(answers))
        places, numbers = zip(*answers)
        return torch.tensor(places), torch.tensor(numbers)
