//go:build !noserve

package features

func init() { held["serve"] = true }
