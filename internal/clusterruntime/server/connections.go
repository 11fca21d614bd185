package server

import (
	"errors"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/transport"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxForeign is the most connections to addresses that clients named, outside of the server's own cluster.
const maxForeign = 1 << 10

// connections are the connections to other tasks, by address. All clusters with an address share its connection.
type connections struct {
	options transport.Options
	own     map[string]bool // addresses of the server's own cluster

	mu      sync.Mutex
	all     map[string]*connection
	foreign int // connections to other addresses
	ended   bool
}

// connection is a connection that clusters share.
type connection struct {
	*transport.Conn
	users int
}

// open returns the connection to an address, for the caller to close.
func (c *connections) open(address string) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, status.Error(codes.Unavailable, "the server ends")
	}
	one := c.all[address]
	if one == nil {
		if !c.own[address] && c.foreign >= maxForeign {
			return nil, status.Errorf(codes.ResourceExhausted, "%d connections to tasks of clients' clusters are open, which is as many as are possible: close sessions", maxForeign)
		}
		conn, err := transport.NewConn(address, c.options)
		if err != nil {
			return nil, err
		}
		one = &connection{Conn: conn}
		c.all[address] = one
		if !c.own[address] {
			c.foreign++
		}
	}
	one.users++
	return one, nil
}

// close closes the caller's use of connections by address. The last use closes the connection itself.
func (c *connections) close(used map[string]*connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []error
	for address, one := range used {
		if one.users--; one.users > 0 || c.ended {
			continue
		}
		delete(c.all, address)
		if !c.own[address] {
			c.foreign--
		}
		all = append(all, one.Close())
	}
	return errors.Join(all...)
}

// end closes all connections, even if they are in use.
func (c *connections) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	var all []error
	for _, one := range c.all {
		all = append(all, one.Close())
	}
	clear(c.all)
	return errors.Join(all...)
}
