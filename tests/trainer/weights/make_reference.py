#!/usr/bin/env python3
"""Writes reference.json: what Hugging Face's implementation of each family computes with known weights.

Run once per change of the fixture, in a virtual environment of its own:
    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install torch==2.11.0 transformers==5.23.0
    /tmp/reference/bin/python tests/trainer/weights/make_reference.py

No weights are stored: every element is a function of its tensor's name and its index, which weights_test.cc computes too.
"""
import json
import pathlib

import numpy
import torch
import transformers

AMPLITUDE = 0.2  # large enough that the activation, the scale of the attention and every bias are seen in the loss
TOKENS = [3, 17, 8, 8, 31, 0, 22, 5, 39, 11, 2, 28, 14]  # the last is the last target
MASK = (1 << 64) - 1


def name_hash(name: str) -> int:  # FNV-1a
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def elements(name: str, shape) -> numpy.ndarray:
    """splitmix64 of hash(name) + index, as a number in [-AMPLITUDE, AMPLITUDE); one-dimensional weights lie around 1."""
    count = int(numpy.prod(shape))
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(name_hash(name)) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    unit = (z >> numpy.uint64(11)).astype(numpy.float64) / float(1 << 53)
    values = AMPLITUDE * (2 * unit - 1)
    if len(shape) == 1 and name.endswith("weight"):
        values = values + 1
    return values.astype(numpy.float32).reshape(shape)


def configurations():
    common = dict(vocab_size=40, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    opt = dict(hidden_size=32, num_hidden_layers=2, ffn_dim=48, num_attention_heads=4, max_position_embeddings=16, **common)
    yield "gpt2", transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=16, **common)
    yield "opt", transformers.OPTConfig(word_embed_proj_dim=32, **opt)
    yield "opt-350m", transformers.OPTConfig(word_embed_proj_dim=24, do_layer_norm_before=False, **opt)
    yield "gpt-neo", transformers.GPTNeoConfig(hidden_size=32, num_layers=2, num_heads=4, intermediate_size=48, window_size=4,
                                               max_position_embeddings=16, attention_types=[[["global", "local"], 1]], **common)
    yield "llama", transformers.LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                            intermediate_size=48, max_position_embeddings=16, rms_norm_eps=1e-6, rope_theta=500000.0,
                                            tie_word_embeddings=False, **common)


KEPT = ("model_type activation_function n_embd n_layer n_head n_positions n_inner layer_norm_epsilon vocab_size hidden_size "
        "num_hidden_layers ffn_dim num_attention_heads max_position_embeddings word_embed_proj_dim do_layer_norm_before "
        "num_layers num_heads intermediate_size window_size attention_types num_key_value_heads rms_norm_eps rope_theta "
        "rope_parameters tie_word_embeddings hidden_act").split()


def reference(name, config):
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    state = model.state_dict()
    tied = model.lm_head.weight is model.get_input_embeddings().weight
    saved = {key: tensor for key, tensor in state.items() if not (tied and key == "lm_head.weight")}
    for key, tensor in saved.items():
        tensor.copy_(torch.from_numpy(elements(key, tuple(tensor.shape))))
    inputs = torch.tensor([TOKENS[:-1]])
    targets = torch.tensor([TOKENS[1:]])
    with torch.no_grad():
        logits = model(input_ids=inputs).logits.double()
    log_probabilities = torch.log_softmax(logits, -1)[0]
    losses = -log_probabilities.gather(-1, targets[0].unsqueeze(-1))
    as_dict = config.to_dict()
    return {"name": name,
            "config": {key: as_dict[key] for key in KEPT if as_dict.get(key) is not None},
            "tensors": {key: list(tensor.shape) for key, tensor in saved.items()},
            "loss": losses.sum().item(),
            "last_log_probabilities": [round(value, 8) for value in log_probabilities[-1].tolist()]}


def main():
    document = {"made_by": f"make_reference.py, transformers {transformers.__version__}, torch {torch.__version__}",
                "tokens": TOKENS, "amplitude": AMPLITUDE,
                "models": [reference(name, config) for name, config in configurations()]}
    path = pathlib.Path(__file__).with_name("reference.json")
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
