// Renders what protects the pods of a job: the Secret with their credentials, and the NetworkPolicy.
#pragma once

#include "core/net/tls_settings.h"
#include "operator/model/observation.h"

namespace sailor {

// The Secret that the job's pods mount (core/protocol/credentials.h).
kube::Json credentials_secret(const JobView& job, const net::TlsSettings& credentials);

// Lets the job's pods reach each other at all ports, and everybody else the port of the agents, which authenticates.
// The connections between workers have no protection of their own.
kube::Json job_network_policy(const JobView& job);

}  // namespace sailor
