"""ViT in Hugging Face's and timm's names, CLIP in Hugging Face's and OpenAI's:
pre-norm encoders in nn.Linear's orientation, with a last norm."""

import numpy

from containers import Draw, config, expected, pickled, safetensors
from formulas import causal, gelu, gelu_new, layer_norm, quick_gelu, softmax

D, H, F, LAYERS = 32, 4, 48, 2
WIDTH = D // H


def linear(x, t, name):
    return numpy.einsum("...i,oi->...o", x, t[name + ".weight"]) + t[name + ".bias"]


def norm(x, t, name, eps):
    return layer_norm(x, t[name + ".weight"], t[name + ".bias"], eps)


def read(q, k, v, mask=0.0):
    """Heads are slices of the last axis; gives the joined heads and the maps."""
    maps, outputs = [], []
    for h in range(H):
        s = slice(h * WIDTH, (h + 1) * WIDTH)
        one = softmax(q[..., s] @ k[..., s].swapaxes(-1, -2) * WIDTH**-0.5 + mask)
        maps.append(one)
        outputs.append(one @ v[..., s])
    return numpy.concatenate(outputs, -1), numpy.stack(maps, -3)


# Hugging Face's ViT and DeiT --------------------------------------------------


def vit(row, model, activation, eps, x_scale, special_tokens, dtype, **keys):
    draw = Draw(row, dtype)
    t = {f"{model}.embeddings.{name}": draw.weight(1, 1, D) for name in special_tokens}
    t[f"{model}.embeddings.position_embeddings"] = draw.weight(1, 4 + len(special_tokens), D)
    t[f"{model}.embeddings.patch_embeddings.projection.weight"] = draw.weight(D, 3, 2, 2)
    t[f"{model}.embeddings.patch_embeddings.projection.bias"] = draw.bias(D)
    for i in range(LAYERS):
        p = f"{model}.encoder.layer.{i}."
        for name in ("query", "key", "value"):
            draw.linear(t, p + "attention.attention." + name, D, D)
        draw.linear(t, p + "attention.output.dense", D, D)
        draw.linear(t, p + "intermediate.dense", F, D)
        draw.linear(t, p + "output.dense", D, F)
        draw.layer_norm(t, p + "layernorm_before", D)
        draw.layer_norm(t, p + "layernorm_after", D)
    draw.layer_norm(t, f"{model}.layernorm", D)
    draw.linear(t, "classifier", 3, D)
    given = x = draw.x(2, 7, D) * x_scale
    safetensors(row, t, dtype)
    config(row, model_type=model, hidden_size=D, num_hidden_layers=LAYERS,
           num_attention_heads=H, intermediate_size=F, qkv_bias=True, image_size=4,
           patch_size=2, **keys)
    all_maps = []
    for i in range(LAYERS):
        p = f"{model}.encoder.layer.{i}."
        before = norm(x, t, p + "layernorm_before", eps)
        q, k, v = (linear(before, t, p + "attention.attention." + name)
                   for name in ("query", "key", "value"))
        joined, maps = read(q, k, v)
        x = x + linear(joined, t, p + "attention.output.dense")
        after = norm(x, t, p + "layernorm_after", eps)
        x = x + linear(activation(linear(after, t, p + "intermediate.dense")), t,
                       p + "output.dense")
        all_maps.append(maps)
    expected(row, given, norm(x, t, f"{model}.layernorm", eps), all_maps)


# timm -------------------------------------------------------------------------


def timm():
    """x is small, so that timm's 1e-6, which no file says, differs from 1e-5 and
    from Hugging Face's 1e-12."""
    draw = Draw("timm")
    t = {"cls_token": draw.weight(1, 1, D), "pos_embed": draw.weight(1, 5, D),
         "patch_embed.proj.weight": draw.weight(D, 3, 2, 2),
         "patch_embed.proj.bias": draw.bias(D)}
    for i in range(LAYERS):
        p = f"blocks.{i}."
        draw.layer_norm(t, p + "norm1", D)
        draw.linear(t, p + "attn.qkv", 3 * D, D)
        draw.linear(t, p + "attn.proj", D, D)
        draw.layer_norm(t, p + "norm2", D)
        draw.linear(t, p + "mlp.fc1", F, D)
        draw.linear(t, p + "mlp.fc2", D, F)
    draw.layer_norm(t, "norm", D)
    draw.linear(t, "head", 3, D)
    given = x = draw.x(2, 7, D) / 256
    safetensors("timm_vit", t)
    all_maps = []
    for i in range(LAYERS):
        p = f"blocks.{i}."
        # reshape(B, N, 3, heads, width).permute(2, 0, 3, 1, 4), as timm does
        qkv = linear(norm(x, t, p + "norm1", 1e-6), t, p + "attn.qkv")
        q, k, v = qkv.reshape(2, 7, 3, H, WIDTH).transpose(2, 0, 3, 1, 4)
        maps = softmax(q * WIDTH**-0.5 @ k.swapaxes(-2, -1))
        joined = (maps @ v).transpose(0, 2, 1, 3).reshape(2, 7, D)
        x = x + linear(joined, t, p + "attn.proj")
        hidden = gelu(linear(norm(x, t, p + "norm2", 1e-6), t, p + "mlp.fc1"))
        x = x + linear(hidden, t, p + "mlp.fc2")
        all_maps.append(maps)
    expected("timm_vit", given, norm(x, t, "norm", 1e-6), all_maps)


# Hugging Face's CLIP: two towers in a file ------------------------------------


def clip_tower(draw, t, tower, last):
    for i in range(LAYERS):
        p = f"{tower}.encoder.layers.{i}."
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            draw.linear(t, p + "self_attn." + name, D, D)
        draw.layer_norm(t, p + "layer_norm1", D)
        draw.linear(t, p + "mlp.fc1", F, D)
        draw.linear(t, p + "mlp.fc2", D, F)
        draw.layer_norm(t, p + "layer_norm2", D)
    draw.layer_norm(t, f"{tower}.{last}", D)


def clip_run(x, t, tower, last, heads, activation, eps, mask):
    all_maps = []
    width = D // heads
    for i in range(LAYERS):
        p = f"{tower}.encoder.layers.{i}."
        before = norm(x, t, p + "layer_norm1", eps)
        q, k, v = (linear(before, t, p + f"self_attn.{name}_proj")
                   .reshape(*x.shape[:2], heads, width).transpose(0, 2, 1, 3) for name in "qkv")
        maps = softmax((q * width**-0.5) @ k.transpose(0, 1, 3, 2) + mask)
        joined = (maps @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = x + linear(joined, t, p + "self_attn.out_proj")
        hidden = activation(linear(norm(x, t, p + "layer_norm2", eps), t, p + "mlp.fc1"))
        x = x + linear(hidden, t, p + "mlp.fc2")
        all_maps.append(maps)
    # Hugging Face gives the vision tower's last norm the class token alone;
    # what it makes of that row, it would make of every row.
    return norm(x, t, f"{tower}.{last}", eps), all_maps


def clip():
    draw = Draw("clip", "F16")
    t = {"logit_scale": numpy.array(2.5), "text_projection.weight": draw.weight(4, D),
         "visual_projection.weight": draw.weight(4, D),
         "text_model.embeddings.token_embedding.weight": draw.weight(5, D),
         "text_model.embeddings.position_embedding.weight": draw.weight(7, D),
         "text_model.embeddings.position_ids": numpy.arange(7)[None],
         "vision_model.embeddings.class_embedding": draw.weight(D),
         "vision_model.embeddings.patch_embedding.weight": draw.weight(D, 3, 2, 2),
         "vision_model.embeddings.position_embedding.weight": draw.weight(5, D)}
    clip_tower(draw, t, "text_model", "final_layer_norm")
    draw.layer_norm(t, "vision_model.pre_layrnorm", D)  # sic
    clip_tower(draw, t, "vision_model", "post_layernorm")
    safetensors("clip", t, "F16")
    # The towers differ in all that a config says of them.
    text = dict(model_type="clip_text_model", num_attention_heads=H, hidden_act="quick_gelu",
                layer_norm_eps=1e-5)
    vision = dict(model_type="clip_vision_model", num_attention_heads=2, hidden_act="gelu",
                  layer_norm_eps=1e-3)
    sizes = dict(hidden_size=D, num_hidden_layers=LAYERS, intermediate_size=F)
    config("clip", model_type="clip", projection_dim=4, text_config={**sizes, **text},
           vision_config={**sizes, **vision, "image_size": 4, "patch_size": 2})
    x = draw.x(2, 7, D)
    y, maps = clip_run(x, t, "text_model", "final_layer_norm", H, quick_gelu, 1e-5, causal(7))
    expected("clip", x, y, maps, "text.npz")
    x = draw.x(2, 5, D)
    y, maps = clip_run(x, t, "vision_model", "post_layernorm", 2, gelu, 1e-3, 0.0)
    expected("clip", x, y, maps, "vision.npz")


# OpenAI's CLIP ----------------------------------------------------------------


def openai_clip():
    """Halves, as published; nothing in the file counts the heads."""
    draw = Draw("openai_clip", "F16")
    t = {"positional_embedding": draw.weight(7, D), "text_projection": draw.weight(D, 4),
         "logit_scale": numpy.array(2.5), "visual.class_embedding": draw.weight(D),
         "visual.positional_embedding": draw.weight(5, D), "visual.proj": draw.weight(D, 4),
         "visual.conv1.weight": draw.weight(D, 3, 2, 2)}
    draw.layer_norm(t, "visual.ln_pre", D)

    def tower(prefix):
        for i in range(LAYERS):
            p = f"{prefix}resblocks.{i}."
            t[p + "attn.in_proj_weight"] = draw.weight(3 * D, D)
            t[p + "attn.in_proj_bias"] = draw.bias(3 * D)
            draw.linear(t, p + "attn.out_proj", D, D)
            draw.layer_norm(t, p + "ln_1", D)
            draw.linear(t, p + "mlp.c_fc", F, D)
            draw.linear(t, p + "mlp.c_proj", D, F)
            draw.layer_norm(t, p + "ln_2", D)

    tower("visual.transformer.")
    draw.layer_norm(t, "visual.ln_post", D)
    tower("transformer.")
    t["token_embedding.weight"] = draw.weight(5, D)
    draw.layer_norm(t, "ln_final", D)
    pickled("openai_clip", t, "F16", file="clip.pt")

    def run(x, prefix, last, mask):
        all_maps = []
        for i in range(LAYERS):
            p = f"{prefix}resblocks.{i}."
            before = norm(x, t, p + "ln_1", 1e-5)
            fused = before @ t[p + "attn.in_proj_weight"].T + t[p + "attn.in_proj_bias"]
            joined, maps = read(*numpy.split(fused, 3, -1), mask)
            x = x + linear(joined, t, p + "attn.out_proj")
            hidden = quick_gelu(linear(norm(x, t, p + "ln_2", 1e-5), t, p + "mlp.c_fc"))
            x = x + linear(hidden, t, p + "mlp.c_proj")
            all_maps.append(maps)
        return norm(x, t, last, 1e-5), all_maps

    x = draw.x(2, 7, D)
    expected("openai_clip", x, *run(x, "transformer.", "ln_final", causal(7)), "text.npz")
    x = draw.x(2, 5, D)
    expected("openai_clip", x, *run(x, "visual.transformer.", "visual.ln_post", 0.0),
             "vision.npz")


def make():
    vit("vit", "vit", gelu, 1e-12, 1.0, ["cls_token"], "F32", hidden_act="gelu",
        layer_norm_eps=1e-12)
    vit("deit", "deit", gelu_new, 1e-4, 1 / 64, ["cls_token", "distillation_token"], "F16",
        hidden_act="gelu_new", layer_norm_eps=1e-4)
    timm()
    clip()
    openai_clip()
