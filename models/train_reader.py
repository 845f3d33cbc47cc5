#!/usr/bin/env python3
"""Trains models/reader.safetensors: a small encoder that finds what "it" is.

    python3 models/train_reader.py        # PyTorch, one thread, about two minutes

writes models/reader.safetensors and data/reader-held-out.tsv. The sentences are made up,
as "the cat did not cross the road because it was too tired": what is said last fits the one
who acts (tired) or what is acted on (wide), and only that tells which of the two "it" is.
From its output at "it" the encoder has to name the right noun; elsewhere it guesses words
that were masked, so that heads find other work, too. Nothing tells a head where to look.

Held out of training are a fifth of all pairs of an actor and a thing, and a fifth of all
pairs of a noun and what is said of it. A held-out sentence has one of each, both unseen.
"""

import json
import os
import random
import struct

import numpy
import torch
from torch import nn
from torch.nn import functional as F

ENGLISH = {
    "actors": """cat dog horse boy girl man woman child bird fox bear mouse rabbit cow sheep goat
        wolf lion tiger farmer sailor doctor teacher student soldier robot king queen nurse""",
    "things": """road street river bridge wall fence hill mountain field lake stream garden gate
        tunnel path ditch canal stairs ladder tree rock boat house tower door valley meadow pond
        track square""",
    "verbs": "cross climb pass enter leave reach see visit follow use like take",
    "of actors": """tired hungry sleepy scared lazy ill weak thirsty angry sad young old shy
        nervous busy afraid""",
    "of things": """wide deep steep high long narrow dark dangerous slippery wet far crowded
        noisy muddy broken icy""",
    "sizes": "big small brown white black",
    "times": "today yesterday now then often",
}
# Words of one or two characters, each character a token.
CHINESE = {
    "actors": "猫 狗 马 牛 羊 兔 鸟 猪 鸡 熊 猴 鼠 孩 鹿 鸭",
    "things": "马路 小河 大桥 高墙 大山 草地 水池 铁门 长街 水沟 台阶 田野 山洞 木船 花园",
    "verbs": "穿过 走过 跨过 爬上 跳过 进入 离开",
    "of actors": "累 困 饿 渴 懒 病 怕 忙 老 弱",
    "of things": "宽 深 陡 长 远 滑 窄 险 脏 湿",
    "sizes": "小 大",
    "times": "今天 昨天 现在",
}
ENGLISH, CHINESE = ({k: v.split() for k, v in words.items()} for words in (ENGLISH, CHINESE))
OTHERS = "[PAD] [MASK] the a did could not because it was is too very . , 没 因 为 它 太 了 ， 。"


def vocabulary():
    words = OTHERS.split()
    for kinds in ENGLISH.values():
        words += kinds
    for kinds in CHINESE.values():
        words += [character for word in kinds for character in word]
    return list(dict.fromkeys(words))


WORDS = vocabulary()
NUMBER = {word: number for number, word in enumerate(WORDS)}
PAD, MASK = NUMBER["[PAD]"], NUMBER["[MASK]"]
D_MODEL, HEADS, LAYERS, D_FF, POSITIONS, EPS = 64, 4, 2, 128, 32, 1e-5


# The sentences that README.md shows are unseen, too.
SHOWN = {("cat", "road"), ("cat", "tired"), ("road", "wide"),
         ("猫", "马路"), ("猫", "累"), ("马路", "宽")}


def held_out(noun, other):
    """Whether no training sentence has this pair: the same whatever is drawn."""
    return (noun, other) in SHOWN or sum(map(ord, noun + other)) % 5 == 0


def draw_sentence(draw, held):
    """Tokens, and the places of the pronoun, of the right noun and of the other one."""
    chinese = draw.random() < 0.25
    kinds = CHINESE if chinese else ENGLISH
    while True:
        actor, thing = draw.choice(kinds["actors"]), draw.choice(kinds["things"])
        of_actor = draw.random() < 0.5
        reason = draw.choice(kinds["of actors" if of_actor else "of things"])
        unseen = (held_out(actor, thing), held_out(actor if of_actor else thing, reason))
        if unseen == (held, held):
            break
    tokens = []
    if chinese:
        if draw.random() < 0.3:
            tokens += draw.choice(kinds["times"])
        tokens += [draw.choice(kinds["sizes"]), actor]
        actor_at = len(tokens) - 1
        tokens += ["没", *draw.choice(kinds["verbs"]), *thing]
        thing_at = len(tokens) - 1
        tokens += ["，", "因", "为", "它"]
        it_at = len(tokens) - 1
        tokens += ["太", reason, "了", "。"]
    else:
        if draw.random() < 0.3:
            tokens += [draw.choice(kinds["times"])]
        tokens += [draw.choice(["the", "a"])]
        if draw.random() < 0.25:
            tokens += [draw.choice(kinds["sizes"])]
        tokens += [actor]
        actor_at = len(tokens) - 1
        tokens += [draw.choice(["did", "could"]), "not", draw.choice(kinds["verbs"]),
                   draw.choice(["the", "a"])]
        if draw.random() < 0.25:
            tokens += [draw.choice(kinds["sizes"])]
        tokens += [thing]
        thing_at = len(tokens) - 1
        if draw.random() < 0.2:
            tokens += [","]
        tokens += ["because", "it"]
        it_at = len(tokens) - 1
        tokens += [draw.choice(["was", "is"]), draw.choice(["too", "very"]), reason]
        if draw.random() < 0.5:
            tokens += ["."]
    right, wrong = (actor_at, thing_at) if of_actor else (thing_at, actor_at)
    return tokens, it_at, right, wrong


def draw_batch(draw, size, held):
    sentences = [draw_sentence(draw, held) for _ in range(size)]
    longest = max(len(tokens) for tokens, _, _, _ in sentences)
    ids = torch.full((size, longest), PAD)
    for row, (tokens, _, _, _) in enumerate(sentences):
        ids[row, :len(tokens)] = torch.tensor([NUMBER[token] for token in tokens])
    places = torch.tensor([places for _, *places in sentences])
    return ids, places[:, 0], places[:, 1], places[:, 2]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), D_MODEL)
        self.positions = nn.Embedding(POSITIONS, D_MODEL)
        self.norm = nn.LayerNorm(D_MODEL, EPS)
        layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.1, activation="gelu",
                                           layer_norm_eps=EPS, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS)
        for table in (self.words, self.positions):
            nn.init.normal_(table.weight, std=0.5)

    def embed(self, ids):
        return self.norm(self.words(ids) + self.positions(torch.arange(ids.shape[1])))

    def forward(self, ids):
        return self.encoder(self.embed(ids), src_key_padding_mask=ids == PAD)

    def guess(self, y):
        """Scores of all words for outputs y: their own embeddings are what y comes to."""
        return y @ self.words.weight.T / D_MODEL ** 0.5

    def maps(self, ids):
        """[layers][batch, heads, n, n]."""
        x, maps = self.embed(ids), []
        for layer in self.encoder.layers:
            maps.append(layer.self_attn(x, x, x, key_padding_mask=ids == PAD, need_weights=True,
                                        average_attn_weights=False)[1])
            x = layer(x, src_key_padding_mask=ids == PAD)
        return maps


def train(steps=1500):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    draw = random.Random(0)
    reader = Reader()
    optimiser = torch.optim.AdamW(reader.parameters(), lr=2e-3, weight_decay=0.01)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, steps)
    for step in range(1, steps + 1):
        ids, it, right, wrong = draw_batch(draw, 64, held=False)
        rows = torch.arange(len(ids))
        # What decides is never masked.
        hidden = (torch.rand(ids.shape) < 0.15) & (ids != PAD)
        for kept in (it, right, wrong):
            hidden[rows, kept] = False
        for row, end in enumerate((ids != PAD).sum(1)):
            hidden[row, it[row]:end] = False
        y = reader(torch.where(hidden, MASK, ids))
        named = F.cross_entropy(reader.guess(y[rows, it]), ids[rows, right])
        loss = named + 0.3 * F.cross_entropy(reader.guess(y[hidden]), ids[hidden])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimiser.step()
        rates.step()
        if step % 100 == 0:
            print(f"step {step}: loss {float(loss):.4f}, of naming {float(named):.4f}", flush=True)
    return reader.eval()


@torch.no_grad()
def describe(reader, held):
    """How often the right noun is named, and a head leads "it" to it by 0.2."""
    ids, it, right, wrong = draw_batch(random.Random(1), 2000, held)
    rows = torch.arange(len(ids))
    named = reader.guess(reader(ids)[rows, it]).argmax(1) == ids[rows, right]
    print("held out:" if held else "of the kind trained on:", f"right noun named {float(named.float().mean()):.4f}")
    for layer, maps in enumerate(reader.maps(ids)):
        of_it = maps[rows, :, it]
        lead = of_it[rows, :, right] - of_it[rows, :, wrong]
        for head in range(HEADS):
            share = float((lead[:, head] >= 0.2).float().mean())
            print(f"  layer {layer}, head {head}: by 0.2 or more in {share:.4f}, mean lead {float(lead[:, head].mean()):.3f}")


def tensors_of(reader):
    """Under native names: row vectors, W [in, out], heads apart."""
    tensors = {
        "embeddings.words": reader.words.weight,
        "embeddings.positions": reader.positions.weight,
        "embeddings.norm.weight": reader.norm.weight,
        "embeddings.norm.bias": reader.norm.bias,
    }
    for k, layer in enumerate(reader.encoder.layers):
        attention, at = layer.self_attn, f"layers.{k}."
        for name, weight, bias in zip("QKV", attention.in_proj_weight.chunk(3),
                                      attention.in_proj_bias.chunk(3)):
            tensors[at + "W_" + name] = weight.reshape(HEADS, -1, D_MODEL).transpose(1, 2)
            tensors[at + "b_" + name] = bias.reshape(HEADS, -1)
        tensors[at + "W_O"] = attention.out_proj.weight.T.reshape(HEADS, -1, D_MODEL)
        tensors[at + "b_O"] = attention.out_proj.bias
        for native, linear in (("1", layer.linear1), ("2", layer.linear2)):
            tensors[at + "W_" + native] = linear.weight.T
            tensors[at + "b_" + native] = linear.bias
        for native, norm in (("norm1", layer.norm1), ("norm2", layer.norm2)):
            tensors[at + native + ".weight"] = norm.weight
            tensors[at + native + ".bias"] = norm.bias
    return {name: tensor.detach().numpy().astype("<f4") for name, tensor in tensors.items()}


def write_safetensors(path, tensors, settings):
    header, at = {"__metadata__": settings}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(numpy.ascontiguousarray(tensor).tobytes())


def write_held_out(path, count=200):
    """A sentence a line, and the places of "it", the right noun and the other one."""
    draw, seen = random.Random(2), set()
    with open(path, "w", encoding="utf-8") as file:
        while len(seen) < count:
            tokens, *places = draw_sentence(draw, held=True)
            sentence = ("" if "它" in tokens else " ").join(tokens)
            if sentence not in seen:
                seen.add(sentence)
                print(sentence, *places, sep="\t", file=file)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    reader = train()
    for held in (False, True):
        describe(reader, held)
    write_safetensors(os.path.join(here, "reader.safetensors"), tensors_of(reader), {
        "n_heads": str(HEADS), "norm": "post", "activation": "gelu", "eps": str(EPS),
        "lower_case": "true", "vocabulary": json.dumps(WORDS, ensure_ascii=False)})
    write_held_out(os.path.join(here, "..", "data", "reader-held-out.tsv"))


if __name__ == "__main__":
    main()
