// Worker: the main loop of one worker process.
#pragma once

#include <string>

#include "trainer/elastic/control/assignment_mailbox.h"
#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/control/worker_settings.h"

namespace sailor::trainer {

// Obeys each assignment that is newer than the one before: meets its peers, receives state, trains. A lost peer ends
// the generation but never the worker, which keeps its state and waits. Returns when the mailbox is closed, when the
// job is done, or when the job itself cannot continue. Reports every change of phase and every step.
void run_worker(const WorkerSettings& settings, AssignmentMailbox& mailbox, Reporter& reporter);

}  // namespace sailor::trainer
