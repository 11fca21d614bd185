//go:build !nogpu

package features

func init() { held["gpu"] = true }
