package distribute

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// gpuOffer is what a worker tells the others about its GPUs.
type gpuOffer struct {
	GPU      bool   `json:"gpu"`                // it has GPUs on which dense gradients could stay
	Replicas int    `json:"replicas,omitempty"` // the number of replicas with a GPU each
	Why      string `json:"why,omitempty"`      // why they cannot
	Version  string `json:"version,omitempty"`  // version of the library that would sum
	Values   uint64 `json:"values,omitempty"`   // digest of types and sizes
}

// agreed reports whether all workers can sum between their GPUs. If not, it says which
// cannot and why; "" if no worker has a GPU.
func agreed(offers []gpuOffer, workers []cluster.Task) (why string, ok bool) {
	some := false
	for rank, o := range offers {
		some = some || o.GPU
		switch first := offers[0]; {
		case why != "":
		case !o.GPU:
			why = fmt.Sprintf("%v computes on the host", workers[rank])
		case o.Why != "":
			why = fmt.Sprintf("%v: %s", workers[rank], o.Why)
		case o.Replicas != first.Replicas:
			why = fmt.Sprintf("%v has %d GPUs, %v has %d", workers[rank], o.Replicas, workers[0], first.Replicas)
		case o.Version != first.Version:
			why = fmt.Sprintf("%v has %s, %v has %s", workers[rank], o.Version, workers[0], first.Version)
		case o.Values != first.Values:
			why = fmt.Sprintf("%v has gradients of other types or sizes than %v", workers[rank], workers[0])
		}
	}
	if !some {
		return "", false
	}
	return why, why == ""
}
