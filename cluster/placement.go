package cluster

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/tensor"
)

// Op is what a Placement sees of an op.
type Op struct {
	Type   string // "VarHandleOp", "MatMul"
	Name   string
	Device string // parts that inner scopes have set; these override the result
	// DType and Shape describe a variable, or the first output of another op; unknown dimensions are -1.
	DType tensor.DType
	Shape []int
}

// Placement chooses devices for ops.
type Placement interface {
	// Device returns a device or a part of one, such as "/job:ps/task:1". Parts that inner scopes have set override it.
	Device(op Op) (string, error)
}

// On places all ops on a device or on a part of one, such as "/job:ps/task:1" or "/device:GPU:0".
type On string

// Device returns the device itself.
func (d On) Device(Op) (string, error) { return string(d), nil }

// scope is a Placement and the scopes around it.
type scope struct {
	outer *scope
	where Placement
}

// device returns the device of an op in the scope. It asks placements from the innermost to the outermost.
func (s *scope) device(op Op) (string, error) {
	var at device.Name
	at, err := device.Parse(op.Device)
	for ; s != nil && err == nil; s = s.outer {
		op.Device = at.String()
		var text string
		if text, err = s.where.Device(op); err != nil {
			break
		}
		var outer device.Name
		outer, err = device.Parse(text)
		at = at.Merge(outer)
	}
	if err != nil {
		return "", fmt.Errorf("place %s %q: %w", op.Type, op.Name, err)
	}
	return at.String(), nil
}
