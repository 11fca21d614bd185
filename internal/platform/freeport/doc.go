// Package freeport finds TCP ports of this machine that nobody uses, and keeps
// them for the processes that shall listen on them.
package freeport
