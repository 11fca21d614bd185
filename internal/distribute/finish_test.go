package distribute

import (
	"context"
	"regexp"
	"testing"
	"time"
)

// TestFinishWithoutAWorker: if training continues later, the chief waits a moment, less than for workers
// that start again, and reports which have not left.
func TestFinishWithoutAWorker(t *testing.T) {
	c := newCrew(t, 3, regression).onHosts()
	c.rejoin = 600
	c.assemble()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := c.hands[1].job.store.Set(ctx, "left/1/1", nil); err != nil {
		t.Fatal(err)
	}
	if err := c.hands[0].worker.Finish(ctx, false); err != nil {
		t.Errorf("got %v, expected that the chief ends", err)
	}
	warned := regexp.MustCompile(`workers did not end in time.* workers=(\S+)`).FindAllStringSubmatch(c.hands[0].log.String(), -1)
	if len(warned) != 1 || warned[0][1] != "[/job:worker/task:1]" {
		t.Errorf("warned of %q, expected the worker of rank 2 alone", warned)
	}
}
