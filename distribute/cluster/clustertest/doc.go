// Package clustertest helps tests of what runs on a cluster: nodes over real
// sockets, and a TCP proxy that disturbs what is between them.
package clustertest
