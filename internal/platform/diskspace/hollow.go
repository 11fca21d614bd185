package diskspace

import "io/fs"

// A file may be as large as hollowSize, or as hollowRatio times its bytes on disk.
const hollowSize, hollowRatio = 64 << 20, 100

// Hollow reports whether a file is mostly holes, and how many of its bytes are on disk: reading it whole would waste memory. A copy
// of such a file costs next to nothing.
func Hollow(info fs.FileInfo) (n int64, hollow bool) {
	n, ok := written(info)
	return n, ok && info.Size() > hollowSize && info.Size()/hollowRatio > n
}
