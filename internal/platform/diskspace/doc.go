// Package diskspace tells how much can still be written to a disk, and how much of a file is on it.
package diskspace
