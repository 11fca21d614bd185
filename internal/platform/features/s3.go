//go:build !nobuckets

package features

func init() { held["s3"] = true }
