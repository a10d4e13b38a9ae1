// Worker: the loop that one worker process lives in, generation after generation.
#pragma once

#include <string>

#include "trainer/elastic/control/assignment_mailbox.h"
#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/control/worker_settings.h"

namespace sailor::trainer {

// Obeys each assignment that is newer than the one before: meets its peers, takes over state, trains. A lost peer ends
// a generation, never the worker: it keeps its state and waits. Returns when the inbox is closed, when the job is done,
// or when the job itself cannot go on. Every change of phase and every step is reported.
void run_worker(const WorkerSettings& settings, Inbox& inbox, Reporter& reporter);

}  // namespace sailor::trainer
