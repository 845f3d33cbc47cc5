"""PyTorch's own modules and the article's: computed by PyTorch, in double."""

import torch
from torch import nn

from containers import Draw, config, expected, pickled, safetensors

D, H, F = 32, 4, 48


def fill(module, draw):
    """Draws every parameter; norms stay near 1. Gives the state_dict in numpy."""
    module.double().train()  # training (without dropout) keeps off the fast path
    norms = {name for name, part in module.named_modules() if isinstance(part, nn.LayerNorm)}
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            owner, kind = name.rpartition(".")[::2]
            if kind == "weight" and owner in norms:
                values = draw.norm(D)
            elif parameter.dim() == 1:
                values = draw.bias(*parameter.shape)
            else:
                values = draw.weight(*parameter.shape)
            parameter.copy_(torch.from_numpy(values))
    return {name: value.detach().numpy() for name, value in module.state_dict().items()}


def attend(attention, query, key=None, value=None):
    key = query if key is None else key
    with torch.no_grad():
        y, maps = attention(query, key, key if value is None else value,
                            average_attn_weights=False)
    return y.numpy(), maps.numpy()


class ArticleAttention(nn.Module):
    """The article's module: four nn.Linear, heads cut out of their outputs."""

    def __init__(self):
        super().__init__()
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(D, D))

    def forward(self, query, key, value, average_attn_weights):
        def heads(t):
            return t.view(t.shape[0], t.shape[1], H, D // H).transpose(1, 2)

        q, k, v = heads(self.W_q(query)), heads(self.W_k(key)), heads(self.W_v(value))
        maps = torch.softmax(q @ k.transpose(-2, -1) / (D // H) ** 0.5, dim=-1)
        joined = (maps @ v).transpose(1, 2).contiguous().view(query.shape[0], -1, D)
        return self.W_o(joined), maps


def article():
    draw = Draw("article")
    module = ArticleAttention()
    tensors = fill(module, draw)
    x = draw.x(2, 7, D)
    safetensors("article", tensors)
    pickled("article", tensors, file="article.pt", legacy=True)
    y, maps = attend(module, torch.from_numpy(x))
    expected("article", x, y, [maps])


def bare_projections():
    """q_proj … out_proj under a prefix, the attention of many a home-made model;
    out_proj of nn.MultiheadAttention's arithmetic."""
    draw = Draw("bare")
    module = nn.MultiheadAttention(D, H, batch_first=True)
    packed = fill(module, draw)
    tensors = {}
    for i, name in enumerate("qkv"):
        rows = slice(i * D, (i + 1) * D)
        tensors[f"block.attn.{name}_proj.weight"] = packed["in_proj_weight"][rows]
        tensors[f"block.attn.{name}_proj.bias"] = packed["in_proj_bias"][rows]
    for name in ("out_proj.weight", "out_proj.bias"):
        tensors["block.attn." + name] = packed[name]
    x = draw.x(7, D)  # one item
    safetensors("bare_projections", tensors)
    y, maps = attend(module, torch.from_numpy(x))
    expected("bare_projections", x, y, [maps])


def multihead():
    draw = Draw("multihead")
    module = nn.MultiheadAttention(D, H, batch_first=True)
    tensors = fill(module, draw)
    x = draw.x(2, 7, D)
    safetensors("multihead", tensors)
    pickled("multihead", tensors, file="multihead.pt")
    y, maps = attend(module, torch.from_numpy(x))
    expected("multihead", x, y, [maps])


def cross_inputs(row, draw, module):
    """Writes query, key and value of one item each, and what comes of them."""
    x, key, value = draw.x(2, 7, D), draw.x(2, 5, 24), draw.x(2, 5, 20)
    y, maps = attend(module, *(torch.from_numpy(t) for t in (x, key, value)))
    expected(row, x, y, [maps], key=key, value=value)


def multihead_separate():
    draw = Draw("separate")
    module = nn.MultiheadAttention(D, H, kdim=24, vdim=20, batch_first=True)
    safetensors("multihead_separate", fill(module, draw))
    cross_inputs("multihead_separate", draw, module)


def multihead_bias_kv():
    """add_zero_attn leaves no trace in a file: the run has to be told."""
    draw = Draw("bias_kv")
    module = nn.MultiheadAttention(D, H, kdim=24, vdim=20, add_bias_kv=True,
                                   add_zero_attn=True, batch_first=True)
    tensors = fill(module, draw)
    safetensors("multihead_bias_kv", tensors)
    config("multihead_bias_kv", n_heads=H, add_zero_attn=True)
    config("multihead_bias_kv", "without_zero.json", n_heads=H)
    cross_inputs("multihead_bias_kv", draw, module)

    module.add_zero_attn = False
    x, key, value = draw.x(2, 7, D), draw.x(2, 5, 24), draw.x(2, 5, 20)
    y, maps = attend(module, *(torch.from_numpy(t) for t in (x, key, value)))
    expected("multihead_bias_kv", x, y, [maps], "without_zero.npz", key=key, value=value)


def layer_maps(layer, x):
    """Its output and its attention's maps."""
    _, maps = attend(layer.self_attn, layer.norm1(x) if layer.norm_first else x)
    with torch.no_grad():
        return layer(x), maps


def encoder_layer():
    draw = Draw("encoder_layer")
    layer = nn.TransformerEncoderLayer(D, H, F, dropout=0.0, batch_first=True)  # relu, post
    tensors = fill(layer, draw)
    x = draw.x(2, 7, D)
    safetensors("torch_layer", tensors)
    pickled("torch_layer", tensors, file="layer.pt")
    y, maps = layer_maps(layer, torch.from_numpy(x))
    expected("torch_layer", x, y.numpy(), [maps])


def encoder():
    """Pre-norm with gelu and an eps of its own, none of which the file tells:
    config.json says them by native names."""
    draw = Draw("encoder")
    layer = nn.TransformerEncoderLayer(D, H, F, dropout=0.0, activation="gelu",
                                       layer_norm_eps=1e-2, batch_first=True,
                                       norm_first=True)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(D, eps=1e-2),
                                  enable_nested_tensor=False)
    tensors = fill(stack, draw)
    x = draw.x(2, 7, D)
    pickled("torch_encoder", tensors, file="encoder.pt")
    safetensors("torch_encoder", tensors, "F16")
    config("torch_encoder", n_heads=H, norm="pre", activation="gelu", eps=1e-2)
    h, maps = torch.from_numpy(x), []
    for one in stack.layers:
        h, map_ = layer_maps(one, h)
        maps.append(map_)
    with torch.no_grad():
        y = stack(torch.from_numpy(x))
        assert torch.allclose(y, stack.norm(h), rtol=1e-13, atol=1e-13)
    expected("torch_encoder", x, y.numpy(), maps)


def make():
    article()
    bare_projections()
    multihead()
    multihead_separate()
    multihead_bias_kv()
    encoder_layer()
    encoder()
