package ps

import "context"

// additions belong to a push that is not a step.
type additions struct{ list []Assignment }

// Update adds to float64 variables, and assigns to others, independently of steps.
// The additions of all workers count, each once, whatever else is pushed meanwhile.
// It does not count as a step, and synchronous plans apply it at once.
func (c *Client) Update(ctx context.Context, add, assign []Assignment) error {
	_, err := c.push(ctx, Push{Assign: assign}, &additions{add})
	return err
}
