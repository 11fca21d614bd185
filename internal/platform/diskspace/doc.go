// Package diskspace says how much may still be written to a disk.
package diskspace
