package distribute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/keyvalue"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
)

// End is how a job ended.
type End struct {
	Job        cluster.JobID
	Code       int   // the chief's exit code; 0: training is over
	GlobalStep int64 // the step at which training ended
	Reason     string
	At         time.Time
	// Sure says that this is the end of this run of the job, not of an earlier one.
	Sure bool
}

// ErrEnded is wrapped by every EndError.
var ErrEnded = errors.New("the job has ended")

// EndError is the error of a task whose job has ended while it waited for the others.
type EndError struct{ End }

// FailedEnd returns the end that model_dir records.
func FailedEnd(f *checkpoint.Failed) End { return End{Code: f.Code, Reason: f.Reason, At: f.At} }

// err returns the error of an unsuccessful end.
func (e End) err() error {
	if e.Code == 0 {
		return nil
	}
	return &EndError{e}
}

// Unwrap returns ErrEnded.
func (e *EndError) Unwrap() error { return ErrEnded }

// Error says how the job ended.
func (e *EndError) Error() string {
	if e.Code == 0 {
		return fmt.Sprintf("training is over at step %d", e.GlobalStep)
	}
	return fmt.Sprintf("the chief has ended with exit code %d: %s", e.Code, e.Reason)
}

// Ends is what a task knows of the end of its job by itself, not from other tasks.
type Ends struct {
	// Since is when this task began: an end before that may belong to an earlier run.
	Since time.Time
	// Look looks for an end in model_dir; nil: there is no model_dir to look at.
	Look func() (End, bool)
}

const (
	// endKey is the key of a job's End, as JSON, on the key-value store.
	endKey = "job/end"
	// endPoll is how often a waiting task checks whether the job has ended.
	endPoll = time.Second
	// formerEnd is how long a task waits for others if a job had ended before this
	// task began. After that, it counts as the end of this job.
	formerEnd = 5 * time.Minute
)

// unlessEnded runs f, which waits for other tasks, until it returns or the job has ended.
// That is an *EndError. The chief just runs f, since it ends the job itself.
func (j *Job) unlessEnded(ctx context.Context, e *Ends, f func(context.Context) error) error {
	if j.chief() {
		return f(ctx)
	}
	if e == nil {
		e = &Ends{}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	var watchers sync.WaitGroup
	for _, look := range []func(context.Context) (End, bool){e.inModelDir, j.inStore} {
		watchers.Go(func() {
			if end, ok := e.await(waiting, began, look); ok {
				cancel(&EndError{end})
			}
		})
	}
	err := f(waiting)
	cancel(nil)
	watchers.Wait()
	var end *EndError
	if err == nil || !errors.As(err, &end) && !errors.As(context.Cause(waiting), &end) {
		return err
	}
	j.leave(ctx)
	return end
}

// Await returns the end recorded in model_dir, or false at the end of ctx.
func (e *Ends) Await(ctx context.Context) (End, bool) {
	return e.await(ctx, time.Now(), e.inModelDir)
}

// await looks repeatedly until it finds the end of this job, or ctx ends.
func (e *Ends) await(ctx context.Context, began time.Time, look func(context.Context) (End, bool)) (End, bool) {
	tick := time.NewTicker(endPoll)
	defer tick.Stop()
	for {
		if end, ok := look(ctx); ok && e.counts(end, time.Since(began)) {
			return end, true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return End{}, false
		}
	}
}

// counts reports whether an end that was found belongs to this run, after waiting for a time.
func (e *Ends) counts(end End, waited time.Duration) bool {
	switch {
	case end.Sure || !end.At.Before(e.Since):
		return true
	case end.Code != 0 && e.Since.Sub(end.At) <= startTime: // a chief may fail before other tasks have started
		return waited >= startTime/2
	}
	return waited >= formerEnd
}

// inModelDir looks for an end in model_dir.
func (e *Ends) inModelDir(context.Context) (End, bool) {
	if e.Look == nil {
		return End{}, false
	}
	return e.Look()
}

// inStore asks the leader for the end of this job.
func (j *Job) inStore(ctx context.Context) (e End, ok bool) {
	value, ok, err := j.asking().Get(ctx, endKey)
	if err != nil || !ok || json.Unmarshal(value, &e) != nil {
		return End{}, false
	}
	return e, e.Job.Same(j.node.Job())
}

// post puts the end of a job on the key-value store, which is in this process.
func (j *Job) post(ctx context.Context, e End) error {
	value, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return j.store.Set(ctx, endKey, value)
}

// withdraw tells the leader, as soon as it answers, that the job trains again: an end that a standing server
// reports belongs to an earlier run.
func (j *Job) withdraw(ctx context.Context) {
	for j.asking().Set(ctx, endKey, nil) != nil {
		select {
		case <-time.After(membersPoll):
		case <-ctx.Done():
			return
		}
	}
}

// leave tells the leader that this task will not come again.
func (j *Job) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// A leader that is gone need not know.
	_, _ = j.asking().Beat(ctx, keyvalue.Beat{Rank: max(j.rank, 0), Done: true})
}

// lingerTime is how long the leader of an ended job stays to tell late tasks.
const lingerTime = 5 * time.Second

// linger returns when all workers have left or know of the end, or after lingerTime.
func (j *Job) linger(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lingerTime)
	defer cancel()
	for {
		late, err := j.late(ctx)
		if err != nil || len(late) == 0 {
			return
		}
		select {
		case <-time.After(membersPoll / 2):
		case <-ctx.Done():
			return
		}
	}
}

// late returns the workers, except the chief, that have not left yet.
func (j *Job) late(ctx context.Context) ([]cluster.Task, error) {
	members, err := j.store.Members(ctx)
	if err != nil {
		return nil, err
	}
	left := map[cluster.Task]bool{}
	for _, m := range members {
		left[m.Task] = m.State == keyvalue.Done
	}
	var out []cluster.Task
	for _, w := range j.workers {
		if w != j.chiefTask() && !left[w] {
			out = append(out, w)
		}
	}
	return out, nil
}
