package gpus

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// Distinct returns the GPUs behind devices that a Chooser or a Source has opened, nil unless all are different GPUs.
func Distinct(devices []device.Device) []*cuda.Device {
	var all []*cuda.Device
	for _, d := range devices {
		gpu, ok := Underlying(d).(*cuda.Device)
		if !ok || slices.Contains(all, gpu) {
			return nil
		}
		all = append(all, gpu)
	}
	return all
}
