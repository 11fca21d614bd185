package inputs

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// TestSeverallyReportsTheLowest: the error does not depend on which goroutine is first, and f was called for every number below it.
func TestSeverallyReportsTheLowest(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5, 40} {
		for range 50 {
			called := make([]atomic.Int32, 30)
			err := severally(30, workers, func(i int) error {
				called[i].Add(1)
				if i%10 == 7 {
					return fmt.Errorf("number %d", i)
				}
				return nil
			})
			if err == nil || err.Error() != "number 7" {
				t.Fatalf("%d workers: got %v", workers, err)
			}
			for i := range 8 {
				if n := called[i].Load(); n != 1 {
					t.Fatalf("%d workers called number %d %d times", workers, i, n)
				}
			}
		}
		sum := atomic.Int64{}
		if err := severally(30, workers, func(i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 435 {
			t.Errorf("%d workers: got %v, sum %d, expected 435", workers, err, sum.Load())
		}
		if err := severally(0, workers, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestSeverallyPanicsInTheCaller: the caller can recover a panic of any goroutine.
func TestSeverallyPanicsInTheCaller(t *testing.T) {
	for _, workers := range []int{1, 3} {
		got := func() (p any) {
			defer func() { p = recover() }()
			_ = severally(5, workers, func(i int) error {
				if i == 3 {
					panic("damaged")
				}
				return nil
			})
			return nil
		}()
		if got != "damaged" {
			t.Errorf("%d workers: recovered %v", workers, got)
		}
	}
}
