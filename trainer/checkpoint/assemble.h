// Assemble: any part of a piece out of a checkpoint, whatever parts its writers kept.
#pragma once

#include "trainer/checkpoint/files.h"

namespace sailor::trainer {

// The elements of exactly this part, from the images that hold some of it. Fails where one of them is damaged, or where
// they lack an element.
Result<PieceImage> assemble(const std::filesystem::path& step_folder, const Manifest& manifest, const Piece& part);

}  // namespace sailor::trainer
