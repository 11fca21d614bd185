package proc

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// signalGroup ends the process: there are no other signals here.
func signalGroup(p *os.Process, _ syscall.Signal) error { return p.Kill() }
