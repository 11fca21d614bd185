package eager

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// VariableInfo describes a variable. If it has no value, Shape is nil and Bytes is 0.
type VariableInfo struct {
	Container, Name string
	DType           tensor.DType
	Shape           []int
	Bytes           int
}

// Variables lists the variables, the largest first. It does not wait for one that is being updated: its Shape is nil and its Bytes 0.
func (r *Resources) Variables() (all []VariableInfo) {
	r.mu.RLock()
	vars := make(map[string]Variable, len(r.vars))
	for key, v := range r.vars {
		vars[key] = v
	}
	r.mu.RUnlock()
	for key, v := range vars {
		container, name, found := strings.Cut(key, "\x00")
		if !found {
			container, name = "", key
		}
		info := VariableInfo{Container: container, Name: name}
		if h, ok := v.(*hostVariable); ok && h.mu.TryRLock() {
			if h.t != nil {
				info.DType, info.Shape, info.Bytes = h.t.DType, h.t.Shape, sizeOf(h.t)
			}
			h.mu.RUnlock()
		}
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b VariableInfo) int {
		return cmp.Or(b.Bytes-a.Bytes, strings.Compare(a.Container, b.Container), strings.Compare(a.Name, b.Name))
	})
	return all
}

// QueueInfo describes a queue.
type QueueInfo struct {
	Name           string
	Size, Capacity int
	Closed         bool
}

// Queues lists the queues by name.
func (r *Resources) Queues() (all []QueueInfo) {
	r.mu.RLock()
	var queues []*queue.Queue
	for _, one := range r.shared {
		if q, ok := one.(*queue.Queue); ok {
			queues = append(queues, q)
		}
	}
	r.mu.RUnlock()
	for _, q := range queues {
		all = append(all, QueueInfo{q.Name(), q.Size(), q.Spec().Capacity, q.Closed()})
	}
	slices.SortFunc(all, func(a, b QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}
