// Package admission admits gRPC calls to a server before their message is received: by
// their headers (Gate), or by the announced size of the message (Limited). It ends calls
// whose message does not arrive (Wait), and slows down reading connections that bring
// calls faster than these end (CountCalls). gRPC's interceptors and limits come too late
// for that, or apply to all services alike. Its tap (grpc.InTapHandle) keeps the
// deadline's timer of every call that it refuses, which may be set for centuries; so
// CountCalls uses the tap only to count.
package admission
