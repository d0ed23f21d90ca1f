# SPDX-License-Identifier: Apache-2.0
"""Trains the bundled demo model on corpus/*.txt and exports it as a Hugging Face folder.

    pip install -r requirements.txt
    python train.py --minutes 75

The budget is wall-clock time: the learning rate follows a cosine over it, so any machine ends with a finished model,
only a better or worse one. A checkpoint is kept in --work every few minutes; --resume goes on from there.

Each worker is a process with one thread that computes gradients of its own batch and updates its own share of the
parameters, which lie in shared memory. On a machine with other work this is a third faster than one process with as
many threads, because workers meet twice a step and not at every matrix product.
"""
import argparse
import math
import os
import random
import sys
import tempfile
import time
from pathlib import Path

# The step allocates and frees large buffers again and again: keep them in the heap, or much of the time goes into
# page faults. glibc reads these only at start, hence the second start of this program.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296", "MALLOC_TOP_PAD_": "67108864"}
if __name__ == "__main__" and "MALLOC_TOP_PAD_" not in os.environ:
    os.execve(sys.executable, [sys.executable] + sys.argv, os.environ | MALLOC)

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

import corpus
import tokenizer as text
from export import export
from model import Llama, ModelConfig
from muon import Muon
from packing import NO_ANSWER, Packer, Sample

MODEL_DIR = Path(__file__).resolve().parent.parent
SHORT_ROW, LONG_ROW = 256, 1024  # tokens; long rows teach long chats
LONGEST_STEP = 60.0  # seconds; what goes beyond was a pause (a stopped process, a sleeping machine) and is not counted
PROBE_SHARE = 0.8  # of the samples; they are short, so it is about half of the tokens
REFUSAL_WEIGHT = 5
DROPOUT = 0.05
HIDDEN_TOKENS = 0.08  # share of the questions' tokens
GUIDE_WEIGHT = 0.3  # of the guide's loss beside the tokens' loss
GUIDE_SMOOTHING = 0.05  # neighbouring entries are often half right
LONG_EVERY = 8  # one batch in so many has long rows: attention makes them dear


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--minutes", type=float, default=75, help="wall-clock budget of the training loop")
    p.add_argument("--tokens", type=float, default=0, help="budget in tokens instead of time, for a machine with other work")
    p.add_argument("--out", type=Path, default=MODEL_DIR, help="folder that gets the model")
    p.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "lathe-demo-train", help="checkpoints")
    p.add_argument("--workers", type=int, default=2, help="processes of one thread each; one per core")
    p.add_argument("--rows", type=int, default=6, help="rows of 256 tokens in a worker's batch")
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--save-minutes", type=float, default=4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    p.add_argument("--start-from", type=Path, help="weights to begin with: the model.pt of another --work folder")
    p.add_argument("--no-compile", action="store_true", help="do not use torch.compile (it needs a C++ compiler)")
    p.add_argument("--no-export", action="store_true", help="train only (for experiments)")
    return p.parse_args()


def learning_rate(peak, progress):
    """Linear warm-up over the first 2 % of the time, then a cosine down to 2 % of the peak."""
    if progress < 0.02:
        return peak * max(progress / 0.02, 0.01)
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min((progress - 0.02) / 0.98, 1.0))))


def weighted_entries(entries):
    """What is not its business can be asked in endless ways, so the refusals come up more often than their number says."""
    return [e for e in entries for _ in range(REFUSAL_WEIGHT if e.topic == "other" else 1)]


class Shared:
    """What the workers have in common; all tensors lie in shared memory."""

    def __init__(self, model, guide, n_workers):
        self.model, self.guide = model.share_memory(), guide.share_memory()
        n_params = sum(p.numel() for module in (model, guide) for p in module.parameters())
        self.grads = torch.zeros(n_workers, n_params).share_memory_()
        self.elapsed = torch.zeros(1, dtype=torch.float64).share_memory_()
        self.barrier = mp.get_context("spawn").Barrier(n_workers)


class Worker:
    def __init__(self, rank, shared, tokenizer_bytes, args):
        torch.set_num_threads(1)
        self.rank, self.shared, self.args, self.tokenizer_bytes = rank, shared, args, tokenizer_bytes
        self.model, self.guide, self.tok = shared.model, shared.guide, text.Tokenizer(tokenizer_bytes)
        self.parameters = [*self.model.parameters(), *self.guide.parameters()]
        self.n_steps, self.elapsed = 0, 0.0
        self.optimizers = self.build_optimizers()
        if args.resume:
            self.restore()
        self.packers = self.build_packers()
        self.loss_sums = self.sums if args.no_compile else torch.compile(self.sums, dynamic=False)

    def build_optimizers(self):
        """Matrices inside the layers go to Muon; embedding, guide and norms to AdamW. Each worker has its share of them."""
        mine = slice(self.rank, None, self.args.workers)
        matrices = [p for p in self.model.model.layers.parameters() if p.ndim == 2][mine]
        norms = [p for p in self.model.parameters() if p.ndim == 1][mine]
        tables = [self.model.model.embed_tokens.weight, self.guide.weight][mine]
        groups = [{"params": norms, "weight_decay": 0.0}, {"params": tables, "weight_decay": 0.1}]
        return [torch.optim.AdamW(groups, lr=self.args.lr, betas=(0.9, 0.98)), Muon(matrices, lr=self.args.lr)]

    def build_packers(self):
        entries = corpus.read_corpus()
        numbers = corpus.answer_numbers(entries)
        entries = weighted_entries(entries)

        def packer(lengths, salt, n, n_rows):
            rng = random.Random(f"{self.args.seed} {self.rank} {self.n_steps} {salt}")
            return Packer(samples(lengths, rng), n, n_rows, self.tok.unknown, HIDDEN_TOKENS, rng)

        def samples(lengths, rng):
            whole = corpus.conversations(entries, rng, lengths)
            probes = corpus.single_questions(entries, rng)
            probe_share = PROBE_SHARE if lengths is corpus.SHORT_CHATS else 0
            while True:
                if rng.random() < probe_share:
                    yield Sample(self.tok, next(probes), numbers, probe=True)
                else:
                    yield Sample(self.tok, next(whole), numbers)

        n_long = max(1, self.args.rows * SHORT_ROW // LONG_ROW)
        return (packer(corpus.SHORT_CHATS, "short", SHORT_ROW, self.args.rows),
                packer(corpus.LONG_CHATS, "long", LONG_ROW, n_long))

    def optimizer_file(self):
        return self.args.work / f"optimizer{self.rank}.pt"

    def restore(self):
        state = torch.load(self.optimizer_file())
        for optimizer, saved in zip(self.optimizers, state["optimizers"]):
            optimizer.load_state_dict(saved)
        self.n_steps, self.elapsed = state["n_steps"], state["elapsed"]
        self.shared.elapsed[0] = self.elapsed

    def save(self):
        state = {"optimizers": [o.state_dict() for o in self.optimizers], "n_steps": self.n_steps, "elapsed": self.elapsed}
        save_whole(state, self.optimizer_file())
        if self.rank == 0:
            save_whole({"model": self.model.state_dict(), "guide": self.guide.state_dict(),
                        "tokenizer": self.tokenizer_bytes}, self.args.work / "model.pt")
            if not self.args.no_export:
                export(self.model, self.tok, self.tokenizer_bytes, self.args.out)

    def sums(self, ids, targets, weights, mask, places, numbers):
        """Mean loss to learn from, and the plain sum of losses on answer tokens to print."""
        hidden, _, early = self.model.hidden(ids, mask)
        losses = F.cross_entropy(self.model.logits(hidden).flatten(0, 1), targets.flatten(), reduction="none")
        weights = weights.flatten()
        named = self.guide(F.rms_norm(early.flatten(0, 1)[places], early.shape[-1:]))
        guide_loss = F.cross_entropy(named, numbers, ignore_index=NO_ANSWER, label_smoothing=GUIDE_SMOOTHING)
        loss = (losses * weights).sum() / weights.sum() + GUIDE_WEIGHT * guide_loss
        return loss, (losses * (weights == 1.0)).sum()

    def warm_up(self):
        """Compiles both row lengths before the clock starts; nothing is learnt."""
        for packer in self.packers:
            self.loss_sums(*packer.next_batch())[0].backward()
        self.clear_gradients()

    def clear_gradients(self):
        for p in self.parameters:
            p.grad = None

    def exchange_gradients(self):
        """Writes this worker's gradients and gives its share of the parameters the clipped mean of all."""
        grads, at = self.shared.grads, 0
        for p in self.parameters:
            grads[self.rank, at:at + p.numel()] = p.grad.flatten()
            at += p.numel()
        self.shared.barrier.wait()
        mean = grads.mean(dim=0)
        mean *= min(1.0, 1.0 / (mean.norm().item() + 1e-6))
        for p, g in zip(self.parameters, mean.split([p.numel() for p in self.parameters])):
            p.grad = g.view_as(p)

    def tokens_of_step(self):
        return self.args.workers * self.args.rows * SHORT_ROW

    def progress(self):
        """Share of the budget that is used. All workers agree on it: it follows from steps, or from the first one's clock."""
        if self.args.tokens:
            return self.n_steps * self.tokens_of_step() / self.args.tokens
        return self.elapsed / (self.args.minutes * 60)

    def step(self):
        """One update; returns the answers' loss sum and number of tokens in this worker's batch."""
        batch = self.packers[(self.n_steps + 1) % LONG_EVERY == 0].next_batch()
        loss, answer_loss = self.loss_sums(*batch)
        loss.backward()
        if self.rank == 0:
            now = time.monotonic()
            self.shared.elapsed[0] += min(now - self.last_step, LONGEST_STEP)
            self.last_step = now
        self.exchange_gradients()
        self.elapsed = self.shared.elapsed.item()  # the first worker's clock counts, so all agree when to end
        rate = learning_rate(self.args.lr, self.progress())
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
        self.clear_gradients()
        self.shared.barrier.wait()
        self.n_steps += 1
        return answer_loss.item(), int((batch[2] == 1.0).sum())

    def run(self):
        self.warm_up()
        self.shared.barrier.wait()
        self.last_step = time.monotonic()
        saved = shown = self.elapsed
        sums, count = 0.0, 0
        tokens_of_step = self.tokens_of_step()
        while self.progress() < 1:
            loss_sum, n = self.step()
            sums, count = sums + loss_sum, count + n
            if self.rank == 0 and self.n_steps % 50 == 0:
                print(f"{self.elapsed / 60:6.1f} min  step {self.n_steps:6}  "
                      f"{self.n_steps * tokens_of_step / 1e6:6.2f} M tokens  answer loss {sums / count:.4f}  "
                      f"{50 * tokens_of_step / (self.elapsed - shown):6.0f} tok/s", flush=True)
                shown, sums, count = self.elapsed, 0.0, 0
            if self.elapsed - saved > self.args.save_minutes * 60:
                self.save()
                saved = self.elapsed
        self.save()


def save_whole(value, path):
    """A reader, or a resumed run after a crash, never sees half a file."""
    part = path.with_suffix(".part")
    torch.save(value, part)
    os.replace(part, path)


def work(rank, shared, tokenizer_bytes, args):
    Worker(rank, shared, tokenizer_bytes, args).run()


def main():
    args = arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    entries = corpus.read_corpus()
    start = args.work / "model.pt" if args.resume else args.start_from
    state = torch.load(start) if start else None
    tokenizer_bytes = state["tokenizer"] if state else text.train(entries, ModelConfig.vocab_size, args.seed)
    model = Llama(ModelConfig(), DROPOUT)
    # The guide names the answer from the state at the assistant's mark. It is left behind after training: it only makes
    # the model settle there which answer it gives, in time for the last layers of all later tokens to look it up.
    guide = torch.nn.Linear(ModelConfig.hidden_size, len(corpus.answer_numbers(entries)), bias=False)
    if state:
        model.load_state_dict(state["model"])
    if args.resume:
        guide.load_state_dict(state["guide"])
    print(f"{len(entries)} entries, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    mp.spawn(work, (Shared(model, guide, args.workers), tokenizer_bytes, args), nprocs=args.workers)


if __name__ == "__main__":
    main()
