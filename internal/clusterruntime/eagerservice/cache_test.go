package eagerservice

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestCacheErrors: a caller that waits for another caller's result does not get that caller's errors.
func TestCacheErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache[int]
		fail := make(chan struct{})
		go func() {
			_, err := c.get(context.Background(), "a", func() (int, error) {
				<-fail
				return 0, context.Canceled
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, expected the caller's own error", err)
			}
		}()
		synctest.Wait()
		go func() {
			if v, err := c.get(context.Background(), "a", func() (int, error) { return 7, nil }); v != 7 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		}()
		synctest.Wait()
		close(fail)
		synctest.Wait()
	})
}
