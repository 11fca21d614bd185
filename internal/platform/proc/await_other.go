//go:build !linux

package proc

import "os"

// awaitExit waits for the child.
func awaitExit(p *os.Process) (reap func() (*os.ProcessState, error)) {
	state, err := p.Wait()
	return func() (*os.ProcessState, error) { return state, err }
}
