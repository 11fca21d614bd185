package distribute

import (
	"errors"
	"sync"
)

// together does n independent pieces of work in parallel, at most limit at a time; 0: all. It returns their errors in
// order.
func together(n, limit int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	failed, next := make([]error, n), make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	if limit < 1 || limit > n {
		limit = n
	}
	var all sync.WaitGroup
	for range limit {
		all.Go(func() {
			for i := range next {
				failed[i] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}
