// Package rawio reads and writes small pieces of sockets without telling Go's scheduler.
//
// A system call of package net tells the scheduler that the thread may be away for
// long. That wakes the thread that takes processors away from such ones, which
// then looks every 20 us, for a while, whether it has to; on one core it interrupts
// what it watches. A client that waits for each answer makes the server idle in between, so
// that this starts anew with every request: it was a sixth of the server's processor
// time. But a socket never keeps a thread: it is not blocking, and a few pages are
// copied in microseconds. So a connection of this package makes the bare system call, and waits as
// package net does, on the poller, where the socket is not ready.
//
// It does so on Linux; elsewhere connections stay as they are.
package rawio
