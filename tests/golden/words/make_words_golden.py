#!/usr/bin/env python3
"""Makes tests/golden/words/words.npz: what the embedding module of models/tiny-bert
makes of a few texts, in double. Needs PyTorch (Debian: python3-torch) and numpy.

    /usr/bin/python3 tests/golden/words/make_words_golden.py
"""

import pathlib

import numpy
import torch

TOP = pathlib.Path(__file__).resolve().parents[3]
FOLDER = TOP / "models/tiny-bert"

# The tokens are given, so that no tokenizer of ours is asked.
CASES = {
    "plain": ("the cat slept", "[CLS] the cat slept [SEP]"),
    "folded": (" The CÂT,\tslept ", "[CLS] the cat [UNK] slept [SEP]"),
    "pair": ("the cat [SEP] the cat slept", "[CLS] the cat [SEP] the cat slept [SEP]"),
    "full": ("cat " * 14, "[CLS] " + "cat " * 14 + "[SEP]"),
}


class Embeddings(torch.nn.Module):
    """BERT's (Devlin et al. 2018, figure 2)."""

    def __init__(self, state):
        super().__init__()
        table = {}
        for name in ("word", "position", "token_type"):
            table[name] = torch.nn.Embedding.from_pretrained(
                state[f"embeddings.{name}_embeddings.weight"].double())
        self.table = torch.nn.ModuleDict(table)
        weight = state["embeddings.LayerNorm.weight"]
        self.norm = torch.nn.LayerNorm(len(weight), eps=1e-12).double()
        self.norm.load_state_dict({"weight": weight, "bias": state["embeddings.LayerNorm.bias"]})

    def forward(self, words, types):
        positions = torch.arange(len(words))
        return self.norm(self.table["word"](words) + self.table["position"](positions)
                         + self.table["token_type"](types))


def main():
    module = Embeddings(torch.load(FOLDER / "pytorch_model.bin"))
    vocabulary = (FOLDER / "vocab.txt").read_text().splitlines()
    arrays = {}
    for name, (text, tokens) in CASES.items():
        tokens = tokens.split()
        words = torch.tensor([vocabulary.index(token) for token in tokens])
        first_end = tokens.index("[SEP]")
        types = torch.tensor([int(i > first_end) for i in range(len(tokens))])
        with torch.no_grad():
            arrays[name + ".x"] = module(words, types).numpy()
        arrays[name + ".text"] = numpy.array(text)
        arrays[name + ".tokens"] = numpy.array(tokens)
    numpy.savez(TOP / "tests/golden/words/words.npz", **arrays)


if __name__ == "__main__":
    main()
