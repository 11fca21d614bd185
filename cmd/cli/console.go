package cli

import (
	"io"
	"sync"
)

// console is standard error. While a progress bar is shown, output
// goes above the bar.
type console struct {
	out io.Writer

	mu    sync.Mutex
	above io.Writer // writes above the bar; nil: there is none
	close func()    // ends the bar
}

// Write writes whole lines.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.above != nil {
		if n, err := c.above.Write(p); err == nil {
			return n, nil
		}
	}
	return c.out.Write(p)
}

// attach sends output above a bar until detach calls close.
func (c *console) attach(above io.Writer, close func()) {
	c.detach()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.above, c.close = above, close
}

// detach ends the bar, if there is one.
func (c *console) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.close != nil {
		c.close()
	}
	c.above, c.close = nil, nil
}
