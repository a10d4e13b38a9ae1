// Keeps cpprestsdk from reading the CAs of the system.
#pragma once

namespace sailor::net {

// Call it in main(), before the process starts a thread. cpprestsdk reads the CAs of the system for each new connection
// over TLS, which takes 15 ms of processor time, although no connection trusts them (TlsSettings).
void ignore_system_cas();

}  // namespace sailor::net
