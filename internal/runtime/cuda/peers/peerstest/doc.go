// Package peerstest is the contract of peers.Reducer as tests: every form runs them, on emulated GPUs.
package peerstest
