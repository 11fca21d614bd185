package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns once the child has ended, but leaves it as a zombie, so that
// no other process gets its group's number before reap is called.
func awaitExit(p *os.Process) (reap func() (*os.ProcessState, error)) {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return p.Wait
		}
	}
}
