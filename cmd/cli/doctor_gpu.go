package cli

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

// gpuFacts say which GPUs can be used, with which libraries, or why none can.
func gpuFacts(r cuda.Report, listed []string) []fact {
	var gpus []string
	for _, g := range r.GPUs {
		gpus = append(gpus, cuda.Describe(g))
	}
	facts := []fact{{"gpu", gpus}, {"training_device", trainingDevice(r)}}
	if r.Why != "" {
		why := r.Why
		if len(listed) > 0 {
			why = fmt.Sprintf("the system lists %s, but %s", strings.Join(listed, ", "), why)
		}
		facts = append(facts, fact{"gpu_why_not", why})
	}
	if r.Version > 0 {
		facts = append(facts, fact{"cuda_driver", "up to CUDA " + cuda.VersionText(r.Version)})
	}
	for _, l := range r.Libraries {
		facts = append(facts, fact{strings.TrimSuffix(string(l.Name), ".so"), libraryText(l)})
	}
	return facts
}

// trainingDevice is the device that training uses if the config names none.
func trainingDevice(r cuda.Report) string {
	if r.Why != "" {
		return "/cpu:0"
	}
	for _, l := range r.Libraries {
		if l.Name == dylib.NVRTC && (l.Path == "" || l.Why != "") {
			return "/cpu:0: the GPU cannot be used without the CUDA compiler, NVRTC"
		}
	}
	return "/gpu:0"
}

// libraryText says where a library is, and what is wrong with it.
func libraryText(l cuda.Library) string {
	switch {
	case l.Path == "" && l.Name == dylib.Driver:
		return "not found"
	case l.Path == "":
		return "not found: see " + dylib.PathVariable
	case l.Why != "":
		return l.Path + ": " + l.Why
	case l.Version > 0:
		return fmt.Sprintf("%s (CUDA %s)", l.Path, cuda.VersionText(l.Version))
	}
	return l.Path
}
