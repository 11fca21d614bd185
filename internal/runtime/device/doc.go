// Package device holds the values of programs: opaque buffers in the address space of one device, and streams that
// copy and compute in order, asynchronously to the caller.
//
// Kinds: host computes in ordinary memory, at once. fake is its twin for tests. It has an address space of its own,
// reachable only while its streams work (where the system can protect memory), and defers all work as long as it can.
// So a stray host access or a forgotten synchronisation fails. Accelerators implement the same interfaces.
package device
