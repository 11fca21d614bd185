// Package clustertest helps tests of programs on a cluster: nodes over real
// sockets (Start), a TCP proxy in front of each that disturbs the connections
// between tasks (Proxy), and certificates (Authority). If sockets do not
// matter, use cluster.NewLocal.
package clustertest
