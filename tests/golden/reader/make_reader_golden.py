#!/usr/bin/env python3
"""Writes reader.npz: what PyTorch makes of two sentences with models/reader.safetensors.

    /usr/bin/python3 tests/golden/reader/make_reader_golden.py     # Debian's python3-torch, numpy

For each sentence, in double precision: x_<word> [n, 64] after the embeddings, maps_<word>
[2, 4, n, n], y_<word> [n, 64]; <word> is its last word.
"""

import json
import os
import struct
import sys

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "..", "models")
sys.path.insert(0, MODELS)
from train_reader import HEADS, LAYERS, NUMBER, Reader  # noqa: E402


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    return {name: torch.from_numpy(numpy.frombuffer(data[slice(*entry["data_offsets"])], "<f4")
                                   .reshape(entry["shape"]).astype("f8"))
            for name, entry in header.items() if name != "__metadata__"}


def filled(tensors):
    """The module that the tensors were written from."""
    reader = Reader().double().eval()
    state = {
        "words.weight": tensors["embeddings.words"],
        "positions.weight": tensors["embeddings.positions"],
        "norm.weight": tensors["embeddings.norm.weight"],
        "norm.bias": tensors["embeddings.norm.bias"],
    }
    for k in range(LAYERS):
        native, module = f"layers.{k}.", f"encoder.layers.{k}."
        weights = [tensors[native + "W_" + name] for name in "QKV"]
        state[module + "self_attn.in_proj_weight"] = torch.cat(
            [w.transpose(1, 2).reshape(-1, w.shape[1]) for w in weights])
        state[module + "self_attn.in_proj_bias"] = torch.cat(
            [tensors[native + "b_" + name].reshape(-1) for name in "QKV"])
        out = tensors[native + "W_O"]
        state[module + "self_attn.out_proj.weight"] = out.reshape(-1, out.shape[2]).T
        state[module + "self_attn.out_proj.bias"] = tensors[native + "b_O"]
        for one in "12":
            state[module + f"linear{one}.weight"] = tensors[native + "W_" + one].T
            state[module + f"linear{one}.bias"] = tensors[native + "b_" + one]
            state[module + f"norm{one}.weight"] = tensors[native + f"norm{one}.weight"]
            state[module + f"norm{one}.bias"] = tensors[native + f"norm{one}.bias"]
    reader.load_state_dict(state)
    return reader


@torch.no_grad()
def main():
    reader = filled(read(os.path.join(MODELS, "reader.safetensors")))
    arrays = {}
    for text in ("the cat did not cross the road because it was too tired",
                 "the cat did not cross the road because it was too wide"):
        tokens = text.split()
        ids = torch.tensor([[NUMBER[token] for token in tokens]])
        maps = torch.stack(reader.maps(ids))[:, 0]
        assert maps.shape == (LAYERS, HEADS, len(tokens), len(tokens))
        arrays["x_" + tokens[-1]] = reader.embed(ids)[0].numpy()
        arrays["maps_" + tokens[-1]] = maps.numpy()
        arrays["y_" + tokens[-1]] = reader(ids)[0].numpy()
        print(tokens[-1], "layer 1, head 3, row of it:",
              [round(float(w), 3) for w in maps[1, 3, tokens.index("it")]])
    numpy.savez_compressed(os.path.join(HERE, "reader.npz"), **arrays)


main()
