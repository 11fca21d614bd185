//go:build !notrace

package features

func init() { held["trace"] = true }
