package inputs

import (
	"sync"
	"sync/atomic"
)

// severally calls f with the numbers below n, in as many goroutines as there are workers. It returns the error of the lowest number that has one, and
// no further calls begin. A panic of f goes on in the goroutine of the caller.
func severally(n, workers int, f func(i int) error) error {
	if workers = min(workers, n); workers < 2 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	outcomes := make([]outcome, n)
	var next atomic.Int64
	var failed atomic.Bool
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				outcomes[i].of(f, i)
				if outcomes[i] != (outcome{}) {
					failed.Store(true)
				}
			}
		})
	}
	running.Wait()
	for _, o := range outcomes { // numbers begin in order: those below one that failed have ended
		if o.panicked {
			panic(o.value)
		}
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// outcome is how a call ended.
type outcome struct {
	err      error
	panicked bool
	value    any // of the panic
}

func (o *outcome) of(f func(int) error, i int) {
	o.panicked = true
	defer func() {
		if o.panicked {
			o.value = recover()
		}
	}()
	o.err = f(i)
	o.panicked = false
}
