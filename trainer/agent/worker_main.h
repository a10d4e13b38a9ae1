// The worker process as its agent sees it: the worker's side of the channel.
#pragma once

#include "trainer/elastic/control/worker_settings.h"

namespace sailor::trainer {

// Serves the agent at the other end of this descriptor until the job or the agent ends. If the agent is gone, the
// process ends at once, whatever it is doing, because nothing else could stop it.
void serve_agent(const WorkerSettings& settings, int channel);

}  // namespace sailor::trainer
