// The worker process: its side of the channel to the agent.
#pragma once

#include "trainer/elastic/control/worker_settings.h"

namespace sailor::trainer {

// Serves the agent at the other end of this descriptor until the job ends or the agent does. When the agent is gone the
// process ends at once, whatever it is doing: nobody could stop it otherwise.
void serve_agent(const WorkerSettings& settings, int channel);

}  // namespace sailor::trainer
