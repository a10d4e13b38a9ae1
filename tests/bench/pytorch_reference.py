"""The bench's yardstick: the same model, batch and optimizer in eager PyTorch, as a careful user would write it.

Run by trainer_bench.py with the Python of the virtual environment that it makes. Prints the seconds of each step as JSON.
Two processes: started with the environment that torchrun would set, gradients are summed by DistributedDataParallel over Gloo.
"""
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


class Gpt(nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden = shape["hiddenSize"]
        self.tokens = nn.Embedding(shape["vocabSize"], hidden)
        self.positions = nn.Embedding(shape["maxPositions"], hidden)
        self.blocks = nn.ModuleList(Block(hidden, shape["heads"], shape["ffnSize"]) for _ in range(shape["layers"]))
        self.norm = nn.LayerNorm(hidden)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")


def main():
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    torch.manual_seed(1)
    model = Gpt(job["model"])
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=3e-4, betas=(0.9, 0.95), fused=True)
    workers = int(os.environ.get("WORLD_SIZE", "1"))
    network = model
    if workers > 1:
        torch.distributed.init_process_group("gloo")
        network = nn.parallel.DistributedDataParallel(model)
    size, length = job["microbatchSize"], job["sequenceLength"]
    microbatches = job["globalBatchSize"] // size // workers
    data = torch.randint(job["model"]["vocabSize"], (microbatches, size, length + 1))
    seconds = []
    for _ in range(job["steps"]):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss_sum = 0.0
        for i in range(microbatches):
            if workers > 1:
                network.require_backward_grad_sync = i == microbatches - 1
            loss = network(data[i, :, :-1], data[i, :, 1:])
            (loss * workers / (job["globalBatchSize"] * length)).backward()
            loss_sum += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    if int(os.environ.get("RANK", "0")) == 0:
        print(json.dumps(seconds))


if __name__ == "__main__":
    main()
