// Worker: the main loop of one worker process. It drives the state machine of protocol/worker_machine.h.
#pragma once

#include <string>

#include "trainer/elastic/control/assignment_mailbox.h"
#include "trainer/elastic/control/reporter.h"
#include "trainer/elastic/control/worker_settings.h"

namespace sailor::trainer {

// Obeys one assignment after the other, each newer than the previous one: the worker meets its peers, receives state,
// and trains. A lost peer ends the generation but not the worker, which keeps its state and waits for the next
// assignment. The function returns when the mailbox is closed, when the job is done, or when the worker has reported a
// failure that a new generation would not solve. It reports every change of phase and every step.
void run_worker(const WorkerSettings& settings, AssignmentMailbox& mailbox, Reporter& reporter);

}  // namespace sailor::trainer
