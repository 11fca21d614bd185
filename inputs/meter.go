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

// A Meter measures how long the steps of pipelines work, without the time in which they wait for each other. It looks at one of
// sampleEvery records, and takes the others to be like it.
type Meter struct {
	now   func() time.Time
	every int
	mu    sync.Mutex
	steps map[*node]*stepClock
	order []*stepClock
	parts map[behind]int
}

// behind is what works ahead for a node: what it reads, or its own workers.
type behind struct {
	node    *node
	workers bool
}

// sampleEvery is a prime, so that steps which do more for every so many records are seen as they are.
const sampleEvery = 7

// StepTime is how long one step of a pipeline has worked.
type StepTime struct {
	Name string // of the step, such as shuffle, or of the source's format
	// Part numbers the parts of the pipeline that work at the same time: Prefetch and ParallelMap divide it. The steps of a
	// part work in turn.
	Part int
	Busy time.Duration // since the Meter was made; of several workers their mean
}

// stepClock is the time of a step.
type stepClock struct {
	name string
	part int
	busy atomic.Int64 // nanoseconds
}

// part is what one goroutine does in a pass.
type part struct {
	meter  *Meter
	number int
	pulls  int           // by what is outside of the part
	depth  int           // steps that are calling each other now
	nested time.Duration // in the steps that the present one has called
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

// Steps returns the times so far, the steps in the order in which they were opened.
func (m *Meter) Steps() []StepTime {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]StepTime, len(m.order))
	for i, c := range m.order {
		out[i] = StepTime{Name: c.name, Part: c.part, Busy: time.Duration(c.busy.Load())}
	}
	return out
}

// partBehind numbers a part.
func (m *Meter) partBehind(n behind) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.parts[n]; !ok {
		m.parts[n] = len(m.parts)
	}
	return m.parts[n]
}

// clock is the clock of a node, the same in all passes.
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

// stepName is the name of a node's step, without its settings.
func (n *node) stepName() string {
	if n.label != "" {
		return n.label
	}
	return nameOf(n.desc[strings.LastIndexByte(n.desc, '|')+1:])
}

// nameOf is what stands before settings.
func nameOf(text string) string {
	if i := strings.IndexAny(text, "([{,\"*"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// inBackground is the context of what is done ahead for a node.
func inBackground(ctx context.Context, n *node) context.Context {
	p := partOf(ctx)
	if p == nil {
		return ctx
	}
	return withPart(ctx, &part{meter: p.meter, number: p.meter.partBehind(behind{node: n})})
}

// unmeasured is the context of data sets of other packages, whose goroutines are their own.
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
	clock *stepClock // nil: a stage that waits for others
}

// metered returns the stage of a node, measured if the pass is.
func metered(ctx context.Context, n *node, st stage) stage {
	p := partOf(ctx)
	if p == nil {
		return st
	}
	m := &meteredStage{stage: st, part: p}
	if a, ok := st.(*aheadStage); !ok {
		m.clock = p.meter.clock(n, p.number)
	} else if a.m != nil {
		a.clock = p.meter.clock(n, p.meter.partBehind(behind{n, true})) // which its workers share
	}
	return m
}

// unmetered is the stage that a measured one measures.
func unmetered(st stage) stage {
	if m, ok := st.(*meteredStage); ok {
		return m.stage
	}
	return st
}

// pull pulls, and counts the time of the stage where it is one of those that are looked at.
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

// timed counts the time of the stage without that of the stages which it calls.
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

// Bottleneck names the step that bounds the speed of a pipeline between two readings of its Meter: of the part that has worked
// longest, the step that has. "" where none has worked.
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
