"""The encoders of Whisper (both naming schemes), BART and T5, a decoder beside
each, as their files hold them."""

import numpy
import torch

from containers import Draw, config, expected, pickled, safetensors
from formulas import gelu, gelu_new, layer_norm, relu, rms_norm, softmax

D, H, F, LAYERS = 32, 4, 48, 2


def linear(x, t, name):
    y = x @ t[name + ".weight"].T
    return y + t[name + ".bias"] if name + ".bias" in t else y


def norm(x, t, name, eps):
    return layer_norm(x, t[name + ".weight"], t[name + ".bias"], eps)


def split(t):
    return t.reshape(*t.shape[:2], H, -1).transpose(0, 2, 1, 3)


def join(t):
    return t.transpose(0, 2, 1, 3).reshape(t.shape[0], t.shape[2], -1)


# Whisper and BART in Hugging Face's names --------------------------------------


def projections(draw, t, prefix, k_bias):
    for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
        draw.linear(t, prefix + name, D, D, bias=k_bias or name != "k_proj")


def seq2seq_layer(draw, t, prefix, k_bias, cross=False):
    projections(draw, t, prefix + "self_attn.", k_bias)
    draw.layer_norm(t, prefix + "self_attn_layer_norm", D)
    if cross:
        projections(draw, t, prefix + "encoder_attn.", k_bias)
        draw.layer_norm(t, prefix + "encoder_attn_layer_norm", D)
    draw.linear(t, prefix + "fc1", F, D)
    draw.linear(t, prefix + "fc2", D, F)
    draw.layer_norm(t, prefix + "final_layer_norm", D)


def self_attention(x, t, prefix):
    q, k, v = (split(linear(x, t, f"{prefix}{name}_proj")) for name in "qkv")
    maps = softmax((q / numpy.sqrt(D // H)) @ k.swapaxes(2, 3))
    return linear(join(maps @ v), t, prefix + "out_proj"), maps


def whisper():
    draw = Draw("whisper", "F16")
    t = {"model.encoder.conv1.weight": draw.weight(D, 2, 3),
         "model.encoder.conv1.bias": draw.bias(D),
         "model.encoder.embed_positions.weight": draw.weight(7, D)}
    for i in range(LAYERS):
        seq2seq_layer(draw, t, f"model.encoder.layers.{i}.", k_bias=False)
    draw.layer_norm(t, "model.encoder.layer_norm", D)
    t["model.decoder.embed_tokens.weight"] = draw.weight(5, D)
    seq2seq_layer(draw, t, "model.decoder.layers.0.", k_bias=False, cross=True)
    draw.layer_norm(t, "model.decoder.layer_norm", D)
    safetensors("whisper", t, "F16")
    config("whisper", model_type="whisper", d_model=D, encoder_layers=LAYERS,
           encoder_attention_heads=H, encoder_ffn_dim=F, decoder_layers=1,
           decoder_attention_heads=2, decoder_ffn_dim=F, num_hidden_layers=LAYERS,
           activation_function="gelu", num_mel_bins=2, max_source_positions=7,
           scale_embedding=False)
    # Small: Whisper's 1e-5, which its config does not say, shows.
    given = x = draw.x(2, 7, D) / 64
    all_maps = []
    for i in range(LAYERS):
        p = f"model.encoder.layers.{i}."
        read, maps = self_attention(norm(x, t, p + "self_attn_layer_norm", 1e-5), t,
                                    p + "self_attn.")
        x = x + read
        hidden = gelu(linear(norm(x, t, p + "final_layer_norm", 1e-5), t, p + "fc1"))
        x = x + linear(hidden, t, p + "fc2")
        all_maps.append(maps)
    expected("whisper", given, norm(x, t, "model.encoder.layer_norm", 1e-5), all_maps)


def bart():
    draw = Draw("bart", "F16")
    t = {"model.shared.weight": draw.weight(5, D),
         "model.encoder.embed_positions.weight": draw.weight(9, D)}
    draw.layer_norm(t, "model.encoder.layernorm_embedding", D)
    for i in range(LAYERS):
        seq2seq_layer(draw, t, f"model.encoder.layers.{i}.", k_bias=True)
    draw.layer_norm(t, "model.decoder.layernorm_embedding", D)
    seq2seq_layer(draw, t, "model.decoder.layers.0.", k_bias=True, cross=True)
    t["final_logits_bias"] = draw.bias(1, 5)
    safetensors("bart", t, "F16")
    config("bart", model_type="bart", d_model=D, encoder_layers=LAYERS,
           encoder_attention_heads=H, encoder_ffn_dim=F, decoder_layers=1,
           decoder_attention_heads=2, decoder_ffn_dim=F, num_hidden_layers=LAYERS,
           activation_function="gelu", normalize_before=False, scale_embedding=False)
    given = x = draw.x(2, 7, D)
    all_maps = []
    for i in range(LAYERS):
        p = f"model.encoder.layers.{i}."
        read, maps = self_attention(x, t, p + "self_attn.")
        x = norm(x + read, t, p + "self_attn_layer_norm", 1e-5)
        x = norm(x + linear(gelu(linear(x, t, p + "fc1")), t, p + "fc2"), t,
                 p + "final_layer_norm", 1e-5)
        all_maps.append(maps)
    expected("bart", given, x, all_maps)


# OpenAI's Whisper ---------------------------------------------------------------


def openai_whisper():
    """q and k are each scaled by width^(-1/4), as the original does."""
    draw = Draw("openai_whisper", "F16")
    t = {"encoder.positional_embedding": draw.weight(7, D),
         "encoder.conv1.weight": draw.weight(D, 2, 3), "encoder.conv1.bias": draw.bias(D)}

    def attention(prefix):
        for name in ("query", "key", "value", "out"):
            draw.linear(t, prefix + name, D, D, bias=name != "key")

    def block(prefix, cross=False):
        attention(prefix + "attn.")
        draw.layer_norm(t, prefix + "attn_ln", D)
        if cross:
            attention(prefix + "cross_attn.")
            draw.layer_norm(t, prefix + "cross_attn_ln", D)
        draw.linear(t, prefix + "mlp.0", F, D)
        draw.linear(t, prefix + "mlp.2", D, F)
        draw.layer_norm(t, prefix + "mlp_ln", D)

    for i in range(LAYERS):
        block(f"encoder.blocks.{i}.")
    draw.layer_norm(t, "encoder.ln_post", D)
    t["decoder.positional_embedding"] = draw.weight(7, D)
    t["decoder.token_embedding.weight"] = draw.weight(5, D)
    block("decoder.blocks.0.", cross=True)
    draw.layer_norm(t, "decoder.ln", D)
    dims = {"n_mels": 2, "n_audio_ctx": 7, "n_audio_state": D, "n_audio_head": H,
            "n_audio_layer": LAYERS, "n_vocab": 5, "n_text_ctx": 7, "n_text_state": D,
            "n_text_head": H, "n_text_layer": 1}
    pickled("openai_whisper", t, "F16", file="whisper.pt",
            wrap=lambda content: {"dims": dims, "model_state_dict": content})

    given = x = draw.x(7, D)[None]
    all_maps = []
    for i in range(LAYERS):
        p = f"encoder.blocks.{i}."
        before = norm(x, t, p + "attn_ln", 1e-5)
        q, k, v = (split(linear(before, t, p + "attn." + name))
                   for name in ("query", "key", "value"))
        scale = (D // H) ** -0.25
        maps = softmax((q * scale) @ (k * scale).transpose(0, 1, 3, 2))
        x = x + linear(join(maps @ v), t, p + "attn.out")
        hidden = gelu(linear(norm(x, t, p + "mlp_ln", 1e-5), t, p + "mlp.0"))
        x = x + linear(hidden, t, p + "mlp.2")
        all_maps.append(maps[0])
    y = norm(x, t, "encoder.ln_post", 1e-5)
    expected("openai_whisper", given[0], y[0], all_maps)


# T5 -----------------------------------------------------------------------------

N, D_KV, BUCKETS, MAX_DISTANCE = 14, 6, 16, 11


def buckets(n):
    """Of keys (columns) seen from queries: half for what lies behind, half for
    what lies ahead; near ones exactly, far ones by their logarithm, in f32."""
    ahead_by = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    half = BUCKETS // 2
    exact = half // 2
    distance = ahead_by.abs()
    logarithm = (torch.log(distance.float() / exact)
                 / numpy.log(MAX_DISTANCE / exact) * (half - exact))
    far = exact + torch.where(distance < exact, torch.zeros(()), logarithm).long()
    bucket = torch.where(distance < exact, distance, far.clamp(max=half - 1))
    return (bucket + half * (ahead_by > 0)).numpy()


def t5_block(draw, t, prefix, gated, first, cross=False):
    def attention(name):
        for projection in "qkv":
            draw.linear(t, f"{prefix}{name}.{projection}", H * D_KV, D, bias=False)
        draw.linear(t, f"{prefix}{name}.o", D, H * D_KV, bias=False)

    attention("layer.0.SelfAttention")
    if first:
        t[prefix + "layer.0.SelfAttention.relative_attention_bias.weight"] = (
            draw.bias(BUCKETS, H))
    t[prefix + "layer.0.layer_norm.weight"] = draw.norm(D)
    if cross:
        attention("layer.1.EncDecAttention")
        t[prefix + "layer.1.layer_norm.weight"] = draw.norm(D)
    last = f"{prefix}layer.{2 if cross else 1}."
    for name in ("wi_0", "wi_1") if gated else ("wi",):
        draw.linear(t, last + "DenseReluDense." + name, F, D, bias=False)
    draw.linear(t, last + "DenseReluDense.wo", D, F, bias=False)
    t[last + "layer_norm.weight"] = draw.norm(D)


def t5(row, gated, eps):
    draw = Draw(row, "BF16")
    t = {"shared.weight": draw.weight(5, D), "encoder.embed_tokens.weight": draw.weight(5, D)}
    for i in range(LAYERS):
        t5_block(draw, t, f"encoder.block.{i}.", gated, i == 0)
    t["encoder.final_layer_norm.weight"] = draw.norm(D)
    if not gated:  # v1.1 here as its encoder alone is published
        t5_block(draw, t, "decoder.block.0.", gated, True, cross=True)
        t["decoder.final_layer_norm.weight"] = draw.norm(D)
    safetensors(row, t, "BF16")
    keys = dict(dense_act_fn="gelu_new", is_gated_act=True) if gated else {}
    config(row, model_type="t5", d_model=D, d_kv=D_KV, d_ff=F, num_heads=H,
           num_layers=LAYERS, num_decoder_layers=1, layer_norm_epsilon=eps,
           feed_forward_proj="gated-gelu" if gated else "relu",
           relative_attention_num_buckets=BUCKETS,
           relative_attention_max_distance=MAX_DISTANCE, **keys)

    given = x = draw.x(N, D)[None]
    table = t["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    bias = table[buckets(N)].transpose(2, 0, 1)  # [H, n, n], every layer's
    all_maps = []
    for i in range(LAYERS):
        p = f"encoder.block.{i}.layer."
        before = rms_norm(x, t[p + "0.layer_norm.weight"], eps)
        q, k, v = (split(linear(before, t, p + "0.SelfAttention." + name)) for name in "qkv")
        maps = softmax(q @ k.swapaxes(2, 3) + bias)  # no scale
        x = x + linear(join(maps @ v), t, p + "0.SelfAttention.o")
        before = rms_norm(x, t[p + "1.layer_norm.weight"], eps)
        dense = p + "1.DenseReluDense."
        if gated:
            hidden = (gelu_new(linear(before, t, dense + "wi_0"))
                      * linear(before, t, dense + "wi_1"))
        else:
            hidden = relu(linear(before, t, dense + "wi"))
        x = x + linear(hidden, t, dense + "wo")
        all_maps.append(maps[0])
    y = rms_norm(x, t["encoder.final_layer_norm.weight"], eps)
    expected(row, given[0], y[0], all_maps)


def make():
    whisper()
    openai_whisper()
    bart()
    t5("t5", gated=False, eps=1e-6)
    t5("t5_gated", gated=True, eps=1e-2)
