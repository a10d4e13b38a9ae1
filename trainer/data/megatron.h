// Reads data sets of Megatron-LM: a .bin file with tokens and an .idx file that describes it, as written by
// tools/preprocess_data.py.
#pragma once

#include "trainer/data/token_file.h"

namespace sailor::trainer {

// Layout of an .idx (little endian), from Megatron-LM's IndexedDataset:
//   "MMIDIDX" 0 0 | version u64 = 1 | type of a token u8 | sequences u64 | document bounds u64
//   length of each sequence i32 | its first byte in the .bin i64 | first sequence of each document i64, and their end
// The sequences must follow each other without gaps, as Megatron writes them. Then the .bin is one long sequence of
// tokens, and a training window can span documents, as Megatron's own samples do.
Result<TokenFile> open_megatron(const std::string& bin_file);

}  // namespace sailor::trainer
