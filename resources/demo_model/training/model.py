# SPDX-License-Identifier: Apache-2.0
"""The Llama architecture, small enough to read in one go and to train on a CPU.

Parameter names equal those of Hugging Face's LlamaForCausalLM, so the state dict is the checkpoint.
Positions are rotated in halves (x1, x2 = first and second half of a head), as Hugging Face does it.
"""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class ModelConfig:
    vocab_size: int = 3072
    hidden_size: int = 256
    intermediate_size: int = 768
    num_hidden_layers: int = 6
    num_attention_heads: int = 8
    num_key_value_heads: int = 4
    head_dim: int = 32
    max_position_embeddings: int = 1024
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-5


def rope_tables(config, device=None):
    """cos and sin of every position, each [max_position_embeddings, head_dim / 2]."""
    half = config.head_dim // 2
    inv_freq = config.rope_theta ** (-torch.arange(half, device=device, dtype=torch.float64) / half)
    angles = torch.arange(config.max_position_embeddings, device=device, dtype=torch.float64)[:, None] * inv_freq
    return angles.cos().float(), angles.sin().float()


def rotate(x, cos, sin):
    """x: [batch, heads, n, head_dim]; cos, sin: [n, head_dim / 2]."""
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        q_size = config.num_attention_heads * config.head_dim
        kv_size = config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, q_size, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.o_proj = nn.Linear(q_size, config.hidden_size, bias=False)

    def forward(self, x, cos, sin, mask=None, past=None):
        """mask: who may see whom in packed rows (else causal); past: (keys, values) of earlier tokens, for generation.

        Returns the output and the keys and values."""
        batch, n, _ = x.shape

        def heads(t):
            return t.view(batch, n, -1, self.config.head_dim).transpose(1, 2)

        q = rotate(heads(self.q_proj(x)), cos, sin)
        k = rotate(heads(self.k_proj(x)), cos, sin)
        v = heads(self.v_proj(x))
        if past is not None:
            k, v = torch.cat((past[0], k), dim=2), torch.cat((past[1], v), dim=2)
        group = self.config.num_attention_heads // self.config.num_key_value_heads
        out = F.scaled_dot_product_attention(q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1),
                                             attn_mask=mask, is_causal=mask is None and n > 1)
        return self.o_proj(out.transpose(1, 2).reshape(batch, n, -1)), (k, v)


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config, dropout):
        super().__init__()
        self.dropout = dropout
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = Mlp(config)

    def forward(self, x, cos, sin, mask=None, past=None):
        attended, present = self.self_attn(self.input_layernorm(x), cos, sin, mask, past)
        x = x + F.dropout(attended, self.dropout, self.training)
        return x + F.dropout(self.mlp(self.post_attention_layernorm(x)), self.dropout, self.training), present


class Decoder(nn.Module):
    def __init__(self, config, dropout):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, dropout) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)


class Llama(nn.Module):
    """Embedding and output head are one matrix (tied), so the state dict has no lm_head. Dropout is for training only."""

    def __init__(self, config, dropout=0.0):
        super().__init__()
        self.config = config
        self.model = Decoder(config, dropout)
        cos, sin = rope_tables(config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.apply(self._init)
        # Residual branches start small, so that the depth does not blow up the first steps.
        for layer in self.model.layers:
            for proj in (layer.self_attn.o_proj, layer.mlp.down_proj):
                nn.init.normal_(proj.weight, std=0.02 / (2 * config.num_hidden_layers) ** 0.5)

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def hidden(self, ids, mask=None, past=None):
        """ids: [batch, n] -> hidden states [batch, n, hidden_size], the keys and values of each layer, and the states at
        two thirds of the layers."""
        start = 0 if past is None else past[0][0].shape[2]
        cos, sin = self.cos[start:start + ids.shape[1]], self.sin[start:start + ids.shape[1]]
        x, presents = self.model.embed_tokens(ids), []
        for i, layer in enumerate(self.model.layers):
            if i == self.config.num_hidden_layers * 2 // 3:
                early = x
            x, present = layer(x, cos, sin, mask, None if past is None else past[i])
            presents.append(present)
        return self.model.norm(x), presents, early

    def logits(self, hidden):
        return F.linear(hidden, self.model.embed_tokens.weight)

    @torch.no_grad()
    def generate(self, ids, max_tokens, stop_id):
        """Greedy continuation of one prompt (list of ids) until stop_id, which is not returned."""
        past, out, feed = None, [], ids
        while len(out) < max_tokens and len(ids) + len(out) < self.config.max_position_embeddings:
            hidden, past, _ = self.hidden(torch.tensor([feed]), past=past)
            token = int(self.logits(hidden[0, -1]).argmax())
            if token == stop_id:
                break
            out.append(token)
            feed = [token]
        return out
