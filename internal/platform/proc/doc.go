// Package proc runs child processes that end with their parent: each has its own
// process group, signals go to the whole group, and on Linux the kernel kills the
// child when its parent dies.
package proc
