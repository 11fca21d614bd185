// Package peerstest is the contract of peers.Reducer as tests. Every implementation runs them on emulated GPUs.
package peerstest
