# SPDX-License-Identifier: Apache-2.0
"""Muon: momentum whose update is made orthogonal, for the weight matrices of the layers.

Source: K. Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024); the step is scaled to the
size of an AdamW step (Moonlight, 2025), so both optimizers share one learning rate. It is kept in float32, because
the usual bf16 iteration is slower on CPUs without bf16 instructions.
"""
import torch


def orthogonalise(g, steps=5):
    """Newton-Schulz iteration towards U V^T of a matrix."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = g.shape[0] > g.shape[1]
    x = g.T.contiguous() if tall else g
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        s = x @ x.T
        x = torch.addmm(x, torch.addmm(s, s, s, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, weight_decay=0.1):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("momentum", torch.zeros_like(p))
                m.lerp_(p.grad, 1 - group["momentum"])
                update = orthogonalise(p.grad.lerp(m, group["momentum"]))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(update, alpha=-0.2 * max(p.shape) ** 0.5 * group["lr"])
