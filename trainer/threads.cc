#include "trainer/threads.h"

#include <ATen/Parallel.h>

namespace sailor::trainer {

void use_threads(int count) { at::set_num_threads(count); }

}  // namespace sailor::trainer
