//go:build gcs

package features

func init() { held["gcs"] = true }
