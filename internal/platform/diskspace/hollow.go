package diskspace

import "io/fs"

// A file may be as large as hollowSize, or as hollowRatio times what was written of it.
const hollowSize, hollowRatio = 64 << 20, 100

// Hollow reports whether a file is hardly more than holes, and how many of its bytes were written: reading it whole would take memory
// for nothing. A copy of such a file costs next to nothing.
func Hollow(info fs.FileInfo) (n int64, hollow bool) {
	n, ok := written(info)
	return n, ok && info.Size() > hollowSize && info.Size()/hollowRatio > n
}
