//go:build !unix

package diskspace

import "io/fs"

// Written is not known here.
func Written(fs.FileInfo) (n int64, ok bool) { return 0, false }
