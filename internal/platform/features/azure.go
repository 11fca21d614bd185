//go:build azure

package features

func init() { held["azure"] = true }
