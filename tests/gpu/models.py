"""Model shapes of the proof, and how many operations a step takes."""


def gpt2(name, layers, hidden, heads, vocabulary=50257, positions=1024):
    return {"name": name, "family": "gpt2", "layers": layers, "hiddenSize": hidden, "heads": heads, "ffnSize": 4 * hidden,
            "vocabSize": vocabulary, "maxPositions": positions, "tiedEmbeddings": True}


def llama(name, layers, hidden, heads, kv_heads, ffn, vocabulary, tied=False):
    return {"name": name, "family": "llama", "layers": layers, "hiddenSize": hidden, "heads": heads, "kvHeads": kv_heads,
            "ffnSize": ffn, "vocabSize": vocabulary, "tiedEmbeddings": tied}


TINY_GPT2 = gpt2("tiny", 4, 128, 4, vocabulary=512, positions=128)
TINY_LLAMA = llama("tiny", 4, 128, 4, 2, 256, vocabulary=512)

# Tokens of a step: microbatches of 8,192 tokens, two of them.
SPEED = {
    "124M": (gpt2("gpt2-124m", 12, 768, 12), {"microbatch": 8, "batch": 16, "length": 1024}),
    "350M": (gpt2("gpt2-350m", 24, 1024, 16), {"microbatch": 8, "batch": 16, "length": 1024}),
    "1.3B": (gpt2("gpt2-1.3b", 24, 2048, 16), {"microbatch": 8, "batch": 16, "length": 1024}),
    "1B LLaMA": (llama("llama-1b", 16, 2048, 32, 8, 8192, 128256, tied=True), {"microbatch": 4, "batch": 8, "length": 2048}),
}
SPEED_ON_CPU = {"tiny GPT-2": (TINY_GPT2, {"microbatch": 4, "batch": 8, "length": 128})}


def parameters(model):
    """The parameters that multiply a token: without norms, biases and positions."""
    hidden, ffn = model["hiddenSize"], model["ffnSize"]
    keys = hidden * model.get("kvHeads", model["heads"]) // model["heads"]
    matrices = 3 if model["family"] == "llama" else 2
    return model["layers"] * (2 * hidden * hidden + 2 * hidden * keys + matrices * hidden * ffn) + model["vocabSize"] * hidden


def operations(job):
    """Floating-point operations of a step, by the formula of PaLM (Chowdhery et al. 2022, appendix B)."""
    attention = 12 * job.model["layers"] * job.model["hiddenSize"] * job.length
    return (6 * parameters(job.model) + attention) * job.batch * job.length
