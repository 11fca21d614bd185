// Package clustertest helps tests of what runs on a cluster: nodes over real
// sockets (Start), a TCP proxy in front of each that disturbs what is between
// tasks (Proxy), and certificates (Authority). cluster.NewLocal is the cheaper
// choice where sockets do not matter.
package clustertest
