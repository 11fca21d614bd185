package cli

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

func TestGPUFacts(t *testing.T) {
	found := cuda.Report{GPUs: []driver.Info{{Name: "NVIDIA H200", Major: 9, Memory: 1 << 30, Multiprocessors: 132}}, Version: 13000,
		Libraries: []cuda.Library{{Name: dylib.Driver, Path: "/lib/libcuda.so.1"}, {Name: dylib.NVRTC, Path: "/x/libnvrtc.so.12", Version: 12040}, {Name: dylib.NCCL, Why: "not there"}}}
	for _, c := range []struct {
		r      cuda.Report
		listed []string
		want   string
	}{
		{found, nil, "gpu=NVIDIA H200, sm_90, 1.0 GiB, 132 multiprocessors; training_device=/gpu:0; cuda_driver=up to CUDA 13.0; libcuda=/lib/libcuda.so.1; libnvrtc=/x/libnvrtc.so.12 (CUDA 12.4); libnccl=not found: see GOESTIMATOR_CUDA_PATH"},
		{cuda.Report{Why: "no driver"}, nil, "gpu=none; training_device=/cpu:0; gpu_why_not=no driver"},
		{cuda.Report{Why: "no driver"}, []string{"A100"}, "gpu=none; training_device=/cpu:0; gpu_why_not=the system lists A100, but no driver"},
		{cuda.Report{GPUs: found.GPUs, Libraries: []cuda.Library{{Name: dylib.NVRTC, Why: "not there"}}}, nil,
			"gpu=NVIDIA H200, sm_90, 1.0 GiB, 132 multiprocessors; training_device=/cpu:0: the GPU cannot be used without the CUDA compiler, NVRTC; libnvrtc=not found: see GOESTIMATOR_CUDA_PATH"},
	} {
		var got []string
		for _, f := range gpuFacts(c.r, c.listed) {
			got = append(got, f.name+"="+factText(f.value))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("expected %s\ngot      %s", c.want, s)
		}
	}
}
