//go:build sqlite

package features

func init() { held["sqlite"] = true }
