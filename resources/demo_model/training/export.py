# SPDX-License-Identifier: Apache-2.0
"""Writes a trained model as a Hugging Face folder. Each file is written aside and then renamed: readers see whole files."""
import json
import os
from pathlib import Path

import torch
from safetensors.torch import save

from tokenizer import ASSISTANT, BOS, CHAT_TEMPLATE, END, SYSTEM, USER


def write(folder, name, data):
    temporary = Path(folder) / f".{name}.part"
    temporary.write_bytes(data)
    os.replace(temporary, Path(folder) / name)


def write_json(folder, name, value):
    write(folder, name, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def model_config(config, tokenizer):
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": tokenizer.bos,
        "eos_token_id": tokenizer.end,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "hidden_size": config.hidden_size,
        "initializer_range": 0.02,
        "intermediate_size": config.intermediate_size,
        "max_position_embeddings": config.max_position_embeddings,
        "mlp_bias": False,
        "num_attention_heads": config.num_attention_heads,
        "num_hidden_layers": config.num_hidden_layers,
        "num_key_value_heads": config.num_key_value_heads,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_scaling": None,
        "rope_theta": config.rope_theta,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "vocab_size": config.vocab_size,
    }


def generation_config(tokenizer):
    """A low temperature: the model knows one right answer to a question, not many."""
    return {
        "bos_token_id": tokenizer.bos,
        "eos_token_id": tokenizer.end,
        "do_sample": True,
        "temperature": 0.2,
        "top_p": 0.95,
        "max_new_tokens": 160,
    }


def tokenizer_config(config, tokenizer):
    names = ["<unk>", BOS, END, SYSTEM, USER, ASSISTANT]
    added = {str(tokenizer.pieces.piece_to_id(name)): {
        "content": name, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True,
    } for name in names}
    return {
        "tokenizer_class": "LlamaTokenizer",
        "add_bos_token": True,
        "add_eos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": added,
        "additional_special_tokens": [SYSTEM, USER, ASSISTANT],
        "bos_token": BOS,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": END,
        "legacy": False,
        "model_max_length": config.max_position_embeddings,
        "pad_token": None,
        "sp_model_kwargs": {},
        "spaces_between_special_tokens": False,
        "unk_token": "<unk>",
    }


def export(model, tokenizer, tokenizer_bytes, folder):
    config = model.config
    weights = {name: t.detach().to(torch.bfloat16).contiguous() for name, t in model.state_dict().items()}
    write(folder, "tokenizer.model", tokenizer_bytes)
    write_json(folder, "tokenizer_config.json", tokenizer_config(config, tokenizer))
    write_json(folder, "generation_config.json", generation_config(tokenizer))
    write_json(folder, "config.json", model_config(config, tokenizer))
    write(folder, "model.safetensors", save(weights, metadata={"format": "pt"}))
