# SPDX-License-Identifier: Apache-2.0
"""Reads corpus/*.txt and makes training conversations from it.

A block of the corpus is
    Q: wording 1 | wording 2 | ...
    A: answer
    F: wordings of a follow-up question        (optional, may repeat with its own A:)
    A: answer to the follow-up
Blocks are separated by blank lines, '#' starts a comment line. In a wording, {a;b;c} stands for one of a, b or c.

Run alone (`python corpus.py`) it checks the format and prints counts.
"""
import itertools
import json
import random
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

CORPUS_DIR = Path(__file__).resolve().parent.parent / "corpus"
HELDOUT_FILE = CORPUS_DIR.parent / "heldout.json"

SYSTEM_MESSAGES = [
    "You are a helpful assistant.",
    "You are a helpful assistant. Answer briefly.",
    "Answer in one to three sentences.",
    "You are the demo model of Lathe.",
    "You answer questions about LLM serving and Lathe.",
    "Be short and precise.",
    "You are a concise technical assistant.",
]

# Openings that do not change what is asked; '{}' is the question with a small first letter.
OPENINGS = [
    "hi, {}", "hey, {}", "Hello! {}", "Please tell me: {}", "Can you tell me: {}", "Quick question: {}",
    "One question: {}", "I wonder, {}", "I would like to know: {}", "Could you explain: {}", "Help me understand: {}",
    "I am new to this, {}", "In short, {}", "ok, {}", "And {}", "So {}", "Tell me, {}", "In simple words, {}",
    "Just curious, {}", "Briefly, {}", "Do you know {}", "Sorry, but {}", "For a beginner: {}",
]
CLOSINGS = [" please", ", please", " thanks", " in short", " in simple words", " exactly", " for me", " here", " again"]

# Sentence patterns that ask the same thing. '\1' keeps what is asked about.
REWRITES = [(re.compile(pattern, re.IGNORECASE), replacements) for pattern, replacements in [
    (r"^(?:what is|what's|explain|define|describe) (?!the difference)(.+)$", [
        r"What's \1", r"Explain \1", r"Define \1", r"Tell me about \1", r"Describe \1", r"Can you explain \1",
        r"What is meant by \1", r"Tell me what \1 is", r"Can you tell me what \1 is", r"I want to know what \1 is",
        r"What exactly is \1", r"Do you know what \1 is", r"\1", r"\1, what is it", r"Give me a definition of \1",
        r"What do people mean by \1", r"Could you tell me what \1 means", r"What do you know about \1"]),
    (r"^what are (?!the differences)(.+)$", [
        r"Explain \1", r"Tell me about \1", r"Name \1", r"Tell me what \1 are", r"What exactly are \1", r"\1",
        r"Can you explain \1", r"Which are \1", r"List \1", r"Describe \1"]),
    (r"^what does (.+) (do|mean|contain|show|cost|hold|store|return|say|print|measure|control|need|write)$", [
        r"Tell me what \1 \2", r"Explain what \1 \2", r"Can you tell me what \1 \2", r"What will \1 \2",
        r"What would \1 \2", r"Do you know what \1 \2", r"What exactly does \1 \2"]),
    (r"^what is the difference between (.+) and (.+)$", [
        r"How do \1 and \2 differ", r"\1 vs \2", r"\1 versus \2", r"Compare \1 and \2", r"Compare \1 with \2",
        r"What distinguishes \1 from \2", r"How is \1 different from \2", r"Difference between \1 and \2",
        r"Explain the difference between \1 and \2", r"\1 or \2, what is the difference", r"Contrast \1 with \2"]),
    (r"^(?:how do i|how can i|how do you|how to|how does one|how would i|how should i) (.+)$", [
        r"How can I \1", r"How do I \1", r"How to \1", r"How do you \1", r"How does one \1", r"How would I \1",
        r"What is the way to \1", r"I want to \1", r"I want to \1, how", r"Tell me how to \1", r"Is there a way to \1",
        r"Show me how to \1", r"What do I do to \1", r"What must I do to \1", r"How could I \1", r"I need to \1",
        r"What is the best way to \1", r"Can you explain how to \1"]),
    (r"^how does (.+) (work|help|differ)$", [
        r"Explain how \1 \2s", r"Tell me how \1 \2s", r"Can you explain how \1 \2s", r"In what way does \1 \2",
        r"How exactly does \1 \2", r"Describe how \1 \2s"]),
    (r"^why is (.+)$", [r"What makes \1", r"How come \1", r"What is the reason that \1", r"Explain why \1",
                        r"For what reason is \1"]),
    (r"^why (?:do|does) (.+)$", [r"How come \1", r"What is the reason why \1", r"Explain why \1", r"For what reason does \1",
                                 r"Tell me why \1", r"What are the reasons that \1"]),
    (r"^when should (?:i|you|one) (.+)$", [r"When do I \1", r"When is it good to \1", r"When would I \1",
                                          r"In which case should I \1", r"When does it make sense to \1"]),
    (r"^can i (.+)$", [r"Is it possible to \1", r"May I \1", r"Am I able to \1", r"Can you \1", r"Could I \1",
                       r"Is there a way to \1", r"Can one \1"]),
    (r"^does (.+)$", [r"Will \1", r"Tell me whether \1", r"Do you know if \1"]),
    (r"^which (.+)$", [r"What \1", r"Tell me which \1", r"Can you tell me which \1"]),
    (r"^where (?:is|are) (.+)$", [r"Where do I find \1", r"Where can I find \1", r"In which place is \1",
                                  r"Tell me where \1 is", r"Where can I see \1"]),
]]

SYNONYMS = [(re.compile(rf"\b{word}\b", re.IGNORECASE), others) for word, others in {
    "llms": ["large language models", "language models"], "llm": ["large language model", "language model", "model"],
    "kv cache": ["key-value cache", "KV-cache", "key value cache"],
    "purpose": ["point", "goal", "aim", "use", "role"], "benefit": ["advantage", "gain", "upside"],
    "advantage": ["benefit", "gain"], "drawback": ["disadvantage", "downside"], "downside": ["drawback", "disadvantage"],
    "disadvantage": ["drawback", "downside"], "reduce": ["lower", "cut", "shrink"], "increase": ["raise", "grow"],
    "large": ["big", "huge"], "big": ["large"], "small": ["little", "tiny"], "fast": ["quick", "rapid"],
    "faster": ["quicker", "speedier"], "slow": ["sluggish"], "happens": ["occurs", "takes place"],
    "choose": ["pick", "select"], "select": ["choose", "pick"], "use": ["apply", "take"], "used": ["applied", "employed"],
    "useful": ["helpful", "good"], "important": ["relevant", "essential"], "needed": ["required", "necessary"],
    "need": ["require"], "start": ["launch", "begin"], "stop": ["halt", "end"], "show": ["display", "present"],
    "see": ["view", "look at", "find"], "setting": ["option", "parameter"], "option": ["setting", "flag"],
    "parameter": ["setting", "option"], "request": ["query", "call"], "requests": ["queries", "calls"],
    "server": ["service"], "users": ["people", "clients"], "difference": ["distinction"], "meaning": ["sense"],
    "memory": ["RAM"], "open": ["bring up", "get to"], "change": ["alter", "modify", "set"], "set": ["configure", "choose"],
    "many": ["lots of"], "improve": ["better", "boost"], "prevent": ["avoid", "stop"], "avoid": ["prevent"],
    "compute": ["calculate", "work out"], "computed": ["calculated"], "generate": ["produce", "create"],
    "store": ["keep", "hold", "save"], "stored": ["kept", "saved"], "affect": ["influence", "change"],
    "cause": ["lead to"], "causes": ["leads to"], "often": ["commonly"], "typical": ["usual", "common"],
    "reason": ["cause"], "give": ["provide"], "get": ["obtain"], "make": ["create"], "answer": ["reply", "response"],
    "file": ["document"], "command": ["subcommand"], "shortcut": ["key", "key combination"], "why": ["for what reason"],
    "without": ["with no"], "quality": ["accuracy"], "speed": ["performance"], "weights": ["parameters"],
}.items()]

STOP_WORDS = {"a", "an", "the", "of", "is", "are", "do", "does", "in", "for", "to", "it", "i", "you", "me", "my", "that",
              "can", "on", "with", "at", "and", "be", "there"}


@dataclass
class Turn:
    questions: list
    answer: str


@dataclass
class Entry:
    topic: str
    line: int
    turns: list = field(default_factory=list)


def parse_block(lines, topic, first_line):
    entry, pending = Entry(topic, first_line), None
    for number, line in lines:
        kind, _, text = line.partition(":")
        text = text.strip()
        if kind in ("Q", "F") and text and pending is None and (kind == "F") == bool(entry.turns):
            pending = [q.strip() for q in text.split("|") if q.strip()]
        elif kind == "A" and text and pending:
            entry.turns.append(Turn(pending, text))
            pending = None
        else:
            raise ValueError(f"{topic}.txt:{number}: not expected here: {line[:60]!r}")
    if pending is not None:
        raise ValueError(f"{topic}.txt:{first_line}: a question without an answer")
    return entry


def read_file(path):
    entries, block = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() + [""], 1):
        line = line.strip()
        if line.startswith("#"):
            continue
        if line:
            block.append((number, line))
        elif block:
            entries.append(parse_block(block, path.stem, block[0][0]))
            block = []
    return entries


def read_corpus(folder=CORPUS_DIR):
    return [entry for path in sorted(folder.glob("*.txt")) for entry in read_file(path)]


def expand_all(wording):
    """Every text that a wording with {a;b} stands for."""
    parts = re.split(r"\{([^{}]*)\}", wording)
    choices = [part.split(";") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(c) for c in itertools.product(*choices)]


def expand_one(wording, rng):
    return re.sub(r"\{([^{}]*)\}", lambda m: rng.choice(m.group(1).split(";")), wording)


# --- augmentation of questions ------------------------------------------------------------------------------------

def lower_first(text):
    """'What is' -> 'what is', but 'KV cache' and 'vLLM' stay."""
    return text[0].lower() + text[1:] if len(text) > 1 and text[1].islower() else text


def upper_first(text):
    return text[:1].upper() + text[1:]


def rewrite(text, rng):
    for pattern, replacements in REWRITES:
        if pattern.match(text):
            return upper_first(pattern.sub(rng.choice(replacements), text))
    return text


def swap_synonyms(text, rng):
    hits = [(pattern, others) for pattern, others in SYNONYMS if pattern.search(text)]
    for pattern, others in rng.sample(hits, min(len(hits), 2)):
        text = pattern.sub(rng.choice(others), text, count=1)
    return text


def swap_article(text, rng):
    """'the KV cache' for 'a KV cache' and the other way round: nobody means anything else by it here."""
    articles = list(re.finditer(r"\b(?:the|an|a)\b", text, re.IGNORECASE))
    if not articles:
        return text
    article = rng.choice(articles)
    following = text[article.end():].lstrip()[:1].lower()
    other = ("an" if following in "aeiou" else "a") if article[0].lower() == "the" else "the"
    return text[:article.start()] + other + text[article.end():]


def drop_words(text, rng):
    """Leaves out small words: all of them (the style of a search box) or some."""
    share = 1.0 if rng.random() < 0.4 else 0.3
    kept = [w for w in text.split() if w.lower() not in STOP_WORDS or rng.random() > share]
    return " ".join(kept) if len(kept) > 1 else text


def lose_words(text, rng):
    """Missing words teach that no single one decides; short questions keep all of theirs."""
    words = text.split()
    if len(words) < 5:
        return text
    share = rng.uniform(0.05, 0.35)
    kept = [w for w in words if rng.random() > share]
    return " ".join(kept) if len(kept) > 3 else text


def typo(text, rng):
    spots = [i for i in range(1, len(text) - 2) if text[i].isalpha() and text[i + 1].isalpha()]
    if not spots:
        return text
    i = rng.choice(spots)
    if rng.random() < 0.5:
        return text[:i] + text[i + 1] + text[i] + text[i + 2:]
    return text[:i] + text[i + 1:]


def augment(question, rng):
    """One wording of a question as some user might type it. A fifth of the time it is left as written."""
    text = expand_one(question, rng)
    if rng.random() < 0.20:
        return text
    mark = text[-1] if text[-1] in "?.!" else ""
    body = text.rstrip("?.! ")
    if rng.random() < 0.35:
        body = rewrite(body, rng)
    if rng.random() < 0.35:
        body = swap_synonyms(body, rng)
    if rng.random() < 0.12:
        body = swap_article(body, rng)
    if rng.random() < 0.12:
        body = drop_words(body, rng)
    if rng.random() < 0.6:
        body = lose_words(body, rng)
    if rng.random() < 0.06:
        body = typo(body, rng)
    if rng.random() < 0.15:
        body = rng.choice(OPENINGS).format(lower_first(body))
    elif rng.random() < 0.06:
        body += rng.choice(CLOSINGS)
    body += "" if rng.random() < 0.35 else (mark or rng.choice(["?", ""]))
    return body.lower() if rng.random() < 0.25 else body


# --- conversations ------------------------------------------------------------------------------------------------

# How many entries a conversation joins, with weights. Most chats are short; the long ones fill the context, so that
# the model keeps working late in a chat.
SHORT_CHATS = ([1, 2, 3, 4], [56, 26, 12, 6])
LONG_CHATS = (list(range(5, 15)), [1] * 10)


def answer_numbers(entries):
    """Each different answer of the corpus and its number."""
    answers = dict.fromkeys(turn.answer for entry in entries for turn in entry.turns)
    return {answer: number for number, answer in enumerate(answers)}


def heldout_wordings():
    """The questions that judge the model, normalised: augmentation must not make one of them by chance."""
    return {normalise(item["question"]) for item in json.loads(HELDOUT_FILE.read_text(encoding="utf-8"))}


def ask(turn, heldout, rng):
    while True:
        question = augment(rng.choice(turn.questions), rng)
        if question and normalise(question) not in heldout:
            return question


def messages_of(entry, heldout, rng):
    """One entry as alternating user and assistant messages; its follow-up is asked most of the time."""
    messages = []
    for i, turn in enumerate(entry.turns):
        if i and rng.random() > 0.7:
            break
        messages += [("user", ask(turn, heldout, rng)), ("assistant", turn.answer)]
    return messages


def conversations(entries, rng, lengths=SHORT_CHATS):
    """Endless stream of conversations; each entry comes up once per round, in a new order.

    `entries` may name an entry more than once to give it more weight.
    """
    heldout = heldout_wordings()
    while True:
        order = list(entries)
        rng.shuffle(order)
        while order:
            conversation = []
            if rng.random() < 0.12:
                conversation.append(("system", rng.choice(SYSTEM_MESSAGES)))
            for _ in range(min(rng.choices(*lengths)[0], len(order))):
                conversation += messages_of(order.pop(), heldout, rng)
            yield conversation


def single_questions(entries, rng):
    """Endless stream of the entries, each alone and once per round, in a new order."""
    heldout = heldout_wordings()
    while True:
        for entry in rng.sample(entries, len(entries)):
            yield messages_of(entry, heldout, rng)


# --- checks -------------------------------------------------------------------------------------------------------

def normalise(text):
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def check(entries):
    """Wordings that two first questions share although their answers differ: the model could only guess."""
    seen, problems = {}, []
    for entry in entries:
        for wording in entry.turns[0].questions:
            for text in expand_all(wording):
                other = seen.setdefault(normalise(text), entry)
                if other.turns[0].answer != entry.turns[0].answer:
                    problems.append(f"{entry.topic}.txt:{entry.line} and {other.topic}.txt:{other.line}: {text!r}")
    return problems


def main():
    entries = read_corpus()
    for topic in sorted({e.topic for e in entries}):
        mine = [e for e in entries if e.topic == topic]
        wordings = sum(len(t.questions) for e in mine for t in e.turns)
        print(f"{topic:24} {len(mine):5} entries {sum(len(e.turns) for e in mine):5} answers {wordings:6} wordings")
    answers = {(normalise(t.questions[0]), t.answer) for e in entries for t in e.turns}
    print(f"{'all':24} {len(entries):5} entries {len(answers):5} distinct question/answer pairs")
    problems = check(entries)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
