// Package admission lets gRPC calls into a server before anything of a message is
// received: by their headers (Gate), or by the size that a message says it has
// (Limited). It ends calls whose message does not come (Wait), and reads connections more
// slowly that bring calls faster than these end (CountCalls). gRPC's interceptors and
// limits come too late for that, or are of all services alike; and its tap
// (grpc.InTapHandle) leaves the timer of the deadline of every call that it refuses,
// which may be set for centuries: CountCalls counts there, and refuses nothing.
package admission
