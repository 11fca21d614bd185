package worker

import (
	"context"
	"slices"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
)

// cleanupAll forgets the variables and queues of containers. As in TensorFlow, the default container has the job's name,
// and is the one that is forgotten if none is named.
func (w *Worker) cleanupAll(_ context.Context, in *rpcs.CleanupAllRequest) (*rpcs.CleanupAllResponse, error) {
	own, err := device.Parse(w.devices[0].GetName())
	if err != nil {
		return nil, err
	}
	containers := in.GetContainer()
	if len(containers) == 0 || slices.Contains(containers, own.Job) {
		containers = append([]string{"", own.Job}, containers...)
	}
	w.resources.Clear(containers...)
	return &rpcs.CleanupAllResponse{}, nil
}
