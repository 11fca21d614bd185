// Package device is where program values live: opaque buffers in the address space of one device, and streams that
// copy and compute in order, asynchronously to the caller.
//
// Kinds: host computes in ordinary memory, at once. fake is its twin for tests: it has an address space of its own,
// reachable only while its streams work (where the system can protect memory), and it does nothing before it must,
// so that a stray host access and a forgotten synchronisation fail. Accelerators implement the same interfaces.
package device
