// How many CPU threads LibTorch computes with in this process.
#pragma once

namespace sailor::trainer {

void use_threads(int count);

}  // namespace sailor::trainer
