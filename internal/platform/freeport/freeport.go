package freeport

import (
	"errors"
	"fmt"
)

// Reservation keeps ports on 127.0.0.1 until it is closed: the system does not
// choose them for anyone who asks for any port, to listen or to connect. A process
// that asks for one of them by number gets it if it sets SO_REUSEADDR, as servers
// do (Go's net package and gRPC among them). This holds on Linux; on other
// systems, the ports were merely free a moment ago.
type Reservation struct {
	ports []int
	close []func() error
}

// Reserve reserves n ports.
func Reserve(n int) (*Reservation, error) {
	r := &Reservation{}
	for range n {
		port, release, err := hold()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reserve port %d of %d on 127.0.0.1: %w", len(r.ports)+1, n, err), r.Close())
		}
		r.ports, r.close = append(r.ports, port), append(r.close, release)
	}
	return r, nil
}

// Ports returns the port numbers.
func (r *Reservation) Ports() []int { return append([]int(nil), r.ports...) }

// Address returns the address host:port of the i-th port.
func (r *Reservation) Address(i int) string { return fmt.Sprintf("127.0.0.1:%d", r.ports[i]) }

// Close releases the ports. Listeners on them are not affected.
func (r *Reservation) Close() error {
	var errs []error
	for _, c := range r.close {
		errs = append(errs, c())
	}
	r.close = nil
	return errors.Join(errs...)
}
