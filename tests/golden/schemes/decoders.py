"""GPT-2, LLaMA, Mistral, Qwen2, DeepSeek-V2, and ModernBERT, the encoder that is
built like them."""

import numpy
import torch
from torch import nn

from containers import Draw, config, expected, pickled, safetensors
from formulas import causal, gelu, gelu_new, layer_norm, rms_norm, silu, softmax

D, H, F, LAYERS = 32, 4, 48, 2


# GPT-2: Conv1D, y = x W + b ------------------------------------------------------


def gpt2_tensors(draw):
    t = {"transformer.wte.weight": draw.weight(5, D), "transformer.wpe.weight": draw.weight(9, D)}

    def conv1d(name, into, out):
        t[name + ".weight"], t[name + ".bias"] = draw.weight(into, out), draw.bias(out)

    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        draw.layer_norm(t, p + "ln_1", D)
        t[p + "attn.bias"] = numpy.tril(numpy.ones((1, 1, 9, 9), dtype=bool))  # a mask
        t[p + "attn.masked_bias"] = numpy.array(-1e4)
        conv1d(p + "attn.c_attn", D, 3 * D)
        conv1d(p + "attn.c_proj", D, D)
        draw.layer_norm(t, p + "ln_2", D)
        conv1d(p + "mlp.c_fc", D, F)
        conv1d(p + "mlp.c_proj", F, D)
    draw.layer_norm(t, "transformer.ln_f", D)
    return t


def gpt2(x, t, eps):
    def conv1d(x, name):
        return x @ t[name + ".weight"] + t[name + ".bias"]

    def norm(x, name):
        return layer_norm(x, t[name + ".weight"], t[name + ".bias"], eps)

    b, n, _ = x.shape
    all_maps = []
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        fused = conv1d(norm(x, p + "ln_1"), p + "attn.c_attn")
        q, k, v = (part.reshape(b, n, H, D // H).transpose(0, 2, 1, 3)
                   for part in numpy.split(fused, 3, axis=2))
        maps = softmax(q @ k.transpose(0, 1, 3, 2) / (D // H) ** 0.5 + causal(n))
        x = x + conv1d((maps @ v).transpose(0, 2, 1, 3).reshape(b, n, D), p + "attn.c_proj")
        x = x + conv1d(gelu_new(conv1d(norm(x, p + "ln_2"), p + "mlp.c_fc")), p + "mlp.c_proj")
        all_maps.append(maps)
    return norm(x, "transformer.ln_f"), all_maps


def gpt2_in_torch(x, t, eps):
    """The same from nn modules, with nn.MultiheadAttention for the attention."""
    tensor = {name: torch.from_numpy(values) for name, values in t.items()}

    def norm(h, name):
        return nn.functional.layer_norm(h, (D,), tensor[name + ".weight"],
                                        tensor[name + ".bias"], eps)

    def linear(h, name):
        return nn.functional.linear(h, tensor[name + ".weight"].T, tensor[name + ".bias"])

    h = torch.from_numpy(x)
    hidden_from = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    for i in range(LAYERS):
        p = f"transformer.h.{i}."
        attention = nn.MultiheadAttention(D, H, batch_first=True).double()
        attention.load_state_dict(
            {"in_proj_weight": tensor[p + "attn.c_attn.weight"].T,
             "in_proj_bias": tensor[p + "attn.c_attn.bias"],
             "out_proj.weight": tensor[p + "attn.c_proj.weight"].T,
             "out_proj.bias": tensor[p + "attn.c_proj.bias"]})
        before = norm(h, p + "ln_1")
        h = h + attention(before, before, before, attn_mask=hidden_from)[0].detach()
        hidden = nn.functional.gelu(linear(norm(h, p + "ln_2"), p + "mlp.c_fc"),
                                    approximate="tanh")
        h = h + linear(hidden, p + "mlp.c_proj")
    return norm(h, "transformer.ln_f").numpy()


def gpt2_row():
    draw = Draw("gpt2", "F16")
    t = gpt2_tensors(draw)
    x = draw.x(2, 7, D)
    pickled("gpt2", t, "F16")
    config("gpt2", model_type="gpt2", n_embd=D, n_head=H, n_layer=LAYERS, n_inner=F,
           n_positions=9, activation_function="gelu_new", layer_norm_epsilon=1e-2,
           scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
    y, maps = gpt2(x, t, 1e-2)
    assert numpy.allclose(y, gpt2_in_torch(x, t, 1e-2), rtol=1e-12, atol=1e-12)
    expected("gpt2", x, y, maps)


# LLaMA, Mistral, Qwen2 ------------------------------------------------------------


def rotate_half(t):
    half = t.shape[-1] // 2
    return numpy.concatenate([-t[..., half:], t[..., :half]], axis=-1)


def rotary(n, width, theta):
    inv_freq = 1 / theta ** (numpy.arange(0, width, 2) / width)
    angles = numpy.outer(numpy.arange(n), inv_freq)
    angles = numpy.concatenate([angles, angles], axis=-1)
    return numpy.cos(angles), numpy.sin(angles)


def llama_tensors(draw, groups, width, qkv_bias):
    t = {"model.embed_tokens.weight": draw.weight(5, D)}
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        draw.linear(t, p + "self_attn.q_proj", H * width, D, qkv_bias)
        draw.linear(t, p + "self_attn.k_proj", groups * width, D, qkv_bias)
        draw.linear(t, p + "self_attn.v_proj", groups * width, D, qkv_bias)
        draw.linear(t, p + "self_attn.o_proj", D, H * width, bias=False)
        draw.linear(t, p + "mlp.gate_proj", F, D, bias=False)
        draw.linear(t, p + "mlp.up_proj", F, D, bias=False)
        draw.linear(t, p + "mlp.down_proj", D, F, bias=False)
        t[p + "input_layernorm.weight"] = draw.norm(D)
        t[p + "post_attention_layernorm.weight"] = draw.norm(D)
    t["model.norm.weight"] = draw.norm(D)
    t["lm_head.weight"] = draw.weight(5, D)
    return t


def llama(x, t, groups, width, theta, eps, windows=(None, None)):
    def linear(x, name):
        bias = t.get(name + ".bias")
        return x @ t[name + ".weight"].T + (0 if bias is None else bias)

    b, n, _ = x.shape
    cos, sin = rotary(n, width, theta)
    all_maps = []
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        before = rms_norm(x, t[p + "input_layernorm.weight"], eps)
        q = linear(before, p + "self_attn.q_proj").reshape(b, n, H, width).swapaxes(1, 2)
        k, v = (linear(before, p + f"self_attn.{name}_proj").reshape(b, n, groups, width)
                .swapaxes(1, 2) for name in "kv")
        q, k = (u * cos + rotate_half(u) * sin for u in (q, k))
        k, v = (numpy.repeat(u, H // groups, axis=1) for u in (k, v))
        scores = q @ k.swapaxes(2, 3) * width**-0.5 + causal(n)
        if windows[i] is not None:
            behind = numpy.arange(n)[:, None] - numpy.arange(n)[None, :]
            scores = numpy.where(behind < windows[i], scores, -numpy.inf)
        maps = softmax(scores)
        x = x + linear((maps @ v).swapaxes(1, 2).reshape(b, n, -1), p + "self_attn.o_proj")
        before = rms_norm(x, t[p + "post_attention_layernorm.weight"], eps)
        hidden = silu(linear(before, p + "mlp.gate_proj")) * linear(before, p + "mlp.up_proj")
        x = x + linear(hidden, p + "mlp.down_proj")
        all_maps.append(maps)
    return rms_norm(x, t["model.norm.weight"], eps), all_maps


def llama_config(row, model_type, groups, file="config.json", **keys):
    config(row, file, model_type=model_type, hidden_size=D, intermediate_size=F,
           num_hidden_layers=LAYERS, num_attention_heads=H, num_key_value_heads=groups,
           hidden_act="silu", **keys)


def llama_row():
    draw = Draw("llama", "BF16")
    t = llama_tensors(draw, 2, 12, False)
    for i in range(LAYERS):  # as older files carry them
        t[f"model.layers.{i}.self_attn.rotary_emb.inv_freq"] = numpy.ones(6)
    x = draw.x(2, 7, D)
    safetensors("llama", t, "BF16")
    llama_config("llama", "llama", 2, head_dim=12, rms_norm_eps=1e-2, rope_theta=500.0,
                 rope_scaling=None, attention_bias=False, mlp_bias=False)
    expected("llama", x, *llama(x, t, 2, 12, 500.0, 1e-2))


def mistral_row():
    draw = Draw("mistral", "BF16")
    t = llama_tensors(draw, 1, 8, False)  # multi-query
    x = draw.x(11, D)[None]
    safetensors("mistral", t, "BF16")
    llama_config("mistral", "mistral", 1, rms_norm_eps=1e-5, rope_theta=1e6,
                 sliding_window=4)
    y, maps = llama(x, t, 1, 8, 1e6, 1e-5, (4, 4))
    expected("mistral", x[0], y[0], [one[0] for one in maps])


def qwen2_row():
    """A window that is said but not used; in windowed.json it is, from layer 1 on."""
    draw = Draw("qwen2", "BF16")
    t = llama_tensors(draw, 2, 8, True)
    x = draw.x(11, D)[None]
    safetensors("qwen2", t, "BF16")
    keys = dict(rms_norm_eps=1e-6, rope_theta=2000.0, sliding_window=4, max_window_layers=1)
    llama_config("qwen2", "qwen2", 2, use_sliding_window=False, **keys)
    llama_config("qwen2", "qwen2", 2, "windowed.json", use_sliding_window=True, **keys)
    for windows, file in (((None, None), "expected.npz"), ((None, 4), "windowed.npz")):
        y, maps = llama(x, t, 2, 8, 2000.0, 1e-6, windows)
        expected("qwen2", x[0], y[0], [one[0] for one in maps], file)


# DeepSeek-V2 ----------------------------------------------------------------------

NOPE, ROPE, V_WIDTH, KV_RANK = 6, 4, 5, 10


def turn(t, theta):
    """Neighbours as one complex number each, times e^(i position angle)."""
    angles = numpy.outer(numpy.arange(t.shape[-2]), theta ** (-numpy.arange(0, ROPE, 2) / ROPE))
    turned = (t[..., 0::2] + 1j * t[..., 1::2]) * numpy.exp(1j * angles)
    return numpy.stack([turned.real, turned.imag], -1).reshape(t.shape)


def deepseek(row, q_rank, dtype, eps, theta):
    draw = Draw(row, dtype)
    t = {"model.embed_tokens.weight": draw.weight(5, D)}
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        a = p + "self_attn."
        if q_rank is None:
            draw.linear(t, a + "q_proj", H * (NOPE + ROPE), D, bias=False)
        else:
            draw.linear(t, a + "q_a_proj", q_rank, D, bias=False)
            t[a + "q_a_layernorm.weight"] = draw.norm(q_rank)
            draw.linear(t, a + "q_b_proj", H * (NOPE + ROPE), q_rank, bias=False)
        draw.linear(t, a + "kv_a_proj_with_mqa", KV_RANK + ROPE, D, bias=False)
        t[a + "kv_a_layernorm.weight"] = draw.norm(KV_RANK)
        draw.linear(t, a + "kv_b_proj", H * (NOPE + V_WIDTH), KV_RANK, bias=False)
        draw.linear(t, a + "o_proj", D, H * V_WIDTH, bias=False)
        for name, out, into in (("gate", F, D), ("up", F, D), ("down", D, F)):
            draw.linear(t, f"{p}mlp.{name}_proj", out, into, bias=False)
        t[p + "input_layernorm.weight"] = draw.norm(D)
        t[p + "post_attention_layernorm.weight"] = draw.norm(D)
    t["model.norm.weight"] = draw.norm(D)
    safetensors(row, t, dtype)
    config(row, model_type="deepseek_v2", hidden_size=D, intermediate_size=F,
           num_hidden_layers=LAYERS, num_attention_heads=H, num_key_value_heads=H,
           q_lora_rank=q_rank, kv_lora_rank=KV_RANK, qk_nope_head_dim=NOPE,
           qk_rope_head_dim=ROPE, v_head_dim=V_WIDTH, hidden_act="silu", rms_norm_eps=eps,
           rope_theta=theta, rope_scaling=None, attention_bias=False,
           first_k_dense_replace=LAYERS)

    given = x = draw.x(2, 7, D)
    all_maps = []
    for i in range(LAYERS):
        p = f"model.layers.{i}."
        w = {name[len(p + "self_attn."):-len(".weight")]: values
             for name, values in t.items() if name.startswith(p + "self_attn.")}
        before = rms_norm(x, t[p + "input_layernorm.weight"], eps)
        # The latents' norms keep 1e-6, whatever rms_norm_eps is.
        if q_rank is None:
            q = before @ w["q_proj"].T
        else:
            q = rms_norm(before @ w["q_a_proj"].T, w["q_a_layernorm"], 1e-6) @ w["q_b_proj"].T
        latent, k_rope = numpy.split(before @ w["kv_a_proj_with_mqa"].T, [KV_RANK], -1)
        kv = rms_norm(latent, w["kv_a_layernorm"], 1e-6) @ w["kv_b_proj"].T
        heads = []
        for h in range(H):
            q_h = q[..., h * (NOPE + ROPE):(h + 1) * (NOPE + ROPE)]
            kv_h = kv[..., h * (NOPE + V_WIDTH):(h + 1) * (NOPE + V_WIDTH)]
            scores = (q_h[..., :NOPE] @ kv_h[..., :NOPE].swapaxes(1, 2)
                      + turn(q_h[..., NOPE:], theta) @ turn(k_rope, theta).swapaxes(1, 2))
            one = softmax(scores / numpy.sqrt(NOPE + ROPE) + causal(x.shape[1]))
            heads.append((one @ kv_h[..., NOPE:], one))
        joined = numpy.concatenate([output for output, _ in heads], -1)
        x = x + joined @ w["o_proj"].T
        before = rms_norm(x, t[p + "post_attention_layernorm.weight"], eps)
        gate, up = (before @ t[f"{p}mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (silu(gate) * up) @ t[p + "mlp.down_proj.weight"].T
        all_maps.append(numpy.stack([one for _, one in heads], 1))
    expected(row, given, rms_norm(x, t["model.norm.weight"], eps), all_maps)


# ModernBERT -------------------------------------------------------------------------


def modernbert():
    draw = Draw("modernbert", "F16")
    n, layers, reach = 11, 4, 2
    t = {"model.embeddings.tok_embeddings.weight": draw.weight(5, D),
         "model.embeddings.norm.weight": draw.norm(D)}
    for i in range(layers):
        p = f"model.layers.{i}."
        if i > 0:  # layer 0 reads what the embeddings' norm left
            t[p + "attn_norm.weight"] = draw.norm(D)
        draw.linear(t, p + "attn.Wqkv", 3 * D, D, bias=False)
        draw.linear(t, p + "attn.Wo", D, D, bias=False)
        t[p + "mlp_norm.weight"] = draw.norm(D)
        draw.linear(t, p + "mlp.Wi", 2 * F, D, bias=False)
        draw.linear(t, p + "mlp.Wo", D, F, bias=False)
    t["model.final_norm.weight"] = draw.norm(D)
    t["head.dense.weight"], t["decoder.bias"] = draw.weight(D, D), draw.bias(5)
    safetensors("modernbert", t, "F16")
    config("modernbert", model_type="modernbert", hidden_size=D, intermediate_size=F,
           num_hidden_layers=layers, num_attention_heads=H, hidden_activation="gelu",
           norm_eps=1e-3, norm_bias=False, attention_bias=False, mlp_bias=False,
           global_attn_every_n_layers=3, local_attention=2 * reach,
           global_rope_theta=8000.0, local_rope_theta=50.0)
    x = draw.x(n, D)
    given, all_maps = x, []
    distance = abs(numpy.arange(n)[:, None] - numpy.arange(n)[None, :])
    for i in range(layers):
        p = f"model.layers.{i}."
        everywhere = i % 3 == 0
        cos, sin = rotary(n, D // H, 8000.0 if everywhere else 50.0)
        before = layer_norm(x, t[p + "attn_norm.weight"], None, 1e-3) if i > 0 else x
        qkv = (before @ t[p + "attn.Wqkv.weight"].T).reshape(n, 3, H, D // H)
        q, k, v = (qkv[:, j].swapaxes(0, 1) for j in range(3))
        scores = ((q * cos + rotate_half(q) * sin)
                  @ (k * cos + rotate_half(k) * sin).swapaxes(1, 2) * (D // H) ** -0.5)
        if not everywhere:
            scores[:, distance > reach] = -numpy.inf
        maps = softmax(scores)
        x = x + (maps @ v).swapaxes(0, 1).reshape(n, D) @ t[p + "attn.Wo.weight"].T
        wi = layer_norm(x, t[p + "mlp_norm.weight"], None, 1e-3) @ t[p + "mlp.Wi.weight"].T
        x = x + (gelu(wi[:, :F]) * wi[:, F:]) @ t[p + "mlp.Wo.weight"].T
        all_maps.append(maps)
    y = layer_norm(x, t["model.final_norm.weight"], None, 1e-3)
    expected("modernbert", given, y, all_maps)


def make():
    gpt2_row()
    llama_row()
    mistral_row()
    qwen2_row()
    deepseek("deepseek_v2", 12, "BF16", 1e-2, 700.0)
    deepseek("deepseek_v2_lite", None, "F16", 1e-3, 10000.0)
    modernbert()
