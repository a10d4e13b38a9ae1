// The largest sizes that manifests, plans, records and nodes may state. The CRDs have the same limits.
#pragma once

namespace sailor {

inline constexpr int kMostGpusOfANode = 1024;  // GpuPool.spec.gpusPerNode; also of a pod or a tensor-parallel group
inline constexpr int kMostBlocks = 1024;       // TrainingJob.spec.model.config.layers; not the embedding and the head

}  // namespace sailor
