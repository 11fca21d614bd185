//go:build !unix

package diskspace

import "io/fs"

// written is not known here.
func written(fs.FileInfo) (n int64, ok bool) { return 0, false }
