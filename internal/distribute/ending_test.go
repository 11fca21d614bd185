package distribute

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goestimator/goestimator/internal/platform/freeport"
	"github.com/goestimator/goestimator/runconfig"
)

// TestWhichEndCounts: a sure end counts, and one since the task began. An older end counts
// only if no task has started again for a long time.
func TestWhichEndCounts(t *testing.T) {
	for _, c := range []struct {
		name string
		sure bool
		at   time.Duration // of the end, after the task began
		want time.Duration // until it counts
	}{
		{"sure, old", true, -time.Hour, 0},
		{"old", false, -time.Nanosecond, formerEnd},
		{"as the task began", false, 0, 0},
		{"later", false, time.Nanosecond, 0},
		{"failure just before", false, -startTime, startTime / 2},
		{"older failure", false, -startTime - time.Nanosecond, formerEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				e := &Ends{Since: began}
				end, ok := e.await(t.Context(), began, func(context.Context) (End, bool) {
					end := End{GlobalStep: 7, Sure: c.sure, At: began.Add(c.at)}
					if strings.Contains(c.name, "failure") {
						end.Code = 1
					}
					return end, true
				})
				if took := time.Since(began); !ok || end.GlobalStep != 7 || took != c.want {
					t.Errorf("%+v, %v after %v, expected after %v", end, ok, took, c.want)
				}
			})
		})
	}
}

// TestEndThatIsTakenBack: a restarted chief withdraws the end that an earlier run reported.
func TestEndThatIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*formerEnd)
		defer cancel()
		e := &Ends{Since: began}
		if end, ok := e.await(ctx, began, func(context.Context) (End, bool) {
			return End{At: began.Add(-time.Second)}, time.Since(began) < formerEnd
		}); ok {
			t.Errorf("%+v counts, expected that nothing does", end)
		}
	})
}

// station is a cluster of a chief, a worker and a parameter server.
type station struct {
	ports  *freeport.Reservation
	rejoin float64 // rpc.rejoin_secs
}

func newStation(t *testing.T) station {
	t.Helper()
	ports, err := freeport.Reserve(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ports.Close() })
	return station{ports, 30}
}

// task is the configuration of one of its tasks.
func (s station) task(t *testing.T, typ, job string) runconfig.RunConfig {
	t.Helper()
	rpc := runconfig.RPC{Security: "auto", PeerTimeoutSecs: 10, RejoinSecs: s.rejoin, CallTimeoutSecs: 20, MaxMessageMB: 64}
	text := fmt.Sprintf(`{"cluster":{"chief":[%q],"worker":[%q],"ps":[%q]},"task":{"type":%q,"index":0}}`, s.ports.Address(0), s.ports.Address(1), s.ports.Address(2), typ)
	rc, err := runconfig.FromTFConfig(text, runconfig.Connections(rpc), runconfig.SessionCreationTimeoutSecs(60), runconfig.JobID(job))
	if err != nil {
		t.Fatal(err)
	}
	return rc
}

// TestStandingServerTellsOfFormerJob: a standing server continues to report the end of its
// last job to that job's tasks, and to no others.
func TestStandingServerTellsOfFormerJob(t *testing.T) {
	s, log := newStation(t), slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	rc := s.task(t, runconfig.PS, "")
	go func() { served <- ServeJobs(ctx, rc, log, Standing{}) }()
	defer func() {
		stop()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("the server: %v", err)
		}
	}()
	began := time.Now()
	if err := Release(t.Context(), s.task(t, runconfig.Chief, ""), log, 42); err != nil {
		t.Fatal(err)
	}
	worker, err := open(s.task(t, runconfig.Worker, ""), log, false)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// The server takes a moment to start again; the worker began before the end.
	end, ok := (&Ends{Since: began}).await(limited, began, worker.inStore)
	if !ok || end.GlobalStep != 42 || end.Code != 0 || end.Sure {
		t.Errorf("%+v, %v, expected the end at step 42, of which nobody is sure that it is this run's", end, ok)
	}
	end.Job.Lead++
	if worker.node.Job().Same(end.Job) {
		t.Error("a worker of another job takes the end for its own")
	}
	chief, err := open(s.task(t, runconfig.Chief, ""), log, false)
	if err != nil {
		t.Fatal(err)
	}
	defer chief.Close()
	chief.withdraw(limited)
	if end, ok := worker.inStore(limited); ok {
		t.Errorf("a chief trains anew, and the end of the run before is told still: %+v", end)
	}
}

// atServing is a log handler that calls a function when a server is about to wait for the end of its job.
type atServing struct {
	slog.Handler
	f func()
}

func (h atServing) Enabled(context.Context, slog.Level) bool { return true }

func (h atServing) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "serving variables" {
		h.f()
	}
	return nil
}

// TestFailureWithTheSignal: a server that gets a signal and its job's failure at the same time ends with the code of the failure.
func TestFailureWithTheSignal(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for range 8 {
		s := newStation(t)
		ctx, stop := context.WithCancel(t.Context())
		log := slog.New(atServing{quiet.Handler(), func() {
			if err := Fail(t.Context(), s.task(t, runconfig.Chief, ""), quiet, 2, "no input"); err != nil {
				t.Error(err)
			}
			stop()
		}})
		err := Serve(ctx, s.task(t, runconfig.PS, ""), log)
		if end, ok := errors.AsType[*EndError](err); !ok || end.Code != 2 || end.Reason != "no input" {
			t.Fatalf("got %v, expected the end of the job with code 2", err)
		}
	}
}

func TestEndErrorIsErrEnded(t *testing.T) {
	err := fmt.Errorf("joining: %w", &EndError{End{Code: 3, Reason: "no data"}})
	var end *EndError
	if !errors.Is(err, ErrEnded) || !errors.As(err, &end) || end.Error() != "the chief has ended with exit code 3: no data" {
		t.Errorf("got %v", err)
	}
}
