package proc

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// signalGroup kills the process, since this system has no other signals.
func signalGroup(p *os.Process, _ syscall.Signal) error { return p.Kill() }
