// Package diskspace says how much may still be written to a disk, and how much of a file was.
package diskspace
