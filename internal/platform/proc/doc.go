// Package proc runs child processes that are ended with their parent: each is a
// process group of its own, signals go to the whole group, and on Linux the kernel
// kills the child when its parent dies.
package proc
