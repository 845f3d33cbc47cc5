"""Layouts that keep heads as an axis: Google's ViT, Flax's and Keras's
attention (.npz, [in, heads, width]), TransformerLens ([heads, in, width])."""

import numpy

from containers import Draw, expected, npz, pickled
from formulas import causal, gelu_new, layer_norm, softmax

D, H, F, LAYERS = 32, 4, 48, 2


def attend(x, t, prefix, out):
    """Flax and Keras alike; einsum as their documentation has it."""
    q, k, v = (numpy.einsum("bnd,dhw->bnhw", x, t[f"{prefix}{name}/kernel"])
               + t[f"{prefix}{name}/bias"] for name in ("query", "key", "value"))
    scores = numpy.einsum("bqhw,bkhw->bhqk", q / numpy.sqrt(q.shape[-1]), k)
    maps = softmax(scores)
    read = numpy.einsum("bhqk,bkhw->bqhw", maps, v)
    y = numpy.einsum("bqhw,hwd->bqd", read, t[f"{prefix}{out}/kernel"])
    return y + t[f"{prefix}{out}/bias"], maps


def attention_tensors(draw, prefix, out, width, v_width):
    t = {}
    for name, w in (("query", width), ("key", width), ("value", v_width)):
        t[f"{prefix}{name}/kernel"] = draw.weight(D, H, w)
        t[f"{prefix}{name}/bias"] = draw.bias(H, w)
    t[f"{prefix}{out}/kernel"] = draw.weight(H, v_width, D)
    t[f"{prefix}{out}/bias"] = draw.bias(D)
    return t


def alone(row, prefix, out, width, v_width):
    draw = Draw(row)
    t = attention_tensors(draw, prefix, out, width, v_width)
    npz(row, t, "weights.npz")
    x = draw.x(2, 7, D)
    y, maps = attend(x, t, prefix, out)
    expected(row, x, y, [maps])


def google_vit():
    draw = Draw("google_vit")
    t = {"cls": draw.weight(1, 1, D), "embedding/kernel": draw.weight(2, 2, 3, D),
         "embedding/bias": draw.bias(D), "head/kernel": draw.weight(D, 3),
         "head/bias": draw.bias(3),
         "Transformer/posembed_input/pos_embedding": draw.weight(1, 5, D)}

    def scaled(name):
        t[name + "/scale"], t[name + "/bias"] = draw.norm(D), draw.bias(D)

    def dense(name, into, out):
        t[name + "/kernel"], t[name + "/bias"] = draw.weight(into, out), draw.bias(out)

    for i in range(LAYERS):
        p = f"Transformer/encoderblock_{i}/"
        scaled(p + "LayerNorm_0")
        t.update(attention_tensors(draw, p + "MultiHeadDotProductAttention_1/", "out",
                                   D // H, D // H))
        scaled(p + "LayerNorm_2")
        dense(p + "MlpBlock_3/Dense_0", D, F)
        dense(p + "MlpBlock_3/Dense_1", F, D)
    scaled("Transformer/encoder_norm")
    npz("google_vit", t, "vit.npz")

    def norm(x, name):
        return layer_norm(x, t[name + "/scale"], t[name + "/bias"], 1e-6)

    given = x = draw.x(2, 7, D) / 256  # small: 1e-6 is not 1e-5
    all_maps = []
    for i in range(LAYERS):
        p = f"Transformer/encoderblock_{i}/"
        read, maps = attend(norm(x, p + "LayerNorm_0"), t,
                            p + "MultiHeadDotProductAttention_1/", "out")
        x = x + read
        # nn.gelu of Flax is the one by tanh unless it is told otherwise
        hidden = gelu_new(norm(x, p + "LayerNorm_2") @ t[p + "MlpBlock_3/Dense_0/kernel"]
                          + t[p + "MlpBlock_3/Dense_0/bias"])
        x = x + hidden @ t[p + "MlpBlock_3/Dense_1/kernel"] + t[p + "MlpBlock_3/Dense_1/bias"]
        all_maps.append(maps)
    expected("google_vit", given, norm(x, "Transformer/encoder_norm"), all_maps)


def transformer_lens():
    """A HookedTransformer of GPT-2's kind, norms not folded; d_head is not d / H."""
    draw = Draw("transformer_lens", "F16")
    width = 6
    t = {"embed.W_E": draw.weight(5, D), "pos_embed.W_pos": draw.weight(9, D)}
    for i in range(LAYERS):
        p = f"blocks.{i}."
        t[p + "ln1.w"], t[p + "ln1.b"] = draw.norm(D), draw.bias(D)
        t[p + "ln2.w"], t[p + "ln2.b"] = draw.norm(D), draw.bias(D)
        for name in "QKV":
            t[p + "attn.W_" + name] = draw.weight(H, D, width)
            t[p + "attn.b_" + name] = draw.bias(H, width)
        t[p + "attn.W_O"], t[p + "attn.b_O"] = draw.weight(H, width, D), draw.bias(D)
        t[p + "attn.mask"] = numpy.tril(numpy.ones((9, 9), dtype=bool))
        t[p + "attn.IGNORE"] = numpy.array(-numpy.inf)
        t[p + "mlp.W_in"], t[p + "mlp.b_in"] = draw.weight(D, F), draw.bias(F)
        t[p + "mlp.W_out"], t[p + "mlp.b_out"] = draw.weight(F, D), draw.bias(D)
    t["ln_final.w"], t["ln_final.b"] = draw.norm(D), draw.bias(D)
    t["unembed.W_U"], t["unembed.b_U"] = draw.weight(D, 5), draw.bias(5)
    pickled("transformer_lens", t, "F16", file="hooked.pt")

    def norm(x, name):
        return layer_norm(x, t[name + ".w"], t[name + ".b"], 1e-5)

    given = x = draw.x(2, 7, D)
    all_maps = []
    for i in range(LAYERS):
        p = f"blocks.{i}."
        before = norm(x, p + "ln1")
        q, k, v = (numpy.einsum("bpd,hdw->bphw", before, t[p + "attn.W_" + name])
                   + t[p + "attn.b_" + name] for name in "QKV")
        maps = softmax(numpy.einsum("bqhw,bkhw->bhqk", q, k) / numpy.sqrt(width) + causal(7))
        z = numpy.einsum("bkhw,bhqk->bqhw", v, maps)
        x = x + numpy.einsum("bqhw,hwd->bqd", z, t[p + "attn.W_O"]) + t[p + "attn.b_O"]
        hidden = gelu_new(norm(x, p + "ln2") @ t[p + "mlp.W_in"] + t[p + "mlp.b_in"])
        x = x + hidden @ t[p + "mlp.W_out"] + t[p + "mlp.b_out"]
        all_maps.append(maps)
    expected("transformer_lens", given, norm(x, "ln_final"), all_maps)


def make():
    google_vit()
    alone("flax_attention", "MultiHeadDotProductAttention_0/", "out", 6, 6)
    alone("keras_attention", "multi_head_attention/", "attention_output", 6, 5)
    transformer_lens()
