// Package freeport finds unused TCP ports of this machine, and keeps them for
// the processes that will listen on them.
package freeport
