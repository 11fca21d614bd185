package feature

import "github.com/goestimator/goestimator/internal/imported/fingerprint"

// Fingerprint64 returns the fingerprint with which TensorFlow hashes strings.
func Fingerprint64(s []byte) uint64 { return fingerprint.Hash64(s) }

// FingerprintCat64 chains fingerprint b to a, as crosses do.
func FingerprintCat64(a, b uint64) uint64 { return fingerprint.Cat64(a, b) }
