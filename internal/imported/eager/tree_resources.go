package eager

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// treeResource is a tree model, or a part of one, that nodes find by name.
type treeResource interface {
	fork() treeResource
}

// errForests is the error of a run without lasting resources.
var errForests = errors.New("models of trees need Env.Resources")

// treeResource returns the resource with the name, made by make if there is none.
func (r *Resources) treeResource(name string, make func(name string) treeResource) treeResource {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.trees[name]
	if m == nil {
		m = make(name)
		r.trees[name] = m
	}
	return m
}

// makeTreeResource returns the maker of a kernel that outputs the handle of a resource.
func makeTreeResource(make func(name string) treeResource) maker {
	return func(s *site) (kernel, error) {
		name := s.str("shared_name", "")
		if name == "" {
			name = s.node.Name
		}
		key := ResourceKey(s.container(), name)
		return func(c call) error {
			if c.env == nil || c.env.Resources == nil {
				return errForests
			}
			c.out[0].Resource = c.env.Resources.treeResource(key, make)
			return nil
		}, nil
	}
}

// treeResourceOf returns the resource in input 0.
func treeResourceOf[R treeResource](c call) (R, error) {
	r, ok := c.in[0].Resource.(R)
	if !ok {
		return r, fmt.Errorf("expected a resource of %T, got %T", r, c.in[0].Resource)
	}
	return r, nil
}

// askTreeResource returns the maker of a kernel on the resource in input 0.
func askTreeResource[R treeResource](ask func(c call, r R) error) maker {
	return func(*site) (kernel, error) {
		return func(c call) error {
			r, err := treeResourceOf[R](c)
			if err != nil {
				return err
			}
			return ask(c, r)
		}, nil
	}
}

// truth sets output 0 to a boolean.
func (c call) truth(yes bool) error {
	c.set(0, tensor.Scalar(yes))
	return nil
}
