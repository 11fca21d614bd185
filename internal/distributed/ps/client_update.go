package ps

import "context"

// additions are of a push that is no step.
type additions struct{ list []Assignment }

// Update adds values to variables of float64, and gives others new values, beside the
// steps: additions of all workers count, each once, whatever else is pushed
// meanwhile. It counts no step, and synchronous plans do it as it comes.
func (c *Client) Update(ctx context.Context, add, assign []Assignment) error {
	_, err := c.push(ctx, Push{Assign: assign}, &additions{add})
	return err
}
