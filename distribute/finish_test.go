package distribute

import (
	"context"
	"errors"
	"regexp"
	"testing"
)

// TestFinishWithoutAWorker: the chief waits for the others to leave, and warns of the one that does not.
func TestFinishWithoutAWorker(t *testing.T) {
	c := newCrew(t, 3, regression).onHosts()
	c.assemble()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errs := c.each("finish", func(h *hand) error {
		if h.rank != 2 {
			return h.worker.Finish(ctx, true)
		}
		defer cancel() // when worker 1 has left
		_, err := h.job.board.Wait(context.Background(), "left/1/1")
		return err
	})
	if !errors.Is(errs[0], context.Canceled) || errs[1] != nil || errs[2] != nil {
		t.Errorf("got %v", errs)
	}
	late := regexp.MustCompile(`a worker did not end in time.* worker=(\S+)`).FindAllStringSubmatch(c.hands[0].log.String(), -1)
	if len(late) != 1 || late[0][1] != "/job:worker/task:1" {
		t.Errorf("warned of %q, expected the worker of rank 2 alone", late)
	}
}
