package distribute

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

// session is a Sessions in memory.
type session string

func (s session) Session() (string, error)   { return string(s), nil }
func (s session) SetSession(id string) error { return nil }

// TestForeignServerAtTheStart: a chief finds another job's server at the address of its own. If its job has trained before, as when the chief is started
// again, the server may come back: the chief waits as long as the other tasks do, and then ends as they do, to be started again. Otherwise it is a mistake.
func TestForeignServerAtTheStart(t *testing.T) {
	s, log := newStation(t), slog.New(slog.DiscardHandler)
	s.rejoin = 0.5
	serving, stop := context.WithCancel(t.Context())
	served, ready := make(chan error, 1), make(chan struct{})
	go func() {
		served <- Serve(serving, s.task(t, runconfig.PS, "theirs"), slog.New(atServing{log.Handler(), func() { close(ready) }}))
	}()
	defer func() {
		stop()
		<-served
	}()
	<-ready
	for _, c := range []struct {
		former session
		lost   bool
	}{{"", false}, {"00000000000000ab", true}} {
		job, err := Join(s.task(t, runconfig.Chief, "mine"), log)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(Config{Strategy: runconfig.Strategy{Name: "parameter_server"}, Job: job, Sessions: c.former})
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]*tensor.Tensor{"w": tensor.Scalar(1.0), "seen": tensor.Scalar(0.0), GlobalStep: tensor.Scalar(int64(0))} {
			if err := p.Variables().Create(name, graph.Type{DType: v.DType}, Whole(v)); err != nil {
				t.Fatal(err)
			}
		}
		stepper, err := p.Train(square(graph.NewBuilder(graph.New())))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.(Shared).Synchronize(t.Context(), func() (Notes, error) { return Notes{}, errors.New("there is a server") })
		if errors.Is(err, ErrPeerLost) != c.lost || errors.Is(err, cluster.ErrOtherJob) == c.lost || !strings.Contains(err.Error(), "another job") {
			t.Errorf("former session %q: %v", c.former, err)
		}
		if err := errors.Join(stepper.Close(), p.Close(), job.Close()); err != nil {
			t.Error(err)
		}
	}
}
