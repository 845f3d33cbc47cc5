#!/usr/bin/env python3
"""Makes models/article.json, data/article-x.npy, models/two-heads.json,
data/two-heads-x.json, models/tiny-bert/ and data/tiny-bert-x.json. Needs PyTorch (Debian: python3-torch) and numpy.

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


TINY_BERT = {
    "model_type": "bert",
    "hidden_size": 16,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
    "vocab_size": 6,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
}
TINY_WORDS = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "slept"]


def tiny_bert():
    """A state_dict in the names of Hugging Face's BertModel. Random; queries and
    keys are drawn wide, so that the maps are not flat."""
    d_model, d_ff = TINY_BERT["hidden_size"], TINY_BERT["intermediate_size"]
    generator = torch.Generator().manual_seed(1)
    state = {}

    def linear(name, d_in, d_out, spread):
        state[name + ".weight"] = torch.randn(d_out, d_in, generator=generator) * spread
        state[name + ".bias"] = torch.randn(d_out, generator=generator) * 0.1

    def norm(name):
        state[name + ".weight"] = 1 + torch.randn(d_model, generator=generator) * 0.1
        state[name + ".bias"] = torch.randn(d_model, generator=generator) * 0.1

    state["embeddings.word_embeddings.weight"] = torch.randn(
        TINY_BERT["vocab_size"], d_model, generator=generator)
    # From a generator of their own: the other numbers are older.
    beside = torch.Generator().manual_seed(2)
    for name, rows in (("position", "max_position_embeddings"), ("token_type", "type_vocab_size")):
        state[f"embeddings.{name}_embeddings.weight"] = torch.randn(
            TINY_BERT[rows], d_model, generator=beside) * 0.5
    state["embeddings.LayerNorm.weight"] = 1 + torch.randn(d_model, generator=beside) * 0.1
    state["embeddings.LayerNorm.bias"] = torch.randn(d_model, generator=beside) * 0.1
    for n in range(TINY_BERT["num_hidden_layers"]):
        layer = f"encoder.layer.{n}."
        linear(layer + "attention.self.query", d_model, d_model, 0.5)
        linear(layer + "attention.self.key", d_model, d_model, 0.5)
        linear(layer + "attention.self.value", d_model, d_model, 0.25)
        linear(layer + "attention.output.dense", d_model, d_model, 0.25)
        norm(layer + "attention.output.LayerNorm")
        linear(layer + "intermediate.dense", d_model, d_ff, 0.25)
        linear(layer + "output.dense", d_ff, d_model, 0.25)
        norm(layer + "output.LayerNorm")
    linear("pooler.dense", d_model, d_model, 0.25)
    return state, torch.randn(5, d_model, generator=generator)


def torch_encoder(state):
    """The same layers as PyTorch's own module has them, to check y against."""
    layers = []
    for n in range(TINY_BERT["num_hidden_layers"]):
        part = {name.removeprefix(f"encoder.layer.{n}."): tensor
                for name, tensor in state.items() if name.startswith(f"encoder.layer.{n}.")}
        layer = torch.nn.TransformerEncoderLayer(
            TINY_BERT["hidden_size"], TINY_BERT["num_attention_heads"],
            TINY_BERT["intermediate_size"], dropout=0.0, activation="gelu",
            layer_norm_eps=TINY_BERT["layer_norm_eps"], batch_first=True)
        names = {"self_attn.out_proj": "attention.output.dense", "linear1": "intermediate.dense",
                 "linear2": "output.dense", "norm1": "attention.output.LayerNorm",
                 "norm2": "output.LayerNorm"}
        loaded = {f"{ours}.{kind}": part[f"{theirs}.{kind}"]
                  for ours, theirs in names.items() for kind in ("weight", "bias")}
        for kind in ("weight", "bias"):
            loaded["self_attn.in_proj_" + kind] = torch.cat(
                [part[f"attention.self.{which}.{kind}"] for which in ("query", "key", "value")])
        layer.load_state_dict(loaded)
        layers.append(layer)
    return torch.nn.Sequential(*layers)


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

    state, x = tiny_bert()
    folder = TOP / "models/tiny-bert"
    folder.mkdir(exist_ok=True)
    torch.save(state, folder / "pytorch_model.bin")
    (folder / "config.json").write_text(json.dumps(TINY_BERT, indent=2) + "\n")
    (folder / "vocab.txt").write_text("\n".join(TINY_WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}, indent=2) + "\n")
    (TOP / "data/tiny-bert-x.json").write_text(
        '{\n  "tokens": ["[CLS]", "the", "cat", "slept", "[SEP]"],\n  "x": [\n    '
        + ",\n    ".join(text(row) for row in x.numpy()) + "\n  ]\n}\n")
    with torch.no_grad():  # in training mode: PyTorch's fast path is another computation
        print(torch_encoder(state)(x[None])[0])


if __name__ == "__main__":
    main()
