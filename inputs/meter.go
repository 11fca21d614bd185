package inputs

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
)

// A Meter measures how long the steps of pipelines work, without the time in which they wait for each other. It measures one of
// every sampleEvery records, and scales the times up.
type Meter struct {
	now   func() time.Time
	every int
	mu    sync.Mutex
	steps map[*node]*stepClock
	order []*stepClock
	parts map[behind]int
}

// behind is the part of a pipeline that works ahead for a node: its upstream, or its own workers.
type behind struct {
	node    *node
	workers bool
}

// sampleEvery is a prime, so that a step which does more work at regular intervals is measured fairly.
const sampleEvery = 7

// StepTime is how long one step of a pipeline has worked.
type StepTime struct {
	Name string // name of the step, such as shuffle, or format of the source
	// Part numbers the parts of the pipeline that work in parallel; Prefetch and ParallelMap divide it. The steps of a
	// part work in turn.
	Part int
	Busy time.Duration // since the Meter was made; for several workers, their mean
}

// stepClock is the working time of a step.
type stepClock struct {
	name string
	part int
	busy atomic.Int64 // nanoseconds
}

// part is the work of one goroutine in a pass.
type part struct {
	meter  *Meter
	number int
	pulls  int           // calls from outside the part
	depth  int           // nested calls of steps
	nested time.Duration // time in the steps that the current one called
}

type meterKey struct{}

// NewMeter returns a meter that has measured nothing.
func NewMeter() *Meter {
	return &Meter{now: time.Now, every: sampleEvery, steps: map[*node]*stepClock{}, parts: map[behind]int{{}: 0}}
}

// WithMeter returns a context whose passes are measured by m.
func WithMeter(ctx context.Context, m *Meter) context.Context {
	return withPart(ctx, &part{meter: m})
}

func withPart(ctx context.Context, p *part) context.Context {
	return context.WithValue(ctx, meterKey{}, p)
}

func partOf(ctx context.Context) *part {
	p, _ := ctx.Value(meterKey{}).(*part)
	return p
}

// Steps returns the times so far, in the order in which the steps were opened.
func (m *Meter) Steps() []StepTime {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]StepTime, len(m.order))
	for i, c := range m.order {
		out[i] = StepTime{Name: c.name, Part: c.part, Busy: time.Duration(c.busy.Load())}
	}
	return out
}

// partBehind returns the number of a part.
func (m *Meter) partBehind(n behind) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.parts[n]; !ok {
		m.parts[n] = len(m.parts)
	}
	return m.parts[n]
}

// clock returns the clock of a node, the same one in all passes.
func (m *Meter) clock(n *node, part int) *stepClock {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.steps[n]
	if c == nil {
		c = &stepClock{name: n.stepName(), part: part}
		m.steps[n], m.order = c, append(m.order, c)
	}
	return c
}

// stepName returns the name of a node's step, without its settings.
func (n *node) stepName() string {
	if n.label != "" {
		return n.label
	}
	return nameOf(n.desc[strings.LastIndexByte(n.desc, '|')+1:])
}

// nameOf returns the text before the settings.
func nameOf(text string) string {
	if i := strings.IndexAny(text, "([{,\"*"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// inBackground returns the context for work done ahead for a node.
func inBackground(ctx context.Context, n *node) context.Context {
	p := partOf(ctx)
	if p == nil {
		return ctx
	}
	return withPart(ctx, &part{meter: p.meter, number: p.meter.partBehind(behind{node: n})})
}

// unmeasured returns the context for data sets of other packages, which have their own goroutines.
func unmeasured(ctx context.Context) context.Context {
	if partOf(ctx) == nil {
		return ctx
	}
	return withPart(ctx, nil)
}

// meteredStage measures a stage.
type meteredStage struct {
	stage
	part  *part
	clock *stepClock // nil: the stage only waits for others
}

// metered returns the stage of a node, measured if the pass has a Meter.
func metered(ctx context.Context, n *node, st stage) stage {
	p := partOf(ctx)
	if p == nil {
		return st
	}
	m := &meteredStage{stage: st, part: p}
	if a, ok := st.(*aheadStage); !ok {
		m.clock = p.meter.clock(n, p.number)
	} else if a.m != nil {
		a.clock = p.meter.clock(n, p.meter.partBehind(behind{n, true})) // shared by its workers
	}
	return m
}

// unmetered returns the stage inside a meteredStage, perhaps of openLater, or st itself.
func unmetered(st stage) stage {
	if l, ok := st.(laterStage); ok {
		st = l.stage
	}
	if m, ok := st.(*meteredStage); ok {
		return m.stage
	}
	return st
}

// pull pulls, and measures one of every few calls.
func (s *meteredStage) pull(ctx context.Context, limit int) (arrow.Record, error) {
	p := s.part
	if p.depth == 0 {
		p.pulls++
	}
	p.depth++
	defer func() { p.depth-- }()
	if p.pulls%p.meter.every != 0 {
		return s.stage.pull(ctx, limit)
	}
	return s.timed(ctx, limit)
}

// timed measures the time of the stage without the stages that it calls.
func (s *meteredStage) timed(ctx context.Context, limit int) (arrow.Record, error) {
	p := s.part
	began, outer := p.meter.now(), p.nested
	p.nested = 0
	rec, err := s.stage.pull(ctx, limit)
	took := p.meter.now().Sub(began)
	if s.clock != nil {
		s.clock.busy.Add(int64(p.meter.every) * int64(took-p.nested))
	}
	p.nested = outer + took
	return rec, err
}

// Bottleneck names the step that limited a pipeline between two readings of its Meter: the busiest step of the busiest
// part. It is "" if no step has worked.
func Bottleneck(before, after []StepTime) string {
	now := slices.Clone(after)
	total := map[int]time.Duration{}
	for i := range now {
		if i < len(before) {
			now[i].Busy -= before[i].Busy
		}
		total[now[i].Part] += now[i].Busy
	}
	var most StepTime
	for _, s := range now {
		if s.Busy > 0 && (most.Busy == 0 || total[s.Part] > total[most.Part] || s.Part == most.Part && s.Busy > most.Busy) {
			most = s
		}
	}
	return most.Name
}
