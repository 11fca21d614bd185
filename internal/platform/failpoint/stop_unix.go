//go:build unix

package failpoint

import (
	"fmt"
	"syscall"
	"time"
)

// handling is how many times a continued process sleeps for a millisecond, so that it
// handles signals before it goes on. The time of one long sleep would pass while the
// process is stopped.
const handling = 100

// stop stops this process until it gets SIGCONT.
func stop() error {
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGSTOP); err != nil {
		return fmt.Errorf("failpoint: stop: %w", err)
	}
	for range handling {
		time.Sleep(time.Millisecond)
	}
	return nil
}
