//go:build !linux && !darwin

package diskspace

// Free is not known here.
func Free(string) (n int64, ok bool) { return 0, false }
