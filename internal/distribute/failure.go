package distribute

import (
	"context"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/runconfig"
)

// failTime bounds how long a task that fails tries to tell the others.
const failTime = 10 * time.Second

// Fail tells the others that this task ends with a code that does not ask for a restart.
// If it is the chief, parameter servers and workers that look for it end with its code. If
// it is a worker, the others just stop waiting for it.
func (j *Job) Fail(ctx context.Context, code int, reason string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), failTime)
	defer cancel()
	var err error
	switch {
	case !j.chief():
		j.leave(ctx)
	case len(j.servers) > 0:
		client := ps.NewClient(ps.ClientConfig{Client: j.node, Servers: j.servers, Log: j.log})
		err = client.Finish(ctx, ps.Outcome{Reason: reason, Code: code})
	case j.leads():
		err = j.post(ctx, End{Job: j.node.Job(), Code: code, Reason: reason, At: time.Now(), Sure: true})
		j.linger(ctx)
	}
	if err != nil {
		j.log.Warn("the other tasks were not informed that this one ends with an error", "error", err)
	}
}

// Fail is Job.Fail for a task that failed before it joined its job.
func Fail(ctx context.Context, rc runconfig.RunConfig, log *slog.Logger, code int, reason string) error {
	j, err := Join(rc, log)
	if err != nil {
		return err
	}
	j.Fail(ctx, code, reason)
	return j.Close()
}
