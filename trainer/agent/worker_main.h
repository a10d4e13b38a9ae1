// The main function of a worker process. A reader thread receives assignments, leases and pings from the agent, while
// the main thread runs the worker loop (elastic/worker/worker.h) and sends reports.
#pragma once

#include <string>

#include "trainer/elastic/control/worker_settings.h"

namespace sailor::trainer {

// Runs the worker loop, then waits until the agent has closed its end of the channel, and ends the process with status
// 0. The function does not return. `channel` is the descriptor of the worker's end. If the agent dies, the process ends
// at once, whatever it is doing, because nothing else could stop it.
void serve_agent(const WorkerSettings& settings, int channel);

// Reports to the agent that this worker cannot train and why, in place of serve_agent(). Returns when the agent has
// closed its end.
void report_failure(const WorkerSettings& settings, int channel, const std::string& why);

}  // namespace sailor::trainer
