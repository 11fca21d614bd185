package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/tensor"
	"pgregory.net/rapid"
)

// TestValuesForgetArguments: the value of an ended call does not keep its arguments alive.
func TestValuesForgetArguments(t *testing.T) {
	q, ctx := newQueue(2), t.Context()
	var values [2]*Value
	for i := range values {
		var err error
		if values[i], err = q.put(ctx, Call{Function: "f", Args: []Arg{{Tensor: tensor.Scalar(1.0)}}}); err != nil {
			t.Fatal(err)
		}
	}
	run, err := q.next(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	q.finish(run.value, nil, nil)
	q.close() // cancels the other
	for i, v := range values {
		if v.call.Args != nil {
			t.Errorf("call %d has arguments: %v", i, v.call.Args)
		}
	}
}

// model is the specification of a queue in simple terms.
type model struct {
	queue   *queue
	limit   int
	waiting []int // calls by number
	running []int
	ctx     map[int]context.Context // of running calls
	values  []*Value                // by number
	want    []error                 // of calls that have ended, by number
	ended   map[int]bool
	err     error
	made    int // errors so far
}

// stuck is a context that has ended: waits return at once.
var stuck = func() context.Context { ctx, end := context.WithCancel(context.Background()); end(); return ctx }()

func newModel(limit int) *model {
	return &model{queue: newQueue(limit), limit: limit, ctx: map[int]context.Context{}, ended: map[int]bool{}}
}

func (m *model) end(n int, err error) { m.want[n], m.ended[n] = err, true }

// raised is the error that the next caller should get.
func (m *model) raised() (err error) {
	if len(m.running) == 0 {
		err, m.err = m.err, nil
	}
	return err
}

func (m *model) fail(err error) {
	m.err = err
	for _, n := range m.waiting {
		m.end(n, ErrCancelled)
	}
	m.waiting = nil
}

func (m *model) put(t *rapid.T) {
	pending := m.err != nil
	want := m.raised()
	v, err := m.queue.put(stuck, Call{Function: fmt.Sprint(len(m.values))})
	switch {
	case want != nil:
		same(t, "put", err, want)
	case pending || len(m.waiting) >= m.limit: // calls of lost workers may exceed the limit
		same(t, "put, which waits", err, context.Canceled)
	default:
		same(t, "put", err, nil)
		m.waiting = append(m.waiting, len(m.values))
		m.values, m.want = append(m.values, v), append(m.want, nil)
	}
}

func (m *model) join(t *rapid.T) {
	busy := m.err != nil || len(m.waiting)+len(m.running) > 0
	want := m.raised()
	if want == nil && busy {
		want = context.Canceled
	}
	same(t, "join", m.queue.join(stuck), want)
}

func (m *model) done(t *rapid.T) {
	idle := m.err == nil && len(m.waiting)+len(m.running) == 0
	want := m.raised()
	done, err := m.queue.done()
	same(t, "done", err, want)
	if done != (idle && want == nil) {
		t.Fatalf("done is %v", done)
	}
}

func (m *model) take(t *rapid.T) {
	if len(m.waiting) == 0 {
		_, err := m.queue.next(stuck, 0, 0)
		same(t, "next, which waits", err, context.Canceled)
		return
	}
	got, err := m.queue.next(context.Background(), 0, 0)
	same(t, "next", err, nil)
	n := m.waiting[0]
	if got.value != m.values[n] {
		t.Fatalf("call %s came, expected %d", got.value.call.Function, n)
	}
	m.waiting, m.running = m.waiting[1:], append(m.running, n)
	m.ctx[n] = got.ctx
}

// leave draws a running call, and ends its run.
func (m *model) leave(t *rapid.T) int {
	if len(m.running) == 0 {
		t.Skip("nothing runs")
	}
	i := rapid.IntRange(0, len(m.running)-1).Draw(t, "of those that run")
	n := m.running[i]
	m.running = slices.Delete(m.running, i, i+1)
	return n
}

func (m *model) succeed(t *rapid.T) {
	n := m.leave(t)
	m.end(n, nil)
	m.queue.finish(m.values[n], []*tensor.Tensor{tensor.Scalar(int64(n))}, nil)
}

func (m *model) failOne(t *rapid.T) {
	n := m.leave(t)
	m.made++
	err := fmt.Errorf("error %d", m.made)
	if m.err != nil {
		m.end(n, ErrCancelled)
	} else {
		m.end(n, err)
		m.fail(err)
	}
	m.queue.finish(m.values[n], nil, err)
}

func (m *model) lose(t *rapid.T) {
	n := m.leave(t)
	if m.err != nil {
		m.end(n, ErrCancelled)
	} else {
		m.waiting = slices.Insert(m.waiting, 0, n)
	}
	m.queue.again(m.values[n])
}

func (m *model) failAll(*rapid.T) {
	err := errors.New("error of none")
	if m.err == nil && len(m.waiting)+len(m.running) > 0 {
		m.fail(err)
	}
	m.queue.failCalls(err)
}

// check compares everything that is observable.
func (m *model) check(t *rapid.T) {
	for n, v := range m.values {
		if v.Ready() != m.ended[n] {
			t.Fatalf("call %d has ended: %v, expected %v", n, v.Ready(), m.ended[n])
		}
		if m.ended[n] {
			result, err := v.Fetch(stuck)
			if err == nil && result[0].Int(0) != int64(n) {
				t.Fatalf("call %d has another's result", n)
			}
			same(t, "fetch", err, m.want[n])
		}
	}
	for _, n := range m.running {
		if cancelled := m.ctx[n].Err() != nil; cancelled != (m.err != nil) {
			t.Fatalf("call %d, which runs, is cancelled: %v", n, cancelled)
		}
	}
	if len(m.queue.running) != len(m.running) || len(m.queue.waiting) != len(m.waiting) {
		t.Fatalf("%d run and %d wait, expected %d and %d", len(m.queue.running), len(m.queue.waiting), len(m.running), len(m.waiting))
	}
}

func same(t *rapid.T, what string, got, want error) {
	t.Helper()
	if got != want && (got == nil || want == nil || got.Error() != want.Error()) {
		t.Fatalf("%s: %v, expected %v", what, got, want)
	}
}

// TestQueueIsTheModel: for any operations in any order.
func TestQueueIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.IntRange(1, 5).Draw(t, "limit"))
		t.Repeat(map[string]func(*rapid.T){
			"put": m.put, "join": m.join, "done": m.done, "take": m.take,
			"succeed": m.succeed, "fail one": m.failOne, "lose": m.lose, "fail all": m.failAll, "": m.check,
		})
	})
}
