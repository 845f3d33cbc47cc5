"""BERT, RoBERTa, ELECTRA, DistilBERT and nomic-bert: post-norm encoders in
nn.Linear's orientation, y = x W^T + b."""

import numpy
import torch
from torch import nn

from containers import Draw, config, expected, pickled, safetensors, sharded
from formulas import gelu, gelu_new, layer_norm, relu, silu, softmax

D, H, F, LAYERS = 32, 4, 48, 2


def linear(x, t, name):
    return x @ t[name + ".weight"].T + t[name + ".bias"]


def norm(x, t, name, eps):
    return layer_norm(x, t[name + ".weight"], t[name + ".bias"], eps)


def heads(t):
    """[batch, n, heads * width] to [batch, heads, n, width]."""
    return t.reshape(*t.shape[:2], H, -1).transpose(0, 2, 1, 3)


def joined(t):
    return t.transpose(0, 2, 1, 3).reshape(t.shape[0], t.shape[2], -1)


# BERT and those that took its names -------------------------------------------


def bert_tensors(draw, model, pooler=True):
    """Names of Hugging Face's BertModel under `model`., and a small outside."""
    t = {}
    for name, rows in (("word", 5), ("position", 9), ("token_type", 2)):
        t[f"{model}.embeddings.{name}_embeddings.weight"] = draw.weight(rows, D)
    t[f"{model}.embeddings.position_ids"] = numpy.arange(9)[None]
    draw.layer_norm(t, f"{model}.embeddings.LayerNorm", D)
    for i in range(LAYERS):
        p = f"{model}.encoder.layer.{i}."
        for name in ("query", "key", "value"):
            draw.linear(t, p + "attention.self." + name, D, D)
        draw.linear(t, p + "attention.output.dense", D, D)
        draw.layer_norm(t, p + "attention.output.LayerNorm", D)
        draw.linear(t, p + "intermediate.dense", F, D)
        draw.linear(t, p + "output.dense", D, F)
        draw.layer_norm(t, p + "output.LayerNorm", D)
    if pooler:
        draw.linear(t, f"{model}.pooler.dense", D, D)
    return t


def bert(x, t, model, activation, eps):
    all_maps = []
    for i in range(LAYERS):
        p = f"{model}.encoder.layer.{i}."
        q, k, v = (heads(linear(x, t, p + "attention.self." + name))
                   for name in ("query", "key", "value"))
        maps = softmax(q @ k.swapaxes(-1, -2) / numpy.sqrt(D // H))
        read = linear(joined(maps @ v), t, p + "attention.output.dense")
        x = norm(read + x, t, p + "attention.output.LayerNorm", eps)
        hidden = activation(linear(x, t, p + "intermediate.dense"))
        x = norm(linear(hidden, t, p + "output.dense") + x, t, p + "output.LayerNorm", eps)
        all_maps.append(maps)
    return x, all_maps


def bert_in_torch(x, t, model, eps):
    """The same from nn.Linear, nn.LayerNorm and nn.GELU, heads by einsum."""
    def module(kind, name, *sizes, **options):
        made = kind(*sizes, **options).double()
        made.load_state_dict({key: torch.from_numpy(t[f"{name}.{key}"])
                              for key in ("weight", "bias")})
        return made

    h = torch.from_numpy(x)
    for i in range(LAYERS):
        p = f"{model}.encoder.layer.{i}."
        q, k, v = (module(nn.Linear, p + "attention.self." + name, D, D)(h)
                   .unflatten(-1, (H, D // H)) for name in ("query", "key", "value"))
        maps = torch.softmax(torch.einsum("bihd,bjhd->bhij", q, k) * (D // H) ** -0.5, -1)
        read = torch.einsum("bhij,bjhd->bihd", maps, v).flatten(-2)
        after = module(nn.Linear, p + "attention.output.dense", D, D)(read)
        h = module(nn.LayerNorm, p + "attention.output.LayerNorm", D, eps=eps)(h + after)
        hidden = nn.GELU()(module(nn.Linear, p + "intermediate.dense", D, F)(h))
        after = module(nn.Linear, p + "output.dense", F, D)(hidden)
        h = module(nn.LayerNorm, p + "output.LayerNorm", D, eps=eps)(h + after)
    return h.detach().numpy()


def bert_config(row, model_type, **keys):
    config(row, model_type=model_type, hidden_size=D, num_hidden_layers=LAYERS,
           num_attention_heads=H, intermediate_size=F, **keys)


def bert_row():
    draw = Draw("bert")
    t = bert_tensors(draw, "bert")
    draw.linear(t, "cls.predictions.transform.dense", D, D)
    x = draw.x(2, 7, D)
    safetensors("bert", t)
    pickled("bert", t)
    bert_config("bert", "bert", architectures=["BertForMaskedLM"], hidden_act="gelu",
                layer_norm_eps=1e-12, position_embedding_type="absolute",
                type_vocab_size=2, vocab_size=5, max_position_embeddings=9)
    y, maps = bert(x, t, "bert", gelu, 1e-12)
    assert numpy.allclose(y, bert_in_torch(x, t, "bert", 1e-12), rtol=1e-12, atol=1e-12)
    expected("bert", x, y, maps)


def bert_wrapped_row():
    """A training checkpoint of old: gamma and beta, module., a wrapper, and
    what the optimizer knew beside it. x is small, so that eps decides."""
    draw = Draw("bert_wrapped", "F16")
    t = bert_tensors(draw, "bert")
    x = draw.x(7, D) / 64
    old = {"module." + name.replace("LayerNorm.weight", "LayerNorm.gamma")
           .replace("LayerNorm.bias", "LayerNorm.beta"): values for name, values in t.items()}

    def wrap(content):
        moment = {"step": 3, "exp_avg": torch.ones(2, 3), "exp_avg_sq": torch.ones(2, 3)}
        return {"epoch": 2, "state_dict": content, "best_loss": 0.25, "note": "kept",
                "optimizer": {"state": {0: moment},
                              "param_groups": [{"lr": 1e-4, "betas": (0.9, 0.999),
                                                "params": [0]}]}}

    pickled("bert_wrapped", old, "F16", file="checkpoint.pt", wrap=wrap)
    bert_config("bert_wrapped", "bert", hidden_act="gelu_new", layer_norm_eps=1e-3)
    y, maps = bert(x[None], t, "bert", gelu_new, 1e-3)
    expected("bert_wrapped", x, y[0], [one[0] for one in maps])


def roberta_row():
    draw = Draw("roberta")
    t = bert_tensors(draw, "roberta", pooler=False)
    draw.linear(t, "lm_head.dense", D, D)
    x = draw.x(2, 7, D)
    sharded("roberta", t)
    bert_config("roberta", "roberta", hidden_act="gelu", layer_norm_eps=1e-5)
    y, maps = bert(x, t, "roberta", gelu, 1e-5)
    expected("roberta", x, y, maps)


def electra_row():
    draw = Draw("electra", "F16")
    t = bert_tensors(draw, "electra", pooler=False)
    draw.linear(t, "electra.embeddings_project", D, 8)
    draw.linear(t, "discriminator_predictions.dense", D, D)
    x = draw.x(2, 7, D)
    safetensors("electra", t, "F16")
    bert_config("electra", "electra", hidden_act="relu", layer_norm_eps=1e-2,
                embedding_size=8)
    y, maps = bert(x, t, "electra", relu, 1e-2)
    expected("electra", x, y, maps)


# DistilBERT -------------------------------------------------------------------


def distilbert_row():
    draw = Draw("distilbert")
    t = {"distilbert.embeddings.word_embeddings.weight": draw.weight(5, D),
         "distilbert.embeddings.position_embeddings.weight": draw.weight(9, D)}
    draw.layer_norm(t, "distilbert.embeddings.LayerNorm", D)
    for i in range(LAYERS):
        p = f"distilbert.transformer.layer.{i}."
        for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
            draw.linear(t, p + "attention." + name, D, D)
        draw.layer_norm(t, p + "sa_layer_norm", D)
        draw.linear(t, p + "ffn.lin1", F, D)
        draw.linear(t, p + "ffn.lin2", D, F)
        draw.layer_norm(t, p + "output_layer_norm", D)
    draw.linear(t, "vocab_transform", D, D)
    # Small, so that an eps of 1e-5 would show beside the 1e-12 that no config says.
    x = draw.x(2, 7, D) / 64
    pickled("distilbert", t, legacy=True)
    config("distilbert", model_type="distilbert", dim=D, hidden_dim=F, n_heads=H,
           n_layers=LAYERS, activation="gelu", sinusoidal_pos_embds=False)
    given, all_maps = x, []
    for i in range(LAYERS):
        p = f"distilbert.transformer.layer.{i}."
        q = heads(linear(x, t, p + "attention.q_lin")) / numpy.sqrt(D // H)
        k, v = (heads(linear(x, t, p + f"attention.{name}_lin")) for name in "kv")
        maps = softmax(q @ k.swapaxes(2, 3))
        read = linear(joined(maps @ v), t, p + "attention.out_lin")
        x = norm(read + x, t, p + "sa_layer_norm", 1e-12)
        hidden = gelu(linear(x, t, p + "ffn.lin1"))
        x = norm(linear(hidden, t, p + "ffn.lin2") + x, t, p + "output_layer_norm", 1e-12)
        all_maps.append(maps)
    expected("distilbert", given, x, all_maps)


# nomic-bert -------------------------------------------------------------------


def rotate_half(t):
    first, second = numpy.split(t, 2, -1)
    return numpy.concatenate([-second, first], -1)


def nomic_row():
    draw = Draw("nomic", "BF16")
    t = {"embeddings.word_embeddings.weight": draw.weight(5, D),
         "embeddings.token_type_embeddings.weight": draw.weight(2, D)}
    draw.layer_norm(t, "emb_ln", D)
    for i in range(LAYERS):
        p = f"encoder.layers.{i}."
        draw.linear(t, p + "attn.Wqkv", 3 * D, D, bias=False)
        draw.linear(t, p + "attn.out_proj", D, D, bias=False)
        draw.linear(t, p + "mlp.fc11", F, D, bias=False)
        draw.linear(t, p + "mlp.fc12", F, D, bias=False)
        draw.linear(t, p + "mlp.fc2", D, F, bias=False)
        draw.layer_norm(t, p + "norm1", D)
        draw.layer_norm(t, p + "norm2", D)
    x = draw.x(2, 7, D)
    safetensors("nomic_bert", t, "BF16")
    config("nomic_bert", model_type="nomic_bert", n_embd=D, n_head=H, n_layer=LAYERS,
           n_inner=F, activation_function="swiglu", layer_norm_epsilon=1e-12,
           prenorm=False, parallel_block=False, use_rms_norm=False, qkv_proj_bias=False,
           mlp_fc1_bias=False, mlp_fc2_bias=False, rotary_emb_base=1000,
           rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
           rotary_scaling_factor=None, rotary_emb_scale_base=None, causal=False)
    angles = numpy.arange(7)[:, None] * 1000.0 ** (-numpy.arange(0, D // H, 2) / (D // H))
    cos, sin = (numpy.tile(f(angles), 2) for f in (numpy.cos, numpy.sin))
    given, all_maps = x, []
    for i in range(LAYERS):
        p = f"encoder.layers.{i}."
        fused = x @ t[p + "attn.Wqkv.weight"].T
        q, k, v = fused.reshape(2, 7, 3, H, D // H).transpose(2, 0, 3, 1, 4)
        q, k = (u * cos + rotate_half(u) * sin for u in (q, k))
        maps = softmax(q @ k.swapaxes(2, 3) / numpy.sqrt(D // H))
        read = joined(maps @ v) @ t[p + "attn.out_proj.weight"].T
        x = norm(x + read, t, p + "norm1", 1e-12)
        hidden = (x @ t[p + "mlp.fc11.weight"].T) * silu(x @ t[p + "mlp.fc12.weight"].T)
        x = norm(x + hidden @ t[p + "mlp.fc2.weight"].T, t, p + "norm2", 1e-12)
        all_maps.append(maps)
    expected("nomic_bert", given, x, all_maps)


def make():
    bert_row()
    bert_wrapped_row()
    roberta_row()
    electra_row()
    distilbert_row()
    nomic_row()
