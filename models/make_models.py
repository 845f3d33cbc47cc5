#!/usr/bin/env python3
"""Makes models/article.json, data/article-x.npy, models/two-heads.json and
data/two-heads-x.json. Needs PyTorch (Debian: python3-torch) and numpy.

    /usr/bin/python3 models/make_models.py
"""

import json
import pathlib

import numpy
import torch

TOP = pathlib.Path(__file__).resolve().parent.parent


class Article(torch.nn.Module):
    """Four Linear layers in one multi-head attention, no mask."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        # The order of the four is the order in which their numbers are drawn.
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, torch.nn.Linear(d_model, d_model))

    def forward(self, x):
        batch, n, d_model = x.shape
        d_head = d_model // self.n_heads

        def heads(projection):
            return projection(x).reshape(batch, n, self.n_heads, d_head).permute(0, 2, 1, 3)

        q, k, v = heads(self.W_q), heads(self.W_k), heads(self.W_v)
        maps = torch.softmax(q @ k.mT / d_head**0.5, dim=-1)
        reads = (maps @ v).permute(0, 2, 1, 3).reshape(batch, n, d_model)
        return self.W_o(reads), maps


def article():
    """The module and its input, as seed 0 draws them."""
    torch.manual_seed(0)
    module = Article(d_model=8, n_heads=2)
    x = torch.randn(1, 4, 8)
    return module.eval(), x


def per_head(linear, n_heads):
    """W [n_heads, in, d_head] and b [n_heads, d_head] of x W^T + b."""
    weight = linear.weight.detach().numpy()
    bias = linear.bias.detach().numpy()
    W = weight.reshape(n_heads, -1, weight.shape[1]).transpose(0, 2, 1)
    return W, bias.reshape(n_heads, -1)


def native(module):
    """The article's weights under their native names."""
    h = module.n_heads
    W_O = module.W_o.weight.detach().numpy().T
    tensors = {"W_O": W_O.reshape(h, -1, W_O.shape[1]),
               "b_O": module.W_o.bias.detach().numpy()}
    for ours, theirs in (("Q", module.W_q), ("K", module.W_k), ("V", module.W_v)):
        tensors["W_" + ours], tensors["b_" + ours] = per_head(theirs, h)
    return tensors


def text(value):
    """JSON of nested lists, a row of numbers a line; f32 in its shortest form,
    which reads back to the same bits."""
    if value.ndim == 0:
        return str(value).removesuffix(".0")
    if value.ndim == 1:
        return "[" + ", ".join(text(number) for number in value) + "]"
    return "[" + ",\n         ".join(text(row) for row in value) + "]"


def save_model(path, tensors):
    """One object a head (contract: `heads`), b_O beside them."""
    n_heads = len(tensors["W_Q"])
    names = [n for n in ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O") if n in tensors]
    heads = []
    for h in range(n_heads):
        rows = [f'      "{name}":\n        {text(tensors[name][h])}' for name in names]
        heads.append("    {\n" + ",\n".join(rows) + "\n    }")
    lines = [f'  "n_heads": {n_heads}', '  "heads": [\n' + ",\n".join(heads) + "\n  ]"]
    if "b_O" in tensors:
        lines.append(f'  "b_O": {text(tensors["b_O"])}')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    json.loads(path.read_text())


def two_heads():
    """The worked example. The tokens are the unit vectors, so that a row of a
    matrix is what the matrix makes of one token: it, cat, was, tired."""
    far = 40.0  # a score of 40 / sqrt(2) leaves the other keys e^-28 of a weight
    return {
        "W_Q": [[[far, 0], [far, far], [0, 0], [0, far]],
                [[0, far], [0, far], [far, 0], [far, 0]]],
        "W_K": [[[0, 1], [1, 0], [0, 0], [0, 0]],
                [[1, 0], [1, 0], [0, 1], [0, 1]]],
        "W_V": [[[0.1, 0.1], [0.5, 0.3], [0, 0.2], [0.2, 0.6]],
                [[0.4, 0.2], [0.6, 0], [0, 1], [0.2, 0.6]]],
        "W_O": [[[1, 0, 0.5, 0], [0, 1, 0, 0.5]],
                [[0.5, 0, 1, 0], [0, 0.5, 0, -1]]],
    }


def main():
    module, x = article()
    save_model(TOP / "models/article.json", native(module))
    numpy.save(TOP / "data/article-x.npy", x.numpy())

    save_model(TOP / "models/two-heads.json",
               {name: numpy.array(value, numpy.float32) for name, value in two_heads().items()})
    (TOP / "data/two-heads-x.json").write_text(
        '{\n  "tokens": ["it", "cat", "was", "tired"],\n  "x": [\n    '
        + ",\n    ".join(text(row) for row in numpy.eye(4, dtype=numpy.float32))
        + "\n  ]\n}\n")


if __name__ == "__main__":
    main()
