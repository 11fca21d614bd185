//go:build unix

package proc

import (
	"os"
	"syscall"
)

// signalGroup signals all processes of the group.
func signalGroup(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }
