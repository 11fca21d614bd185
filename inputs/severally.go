package inputs

import (
	"sync"
	"sync/atomic"
)

// severally calls f with the numbers below n, in workers goroutines. It returns the error of the lowest number that fails; after a
// failure no further calls begin. It panics in the caller's goroutine if f does.
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
	for _, o := range outcomes { // calls begin in order, so all numbers below a failed one have ended
		if o.panicked {
			panic(o.value)
		}
		if o.err != nil {
			return o.err
		}
	}
	return nil
}

// outcome is the result of a call.
type outcome struct {
	err      error
	panicked bool
	value    any // the panic's value
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
