// Package atomicfile replaces files so that a crash or a power cut leaves either
// the old content or the new one: write under a temporary name, fsync, rename,
// fsync the directory.
//
// It works on a small file system interface, FS. OS is the real one; Mem is a
// twin in memory that injects errors and shows every state in which a power cut
// could leave the disk.
package atomicfile
