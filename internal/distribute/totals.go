package distribute

import (
	"context"

	"github.com/goestimator/goestimator/internal/distributed/ps"
	"github.com/goestimator/goestimator/tensor"
)

// Totals is a strategy whose tasks, not in lock step, add to the same float64 variables.
// Every addition counts once.
type Totals interface {
	// AddTo adds to a variable.
	AddTo(ctx context.Context, variable string, value *tensor.Tensor) error
	// Assign replaces a variable's value.
	Assign(ctx context.Context, variable string, value *tensor.Tensor) error
}

var _ Totals = (*parameterServer)(nil)

// AddTo adds to a variable on the servers.
func (p *parameterServer) AddTo(ctx context.Context, variable string, value *tensor.Tensor) error {
	return recoverable(ctx, p.client.Update(ctx, []ps.Assignment{{Variable: variable, Value: value}}, nil))
}

// Assign replaces a variable's value on the servers.
func (p *parameterServer) Assign(ctx context.Context, variable string, value *tensor.Tensor) error {
	return recoverable(ctx, p.client.Update(ctx, nil, []ps.Assignment{{Variable: variable, Value: value}}))
}
