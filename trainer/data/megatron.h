// Megatron's data: a .bin of tokens and an .idx beside it, as tools/preprocess_data.py of Megatron-LM writes them.
#pragma once

#include "trainer/data/token_files.h"

namespace sailor::trainer {

// Layout of an .idx (little endian), from Megatron-LM's IndexedDataset:
//   "MMIDIDX" 0 0 | version u64 = 1 | type of a token u8 | sequences u64 | document bounds u64
//   length of each sequence i32 | its first byte in the .bin i64 | first sequence of each document i64, and the end
// The sequences must lie one after the other, as Megatron writes them: then the .bin is one row of tokens, and a window
// may reach from one document into the next, as in Megatron's own samples.
Result<TokenFile> open_megatron(const std::string& bin_file);

}  // namespace sailor::trainer
