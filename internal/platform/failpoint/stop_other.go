//go:build !unix

package failpoint

import "errors"

func stop() error { return errors.New("failpoint: a process cannot stop itself on this system") }
