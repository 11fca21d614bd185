//go:build !unix

package filelock

import "os"

// Try does nothing on systems without Unix file locks.
func Try(*os.File) error { return nil }
