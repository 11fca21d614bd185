package profiler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/printable"
	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/profiler/pb"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// traffic counts requests.
type traffic struct {
	requests, errors int
	latency          time.Duration // sum over all requests
}

func (t *traffic) add(c inference.Call) {
	t.requests++
	t.latency += c.Latency
	if c.Err != nil {
		t.errors++
	}
}

// line describes the traffic t during d.
func (t traffic) line(name string, d time.Duration) string {
	mean := time.Duration(0)
	if t.requests > 0 {
		mean = t.latency / time.Duration(t.requests)
	}
	return fmt.Sprintf("%s: %d requests (%.1f/s), %d errors, mean latency %.3f ms\n", name, t.requests, float64(t.requests)/d.Seconds(), t.errors, float64(mean)/1e6)
}

// monitor is a running call of Monitor.
type monitor struct {
	all       traffic
	byVersion map[servable.ID]*traffic // of versions that answered
}

// Done implements inference.Observer.
func (s *Service) Done(c inference.Call) {
	if r := timeline.Active(); r != nil {
		r.Add(requestEvent(c))
	}
	if !s.watched.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.monitors {
		m.all.add(c)
		if c.ID.Name == "" {
			continue
		}
		if m.byVersion[c.ID] == nil {
			m.byVersion[c.ID] = &traffic{}
		}
		m.byVersion[c.ID].add(c)
	}
}

// requestEvent is a call as an event.
func requestEvent(c inference.Call) timeline.Event {
	name := c.API
	if c.ID.Name != "" {
		name += " " + c.ID.Name
	}
	return timeline.Event{Line: timeline.Requests, Name: name, Start: c.Start, Duration: c.Latency, Stats: []timeline.Stat{
		{Name: "version", Number: c.ID.Version}, {Name: "entrypoint", Text: c.Entrypoint}, {Name: "code", Text: status.Code(c.Err).String()},
		{Name: "model_us", Number: c.Runtime.Microseconds()}}}
}

// Monitor watches requests for the duration and answers with a text: a line for all requests, and from level 2 on one for each version
// that answered.
func (s *Service) Monitor(ctx context.Context, r *pb.MonitorRequest) (*pb.MonitorResponse, error) {
	d, err := duration(r.GetDurationMs())
	if err != nil {
		return nil, err
	}
	m := &monitor{byVersion: map[servable.ID]*traffic{}}
	if err := s.watch(m); err != nil {
		return nil, err
	}
	began := time.Now()
	err = s.wait(ctx, d, &capture{})
	s.unwatch(m)
	if err != nil {
		return nil, err
	}
	return &pb.MonitorResponse{Data: s.text(m, r, time.Since(began))}, nil
}

func (s *Service) watch(m *monitor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.monitors) >= maxMonitors {
		return status.Errorf(codes.ResourceExhausted, "%d calls of Monitor are going on: expected fewer; wait for the end of one", maxMonitors)
	}
	s.monitors = append(s.monitors, m)
	s.watched.Store(true)
	return nil
}

func (s *Service) unwatch(m *monitor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitors = slices.DeleteFunc(s.monitors, func(x *monitor) bool { return x == m })
	s.watched.Store(len(s.monitors) > 0)
}

// text describes what m has seen during d.
func (s *Service) text(m *monitor, r *pb.MonitorRequest, d time.Duration) string {
	var b strings.Builder
	if r.GetTimestamp() {
		fmt.Fprintf(&b, "Timestamp: %s\n", time.Now().UTC().Format(time.DateTime))
	}
	b.WriteString(m.all.line("server", d))
	if s.Queued != nil {
		fmt.Fprintf(&b, "waiting: %.0f\n", s.Queued())
	}
	if r.GetMonitoringLevel() < 2 {
		return b.String()
	}
	ids := make([]servable.ID, 0, len(m.byVersion))
	for id := range m.byVersion {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b servable.ID) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	for _, id := range ids {
		b.WriteString(m.byVersion[id].line(fmt.Sprintf("%s version %d", printable.Text(id.Name), id.Version), d))
	}
	return b.String()
}
