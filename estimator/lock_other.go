//go:build !unix

package estimator

import "os"

// lockDir does nothing where files cannot be locked as on Unix.
func lockDir(string) (*os.File, error) { return nil, nil }

// replaceLock is not called where nothing can be locked.
func replaceLock(string, os.FileInfo) (*os.File, error) { return nil, nil }
