package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// assignBytes is the most bytes that one step assigns, unless a single variable is larger.
const assignBytes = 64 << 20

// Initialize sets all variables of graphs that Build made to their first values, even if they have values.
func (s *Session) Initialize(ctx context.Context) error {
	return s.assign(ctx, s.current().variables, func(v variable) (*tensor.Tensor, error) {
		t := tensor.New(v.DType, v.Shape...)
		return t, v.Init.Init(t, v.key)
	})
}

// Uninitialized names the variables without a value. After their parameter server starts, none has one.
func (s *Session) Uninitialized(ctx context.Context) ([]string, error) {
	all := s.current().variables
	fetches := make([]string, len(all))
	for i, v := range all {
		fetches[i] = v.initialized
	}
	has, err := s.Run(ctx, nil, fetches)
	if err != nil {
		return nil, err
	}
	var names []string
	for i, v := range all {
		if b := tensor.Values[bool](has[i]); len(b) == 1 && !b[0] {
			names = append(names, v.Name)
		}
	}
	return names, nil
}

// Values reads variables by name, including those of optimizers; without names, all.
func (s *Session) Values(ctx context.Context, names ...string) (map[string]*tensor.Tensor, error) {
	chosen, err := s.choose(names)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*tensor.Tensor, len(chosen))
	for _, v := range chosen { // one by one, since together they may exceed a message
		t, err := s.Run(ctx, nil, []string{v.read})
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		out[v.Name] = t[0]
	}
	return out, nil
}

// Assign sets variables, for example from a checkpoint.
func (s *Session) Assign(ctx context.Context, values map[string]*tensor.Tensor) error {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	chosen := []variable{}
	if len(names) > 0 {
		var err error
		if chosen, err = s.choose(names); err != nil {
			return err
		}
	}
	return s.assign(ctx, chosen, func(v variable) (*tensor.Tensor, error) {
		t := values[v.Name]
		if t == nil || t.DType != v.DType || !slices.Equal(t.Shape, v.Shape) {
			return nil, fmt.Errorf("got %v: expected %v %v", t, v.DType, v.Shape)
		}
		return t, nil
	})
}

// assign sets variables, as many in each step as fit.
func (s *Session) assign(ctx context.Context, all []variable, value func(variable) (*tensor.Tensor, error)) error {
	for len(all) > 0 {
		feeds, size := Feeds{}, 0
		var targets []string
		for len(all) > 0 {
			v := all[0]
			bytes := v.DType.Size() * tensor.NumElements(v.Shape)
			if len(targets) > 0 && size+bytes > assignBytes {
				break
			}
			t, err := value(v)
			if err != nil {
				return fmt.Errorf("variable %s: %w", v.Name, err)
			}
			feeds[v.first] = t
			targets = append(targets, v.assign)
			size += bytes
			all = all[1:]
		}
		if _, err := s.Run(ctx, feeds, nil, targets...); err != nil {
			return fmt.Errorf("assign variables: %w", err)
		}
	}
	return nil
}

// choose finds variables by name; without names, all.
func (s *Session) choose(names []string) ([]variable, error) {
	all := s.current().variables
	if len(names) == 0 {
		return all, nil
	}
	chosen := make([]variable, len(names))
	for i, name := range names {
		at := slices.IndexFunc(all, func(v variable) bool { return v.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("variable %q is not of this session's graph, which Build must have made", name)
		}
		chosen[i] = all[at]
	}
	return chosen, nil
}

func (s *Session) current() *Graph {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.graph
}
