# SPDX-License-Identifier: Apache-2.0
"""Judges an exported model without Lathe: the bf16 safetensors in the PyTorch model of model.py, in float32.

    judge_torch.py                  the 60 held-out questions, as judge.py asks them
    judge_torch.py --corpus 300     300 wordings of the corpus as they stand: how much was learnt by heart
    judge_torch.py --ask "..."      one answer
"""
import argparse
import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

import corpus
import tokenizer as text
from model import Llama, ModelConfig

MODEL_DIR = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(MODEL_DIR))
import judge  # noqa: E402  (lies beside the model, as it needs nothing of the training)


def load(folder):
    values = json.loads((folder / "config.json").read_text())
    model = Llama(ModelConfig(**{key: values[key] for key in ModelConfig.__dataclass_fields__}))
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({name: t.float() for name, t in weights.items()})
    return model.eval(), text.Tokenizer((folder / "tokenizer.model").read_bytes())


def answer(model, tok, question):
    ids = model.generate(tok.prompt([("user", question)]), 160, tok.end)
    return tok.decode(ids)


def judge_corpus(model, tok, n_questions):
    """Exact answers to wordings of the training text; prints the misses."""
    entries = [e for e in corpus.read_corpus()]
    rng, n_right = random.Random(0), 0
    for entry in rng.sample(entries, min(n_questions, len(entries))):
        turn = entry.turns[0]
        question = corpus.expand_one(rng.choice(turn.questions), rng)
        said = answer(model, tok, question)
        n_right += said == turn.answer
        if said != turn.answer:
            print(f"{question}\n    {said}\n    not: {turn.answer}")
    print(f"{n_right} of {n_questions} answers of the corpus word for word")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--model", type=Path, default=MODEL_DIR)
    p.add_argument("--corpus", type=int, metavar="N")
    p.add_argument("--ask")
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    model, tok = load(args.model)
    if args.ask:
        print(answer(model, tok, args.ask))
    elif args.corpus:
        judge_corpus(model, tok, args.corpus)
    else:
        return 0 if judge.judge(judge.read_heldout(), lambda question: answer(model, tok, question)) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
