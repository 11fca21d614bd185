//go:build !unix

package estimator

import "os"

// lockDir does nothing: files cannot be locked as on Unix.
func lockDir(string) (*os.File, error) { return nil, nil }

// replaceLock is never called, since no lock was taken.
func replaceLock(string, os.FileInfo) (*os.File, error) { return nil, nil }

// InUse returns false, since files cannot be locked here.
func InUse(string) (bool, error) { return false, nil }
