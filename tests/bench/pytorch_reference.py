"""The yardstick of benchmarks: the same model, batch and optimizer in PyTorch, as a careful user would write it.

Run by trainer_bench.py and by the proof on a GPU (tests/gpu) with a Python that has PyTorch. Takes one argument, a job as
JSON. Prints the seconds of each step as JSON. The job's `device` is cpu (default) or cuda; with `precision` BF16 the passes
run under autocast and the weights stay FP32; with `compiled`, torch.compile makes the model's kernels. Several processes:
started with the environment that torchrun would set, gradients are summed by DistributedDataParallel over Gloo.
"""
import contextlib
import json
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, hidden)
        self.ffn_norm = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, ffn)
        self.down = nn.Linear(ffn, hidden)

    def forward(self, x):
        B, T, H = x.shape
        y = self.attention_norm(x)
        split = lambda z: z.view(B, T, self.heads, H // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(split(self.query(y)), split(self.key(y)), split(self.value(y)), is_causal=True)
        x = x + self.output(y.transpose(1, 2).reshape(B, T, H))
        return x + self.down(F.gelu(self.up(self.ffn_norm(x)), approximate="tanh"))


def rotary_tables(length, head_size):
    angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, head_size, 2).float() / head_size))
    return angles.cos(), angles.sin()


def rotated(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


class LlamaBlock(nn.Module):
    def __init__(self, shape, length):
        super().__init__()
        hidden, ffn = shape["hiddenSize"], shape["ffnSize"]
        self.head_size = hidden // shape["heads"]
        keys = shape["kvHeads"] * self.head_size
        self.attention_norm = nn.RMSNorm(hidden, eps=1e-5)
        self.query_key_value = nn.Linear(hidden, hidden + 2 * keys, bias=False)
        self.sizes = (hidden, keys, keys)
        self.output = nn.Linear(hidden, hidden, bias=False)
        self.ffn_norm = nn.RMSNorm(hidden, eps=1e-5)
        self.gate_up = nn.Linear(hidden, 2 * ffn, bias=False)
        self.down = nn.Linear(ffn, hidden, bias=False)
        for name, table in zip(("cosine", "sine"), rotary_tables(length, self.head_size)):
            self.register_buffer(name, table, persistent=False)

    def forward(self, x):
        B, T, H = x.shape
        parts = self.query_key_value(self.attention_norm(x)).split(self.sizes, -1)
        query, key, value = (part.view(B, T, -1, self.head_size).transpose(1, 2) for part in parts)
        cosine, sine = self.cosine[:T].to(query.dtype), self.sine[:T].to(query.dtype)
        y = F.scaled_dot_product_attention(rotated(query, cosine, sine), rotated(key, cosine, sine), value, is_causal=True, enable_gqa=True)
        x = x + self.output(y.transpose(1, 2).reshape(B, T, H))
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Transformer(nn.Module):
    def __init__(self, shape, length):
        super().__init__()
        hidden = shape["hiddenSize"]
        is_llama = shape["family"] == "llama"
        self.tokens = nn.Embedding(shape["vocabSize"], hidden)
        self.positions = None if is_llama else nn.Embedding(shape["maxPositions"], hidden)
        block = (lambda: LlamaBlock(shape, length)) if is_llama else (lambda: Block(hidden, shape["heads"], shape["ffnSize"]))
        self.blocks = nn.ModuleList(block() for _ in range(shape["layers"]))
        self.norm = nn.RMSNorm(hidden, eps=1e-5) if is_llama else nn.LayerNorm(hidden)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), reduction="sum")


def precision_of(job):
    if job.get("precision", "FP32") == "FP32":
        return contextlib.nullcontext()
    return torch.autocast(job.get("device", "cpu"), dtype=torch.bfloat16)


def optimizer_of(model):
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                             lr=3e-4, betas=(0.9, 0.95), fused=True)


def main():
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    device, length = job.get("device", "cpu"), job["sequenceLength"]
    with torch.device(device):
        model = Transformer(job["model"], length)
    optimizer = optimizer_of(model)
    workers = int(os.environ.get("WORLD_SIZE", "1"))
    network = torch.compile(model) if job.get("compiled") else model
    if workers > 1:
        torch.distributed.init_process_group("gloo")
        network = nn.parallel.DistributedDataParallel(model)
    size = job["microbatchSize"]
    microbatches = job["globalBatchSize"] // size // workers
    data = torch.randint(job["model"]["vocabSize"], (microbatches, size, length + 1)).to(device)
    seconds = []
    for _ in range(job["steps"]):
        begin = time.perf_counter()
        optimizer.zero_grad()
        losses = []
        for i in range(microbatches):
            if workers > 1:
                network.require_backward_grad_sync = i == microbatches - 1
            with precision_of(job):
                loss = network(data[i, :, :-1], data[i, :, 1:])
            (loss * workers / (job["globalBatchSize"] * length)).backward()
            losses.append(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        torch.stack(losses).sum().item()  # the step ends here on a GPU too
        seconds.append(time.perf_counter() - begin)
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps(seconds))


if __name__ == "__main__":
    main()
