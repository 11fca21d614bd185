package partition

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// Request has the inputs and outputs of a step.
type Request struct {
	Feeds   []string // outputs, as "node:0", that get values from the client
	Fetches []string // outputs that the client gets
	Targets []string // nodes that run for their effects
	// Number distinguishes the parts of a session's requests. Added nodes have it in their names: TensorFlow's workers cache the
	// kernels of a session's _Send and _Recv nodes by name, with the key of the first node of that name.
	Number int64
	// Partial says that feeds may arrive while the parts run.
	Partial bool
	// Lowered maps the outputs that calls, branches and loops had before they were lowered, as "node:0", to the present ones.
	Lowered map[string]string
}

// Device is a device that nodes may be placed on.
type Device struct {
	Name        device.Name // whole
	Incarnation uint64
}

// Cluster is the set of devices on which a graph may run.
type Cluster struct {
	Devices []Device
	Client  Device // of the master: the source of feeds, the target of fetches, and the default device
	Soft    bool   // a device type that a task does not have is replaced by the CPU
}

// Part is the part of the graph for one task.
type Part struct {
	Task    device.Name
	Graph   *graph.Graph
	Feeds   map[string]string // the rendezvous keys of feeds by their names
	Fetches map[string]string // the rendezvous keys of fetches by their names
}

// Errors in requests; they are wrapped with the details.
var (
	ErrNotFound    = errors.New("not found")
	ErrPlacement   = errors.New("cannot assign a device")
	ErrUnsupported = errors.New("not supported")
)

// NoDeviceError reports that the cluster does not have the device of a node. It is an [ErrPlacement].
type NoDeviceError struct {
	Node      string
	Device    device.Name // named by the node
	Available []string
}

// Error returns TensorFlow's text.
func (e *NoDeviceError) Error() string {
	text := fmt.Sprintf("Cannot assign a device for operation %s: {{node %s}} was explicitly assigned to %s but available devices are [ %s ]. Make sure the device specification refers to a valid device.",
		e.Node, e.Node, e.Device, strings.Join(e.Available, ", "))
	if e.Device.Type == "GPU" {
		text += " The requested device appears to be a GPU, but CUDA is not enabled."
	}
	return text + fmt.Sprintf("\n\t [[{{node %s}}]]", e.Node)
}

// Is makes it an ErrPlacement.
func (e *NoDeviceError) Is(target error) bool { return target == ErrPlacement }

// output finds the output with a name such as "node:1" or "node".
func (r Request) output(g *graph.Graph, name, what string) (graph.Output, error) {
	full := name
	if !strings.Contains(name, ":") {
		full += ":0"
	}
	said := name
	if now, ok := r.Lowered[full]; ok {
		name = now
	}
	node, index := name, 0
	if at := strings.LastIndexByte(name, ':'); at >= 0 {
		i, err := strconv.Atoi(name[at+1:])
		if err != nil || i < 0 {
			return graph.Output{}, fmt.Errorf("%s %q: expected the form node:0", what, said)
		}
		node, index = name[:at], i
	}
	n := g.Node(node)
	if n == nil || index >= max(len(n.Outputs), 1) {
		return graph.Output{}, fmt.Errorf("%s %q: %w", what, said, ErrNotFound)
	}
	if len(n.Outputs) == 0 {
		return graph.Output{}, fmt.Errorf("%s %q: the node (%s) has no outputs: name it as a target", what, said, n.Op)
	}
	return n.Out(index), nil
}
