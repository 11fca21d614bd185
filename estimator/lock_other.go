//go:build !unix

package estimator

import "os"

// lockDir does nothing where files cannot be locked as on Unix.
func lockDir(string) (*os.File, error) { return nil, nil }

// replaceLock is not called where nothing can be locked.
func replaceLock(string, os.FileInfo) (*os.File, error) { return nil, nil }

// InUse is false where nothing can be locked.
func InUse(string) (bool, error) { return false, nil }
