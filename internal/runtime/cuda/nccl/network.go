package nccl

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/peers"
)

// Network makes groups of GPUs of several processes on several machines with NCCL. Errors wrap ErrNotNative if a context is
// not a real GPU's, a *dylib.NotFoundError if there is no NCCL, and ErrVersion if it is too old.
type Network struct {
	Folders []string // searched first for the library
}

var _ peers.Network = Network{}

// Version implements peers.Network.
func (n Network) Version(c driver.Context) (string, error) {
	if err := checkNative([]driver.Context{c}); err != nil {
		return "", err
	}
	lib, err := bind(n.Folders...)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("NCCL %d.%d.%d", lib.number/10000, lib.number/100%100, lib.number%100), nil
}

// NewID implements peers.Network.
func (n Network) NewID() ([]byte, error) {
	lib, err := bind(n.Folders...)
	if err != nil {
		return nil, err
	}
	id, err := lib.newID()
	return id[:], err
}

// Join implements peers.Network.
func (n Network) Join(ctx context.Context, contexts []driver.Context, at peers.Place) (peers.Group, error) {
	if err := checkNative(contexts); err != nil {
		return nil, err
	}
	if len(at.ID) != idBytes {
		return nil, fmt.Errorf("NCCL: expected an ID of %d bytes, got %d", idBytes, len(at.ID))
	}
	lib, err := bind(n.Folders...)
	if err != nil {
		return nil, err
	}
	g, err := join(ctx, lib, contexts, place{ID(at.ID), at.First, at.Total})
	if err != nil {
		return nil, err
	}
	return g, nil
}
