#!/usr/bin/env python3
"""Writes torch_random.npz and torch_modules.npz beside it: what PyTorch draws.
README.md says more.

    /usr/bin/python3 tests/golden/make_torch_goldens.py
"""

import pathlib

import numpy
import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = (0, 1, 42, 2**32 + 5, -1)


def stream(seed):
    """A row of calls on one generator, their results side by side. The test
    makes the same calls."""
    torch.manual_seed(seed)
    drawn = [torch.randn(n) for n in range(1, 41)]
    drawn.append(torch.empty(7).uniform_(-0.3, 0.3))
    linear = nn.Linear(5, 3)
    drawn += [linear.weight, linear.bias]
    drawn.append(torch.randn(3))  # an odd count leaves half a pair behind
    drawn.append(torch.empty(33).normal_(0.25, 0.02))
    drawn.append(torch.empty(5).normal_(0.25, 0.02))
    drawn.append(torch.randn(1000)[-24:])
    drawn.append(torch.rand(4))
    return numpy.concatenate([part.detach().numpy().ravel() for part in drawn])


def parameters(name, seed, make):
    """A module's state dict under its case's name, and the numbers that follow."""
    torch.manual_seed(seed)
    module = make()
    tensors = {f"{name}.{key}": value.numpy() for key, value in module.state_dict().items()}
    tensors[f"{name}.next"] = torch.randn(1, 4, 8).numpy()
    return tensors


def main():
    numpy.savez_compressed(HERE / "torch_random.npz",
                           **{f"seed{seed}": stream(seed) for seed in SEEDS})
    layer = {"dim_feedforward": 10, "dropout": 0}
    numpy.savez_compressed(
        HERE / "torch_modules.npz",
        **parameters("multihead", 0, lambda: nn.MultiheadAttention(8, 2)),
        **parameters("no_bias", 7, lambda: nn.MultiheadAttention(6, 3, bias=False)),
        **parameters("widths", 1, lambda: nn.MultiheadAttention(
            6, 2, kdim=5, vdim=3, add_bias_kv=True, add_zero_attn=True)),
        **parameters("bias_kv", 2, lambda: nn.MultiheadAttention(18, 3, add_bias_kv=True)),
        **parameters("layer", 0, lambda: nn.TransformerEncoderLayer(8, 2, **layer)),
        **parameters("stack", 3, lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, **layer), 2)))


if __name__ == "__main__":
    main()
